"""The result of `unfreeze`: the model, what was edited, what blocks, and how the rows were checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gather_infer.errors import GatherInferError, UsageError
from gather_infer.model import ModelFile
from gather_infer.model.edits import RemoveNode
from gather_infer.model.tensors import fed_inputs
from gather_infer.passes.result import PassResult
from gather_infer.provenance.result import Independence, IndependenceVerdict


class Blocked(GatherInferError):
    """A node that stands for the old size and cannot be edited; `reason` says what it would need."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"{node}: {reason}")
        self.node, self.reason = node, reason


class Required(NamedTuple):
    """A number that a node requires a size to be; `node` is its label."""

    size: int
    node: str


class RowCheck(NamedTuple):
    """Rows of the result run together, beside the same rows run in the original model; and runs at other lengths.

    runs     sizes at which the result equals the original, as texts such as `batch=3`; of a length the old one
    ran      sizes of lengths at which the result runs, and nothing tells what it should be
    skipped  why rows were run at no number above the old one, or a length not at the old one; "" if each was
    faults   what differs: output, sizes, largest difference
    """

    runs: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    skipped: str = ""
    faults: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.faults and not self.skipped


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class UnfreezeResult(PassResult):
    """A model with symbols in place of sizes.

    freed     symbol -> its old size
    sites     symbol -> the input axes that it names, as texts such as `ids.0`
    blocked   why the model is refused; None if it is not
    fixed     outputs without a freed size, although one of their sizes was the old one, or they are constants
    most      symbol -> the largest size for which constants of the file have rows; no entry if any size will do
    rows      the check of the rows; None if it was not asked for
    dropped   symbols that stay numbers in a partial result -> why they are refused
    like      the second model that the result equals at `like_sizes`; None if there was none
    independence   symbol of rows -> whether the rows of the result are independent
    numbers   symbols of named axes that the file declares already -> their old sizes; `source` has these numbers
    required  the new names of such symbols -> the old size, and the label of a node that requires it
    """

    freed: Mapping[str, int]
    sites: Mapping[str, tuple[str, ...]]
    blocked: Blocked | None = None
    fixed: tuple[str, ...] = ()
    most: Mapping[str, int] = field(default_factory=dict)
    rows: RowCheck | None = None
    dropped: Mapping[str, str] = field(default_factory=dict)
    like: ModelFile | None = None
    like_sizes: Mapping[str, int] = field(default_factory=dict)
    independence: Mapping[str, Independence] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    required: Mapping[str, Required] = field(default_factory=dict)

    @property
    def old_sizes(self) -> dict[str, int]:
        """The sizes at which the result equals the file: of its own symbols, and of those that the file declares."""
        return {**self.numbers, **self.freed}

    @property
    def removals(self) -> list[RemoveNode]:
        """The nodes of the file that were edited, or that nothing reads any more."""
        return [edit for edit in self.journal.edits if isinstance(edit, RemoveNode)]

    @property
    def unnamed_axes(self) -> dict[str, tuple[str, ...]]:
        """Symbol -> axes of the old size that are not named, although the same axis of another input is."""
        named = {site for sites in self.sites.values() for site in sites}
        found: dict[str, tuple[str, ...]] = {}
        for symbol, size in self.freed.items():
            axes = {int(site.rpartition(".")[2]) for site in self.sites[symbol]}
            others = tuple(
                f"{value.name}.{axis}"
                for value in fed_inputs(self.source.proto)
                for axis, dim in enumerate(value.type.tensor_type.shape.dim)
                if axis in axes and dim.dim_value == size and f"{value.name}.{axis}" not in named
            )
            if others:
                found[symbol] = others
        return found

    @property
    def refused(self) -> bool:
        return self.blocked is not None or (self.rows is not None and not self.rows.ok) or bool(self.dependence)

    @property
    def why_refused(self) -> str:
        """Why the model is not written; "" if it is."""
        if self.blocked is not None:
            return f"{self.blocked.node}: {self.blocked.reason}"
        if self.rows is not None and self.rows.faults:
            return "; ".join((self.rows.faults[0], *self.mixing))
        if self.dependence:
            return self.dependence
        return "" if self.rows is None or self.rows.ok else f"rows not compared: {self.rows.skipped}"

    @property
    def dependence(self) -> str:
        """The run in which rows of the result depend on each other, with the node that mixes them; "" if none does."""
        refuted = (each for each in self.independence.values() if each.verdict is IndependenceVerdict.REFUTED)
        causes = ((each.rows, cause) for each in refuted if (cause := each.cause) is not None)
        return next(
            (f"rows of {rows} depend on each other: {cause.run}; {cause.explanation}" for rows, cause in causes), ""
        )

    @property
    def mixing(self) -> tuple[str, ...]:
        """The nodes that mix rows, with their path to an output."""
        causes = (found.cause for found in self.independence.values())
        return tuple(cause.explanation for cause in causes if cause is not None and cause.mixes)

    def __repr__(self) -> str:
        return f"<UnfreezeResult of {self.source.name}: refused>" if self.refused else PassResult.__repr__(self)

    @property
    def refusal(self) -> GatherInferError | None:
        return UsageError(f"{self.source.name}: {self.why_refused}") if self.refused else None
