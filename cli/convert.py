"""`gather-infer convert`."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import has_faults

from .console import Console
from .options import Command, common, facts, option, output, strict
from .target import target_of

if TYPE_CHECKING:
    from gather_infer.diagnostic import Diagnostic
    from gather_infer.openvino import ConversionResult


@click.command("convert", cls=Command, example="gather-infer convert fixtures/openvino-gather.onnx -o plain.onnx")
@click.argument("model")
@facts
@output("Where to write the ONNX model.")
@option("--gather-oob", section="Conversion", type=click.Choice(["refuse", "assume-valid"]), default="refuse",
        show_default=True, help="What to do with a Gather whose indices are not proved in bounds: OpenVINO gives "
        "zeros for an index out of bounds, ONNX fails.")  # fmt: skip
@strict("Write nothing and exit with 1 when there are errors or warnings besides.")
@common(verbose="Print each converted node.")
def command(
    model: str,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    rules: tuple[str, ...],
    output: str | None,
    external_data: str | None,
    in_place: bool,
    gather_oob: Any,
    strict: bool,
    console: Console,
) -> int:
    """Rewrite the OpenVINO-style Gathers of an ONNX file to plain ONNX.

    MODEL is an ONNX file; - is standard input.
    """
    target = target_of(model, output, external_data, in_place)
    if target is None:
        raise click.UsageError("-o OUT is missing")
    started = time.monotonic()

    from gather_infer.openvino import convert

    from .rule_files import load_rules

    result = convert(model, gather_oob=gather_oob, dims=dims, inputs=inputs, rules=load_rules(rules))
    refused = strict and has_faults(_found(result))
    lines = _text(result, verbose=console.verbose)
    show = partial(console.result_json, _json(result)) if console.json else partial(console.result, lines)
    written = None
    if not refused:
        written = result.save(target.path, external_data=target.external_data, in_place=target.in_place)
    show()
    if written is None:
        console.message("nothing written")
        return 1
    console.wrote(written, seconds=time.monotonic() - started)
    if any(c.indices == "proved" for c in result.converted):
        console.holds_for("the proof", (*dims, *inputs))
    return 0


def _found(result: ConversionResult) -> list[Diagnostic]:
    """What is wrong with the model besides what the conversion mends."""
    return [d for d in result.diagnostics if d.code != "GI309"]


def _text(result: ConversionResult, *, verbose: bool) -> list[str]:
    from gather_infer.report.layout import count
    from gather_infer.report.text import findings_text

    total = count(len(result.converted), "OpenVINO-style Gather")
    lines = [f"{result.source.name}   {total}" + (" -> ONNX Gather" if result.converted else "")]
    casts = sum(c.cast for c in result.converted)
    if casts:
        lines.append(f"  {count(casts, 'Cast')} of the indices to int64 inserted")
    assumed = [c for c in result.converted if c.indices == "assumed"]
    if assumed:
        lines.append(f"  indices assumed in bounds, where OpenVINO would have given zeros: {len(assumed)}")
    for c in result.converted if verbose else assumed:
        remarks = [f"indices {c.indices} in bounds", *(["Cast inserted"] if c.cast else [])] if verbose else []
        lines.append("    " + ", ".join([str(c.node), f"axis {c.axis}", *remarks]))
    return [*lines, *findings_text(_found(result), result.source.name)]


def _json(result: ConversionResult) -> dict[str, Any]:
    from gather_infer.report import SCHEMA
    from gather_infer.report.json import diagnostic_json

    return {
        "schema": SCHEMA,
        "converted": [
            {"node": str(c.node), "axis": c.axis, "indices": c.indices, "cast": c.cast} for c in result.converted
        ],
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }
