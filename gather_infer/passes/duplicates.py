"""Indexes for merging duplicate constants (equal bit for bit) and for common subexpression elimination."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, Final, TypeAlias

import numpy.typing as npt
from onnx import AttributeProto, TensorProto, defs

from gather_infer.ir.constant import Constant
from gather_infer.passes.constants import SMALL, key_of
from gather_infer.passes.mutable_model import Graph, MutableModel, Node
from gather_infer.tensor import SymbolicTensor, static_dims

_SAMPLE: Final = 256
"""Number of elements at either end of two constants that are compared before all elements are read."""

_CHUNK: Final = 1 << 20
"""Number of elements that are compared at a time: weights are mapped, not loaded."""

_MAX_READERS: Final = 16
"""Maximum number of readers of a value that are compared one by one; if there are more, a table is used."""

_TypeKey: TypeAlias = "tuple[int, tuple[int, ...]]"


@dataclass(slots=True, eq=False)
class DuplicateConstants:
    """Finds the constants of a model that are equal bit for bit, and the one that replaces the others.

    The replacement is a constant of an outer graph, or a graph output, else the first one: initializers come before new
    constants, and these before Constants. Only constants that share type and shape with another one are read: their
    ends first, and all elements if the ends are equal.

    feeds_quantization   (graph, name) -> whether a quantization operator reads the constant; a cache of the rule that
                         merges constants

    A constant without a duplicate is remembered until new constants are added.
    """

    model: MutableModel
    load: Callable[[Graph, str], Constant | None]
    feeds_quantization: dict[tuple[Graph | None, str], bool] = field(default_factory=dict)
    _by_type: dict[_TypeKey, list[tuple[Graph, str]]] = field(default_factory=dict)
    _indexed: dict[tuple[Graph, str], tuple[_TypeKey, int]] = field(default_factory=dict)
    _sampled: dict[_TypeKey, dict[object, dict[Graph, dict[str, None]]]] = field(default_factory=dict)
    _ordered: dict[tuple[Graph, object], list[str]] = field(default_factory=dict)
    _samples: dict[tuple[Graph, str], tuple[object, object]] = field(default_factory=dict)
    _unmatched: dict[tuple[Graph, str], tuple[object, int]] = field(default_factory=dict)
    _count: int = 0

    def replacement(self, graph: Graph, name: str) -> str | None:
        """A constant of the graph, or of one around it, that can replace the constant `name`; None if there is none."""
        payload = graph.constants.get(name)
        remembered = self._unmatched.get((graph, name))
        if remembered is not None and remembered[0] is payload and remembered[1] == self._count:
            return None
        found = self._find(graph, name)
        if found is None:
            self._unmatched[graph, name] = payload, self._count
        return found

    def add(self, graph: Graph, name: str) -> list[tuple[Graph, str]]:
        """Add a new constant of a graph. Returns the constants of this graph and of subgraphs that it can replace."""
        kind = _type_key(graph, name)
        if kind is None or not self._by_type:
            return []  # the first search adds all constants
        self._add_to_index(graph, name, kind)
        candidates = self._candidates(graph, name, kind)
        return [
            (inner, other)
            for inner, others in candidates.items()
            if inner is graph or (graph.has_subgraphs and graph in inner.scope_chain())
            for other in others
            if self._can_replace(graph, name, inner, other)
        ]

    def _find(self, graph: Graph, name: str) -> str | None:
        kind = _type_key(graph, name)
        if kind is None:
            return None
        if not self._by_type:
            self._index_all()
        self._add_to_index(graph, name, kind)
        if len(self._by_type[kind]) < 2:
            return None
        candidates = self._candidates(graph, name, kind)
        for around in reversed(list(graph.scope_chain())):
            for other in self._in_order(around, (kind, self._sample(graph, name)), candidates.get(around, {})):
                if self._can_replace(around, other, graph, name):
                    return other
                elif around is graph and self._rank(graph, other) >= self._rank(graph, name):
                    break
        return None

    def _in_order(self, graph: Graph, key: object, candidates: Iterable[str]) -> list[str]:
        """The candidates of a graph by rank, as of the time when the last of them was added.

        key   type, shape, first and last elements of the candidates
        """
        known = self._ordered.get((graph, key))
        if known is None:
            known = self._ordered[graph, key] = sorted(candidates, key=lambda other: self._rank(graph, other))
        return known

    def _can_replace(self, graph: Graph, name: str, inner: Graph, other: str) -> bool:
        """Whether the constant `name` can replace the constant `other` of the same graph or of a subgraph `inner`."""
        if name not in graph.constants or other not in inner.constants or inner.defining_graph(name) is not graph:
            return False
        if graph is inner and self._rank(graph, name) >= self._rank(graph, other):
            return False
        return self._is_equal(graph, name, inner, other)

    def _index_all(self) -> None:
        for graph in self.model.graphs.values():
            for name in graph.constants:
                kind = _type_key(graph, name)
                if kind is not None:
                    self._add_to_index(graph, name, kind)

    def _add_to_index(self, graph: Graph, name: str, kind: _TypeKey) -> None:
        known = self._indexed.get((graph, name))
        if known is None or known[0] != kind:
            self._count += 1
            self._indexed[graph, name] = kind, self._count
            self._by_type.setdefault(kind, []).append((graph, name))
            if kind in self._sampled:
                self._add_candidate(kind, graph, name)

    def _candidates(self, graph: Graph, name: str, kind: _TypeKey) -> dict[Graph, dict[str, None]]:
        """The constants with the same type, shape, first and last elements as the constant `name`, by graph."""
        sampled = self._sampled.get(kind)
        if sampled is None:
            sampled = self._sampled[kind] = {}
            for home, other in self._by_type[kind]:
                if other in home.constants:
                    self._add_candidate(kind, home, other)
        return self._add_candidate(kind, graph, name)  # another constant may have had this name before

    def _add_candidate(self, kind: _TypeKey, graph: Graph, name: str) -> dict[Graph, dict[str, None]]:
        """Add a constant to those with its type, shape, first and last elements. Returns all of these."""
        sample = self._sample(graph, name)
        candidates = self._sampled[kind].setdefault(sample, {})
        names = candidates.setdefault(graph, {})
        if name not in names:
            names[name] = None
            self._ordered.pop((graph, (kind, sample)), None)
        return candidates

    def _rank(self, graph: Graph, name: str) -> tuple[bool, int, tuple[int, int]]:
        """Sort key of a constant within a graph: of equal constants, the first replaces the others."""
        may_go = name not in graph.output_set
        found = graph.producers.get(name)
        if found is not None:
            return may_go, 2, found[0].order_key
        return may_go, name in graph.added, (self._indexed[graph, name][1], 0)

    def _is_equal(self, graph: Graph, name: str, around: Graph, other: str) -> bool:
        one, two = self.load(graph, name), self.load(around, other)
        return (
            one is not None
            and two is not None
            and (one.data_type, one.bits.shape) == (two.data_type, two.bits.shape)
            and _equal(one.bits.reshape(-1), two.bits.reshape(-1))
        )

    def _sample(self, graph: Graph, name: str) -> object:
        """The first and last elements of a constant; a unique object if it cannot be read."""
        payload = graph.constants[name]
        known = self._samples.get((graph, name))
        if known is None or known[0] is not payload:
            constant = self.load(graph, name)
            flat = None if constant is None else constant.bits.reshape(-1)
            ends = object() if flat is None else (_bits(flat[:_SAMPLE]), _bits(flat[-_SAMPLE:]))
            known = self._samples[graph, name] = payload, ends
        return known[1]


@dataclass(slots=True, eq=False)
class _EquivalenceClass:
    """The equivalent nodes of one graph.

    members   all of them, in the order in which they entered
    queue     a heap of (order key, number of the entry, node): its first valid entry is the first member in the graph.
              Entries of nodes that left stay until they come first
    leader    the first member when it was last looked up; it can replace the others
    """

    members: dict[Node, None] = field(default_factory=dict)
    queue: list[tuple[tuple[int, int], int, Node]] = field(default_factory=list)
    leader: Node | None = None


@dataclass(slots=True, eq=False)
class CommonSubexpressions:
    """Finds nodes without subgraphs that have the same operator, attributes and inputs (common subexpressions).

    Small constants are the same input if they are equal bit for bit. Equivalent nodes are found among the readers of
    the least used of the other inputs. If every one has many readers they are found in a table of equivalence classes.
    A changed or new node enters the table when it is looked up. Classes whose first member changes are `unsettled`:
    their nodes have to be looked up again, once for any number of changes.
    """

    model: MutableModel
    load: Callable[[Graph, str], Constant | None]
    _by_key: dict[tuple[object, ...], dict[Graph, _EquivalenceClass]] = field(default_factory=dict)
    _indexed: dict[Node, tuple[Graph, tuple[object, ...]]] = field(default_factory=dict)
    _unsettled: dict[_EquivalenceClass, None] = field(default_factory=dict)
    _attributes: dict[Node, tuple[bytes, ...]] = field(default_factory=dict)
    _entries: int = 0
    _constants: dict[tuple[Graph, str], tuple[object, tuple[object, ...] | None]] = field(default_factory=dict)

    def equivalent_to(self, node: Node) -> Iterator[Node]:
        """Other nodes that are equivalent to `node`: one that can replace it, or those that it can replace.

        Nodes of its graph and of enclosing graphs come first, the innermost graph first; those of subgraphs follow. Of
        many equivalent nodes only the first one of each graph is among them.
        """
        if node.is_constant or node.bodies:
            return
        few = self._fewest_readers(node)
        if few is None or len(few) > _MAX_READERS:
            yield from self._equivalent_in_table(node)
            return
        if self._indexed:
            self._index(node)
        found = self._equivalent_among(few, node)
        around = list(node.graph.scope_chain())
        outside = [other for other in found if other.graph in around]
        yield from sorted(outside, key=lambda other: (around.index(other.graph), other.order_key))
        yield from (other for other in found if other.graph not in around)

    def _equivalent_among(self, few: Mapping[Node, None], node: Node) -> list[Node]:
        """The nodes among `few` that are equivalent to `node`."""
        if len(few) < 2:
            return []
        key = self._key(node)
        return [
            other
            for other in few
            if other is not node
            and other.op_type == node.op_type
            and not other.bodies
            and _are_nested(node.graph, other.graph)
            and self._key(other) == key
        ]

    def _fewest_readers(self, node: Node) -> Mapping[Node, None] | None:
        """The readers of the input with the fewest readers; None for a node without inputs.

        Equal small constants may have other names. So of a node that reads nothing else the one with the most readers
        counts, up to _MAX_READERS.
        """
        found: list[Mapping[Node, None]] = []
        of_constants: list[Mapping[Node, None]] = []
        for name in node.inputs:
            home = node.graph.defining_graph(name) if name else None
            if home is not None:
                is_small = self._constant_key(home, name) is not None
                (of_constants if is_small else found).append(home.readers[name])
        if found:
            return min(found, key=len)
        few = [readers for readers in of_constants if len(readers) <= _MAX_READERS]
        return max(few, key=len) if few else min(of_constants, key=len, default=None)

    def _equivalent_in_table(self, node: Node) -> Iterator[Node]:
        """The nodes equivalent to `node`, looked up in the table of equivalence classes."""
        if not self._indexed:
            for each in self.model.nodes:
                self._index(each)
        classes = self._by_key[self._index(node)]
        becomes_leader = False
        for graph in node.graph.scope_chain():
            if graph not in classes:
                continue
            found = classes[graph]
            first = self._first(found)
            if first is not None and first is not node:
                yield first
            elif first is node and found.leader is not node:
                becomes_leader = True
                yield from self._replaced_leaders(found, node)
        if becomes_leader and node.graph.has_subgraphs:
            for graph, found in list(classes.items()):
                if graph is not node.graph and node.graph in graph.scope_chain():
                    self._unsettled[found] = None
                    first = self._first(found)
                    if first is not None:
                        yield first

    def _replaced_leaders(self, found: _EquivalenceClass, leader: Node) -> list[Node]:
        """The nodes that the new leader of a class replaces as the first one: all others when there was none yet."""
        last, found.leader = found.leader, leader
        if last is None:
            return [node for node in self._present(found) if node is not leader]
        self._unsettled[found] = None
        return [last] if last in found.members and self._is_present(last) else []

    def unsettled(self) -> list[Node]:
        """The nodes of the classes whose first member has changed since the last call, without these first members."""
        found = [node for each in self._unsettled for node in self._present(each) if node is not each.leader]
        self._unsettled.clear()
        return found

    def _present(self, found: _EquivalenceClass) -> list[Node]:
        """The members that have not changed since they entered."""
        return [node for node in found.members if self._is_present(node)]

    def _is_present(self, node: Node) -> bool:
        return not node.is_removed and self._indexed[node] == (node.graph, self._key(node))

    def _first(self, members: _EquivalenceClass) -> Node | None:
        """The first node of an equivalence class in its graph; those before it that have changed leave the class."""
        queue = members.queue
        while queue:
            node = queue[0][-1]
            if node in members.members:
                if self._is_present(node):
                    return node
                self._remove(node)  # it enters again when it is looked up
            heapq.heappop(queue)
        return None

    def _index(self, node: Node) -> tuple[object, ...]:
        if node.is_constant or node.bodies:
            return ()
        known = self._indexed.get(node)
        key = self._key(node)
        if known is not None and known[0] is node.graph and known[1] == key:
            return known[1]
        if known is not None:
            self._remove(node)
        self._indexed[node] = node.graph, key
        entered = self._by_key.setdefault(key, {}).setdefault(node.graph, _EquivalenceClass())
        entered.members[node] = None
        self._entries += 1
        heapq.heappush(entered.queue, (node.order_key, self._entries, node))
        return key

    def _remove(self, node: Node) -> None:
        graph, key = self._indexed.pop(node)
        del self._by_key[key][graph].members[node]

    def _key(self, node: Node) -> tuple[object, ...]:
        attributes = self._attributes.get(node)
        if attributes is None:
            attributes = self._attributes[node] = attributes_key(node)
        inputs = (self._input_key(node.graph, name) for name in node.inputs)
        return node.domain, node.op_type, attributes, tuple(map(bool, node.outputs)), *inputs

    def _input_key(self, graph: Graph, name: str) -> object:
        """Equal for inputs that have the same value."""
        home = graph.defining_graph(name)
        # The same name can refer to different values in two graphs.
        return (None if home is None else self._constant_key(home, name)) or (name, home)

    def _constant_key(self, home: Graph, name: str) -> tuple[object, ...] | None:
        """The type, shape and bits of a small constant of a graph; None for any other value."""
        payload = home.constants.get(name)
        if payload is None:
            return None
        known = self._constants.get((home, name))
        if known is None or known[0] is not payload:
            known = self._constants[home, name] = payload, self._read(home, name, payload)
        return known[1]

    def _read(self, home: Graph, name: str, payload: object) -> tuple[object, ...] | None:
        if self.model.pass_input.is_trained or (isinstance(payload, TensorProto) and prod(payload.dims) > SMALL):
            return None
        constant = self.load(home, name)
        return None if constant is None else key_of(constant)


def attributes_key(node: Node) -> tuple[bytes, ...]:
    """Equal for nodes of an operator whose attributes are equal, given or by default."""
    given = node.proto.attribute
    if not given:
        return ()
    texts = {attribute.SerializeToString(deterministic=True) for attribute in given}
    return tuple(sorted(texts - _default_attributes(node.domain, node.op_type, node.version)))


@lru_cache(maxsize=512)
def _default_attributes(domain: str, op_type: str, version: int) -> frozenset[bytes]:
    """The attributes of an operator that have a default value, each with this value, serialized."""
    if version <= 0 or not defs.has(op_type, version, domain):
        return frozenset()
    declared = defs.get_schema(op_type, version, domain).attributes.values()
    return frozenset(one.default_value.SerializeToString(deterministic=True) for one in declared)


def _are_nested(graph: Graph, other: Graph) -> bool:
    """Whether two graphs are the same, or one encloses the other."""
    return graph is other or other in graph.scope_chain() or (graph.has_subgraphs and graph in other.scope_chain())


def _type_key(graph: Graph, name: str) -> _TypeKey | None:
    payload = graph.constants.get(name)
    if isinstance(payload, Constant):
        return payload.data_type, payload.bits.shape
    if isinstance(payload, TensorProto):
        return payload.data_type, tuple(payload.dims)
    if isinstance(payload, AttributeProto):
        fact = graph.facts.get(name)
        if isinstance(fact, SymbolicTensor) and fact.dtype is not None:
            dims = static_dims(fact.shape)
            return None if dims is None else (fact.dtype.value, dims)
    return None


def _bits(part: npt.NDArray[Any]) -> object:
    return tuple(part.tolist()) if part.dtype.hasobject else part.tobytes()


def _equal(one: npt.NDArray[Any], two: npt.NDArray[Any]) -> bool:
    return all(_bits(one[at : at + _CHUNK]) == _bits(two[at : at + _CHUNK]) for at in range(0, len(one), _CHUNK))
