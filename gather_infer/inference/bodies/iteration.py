"""Effects of all iterations of a loop: which iterations reach an access, final states and stacked outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from onnx import ValueInfoProto

from gather_infer.context import Context
from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.induction import is_invariant
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.join import fresh_dim, never_equal, project_out
from gather_infer.inference.result import Access, IterationRange
from gather_infer.ops.onnx.sequence import DIFFERS
from gather_infer.symbolic import (
    Dim,
    Expr,
    Scope,
    free_symbols,
    known_eq,
    known_le,
    maximum,
    substitute,
    symbol,
)
from gather_infer.tensor import SequenceType, Shape, SymbolicTensor, Value, ValueRange, format_shape, make_values
from gather_infer.trail import Checkpoint, PathCondition
from gather_infer.value_ranges import explicit_range, hull, needs_range, range_of


def iteration_symbol(context: Context) -> Expr:
    """The symbol of the iteration number. It starts at 0, so it may not be assumed to be >= 1."""
    iteration = context.fresh("the number of an iteration", stem="iteration")
    context.zero_dims |= {iteration.name}
    return iteration


def leave_body(
    interpreter: InterpreterState, checkpoint: Checkpoint, runs: bool | None, condition: PathCondition
) -> None:
    """Make constraints recorded since `checkpoint` conditional on the loop body, and record its path condition.

    runs   whether the body runs at least once; if True, the constraints stay unconditional; None when unknown
    """
    if runs is True:
        interpreter.conditions.pop(condition.body, None)
        return
    where = interpreter.context.scope.child()
    if condition.sign_predicate is not None:
        where.add_fact(-condition.sign_predicate - 1)
    interpreter.drop_conditional(checkpoint, is_dead=runs is False, where=where)
    interpreter.conditions[condition.body] = condition


def record_iterations(
    interpreter: InterpreterState,
    checkpoint: Checkpoint,
    iteration: Expr,
    trip_count: Dim | None,
    upper_bound: Dim | None,
) -> None:
    """Record the iterations of a loop in each access of its body; these are the accesses since `checkpoint`.

    iteration     symbol of the iteration number
    trip_count    number of iterations; None when unknown
    upper_bound   upper bound of the trip count; None when unknown
    """

    def in_iterations(access: Access) -> Access:
        evidence = access.facts_before
        assert evidence is not None, "accesses have their facts during a pass"
        # the trip count of a nested loop is the same each time only if no symbol in it was made in this loop
        around = all(is_invariant(sweep.end, interpreter.context, iteration) for sweep in evidence.iterations)
        is_all = trip_count is not None and evidence.is_always_reached and around
        end = upper_bound if trip_count is None else trip_count
        found = (
            evidence.iterations if end is None else (*evidence.iterations, IterationRange(iteration.name, end, is_all))
        )
        return replace(access, facts_before=replace(evidence, iterations=found, is_always_reached=is_all))

    interpreter.trail.revise_since(checkpoint, Access, in_iterations)


def record_branch(interpreter: InterpreterState, checkpoint: Checkpoint) -> None:
    """Record that some runs may skip the accesses since `checkpoint`, which are in a branch."""
    interpreter.trail.revise_since(checkpoint, Access, _not_always)


def _not_always(access: Access) -> Access:
    assert access.facts_before is not None, "accesses have their facts during a pass"
    return replace(access, facts_before=replace(access.facts_before, is_always_reached=False))


def final_state(state: Value, first: Value, after: Value, iteration: Expr, trip_count: Dim, scope: Scope) -> Value:
    """The facts `state` with unknown elements and bounds completed from the result of an iteration, as for a counter.

    state   facts before each iteration, as functions of the iteration number, that also hold after the last one
    first   the state before the loop
    after   the state that one iteration returns
    """
    if not (isinstance(state, SymbolicTensor) and isinstance(after, SymbolicTensor)) or state.dtype is not after.dtype:
        return state
    if state.dtype is None or not state.dtype.is_integer or not isinstance(first, SymbolicTensor):
        return state
    runs = known_le(1, trip_count, scope) is True

    def before(element: Dim, start: object) -> Dim | None:
        """`element`, returned by iteration i, rewritten as a state before iteration i; `start` before iteration 0.

        None when no such expression is found.
        """
        if not is_linear(element, iteration.name):
            return None
        found = substitute(element, {iteration.name: iteration - 1})
        if runs or not isinstance(start, (int, Expr)):
            return found if runs else None
        if known_eq(substitute(found, {iteration.name: 0}), start, scope):
            return found
        if known_eq(substitute(element, {iteration.name: 0}), start, scope):
            return substitute(element, {iteration.name: maximum(iteration - 1, 0)})
        return None

    values = state.values
    if after.values is not None and state.shape == after.values.shape:
        count = after.values.size
        old = [None] * count if values is None else list(values.flat)
        starts = [None] * count if first.values is None else list(first.values.flat)
        if len(old) == len(starts) == count:
            elements = [
                before(a, s) if o is None and isinstance(a, (int, Expr)) else o
                for o, a, s in zip(old, after.values.flat, starts, strict=True)
            ]
            if any(e is not None for e in elements):
                values = make_values(elements, after.values.shape)
    span = ValueRange() if state.value_range is None else state.value_range
    if values is None and (span.lo is None or span.hi is None):
        ends = range_of(after, scope)
        step = {iteration.name: iteration - 1}
        shifted = (
            None if end is None or not is_linear(end, iteration.name) else substitute(end, step)
            for end in (ends.lo, ends.hi)
        )
        found = ValueRange(*shifted) if runs else hull(ValueRange(*shifted), range_of(first, scope), scope=scope)
        span = ValueRange(found.lo if span.lo is None else span.lo, found.hi if span.hi is None else span.hi)
    return SymbolicTensor(state.dtype, state.shape, values, None if span == ValueRange() else span)


def is_linear(dim: Dim, name: str) -> bool:
    """True when a dim changes by the same amount each time the symbol `name` grows by 1."""
    return name not in free_symbols(substitute(dim, {name: symbol(name) + 1}) - dim)


def state_after_loop(state: Value, iteration: Expr, trip_count: Dim, local: set[str], context: Context) -> Value:
    """A state after the last iteration: `state` at iteration number `trip_count`, without symbols in `local`."""
    if isinstance(state, SymbolicTensor):
        at = {iteration.name: trip_count}
        shape = None if state.shape is None else tuple(substitute(d, at) for d in state.shape)
        values = state.values
        if values is not None:
            values = make_values([substitute(v, at) if isinstance(v, Expr) else v for v in values.flat], values.shape)
        span = state.value_range if needs_range(values) else None
        if span is not None:
            span = ValueRange(*(None if end is None else substitute(end, at) for end in (span.lo, span.hi)))
        state = SymbolicTensor(state.dtype, shape, values, span)
    elif isinstance(state, SequenceType) and state.length is not None:
        state = SequenceType(state.element, substitute(state.length, {iteration.name: trip_count}))
    changes = "a loop changes it by amounts that are not known"
    return project_out(state, local, fresh_dim(context, DIFFERS if isinstance(state, SequenceType) else changes))


def require_stackable(
    results: Sequence[Value], declared: Sequence[ValueInfoProto], iteration: Expr, trip_count: Dim, context: Context
) -> None:
    """Report scan outputs whose shape changes from the first iteration to the second: they cannot be stacked.

    results   scan outputs of the body, as functions of the iteration number that hold for the first two iterations: by
              the second hypothesis of the induction, or the first if it was confirmed

    The finding is an error when the body always runs at least twice, else a warning.
    """
    runs_twice = known_le(2, trip_count, context.scope)
    if runs_twice is False:
        return
    for value, output in zip(results, declared, strict=True):
        if not isinstance(value, SymbolicTensor) or value.shape is None:
            continue
        first, second = (tuple(substitute(d, {iteration.name: i}) for d in value.shape) for i in (0, 1))
        if not differs(first, second, context.scope):
            continue
        shapes = f"{format_shape(first)} in the first iteration, {format_shape(second)} in the second"
        _report(context, runs_twice, "runs twice", f"scan output {output.name} is {shapes}: they cannot be stacked")


def require_same_state(before: Value, after: Value, name: str, trip_count: Dim, context: Context) -> None:
    """Report a Scan state whose shape an iteration changes: runtimes allocate it before the Scan runs.

    The finding is an error when the body always runs, or when ranks or numeric dims differ, which loaders compare.
    """
    if not (isinstance(before, SymbolicTensor) and isinstance(after, SymbolicTensor)):
        return
    if before.shape is None or after.shape is None or not differs(before.shape, after.shape, context.scope):
        return
    is_compared = len(before.shape) != len(after.shape) or differs(*_numbers_of(before.shape, after.shape), Scope())
    message = f"state {name} is {format_shape(before.shape)} before an iteration, {format_shape(after.shape)} after it"
    _report(context, is_compared or known_le(1, trip_count, context.scope), "runs", message)


def differs(a: Shape, b: Shape, scope: Scope) -> bool:
    """Whether two shapes are known to differ in every run."""
    return len(a) != len(b) or any(never_equal(x, y, scope) for x, y in zip(a, b, strict=True))


def _numbers_of(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """The dims of both shapes at the axes where both are numbers."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if isinstance(x, int) and isinstance(y, int)]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def _report(context: Context, is_certain: bool | None, when: str, message: str) -> None:
    """Report an error if `is_certain`, since every run that reaches the node fails; else a warning.

    when   how often the body must run for the failure: `runs`, `runs twice`
    """
    if is_certain:
        context.report("GI212", message, (), None)
    else:
        context.report("GI212", f"fails where the body {when}: {message}", (), Severity.WARNING)


