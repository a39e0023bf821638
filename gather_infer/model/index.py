"""Def-use index: the definition and the reads of each value, graph by graph; holds no protobuf messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import FunctionProto, ModelProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.model.names import Names
from gather_infer.model.paths import GraphOrFunction, bodies, joined_label, label_of, node_labels, subgraph_label
from gather_infer.model.toposort import cycle_among, topological_order
from gather_infer.node_ids import MAIN, GraphPath, NodePath, Root


@dataclass(frozen=True, slots=True)
class Use:
    """A read of a value by the node at position `node`.

    input   position of the input; None if a subgraph of the node reads the value
    """

    node: int
    input: int | None


@dataclass(frozen=True, slots=True, eq=False)
class GraphScope:
    """One graph or function body.

    outer          path of the enclosing graph, whose values this graph can read; for a training graph, MAIN; for the
                   main graph and functions, None
    label          label of the graph in diagnostics, "" for the main graph
    labels         labels of the nodes in diagnostics, by position of the node
    inputs         names in order; an initializer of the same name is the default of an input
    outputs        names in order
    initializers   name -> position of the dense initializer
    sparse         name -> position of the sparse initializer
    producers      name -> position of the first node that writes it
    reads          names of the inputs of each node, by position of the node; without reads in its subgraphs
    node_subgraphs position of a node -> paths of the subgraphs in its attributes
    captures       names that the graph or its subgraphs read and an outer graph defines, in order of first use
    order          positions of the nodes in topological order, ties in the order of the file
    cyclic         positions of the nodes that are on a cycle or depend on a cycle; absent from `order`
    children       paths of the subgraphs in attributes of the nodes, without deeper subgraphs
    """

    path: GraphPath
    outer: GraphPath | None
    label: str
    labels: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: Mapping[str, int]
    sparse: Mapping[str, int]
    producers: Mapping[str, int]
    reads: tuple[Sequence[str], ...]
    node_subgraphs: Mapping[int, Sequence[GraphPath]]
    captures: tuple[str, ...]
    order: tuple[int, ...]
    cyclic: tuple[int, ...]
    children: tuple[GraphPath, ...]

    def node(self, position: int) -> NodePath:
        """The NodePath of the node at `position`."""
        return NodePath(self.path, position, self.labels[position])

    def defines(self, name: str) -> bool:
        return name in self.producers or name in self.initializers or name in self.inputs or name in self.sparse


class GraphIndex:
    """The scopes of all graphs of a model by path, and its structural errors as diagnostics (`findings`).

    The index does not follow later edits of the model.
    """

    def __init__(self, model: ModelProto) -> None:
        build = _IndexBuilder(model)
        self.scopes: Mapping[GraphPath, GraphScope] = build.scopes
        self.findings: tuple[Diagnostic, ...] = tuple(build.findings)
        self._model = model
        self._names: Names | None = None
        self._uses: dict[GraphPath, dict[str, list[Use]]] = {}

    def __getitem__(self, path: GraphPath) -> GraphScope:
        return self.scopes[path]

    @property
    def main(self) -> GraphScope:
        return self.scopes[MAIN]

    def fresh(self, base: str) -> str:
        """A new name derived from `base`: not in use in the model, and not returned by this method before."""
        if self._names is None:
            self._names = Names(self._model)
        return self._names.fresh(base)

    def defining_scope(self, path: GraphPath, name: str) -> GraphScope | None:
        """The innermost scope that defines `name`, among graph `path` and the graphs around it; None if none does."""
        return next((scope for scope in self._enclosing(path) if scope.defines(name)), None)

    def readers(self, path: GraphPath, name: str) -> Iterator[tuple[GraphPath, Use]]:
        """Every node input that reads the value `name` defined in graph `path`, with the path of the node's graph.

        Reads in subgraphs of any depth are included.
        """
        pending = [path]
        while pending:
            scope = self.scopes[pending.pop()]
            uses = self.uses(scope.path).get(name, ())
            captured = {use.node for use in uses if use.input is None}
            yield from ((scope.path, use) for use in uses if use.input is not None)
            pending += [c for c in scope.children if c.steps[-1].node in captured and name in self.scopes[c].captures]

    def uses(self, path: GraphPath) -> Mapping[str, Sequence[Use]]:
        """Name -> reads of that name by the nodes of graph `path`; includes names that an enclosing graph defines."""
        found = self._uses.get(path)
        if found is None:
            found = self._uses[path] = {}
            scope = self.scopes[path]
            for position, names in enumerate(scope.reads):
                for at, name in enumerate(names):
                    if name:
                        found.setdefault(name, []).append(Use(position, at))
                for child in scope.node_subgraphs.get(position, ()):
                    for name in self.scopes[child].captures:
                        found.setdefault(name, []).append(Use(position, None))
        return found

    def is_output(self, path: GraphPath, name: str) -> bool:
        """Whether the value `name`, defined in graph `path`, is an output of that graph or of one of its subgraphs."""
        inner = (s for s in self.scopes.values() if name in s.outputs and path.contains(s.path))
        return any(s.path == path or self.defining_scope(s.path, name) is self.scopes[path] for s in inner)

    def _enclosing(self, path: GraphPath) -> Iterator[GraphScope]:
        around: GraphPath | None = path
        while around is not None:
            yield self.scopes[around]
            around = self.scopes[around].outer


class _IndexBuilder:
    """Builder of the scopes of a model, without recursion: subgraphs may nest deeper than Python's call stack."""

    def __init__(self, model: ModelProto) -> None:
        self.bodies = dict(bodies(model))
        self.paths = {path: path for path in self.bodies}  # one object for each path: comparing deep paths is slow
        self.labels: dict[GraphPath, str] = {}
        self.nodes: dict[GraphPath, tuple[str, ...]] = {}
        self.outer: dict[GraphPath, GraphPath | None] = {}
        self.children: dict[GraphPath, list[GraphPath]] = {}
        self.defined: dict[GraphPath, Counter[str]] = {}
        built: dict[GraphPath, GraphScope] = {}
        found: dict[GraphPath, list[Diagnostic]] = {}
        for path, body in self.bodies.items():  # outer graphs first
            self.define(model, path, body)
        for path in reversed(self.bodies):
            found[path] = []
            built[path] = self.scope(path, built, found[path])
        self.scopes = {path: built[path] for path in self.bodies}
        self.findings = [finding for path in self.bodies for finding in found[path]]

    def define(self, model: ModelProto, path: GraphPath, body: GraphOrFunction) -> None:
        """Record the label of graph `path`, and the names that it defines with the number of definitions of each."""
        around = _outer(path)
        outer = self.outer[path] = None if around is None else self.paths[around]
        if outer is not None and path.steps:
            step = path.steps[-1]
            label = subgraph_label(self.nodes[outer][step.node], self.bodies[outer].node[step.node], step)
            self.children[outer].append(path)
        else:
            label = label_of(model, path)
        self.labels[path] = label
        labels = node_labels(body.node)
        self.nodes[path] = tuple([joined_label(label, inner) for inner in labels] if label else labels)
        self.children[path] = []
        inputs, _, initializers, sparse = _interface(body)
        # An initializer of an input's name is its default.
        counts = Counter([*inputs, *(n for n in (*initializers, *sparse) if n not in inputs)])
        counts.update([name for node in body.node for name in node.output[:] if name])
        if not isinstance(body, FunctionProto):
            counts.update({name: n - 1 for name, n in Counter(t.name for t in body.initializer).items() if n > 1})
        self.defined[path] = counts

    def is_defined(self, path: GraphPath, name: str) -> bool:
        """Whether graph `path` or a graph around it defines `name`."""
        around: GraphPath | None = path
        while around is not None and name not in self.defined[around]:
            around = self.outer[around]
        return around is not None

    def scope(self, path: GraphPath, inner: Mapping[GraphPath, GraphScope], findings: list[Diagnostic]) -> GraphScope:
        """The scope of graph `path`, given the scopes `inner` of its subgraphs; appends its errors to `findings`."""
        body, label, labels, defined = self.bodies[path], self.labels[path], self.nodes[path], self.defined[path]
        inputs, outputs, initializers, sparse = _interface(body)
        nodes = list(body.node)
        reads = [node.input[:] for node in nodes]  # a slice of a protobuf list takes half the time of list()
        producers: dict[str, int] = {}
        for position, node in enumerate(nodes):
            for name in node.output[:]:
                if name:
                    producers.setdefault(name, position)
        captures: dict[str, None] = {}
        below: dict[int, list[GraphPath]] = {}
        for child in self.children[path]:
            below.setdefault(child.steps[-1].node, []).append(child)
        given = initializers.keys() | set(inputs)
        sources: list[set[int]] = []

        for position, names in enumerate(reads):
            read: set[int] = set()
            sources.append(read)
            for name in names:
                producer = producers.get(name)
                if producer is not None and name not in given:
                    read.add(producer)
                elif name and name not in defined:
                    captures[name] = None
                    if not self.is_defined(path, name):
                        node = nodes[position]
                        node_path = NodePath(path, position, labels[position])
                        where = Location(node_path, node.op_type, node.domain, value=name)
                        findings.append(diagnostic("GI103", f"input {name} is not defined", where))
            for child in below.get(position, ()):
                for name in inner[child].captures:
                    producer = producers.get(name)
                    if producer is not None and name not in given:
                        read.add(producer)
                    elif name not in defined:
                        captures[name] = None
        for name in outputs:
            if name not in defined:
                captures[name] = None
                if not self.is_defined(path, name):
                    where = Location(value=name, graph=label)
                    findings.append(diagnostic("GI103", f"graph output {name} is not defined", where))
        for name, count in defined.items():
            if count > 1:
                where = Location(value=name, graph=label)
                findings.append(diagnostic("GI101", f"{name} is defined {count} times", where))
        order, cyclic = topological_order(sources)
        if cyclic:
            names = [labels[position] for position in cycle_among(sources, cyclic)]
            text = f"{' -> '.join([*names[:6], *(['...'] if len(names) > 6 else []), names[0]])} is a cycle"
            where = Location(NodePath(path, cyclic[0], labels[cyclic[0]]), nodes[cyclic[0]].op_type)
            findings.append(diagnostic("GI102", text, where))
        return GraphScope(
            path, self.outer[path], label, labels, inputs, outputs, initializers, sparse, producers, tuple(reads),
            below, tuple(captures), order, cyclic, tuple(self.children[path]),
        )  # fmt: skip


def _interface(body: GraphOrFunction) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, int], dict[str, int]]:
    """The names of inputs and outputs, and the positions of dense and of sparse initializers by name."""
    if isinstance(body, FunctionProto):
        return tuple(body.input), tuple(body.output), {}, {}
    initializers = {tensor.name: position for position, tensor in enumerate(body.initializer)}
    sparse = {tensor.values.name: position for position, tensor in enumerate(body.sparse_initializer)}
    return tuple(v.name for v in body.input), tuple(v.name for v in body.output), initializers, sparse


def _outer(path: GraphPath) -> GraphPath | None:
    if path.steps:
        return replace(path, steps=path.steps[:-1])
    return MAIN if path.root in (Root.INITIALIZATION, Root.ALGORITHM) else None
