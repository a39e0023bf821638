"""Inferred graphs: a view of an inference by graph and node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto

from gather_infer.inference.bodies.function import schema_body, with_bound_attributes
from gather_infer.inference.environment import Environment
from gather_infer.inference.op_resolution import Opsets, ResolvedOp
from gather_infer.inference.result import Inference
from gather_infer.inference.structure import imports_of
from gather_infer.ir import Graph, Model, Node
from gather_infer.model.paths import joined_label, node_labels, subgraphs
from gather_infer.node_ids import MAIN, GraphPath, NodePath, Root, Step
from gather_infer.tensor import Value

_HOLDS_GRAPHS: Final = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


@dataclass(frozen=True, slots=True, eq=False)
class InferredNode:
    """A node of an inferred graph, by position."""

    graph: InferredGraph
    position: int

    @property
    def definition(self) -> Node:
        """The node in the IR, with the names and subgraphs of its definition."""
        return self.graph.graph.file_nodes[self.position]

    @property
    def node(self) -> NodeProto:
        return self.definition.proto

    @property
    def path(self) -> NodePath:
        return NodePath(self.graph.path, self.position, self.graph.labels[self.position])

    @property
    def op(self) -> ResolvedOp:
        return self.graph.opsets.resolve(self.node.domain, self.node.op_type, self.node.overload)


@dataclass(frozen=True, eq=False)
class InferredGraph:
    """One graph, or the body of one function call, with its facts.

    path        path of the inference; that of a function body is below the node that calls it
    label       label of the graph
    graph       the graph in the IR: of the model file, or of the body that a schema gives to an operator
    values      facts of the values that the graph defines
    caller      node that holds the subgraph or calls the function, None for the main graph
    is_call     the graph is the body of a function: names of outer graphs are not visible
    attributes  attributes of the function call, in a function body and its subgraphs
    """

    path: GraphPath
    label: str
    graph: Graph
    values: Mapping[str, Value]
    opsets: Opsets
    caller: InferredNode | None
    is_call: bool
    attributes: Mapping[str, AttributeProto]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the nodes."""
        return tuple(joined_label(self.label, inner) for inner in node_labels(self.graph.proto.node))

    @property
    def nodes(self) -> list[Node]:
        """The nodes by position."""
        return self.graph.file_nodes

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the graph's declared inputs, in order."""
        return self.graph.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.graph.outputs

    def defining_graph(self, name: str) -> InferredGraph | None:
        """The graph that defines a name, this one or an enclosing one; None when there is none."""
        home = self.graph.defining_graph(name)
        if home is None:
            return None
        body = self
        while body.graph is not home:
            assert body.caller is not None and not body.is_call, "only subgraphs see the names of outer graphs"
            body = body.caller.graph
        return body

    def producer(self, name: str) -> tuple[InferredNode, int] | None:
        """The node of this graph that produces a value, and the position of the value among its outputs."""
        found = self.graph.producers.get(name)
        return None if found is None else (InferredNode(self, position_of(found[0])), found[1])

    def fact(self, name: str) -> Value | None:
        home = self.defining_graph(name)
        return None if home is None else home.values.get(name)


def position_of(node: Node) -> int:
    """The position of a node in its graph; the IR of an inference has no edits."""
    assert node.origin is not None, "the IR has no edits"
    return node.origin


