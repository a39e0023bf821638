"""`gather-infer tensors`."""

from __future__ import annotations

import click

from gather_infer.report.output_formats import TENSORS, TensorsReport

from .completers import tensors
from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument
from .selection import op_option, unknown_option


@click.command("tensors", cls=Command, example="gather-infer tensors fixtures/bert-torchscript.onnx '*/attention/*'")
@model_argument()
@click.argument("pattern", metavar="[GLOB]", default="", shell_complete=tensors)
@op_option
@unknown_option
@facts_options
@assume_option
@common_options(TENSORS, verbose="Also print the node of each tensor.")
def command(
    model: str, pattern: str, op: str | None, unknown: bool, facts: Facts, no_assume: bool, console: Console
) -> int:
    """List tensors.

    The list shows the producer and the type of each tensor, and why a part of the type is unknown. MODEL is an ONNX
    file (- is standard input) or the .xml of an OpenVINO IR. GLOB is a name or a pattern with *: '/encoder/*'. The name
    of a tensor in a subgraph includes its path: If_3/then_branch/y.
    """
    from gather_infer.inference import infer

    with console.progress() as progress:
        rules = facts.rules()
        progress(lambda: "inferring")
        inference = infer(
            facts.open_model(model),
            dims=facts.dims,
            inputs=facts.inputs,
            rules=rules,
            assume=not no_assume,
            initializers_as_constants=facts.constants,
        )
        found = inference.tensors(pattern, op=op, unknown=unknown)
        lines = console.lines_of(TENSORS, TensorsReport(found, inference.coverage().tensors, inference.model.name))
    console.print(lines)
    if inference.errors:
        errors = "an error" if len(inference.errors) == 1 else f"{len(inference.errors)} errors"
        console.message(f"the model has {errors}; {facts.infer_command(model)}")
    return 0
