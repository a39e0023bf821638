"""`gather-infer infer`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from gather_infer.report.output_formats import INFERENCE, INFERENCES

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument, option
from .saving import Target, output_options, strict_option, write_and_print

if TYPE_CHECKING:
    from .infer_reports import InferRequest


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@model_argument("models", nargs=-1, required=True)
@facts_options
@assume_option
@output_options("Write the model with value_info for every tensor.")
@option(
    "--outputs",
    section="Output",
    is_flag=True,
    help="With -o, also declare the known sizes of outputs.",
)
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@option("--constraints", section="Report", is_flag=True, help="Print all constraints that a valid run implies.")
@option("--floats", section="Report", is_flag=True, help="Include the elements of small float tensors in JSON.")
@strict_option("Exit with 1 on warnings, too.")
@option("--exit-zero", section="Report", is_flag=True, help="Exit with 0 despite errors.")
@common_options(INFERENCE, INFERENCES, verbose="Print all tensors, constraints and rows, and the reasons of verdicts.")
def command(
    models: tuple[str, ...],
    facts: Facts,
    no_assume: bool,
    target: Target | None,
    outputs: bool,
    everything: bool,
    constraints: bool,
    floats: bool,
    strict: bool,
    exit_zero: bool,
    console: Console,
) -> int:
    """Infer symbolic types and shapes.

    MODELS are ONNX files (- is standard input) or .xml files of OpenVINO IRs. If there are several, the command prints
    a line for each. It exits with 1 and writes nothing if there are errors.
    """
    from .infer_reports import InferRequest, infer_all

    request = InferRequest(not no_assume, everything, constraints, floats, strict, exit_zero, console)
    if outputs and target is None:
        raise click.UsageError("--outputs needs -o or --in-place")
    if len(models) > 1:
        return infer_all(models, facts, request)
    return _infer(models[0], facts, request, target, outputs)


def _infer(model: str, facts: Facts, request: InferRequest, target: Target | None, outputs: bool) -> int:
    """Infer one model, write it if `target` is given and the exit code is 0, and return the exit code."""
    from gather_infer.inference.dim_dialects import save_translated
    from gather_infer.model.model_loading import to_model_file, to_onnx_file, with_constants

    from .infer_reports import inference_report

    console = request.console
    with console.progress() as progress:
        rules = facts.rules()
        file = to_model_file(model) if target is None else to_onnx_file(model)
        if facts.constants:
            file = with_constants(file)
        if target is not None:
            file.require_data()
        report, annotated = inference_report(
            file, facts, rules, request, progress, annotate=target is not None, outputs=outputs
        )
        lines = console.lines_of(INFERENCE, report)
    code = request.exit_code(report)
    save = functools.partial(save_translated, file, annotated, generated=report.inference.causes)
    written = write_and_print(lines, save, target, console, refused=code != 0)
    if written is not None:
        console.wrote(written)
    return code
