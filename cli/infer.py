"""`gather-infer infer`."""

from __future__ import annotations

import click

from gather_infer.report.output_formats import INFERENCE, MODELS

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument, option
from .parallel import Parallel, parallel_options, run_alone, run_many
from .saving import Target, are_several, output_options, strict_option


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@model_argument("models", nargs=-1, required=True)
@facts_options
@assume_option
@output_options("Write the model with value_info for every tensor.", several=True)
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
@parallel_options("Infer")
@common_options(INFERENCE, MODELS, verbose="Print all tensors, constraints and rows, and the reasons of verdicts.")
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
    parallel: Parallel,
    console: Console,
) -> int:
    """Infer symbolic types and shapes.

    MODELS are ONNX files (- is standard input), .xml files of OpenVINO IRs, or folders. If there are several, the
    command prints a line for each. It exits with 1 and does not write a model with errors.
    """
    if outputs and target is None:
        raise click.UsageError("--outputs needs -o or --in-place")

    from gather_infer.many.infer import InferJob

    job = InferJob(
        **facts.job_options(target, console),
        assume=not no_assume,
        annotate=target is not None,
        outputs=outputs,
        everything=everything,
        constraints=constraints,
        floats=floats,
        strict=strict,
        exit_zero=exit_zero,
    )
    if are_several(models):
        return run_many(job, models, target, parallel, console, doing="inferring")
    return run_alone(job, models[0], target, parallel, console)
