"""`gather-infer compose`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .console import Console
from .editing import arguments_of, editing_options, require_output, write_edited
from .facts import Facts, facts_options
from .options import Command, model_argument, option
from .saving import Target
from .verification import verify_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


@click.command(
    "compose",
    cls=Command,
    example="gather-infer compose fixtures/moe-dynamo.onnx \\\n"
    "  fixtures/t5-decoder-dynamo.onnx \\\n  --map mixed=encoder_hidden_states -o out.onnx",
)
@model_argument()
@model_argument("other")
@option("--map", "mapping", section="Join", multiple=True, metavar="OUT=IN",
        help="Feed output OUT of MODEL, or an input, to input IN of OTHER; repeat it for more. The default feeds "
             "inputs by the outputs of the same name.")  # fmt: skip
@option("--prefix", section="Join", metavar="TEXT", default="",
        help="Begin all names of OTHER with TEXT; by default only those that MODEL uses, with the name of the file.",
)  # fmt: skip
@option("--keep-outputs", section="Join", is_flag=True,
        help="Keep the outputs of MODEL that feed OTHER; by default only the others stay outputs.")  # fmt: skip
@option("--require-proved", section="Join", is_flag=True,
        help="Write nothing and exit with 1 unless every line of the contract of OTHER is proved.")  # fmt: skip
@option("--allow-failures", section="Join", is_flag=True,
        help="Write the model although a line fails for some inputs, which the report shows.")  # fmt: skip
@facts_options
@editing_options(verify_options, help="Write the joined model to OUT.")
def command(
    model: str,
    other: str,
    mapping: tuple[str, ...],
    prefix: str,
    keep_outputs: bool,
    require_proved: bool,
    allow_failures: bool,
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    verifying: VerifyOptions | None,
    console: Console,
) -> int:
    """Join two models.

    Outputs of MODEL become inputs of OTHER; both are ONNX files, and - is standard input. The outputs are proved to
    satisfy the contract of OTHER, or the lines that fail or stay open are listed. --dim and --input are about MODEL,
    and --verify compares the joined model with both models run one after the other. The command exits with 1 and writes
    nothing if types do not fit, or a line fails for some inputs.
    """
    require_output(target, dry_run=dry_run)

    from gather_infer.editing import compose

    with console.progress() as progress:
        result = compose(
            facts.open_model(model),
            facts.open_model(other),
            mapping=mapping,
            prefix=prefix,
            keep_outputs=keep_outputs,
            require_proved=require_proved,
            allow_failures=allow_failures,
            **(given := arguments_of(facts)),
            progress=progress,
        )
        verification = None
        if verifying is not None and not result.refused:
            from gather_infer.editing.comparison import chain_of
            from gather_infer.inference import infer

            joined, chain = chain_of(result)
            verification = verifying.run(
                joined,
                chain,
                infer(joined, rules=given["rules"]),
                rewritten_name="the chain of both models",
                progress=progress,
            )
    return write_edited(result, target, console, dry_run=dry_run, verification=verification)
