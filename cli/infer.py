"""`gather-infer infer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gather_infer.diagnostic import has_faults
from gather_infer.report.forms import INFERENCE, InferenceReport

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument, option
from .saving import Target, output_options, strict_option, write_and_print

if TYPE_CHECKING:
    from gather_infer.model import SaveReport


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@model_argument()
@facts_options
@assume_option
@output_options("Write the model with value_info for every tensor.")
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@option("--constraints", section="Report", is_flag=True, help="Print what validity implies about the symbols.")
@strict_option("Exit with 1 when there are errors or warnings.")
@common_options(INFERENCE, verbose="Print every tensor, every constraint and all rows.")
def command(
    model: str,
    facts: Facts,
    no_assume: bool,
    target: Target | None,
    everything: bool,
    constraints: bool,
    strict: bool,
    console: Console,
) -> int:
    """Print symbolic types and shapes, and what is wrong.

    MODEL is an ONNX file, - is standard input; or the .xml of an OpenVINO IR.
    """
    from gather_infer.catalog.family import is_gather
    from gather_infer.inference import infer
    from gather_infer.inference.annotate import annotated
    from gather_infer.model import save
    from gather_infer.model.given import to_model_file, to_onnx_file
    from gather_infer.report import summarize

    with console.progress() as progress:
        rules = facts.rules()
        file = to_model_file(model) if target is None else to_onnx_file(model)
        progress(lambda: "inferring")
        inference = infer(file, dims=facts.dims, inputs=facts.inputs, rules=rules, assume=not no_assume)
        summary = summarize(file.proto, name=file.name, nbytes=file.size, is_gather=is_gather, form=file.foreign)
        annotated_model, interface = (file.proto, None) if target is None else annotated(file, inference)
        lines = console.lines_of(INFERENCE, InferenceReport(inference, summary, everything, constraints, interface))

    def write(path: str, *, external_data: str | None, in_place: bool) -> SaveReport:
        return save(file, annotated_model, path, external_data=external_data, in_place=in_place)

    written = write_and_print(lines, write, target, console)
    if written is not None:
        console.wrote(written)
    return 1 if strict and has_faults(inference.diagnostics) else 0
