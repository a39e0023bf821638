"""Results of `diff` as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import count, fitted, printable, size
from gather_infer.report.output_formats import PLAIN, DiffReport, View
from gather_infer.report.proof import (
    MAX_SHOWN,
    first_difference_lines,
    obligations_lines,
    outputs_lines,
    proof_members,
)
from gather_infer.report.verification import verification_members, verified_lines
from gather_infer.symbolic import factored

if TYPE_CHECKING:
    from gather_infer.contract import NewRequirement
    from gather_infer.equality.result import Difference
    from gather_infer.symbolic import Dim
    from gather_infer.verification.result import Verification

MAX_FORMULA = 100
"""Maximal number of characters of the formulas of a cost, unless verbose."""

HEADS = {
    "proved": "equal, proved for all sizes",
    "runs": "equal in runs, not proved",
    "different": "different",
    "unknown": "not proved, and not run",
    "not_comparable": "not comparable",
}


def diff_text(report: DiffReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer diff`: the verdict, and what differs."""
    found = report.difference
    names = f"{printable(found.first)} and {printable(found.second)}"
    lines = [f"{names}   {HEADS[str(found.verdict)]}"]
    lines += [f"  {text}" for text in found.interface]
    before, after = found.operators.totals
    if found.operators.changed:
        changed = [f"{name} {a} -> {b}" for name, (a, b) in found.operators.changed.items()]
        lines.append(f"  nodes      {before} -> {after}: {_some(changed, view)}")
    if found.opsets:
        lines.append("  opsets     " + ", ".join(f"{name} {a} -> {b}" for name, (a, b) in found.opsets.items()))
    lines += _weights(found, view)
    lines += _costs(found, view)
    lines += _contract(found, view)
    lines += outputs_lines(found, view)
    if found.first_difference is not None:
        lines += first_difference_lines(found)
    lines += obligations_lines(found, view)
    wrapped = [part for line in lines for part in fitted(printable(line), view.width, "      ")]
    if found.runs is not None and (view.verbose or found.runs.failure):
        wrapped += verified_lines(found.runs, view)
    elif found.runs is not None:
        wrapped.append(f"  {runs_text(found.runs)}")
    return wrapped


def runs_text(runs: Verification) -> str:
    """The number of runs, and what floats were allowed to differ by."""
    allowed = "bit by bit"
    if runs.rtol is not None or runs.atol is not None:
        allowed = f"within {runs.atol or 0:g} + {runs.rtol or 0:g} * |original|"
    return f"{count(len(runs.runs), 'run')} in {runs.runtime} {runs.version}, compared {allowed}"


def _some(entries: list[str], view: View) -> str:
    shown = entries if view.verbose else entries[:MAX_SHOWN]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f", {more} more: --verbose" if more else "")


def _weights(found: Difference, view: View) -> Iterator[str]:
    shown = found.weights if view.verbose else found.weights[:MAX_SHOWN]
    for weight in shown:
        if weight.reason:
            yield f"  weight     {weight.name} is {weight.reason}"
        else:
            differing, total = weight.elements
            largest = "" if weight.largest is None else f", by at most {weight.largest:.3g}"
            yield f"  weight     {weight.name} differs in {differing} of {count(total, 'element')}{largest}"
    if len(shown) < len(found.weights):
        yield f"  ... {len(found.weights) - len(shown)} more weights: --verbose"


def _costs(found: Difference, view: View) -> Iterator[str]:
    """The costs that differ: both formulas, or else their difference, or else that they differ, if they are long."""
    for change in found.costs:
        texts = [" -> ".join(cost_text(each, change.quantity) for each in (change.first, change.second))]
        if change.added is not None:
            texts.append(f"by {cost_text(change.added, change.quantity)}")
        short = (text for text in texts if view.verbose or len(text) <= MAX_FORMULA)
        text = next(short, "by a long formula: --verbose")
        yield f"  {change.quantity:10} {text}{'' if change.is_exact else ', as far as known'}"


def cost_text(dim: Dim, quantity: str) -> str:
    """A formula or a number, in multiply-adds or bytes."""
    if quantity == "macs":
        return str(factored(dim))
    return size(dim) if isinstance(dim, int) and dim >= 0 else f"{factored(dim)} B"


CONTRACTS = {
    "narrower": "narrower: the second model does not take every input that the first one takes",
    "wider": "wider: the second model takes each input that the first one takes, and more",
    "unknown": "not known to be the same",
}


def _contract(found: Difference, view: View) -> Iterator[str]:
    """Conditions of each contract that do not follow from the other; nothing if each input fits both."""
    change = str(found.contract)
    if found.contracts is None or change not in CONTRACTS:
        return
    yield f"  contract   {CONTRACTS[change]}"
    sides = [("second", "first", found.contracts.narrowing)] if change != "wider" else []
    if change != "unknown":
        sides.append(("first", "second", found.contracts.widening))
    for which, other, requirements in sides:
        shown = requirements if view.verbose else requirements[:MAX_SHOWN]
        for each in shown:
            example = f"; {each.example} is fine in the {other}" if each.witness else ""
            nodes = f" ({each.nodes[0]})" if each.nodes else ""
            yield f"    the {which} requires {each.text}{nodes}{example}"
        if len(shown) < len(requirements):
            yield f"    ... {len(requirements) - len(shown)} more: --verbose"


def _requirement(each: NewRequirement) -> dict[str, Json]:
    return {
        "text": each.text,
        "nodes": list(each.nodes),
        "witness": None if each.witness is None else dict(each.witness),
    }


def diff_json(report: DiffReport) -> dict[str, Json]:
    """The result as a JSON object; docs/json.md describes it."""
    found = report.difference
    return {
        "schema": SCHEMA,
        "first": found.first,
        "second": found.second,
        **proof_members(found),
        "interface": list(found.interface),
        "costs": {
            change.quantity: {"first": str(change.first), "second": str(change.second), "exact": change.is_exact}
            for change in found.costs
        },
        "contracts": None
        if found.contracts is None
        else {
            "narrowing": [_requirement(each) for each in found.contracts.narrowing],
            "widening": [_requirement(each) for each in found.contracts.widening],
        },
        "opsets": {name: list(versions) for name, versions in found.opsets.items()},
        "nodes": list(found.operators.totals),
        "operators": {name: list(counts) for name, counts in found.operators.changed.items()},
        "weights": [
            {
                "name": weight.name,
                "differing": weight.elements[0],
                "elements": weight.elements[1],
                "largest": weight.largest,
                "reason": weight.reason,
            }
            for weight in found.weights
        ],
        "runs": None if found.runs is None else verification_members(found.runs),
    }
