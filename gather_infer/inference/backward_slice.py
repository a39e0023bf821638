"""Backward slices: the nodes on whose dims and elements a node depends.

A slice stops at values about which every runtime infers as much as this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from onnx import ModelProto, TypeProto

from gather_infer.diagnostic import Diagnostic, is_broken
from gather_infer.inference.load_refusals import (
    Facts,
    can_propagate_elements,
    refused_as_is,
    refused_nodes,
    visible_types,
)
from gather_infer.inference.runtime_quirks import is_if, is_stepped_slice
from gather_infer.ir import Graph, Model, Node
from gather_infer.model import ModelFile
from gather_infer.node_ids import GraphPath, NodeId, Root
from gather_infer.tensor import SymbolicTensor, Value


class BackwardSlice:
    """Backward slices over the nodes of a model.

    source  file that holds the weights of `proto`
    facts   returns the inferred fact of a value by its graph and name
    """

    def __init__(self, source: ModelFile, proto: ModelProto, facts: Facts) -> None:
        self.facts = facts
        self._source = source
        self.model = Model(proto)
        self._proto = proto
        self._visible: Mapping[GraphPath, Mapping[str, TypeProto]] | None = None
        self._constant: Set[tuple[GraphPath, str]] | None = None

    @property
    def nodes(self) -> Iterator[NodeId]:
        """Every node."""
        return (_node_id(node) for graph in self.model.graphs.values() for node in graph.file_nodes)

    def node(self, node_id: NodeId) -> Node:
        """The node at a position of a graph."""
        path, position = node_id
        return self.model[path].file_nodes[position]

    def of(self, nodes: Iterable[NodeId], *, whole: bool = False) -> frozenset[NodeId]:
        """`nodes` and their backward slice.

        whole   also follow values about which runtimes infer as much as this package
        """
        found: set[NodeId] = set()
        read: set[tuple[GraphPath, str]] = set()
        conditions: list[NodeId] = []
        pending = list(nodes)
        while pending:
            place = pending.pop()
            if place in found:
                continue
            found.add(place)
            node = self.node(place)
            path = node.graph.path
            values = [(path, name) for name in node.inputs if name]
            for inner in node.bodies:
                pending += map(_node_id, inner.file_nodes)
                values += [(inner.path, name) for name in inner.outputs]
            # A condition that a runtime can compute removes a branch, so all that determines it is followed.
            if is_if(node) and node.inputs and not whole:
                conditions += self._producers(path, node.inputs[0], whole=True)
            called = self.model.called_function(node)
            if called is not None:
                pending += map(_node_id, called.file_nodes)
            while values:
                value = values.pop()
                if value not in read:
                    read.add(value)
                    pending += self._producers(*value, whole=whole)
        # onnxruntime's optimizer replaces an If by its taken branch once the condition is constant
        return frozenset(found) | (self.of(conditions, whole=True) if conditions else frozenset())

    def outputs(self, nodes: Iterable[NodeId]) -> Iterator[tuple[GraphPath, str]]:
        """The output names of `nodes`, each with the path of its graph."""
        return ((node_id[0], name) for node_id in nodes for name in self.node(node_id).outputs if name)

    def _producers(self, path: GraphPath, name: str, *, whole: bool) -> list[NodeId]:
        """The nodes that determine the value `name` as read in graph `path`; none where the slice stops."""
        home = self.model[path].defining_graph(name)
        if home is None or name in home.initializers or name in home.sparse:
            return []
        if name in home.producers:
            place = _node_id(home.producers[name][0])
            return [place] if whole or self._is_misinferred(place, name) or self._is_hidden(home.path, name) else []
        return self._callers(home)

    def _callers(self, home: Graph) -> list[NodeId]:
        """The nodes that pass inputs to a body: the node that holds the subgraph, or all calls of the function."""
        if home.owner is not None:
            return [_node_id(home.owner)]
        if home.path.root is not Root.FUNCTION:
            return []
        nodes = (node for graph in self.model.graphs.values() for node in graph.file_nodes)
        return [_node_id(node) for node in nodes if self.model.called_function(node) is home]

    def _is_misinferred(self, place: NodeId, name: str) -> bool:
        """Whether onnx's shape inference may infer a size for `name` that runtimes do not compute."""
        fact = self.facts(place[0], name)
        is_static = isinstance(fact, SymbolicTensor) and fact.is_static
        return is_stepped_slice(self.node(place)) and not is_static

    def _is_hidden(self, path: GraphPath, name: str) -> bool:
        """Whether some runtime may infer less about a value than this package does."""
        fact = self.facts(path, name)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None or fact.values is not None:
            return True
        if self._constant is None:
            self._constant = self._constants()
        return (path, name) in self._constant or self.hides_dims(path, name)

    def _constants(self) -> set[tuple[GraphPath, str]]:
        """The values computed only from constants: runtimes may know their elements after constant folding."""
        found: set[tuple[GraphPath, str]] = set()
        for graph in self.model.graphs.values():  # outer graphs first
            for node in graph.nodes:
                homes = [(graph.defining_graph(name), name) for name in node.inputs if name]
                if not node.bodies and all(
                    home is not None
                    and name not in home.input_set
                    and (name not in home.producers or (home.path, name) in found)
                    for home, name in homes
                ):
                    found.update((graph.path, name) for name in node.outputs)
        return found

    def hides_dims(self, path: GraphPath, name: str) -> bool:
        """Whether a dim of a value is inferred as a number here, but as unknown or another number by some runtime."""
        if self._visible is None:
            self._visible = visible_types(self._source, self._proto)
        fact, seen = self.facts(path, name), self._visible.get(path, {}).get(name)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None or seen is None:
            return True
        shape = seen.tensor_type.shape
        if not seen.tensor_type.HasField("shape") or len(shape.dim) != len(fact.shape):
            return True
        return any(
            isinstance(dim, int) and not (seen_dim.HasField("dim_value") and seen_dim.dim_value == dim)
            for dim, seen_dim in zip(fact.shape, shape.dim, strict=True)
        )


def _node_id(node: Node) -> NodeId:
    assert node.origin is not None, "the model has no edits"
    return node.graph.path, node.origin


def undeclarable_values(
    source: ModelFile,
    proto: ModelProto,
    scopes: Mapping[GraphPath, Mapping[str, Value]],
    diagnostics: Iterable[Diagnostic],
) -> frozenset[tuple[GraphPath, str]]:
    """The values whose declarations must not change: with the types written in `proto`, a runtime would refuse a node.

    source       the original file, which holds the weights of `proto`
    proto        copy of the model with inferred types written into it
    diagnostics  findings about the model; the result is empty for a broken one, on which onnx's inference may crash
    """
    if is_broken(diagnostics):
        return frozenset()

    def facts(path: GraphPath, name: str) -> Value | None:
        return scopes.get(path, {}).get(name)

    data_prop = can_propagate_elements(scopes)
    found = refused_nodes(source, proto, facts, data_prop=data_prop)
    wrong = refused_as_is(source) if found else frozenset()
    if wrong:  # the written types correct wrong declarations
        found = refused_nodes(source, proto, facts, declarations=False, data_prop=data_prop) - wrong
    if not found:
        return frozenset()
    upstream = BackwardSlice(source, source.proto, facts)
    return frozenset(value for value in upstream.outputs(upstream.of(found)) if upstream.hides_dims(*value))
