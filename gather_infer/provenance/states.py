"""The lattice of row dependence: which rows of the inputs the elements of a tensor depend on.

A *row* is an index of the batch: of one axis of each input that has rows. `B` is the number of rows. From the bottom:

    constant      the elements depend on no row, nor on `B`
    by row        one axis is indexed by `(p*B + b)*inner + s`; elements with row `b` depend on row `b` of the inputs
    mixed         a node combines rows, or uses the number of a row or of all rows
    unknown       a node is not understood

The axis may also list positions that a NonZero found in all rows, in place of the rows: then an element depends on the
row of its position, and on the position in that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim


class Listing(NamedTuple):
    """The positions that a NonZero found in all rows.

    node   the NonZero: another one finds others, even if there are as many
    size   their number, which depends on all rows
    """

    node: NodePath
    size: Dim


class Digit(NamedTuple):
    """The place of the rows in a tensor: the index of `axis` is `(p*B + b)*inner + s` with 0 <= s < inner, in row b.

    listing   positions in place of the rows: `B` is their number, and `b` the number of one
    """

    axis: int
    inner: Dim = 1
    listing: Listing | None = None

    @property
    def order(self) -> tuple[Dim, Listing | None]:
        """The meaning of an index along the axis: two tensors have the same rows at each index if it is the same."""
        return self.inner, self.listing

    def entries(self, rows: Dim) -> Dim:
        """The number of rows, or of listed positions."""
        return rows if self.listing is None else self.listing.size


class RowNumber(NamedTuple):
    """An integer that carries the number of its row: `coefficient*b + g`, where `lo <= g <= hi` depends on row b."""

    coefficient: Dim
    lo: Dim | None = None
    hi: Dim | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor that is constant or by row.

    digit     the place of the rows; None if the tensor has none, and then it is constant. A constant with a place of
              them has equal elements for each row, but for their numbers
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

    def with_columns(self, columns: Sequence[RowNumber | None]) -> Rows:
        """The state with a number for each index of the last axis."""
        if len(columns) == 1:
            return replace(self, number=columns[0], columns=None)
        return replace(self, number=None, columns=tuple(columns) if any(columns) else None)


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


@dataclass(frozen=True, slots=True)
class ComponentsFirst:
    """Index tuples with their components along axis 0, as those of NonZero, `[rank, positions]`.

    tuples   the state of the tensor with axis 0 moved to the end
    lost     the state of the result of a node that does not take them for index tuples
    """

    tuples: Rows
    lost: Lost

    @property
    def plain(self) -> Rows:
        """The state of the tensor, with the number of one component for all."""
        assert self.tuples.digit is not None, "numbers have a place"
        digit = self.tuples.digit._replace(axis=self.tuples.digit.axis + 1)
        number = next(filter(None, self.tuples.columns or ()), None)
        return Rows(digit, frozenset(a + 1 for a in self.tuples.flat), self.tuples.constant, number)


State: TypeAlias = "Rows | Lost | ComponentsFirst"

CONSTANT = Rows()


def lost_of(state: State) -> Lost | None:
    """The state that a node passes on which does not understand its input; None for a tensor with rows."""
    if isinstance(state, Rows):
        return None
    return state if isinstance(state, Lost) else state.lost


def rows_of(state: State) -> Rows:
    """The state of a tensor with rows. Raises RowsLost for another one."""
    if isinstance(state, Rows):
        return state
    raise RowsLost(state if isinstance(state, Lost) else state.lost)


def listing_of(state: State) -> Listing | None:
    """The positions that a tensor has in place of rows."""
    if isinstance(state, ComponentsFirst):
        state = state.tuples
    return state.digit.listing if isinstance(state, Rows) and state.digit is not None else None


class RowsLost(Exception):
    """Ends the transfer function of a node whose outputs are all `state`."""

    def __init__(self, state: Lost) -> None:
        super().__init__(state.reason)
        self.state = state
