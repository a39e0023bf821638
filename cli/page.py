"""`gather-infer page`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gather_infer.report.output_formats import PAGE, PageReport

from .console import Console
from .facts import Facts, assume_option, facts_options, ranges_option
from .options import Command, common_options, model_argument, option, require_file_name
from .saving import write_texts


@click.command("page", cls=Command, example="gather-infer page fixtures/bert-torchscript.onnx -o page.html")
@model_argument()
@facts_options
@ranges_option
@assume_option
@option("-o", "--output", section="Output", metavar="OUT", help="Write the page to OUT. - is standard output.")
@common_options(PAGE, verbose="Print the accesses that are not proved.")
def command(
    model: str,
    facts: Facts,
    ranges: tuple[str, ...],
    no_assume: bool,
    output: str | None,
    console: Console,
) -> int:
    """Write an interactive report.

    OUT is one HTML file that loads nothing: types, bounds checks, contract and cost, with the reasons, as tables,
    graphs and plots. MODEL is an ONNX file (- is standard input) or the .xml file of an OpenVINO IR.
    """
    if not output:
        raise click.UsageError("-o OUT.html is missing")
    require_file_name(output, "-o")
    if output != "-" and os.path.exists(output) and os.path.exists(model) and os.path.samefile(model, output):
        raise click.UsageError("-o names the model itself; a page needs a file of its own")

    from gather_infer.pages import page

    with console.progress() as progress:
        result = page(
            facts.open_model(model),
            dims=facts.dims,
            inputs=facts.inputs,
            ranges=ranges,
            rules=facts.rules(),
            assume=not no_assume,
            initializers_as_constants=facts.constants,
            progress=progress,
        )
        text = result.html()
        lines = console.lines_of(PAGE, PageReport(result.inference, result.verdicts))
    if output == "-":
        click.echo(text, nl=False)
        return 0
    write_texts({Path(output): text})
    console.print(lines)
    console.message(f"wrote {output}   {console.seconds:.2f} s")
    return 0
