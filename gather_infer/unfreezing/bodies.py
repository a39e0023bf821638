"""The walk of subgraphs: the nodes of branches and loop bodies are edited as those of the main graph are.

The interpreter infers a branch once, and a loop body under one hypothesis about its states after another. Each time the
body is walked again; the edits of the last time are those of the result. A body reads values of the graphs around it,
never the other way round. A node with bodies fits when

* each body was walked, with states that have their old shapes at the old size;
* states and branches agree on the order of the sizes in each axis;
* branches give each axis the same size, and an iteration gives a state the sizes that it had;
* nothing is read, by the number of an iteration, at a position of a freed axis, unless there are as many iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from onnx import GraphProto, NodeProto

from gather_infer.inference.bodies.predicates import scalar
from gather_infer.inference.bodies.subgraph import inputs_of
from gather_infer.inference.environment import Environment
from gather_infer.model.paths import bodies, label_of, subgraph_at, subgraphs
from gather_infer.node_ids import GraphPath, NodePath, Root, Step
from gather_infer.symbolic import Dim, free_symbols
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors, dim_of, is_free, whole
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.iterations import IterationNumbers, NumberKind
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import Placed, UnfreezingWalk

_WALKED: Final = frozenset({"If", "Loop", "Scan"})
_BY_AXIS: Final = 9
"""The opset since which Scan has no batch axis."""

_Demand = dict[int, dict[int, Factors]]
"""Output of a body -> axis -> the factors that it has in the other branch."""


@dataclass
class _EditedBody:
    """A body after a walk.

    placed    its nodes; None if it is left as it is, since no run takes this branch
    returned  output -> the value that is returned in its place
    shapes    of the outputs
    factors   of the axes of the outputs
    numbers   what the elements of each output are
    is_exact  whether the states had the shapes that they have in the model before
    """

    placed: list[Placed] | None = None
    returned: dict[int, str] = field(default_factory=dict)
    shapes: list[Shape | None] = field(default_factory=list)
    factors: list[AxisFactors] = field(default_factory=list)
    numbers: list[NumberKind] = field(default_factory=list)
    is_exact: bool = True


@dataclass
class _Call:
    """A node with bodies that is being inferred, or was inferred last."""

    node: NodeProto
    bodies: dict[tuple[int, int | None], _EditedBody] = field(default_factory=dict)


class Bodies:
    """The bodies of the present node.

    iterations  which values are computed from the number of an iteration
    """

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self.iterations = IterationNumbers(walk)
        self._calls: list[_Call] = []
        self._last: _Call | None = None
        self._demands: dict[tuple[str, int], _Demand] = {}
        self._shadowing: dict[GraphPath, str] | None = None

    def key(self, name: str) -> str:
        """A name for a value of the present graph that no value of another graph has."""
        label = label_of(self.walk.model.proto, self.walk.path) if self.walk.path.steps else ""
        return f"{label}/{name}" if label else name

    @contextmanager
    def of(self, node: NodeProto) -> Iterator[None]:
        """Walk the bodies that are inferred inside, if they are those of a node that depends on a freed size."""
        self._last = None
        if node.op_type not in _WALKED or node.domain not in ("", "ai.onnx"):
            yield
            return
        self.iterations.wanted = None
        call = _Call(node)
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.pop()
            self._last = call

    def has_fitted(self, node: NodeProto, inner: NodePath) -> bool:
        """Whether `inner` is a node of a body of the node that was inferred last: it has been checked there."""
        call = self._last
        return call is not None and call.node is node and inner.graph != self.walk.graph.path

    # a body

    def interpret(self, nodes: Sequence[NodeProto], environment: Environment) -> bool:
        """Walk the body of an environment if it is one of the present node; whether it is."""
        step, walk = environment.path.steps[-1], self.walk
        call = self._calls[-1] if self._calls else None
        if call is None or step.attribute is None or environment.path.above != walk.graph.path:
            return False
        node = call.node
        place = (step.attribute, step.item)
        if _is_dead_branch(walk, node, step):
            call.bodies[place] = _EditedBody()
            return False
        if node.op_type == "Scan" and walk.opset < _BY_AXIS:
            return False
        path = walk.path.below(Step(walk.position, *place))
        why = self._shadowed(path)
        if why:
            raise Blocked(walk.label(node), why)
        graph = subgraph_at(node, step)
        body = _EditedBody(is_exact=self._is_exact(graph, environment, path))
        call.bodies[place] = body
        before = dict(environment.values)
        try:
            self._walk(node, step, graph, nodes, environment, path, body)
        except Blocked:
            if body.is_exact:
                raise
            environment.values.clear()
            environment.values.update(before)
            return False  # the next hypothesis about the states may be the right one
        return True

    def _walk(
        self, node: NodeProto, step: Step, graph: GraphProto, nodes: Sequence[NodeProto], environment: Environment,
        path: GraphPath, body: _EditedBody,
    ) -> None:  # fmt: skip
        walk = self.walk
        label = walk.label(node)
        names = {name for each in nodes for name in each.output if name} | set(environment.values)
        given = inputs_of(graph)
        operands = _operands(walk, node, given)
        demand = self._demands.get((self.key(node.output[0]), step.attribute or 0), {})
        around = self._calls
        self._calls = []
        try:
            with walk.inside(environment, path, names) as placed, self.iterations.inside(node, given, operands.names):
                walk.dependent.update(given)
                factors = {
                    name: held
                    for name, held in zip(given, operands.factors, strict=True)
                    if held is not None and _fits(held, walk.environment.values.get(name))
                }
                walk.walk_nodes(nodes, factors)
                self._follow_states(node, graph, given, body)
                for at, wanted in demand.items():
                    self._follow(at, graph, wanted, body)
                for at, output in enumerate(graph.output):
                    fact = walk.environment.values.get(output.name)
                    shape = fact.shape if isinstance(fact, SymbolicTensor) else None
                    body.shapes.append(shape)
                    name = body.returned.get(at, output.name)
                    body.factors.append(walk.factors.get(name) or tuple(map(whole, shape or ())))
                    body.numbers.append(self.iterations.kind_of(name))
                why = self._changed_state(node, graph, given, body)
                why = why or self.iterations.changed_state(node, given, [output.name for output in graph.output])
                if why:
                    raise Blocked(label, why)
                body.placed = placed
        finally:
            self._calls = around

    def _is_exact(self, graph: GraphProto, environment: Environment, path: GraphPath) -> bool:
        """Whether the states have the shapes of the model before; else they are a hypothesis that is too narrow."""
        before = self.walk.static_scopes.get(path, {})
        for name in inputs_of(graph):
            now, was = environment.values.get(name), before.get(name)
            if not isinstance(now, SymbolicTensor) or not isinstance(was, SymbolicTensor):
                continue
            if (now.shape is None) != (was.shape is None) or len(now.shape or ()) != len(was.shape or ()):
                return False
            if not all(self._has_kind(*pair) for pair in zip(now.shape or (), was.shape or (), strict=True)):
                return False
            if _known(now) != _known(was):
                return False
        return True

    def _has_kind(self, now: Dim, before: Dim) -> bool:
        """Whether a dim has its old size, or depends on data as before."""
        if not free_symbols(before).isdisjoint(self.walk.generated_before):
            return not free_symbols(now).isdisjoint(self.walk.context.causes)
        old = self.walk.samples.old
        return next(values_of([now], old)) == next(values_of([before], old))

    def _shadowed(self, path: GraphPath) -> str:
        """Why values of a body may be taken for others; "" if their names occur in no graph around it."""
        if self._shadowing is None:
            self._shadowing = {}
            defined: dict[GraphPath, frozenset[str]] = {}
            for at, graph in bodies(self.walk.model.proto):
                if at.root is not Root.GRAPH or not isinstance(graph, GraphProto):
                    continue
                own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
                own |= {name for node in graph.node for name in node.output if name}
                outer = defined[at.above] if at.steps else frozenset[str]()
                twice = own & outer
                if twice:
                    self._shadowing[at] = f"its body defines {min(twice)}, as a graph around it does"
                defined[at] = outer | own
        return self._shadowing.get(path, "")

    # states and branches that follow the size

    def _follow_states(self, node: NodeProto, graph: GraphProto, given: Sequence[str], body: _EditedBody) -> None:
        """Let what an iteration makes of a state have the freed sizes that the state had."""
        for at, name in _states(node, graph, given):
            held = self.walk.factors.get(name, ())
            self._follow(at, graph, {axis: f for axis, f in enumerate(held) if self._is_free(f)}, body)

    def _follow(self, at: int, graph: GraphProto, wanted: Mapping[int, Factors], body: _EditedBody) -> None:
        """Let an output of a body have the sizes `wanted` in some axes, if it has the old ones and a rule is found."""
        walk = self.walk
        name = graph.output[at].name
        for axis, factors in wanted.items():
            current = body.returned.get(at, name)
            fact = walk.environment.values.get(current)
            shape = fact.shape if isinstance(fact, SymbolicTensor) else None
            if shape is None or axis >= len(shape) or not isinstance(shape[axis], int):
                continue
            if shape[axis] != next(values_of([dim_of(factors)], walk.samples.old)):
                continue
            found = walk.rows.with_rows(current, axis, factors)
            if found is None:
                continue
            body.returned[at] = found
            walk.graph.values[name] = walk.environment.values[found]

    def _changed_state(self, node: NodeProto, graph: GraphProto, given: Sequence[str], body: _EditedBody) -> str:
        """How an iteration changes the order of the sizes in an axis of a state; "" if it does not."""
        for at, name in _states(node, graph, given):
            for before, after in zip(self.walk.factors.get(name, ()), body.factors[at], strict=False):
                if dim_of(before) == dim_of(after) and self._is_free(before) and before != after:
                    return f"its state {name} has its sizes in another order afterwards"
        return ""

    def _is_free(self, factors: Factors) -> bool:
        return any(is_free(factor, self.walk.freed) for factor in factors)

    def demands_more(self, node: NodeProto) -> bool:
        """Whether a branch of a node that did not fit has a number where the other one has a freed size."""
        call = self._last
        if call is None or call.node is not node or node.op_type != "If" or len(call.bodies) != 2:
            return False
        is_new = False
        for one, other in (list(call.bodies.items()), list(call.bodies.items())[::-1]):
            (place, mine), (_, its) = one, other
            demand = self._demands.setdefault((self.key(node.output[0]), place[0]), {})
            for at, (shape, wanted) in enumerate(zip(mine.shapes, its.factors, strict=False)):
                for axis, (dim, factors) in enumerate(zip(shape or (), wanted, strict=False)):
                    if isinstance(dim, int) and self._is_free(factors) and axis not in demand.get(at, {}):
                        demand.setdefault(at, {})[axis] = factors
                        is_new = True
        return is_new

    # the node

    def note(self, node: NodeProto) -> None:
        """Remember what the elements of the outputs are."""
        self.iterations.note(node)
        call = self._last
        for body in call.bodies.values() if call is not None and call.node.output == node.output else ():
            for name, kind in zip(
                node.output, body.numbers[1:] if node.op_type == "Loop" else body.numbers, strict=False
            ):
                self.iterations.note_kind(name, kind)

    def problem(self, node: NodeProto, mark: int) -> str:
        """Why a node with bodies does not fit; "" if it does, or has none.

        mark   of the trail before the node was inferred
        """
        held = [step for step, _ in subgraphs(node, 0)]
        call = self._last
        if not held:
            return ""
        if call is None or call.node is not node or {(s.attribute, s.item) for s in held} != call.bodies.keys():
            return "holds a body that is not followed"
        if not all(body.is_exact for body in call.bodies.values()):
            return "its states have other shapes than before"
        return self._unequal_branches(call) or _unequal_numbers(call) or self.iterations.problem_of_count(node, mark)

    def _unequal_branches(self, call: _Call) -> str:
        """How two branches give an axis other sizes, or in another order; "" if they do not."""
        taken = [body for body in call.bodies.values() if body.placed is not None]
        if call.node.op_type == "If" and len(taken) == 2:
            for name, one, other in zip(call.node.output, taken[0].factors, taken[1].factors, strict=False):
                for a, b in zip(one, other, strict=False):
                    if (self._is_free(a) or self._is_free(b)) and a != b:
                        if dim_of(a) == dim_of(b):
                            return f"its branches give {name} the sizes of {dim_of(a)} in another order"
                        return f"its branches give {name} the sizes {dim_of(a)} and {dim_of(b)}"
        return ""

    def factors_of(self, node: NodeProto) -> dict[str, AxisFactors]:
        """The axis factors of the outputs of the node that was inferred last, from its bodies."""
        call = self._last
        if call is None or call.node is not node:
            return {}
        found: dict[str, AxisFactors] = {}
        for body in call.bodies.values():
            if body.placed is None:
                continue
            for name, axes in _outputs(self.walk, node, body):
                fact = self.walk.environment.values.get(name)
                if name in self.walk.factors and isinstance(fact, SymbolicTensor) and fact.shape is not None:
                    pairs = zip(fact.shape, axes, strict=False)
                    if len(fact.shape) == len(axes):
                        found[name] = tuple(held if dim_of(held) == dim else whole(dim) for dim, held in pairs)
        return found

    def with_edits(self, node: NodeProto) -> tuple[NodeProto, str]:
        """The node that was inferred last with the edits of its bodies, and the reasons; the node itself if none."""
        if node.op_type not in _WALKED or node.domain not in ("", "ai.onnx"):
            return node, ""
        call = self._last
        assert call is not None and call.node is node, "it was inferred last"
        changed = NodeProto()
        changed.CopyFrom(node)
        reasons: list[str] = []
        for (attribute, item), body in call.bodies.items():
            if body.placed is None:
                continue
            graph = subgraph_at(changed, Step(0, attribute, item))
            kept = [each.SerializeToString() for each in graph.node]
            edits = [p for p in body.placed if p.is_new or p.node.SerializeToString() != kept[p.before]]
            if not edits and not body.returned:
                continue
            reasons += [p.reason for p in edits if not p.is_new and p.reason] or ["it returns rows of the old size"]
            nodes = [placed.node for placed in body.placed]
            del graph.node[:]
            graph.node.extend(nodes)
            for at, name in body.returned.items():
                graph.output[at].name = name
        if not reasons:
            return node, ""
        return changed, f"nodes of its bodies: {'; '.join(dict.fromkeys(reasons))}"


def _unequal_numbers(call: _Call) -> str:
    """How an output is the number of a row in one branch alone; "" if none is."""
    taken = [body for body in call.bodies.values() if body.placed is not None]
    if call.node.op_type == "If" and len(taken) == 2:
        for name, one, other in zip(call.node.output, taken[0].numbers, taken[1].numbers, strict=False):
            if one.is_row != other.is_row:
                return f"one of its branches alone gives {name} numbers of rows"
    return ""


@dataclass(frozen=True)
class BodyOperands:
    """The inputs of a body at the first iteration.

    names    the operand of the node; "" if there is none
    factors  its axis factors; None if they are not known
    """

    names: list[str]
    factors: list[AxisFactors | None]


def _operands(walk: UnfreezingWalk, node: NodeProto, given: Sequence[str]) -> BodyOperands:
    names = [*node.input] if node.op_type == "Scan" else ["", "", *node.input[2:]] if node.op_type == "Loop" else []
    names = [*names, *([""] * (len(given) - len(names)))][: len(given)]
    factors = [walk.factors.get(name) if name else None for name in names]
    if node.op_type == "Scan":
        axes = _list(node, "scan_input_axes")
        states = len(names) - _scan_inputs(node)
        for at in range(states, len(names)):
            held = factors[at]
            if held is not None:
                axis = (axes[at - states] if axes else 0) % len(held)
                factors[at] = (*held[:axis], *held[axis + 1 :])
    return BodyOperands(names, factors)


def _outputs(walk: UnfreezingWalk, node: NodeProto, body: _EditedBody) -> Iterator[tuple[str, AxisFactors]]:
    """The outputs of a node with the axis factors that a body gives them."""
    if node.op_type == "If":
        yield from zip(node.output, body.factors, strict=False)
        return
    results = body.factors[1:] if node.op_type == "Loop" else body.factors
    states = len(node.input) - (2 if node.op_type == "Loop" else _scan_inputs(node))
    axes = _list(node, "scan_output_axes") if node.op_type == "Scan" else []
    for at, (name, held) in enumerate(zip(node.output, results, strict=False)):
        if at < states:
            yield name, held
            continue
        fact = walk.environment.values.get(name)
        axis = (axes[at - states] if axes else 0) % (len(held) + 1)
        if isinstance(fact, SymbolicTensor) and fact.shape is not None and len(fact.shape) == len(held) + 1:
            yield name, (*held[:axis], whole(fact.shape[axis]), *held[axis:])


def _states(node: NodeProto, graph: GraphProto, given: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The states of a loop: their positions among the outputs of the body, and their names before an iteration."""
    if node.op_type == "Loop":
        yield from enumerate(given[2:], 1)
    elif node.op_type == "Scan":
        yield from enumerate(given[: len(given) - _scan_inputs(node)])


def _scan_inputs(node: NodeProto) -> int:
    return next(int(a.i) for a in node.attribute if a.name == "num_scan_inputs")


def _list(node: NodeProto, attribute: str) -> list[int]:
    return next((list(a.ints) for a in node.attribute if a.name == attribute), [])


def _known(fact: SymbolicTensor) -> list[bool]:
    """Which elements are numbers, in each iteration."""
    return [] if fact.values is None else [isinstance(each, int) for each in fact.values.ravel().tolist()]


def _fits(axes: AxisFactors, fact: object) -> bool:
    shape = fact.shape if isinstance(fact, SymbolicTensor) else None
    return (
        shape is not None
        and len(shape) == len(axes)
        and all(dim_of(held) == dim for held, dim in zip(axes, shape, strict=True))
    )


def _is_dead_branch(walk: UnfreezingWalk, node: NodeProto, step: Step) -> bool:
    """Whether no run takes a branch: the condition of the If is the other constant."""
    if node.op_type != "If" or step.attribute is None:
        return False
    taken = scalar(walk.environment.values.get(node.input[0]))
    return isinstance(taken, bool) and taken is not (node.attribute[step.attribute].name == "then_branch")
