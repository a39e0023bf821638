"""`gather-infer cost`."""

from __future__ import annotations

import click

from gather_infer.report.output_formats import COST, CostReport

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument, option


@click.command("cost", cls=Command, example="gather-infer cost fixtures/bert-torchscript.onnx --at batch=1,seq=64")
@model_argument()
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
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@common_options(COST, verbose="Print all rows, and the formula of each operator.")
def command(
    model: str,
    facts: Facts,
    no_assume: bool,
    at: tuple[str, ...],
    by: str,
    everything: bool,
    console: Console,
) -> int:
    """Estimate multiply-adds, bytes and peak memory as formulas.

    The formulas contain the symbols of the model: does it fit at seq = 4096?

    MODEL is an ONNX file (- is standard input) or the .xml of an OpenVINO IR. The report lists unknown contributions,
    which the totals leave out.
    """
    sizes = _sizes(at)

    from gather_infer.cost import cost_of
    from gather_infer.inference import infer

    with console.progress() as progress:
        rules = facts.rules()
        progress(lambda: "inferring")
        inference = infer(
            model,
            dims=facts.dims,
            inputs=facts.inputs,
            rules=rules,
            assume=not no_assume,
            initializers_as_constants=facts.constants,
        )
        progress(lambda: "counting")
        cost = cost_of(inference)
        if sizes:
            cost = cost.at(sizes)
        lines = console.lines_of(COST, CostReport(cost, by == "node", everything))
    console.print(lines)
    if inference.errors:
        errors = "an error" if len(inference.errors) == 1 else f"{len(inference.errors)} errors"
        console.message(f"the model has {errors}; {facts.infer_command(model)}")
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