def stacked(
    value: Value, declared: ValueInfoProto, trip_count: Dim, axis: int, local: set[str], context: Context
) -> Value:
    """The scan output `value` of all iterations, stacked along a new `axis` of length `trip_count`.

    With no iterations, only dims that the body declares as numbers are specified. The other dims are therefore kept
    under the assumption of at least one iteration.
    """
    if not isinstance(value, SymbolicTensor):
        raise SpecViolation(f"a scan output must be a tensor, is {value}", "GI110")
    member = value.with_(values=None, value_range=explicit_range(value, context.scope))
    outside = project_out(member, local, fresh_dim(context, "a body computes it from data"))
    assert isinstance(outside, SymbolicTensor), "a tensor stays one when local symbols are projected out"
    if outside.value_range == ValueRange():
        outside = outside.with_(value_range=None)
    if outside.shape is None:
        return SymbolicTensor(outside.dtype, value_range=outside.value_range)
    shape: Shape = outside.shape
    stated = [d.dim_value if d.HasField("dim_value") else None for d in declared.type.tensor_type.shape.dim]
    if stated != list(shape) and not context.assume(trip_count, 1, "without an iteration its dims are open"):
        is_stated = [known == d for known, d in zip_longest(stated[: len(shape)], shape)]
        shape = tuple(
            d if sure else context.fresh("the body may never run") for d, sure in zip(shape, is_stated, strict=True)
        )
    rank = len(shape) + 1
    if not -rank <= axis < rank:
        raise SpecViolation(f"scan axis {axis} is outside [{-rank}, {rank - 1}]", "GI304")
    axis %= rank
    return SymbolicTensor(outside.dtype, (*shape[:axis], trip_count, *shape[axis:]), value_range=outside.value_range)
