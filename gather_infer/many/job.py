"""Jobs: what a command does with one model, so that it may run in this process or in others."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import GatherInferError, ModelWriteError
from gather_infer.inference.constraints.shared import SharedConstraints, applicable
from gather_infer.model import ModelFile, SaveReport
from gather_infer.model.file import STDIN
from gather_infer.model.model_loading import with_constants
from gather_infer.progress import Progress, no_progress
from gather_infer.report.output_formats import PLAIN, OutputFormat, ResultKind, View
from gather_infer.user_code.user_code import NO_CODE, UserCode

if TYPE_CHECKING:
    from gather_infer.many.model_run import ModelRun, WrittenFile

T = TypeVar("T")

CRASHED = 4
"""Exit code of a model that crashed its processes."""


class Save(Protocol):
    """A function that writes a model, like the `save` of a result."""

    def __call__(
        self, path: str, *, external_data: str | None, in_place: bool, dim_dialect: str | None
    ) -> SaveReport: ...


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(Generic[T]):
    """The result of a command for one model, before it is written or printed.

    kind         the kind of the report
    report       the report, which `kind` prints
    diagnostics  findings that the totals count
    exit_code    exit code; the model is written only if it is 0
    save         writes the model; None if the command has no model to write
    unused       names in the options of the job that the model does not have
    """

    kind: ResultKind[T]
    report: T
    diagnostics: Sequence[Diagnostic]
    exit_code: int = 0
    save: Save | None = None
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A model of several, and the file to write; `output` is None if nothing is written."""

    path: str
    output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """A command with its options.

    dims, inputs, ranges   constraints; each model uses those that name one of its inputs or input dims
    code                   rules, rewrites and extensions of the user
    constants              whether initializers that are also inputs count as constants
    output_format          format of the report: TEXT prints one of several models, other formats a line of JSON
    view                   options of the text
    external_data, in_place, dim_dialect   as for the `save` of results
    """

    dims: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    code: UserCode = NO_CODE
    constants: bool = False
    output_format: OutputFormat = OutputFormat.JSONL
    view: View = PLAIN
    external_data: str | None = None
    in_place: bool = False
    dim_dialect: str | None = None

    @abstractmethod
    def outcome(self, model: ModelFile, given: SharedConstraints, progress: Progress) -> Outcome[Any]:
        """Run the command on a model with the constraints `given`. Raises the errors of the command."""

    def alone(self, path: str, progress: Progress) -> Outcome[Any]:
        """Run the command on the only model: unknown names in the constraints raise UsageError."""
        given = self._constraints()
        file = self.code.open_model(path)
        return self.outcome(with_constants(file) if self.constants else file, given, progress)

    def __call__(self, item: Item) -> ModelRun:
        """Run the command on one of several models and write the model; an error becomes a result."""
        name = "<stdin>" if item.path == STDIN else item.path
        try:
            return self._run(item, name)
        except GatherInferError as error:
            text = str(error)
            is_named = text.startswith((f"{name}: ", f"{Path(name)}: "))  # the model of `./a.onnx` is called `a.onnx`
            return self.failed(name, text if is_named else f"{name}: {text}", error.exit_code)

    def crashed(self, item: Item, ending: str) -> ModelRun:
        """The result of a model whose processes crashed."""
        return self.failed(item.path, f"{item.path}: its process ended {ending}", CRASHED)

    def failed(self, name: str, error: str, exit_code: int) -> ModelRun:
        """The result of a model without a report."""
        from gather_infer.many.model_run import ModelRun
        from gather_infer.report.json import unreadable_json
        from gather_infer.report.summary import Unreadable

        is_text = self.output_format is OutputFormat.TEXT
        lines = () if is_text else (json.dumps(unreadable_json(Unreadable(name, error))),)
        return ModelRun(name, exit_code, lines, error=error)

    def _constraints(self) -> SharedConstraints:
        return SharedConstraints(self.dims, self.inputs, self.ranges, tuple(self.code.rule_sets()), self.constants)

    def _run(self, item: Item, name: str) -> ModelRun:
        from gather_infer.many.model_run import ModelRun

        file = self.code.open_model(item.path)
        if self.constants:
            file = with_constants(file)
        given, unused = applicable(file, self._constraints())
        found = self.outcome(file, given, no_progress)
        lines = found.kind.lines_of_many(self.output_format, found.report, self.view)
        is_refused = item.output is not None and (found.exit_code != 0 or found.save is None)
        written: tuple[WrittenFile, ...] = ()
        if item.output is not None and not is_refused:
            assert found.save is not None, "it is not refused"
            written = self._written(found.save, item.output)
        return ModelRun(
            name,
            found.exit_code,
            tuple(lines),
            tuple(found.diagnostics),
            "",
            written,
            is_refused,
            unused + found.unused,
        )

    def _written(self, save: Save, output: str) -> tuple[WrittenFile, ...]:
        """Write the model. Raises the errors of `gather_infer.model.save`."""
        from gather_infer.many.model_run import WrittenFile

        try:
            os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
            saved = save(output, external_data=self.external_data, in_place=self.in_place, dim_dialect=self.dim_dialect)
            paths = (saved.path, saved.external_data, *saved.copied, *saved.companions)
            return tuple(WrittenFile.of(str(path)) for path in paths if path is not None)
        except OSError as error:
            raise ModelWriteError(f"{error.filename or output}: {error.strerror}") from error
