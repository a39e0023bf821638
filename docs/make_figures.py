"""Write the measured tables of docs/comparison.md and docs/benchmarks.md from one file: `python docs/make_figures.py`.

`python benchmarks/infer.py --nodes --all-fixtures --megabytes 0 --json benchmarks/figures.json` measures them. Two
comments, `<!-- figures: name -->` and `<!-- end of figures -->`, enclose a table; a test compares the pages with the
file.
"""

from __future__ import annotations

import json
import re
import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIGURES = HERE.parent / "benchmarks" / "figures.json"
PAGES = (HERE / "comparison.md", HERE / "benchmarks.md")

OURS = "gather-infer"
TOOLS = {
    OURS: OURS,
    "onnx (C++)": "onnx (C++)",
    "onnxruntime": "onnxruntime",
    "onnx-shape-inf.": "onnx-shape-inference",
}
FIRST, SECOND = 0, 1

_BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def page(text: str, figures: Mapping[str, Any]) -> str:
    """The text of a page, with its tables generated from the figures."""
    return _BLOCK.sub(lambda block: f"{block[1]}{TABLES[block[2]](figures)}\n{block[3]}", text)


def comparison(figures: Mapping[str, Any]) -> str:
    """The comparison of shape inference in docs/comparison.md."""
    whole, count = figures["whole"], len(figures["first"])
    rows = [
        ["", *TOOLS.values()],
        ["dims inferred exactly, mean of the fixtures (minimum)", *(_exact(whole[tool]) for tool in TOOLS)],
        [f"fails on, of {count}", *(str(len(whole[tool]["fails"])) for tool in TOOLS)],
        ["processor time of a whole process, as a multiple of gather-infer", *(_range(tool, whole) for tool in TOOLS)],
        [
            "of the first inference in a fresh process: median (minimum)",
            *("1" if tool == OURS else _ratio(figures, tool, FIRST) for tool in TOOLS),
        ],
        ["lists its assumptions", "yes", "", "", ""],
        ["explains unknown dims", "yes", "", "", ""],
        ["index verdicts", "yes", "", "", ""],
    ]
    told = whole["onnx (C++)"]["exact"]
    times = [1 / ratio for ratio in _ratios(figures, "onnx (C++)", FIRST)]
    text = (
        f"onnx's own inference is faster: {_times(min(times))} to {_times(max(times))} times for the first inference "
        f"of a fixture in a process, {_times(statistics.median(times))} in the median, where both take milliseconds. "
        f"It infers {told:.0f} % of the dims of an exported model exactly: it does not propagate a `Reshape` target "
        "through `Shape`, `Gather` and `Concat` if there is arithmetic in between. For fixed sizes this does not "
        "matter, and onnx is the right choice."
    )
    return f"{_table(rows)}\n\n{textwrap.fill(text, 120)}"


def first(figures: Mapping[str, Any]) -> str:
    """The times of the first and the second inference of each fixture, in docs/benchmarks.md."""
    others = [tool for tool in TOOLS if tool != OURS]

    def slower(tool: str, which: int) -> str:
        ratios = _ratios(figures, tool, which)
        return f"{sum(ratio > 1 for ratio in ratios)} of {len(ratios)}"

    rows = [["", *TOOLS.values()]]
    for which, name in ((FIRST, "first inference, as a multiple of gather-infer"), (SECOND, "second inference")):
        rows.append([f"{name}: median (minimum)", "1", *(_ratio(figures, tool, which) for tool in others)])
        rows.append(["slower than gather-infer", "", *(slower(tool, which) for tool in others)])
    nodes, times = figures["measured"]["nodes"], figures["first"]
    once, again = ([1e6 * times[name][OURS][k] / nodes[name] for name in times] for k in (FIRST, SECOND))
    text = (
        f"gather-infer takes {statistics.median(once):.0f} microseconds per node for the first inference of a fixture "
        f"in the median, {max(once):.0f} at most; for the second {statistics.median(again):.0f} and {max(again):.0f}. "
        f"{sum(t < 100 for t in once)} of {len(once)} take less than 100 the first time, {sum(t < 100 for t in again)} "
        "the second."
    )
    return f"{_table(rows)}\n\n{textwrap.fill(text, 120)}"


def whole(figures: Mapping[str, Any]) -> str:
    """The figures of whole processes, in docs/benchmarks.md."""
    found = figures["whole"]
    rows = [["", "processor time, as a multiple of gather-infer", "peak MiB", "exact dims, mean (minimum)", "fails"]]
    for tool, name in TOOLS.items():
        of = found[tool]
        peak = f"{of['peak_least']:.0f} to {of['peak_most']:.0f}"
        rows.append([name, _range(tool, found), peak, _exact(of), ", ".join(of["fails"])])
    return _table(rows)


def measured(figures: Mapping[str, Any]) -> str:
    """The versions with which the figures were measured."""
    stated = figures["measured"]
    tools = ", ".join(f"{name} {stated[name]}" for name in ("onnx", "onnxruntime", "onnx-shape-inference"))
    return f"Measured with Python {stated['python']}, {tools}, on the {stated['fixtures']} fixtures."


TABLES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "comparison": comparison,
    "first": first,
    "whole": whole,
    "measured": measured,
}


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head.replace("|  |", "| |", 1), "|" + "---|" * len(rows[0]), *rest])


def _exact(of: Mapping[str, Any]) -> str:
    return f"{of['exact']:.1f} % ({of['exact_least']:.1f} %)"


def _range(tool: str, whole: Mapping[str, Any]) -> str:
    return "1" if tool == OURS else f"{whole[tool]['ratio_least']:.2f} to {whole[tool]['ratio_most']:.2f}"


def _ratios(figures: Mapping[str, Any], tool: str, which: int) -> list[float]:
    pairs = [(times[tool], times[OURS]) for times in figures["first"].values()]
    return [theirs[which] / ours[which] for theirs, ours in pairs if theirs is not None]


def _ratio(figures: Mapping[str, Any], tool: str, which: int) -> str:
    ratios = _ratios(figures, tool, which)
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f})"


def _times(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"


if __name__ == "__main__":
    figures = json.loads(FIGURES.read_text())
    for path in PAGES:
        path.write_text(page(path.read_text(), figures))
