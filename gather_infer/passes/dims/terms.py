"""Ways to compute a value: a DAG of operators over values that stand, and what it costs beside others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from gather_infer.passes.draft import Node
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor, element_bytes

Elements: TypeAlias = "tuple[Dim, ...]"
Attributes: TypeAlias = "tuple[tuple[str, int | tuple[int, ...]], ...]"

MAX_UNITS: Final = 48
"""Nodes of one term; a value that takes more stays as it is."""


class Price(NamedTuple):
    """What nodes cost, the most important first.

    gathers  Gathers among them
    far      Shapes among them of values that are no inputs of the graph: these have to be there first, and to stay
    new      those that the graph does not have yet
    nbytes   read and written in a run
    """

    nodes: int = 0
    gathers: int = 0
    far: int = 0
    new: int = 0
    nbytes: int = 0


_FREE: Final = Price()


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A node, new or of the graph."""

    price: Price


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value and what computes it. Equal terms are the same object.

    op_type   "" for a value that stands, or a constant
    at        the place in the graph of the last node that it needs, -1 for none: a new node goes behind that
    name      of a value that stands, or of an output of `node` when that needs no change
    node      the node of the graph that it keeps, with `inputs`; `output` says which value of it this is
    elements  of a constant
    units     the nodes that compute it
    """

    op_type: str
    inputs: tuple[Term, ...]
    attributes: Attributes
    fact: SymbolicTensor
    at: int
    units: frozenset[Unit]
    name: str = ""
    node: Node | None = None
    output: int = 0
    elements: Elements | None = None


class Pool:
    """The nodes that are there anyway: they compute values that were decided on."""

    def __init__(self) -> None:
        self._counts: Counter[Unit] = Counter()
        self._extra: tuple[int, dict[frozenset[Unit], Price]] = (0, {})  # of a version
        self.version = 0  # changes with what is there

    def add(self, term: Term) -> None:
        if not all(unit in self._counts for unit in term.units):
            self.version += 1
        self._counts.update(term.units)

    def remove(self, term: Term) -> None:
        if not self.is_shared(term):
            self.version += 1
        for unit in term.units:
            self._counts[unit] -= 1
            if not self._counts[unit]:
                del self._counts[unit]

    def is_shared(self, term: Term) -> bool:
        """Whether all that computes a term is there for others too."""
        return all(self._counts[unit] > 1 for unit in term.units)

    def extra(self, units: frozenset[Unit]) -> Price:
        """What these cost beside those that are there."""
        if self._extra[0] != self.version:
            self._extra = self.version, {}
        known = self._extra[1]
        found = known.get(units)
        if found is None:
            there = self._counts
            found = known[units] = total([unit for unit in units if unit not in there])
        return found

    def price(self) -> Price:
        """What all of them cost."""
        return total(self._counts)


def total(units: Iterable[Unit]) -> Price:
    prices = [unit.price for unit in units]
    if len(prices) < 2:
        return prices[0] if prices else _FREE
    return Price(*map(sum, zip(*prices, strict=True)))


def static_bytes(fact: SymbolicTensor) -> int:
    """The bytes of a tensor of known size; 0 when they are not known."""
    count = 1
    for dim in fact.shape or ():
        if not isinstance(dim, int):
            return 0
        count *= dim
    return 0 if fact.shape is None or fact.dtype is None else count * element_bytes(fact.dtype)
