"""The result of `unfreeze`: the model, what was edited, what blocks, and how the rows were checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gather_infer.errors import GatherInferError, UsageError
from gather_infer.model import SaveReport
from gather_infer.model.edits import RemoveNode
from gather_infer.model.save import Companions
from gather_infer.passes.result import PassResult


class Blocked(GatherInferError):
    """A node that stands for the old size and cannot be edited; `reason` says what it would need."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"{node}: {reason}")
        self.node, self.reason = node, reason


class RowCheck(NamedTuple):
    """Rows of the result run together, beside the same rows run in the original model.

    runs     sizes that were run, as texts such as `batch=3`
    skipped  why nothing was run; "" if something was
    faults   what differs: output, sizes, largest difference
    """

    runs: tuple[str, ...] = ()
    skipped: str = ""
    faults: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.faults


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnfreezeResult(PassResult):
    """A model with symbols in place of sizes.

    freed     symbol -> its old size
    sites     symbol -> the input axes that it names, as texts such as `ids.0`
    blocked   why the model is refused; None if it is not
    fixed     outputs without a freed size, although one of their sizes was the old one
    most      symbol -> the largest size for which constants of the file have rows; no entry if any size will do
    rows      the check of the rows; None if it was not asked for
    """

    freed: Mapping[str, int]
    sites: Mapping[str, tuple[str, ...]]
    blocked: Blocked | None = None
    fixed: tuple[str, ...] = ()
    most: Mapping[str, int] = field(default_factory=dict)
    rows: RowCheck | None = None

    @property
    def removals(self) -> list[RemoveNode]:
        """The nodes of the file that were edited, or that nothing reads any more."""
        return [edit for edit in self.journal.edits if isinstance(edit, RemoveNode)]

    @property
    def refused(self) -> bool:
        return self.blocked is not None or (self.rows is not None and not self.rows.ok)

    @property
    def why_refused(self) -> str:
        """Why the model is not written; "" if it is."""
        if self.blocked is not None:
            return f"{self.blocked.node}: {self.blocked.reason}"
        return self.rows.faults[0] if self.rows is not None and self.rows.faults else ""

    def __repr__(self) -> str:
        return f"<UnfreezeResult of {self.source.name}: refused>" if self.refused else PassResult.__repr__(self)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: str | None = None,
        in_place: bool = False,
        dim_dialect: str | None = None,
        companions: Companions | None = None,
    ) -> SaveReport:
        """Write the model, whole or not at all. Raises UsageError if it is refused, and as `PassResult.save`."""
        if self.refused:
            raise UsageError(f"{self.source.name}: {self.why_refused}")
        return PassResult.save(
            self,
            path,
            external_data=external_data,
            in_place=in_place,
            dim_dialect=dim_dialect,
            companions=companions,
        )
