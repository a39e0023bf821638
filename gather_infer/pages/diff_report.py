"""The report of `diff` as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from gather_infer.equality.result import Difference, FirstDifference
from gather_infer.inference import infer
from gather_infer.pages.labelled_drawings import LabelledDrawings
from gather_infer.pages.model_pair import ModelPair
from gather_infer.report.diff import CONTRACTS, HEADS, cost_text, diff_json, runs_text
from gather_infer.report.json import Json
from gather_infer.report.output_formats import DiffReport

SHOWN_ELEMENTS: Final = 24
"""Maximum number of elements of an input of the witness that the page prints."""

_LONGEST: Final = 2000


def diff_page(report: DiffReport) -> dict[str, Json]:
    """The data of the page: that of `--format json`, the sentences of the text, and the first difference drawn."""
    found = report.difference
    first = found.first_difference
    return {
        "command": "diff",
        "names": [found.first, found.second],
        **{key: value for key, value in diff_json(report).items() if key not in ("schema", "first", "second")},
        "equal": found.is_equal,
        "sentence": HEADS[str(found.verdict)],
        "contract_sentence": CONTRACTS.get(str(found.contract)),
        "costs": _costs(found),
        "runs_sentence": None if found.runs is None else runs_text(found.runs),
        "witness": None if found.witness is None else _witness(found.witness),
        "drawings": [None, None] if first is None else _drawings(first, report),
    }


def _costs(found: Difference) -> list[Json]:
    """Quantity, formula in each model, and whether both leave nothing out."""
    rows: list[Json] = []
    for change in found.costs:
        texts = [cost_text(dim, change.quantity)[:_LONGEST] for dim in (change.first, change.second)]
        rows.append([change.quantity, *texts, change.is_exact])
    return rows


def _witness(feeds: Mapping[str, Any]) -> list[Json]:
    """Name, type and first elements of each input."""
    rows: list[Json] = []
    for name, value in feeds.items():
        array = np.asarray(value)
        more = f", ... {array.size - SHOWN_ELEMENTS} more" if array.size > SHOWN_ELEMENTS else ""
        elements = ", ".join(map(str, array.ravel()[:SHOWN_ELEMENTS].tolist()))
        rows.append([name, f"{array.dtype}{list(array.shape)}", elements + more])
    return rows


def _drawings(first: FirstDifference, report: DiffReport) -> list[Json]:
    """The first difference in each model, with its neighbours."""
    pair = ModelPair(*(infer(model, rules=report.rules) for model in report.models))
    nodes = [_titled(title, side) for title, side in zip((first.first, first.second), pair.sides, strict=True)]
    for at in (0, 1):
        if not nodes[at] and nodes[1 - at]:
            nodes[at] = pair.counterparts(1 - at, nodes[1 - at])
    sides = zip(pair.sides, nodes, strict=True)
    return [side.around_nodes(each, each, "center") if each else None for side, each in sides]


def _titled(title: str, side: LabelledDrawings) -> Sequence[int]:
    """The node with a title of operator and label."""
    tables = side.tables
    names = zip(tables.operators, tables.labels, strict=True)
    found = [at for at, (operator, label) in enumerate(names) if _title(operator, label) == title]
    return found[:1]


def _title(operator: str, label: str) -> str:
    return f"{operator.rpartition('.')[2]} {label}"