class InferredGraphs:
    """The inferred graphs of a run by path."""

    def __init__(self, inference: Inference) -> None:
        self._ir = inference.ir
        self._scopes = inference.scopes
        self._labels = inference.labels
        functions = ((key, graph.proto) for key, graph in self._ir.functions.items())
        self._functions = {key: proto for key, proto in functions if isinstance(proto, FunctionProto)}
        opsets = self._opsets(imports_of(inference.model.proto))
        self.main = InferredGraph(MAIN, "", self._ir.main, inference.scopes[MAIN], opsets, None, False, {})
        self._found: dict[GraphPath, InferredGraph] = {MAIN: self.main}
        failed = (finding.location.node for finding in inference.diagnostics if finding.is_failure)
        self._failed = frozenset((path.graph, path.position) for path in failed if path is not None)

    def fails(self, place: InferredNode) -> bool:
        """Whether each run that reaches a node fails there: its inputs, attributes and types need not fit together."""
        return (place.graph.path, place.position) in self._failed

    def _opsets(self, imports: Iterable[OperatorSetIdProto]) -> Opsets:
        return Opsets(imports, (), self._functions)

    def at(self, path: GraphPath) -> InferredGraph | None:
        """The inferred graph at `path`; None when it was not interpreted."""
        body: InferredGraph | None = self.main
        for step in path.steps:
            if body is None:
                return None
            body = self._below(InferredNode(body, step.node), step)
        return body

    def node(self, node: NodePath) -> InferredNode | None:
        """The inferred node at the path `node`; None when its graph was not interpreted."""
        body = self.at(node.graph)
        return None if body is None else InferredNode(body, node.position)

    def find_node(self, label: str) -> InferredNode | None:
        """The first node whose label is `label`; None when there is none."""
        for path, outer in self._labels.items():
            if label.startswith(f"{outer}/") or not outer:
                body = self.at(path)
                if body is not None and label in body.labels:
                    return InferredNode(body, body.labels.index(label))
        return None

    def bodies(self, place: InferredNode) -> list[tuple[str, InferredGraph]]:
        """The interpreted bodies of a node: each subgraph with its attribute name, or the called function with ""."""
        found = []
        for graph in place.definition.bodies:
            step = graph.path.steps[-1]
            body = self._below(place, step)
            if body is not None and step.attribute is not None:
                found.append((place.node.attribute[step.attribute].name, body))
        if not found and (call := self._below(place, Step(place.position))) is not None:
            found.append(("", call))
        return found

    def _below(self, place: InferredNode, step: Step) -> InferredGraph | None:
        path = place.graph.path.below(step)
        known = self._found.get(path)
        if known is not None or path not in self._scopes:
            return known
        if step.attribute is None:
            made = self._call(place, path)
        else:
            outer = place.graph
            graph = next(body for body in place.definition.bodies if body.path.steps[-1] == step)
            values, label = self._scopes[path], self._labels[path]
            made = InferredGraph(path, label, graph, values, outer.opsets, place, False, outer.attributes)
        if made is not None:
            self._found[path] = made
        return made

    def _call(self, place: InferredNode, path: GraphPath) -> InferredGraph | None:
        node, op = place.node, place.op
        function = op.function
        if function is None and op.schema is not None:
            environment = Environment(place.graph.opsets, attributes=place.graph.attributes)
            inputs = [place.graph.fact(name) if name else None for name in node.input]
            function = schema_body(
                op.schema, with_bound_attributes(node, environment), inputs, op.version, environment.opsets.versions
            )
        if function is None:
            return None
        attributes = {a.name: a for a in function.attribute_proto}
        for attribute in node.attribute:
            outer = place.graph.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if outer is not None:
                attributes[attribute.name] = outer
        graph = self._ir.called_function(place.definition)
        passed = {name: attribute for name, attribute in attributes.items() if attribute.type in _HOLDS_GRAPHS}
        if graph is None or passed:
            graph = _graph_of(_with_passed_graphs(function, passed) if passed else function)
        opsets = self._opsets(function.opset_import)
        return InferredGraph(path, self._labels[path], graph, self._scopes[path], opsets, place, True, attributes)


def _with_passed_graphs(function: FunctionProto, passed: Mapping[str, AttributeProto]) -> FunctionProto:
    """The function with the graphs that a call passes in the place of the attributes that refer to them."""
    copy = FunctionProto()
    copy.CopyFrom(function)
    pending = list(copy.node)
    while pending:
        node = pending.pop()
        pending += [inner for _, held in subgraphs(node, 0) for inner in held.node]
        for attribute in node.attribute:
            if attribute.ref_attr_name in passed:
                name = attribute.name
                attribute.CopyFrom(passed[attribute.ref_attr_name])
                attribute.name = name
    return copy


def _graph_of(function: FunctionProto) -> Graph:
    """The body of a function that the model does not hold, or not with the graphs that a call passes."""
    return Model(ModelProto(functions=[function]), (Root.FUNCTION,))[GraphPath(Root.FUNCTION)]
