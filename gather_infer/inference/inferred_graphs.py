"""Inferred graphs: a view of an inference by graph and node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto

from gather_infer.domains import plain_domain
from gather_infer.inference.bodies.function import schema_body, with_bound_attributes
from gather_infer.inference.environment import Environment
from gather_infer.inference.op_resolution import Opsets, ResolvedOp
from gather_infer.inference.result import Inference
from gather_infer.inference.structure import imports_of
from gather_infer.model.paths import joined_label, node_labels, subgraphs
from gather_infer.node_ids import MAIN, GraphPath, NodePath, Step
from gather_infer.tensor import Value


@dataclass(frozen=True, slots=True, eq=False)
class InferredNode:
    """A node of an inferred graph, by position."""

    graph: InferredGraph
    position: int

    @property
    def node(self) -> NodeProto:
        return self.graph.nodes[self.position]

    @property
    def path(self) -> NodePath:
        return NodePath(self.graph.path, self.position, self.graph.labels[self.position])

    @property
    def op(self) -> ResolvedOp:
        return self.graph.opsets.resolve(self.node.domain, self.node.op_type, self.node.overload)


@dataclass(frozen=True, slots=True, eq=False)
class InferredGraph:
    """One graph, or the body of one function call, with its facts.

    label       label of the graph
    values      facts of the values that the graph defines
    caller      node that holds the subgraph or calls the function, None for the main graph
    is_call     the graph is the body of a function: names of outer graphs are not visible
    attributes  attributes of the function call, in a function body and its subgraphs
    labels      labels of the nodes
    producers   value name -> position of the producing node, and position of the output among its outputs
    """

    path: GraphPath
    label: str
    proto: GraphProto | FunctionProto
    values: Mapping[str, Value]
    opsets: Opsets
    caller: InferredNode | None
    is_call: bool
    attributes: Mapping[str, AttributeProto]
    nodes: tuple[NodeProto, ...] = field(init=False)
    labels: tuple[str, ...] = field(init=False)
    producers: Mapping[str, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        nodes = tuple(self.proto.node)
        producers: dict[str, tuple[int, int]] = {}
        for position, node in enumerate(nodes):
            for slot, name in enumerate(node.output):
                if name and name not in producers:
                    producers[name] = position, slot
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "labels", tuple(joined_label(self.label, inner) for inner in node_labels(nodes)))
        object.__setattr__(self, "producers", producers)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the graph's declared inputs, in order."""
        return tuple(i if isinstance(i, str) else i.name for i in self.proto.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(o if isinstance(o, str) else o.name for o in self.proto.output)

    def defining_graph(self, name: str) -> InferredGraph | None:
        """The graph that defines a name, this one or an enclosing one; None when there is none."""
        body: InferredGraph | None = self
        while body is not None:
            if name in body.values:
                return body
            body = None if body.is_call or body.caller is None else body.caller.graph
        return None

    def fact(self, name: str) -> Value | None:
        home = self.defining_graph(name)
        return None if home is None else home.values[name]


class InferredGraphs:
    """The inferred graphs of a run by path."""

    def __init__(self, inference: Inference) -> None:
        proto = inference.model.proto
        self._scopes = inference.scopes
        self._labels = inference.labels
        self._functions = {(plain_domain(f.domain), f.name, f.overload): f for f in reversed(proto.functions)}
        opsets = self._opsets(imports_of(proto))
        self.main = InferredGraph(MAIN, "", proto.graph, inference.scopes[MAIN], opsets, None, False, {})
        self._found: dict[GraphPath, InferredGraph] = {MAIN: self.main}

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
        for step, _ in subgraphs(place.node, place.position):
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
            attribute, outer = place.node.attribute[step.attribute], place.graph
            graph = attribute.g if step.item is None else attribute.graphs[step.item]
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
        opsets = self._opsets(function.opset_import)
        return InferredGraph(path, self._labels[path], function, self._scopes[path], opsets, place, True, attributes)
