"""The lattice of row dependence: which rows of the inputs the elements of a tensor depend on.

A *row* is an index of the batch: of one axis of each input that has rows. `B` is the number of rows. From the bottom:

    constant      the elements depend on no row, nor on `B`
    by row        one axis is indexed by `(p*B + b)*inner + s`; elements with row `b` depend on row `b` of the inputs
    mixed         a node combines rows, or uses the number of a row or of all rows
    unknown       a node is not understood
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim


class Digit(NamedTuple):
    """The place of the rows in a tensor: the index of `axis` is `(p*B + b)*inner + s` with 0 <= s < inner, in row b."""

    axis: int
    inner: Dim = 1


class RowNumber(NamedTuple):
    """An integer that carries the number of its row: `coefficient*b + g`, where `lo <= g <= hi` depends on row b."""

    coefficient: Dim
    lo: Dim | None = None
    hi: Dim | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor that is constant or by row.

    digit     the place of the rows; None if the tensor has none, and then it is constant
    flat      axes along which elements do not vary, those of size 1 left out
    constant  the elements depend on no row of the inputs
    number    the elements carry the number of their row; `digit` is then set
    columns   the same for each index of the last axis; None if `number` applies to all
    counted   the node by which the elements depend on the number of rows; None if they do not
    """

    digit: Digit | None = None
    flat: frozenset[int] = frozenset()
    constant: bool = True
    number: RowNumber | None = None
    columns: tuple[RowNumber | None, ...] | None = None
    counted: NodePath | None = None

    def __post_init__(self) -> None:
        assert self.constant or self.digit is not None, "a tensor that depends on a row has a place for it"

    @property
    def has_numbers(self) -> bool:
        """Whether elements carry the number of their row."""
        return self.number is not None or self.columns is not None

    def with_(self, **changes: Any) -> Rows:
        return replace(self, **changes)


class Kind(Enum):
    """Why rows are not known to be independent.

    ROWS      a node combines rows of the batch
    COUNT     a node computes with the number of rows
    NUMBER    a node computes with the number of a row, or rows meet a constant that differs from row to row
    UNKNOWN   a node is not understood
    """

    ROWS = "rows"
    COUNT = "count"
    NUMBER = "number"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Lost:
    """A tensor whose elements may depend on other rows.

    node     the node where that begins; None for an input of the model
    reason   what it does, as a text that follows the name of the node
    """

    kind: Kind
    node: NodePath | None
    op_type: str
    reason: str

    @property
    def mixes(self) -> bool:
        return self.kind is not Kind.UNKNOWN


State: TypeAlias = "Rows | Lost"

CONSTANT = Rows()


class RowsLost(Exception):
    """Ends the transfer function of a node whose outputs are all `state`."""

    def __init__(self, state: Lost) -> None:
        super().__init__(state.reason)
        self.state = state
