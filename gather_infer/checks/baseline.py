"""Baselines: files of accepted findings, which later runs leave out.

`key_of` identifies a finding. For each key, a baseline accepts as many findings as there were when it was written.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gather_infer.checks.result import CheckResult, Key, key_of
from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.errors import ModelWriteError, UsageError

SCHEMA: Final = 2

_MEMBERS = ("model", "code", "op_type", "node", "value")


@dataclass(slots=True)
class Baseline:
    """Accepted findings; model paths are relative to `folder`.

    remaining   for each key, the number of findings that can still be accepted
    accepted    the number of findings accepted so far
    """

    folder: Path
    remaining: Counter[Key] = field(default_factory=Counter)
    accepted: int = 0

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Baseline:
        """The baseline in a file. Raises UsageError if the file cannot be read or is not a baseline."""
        path = Path(path)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"baseline {path}: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"baseline {path}: not JSON: {error}") from error
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise UsageError(f"baseline {path}: must be an object with schema {SCHEMA}")
        try:
            entries = Counter({_key(entry): int(entry.get("count", 1)) for entry in found["findings"]})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"baseline {path}: findings must be objects with {', '.join(_MEMBERS)}") from error
        return Baseline(path.resolve().parent, entries)

    def without_accepted(self, result: CheckResult) -> CheckResult:
        """`result` without accepted findings; each accepted finding decrements its count in `remaining`."""
        model = _relative_to(self.folder, result.model)

        def is_new(finding: Diagnostic) -> bool:
            key = key_of(finding, model)
            if self.remaining[key] <= 0:
                return True
            self.remaining[key] -= 1
            self.accepted += 1
            return False

        return result.only(is_new)

    def unused(self, results: Iterable[CheckResult]) -> int:
        """The total of `remaining` for the models of `results`: accepted findings that no longer occur."""
        models = {_relative_to(self.folder, result.model) for result in results}
        return sum(n for key, n in self.remaining.items() if n > 0 and key[0] in models)


def write_baseline(path: str | os.PathLike[str], results: Iterable[CheckResult], min_severity: Severity) -> int:
    """Write a baseline that accepts all findings of `min_severity` or higher; return their number.

    The entries are sorted, so that changes of the file are easy to review. Raises ModelWriteError if writing fails.
    """
    path = Path(path)
    folder = path.resolve().parent
    counts = Counter(
        key_of(d, _relative_to(folder, result.model)) for result in results for d in result.at_least(min_severity)
    )
    findings: list[dict[str, Any]] = []
    for key, number in sorted(counts.items()):
        entry: dict[str, Any] = dict(zip(_MEMBERS, key, strict=True))
        findings.append(entry if number == 1 else {**entry, "count": number})
    lines = ",\n".join(f"  {json.dumps(entry, ensure_ascii=False)}" for entry in findings)
    text = f'{{"schema": {SCHEMA}, "findings": [\n{lines}\n]}}\n'
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ModelWriteError(f"baseline {path}: {error.strerror}") from error
    return sum(counts.values())


def _key(entry: dict[str, Any]) -> Key:
    model, code, op_type, node, value = (str(entry[member]) for member in _MEMBERS)
    return model, code, op_type, node, value


def _relative_to(folder: Path, model: str) -> str:
    """The path `model` relative to `folder`; a name in angle brackets, such as `<stdin>`, is returned unchanged."""
    if model.startswith("<"):
        return model
    try:
        return Path(os.path.relpath(os.path.abspath(model), folder)).as_posix()
    except ValueError:  # on another drive there is no relative path
        return Path(model).as_posix()
