"""`gather-infer cost`."""

from __future__ import annotations

import re

import click

from gather_infer.report.output_formats import COST, COST_CURVE, MODELS

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, FileName, common_options, model_argument, option
from .parallel import Parallel, parallel_options, require_no_cache, run_many
from .saving import are_several


@click.command("cost", cls=Command, example="gather-infer cost fixtures/bert-torchscript.onnx --at batch=1,seq=64")
@model_argument("models", nargs=-1, required=True)
@facts_options
@assume_option
@option(
    "--at",
    section="Report",
    multiple=True,
    metavar="NAME=SIZE,...",
    help="Evaluate the formulas at these sizes: batch=1,seq=128.",
)
@option(
    "--by",
    section="Report",
    type=click.Choice(["operator", "node"]),
    default="operator",
    show_default=True,
    help="Print a row for each operator or node.",
)
@option(
    "--plot",
    section="Report",
    metavar="NAME=LOW..HIGH",
    help="Print the cost along a symbol instead: seq=1..4096. Give the other symbols with --at.",
)
@option(
    "-o",
    "--output",
    section="Report",
    type=FileName(),
    metavar="FILE",
    help="Draw the --plot into FILE: .svg, .pdf or .png.",
)
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@parallel_options("Process")
@common_options(COST, MODELS, verbose="Print all rows, and the formula of each operator.")
def command(
    models: tuple[str, ...],
    facts: Facts,
    no_assume: bool,
    at: tuple[str, ...],
    by: str,
    plot: str | None,
    output: str | None,
    everything: bool,
    parallel: Parallel,
    console: Console,
) -> int:
    """Estimate multiply-adds, bytes and peak memory as formulas.

    The formulas contain the symbols of the model: does it fit at seq = 4096?

    MODELS are ONNX files (- is standard input), .xml files of OpenVINO IRs, or folders. The report lists unknown
    contributions, which the totals leave out.
    """
    sizes = _sizes(at)
    if output is not None and plot is None:
        raise click.UsageError("-o is for the drawing of --plot")
    if plot is not None:
        if are_several(models):
            raise click.UsageError("--plot takes one model")
        require_no_cache(parallel)
        return _plot(models[0], facts, not no_assume, sizes, plot, output, console)

    from gather_infer.many.cost import CostJob

    job = CostJob(
        **facts.job_options(None, console),
        assume=not no_assume,
        sizes=sizes,
        is_shared=are_several(models),
        by_node=by == "node",
        everything=everything,
    )
    if are_several(models):
        return run_many(job, models, None, parallel, console, doing="counting")
    require_no_cache(parallel)
    with console.progress() as progress:
        found = job.alone(models[0], progress)
        lines = console.lines_of(found.kind, found.report)
    console.print(lines)
    number = len(found.diagnostics)
    if number:
        errors = "an error" if number == 1 else f"{number} errors"
        console.message(f"the model has {errors}; {facts.infer_command(models[0])}")
    return 0


def _plot(
    model: str, facts: Facts, assume: bool, sizes: dict[str, int], plot: str, output: str | None, console: Console
) -> int:
    """Print the cost along a symbol, and draw it into the file `output` if there is one."""
    match = re.fullmatch(r"\s*(.+?)\s*=\s*(\d+)\s*\.\.\s*(\d+)\s*", plot)
    if match is None:
        raise click.UsageError(f"--plot must read NAME=LOW..HIGH, found '{plot}'")

    from gather_infer import infer
    from gather_infer.report.cost_plot import format_of

    if output is not None:
        format_of(output)
    with console.progress() as progress:
        inference = infer(
            facts.open_model(model),
            dims=facts.dims,
            inputs=facts.inputs,
            rules=facts.rules(),
            assume=assume,
            initializers_as_constants=facts.constants,
            progress=progress,
        )
        curve = inference.cost().at(sizes).along(match[1], int(match[2]), int(match[3]))
    console.print(console.lines_of(COST_CURVE, curve))
    if output is not None:
        curve.save(output)
        console.message(f"wrote {output}")
    return 0


def _sizes(texts: tuple[str, ...]) -> dict[str, int]:
    """The size of each name in texts such as `batch=1,seq=128`. Raises UsageError for a malformed or repeated entry."""
    found: dict[str, int] = {}
    for entry in (entry for text in texts for entry in text.split(",") if entry.strip()):
        name, equals, size = (part.strip() for part in entry.partition("="))
        if not equals or not name or not size.isdecimal():
            form = "--at must read NAME=SIZE, numbers >= 0 without a unit, joined by commas"
            raise click.UsageError(f"{form}, found '{entry.strip()}'")
        if name in found:
            raise click.UsageError(f"--at has '{name}' twice")
        found[name] = int(size)
    return found
