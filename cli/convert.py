"""`gather-infer convert`."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from .console import Console
from .options import Command, common, option, output

if TYPE_CHECKING:
    from gather_infer.openvino import ConversionResult


@click.command("convert", cls=Command, example="gather-infer convert fixtures/openvino-gather.onnx -o plain.onnx")
@click.argument("model")
@output(required=True, help="Where to write the ONNX model.")
@option("--gather-oob", section="Conversion", type=click.Choice(["refuse", "assume-valid"]), default="refuse",
        show_default=True, help="What to do with a Gather whose indices are not proved in bounds: OpenVINO gives "
        "zeros for an index out of bounds, ONNX fails.")  # fmt: skip
@common
def command(model: str, output: str, external_data: str | None, gather_oob: Any, console: Console) -> int:
    """Rewrite the OpenVINO-style Gathers of an ONNX file to plain ONNX."""
    started = time.monotonic()

    from gather_infer.openvino import convert

    result = convert(model, gather_oob=gather_oob)
    show = partial(console.result_json, _json(result)) if console.json else partial(console.result, _text(result))
    written = result.save(output, external_data=external_data)
    show()
    console.wrote(written)
    console.message(f"{time.monotonic() - started:.2f} s")
    return 0


def _text(result: ConversionResult) -> list[str]:
    from gather_infer.report.layout import count

    total = count(len(result.converted), "OpenVINO-style Gather")
    lines = [
        f"{result.source.name}   {total} -> ONNX Gather" if result.converted else f"{result.source.name}   {total}"
    ]
    casts = sum(c.cast for c in result.converted)
    if casts:
        lines.append(f"  {count(casts, 'Cast')} of the indices to int64 inserted")
    assumed = [c for c in result.converted if c.indices == "assumed"]
    if assumed:
        lines.append(f"  indices assumed in bounds, where OpenVINO would have given zeros: {len(assumed)}")
        lines += [f"    {c.node}, axis {c.axis}" for c in assumed]
    return lines


def _json(result: ConversionResult) -> dict[str, Any]:
    from gather_infer.report import SCHEMA
    from gather_infer.report.json import diagnostic_json

    return {
        "schema": SCHEMA,
        "converted": [{"node": c.node, "axis": c.axis, "indices": c.indices, "cast": c.cast} for c in result.converted],
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }
