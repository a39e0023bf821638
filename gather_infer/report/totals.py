"""What runs over several models come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InferencesReport:
    """Runs over several models, what is left of them when all are done.

    errors, warnings   findings of all of them
    read               how many of the files could be read
    unread             how many could not
    models             their objects of JSON, in that form
    """

    errors: int = 0
    warnings: int = 0
    read: int = 0
    unread: int = 0
    models: Sequence[Mapping[str, Any]] = ()
