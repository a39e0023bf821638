"""What is there twice: constants that are the same bit for bit, nodes that do the same to the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

_Kind: TypeAlias = "tuple[int, tuple[int, ...]]"


@dataclass(slots=True, eq=False)
class Twins:
    """The constants of each graph, those of one type and shape together, initializers first, in the order of the file.

    Only what shares type and shape with another one is read: its ends first, all of it where they are equal.

    apart   whether a constant is to stay as it is, for whoever keeps count of that
    """

    load: Callable[[Graph, str], Constant | None]
    apart: dict[tuple[Graph | None, str], bool] = field(default_factory=dict)
    _kinds: dict[Graph, dict[_Kind, dict[str, None]]] = field(default_factory=dict)
    _sampled: dict[tuple[Graph, _Kind], dict[object, dict[str, None]]] = field(default_factory=dict)
    _samples: dict[tuple[Graph, str], tuple[object, object]] = field(default_factory=dict)

    def first(self, graph: Graph, name: str) -> str | None:
        """An earlier constant of a graph, or one of a graph around it, that equals its constant `name` bit for bit."""
        kind = _kind(graph, name)
        if kind is None:
            return None
        self._of(graph, kind).setdefault(name)
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
    """Nodes without graphs, no Constants, by operator, attributes and the values that they read.

    A node that has changed, or is new, is known from when it is asked about.
    """

    draft: Draft
    _alike: dict[tuple[Graph, tuple[object, ...]], dict[Node, None]] = field(default_factory=dict)
    _known: dict[Node, tuple[Graph, tuple[object, ...]]] = field(default_factory=dict)
    _attributes: dict[Node, tuple[bytes, ...]] = field(default_factory=dict)

    def of(self, node: Node) -> Iterator[Node]:
        """The other nodes like this one in its graph and in those around it."""
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
        key = self._key(node)
        place = node.graph, key
        if self._known.get(node) != place:
            self._forget(node)
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
            texts = sorted(a.SerializeToString(deterministic=True) for a in node.proto.attribute)
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
