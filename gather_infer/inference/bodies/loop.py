"""Loop: trip count, induction over the states, final states and stacked outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.carried import Carried, note_traces
from gather_infer.inference.bodies.induction import induction, is_invariant
from gather_infer.inference.bodies.iteration import (
    after_last,
    iteration_symbol,
    leave,
    left_behind,
    note_iterations,
    require_steady,
    stacked,
)
from gather_infer.inference.bodies.predicates import deciding_input, require_single, scalar
from gather_infer.inference.bodies.subgraph import Inside, body_of, inputs_of, inside, local_symbols, walk_body
from gather_infer.inference.environment import Environment
from gather_infer.inference.lineage.extents import note_extent
from gather_infer.node_ids import NodePath
from gather_infer.rules import Attribute
from gather_infer.symbolic import (
    Dim,
    Expr,
    ceildiv,
    free_symbols,
    known_eq,
    known_le,
    maximum,
    minimum,
    substitute,
)
from gather_infer.tensor import UNKNOWN, DType, SymbolicTensor, Value, ValueRange, make_values
from gather_infer.trail import InputPredicate, Iterations, PathCondition

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter

BY_DATA: Final = "the number of iterations depends on data"
TRUE: Final = SymbolicTensor(DType.BOOL, (), make_values(True))


def loop(
    walker: Interpreter,
    call: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    frame: Environment,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__Loop.html

    inputs    M (trip count, optional), cond (optional), n initial states
    body      (i, cond, n states) -> (cond, n states, k scan outputs)
    outputs   n final states, k scan outputs with the trip count as a new first dim
    """
    context, outputs = walker.context, len(call.output)
    body = body_of(attributes, "body")
    place = context.node
    at = inside(place, call, "body")
    states = [UNKNOWN if v is None else v for v in inputs[2:]]
    n = len(states)
    taken = len(inputs_of(body))
    if taken != n + 2:
        raise SpecViolation(f"the body must have {n + 2} inputs (i, cond, {n} states), has {taken}", "GI110")
    if len(body.output) != outputs + 1 or outputs < n:
        raise SpecViolation(
            f"the body must have {outputs + 1} outputs (cond and {outputs}), has {len(body.output)}", "GI110"
        )

    for name, value in zip(("M", "cond"), inputs, strict=False):
        require_single(value, name, context)
    limit = scalar(inputs[0]) if inputs else None
    most = maximum(0, limit, scope=context.scope) if isinstance(limit, (int, Expr)) else None
    is_limit_known = most is not None or not inputs or inputs[0] is None
    start = scalar(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else True
    if not is_limit_known:
        most = note_extent(call.input[0], 0, context.fresh(BY_DATA, stem="trips" if start is True else "limit"), frame)

    scope, created = context.scope, len(context.causes)
    iteration = iteration_symbol(context)
    begins = frame.sign_predicate(call.input[1])
    counted: Dim | None = None
    bodies: list[Environment] = []
    walks: list[list[Value]] = []
    made = [output.name for output in body.output[1 : 1 + n]]

    def run(state: list[Value]) -> list[Value]:
        context.scope = scope.child()  # facts found under another hypothesis may not hold under this one
        if most is not None and (is_limit_known or start is True):
            context.scope.require(most - 1 - iteration)
        if isinstance(limit, Expr):
            context.scope.require(limit - 1 - iteration)  # `trip_limit` may hide it in a max(0, M)
        span = ValueRange(0, None if most is None else most - 1)
        counter = SymbolicTensor(DType.INT64, (), make_values(iteration), span)
        results, inner = walk_body(walker, body, [counter, TRUE, *state], at, frame, carried.bind)
        bodies.append(inner)
        walks.append(results)
        return results

    for _ in range(2):  # a second time when the condition turns out to bound the trip count
        mark = walker.checkpoint()
        walks.clear()
        carried = Carried.of(inputs_of(body)[2:], made, call.input[2:], states, iteration, context, frame)
        with context.preserved():  # the body may never run, so its facts must not bound the trip count
            state, results = induction(walker, states, iteration, run, slice(1, 1 + n), carried)
        goes_on = scalar(results[0])
        continues = bodies[-1].sign_predicate(body.output[0].name)
        counted = _counted(start, begins, continues, iteration, context, most)
        if counted is None or counted == most:
            break
        walker.rollback(mark)
        most = counted

    trips: Dim
    is_counted = True
    if start is False:
        trips = 0
    elif counted is not None:
        trips = counted
    elif start is True and goes_on is False:
        trips = 1 if most is None else minimum(1, most, scope=scope)
    elif start is True and goes_on is True and most is not None:
        trips = most
    else:
        is_counted = False
        trips = context.fresh(BY_DATA, stem="trips")
        if most is not None and is_limit_known:
            scope.require(most - trips)
        if start is True and (most is None or known_le(1, most, scope) is True):
            scope.require(trips - 1)
    leave(
        walker,
        mark,
        known_le(1, trips, scope),
        _condition(at, place, call, start, -trips if is_counted and is_limit_known else None, frame),
    )
    walker.trail.add(Iterations(at.path, iteration.name, trips))
    note_iterations(walker, mark, iteration, trips if is_counted else None, most)
    local = local_symbols(context, created) - free_symbols(trips)
    left = [
        left_behind(s, first, after, iteration, trips, scope)
        for s, first, after in zip(state, states, results[1 : 1 + n], strict=True)
    ]
    finals = [after_last(s, iteration, trips, local, context) for s in left]
    require_steady(walks[:2][-1][1 + n :], body.output[1 + n :], iteration, trips, context)
    note_traces(carried.after(trips), call.output[:n], local, frame)
    stacks = zip(results[1 + n :], body.output[1 + n :], strict=True)
    scans = [stacked(v, declared, trips, 0, local, context) for v, declared in stacks]
    return [*finals, *scans]


def _condition(
    at: Inside, place: NodePath, call: NodeProto, start: object, negative: Dim | None, frame: Environment
) -> PathCondition:
    """The path condition of the body: M is not 0, and the initial condition holds."""
    limit, condition = call.input[0], call.input[1]
    if not limit and condition:
        begins = frame.sign_predicate(condition) if negative is None else negative
        return PathCondition(at.path, place, "body", begins, frame.input_predicate(condition))
    name = deciding_input(limit, frame) if limit and start is True else None
    return PathCondition(at.path, place, "body", negative, None if name is None else InputPredicate(name, ">=", 1))


def _counted(
    start: object, begins: Dim | None, continues: Dim | None, iteration: Expr, context: Context, most: Dim | None
) -> Dim | None:
    """The trip count of a loop whose condition compares a value that grows by the same amount in each iteration.

    start         the initial condition, None when it is not known
    begins        the initial condition as a predicate: true exactly when this dim is negative
    continues     the condition after iteration `i` as a predicate: `base + i*step` with step > 0 is negative
    upper_bound   the trip limit M, None when there is none
    """
    if continues is None:
        return None
    step = substitute(continues, {iteration.name: iteration + 1}) - continues
    if not isinstance(step, int) or step <= 0:
        return None
    base = substitute(continues, {iteration.name: 0})
    if not is_invariant(base, context, iteration):
        return None
    if start is True:
        # iteration 0 runs, and each i >= 1 while base + (i - 1)*step < 0
        trips = 1 + maximum(0, ceildiv(-base, step), scope=context.scope)
    elif begins is not None and known_eq(begins, base - step, context.scope):
        # the same comparison before the loop: iteration i runs while base + (i - 1)*step < 0
        trips = maximum(0, ceildiv(step - base, step), scope=context.scope)
    else:
        return None
    return trips if most is None else minimum(trips, most)
