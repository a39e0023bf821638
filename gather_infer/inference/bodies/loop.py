"""Loop: trip count, induction over the states, final states and stacked outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.induction import induction, is_invariant
from gather_infer.inference.bodies.iteration import (
    final_state,
    iteration_symbol,
    leave_body,
    record_iterations,
    require_stackable,
    stacked,
    state_after_loop,
)
from gather_infer.inference.bodies.loop_carried import LoopCarriedProvenance, record_provenance
from gather_infer.inference.bodies.predicates import deciding_input, require_single, scalar
from gather_infer.inference.bodies.subgraph import (
    BodyLocation,
    body_location,
    body_of,
    inputs_of,
    interpret_body,
    local_symbols,
)
from gather_infer.inference.environment import Environment
from gather_infer.inference.provenance.extents import shared_extent
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
    interpreter: Interpreter,
    call: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    environment: Environment,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__Loop.html

    inputs    M (trip count, optional), cond (optional), n initial states
    body      (i, cond, n states) -> (cond, n states, k scan outputs)
    outputs   n final states, k scan outputs with the trip count as a new first dim
    """
    context, outputs = interpreter.context, len(call.output)
    body = body_of(attributes, "body")
    place = context.node
    at = body_location(place, call, "body")
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
    trip_limit = maximum(0, limit, scope=context.scope) if isinstance(limit, (int, Expr)) else None
    is_limit_known = trip_limit is not None or not inputs or inputs[0] is None
    start = scalar(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else True
    if not is_limit_known:
        trip_limit = shared_extent(
            call.input[0], 0, context.fresh(BY_DATA, stem="trips" if start is True else "limit"), environment
        )

    scope, created = context.scope, len(context.causes)
    iteration = iteration_symbol(context)
    begins = environment.sign_predicate(call.input[1])
    counted: Dim | None = None
    bodies: list[Environment] = []
    walks: list[list[Value]] = []
    made = [output.name for output in body.output[1 : 1 + n]]

    def run(state: list[Value]) -> list[Value]:
        context.scope = scope.child()  # facts found under another hypothesis may not hold under this one
        if trip_limit is not None and (is_limit_known or start is True):
            context.scope.add_fact(trip_limit - 1 - iteration)
        if isinstance(limit, Expr):
            context.scope.add_fact(limit - 1 - iteration)  # `trip_limit` may hide it in a max(0, M)
        span = ValueRange(0, None if trip_limit is None else trip_limit - 1)
        counter = SymbolicTensor(DType.INT64, (), make_values(iteration), span)
        results, inner = interpret_body(interpreter, body, [counter, TRUE, *state], at, environment, carried.bind)
        bodies.append(inner)
        walks.append(results)
        return results

    for _ in range(2):  # a second time when the condition turns out to bound the trip count
        mark = interpreter.checkpoint()
        walks.clear()
        carried = LoopCarriedProvenance.of(
            inputs_of(body)[2:], made, call.input[2:], states, iteration, context, environment
        )
        with context.preserved():  # the body may never run, so its facts must not bound the trip count
            state, results = induction(interpreter, states, iteration, run, slice(1, 1 + n), carried)
        goes_on = scalar(results[0])
        continues = bodies[-1].sign_predicate(body.output[0].name)
        counted = _counted_trips(start, begins, continues, iteration, context, trip_limit)
        if counted is None or counted == trip_limit:
            break
        interpreter.rollback(mark)
        trip_limit = counted

    trip_count: Dim
    is_counted = True
    if start is False:
        trip_count = 0
    elif counted is not None:
        trip_count = counted
    elif start is True and goes_on is False:
        trip_count = 1 if trip_limit is None else minimum(1, trip_limit, scope=scope)
    elif start is True and goes_on is True and trip_limit is not None:
        trip_count = trip_limit
    else:
        is_counted = False
        trip_count = context.fresh(BY_DATA, stem="trips")
        if trip_limit is not None and is_limit_known:
            scope.add_fact(trip_limit - trip_count)
        if start is True and (trip_limit is None or known_le(1, trip_limit, scope) is True):
            scope.add_fact(trip_count - 1)
    leave_body(
        interpreter,
        mark,
        known_le(1, trip_count, scope),
        _condition(at, place, call, start, -trip_count if is_counted and is_limit_known else None, environment),
    )
    interpreter.trail.add(Iterations(at.path, iteration.name, trip_count))
    record_iterations(interpreter, mark, iteration, trip_count if is_counted else None, trip_limit)
    local = local_symbols(context, created) - free_symbols(trip_count)
    left = [
        final_state(s, first, after, iteration, trip_count, scope)
        for s, first, after in zip(state, states, results[1 : 1 + n], strict=True)
    ]
    finals = [state_after_loop(s, iteration, trip_count, local, context) for s in left]
    require_stackable(walks[:2][-1][1 + n :], body.output[1 + n :], iteration, trip_count, context)
    record_provenance(carried.after(trip_count), call.output[:n], local, environment)
    stacks = zip(results[1 + n :], body.output[1 + n :], strict=True)
    scans = [stacked(v, declared, trip_count, 0, local, context) for v, declared in stacks]
    return [*finals, *scans]


def _condition(
    at: BodyLocation,
    place: NodePath,
    call: NodeProto,
    start: object,
    sign_predicate: Dim | None,
    environment: Environment,
) -> PathCondition:
    """The path condition of the body, which runs if M > 0 and the initial condition is true.

    start            the initial condition; None when unknown
    sign_predicate   a dim that is negative exactly when the body runs; None when unknown
    """
    limit, condition = call.input[0], call.input[1]
    if not limit and condition:
        begins = environment.sign_predicate(condition) if sign_predicate is None else sign_predicate
        return PathCondition(at.path, place, "body", begins, environment.input_predicate(condition))
    name = deciding_input(limit, environment) if limit and start is True else None
    return PathCondition(
        at.path, place, "body", sign_predicate, None if name is None else InputPredicate(name, ">=", 1)
    )


def _counted_trips(
    start: object, begins: Dim | None, continues: Dim | None, iteration: Expr, context: Context, upper_bound: Dim | None
) -> Dim | None:
    """The trip count of a loop whose condition compares a value that grows by the same amount in each iteration.

    start         the initial condition, None when unknown
    begins        sign predicate of the initial condition: negative exactly when it is true; None when unknown
    continues     sign predicate of the condition after iteration i; it must be `base + i*step` with step > 0
    upper_bound   the trip limit M, None when unknown or absent

    None when the condition is not of that form.
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
    return trips if upper_bound is None else minimum(trips, upper_bound)
