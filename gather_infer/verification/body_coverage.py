"""Body coverage: an instrumented copy of a model that reports the bodies that a run enters (If branches, Loop and Scan
bodies).

Each node with bodies, each function with such nodes and the main graph get one more output: a vector of bools with an
element for each body. A Loop and a Scan carry the vector as a state. The other outputs are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from gather_infer.domains import plain_domain, versions_of
from gather_infer.inference import Inference
from gather_infer.inference.inferred_graphs import InferredGraphs
from gather_infer.ir import Graph, Model
from gather_infer.model.attributes import integer_attribute
from gather_infer.model.names import Names
from gather_infer.model.paths import GraphOrFunction, subgraphs
from gather_infer.node_ids import MAIN, GraphPath, Root
from gather_infer.symbolic import known_lt
from gather_infer.tensor import SymbolicTensor

MAX_BYTES: Final = 1 << 29
"""A larger model is not instrumented."""

MAX_BODIES: Final = 2048
"""A model with more bodies is not instrumented."""


@dataclass(slots=True)
class BodyCoverage:
    """The bodies that the runs of a model have entered.

    proto           the instrumented copy, whose last output is the vector of bools; None if there is none
    bodies          paths in the file of the bodies that may run; a body in a function represents all calls
    labels          body -> its label in messages
    positions       body -> its position in the vector; bodies that are not observed have none
    unknown_reason  why some bodies are not observed; empty if all are
    entered         body -> the number of compared runs that entered it
    is_enabled      whether the runs use the copy
    last_entered    the bodies that the last run entered
    """

    proto: ModelProto | None
    bodies: tuple[GraphPath, ...]
    labels: Mapping[GraphPath, str]
    positions: Mapping[GraphPath, int]
    unknown_reason: str = ""
    entered: dict[GraphPath, int] = field(default_factory=dict)
    is_enabled: bool = False
    last_entered: tuple[GraphPath, ...] = ()

    def outputs(self, given: list[Any]) -> list[Any]:
        """The outputs of the model itself, from `given`, those of the copy; the entered bodies are recorded."""
        if self.is_enabled:
            told = np.asarray(given.pop())
            self.last_entered = tuple(path for path, position in self.positions.items() if told[position])
        return given

    def count(self) -> None:
        """Count the bodies that the last run entered; called when the run was compared."""
        for path in self.last_entered:
            self.entered[path] = self.entered.get(path, 0) + 1

    def uncovered(self) -> list[str]:
        """The labels of the outermost observed bodies that no compared run has entered."""
        missed = [
            path for path in self.bodies if self.is_enabled and path in self.positions and not self.entered.get(path)
        ]
        return [self.labels[path] for path in missed if not any(path != one and one.contains(path) for one in missed)]

    def disable(self, reason: str) -> None:
        """Disable coverage, because the copy does not run; `reason` is the text for the user."""
        self.is_enabled, self.unknown_reason = False, reason


def body_coverage_of(inference: Inference) -> BodyCoverage:
    """The coverage of an inferred model, with its instrumented copy."""
    proto = inference.model.proto
    dead = frozenset(_dead_bodies(inference))
    reached = list(_reached(inference.ir, MAIN, dead))
    found = tuple(path for path in reached if path.steps)
    labels = {path: inference.ir.graph_label(path) for path in found}
    if not found:
        return BodyCoverage(None, (), {}, {})
    if inference.model.foreign_format:
        return BodyCoverage(None, found, labels, {}, "an IR cannot be instrumented")
    if len(found) > MAX_BODIES or proto.ByteSize() > MAX_BYTES:
        return BodyCoverage(None, found, labels, {}, "the model is too large to be instrumented")
    watching = _Instrumentation(inference.ir, found)
    made = watching.instrument(path.position for path in reached if path.root is Root.FUNCTION and not path.steps)
    told = watching.observed(dead)
    untold = [labels[path] for path in found if path not in told]
    why = f"{', '.join(untold)} cannot be instrumented" if untold else ""
    return BodyCoverage(made if told else None, found, labels, told, why)


def location_in_file(model: Model, path: GraphPath) -> GraphPath | None:
    """The path in the file of the graph that the inference visited at `path`: a graph below a call is in the function.

    None if the file has no such graph there, as for the body of an operator schema, or a graph that a call passes.
    """
    graph: Graph | None = model[GraphPath(path.root, path.position)]
    for step in path.steps:
        if graph is None:
            return None
        node = graph.file_nodes[step.node]
        graph = model.called_function(node) if step.attribute is None else model.graphs.get(graph.path.below(step))
    return None if graph is None else graph.path


def _dead_bodies(inference: Inference) -> Iterator[GraphPath]:
    """The bodies for which it is proved that no run enters them through any call."""
    graphs = InferredGraphs(inference)
    alive: set[GraphPath] = set()
    dead: set[GraphPath] = set()
    for path in inference.scopes:
        if not path.steps or path.steps[-1].attribute is None:
            continue
        place = location_in_file(inference.ir, path)
        if place is not None:
            (dead if is_dead(inference, path, graphs) else alive).add(place)
    yield from dead - alive


def is_dead(inference: Inference, path: GraphPath, graphs: InferredGraphs) -> bool:
    """Whether it is proved that no run enters the body at `path`, through the calls on that path; False if unknown.

    graphs   those of `inference`
    """
    condition = inference.conditions.get(path)
    if condition is None:
        return False
    if condition.sign_predicate is not None and known_lt(condition.sign_predicate, 0, inference.known) is False:
        return True
    around = graphs.at(path.above)
    if around is None:
        return False
    holder = around.nodes[path.steps[-1].node]
    fact = around.fact(holder.inputs[0]) if holder.op_type == "If" else None
    if not isinstance(fact, SymbolicTensor) or fact.values is None or fact.values.size != 1:
        return False
    taken = fact.values.reshape(-1)[0]
    return isinstance(taken, (bool, np.bool_)) and bool(taken) != (condition.name == "then_branch")


def _reached(model: Model, start: GraphPath, dead: frozenset[GraphPath]) -> Iterator[GraphPath]:
    """The graph `start`, the functions that it calls, and the bodies in all of them, except the `dead` bodies."""
    pending, known = [start], {start}
    while pending:
        path = pending.pop()
        yield path
        for node in model[path].file_nodes:
            below = [body.path for body in node.bodies]
            called = model.called_function(node)
            if called is not None:
                below.append(called.path)
            new = [one for one in below if one not in known and one not in dead]
            known.update(new)
            pending += new[::-1]


_Key: TypeAlias = "tuple[str, str, str]"


def _key(node: NodeProto) -> _Key:
    return plain_domain(node.domain), node.op_type, node.overload


class _Instrumentation:
    """Builds the instrumented copy.

    positions         body -> its position in the vector
    reporting         the bodies that set their element of the vector
    silent            the bodies that cannot, because their node has no way to carry the vector
    original_outputs  instrumented function -> the number of its outputs before the new one
    """

    def __init__(self, original: Model, found: Sequence[GraphPath]) -> None:
        self.original = original
        self.proto = ModelProto()
        self.proto.CopyFrom(original.proto)
        self.names = Names(self.proto)
        self.positions = {path: position for position, path in enumerate(found)}
        self.reporting: set[GraphPath] = set()
        self.silent: set[GraphPath] = set()
        self.version = 0
        self.original_outputs: dict[_Key, int] = {}

    def instrument(self, functions: Iterable[int]) -> ModelProto:
        """The copy, with the main graph and the functions at the positions `functions` instrumented."""
        version = versions_of(self.proto.opset_import).get("", 0)
        for position in _inner_first(self.original, functions):
            function = self.proto.functions[position]
            imported = versions_of(function.opset_import)
            self.version = imported.get("", version)
            if seen := self.instrument_body(function, GraphPath(Root.FUNCTION, position)):
                if "" not in imported:
                    function.opset_import.append(helper.make_opsetid("", self.version))
                key = plain_domain(function.domain), function.name, function.overload
                self.original_outputs[key] = len(function.output)
                function.output.append(self.any_of(function, seen))
        self.version = version
        if seen := self.instrument_body(self.proto.graph, MAIN):
            self.proto.graph.output.append(self.typed(self.any_of(self.proto.graph, seen)))
        return self.proto

    def observed(self, dead: frozenset[GraphPath]) -> dict[GraphPath, int]:
        """Body -> its position in the vector, for the bodies that report every time they are entered."""
        lost = {path for one in self.silent for path in _reached(self.original, one, dead)}
        return {path: at for path, at in self.positions.items() if path in self.reporting and path not in lost}

    def instrument_body(self, body: GraphOrFunction, path: GraphPath) -> list[str]:
        """Instrument the nodes of a graph. Returns the names of the new values that report the bodies below them."""
        before = len(body.node)
        begins = self.names.fresh("entered")
        seen = [
            name for at, node in enumerate(list(body.node)) if (name := self.instrument_node(node, at, path, begins))
        ]
        assert len(body.node) == before, "paths stay valid during the traversal"
        if any(begins in node.input for node in body.node):
            body.node.insert(0, self.constant(begins, None))
        return seen

    def instrument_node(self, node: NodeProto, at: int, path: GraphPath, begins: str) -> str:
        """Instrument a node. Returns the name of its new output, which reports the bodies below it; "" without one.

        begins   the name of a vector in which no body is entered
        """
        called = self.original_outputs.get(_key(node))
        if called is not None:
            node.output.extend([""] * (called - len(node.output)))
            return self.add_output(node, called)
        below = {path.below(step): graph for step, graph in subgraphs(node, at)}
        if not any(one in self.positions for one in below):
            return ""
        is_standard = not plain_domain(node.domain)
        if is_standard and node.op_type == "If":
            for one, graph in below.items():
                self.report_entry(graph, one, [], len(graph.output))
            return self.add_output(node, len(node.output))
        if is_standard and node.op_type in ("Loop", "Scan"):
            fixed = 2 if node.op_type == "Loop" else 0
            scanned = integer_attribute(node, "num_scan_inputs")
            states = max(0, len(node.input) - fixed - scanned)
            ((one, graph),) = below.items()
            goes_on = int(node.op_type == "Loop")  # the first output of the body of a Loop
            is_whole = len(graph.input) == fixed + states + scanned and len(graph.output) == goes_on + len(node.output)
            if is_whole and (node.op_type == "Loop" or self.version >= 9):
                node.input.extend([""] * (fixed - len(node.input)))
                node.input.insert(fixed + states, begins)
                carried = self.names.fresh("entered")
                graph.input.insert(fixed + states, self.typed(carried))
                self.report_entry(graph, one, [carried], goes_on + states)
                return self.add_output(node, states)
        self.silent.update(below)
        return ""

    def report_entry(self, graph: GraphProto, path: GraphPath, carried: list[str], at: int) -> None:
        """Add output `at` to a body, which reports this body, those nested in it, and those that `carried` report.

        carried   the names of vectors from earlier iterations
        """
        if path in self.positions:
            self.reporting.add(path)
        own = self.names.fresh("entered")
        seen = [*carried, own, *self.instrument_body(graph, path)]
        graph.node.append(self.constant(own, self.positions.get(path)))
        graph.output.insert(at, self.typed(self.any_of(graph, seen)))

    def add_output(self, node: NodeProto, at: int) -> str:
        """Add output `at` to a node. Returns its name."""
        name = self.names.fresh("entered")
        node.output.insert(at, name)
        return name

    def any_of(self, body: GraphOrFunction, seen: Sequence[str]) -> str:
        """Add nodes that compute the disjunction of the vectors named in `seen`. Returns the name of the result."""
        found = seen[0]
        for name in seen[1:]:
            both = self.names.fresh("entered")
            body.node.append(helper.make_node("Or", [found, name], [both]))
            found = both
        return found

    def constant(self, name: str, position: int | None) -> NodeProto:
        """A Constant node that outputs a vector in which only the element at `position` is True; none if it is None."""
        values = np.zeros(len(self.positions), np.bool_)
        if position is not None:
            values[position] = True
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(values, name))

    def typed(self, name: str) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.BOOL, [len(self.positions)])


def _inner_first(model: Model, functions: Iterable[int]) -> list[int]:
    """The positions of `functions` and of those that they call, callees first."""
    found: dict[int, None] = {}

    def add(position: int) -> None:
        root = GraphPath(Root.FUNCTION, position)
        for path in _reached(model, root, frozenset()):
            if path.root is Root.FUNCTION and not path.steps and path != root and path.position not in found:
                add(path.position)
        found[position] = None

    for position in functions:
        if position not in found:
            add(position)
    return list(found)
