"""Index accesses of an operator as data: rules declare them, bounds checks and conversions read them."""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.symbolic import Dim


@dataclass(frozen=True, slots=True)
class Indexing:
    """Semantics of an index i on an axis of length s.

    strict         an out-of-bounds index is an error; if False, the result element for that index is `fill`
    from_end       -s <= i < 0 means s + i
    negative_note  why a negative index deserves a warning; empty where the operator defines or forbids negative indices
    fill           result element for an out-of-bounds index when not strict; None when it is undefined
    ignored        value of an index that addresses nothing and is never out of bounds; None when there is none
    inserts        the index is a position between elements, or a number of elements: s is their number plus one
    """

    strict: bool = True
    from_end: bool = True
    negative_note: str = ""
    fill: int | None = None
    ignored: int | None = None
    inserts: bool = False

    def first_defined(self, size: Dim) -> Dim:
        """The smallest index that the operator defines."""
        return self.inserts - size if self.from_end else 0

    def lower_bound(self, size: Dim) -> Dim:
        """The smallest index that is in bounds."""
        return -size if self.negative_note else self.first_defined(size)


@dataclass(frozen=True, slots=True)
class Addressing:
    """An axis that the index input of a node addresses, as declared by its rule.

    input        position of the input that holds the indices
    axis         position of the axis in the data, counted from the front; None where no data axis is addressed
    size         length of the axis, or the number of addressable items where `axis` is None
    column       component of an index tuple that addresses the axis; None when indices are single numbers
    columns      number of components of an index tuple; 1 when indices are single numbers
    elements     the known elements of the index: the smallest and largest number, and every symbolic element
    is_complete  whether `elements` covers the whole index
    may_skip     the operator may ignore some indices, and which ones is unknown
    """

    input: int
    axis: int | None
    size: Dim
    indexing: Indexing
    column: int | None
    columns: int
    elements: tuple[Dim, ...]
    is_complete: bool
    may_skip: bool = False
