"""Branches of an If that compute the same: nodes in pairs with the same operator, attributes, operands and facts.

Equal terms are not enough: those of a branch may rest on facts that hold only where the branch is taken. A fact about
both branches holds in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from onnx import AttributeProto

from gather_infer.equality.control_flow import attribute_name
from gather_infer.equality.model_facts import ModelFacts
from gather_infer.equality.terms import Operand
from gather_infer.ir.graph import Graph, Node
from gather_infer.symbolic import Dim, Expr, substitute, symbol
from gather_infer.tensor import SymbolicTensor


@dataclass(slots=True, eq=False)
class BodyComparison:
    """Two bodies, node by node.

    facts    about the values of both
    failing  nodes that no runtime accepts
    read     the operand that a graph reads by a name: a constant, or a value from around the bodies; else None
    nodes    nodes of the first body and of those in it -> those of the second that do the same
    values   graph and name of the second body -> those of the first that are the same value
    """

    facts: ModelFacts
    failing: Collection[Node]
    read: Callable[[Graph, str], Operand]
    nodes: dict[Node, Node] = field(default_factory=dict)
    values: dict[tuple[Graph, str], tuple[Graph, str]] = field(default_factory=dict)
    _symbols: dict[str, Dim] = field(default_factory=dict, init=False)  # of the first body -> of the second

    def is_same(self, one: Graph, other: Graph) -> bool:
        """Whether the bodies do the same, with outputs in the same order."""
        if len(one.inputs) != len(other.inputs) or len(one.outputs) != len(other.outputs):
            return False
        if not all(self._pair(one, a, other, b) for a, b in zip(one.inputs, other.inputs, strict=True)):
            return False
        mine, its = ([node for node in graph.sorted_nodes if not node.is_constant] for graph in (one, other))
        waiting: dict[Hashable, list[Node]] = {}
        for node in reversed(mine):
            waiting.setdefault(self._key(node), []).append(node)
        for match in its:
            alike = waiting.get(self._key(match))
            if len(mine) != len(its) or not alike or not self._is_same_node(alike.pop(), match):
                return False
        return all(
            self._value(one, a) == self._value(other, b) is not None
            for a, b in zip(one.outputs, other.outputs, strict=True)
        )

    def _key(self, node: Node) -> Hashable:
        """Equal for nodes with the same operator, attributes and operands, but for their bodies."""
        bodies = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
        attributes = frozenset(
            (a.name, a.SerializeToString(deterministic=True)) for a in node.proto.attribute if a.type not in bodies
        )
        operands = tuple(self._value(node.graph, name) if name else () for name in node.inputs)
        return node.domain, node.op_type, node.version, attributes, operands, len(node.outputs)

    def _value(self, graph: Graph, name: str) -> Hashable:
        """Equal for equal values; None for one that nothing defines."""
        home = graph.defining_graph(name)
        if home is None:
            return None
        if (home, name) in self.values:
            return self.values[home, name]
        constant = self.read(home, name)
        return (home, name) if constant is None else constant

    def _is_same_node(self, node: Node, match: Node) -> bool:
        if (node in self.failing) != (match in self.failing):
            return False
        if [attribute_name(node, body) for body in node.bodies] != [
            attribute_name(match, body) for body in match.bodies
        ]:
            return False
        if not all(map(self.is_same, node.bodies, match.bodies)):
            return False
        self.nodes[node] = match
        return all(self._pair(node.graph, a, match.graph, b) for a, b in zip(node.outputs, match.outputs, strict=True))

    def _pair(self, graph: Graph, name: str, other: Graph, match: str) -> bool:
        """Take two values for one; False if the facts about them differ."""
        if name:
            self.values[other, match] = graph, name
        one, two = (self.facts.raw(*each) for each in ((graph, name), (other, match)))
        return bool(name) == bool(match) and self._is_same_fact(one, two)

    def _is_same_fact(self, one: SymbolicTensor, other: SymbolicTensor) -> bool:
        """Whether facts are equal, but for symbols without a meaning, which correspond."""
        return (
            one.dtype is other.dtype
            and self._are_same(one.shape, other.shape)
            and self._are_same(_ends(one), _ends(other))
            and self._are_same(_elements(one), _elements(other))
        )

    def _are_same(self, dims: tuple[Any, ...] | None, others: tuple[Any, ...] | None) -> bool:
        if dims is None or others is None:
            return dims is others
        return len(dims) == len(others) and all(map(self._is_same_dim, dims, others))

    def _is_same_dim(self, dim: Any, other: Any) -> bool:
        if not isinstance(dim, Expr) or not isinstance(other, Expr):
            return type(dim) is type(other) and bool(dim == other)
        new, others = self._unpaired(dim, self._symbols.keys()), self._unpaired(other, map(str, self._symbols.values()))
        if len(new) == len(others) == 1:
            self._symbols[new[0]] = symbol(others[0])
        return bool(substitute(dim, self._symbols) == other)

    def _unpaired(self, dim: Expr, paired: Iterable[str]) -> list[str]:
        """The symbols in a dim without a meaning that correspond to no symbol yet."""
        known = {*paired, *self.facts.renamed}
        return [name for name in dim.symbols if name not in known]


def _ends(fact: SymbolicTensor) -> tuple[Any, ...] | None:
    return None if fact.value_range is None else (fact.value_range.lo, fact.value_range.hi)


def _elements(fact: SymbolicTensor) -> tuple[Any, ...] | None:
    return None if fact.values is None else tuple(fact.values.flat)
