"""`gather-infer rename`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import completers
from .console import Console
from .editing import editing_options, require_names, require_output, write_edited
from .facts import Facts, code_options
from .options import Command, model_argument, option
from .saving import Target
from .verification import prove_options, verify_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


@click.command(
    "rename",
    cls=Command,
    example="gather-infer rename fixtures/dlrm-dynamo.onnx --dim batch=rows -o out.onnx\n"
    "gather-infer rename fixtures/dlrm-dynamo.onnx --node 's/^node_//' -o out.onnx",
)
@model_argument()
@option("--input", "inputs", section="Names", multiple=True, metavar="OLD=NEW",
        shell_complete=completers.names(completers.inputs, "="),
        help="Rename an input; repeat it for more.")  # fmt: skip
@option("--output", "results", section="Names", multiple=True, metavar="OLD=NEW",
        shell_complete=completers.names(completers.outputs, "="),
        help="Rename an output; repeat it for more.")  # fmt: skip
@option("--dim", "dims", section="Names", multiple=True, metavar="OLD=NEW",
        shell_complete=completers.names(completers.dims, "="),
        help="Rename a symbolic dim in all types; repeat it for more.")  # fmt: skip
@option("--node", "nodes", section="Names", multiple=True, metavar="OLD=NEW",
        shell_complete=completers.names(completers.named_nodes, "="),
        help="Rename a node; repeat it for more.")  # fmt: skip
@code_options
@editing_options(prove_options, verify_options, help="Write the new model to OUT.", names=("-o",))
def command(
    model: str,
    inputs: tuple[str, ...],
    results: tuple[str, ...],
    dims: tuple[str, ...],
    nodes: tuple[str, ...],
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    prove: bool,
    certificate: str | None,
    verifying: VerifyOptions | None,
    console: Console,
) -> int:
    """Rename inputs, outputs, dims or nodes.

    Names change wherever they occur. In place of OLD=NEW, s/PATTERN/REPLACEMENT/ renames all names in which the regular
    expression matches. MODEL is an ONNX file; - is standard input. The command exits with 1 and writes nothing if a new
    name is in use.
    """
    require_names(
        inputs, results, dims, nodes, missing="nothing to rename: --input, --output, --dim or --node is missing"
    )
    require_output(target, dry_run=dry_run)

    from gather_infer.editing import rename

    with console.progress() as progress:
        result = rename(facts.open_model(model), inputs=inputs, outputs=results, dims=dims, nodes=nodes)
        proof = verification = None
        if prove or verifying is not None:
            rules = facts.rules()
            if prove:
                from gather_infer.editing.renaming import require_paired_inputs
                from gather_infer.equality import diff

                require_paired_inputs(result)
                proof = diff(
                    result.source, result.file, outputs=result.renamed_outputs, rules=rules, details=False, runs=0,
                    progress=progress,
                )  # fmt: skip
            if verifying is not None:
                from gather_infer.editing.renaming import with_original_interface
                from gather_infer.inference import infer

                compared = with_original_interface(result)
                verification = verifying.run(
                    result.source, compared, infer(result.source, rules=rules), progress=progress
                )
    return write_edited(
        result, target, console, dry_run=dry_run, proof=proof, verification=verification, certificate=certificate
    )
