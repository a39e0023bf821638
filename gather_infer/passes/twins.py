"""What is there twice: constants that are the same bit for bit, nodes that do the same to the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy.typing as npt
from onnx import AttributeProto, TensorProto

from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.tensor import SymbolicTensor

_SAMPLE: Final = 256
"""Elements at either end by which constants of one type and shape are told apart before all of them are read."""

_CHUNK: Final = 1 << 20
"""Elements that are compared at a time: weights are mapped, not loaded."""

_FEW: Final = 16
"""Readers of a value that are looked at one by one."""

_Kind: TypeAlias = "tuple[int, tuple[int, ...]]"


@dataclass(slots=True, eq=False)
class Twins:
    """The constants of a draft that are the same bit for bit, of which one can stand for the others.

    That is one of an outer graph, or an output, else the first: initializers, then new ones, then Constants. Only what
    shares type and shape with another one is read: its ends first, all of it where they are equal.

    apart   whether a constant is to stay as it is, for whoever keeps count of that

    Of one that none can stand for it is remembered, until there are more constants than there were.
    """

    draft: Draft
    load: Callable[[Graph, str], Constant | None]
    apart: dict[tuple[Graph | None, str], bool] = field(default_factory=dict)
    _kinds: dict[_Kind, list[tuple[Graph, str]]] = field(default_factory=dict)
    _entered: dict[tuple[Graph, str], tuple[_Kind, int]] = field(default_factory=dict)
    _sampled: dict[_Kind, dict[object, dict[Graph, dict[str, None]]]] = field(default_factory=dict)
    _samples: dict[tuple[Graph, str], tuple[object, object]] = field(default_factory=dict)
    _alone: dict[tuple[Graph, str], tuple[object, int]] = field(default_factory=dict)
    _count: int = 0

    def first(self, graph: Graph, name: str) -> str | None:
        """A constant of a graph, or one of a graph around it, that can stand for its constant `name`."""
        held = graph.constants.get(name)
        remembered = self._alone.get((graph, name))
        if remembered is not None and remembered[0] is held and remembered[1] == self._count:
            return None
        found = self._find(graph, name)
        if found is None:
            self._alone[graph, name] = held, self._count
        return found

    def enter(self, graph: Graph, name: str) -> list[tuple[Graph, str]]:
        """Know of a constant that has come to a graph; those in it, or below, that it can stand for."""
        kind = _kind(graph, name)
        if kind is None or not self._kinds:
            return []  # it is found when the others are
        self._enter(graph, name, kind)
        alike = self._alike(graph, name, kind)
        return [
            (inner, other)
            for inner, others in alike.items()
            if inner is graph or (graph.holds and graph in inner.around())
            for other in others
            if self._stands(graph, name, inner, other)
        ]

    def _find(self, graph: Graph, name: str) -> str | None:
        kind = _kind(graph, name)
        if kind is None:
            return None
        if not self._kinds:
            self._enter_all()
        self._enter(graph, name, kind)
        if len(self._kinds[kind]) < 2:
            return None
        alike = self._alike(graph, name, kind)
        for around in reversed(list(graph.around())):
            found = [other for other in alike.get(around, ()) if self._stands(around, other, graph, name)]
            if found:
                return min(found, key=lambda other: self._rank(around, other))
        return None

    def _stands(self, graph: Graph, name: str, inner: Graph, other: str) -> bool:
        """Whether a constant can stand for one that is alike, in its graph or below."""
        if name not in graph.constants or other not in inner.constants or inner.home(name) is not graph:
            return False
        if graph is inner and self._rank(graph, name) >= self._rank(graph, other):
            return False
        return self._same(graph, name, inner, other)

    def _enter_all(self) -> None:
        for graph in self.draft.graphs.values():
            for name in graph.constants:
                kind = _kind(graph, name)
                if kind is not None:
                    self._enter(graph, name, kind)

    def _enter(self, graph: Graph, name: str, kind: _Kind) -> None:
        known = self._entered.get((graph, name))
        if known is None or known[0] != kind:
            self._count += 1
            self._entered[graph, name] = kind, self._count
            self._kinds.setdefault(kind, []).append((graph, name))
            if kind in self._sampled:
                self._sampled[kind].setdefault(self._sample(graph, name), {}).setdefault(graph, {})[name] = None

    def _alike(self, graph: Graph, name: str, kind: _Kind) -> dict[Graph, dict[str, None]]:
        """The constants of the type and shape of one whose ends are the same, by graph."""
        sampled = self._sampled.get(kind)
        if sampled is None:
            sampled = self._sampled[kind] = {}
            for home, other in self._kinds[kind]:
                if other in home.constants:
                    sampled.setdefault(self._sample(home, other), {}).setdefault(home, {})[other] = None
        alike = sampled.setdefault(self._sample(graph, name), {})
        alike.setdefault(graph, {}).setdefault(name)  # it may be called like another one before
        return alike

    def _rank(self, graph: Graph, name: str) -> tuple[bool, int, tuple[int, int]]:
        """The place of a constant among those of its graph: the first one stands for the others."""
        may_go = name not in graph.ends
        found = graph.producers.get(name)
        if found is not None:
            return may_go, 2, found[0].place
        return may_go, name in graph.added, (self._entered[graph, name][1], 0)

    def _same(self, graph: Graph, name: str, around: Graph, other: str) -> bool:
        one, two = self.load(graph, name), self.load(around, other)
        return (
            one is not None
            and two is not None
            and (one.data_type, one.bits.shape) == (two.data_type, two.bits.shape)
            and _equal(one.bits.reshape(-1), two.bits.reshape(-1))
        )

    def _sample(self, graph: Graph, name: str) -> object:
        """What a constant has at its ends; of one that cannot be read, what no other one has."""
        held = graph.constants[name]
        known = self._samples.get((graph, name))
        if known is None or known[0] is not held:
            constant = self.load(graph, name)
            flat = None if constant is None else constant.bits.reshape(-1)
            ends = object() if flat is None else (_bits(flat[:_SAMPLE]), _bits(flat[-_SAMPLE:]))
            known = self._samples[graph, name] = held, ends
        return known[1]


@dataclass(slots=True, eq=False)
class Repeats:
    """Nodes without graphs, no Constants, with the same operator, attributes and values that they read.

    Who reads the same is among the few readers of one value that a node reads. Nodes that read nothing but what many
    read are in a table, where one that has changed, or is new, is known from when it is asked about.
    """

    draft: Draft
    _alike: dict[tuple[object, ...], dict[Graph, dict[Node, None]]] = field(default_factory=dict)
    _known: dict[Node, tuple[Graph, tuple[object, ...]]] = field(default_factory=dict)
    _attributes: dict[Node, tuple[bytes, ...]] = field(default_factory=dict)

    def of(self, node: Node) -> list[Node]:
        """The other nodes like this one in graphs that see each other.

        Those of its graph and of graphs around come first, the innermost and first ones first; then those below it.
        """
        if node.is_constant or node.bodies:
            return []
        few = self._readers(node)
        if few is None or len(few) > _FEW:
            found = self._listed(node)
        else:
            if self._known:
                self._note(node)
            found = self._among(few, node)
        if len(found) < 2:
            return found
        around = list(node.graph.around())
        outside = sorted(
            (other for other in found if other.graph in around),
            key=lambda other: (around.index(other.graph), other.place),
        )
        return [*outside, *(other for other in found if other.graph not in around)]

    def _among(self, few: Mapping[Node, None], node: Node) -> list[Node]:
        """The nodes among a few that are like one."""
        if len(few) < 2:
            return []
        key = self._key(node)
        return [
            other
            for other in few
            if other is not node
            and other.op_type == node.op_type
            and not other.bodies
            and _see_each_other(node.graph, other.graph)
            and self._key(other) == key
        ]

    def _readers(self, node: Node) -> Mapping[Node, None] | None:
        """Who reads the least read of the values that a node reads; None where it reads none."""
        found: Mapping[Node, None] | None = None
        for name in node.inputs:
            home = node.graph.home(name) if name else None
            if home is not None:
                readers = home.readers[name]
                if found is None or len(readers) < len(found):
                    found = readers
        return found

    def _listed(self, node: Node) -> list[Node]:
        """The same by the table."""
        if not self._known:
            for each in self.draft.nodes:
                self._note(each)
        key = self._note(node)
        alike = self._alike[key]
        graphs = [graph for graph in node.graph.around() if graph in alike]
        if node.graph.holds:
            graphs += [graph for graph in alike if graph is not node.graph and node.graph in graph.around()]
        found = []
        for graph in graphs:
            for other in list(alike[graph]):
                if other.is_gone or other.graph is not graph or self._key(other) != key:
                    self._forget(other)  # it is asked about again, since it has changed
                elif other is not node:
                    found.append(other)
        return found

    def _note(self, node: Node) -> tuple[object, ...]:
        if node.is_constant or node.bodies:
            return ()
        known = self._known.get(node)
        key = self._key(node)
        if known is not None and known[0] is node.graph and known[1] == key:
            return known[1]
        if known is not None:
            self._forget(node)
        place = node.graph, key
        self._known[node] = place
        self._alike.setdefault(key, {}).setdefault(node.graph, {})[node] = None
        return key

    def _forget(self, node: Node) -> None:
        place = self._known.pop(node, None)
        if place is not None:
            del self._alike[place[1]][place[0]][node]

    def _key(self, node: Node) -> tuple[object, ...]:
        attributes = self._attributes.get(node)
        if attributes is None:
            given = node.proto.attribute
            texts = sorted([a.SerializeToString(deterministic=True) for a in given]) if given else ()
            attributes = self._attributes[node] = tuple(texts)
        # An equal name can mean another value in another graph.
        return node.domain, node.op_type, attributes, *((name, node.graph.home(name)) for name in node.inputs)


def _see_each_other(graph: Graph, other: Graph) -> bool:
    """Whether one of two graphs is inside of the other, or the other itself."""
    return graph is other or other in graph.around() or (graph.holds and graph in other.around())


def _kind(graph: Graph, name: str) -> _Kind | None:
    held = graph.constants.get(name)
    if isinstance(held, Constant):
        return held.data_type, held.bits.shape
    if isinstance(held, TensorProto):
        return held.data_type, tuple(held.dims)
    if isinstance(held, AttributeProto):
        fact = graph.facts.get(name)
        if isinstance(fact, SymbolicTensor) and fact.dtype is not None and fact.shape is not None:
            dims = tuple(dim for dim in fact.shape if isinstance(dim, int))
            return (fact.dtype.value, dims) if len(dims) == len(fact.shape) else None
    return None


def _bits(part: npt.NDArray[Any]) -> object:
    return tuple(part.tolist()) if part.dtype.hasobject else part.tobytes()


def _equal(one: npt.NDArray[Any], two: npt.NDArray[Any]) -> bool:
    return all(_bits(one[at : at + _CHUNK]) == _bits(two[at : at + _CHUNK]) for at in range(0, len(one), _CHUNK))
