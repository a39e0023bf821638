"""Expression DAGs: ways to compute a size from available values, and their cost in addition to other nodes."""

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
"""Nodes of one term; a value that needs more stays as it is."""


class Price(NamedTuple):
    """The cost of nodes, compared in this order.

    gathers          the number of Gathers
    computed_shapes  Shapes of values that are no graph inputs: these have to be computed before, and to stay
    new_nodes        nodes that the graph does not have yet
    nbytes           read and written in a run
    """

    nodes: int = 0
    gathers: int = 0
    far: int = 0
    new: int = 0
    nbytes: int = 0


_FREE: Final = Price()


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A node of the DAG, new or of the graph."""

    price: Price


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value and the expression that computes it. Equal terms are the same object (hash consing).

    op_type    "" for an available value or a constant
    at         the position in the graph of the last node that it needs, -1 for none: a new node comes after it
    name       of an available value, or of an output of `node` if that needs no change
    node       the node of the graph that is reused, with `inputs`; `output` is the index of this value
    elements   of a constant
    dag_nodes  the nodes that compute it
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
    """The nodes that are computed anyway, for the terms chosen so far."""

    def __init__(self) -> None:
        self._counts: Counter[Unit] = Counter()
        self._extra: tuple[int, dict[frozenset[Unit], Price]] = (0, {})  # of one version
        self.version = 0  # changes with the set of nodes

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
        """Whether each node of a term is used by other terms too."""
        return all(self._counts[unit] > 1 for unit in term.units)

    def extra(self, units: frozenset[Unit]) -> Price:
        """The cost of the nodes that are not in the DAG yet."""
        if self._extra[0] != self.version:
            self._extra = self.version, {}
        known = self._extra[1]
        found = known.get(units)
        if found is None:
            there = self._counts
            found = known[units] = total([unit for unit in units if unit not in there])
        return found

    def price(self) -> Price:
        """The cost of all nodes."""
        return total(self._counts)


def total(units: Iterable[Unit]) -> Price:
    prices = [unit.price for unit in units]
    if len(prices) < 2:
        return prices[0] if prices else _FREE
    return Price(*map(sum, zip(*prices, strict=True)))


def static_bytes(fact: SymbolicTensor) -> int:
    """The bytes of a tensor of known size; 0 if they are unknown."""
    count = 1
    for dim in fact.shape or ():
        if not isinstance(dim, int):
            return 0
        count *= dim
    return 0 if fact.shape is None or fact.dtype is None else count * element_bytes(fact.dtype)
