"""`gather-infer outputs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import completers
from .console import Console
from .editing import arguments_of, editing_options, require_names, require_output, write_edited
from .facts import Facts, facts_options
from .options import Command, model_argument, option
from .saving import Target
from .verification import prove_options, verify_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


@click.command(
    "outputs",
    cls=Command,
    example="gather-infer outputs fixtures/convnet-dynamo.onnx --drop pooled -o out.onnx",
)
@model_argument()
@option("--add", section="Outputs", multiple=True, metavar="NAMES", shell_complete=completers.tensors,
        help="Add these tensors to the outputs: names or globs, with commas.")  # fmt: skip
@option("--keep", section="Outputs", multiple=True, metavar="NAMES",
        shell_complete=completers.names(completers.outputs),
        help="Keep only these outputs of the model, and those of --add.")  # fmt: skip
@option("--drop", section="Outputs", multiple=True, metavar="NAMES", help="Remove these outputs.",
        shell_complete=completers.names(completers.outputs))  # fmt: skip
@option("--keep-nodes", section="Outputs", is_flag=True, help="Keep nodes that no output needs any more.")
@facts_options
@editing_options(prove_options, verify_options, help="Write the new model to OUT.")
def command(
    model: str,
    add: tuple[str, ...],
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    keep_nodes: bool,
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    prove: bool,
    certificate: str | None,
    verifying: VerifyOptions | None,
    console: Console,
) -> int:
    """Add or remove outputs.

    New outputs have their inferred types. MODEL is an ONNX file; - is standard input. --prove and --verify compare the
    outputs that both models have.
    """
    require_names(add, keep, drop, missing="nothing to do: --add, --keep or --drop is missing")
    require_output(target, dry_run=dry_run)

    from gather_infer.editing import outputs

    with console.progress() as progress:
        given = arguments_of(facts)
        result = outputs(
            facts.open_model(model), add=add, keep=keep, drop=drop, keep_nodes=keep_nodes, **given, progress=progress
        )
        proof = verification = None
        if prove or verifying is not None:
            from gather_infer.editing.output_selection import with_common_outputs

            before, after = with_common_outputs(result)
            given["inputs"] = given.pop("types")
            if prove:
                from gather_infer.equality import diff

                kept = {value.name for value in before.proto.graph.output}
                left_out = {value.name: "" for value in result.source.proto.graph.output if value.name not in kept}
                proof = diff(
                    result.source, result.file, **given, outputs=left_out, details=False, runs=0, progress=progress
                )
            if verifying is not None:
                from gather_infer.inference import infer

                verification = verifying.run(before, after, infer(before, **given), progress=progress)
    return write_edited(
        result, target, console, dry_run=dry_run, proof=proof, verification=verification, certificate=certificate
    )
