"""`gather-infer convert`."""

from __future__ import annotations

from typing import Any

import click

from gather_infer.diagnostic import has_faults
from gather_infer.report.forms import CONVERSION

from .console import Console
from .facts import Facts, facts_options
from .options import Command, common_options, option
from .saving import Target, finish, output_options, strict_option


@click.command("convert", cls=Command, example="gather-infer convert fixtures/openvino-gather.onnx -o plain.onnx")
@click.argument("model")
@facts_options
@output_options("Where to write the ONNX model.")
@option("--gather-oob", section="Conversion", type=click.Choice(["refuse", "assume-valid"]), default="refuse",
        show_default=True, help="What to do with a Gather whose indices are not proved in bounds: OpenVINO gives "
        "zeros for an index out of bounds, ONNX fails.")  # fmt: skip
@strict_option("Write nothing and exit with 1 when there are errors or warnings besides.")
@common_options(CONVERSION, verbose="Print each converted node.")
def command(model: str, facts: Facts, target: Target | None, gather_oob: Any, strict: bool, console: Console) -> int:
    """Rewrite the OpenVINO-style Gathers of an ONNX file to plain ONNX.

    MODEL is an ONNX file; - is standard input.
    """
    if target is None:
        raise click.UsageError("-o OUT is missing")

    from gather_infer.openvino import convert
    from gather_infer.report import unmended

    with console.progress() as progress:
        progress(lambda: "converting")
        result = convert(model, gather_oob=gather_oob, dims=facts.dims, inputs=facts.inputs, rules=facts.rules())
        lines = console.lines_of(CONVERSION, result)
    return finish(
        lines,
        result.save,
        target,
        console,
        refused=strict and has_faults(unmended(result)),
    )
