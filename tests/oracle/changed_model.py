"""A copy of a model that is changed: its graphs with the inferred facts, new names, and chains of new nodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gather_infer import infer
from gather_infer.node_ids import MAIN, GraphPath, Step
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor
from tests.oracle.optimized_graphs import outer_reads

TRIES = 40
"""So many places are tried before a rewrite is given up."""


class ChangedModel:
    """A copy of a model with the facts about it, until it is changed.

    graphs  the main graph and the bodies of control flow, with their paths
    """

    def __init__(self, model: ModelProto, rng: random.Random) -> None:
        self.model = ModelProto()
        self.model.CopyFrom(model)
        self.rng = rng
        self.graphs = list(_graphs(self.model.graph, MAIN))
        self._paths = dict(enumerate(path for path, _ in self.graphs))
        self._scopes = infer(model, assume=False).scopes
        self._names = set(_names(self.model))
        self._number = 0

    @property
    def opset(self) -> int:
        return max([each.version for each in self.model.opset_import if each.domain in ("", "ai.onnx")], default=1)

    def fresh(self, stem: str = "n") -> str:
        """A name that nothing has in the model."""
        while True:
            self._number += 1
            name = f"{stem}_{self._number}"
            if name not in self._names:
                self._names.add(name)
                return name

    def any_graph(self) -> Site:
        """A graph; more often one with more nodes."""
        weights = [1 + len(graph.node) for _, graph in self.graphs]
        path, graph = self.rng.choices(self.graphs, weights)[0]
        return Site(self, path, graph)

    def fact(self, path: GraphPath, name: str) -> SymbolicTensor | None:
        """The fact about a value that a graph may read, if it is a tensor of known type."""
        while True:
            found = self._scopes.get(path, {}).get(name)
            if found is not None:
                return found if isinstance(found, SymbolicTensor) and found.dtype is not None else None
            if not path.steps:
                return None
            path = path.above

    def array(self, path: GraphPath, name: str) -> NDArray[Any] | None:
        """The elements of a constant that a graph may read."""
        fed = {value.name for value in self.model.graph.input}
        for other, graph in self.graphs:
            if not other.contains(path):
                continue
            for tensor in graph.initializer:
                if tensor.name == name and name not in fed:
                    return _array(tensor)
            for node in graph.node:
                if node.op_type == "Constant" and node.output[0] == name and node.attribute[0].HasField("t"):
                    return _array(node.attribute[0].t)
        return None


class Site:
    """A graph of a model that is changed."""

    def __init__(self, draft: ChangedModel, path: GraphPath, graph: GraphProto) -> None:
        self.draft, self.path, self.graph = draft, path, graph

    def fact(self, name: str) -> SymbolicTensor | None:
        return self.draft.fact(self.path, name) if name else None

    def rank(self, name: str) -> int | None:
        found = self.fact(name)
        return None if found is None or found.shape is None else len(found.shape)

    def shape(self, name: str) -> tuple[Dim, ...] | None:
        found = self.fact(name)
        return None if found is None else found.shape

    def dtype(self, name: str) -> int:
        """The element type as onnx numbers it; 0 if it is unknown."""
        found = self.fact(name)
        return 0 if found is None else int(found.dtype or 0)

    def array(self, name: str) -> NDArray[Any] | None:
        return self.draft.array(self.path, name) if name else None

    def readers(self, name: str) -> list[tuple[NodeProto, int]]:
        """The inputs of nodes of this graph that read a value; bodies below may read it, too."""
        return [(node, slot) for node in self.graph.node for slot, read in enumerate(node.input) if read == name]

    def is_read_below(self, name: str) -> bool:
        """Whether a body of a node, or the caller of this graph, reads a value."""
        if any(value.name == name for value in self.graph.output):
            return True
        return any(name in outer_reads(node) - set(node.input) for node in self.graph.node)

    def producer(self, name: str) -> NodeProto | None:
        return next((node for node in self.graph.node if name and name in node.output), None)

    def put(self, at: int, nodes: Sequence[NodeProto], *, instead: int = 0) -> None:
        """Put nodes at a position, instead of so many."""
        held = list(self.graph.node)
        held[at : at + instead] = nodes
        held = [_copy(node) for node in held]
        del self.graph.node[:]
        self.graph.node.extend(held)


class Chain:
    """New nodes of a graph, in order."""

    def __init__(self, site: Site) -> None:
        self.site, self.draft = site, site.draft
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A constant: an initializer, or the output of a Constant node."""
        name = self.draft.fresh("c")
        tensor = numpy_helper.from_array(np.asarray(value, dtype), name)
        if self.draft.rng.random() < 0.5:
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def typed(self, number: Any, dtype: int) -> str:
        """A constant of rank 0, of a type as onnx numbers it."""
        return self.constant(number, helper.tensor_dtype_to_np_dtype(dtype))

    def one(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """The output of a new node."""
        return self.several(op_type, inputs, 1, **attributes)[0]

    def several(
        self, op_type: str, inputs: Sequence[str], outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        names = [self.draft.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, domain=domain, **attributes))
        return names

    def like(self, node: NodeProto, inputs: Mapping[int, str]) -> str:
        """The first output of a copy of a node with other inputs."""
        copy = _copy(node)
        for at, name in inputs.items():
            copy.input[at] = name
        copy.name = ""
        copy.output[:] = [self.draft.fresh() if name else "" for name in node.output]
        self.nodes.append(copy)
        return copy.output[0]

    def store(self) -> None:
        self.draft.model.graph.initializer.extend(self.initializers)

    def named(self, names: Mapping[str, str]) -> list[NodeProto]:
        """The nodes, with other names of some outputs."""
        nodes = [_copy(node) for node in self.nodes]
        for node in nodes:
            node.output[:] = [names.get(name, name) for name in node.output]
            node.input[:] = [names.get(name, name) for name in node.input]
        return nodes


Insertion: TypeAlias = Callable[[Chain, str, SymbolicTensor], "str | None"]
"""The name of a value equal to the given one, made by new nodes; None if there is none."""

Replacement: TypeAlias = Callable[[Chain, NodeProto], "Sequence[str] | None"]
"""The names of values equal to the outputs of a node, in their order; None if there are none."""


def inserted(draft: ChangedModel, build: Insertion) -> str:
    """Put an equal value in the place of a value, where one node reads it or where it is made; and where, in words."""
    for _ in range(TRIES):
        site = draft.any_graph()
        if not site.graph.node:
            continue
        at = draft.rng.randrange(len(site.graph.node))
        node = site.graph.node[at]
        is_read = draft.rng.random() < 0.6
        names = node.input if is_read else node.output
        slots = [slot for slot, name in enumerate(names) if name]
        if not slots or (not is_read and node.op_type == "Constant"):
            continue
        slot = draft.rng.choice(slots)
        name, chain = names[slot], Chain(site)
        fact = site.fact(name)
        found = None if fact is None else build(chain, name, fact)
        if found is None:
            continue
        if is_read:
            node.input[slot] = found
            site.put(at, chain.nodes)
        else:
            inner = draft.fresh()
            node.output[slot] = inner
            nodes = [_copy(each) for each in chain.nodes]
            for each in nodes:
                each.input[:] = [inner if read == name else read for read in each.input]
                each.output[:] = [name if made == found else made for made in each.output]
                each.input[:] = [name if read == found else read for read in each.input]
            site.put(at + 1, nodes)
        chain.store()
        return f"{name} {'read by' if is_read else 'of'} {node.op_type}"
    return ""


def replaced(draft: ChangedModel, operators: str, build: Replacement) -> str:
    """Put equal values in the place of the outputs of a node of some operators; and of which, in words."""
    wanted = operators.split()
    places = [
        (Site(draft, path, graph), at)
        for path, graph in draft.graphs
        for at, node in enumerate(graph.node)
        if node.op_type in wanted and not node.domain
    ]
    draft.rng.shuffle(places)
    for site, at in places[:TRIES]:
        node = site.graph.node[at]
        chain = Chain(site)
        found = build(chain, node)
        if found is None:
            continue
        names = {made: name for made, name in zip(found, node.output, strict=True) if name}
        text = f"{node.op_type} {node.output[0]}"
        site.put(at, chain.named(names), instead=1)
        chain.store()
        return text
    return ""


def without_unread(site: Site, name: str) -> None:
    """Drop the node that makes a value if nothing reads its outputs."""
    node = site.producer(name)
    if node is None or any(site.readers(made) or site.is_read_below(made) for made in node.output if made):
        return
    kept = [_copy(each) for each in site.graph.node if name not in each.output]
    del site.graph.node[:]
    site.graph.node.extend(kept)


def renamed_node(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """A copy of a node with other names of values, in its bodies too."""
    copy = _copy(node)
    copy.input[:] = [names.get(name, name) for name in copy.input]
    copy.output[:] = [names.get(name, name) for name in copy.output]
    for attribute in copy.attribute:
        if attribute.type == AttributeProto.GRAPH:
            rename_graph(attribute.g, names)
    return copy


def rename_graph(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Other names of values in a graph and in the bodies below."""
    nodes = [renamed_node(node, names) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        value.name = names.get(value.name, value.name)


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _array(tensor: TensorProto) -> NDArray[Any] | None:
    return None if tensor.data_type == TensorProto.STRING else numpy_helper.to_array(tensor)


def _graphs(graph: GraphProto, path: GraphPath) -> Iterator[tuple[GraphPath, GraphProto]]:
    yield path, graph
    for at, node in enumerate(graph.node):
        for number, attribute in enumerate(node.attribute):
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g, path.below(Step(at, number)))


def _names(model: ModelProto) -> Iterator[str]:
    """All names of values, nodes and functions."""
    pending: list[GraphProto | FunctionProto] = [model.graph, *model.functions]
    while pending:
        body = pending.pop()
        if isinstance(body, GraphProto):
            yield from (value.name for value in (*body.input, *body.output, *body.initializer))
        else:
            yield body.name
            yield from body.input
        for node in body.node:
            yield node.name
            yield from (*node.input, *node.output)
            pending += [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]


class Changes(dict[str, Callable[[ChangedModel], str]]):
    """Changes of a model by kind; each returns where it was made, in words."""

    def inserts(self, kind: str) -> Callable[[Insertion], Insertion]:
        """Add a change that puts an equal value in the place of a value."""

        def add(build: Insertion) -> Insertion:
            self[kind] = lambda draft: inserted(draft, build)
            return build

        return add

    def replaces(self, kind: str, operators: str) -> Callable[[Replacement], Replacement]:
        """Add a change that puts other nodes in the place of a node with one of the operators."""

        def add(build: Replacement) -> Replacement:
            self[kind] = lambda draft: replaced(draft, operators, build)
            return build

        return add
