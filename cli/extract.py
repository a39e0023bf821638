"""`gather-infer extract`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import completers
from .console import Console
from .editing import arguments_of, editing_options, require_names, require_output, write_edited
from .facts import Facts, facts_options
from .options import Command, model_argument, option
from .saving import Target
from .verification import prove_option, verify_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


@click.command(
    "extract",
    cls=Command,
    example="gather-infer extract fixtures/convnet-dynamo.onnx --outputs pooled -o out.onnx",
)
@model_argument()
@option("--inputs", "starts", section="Cut", multiple=True, metavar="NAMES", shell_complete=completers.tensors,
        help="Start at these tensors: names or globs, with commas. The default are the inputs of the model that are "
             "needed.")  # fmt: skip
@option("--outputs", "ends", section="Cut", multiple=True, metavar="NAMES", shell_complete=completers.tensors,
        help="End at these tensors: names or globs, with commas. The default are the outputs of the model.",
)  # fmt: skip
@option("--from-node", section="Cut", multiple=True, metavar="NAMES",
        shell_complete=completers.names(completers.nodes),
        help="Start at the tensors that these nodes read from others: names or globs.")  # fmt: skip
@option("--to-node", section="Cut", multiple=True, metavar="NAMES",
        shell_complete=completers.names(completers.nodes),
        help="End at the tensors that others read from these nodes: names or globs.")  # fmt: skip
@facts_options
@editing_options(prove_option, verify_options, help="Write the subgraph to OUT.")
def command(
    model: str,
    starts: tuple[str, ...],
    ends: tuple[str, ...],
    from_node: tuple[str, ...],
    to_node: tuple[str, ...],
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    prove: bool,
    verifying: VerifyOptions | None,
    console: Console,
) -> int:
    """Cut out a subgraph.

    The new inputs and outputs have their inferred types, in the symbols of the model. --prove and --verify feed the
    subgraph with the tensors that MODEL computes, and compare it with MODEL. MODEL is an ONNX file; - is standard
    input. The command exits with 1 and writes nothing if the outputs need an input that is not given.
    """
    require_names(
        starts, ends, from_node, to_node,
        missing="nothing to extract: --inputs, --outputs, --from-node or --to-node is missing",
    )  # fmt: skip
    require_output(target, dry_run=dry_run)

    from gather_infer.editing import extract

    with console.progress() as progress:
        result = extract(
            facts.open_model(model),
            inputs=starts,
            outputs=ends,
            from_nodes=from_node,
            to_nodes=to_node,
            **(given := arguments_of(facts)),
            progress=progress,
        )
        proof = verification = None
        if prove or verifying is not None:
            from gather_infer.editing.comparison import ExtractComparison

            given["inputs"] = given.pop("types")
            comparison = ExtractComparison(result, **given, progress=progress)
            if prove:
                proof = comparison.proof(progress=progress)
            if verifying is not None:
                verification = verifying.run(
                    comparison.whole,
                    comparison.chain,
                    comparison.inference,
                    rewritten_name="the subgraph behind its inputs",
                    progress=progress,
                )
    return write_edited(result, target, console, dry_run=dry_run, proof=proof, verification=verification)
