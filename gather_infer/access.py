"""Index accesses of an operator as data: rules declare them, bounds checks and conversions read them."""

from __future__ import annotations

from typing import NamedTuple

from gather_infer.symbolic import Dim


class Indexing(NamedTuple):
    """Semantics of an index i on an axis of length s.

    strict         an out-of-bounds index is an error; if False, the result element for that index is `fill`
    from_end       an index -s <= i < 0 addresses element s + i
    negative_note  why a negative index deserves a warning; empty where the operator defines or forbids negative indices
    fill           result element for an out-of-bounds index when not strict; None when it is undefined
    ignored        index value that addresses no element and is never out of bounds; None if there is no such value
    inserts        the index is a position between elements, or a count of elements; s is the element count plus one
    """

    strict: bool = True
    from_end: bool = True
    negative_note: str = ""
    fill: int | None = None
    ignored: int | None = None
    inserts: bool = False

    def first_defined(self, size: Dim) -> Dim:
        """The smallest index that the operator defines for an axis of length `size`."""
        return self.inserts - size if self.from_end else 0

    def lower_bound(self, size: Dim) -> Dim:
        """The smallest index that is in bounds for an axis of length `size`."""
        return -size if self.negative_note else self.first_defined(size)


class Addressing(NamedTuple):
    """An axis that the index input of a node addresses, as declared by the rule of the node.

    input        position of the input that holds the indices
    axis         position of the axis in the data, counted from the front; None if the indices address no data axis
    size         length of the axis, or the number of addressable items where `axis` is None
    column       component of an index tuple that addresses the axis; None when indices are single numbers
    columns      number of components of an index tuple; 1 when indices are single numbers
    elements     known elements of the index input: the smallest and largest number, and every symbolic element
    is_complete  whether all elements of the index input are known, and so covered by `elements`
    may_skip     the operator may ignore some indices, and it is unknown which
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
