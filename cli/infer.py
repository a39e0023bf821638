"""`gather-infer infer`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from gather_infer.report.forms import INFERENCE, INFERENCES

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument, option
from .saving import Target, output_options, strict_option, write_and_print

if TYPE_CHECKING:
    from .inferring import Wanted


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@model_argument("models", nargs=-1, required=True)
@facts_options
@assume_option
@output_options("Write the model with value_info for every tensor.")
@option(
    "--outputs",
    section="Output",
    is_flag=True,
    help="With -o, declare known sizes of outputs, too.",
)
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@option("--constraints", section="Report", is_flag=True, help="Print what validity implies about the symbols.")
@option("--floats", section="Report", is_flag=True, help="Elements of small float tensors too, in JSON.")
@strict_option("Exit with 1 when there are warnings, too.")
@option("--exit-zero", section="Report", is_flag=True, help="Exit with 0 whatever is found.")
@common_options(
    INFERENCE, INFERENCES, verbose="Print every tensor, every constraint, all rows, and why a verdict is what it is."
)
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
    """Print symbolic types and shapes, and what is wrong.

    MODELS are ONNX files, - is standard input; or the .xml of an OpenVINO IR. Of several each has a line. Exits with 1
    and writes nothing when there are errors.
    """
    from .inferring import Wanted, infer_all

    wanted = Wanted(not no_assume, everything, constraints, floats, strict, exit_zero, console)
    if outputs and target is None:
        raise click.UsageError("--outputs needs -o or --in-place")
    if len(models) > 1:
        return infer_all(models, facts, wanted)
    return _infer(models[0], facts, wanted, target, outputs)


def _infer(model: str, facts: Facts, wanted: Wanted, target: Target | None, outputs: bool) -> int:
    """One model, written where there is a target; the exit code."""
    from gather_infer.model import save
    from gather_infer.model.given import to_model_file, to_onnx_file, with_constants

    from .inferring import inferred

    console = wanted.console
    with console.progress() as progress:
        rules = facts.rules()
        file = to_model_file(model) if target is None else to_onnx_file(model)
        if facts.constants:
            file = with_constants(file)
        if target is not None:
            file.require_data()
        report, annotated = inferred(file, facts, rules, wanted, progress, annotate=target is not None, outputs=outputs)
        lines = console.lines_of(INFERENCE, report)
    code = wanted.exit_code(report)
    written = write_and_print(lines, functools.partial(save, file, annotated), target, console, refused=code != 0)
    if written is not None:
        console.wrote(written)
    return code
