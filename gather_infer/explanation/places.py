"""The graphs and function bodies that a run has walked, found again by the paths of its scopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto

from gather_infer.domains import plain_domain
from gather_infer.inference.bodies.function import resolved, schema_body
from gather_infer.inference.dispatch import Entry, Opsets
from gather_infer.inference.frame import Frame, labels_of
from gather_infer.inference.result import Inference
from gather_infer.inference.structure import imports_of
from gather_infer.tensor import Value


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node by the graph that it stands in and its position there."""

    body: Body
    position: int

    @property
    def node(self) -> NodeProto:
        return self.body.nodes[self.position]

    @property
    def path(self) -> str:
        label = self.body.labels[self.position]
        return f"{self.body.path}/{label}" if self.body.path else label

    @property
    def entry(self) -> Entry:
        return self.body.opsets.entry(self.node.domain, self.node.op_type, self.node.overload)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """One graph or function body in one place.

    values     its facts
    caller     the node around it, None for the main graph
    is_call    it is the body of a function: names of outer graphs are not seen
    producers  name -> position of the node that makes it, and of the output
    """

    path: str
    proto: GraphProto | FunctionProto
    values: Mapping[str, Value]
    opsets: Opsets
    caller: Place | None
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
        object.__setattr__(self, "labels", tuple(labels_of(nodes)))
        object.__setattr__(self, "producers", producers)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Formal inputs in order."""
        return tuple(i if isinstance(i, str) else i.name for i in self.proto.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(o if isinstance(o, str) else o.name for o in self.proto.output)

    def home(self, name: str) -> Body | None:
        """The graph, this one or one around it, that has the name; None when none does."""
        body: Body | None = self
        while body is not None:
            if name in body.values:
                return body
            body = None if body.is_call or body.caller is None else body.caller.body
        return None

    def fact(self, name: str) -> Value | None:
        home = self.home(name)
        return None if home is None else home.values[name]


class Bodies:
    """The bodies of a run by path."""

    def __init__(self, inference: Inference) -> None:
        proto = inference.model.proto
        self._scopes = inference.scopes
        self._functions = {(plain_domain(f.domain), f.name, f.overload): f for f in reversed(proto.functions)}
        opsets = self._opsets(imports_of(proto))
        self.main = Body("", proto.graph, inference.scopes[""], opsets, None, False, {})
        self._found: dict[str, Body | None] = {"": self.main}

    def _opsets(self, imports: Iterable[OperatorSetIdProto]) -> Opsets:
        return Opsets(imports, (), self._functions)

    def at(self, path: str) -> Body | None:
        """The body of a scope; None when there is none."""
        if path not in self._found:
            self._found[path] = self._search(self.main, path)
        return self._found[path]

    def place(self, path: str) -> Place | None:
        """The node of a path; None when there is none."""
        return next(self._places(self.main, path), None)

    def inner(self, place: Place) -> list[tuple[str, Body]]:
        """The bodies that a node has run: by attribute those of control flow, under "" the function that it calls."""
        found = []
        for attribute in place.node.attribute:
            path = f"{place.path}/{attribute.name}"
            if attribute.HasField("g") and path in self._scopes:
                found.append((attribute.name, self._subgraph(place, path, attribute.g)))
        if not found and place.path in self._scopes and (call := self._call(place)) is not None:
            found.append(("", call))
        return found

    def _search(self, body: Body, path: str) -> Body | None:
        for position, label in enumerate(body.labels):
            here = f"{body.path}/{label}" if body.path else label
            if path == here or path.startswith(f"{here}/"):
                for _, inner in self.inner(Place(body, position)):
                    if path == inner.path:
                        return inner
                    if path.startswith(f"{inner.path}/") and (found := self._search(inner, path)) is not None:
                        return found
        return None

    def _places(self, body: Body, path: str) -> Iterator[Place]:
        for position, label in enumerate(body.labels):
            here = f"{body.path}/{label}" if body.path else label
            if path == here:
                yield Place(body, position)
            elif path.startswith(f"{here}/"):
                for _, inner in self.inner(Place(body, position)):
                    yield from self._places(inner, path)

    def _subgraph(self, place: Place, path: str, graph: GraphProto) -> Body:
        known = self._found.get(path)
        if known is None:
            outer = place.body
            known = Body(path, graph, self._scopes[path], outer.opsets, place, False, outer.attributes)
            self._found[path] = known
        return known

    def _call(self, place: Place) -> Body | None:
        known = self._found.get(place.path)
        if known is not None:
            return known
        node, entry = place.node, place.entry
        function = entry.function
        if function is None and entry.schema is not None:
            frame = Frame(place.body.opsets, attributes=place.body.attributes)
            inputs = [place.body.fact(name) if name else None for name in node.input]
            function = schema_body(entry.schema, resolved(node, frame), inputs, entry.version, frame.opsets.versions)
        if function is None:
            return None
        attributes = {a.name: a for a in function.attribute_proto}
        for attribute in node.attribute:
            outer = place.body.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if outer is not None:
                attributes[attribute.name] = outer
        opsets = self._opsets(function.opset_import)
        known = Body(place.path, function, self._scopes[place.path], opsets, place, True, attributes)
        self._found[place.path] = known
        return known
