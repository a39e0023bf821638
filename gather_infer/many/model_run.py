"""The result of a command for one of several models: small, and cheap to send between processes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.model.hashes import file_hash


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a run has written, with a digest of its bytes."""

    path: str
    digest: str

    @staticmethod
    def of(path: str) -> WrittenFile:
        """The file at `path` as it is now. Raises OSError."""
        return WrittenFile(path, file_hash(path))

    @property
    def is_unchanged(self) -> bool:
        """Whether the file still has the bytes that were written."""
        try:
            return file_hash(self.path) == self.digest
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class ModelRun:
    """The result of a command for one of several models.

    model        path of the model
    exit_code    exit code of the command for this model alone
    lines        the report, in the requested output format; for the functions `..._many`, one line of JSON
    diagnostics  findings in the model
    error        why there is no report; "" if there is one
    written      the files that were written, the model first
    refused      whether the model was not written because of its findings
    unused       names in the given constraints that are neither inputs nor input dims of the model
    """

    model: str
    exit_code: int = 0
    lines: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    error: str = ""
    written: tuple[WrittenFile, ...] = ()
    refused: bool = False
    unused: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<ModelRun of {self.model}: {self.error or f'exit code {self.exit_code}'}>"

    @property
    def report(self) -> dict[str, Any]:
        """The JSON object of the command, as docs/json.md describes; with the member `error` if there is an error.

        For results of the functions `..._many` only.
        """
        found: dict[str, Any] = json.loads("\n".join(self.lines))
        return found

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files that were written, the model first."""
        return tuple(file.path for file in self.written)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that are errors."""
        return tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)

    @property
    def is_current(self) -> bool:
        """Whether all written files still have the bytes that were written."""
        return all(file.is_unchanged for file in self.written)
