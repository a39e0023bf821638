"""What is there twice: constants that are the same bit for bit, nodes that do the same to the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    """The constants of each graph, those of one type and shape together, initializers first, in the order of the file.

    Only what shares type and shape with another one is read: its ends first, all of it where they are equal.

    apart   whether a constant is to stay as it is, for whoever keeps count of that

    Of one that had no earlier one it is remembered, until there are more constants than there were.
    """

    load: Callable[[Graph, str], Constant | None]
    apart: dict[tuple[Graph | None, str], bool] = field(default_factory=dict)
    _kinds: dict[Graph, dict[_Kind, dict[str, None]]] = field(default_factory=dict)
    _sampled: dict[tuple[Graph, _Kind], dict[object, dict[str, None]]] = field(default_factory=dict)
    _samples: dict[tuple[Graph, str], tuple[object, object]] = field(default_factory=dict)
    _alone: dict[tuple[Graph, str], tuple[object, int]] = field(default_factory=dict)
    _count: int = 0

    def first(self, graph: Graph, name: str) -> str | None:
        """An earlier constant of a graph, or one of a graph around it, that equals its constant `name` bit for bit."""
        held = graph.constants.get(name)
        remembered = self._alone.get((graph, name))
        if remembered is not None and remembered[0] is held and remembered[1] == self._count:
            return None
        found = self._find(graph, name)
        if found is None:
            self._alone[graph, name] = held, self._count
        return found

    def _find(self, graph: Graph, name: str) -> str | None:
        kind = _kind(graph, name)
        if kind is None:
            return None
        group = self._of(graph, kind)
        if name not in group:
            group[name] = None
            self._count += 1
        around = list(graph.around())
        if sum(len(self._of(each, kind)) for each in around) < 2:
            return None
        sample = self._sample(graph, name)
        for each in around:
            for other in list(self._alike(each, kind).get(sample, ())):
                if each is graph and other == name:
                    break
                if graph.home(other) is each and self._same(graph, name, each, other):
                    return other
        self._alike(graph, kind).setdefault(sample, {}).setdefault(name)
        return None

    def _of(self, graph: Graph, kind: _Kind) -> dict[str, None]:
        """The constants of a graph of one type and shape."""
        kinds = self._kinds.get(graph)
        if kinds is None:
            kinds = self._kinds[graph] = {}
            for name in _in_order(graph):
                found = _kind(graph, name)
                if found is not None:
                    kinds.setdefault(found, {})[name] = None
        return kinds.setdefault(kind, {})

    def _alike(self, graph: Graph, kind: _Kind) -> dict[object, dict[str, None]]:
        """The same by their samples."""
        found = self._sampled.get((graph, kind))
        if found is None:
            found = self._sampled[graph, kind] = {}
            for name in self._of(graph, kind):
                if name in graph.constants:
                    found.setdefault(self._sample(graph, name), {})[name] = None
        return found

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
    _alike: dict[tuple[Graph, tuple[object, ...]], dict[Node, None]] = field(default_factory=dict)
    _known: dict[Node, tuple[Graph, tuple[object, ...]]] = field(default_factory=dict)
    _attributes: dict[Node, tuple[bytes, ...]] = field(default_factory=dict)

    def of(self, node: Node) -> Iterator[Node]:
        """The other nodes like this one in its graph and in those around it, the innermost and first ones first."""
        if node.is_constant or node.bodies:
            return
        few = self._readers(node)
        if few is None or len(few) > _FEW:
            yield from self._listed(node)
            return
        if self._known:
            self._note(node)
        if len(few) < 2:
            return
        key, around = self._key(node), list(node.graph.around())
        found = [
            (around.index(other.graph), other.place, other)
            for other in few
            if other is not node
            and other.op_type == node.op_type
            and other.graph in around
            and not other.bodies
            and self._key(other) == key
        ]
        for _, _, other in sorted(found, key=lambda each: each[:2]):
            yield other

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

    def _listed(self, node: Node) -> Iterator[Node]:
        """The same by the table."""
        if not self._known:
            for each in self.draft.nodes:
                self._note(each)
        key = self._note(node)
        for graph in node.graph.around():
            for other in list(self._alike.get((graph, key), ())):
                if other.is_gone or other.graph is not graph or self._key(other) != key:
                    self._forget(other)  # it is asked about again, since it has changed
                elif other is not node:
                    yield other

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
        self._alike.setdefault(place, {})[node] = None
        return key

    def _forget(self, node: Node) -> None:
        place = self._known.pop(node, None)
        if place is not None:
            del self._alike[place][node]

    def _key(self, node: Node) -> tuple[object, ...]:
        attributes = self._attributes.get(node)
        if attributes is None:
            given = node.proto.attribute
            texts = sorted([a.SerializeToString(deterministic=True) for a in given]) if given else ()
            attributes = self._attributes[node] = tuple(texts)
        # An equal name can mean another value in another graph.
        return node.domain, node.op_type, attributes, *((name, node.graph.home(name)) for name in node.inputs)


def _in_order(graph: Graph) -> Iterator[str]:
    """Initializers first, then the others."""
    yield from (name for name in graph.initializers if name in graph.constants)
    yield from (name for name in graph.constants if name not in graph.initializers)


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
