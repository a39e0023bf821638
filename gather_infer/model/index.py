"""Who defines and who reads each value, graph by graph, as data that holds no protobuf message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnx import FunctionProto, ModelProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.model.names import Names
from gather_infer.model.order import cycle_among, topological_order
from gather_infer.model.paths import MAIN, Body, GraphPath, Root, node_name, roots, subgraphs


@dataclass(frozen=True, slots=True)
class Use:
    """A read of a value: the position of the node, and of the input, None when a subgraph of the node reads it."""

    node: int
    input: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One graph or function body.

    label         as locations write it, "" for the main graph
    inputs        names in order; an initializer of the same name is a default
    outputs       names in order
    initializers  name -> position, of dense initializers; sparse ones are in `sparse`
    producers     name -> position of the node that writes it, the first when several do
    uses          name -> reads by the nodes of this graph, also of names that an outer graph defines
    captures      names that come from outer graphs, in order of first use
    order         positions of the nodes, producers first; nodes that are ready keep the order of the file
    cyclic        positions of nodes that wait for each other, absent from `order`
    children      the subgraphs of the nodes
    """

    path: GraphPath
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: Mapping[str, int]
    sparse: Mapping[str, int]
    producers: Mapping[str, int]
    uses: Mapping[str, tuple[Use, ...]]
    captures: tuple[str, ...]
    order: tuple[int, ...]
    cyclic: tuple[int, ...]
    children: tuple[GraphPath, ...]

    def defines(self, name: str) -> bool:
        return name in self.producers or name in self.initializers or name in self.inputs or name in self.sparse


class GraphIndex:
    """All scopes of a model by path, and what is structurally wrong with it (`findings`); raises nothing.

    It describes the model as it was: after an edit, a new index is needed.
    """

    def __init__(self, model: ModelProto) -> None:
        build = _Build(model)
        self.scopes: Mapping[GraphPath, Scope] = build.scopes
        self.findings: tuple[Diagnostic, ...] = tuple(build.findings)
        self._model = model
        self._names: Names | None = None

    def __getitem__(self, path: GraphPath) -> Scope:
        return self.scopes[path]

    @property
    def main(self) -> Scope:
        return self.scopes[MAIN]

    def fresh(self, base: str) -> str:
        """A name that nothing in the model has, and that is not given out twice."""
        if self._names is None:
            self._names = Names(self._model)
        return self._names.fresh(base)

    def home(self, path: GraphPath, name: str) -> Scope | None:
        """The innermost scope around `path` that defines `name`; None when none does."""
        return next((scope for scope in self._around(path) if scope.defines(name)), None)

    def readers(self, path: GraphPath, name: str) -> Iterator[tuple[GraphPath, Use]]:
        """Every node input that reads the value `name` defined in graph `path`, those in subgraphs included."""
        pending = [path]
        while pending:
            scope = self.scopes[pending.pop()]
            captured = {use.node for use in scope.uses.get(name, ()) if use.input is None}
            yield from ((scope.path, use) for use in scope.uses.get(name, ()) if use.input is not None)
            pending += [c for c in scope.children if c.steps[-1].node in captured and name in self.scopes[c].captures]

    def is_output(self, path: GraphPath, name: str) -> bool:
        """Whether the value `name` defined in graph `path` is an output of it, or of a subgraph that passes it on."""
        inner = (s for s in self.scopes.values() if path.contains(s.path) and name in s.outputs)
        return any(s.path == path or self.home(s.path, name) is self.scopes[path] for s in inner)

    def _around(self, path: GraphPath) -> Iterator[Scope]:
        for depth in range(len(path.steps), -1, -1):
            yield self.scopes[GraphPath(path.root, path.position, path.steps[:depth])]
        if path.root in (Root.INITIALIZATION, Root.ALGORITHM):
            yield self.scopes[MAIN]


