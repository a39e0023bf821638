"""Totals of inferences of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InferencesReport:
    """Totals of inferences of several models, printed after the last one.

    errors, warnings   number of findings in all models
    read               number of files that could be read
    unreadable         number of files that could not be read
    models             JSON objects of the models if the output format is JSON, else empty
    """

    errors: int = 0
    warnings: int = 0
    read: int = 0
    unreadable: int = 0
    models: Sequence[Mapping[str, Any]] = ()
