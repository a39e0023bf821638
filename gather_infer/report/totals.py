"""Totals of a command with several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TotalsReport:
    """Totals of a command with several models, printed after the last one.

    errors, warnings   number of findings in all models
    read               number of models with a report
    unreadable         number of models without a report: unreadable files, and models that the command refuses
    models             JSON objects of the models if the output format is JSON, else empty
    """

    errors: int = 0
    warnings: int = 0
    read: int = 0
    unreadable: int = 0
    models: Sequence[Mapping[str, Any]] = ()