class _Build:
    def __init__(self, model: ModelProto) -> None:
        self.scopes: dict[GraphPath, Scope] = {}
        self.findings: list[Diagnostic] = []
        main: frozenset[str] = frozenset()
        for path, body in roots(model):
            # Training graphs see the values of the main graph.
            outer = (main,) if path.root in (Root.INITIALIZATION, Root.ALGORITHM) else ()
            defined = self.scope(path, body, path.label(model), outer)
            main = defined if path == MAIN else main

    def scope(self, path: GraphPath, body: Body, label: str, outer: tuple[frozenset[str], ...]) -> frozenset[str]:
        """Add the scope of `body` and those below it; the names that it defines itself."""
        inputs, outputs, initializers, sparse = _interface(body)
        nodes = list(body.node)
        producers: dict[str, int] = {}
        # An initializer of an input's name is its default.
        counts = Counter([*inputs, *(n for n in (*initializers, *sparse) if n not in inputs)])
        for position, node in enumerate(nodes):
            for name in node.output:
                if name:
                    counts[name] += 1
                    producers.setdefault(name, position)
        if not isinstance(body, FunctionProto):
            counts.update({name: n - 1 for name, n in Counter(t.name for t in body.initializer).items() if n > 1})
        defined = frozenset(counts)
        uses: dict[str, list[Use]] = {}
        reads: list[set[int]] = [set() for _ in nodes]
        captures: dict[str, None] = {}
        children: list[GraphPath] = []

        def read(name: str, use: Use) -> None:
            uses.setdefault(name, []).append(use)
            if name in producers and name not in inputs and name not in initializers:
                reads[use.node].add(producers[name])
            if name not in defined:
                captures[name] = None

        for position, node in enumerate(nodes):
            for at, name in enumerate(node.input):
                if not name:
                    continue
                read(name, Use(position, at))
                if name not in defined and not any(name in names for names in outer):
                    where = Location(_below(label, node_name(node, position)), node.op_type, node.domain, value=name)
                    self.findings.append(diagnostic("GI103", f"input {name} is not defined", where))
            for step, graph in subgraphs(node, position):
                child = path.below(step)
                children.append(child)
                attribute = node.attribute[step.attribute].name
                at_child = _below(label, f"{node_name(node, position)}/{attribute}")
                self.scope(child, graph, at_child, (*outer, defined))
                for name in self.scopes[child].captures:
                    read(name, Use(position, None))
        for name in outputs:
            if name not in defined:
                captures[name] = None
                if not any(name in names for names in outer):
                    where = Location(label, value=name)
                    self.findings.append(diagnostic("GI103", f"graph output {name} is not defined", where))
        for name, count in counts.items():
            if count > 1:
                where = Location(label, value=name)
                self.findings.append(diagnostic("GI101", f"{name} is defined {count} times", where))
        order, cyclic = topological_order(reads)
        if cyclic:
            names = [_below(label, node_name(nodes[position], position)) for position in cycle_among(reads, cyclic)]
            text = f"{' -> '.join([*names[:6], *(['...'] if len(names) > 6 else []), names[0]])} is a cycle"
            self.findings.append(diagnostic("GI102", text, Location(names[0], nodes[cyclic[0]].op_type)))
        frozen = {name: tuple(found) for name, found in uses.items()}
        self.scopes[path] = Scope(
            path, label, inputs, outputs, initializers, sparse, producers, frozen, tuple(captures), order, cyclic,
            tuple(children),
        )  # fmt: skip
        return defined


def _interface(body: Body) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, int], dict[str, int]]:
    """Inputs, outputs, initializers and sparse initializers by name."""
    if isinstance(body, FunctionProto):
        return tuple(body.input), tuple(body.output), {}, {}
    initializers = {tensor.name: position for position, tensor in enumerate(body.initializer)}
    sparse = {tensor.values.name: position for position, tensor in enumerate(body.sparse_initializer)}
    return tuple(v.name for v in body.input), tuple(v.name for v in body.output), initializers, sparse


def _below(label: str, name: str) -> str:
    return f"{label}/{name}" if label else name
