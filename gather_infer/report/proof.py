"""Proofs that two models are equal, as parts of the results of commands: text, and members of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gather_infer.report.json import Json
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, View

if TYPE_CHECKING:
    from gather_infer.equality.result import Difference, OutputComparison

MAX_SHOWN = 6
"""Maximal number of printed entries of each list, unless verbose."""


def outputs_lines(found: Difference, view: View) -> Iterator[str]:
    """A line for each output that is not proved; the others are counted by their class."""
    proved: dict[str, list[OutputComparison]] = {}
    for each in found.outputs:
        if str(each.verdict) == "proved":
            proved.setdefault(str(each.proof_class), []).append(each)
        elif str(each.verdict) != "not_comparable":
            reason = f": {each.reason}" if each.reason else ""
            yield f"  {each.verdict!s:10} {each.name}{reason}"
    for kind, outputs in proved.items():
        laws = ": " + ", ".join(found.given.laws) if kind == "named laws" else ""
        names = ", ".join(each.name for each in outputs)
        yield f"  proved     {count(len(outputs), 'output')} ({kind}{laws})" + (f": {names}" if view.verbose else "")


def first_difference_lines(found: Difference) -> Iterator[str]:
    first = found.first_difference
    assert first is not None
    there = f" instead of {first.first}" if first.first and first.first != first.second else ""
    yield f"  first to differ: {first.second}{there}"
    yield from (f"    {text}" for text in first.differences)


def obligations_lines(found: Difference, view: View) -> Iterator[str]:
    shown = found.obligations if view.verbose else found.obligations[:MAX_SHOWN]
    if shown:
        yield "  not proved to run wherever the first model runs:"
    yield from (f"    {text}" for text in shown)
    if len(shown) < len(found.obligations):
        yield f"    ... {len(found.obligations) - len(shown)} more: --verbose"


def proof_lines(found: Difference, view: View = PLAIN) -> list[str]:
    """Lines about a proof that a rewritten model equals its original: the classes, or what is not proved."""
    lines = [*outputs_lines(found, view)]
    if not found.is_proved:
        unproved = sum(str(each.verdict) != "proved" for each in found.outputs)
        lines = [f"  not proved: {unproved} of {count(len(found.outputs), 'output')}", *lines]
        lines += [] if found.first_difference is None else first_difference_lines(found)
        lines += obligations_lines(found, view)
    return [part for line in lines for part in fitted(printable(line), view.width, "      ")]


def proof_members(found: Difference) -> dict[str, Json]:
    """The members about the proof: verdict, contract, obligations, outputs and the first difference."""
    first = found.first_difference
    return {
        "verdict": str(found.verdict),
        "contract": str(found.contract),
        "laws": list(found.given.laws),
        "obligations": list(found.obligations),
        "outputs": [
            {
                "name": each.name,
                "other": each.other,
                "verdict": str(each.verdict),
                "class": None if each.proof_class is None else str(each.proof_class),
                "reason": each.reason,
            }
            for each in found.outputs
        ],
        "first_difference": None
        if first is None
        else {
            "output": first.output,
            "first": first.first,
            "second": first.second,
            "differences": list(first.differences),
        },
    }
