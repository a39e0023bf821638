"""Expression DAGs: ways to compute a size from available values, and their cost in addition to other nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from gather_infer.passes.mutable_model import Node
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor, element_bytes

Elements: TypeAlias = "tuple[Dim, ...]"
Attributes: TypeAlias = "tuple[tuple[str, int | tuple[int, ...]], ...]"

MAX_DAG_NODES: Final = 48
"""Nodes of one term; a value that needs more stays as it is."""


class DagCost(NamedTuple):
    """The cost of nodes, compared in this order.

    gathers          the number of Gathers
    computed_shapes  Shapes of values that are no graph inputs: these have to be computed before, and to stay
    new_nodes        nodes that the graph does not have yet
    nbytes           read and written in a run
    """

    nodes: int = 0
    gathers: int = 0
    computed_shapes: int = 0
    new_nodes: int = 0
    nbytes: int = 0


_NO_COST: Final = DagCost()


@dataclass(frozen=True, slots=True, eq=False)
class DagNode:
    """A node of the DAG, new or of the graph."""

    cost: DagCost


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
    dag_nodes: frozenset[DagNode]
    name: str = ""
    node: Node | None = None
    output: int = 0
    elements: Elements | None = None


class ExpressionDag:
    """The nodes that are computed anyway, for the terms chosen so far."""

    def __init__(self) -> None:
        self._counts: Counter[DagNode] = Counter()
        self._marginal_costs: tuple[int, dict[frozenset[DagNode], DagCost]] = (0, {})  # of one version
        self.version = 0  # changes with the set of nodes

    def add(self, term: Term) -> None:
        if not all(unit in self._counts for unit in term.dag_nodes):
            self.version += 1
        self._counts.update(term.dag_nodes)

    def remove(self, term: Term, times: int = 1) -> None:
        """Remove a term that was added at least `times` times."""
        if not self.is_shared(term, times):
            self.version += 1
        for unit in term.dag_nodes:
            self._counts[unit] -= times
            if not self._counts[unit]:
                del self._counts[unit]

    def is_shared(self, term: Term, times: int = 1) -> bool:
        """Whether each node of a term that was added `times` times is also used by another term."""
        return all(self._counts[unit] > times for unit in term.dag_nodes)

    def marginal_cost(self, dag_nodes: frozenset[DagNode]) -> DagCost:
        """The cost of the nodes that are not in the DAG yet."""
        if self._marginal_costs[0] != self.version:
            self._marginal_costs = self.version, {}
        known = self._marginal_costs[1]
        found = known.get(dag_nodes)
        if found is None:
            present = self._counts
            found = known[dag_nodes] = total_cost([unit for unit in dag_nodes if unit not in present])
        return found

    def cost(self) -> DagCost:
        """The cost of all nodes."""
        return total_cost(self._counts)


def total_cost(dag_nodes: Iterable[DagNode]) -> DagCost:
    costs = [unit.cost for unit in dag_nodes]
    if len(costs) < 2:
        return costs[0] if costs else _NO_COST
    return DagCost(*map(sum, zip(*costs, strict=True)))


def static_bytes(fact: SymbolicTensor) -> int:
    """The bytes of a tensor of known size; 0 if they are unknown."""
    count = 1
    for dim in fact.shape or ():
        if not isinstance(dim, int):
            return 0
        count *= dim
    return 0 if fact.shape is None or fact.dtype is None else count * element_bytes(fact.dtype)
