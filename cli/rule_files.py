"""Rules from a user's Python file: running one is always an explicit choice."""

from __future__ import annotations

import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gather_infer.errors import UsageError

if TYPE_CHECKING:
    from gather_infer.rules import RuleSet

_running: set[str] = set()


def load_rules(files: Iterable[str]) -> list[RuleSet]:
    """The RuleSets among the module-level names of each file.

    Raises UsageError when a file does not exist or has none; what the file itself raises passes through.
    """
    from gather_infer.rules import RuleSet

    found: list[RuleSet] = []
    for file in files:
        if not Path(file).is_file():
            raise UsageError(f"--rules {file}: {'not a file' if Path(file).exists() else 'no such file'}")
        _running.add(file)
        sets = [value for value in runpy.run_path(file).values() if isinstance(value, RuleSet)]
        if not sets:
            raise UsageError(f"--rules {file}: defines no RuleSet at module level")
        found += sets
    return found


def is_rule_file(filename: str) -> bool:
    """Whether code in `filename` is the user's: what it raises is no fault of ours."""
    return filename in _running
