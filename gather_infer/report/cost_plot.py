"""The cost along a symbol as text, JSON and drawings. matplotlib draws; it is imported for drawings only."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from gather_infer.errors import UsageError
from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import Column, magnitude, printable, size, table
from gather_infer.report.output_formats import PLAIN, View

if TYPE_CHECKING:
    from gather_infer.cost.curve import CostCurve

SUFFIXES = (".svg", ".pdf", ".png")

_ROWS = 12
_BAR = 24


def curve_text(curve: CostCurve, view: View = PLAIN) -> list[str]:
    """A row for each of some sizes; the bar is the peak."""
    last = len(curve.sizes) - 1
    rows = sorted({last * row // max(1, _ROWS - 1) for row in range(_ROWS)})
    most = max(curve.peak) or 1
    columns = (
        Column(printable(curve.symbol), right=True),
        Column("macs", right=True),
        Column("read", right=True),
        Column("written", right=True),
        Column("peak", right=True),
        Column(""),
    )
    cells = [
        (
            str(curve.sizes[at]),
            magnitude(curve.macs[at]),
            size(curve.reads[at]),
            size(curve.writes[at]),
            size(curve.peak[at]),
            "█" * (-(-curve.peak[at] * _BAR // most)),
        )
        for at in rows
    ]
    return [headline(curve), *table(columns, cells), f"  parameters {size(curve.parameters)}"]


def headline(curve: CostCurve) -> str:
    """The first line: the model, the symbol and the sizes of the others."""
    others = "".join(f", {printable(name)} = {value}" for name, value in curve.at.items())
    names = f"{printable(curve.symbol)} = {curve.sizes[0]}..{curve.sizes[-1]}"
    bound = "" if curve.is_exact else ", lower bounds"
    return f"cost of {printable(curve.model)}   at {names}{others}{bound}"


def curve_json(curve: CostCurve) -> dict[str, Json]:
    """The curve as JSON; a list for each quantity, with an entry for each size."""
    return {
        "schema": SCHEMA,
        "model": curve.model,
        "symbol": curve.symbol,
        "at": dict(curve.at),
        "sizes": [*curve.sizes],
        "macs": [*curve.macs],
        "reads": [*curve.reads],
        "writes": [*curve.writes],
        "peak": [*curve.peak],
        "parameters": curve.parameters,
        "exact": curve.is_exact,
    }


def format_of(path: str) -> str:
    """The format of a drawing by the suffix of its file: svg, pdf or png. Raises UsageError for another suffix."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"a plot is written to a file that ends in {', '.join(SUFFIXES)}, not {path!r}")
    return suffix[1:]


def svg_of(curve: CostCurve) -> str:
    """The drawing as an SVG element."""
    text = drawing(curve, "svg").decode()
    return text[text.index("<svg") :]


def drawing_for(curve: CostCurve, path: str) -> bytes:
    """The drawing in the format of a file with this name."""
    return drawing(curve, format_of(path))


def drawing(curve: CostCurve, kind: str) -> bytes:
    """The drawing in a format of matplotlib: multiply-adds on the left, bytes on the right; equal for equal curves."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import EngFormatter, FuncFormatter, MultipleLocator
    except ImportError as error:
        raise UsageError(f"plots need matplotlib: pip install 'gather-infer[plot]' ({error})") from error
    settings: dict[Any, Any] = {
        "svg.hashsalt": "gather-infer",
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.size": 9,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        figure.suptitle(headline(curve))
        left.plot(curve.sizes, curve.macs, color="#0072b2")
        left.set_title("multiply-adds")
        left.yaxis.set_major_formatter(EngFormatter())
        series = (
            ("read", curve.reads, "-"),
            ("written", curve.writes, "--"),
            ("peak of activations", curve.peak, "-."),
        )
        for (label, values, style), color in zip(series, ("#0072b2", "#d55e00", "#009e73"), strict=True):
            right.plot(curve.sizes, values, style, color=color, label=label)
        right.axhline(curve.parameters, color="#777777", linestyle=":", label="parameters")
        right.set_title("bytes")
        most = max(*curve.reads, *curve.writes, *curve.peak, curve.parameters, 1)
        right.yaxis.set_major_locator(MultipleLocator(1 << max(0, most.bit_length() - 3)))
        right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(int(value))))
        right.legend(frameon=False)
        for axes in (left, right):
            axes.set_xlabel(printable(curve.symbol))
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
            axes.grid(alpha=0.3)
        content = io.BytesIO()
        metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
        figure.savefig(content, format=kind, metadata=metadata[kind], dpi=150)
    return content.getvalue()
