"""What an operator addresses by index, as data: a rule says it, verdicts and conversions read it."""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.symbolic import Dim


@dataclass(frozen=True, slots=True)
class Indexing:
    """What an operator makes of an index i on an axis of length s.

    strict         an index out of bounds is an error; else the element there is `fill`
    from_end       -s <= i < 0 means s + i
    negative_note  why a negative index deserves a warning; empty where the operator defines it, or forbids it
    fill           the element for an index out of bounds when not strict; None when it is not defined
    ignored        an index that addresses nothing, and is never out of bounds
    inserts        it is a place between elements, or beside them, or how many of them are meant: there is one more than
                   elements
    """

    strict: bool = True
    from_end: bool = True
    negative_note: str = ""
    fill: int | None = None
    ignored: int | None = None
    inserts: bool = False

    def first(self, size: Dim) -> Dim:
        """The least index that the operator defines."""
        return self.inserts - size if self.from_end else 0

    def least(self, size: Dim) -> Dim:
        """The least index that is not out of bounds."""
        return -size if self.negative_note else self.first(size)


@dataclass(frozen=True, slots=True)
class Addressing:
    """An axis that the indices of a node address, as its rule sees it.

    input     the position of the input that holds the indices
    axis      the position of the axis in the data, from the front; None where it is no axis of it
    size      the length of the axis, or how many there are of what is addressed instead
    column    the component of an index tuple that addresses it; None when indices are single numbers
    columns   how many components an index tuple has; 1 when indices are single numbers
    elements  the elements of the index that are known: of numbers the least and the greatest, and every symbolic one
    complete  whether these are all
    some      the operator may leave indices unread, nobody knows which
    """

    input: int
    axis: int | None
    size: Dim
    indexing: Indexing
    column: int | None
    columns: int
    elements: tuple[Dim, ...]
    complete: bool
    some: bool = False
