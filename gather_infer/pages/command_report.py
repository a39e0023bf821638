"""The result of a command as a page: a section for each model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final

from gather_infer.pages.document import REPORT, document
from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.totals import TotalsReport

TITLES: Final = {
    "check": "Check",
    "fold": "Folding",
    "optimize": "Optimization",
    "convert": "Conversion",
    "diff": "Comparison",
}


def report_document(data: Mapping[str, Any]) -> str:
    """The HTML of a report.

    data   `models` has the data of each model, and the other members are about all of them; or the data of one model.
           A model has `names`, those of its files, or the `error` for which it has no report
    """
    models = [dict(each) for each in data.get("models", (data,))]
    about_all = {key: value for key, value in data.items() if key != "models"} if "models" in data else {}
    names = iter(shortest_names([name for each in models for name in each["names"]]))
    for each in models:
        each["names"] = [next(names) for _ in each["names"]]
    command = next((each["command"] for each in (about_all, *models) if "command" in each), "")
    about = f"{len(models)} models" if len(models) > 1 else " and ".join(models[0]["names"])
    title = f"{TITLES[command]} of {about}" if command else about
    page: dict[str, Json] = {"schema": SCHEMA, **about_all, "command": command, "title": title}
    page["models"] = [*models]
    return document(page, title, REPORT).rstrip()


def totals_page(report: TotalsReport) -> dict[str, Json]:
    """The data of several models, each a JSON object of the command or the error of a file that has none."""
    return {
        "models": [
            {"names": [each["model"]["name"]], "error": each["error"].removeprefix(f"{each['model']['name']}: ")}
            if "error" in each
            else dict(each)
            for each in report.models
        ]
    }


def shortest_names(paths: Sequence[str]) -> list[str]:
    """The ends of the paths that tell the files apart: a page is passed on, and does not tell where the files were."""
    parts = [[part for part in path.split(os.sep) if part] or [path] for path in paths]
    distinct = {tuple(each) for each in parts}
    length = next(n for n in count(1) if len({each[-n:] for each in distinct}) == len(distinct))
    return [os.sep.join(each[-length:]) for each in parts]
