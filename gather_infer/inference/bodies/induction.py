"""Loop states as functions of the iteration, by induction.

A hypothesis gives every state as a function of the iteration number `i`. The interpreter infers the body under the
hypothesis, which is a fixed point when the body maps the state of `i` to the state of `i + 1`. A dim that grows by the
same amount in each iteration becomes `d + i*step`; a dim that changes otherwise becomes a fresh symbol without facts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeGuard

from gather_infer.context import Context
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.join import fresh_dim, join, project_out
from gather_infer.ops.onnx.sequence import DIFFERS
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq, known_le, substitute
from gather_infer.tensor import UNKNOWN, SequenceType, Shape, SymbolicTensor, Value, ValueRange, make_values
from gather_infer.value_ranges import explicit_range, needs_range

MAX_TRIALS: Final = 6
"""Maximal number of hypotheses for the states of one loop; then all states are widened to unknown shapes."""

MAX_CARRIED_TRIALS: Final = 5
"""Maximal number of further trials that only the carried facts need; then those facts are dropped."""

MAX_RETRIES: Final = 500
"""Maximal number of repeated trials of all loops in one iteration over the model; then all states are unknown.

A small model has a lower limit, `WorkBudget.retries`.
"""


class CarriedFacts(Protocol):
    """Facts about loop states besides their types, such as provenance, with a separate hypothesis."""

    def revise(self) -> bool:
        """Return True when the last trial confirmed the hypothesis; else replace it by a weaker one."""

    def restart(self) -> None:
        """Return to the first hypothesis, since the last trial refuted the hypothesis about the states."""

    def forget(self) -> None:
        """Drop the carried facts of all states."""


def induction(
    interpreter: InterpreterState,
    initial: list[Value],
    iteration: Expr,
    run: Callable[[list[Value]], list[Value]],
    next_states: slice,
    carried: CarriedFacts,
) -> tuple[list[Value], list[Value]]:
    """States as functions of the iteration number that the body confirms, and the facts of the body's outputs.

    initial       states before the loop
    iteration     symbol of the iteration number
    run           interprets the body with the given states and returns the facts of its outputs
    next_states   positions of the next states among the body's outputs
    carried       facts besides the states' types, which `run` also uses
    """
    context = interpreter.context
    changing: set[tuple[int, int]] = set()
    spans = [_range_before(first, context.scope) for first in initial]
    state = initial
    trials = waits = 0
    while trials < MAX_TRIALS:
        if interpreter.retries >= min(MAX_RETRIES, interpreter.budget.retries):
            state = [UNKNOWN for _ in initial]
            carried.forget()
            return state, run(state)
        mark = interpreter.checkpoint()
        results: list[Value] = run(state)
        revised = [
            _revise(first, now, after, iteration, context, changing, k, spans[k])
            for k, (first, now, after) in enumerate(zip(initial, state, results[next_states], strict=True))
        ]
        trials += 1
        if revised != state:
            carried.restart()
        elif carried.revise():
            return state, results
        else:
            trials, waits = trials - 1, waits + 1
            if waits == MAX_CARRIED_TRIALS:
                carried.forget()
        interpreter.rollback(mark)
        interpreter.retries += 1
        state = revised
    state = [SymbolicTensor(v.dtype) if isinstance(v, SymbolicTensor) else UNKNOWN for v in initial]
    carried.forget()
    results = run(state)
    after_all = zip(state, results[next_states], strict=True)
    if any(
        isinstance(a, SymbolicTensor) and a.dtype is not None and a.dtype != getattr(b, "dtype", None)
        for a, b in after_all
    ):
        state = [UNKNOWN for _ in state]
        results = run(state)
    return state, results


def _revise(
    first: Value,
    now: Value,
    after: Value,
    iteration: Expr,
    context: Context,
    changing: set[tuple[int, int]],
    number: int,
    before: ValueRange | None,
) -> Value:
    """The hypothesis `now` about a state if the body, which makes `after` of it, confirms it; else a weaker one.

    first     the state before the loop
    changing  dims widened to a symbol, as pairs of state number and axis; dims are added to it
    number    position of the state
    before    value range of `first`; None when unknown

    A dim or an element is assumed constant first, then linear in the iteration number. If it is not linear, the amount
    that the body adds in the linear trial depends on the iteration.
    """
    if isinstance(now, SequenceType) and isinstance(after, SequenceType):
        start = first.length if isinstance(first, SequenceType) else None
        length = _element(start, now.length, after.length, iteration, context)
        assert length is None or isinstance(length, (int, Expr)), "a length is a Dim"
        return SequenceType(_members(now, after, iteration, context), length)
    if not (
        isinstance(now, SymbolicTensor) and isinstance(after, SymbolicTensor) and isinstance(first, SymbolicTensor)
    ):
        return now if now == after or type(now) is type(after) else UNKNOWN
    step = {iteration.name: iteration + 1}
    dtype = now.dtype if now.dtype == after.dtype else None
    if now.shape is None or after.shape is None or first.shape is None or len(now.shape) != len(after.shape):
        return SymbolicTensor(dtype, value_range=_steady_range(before, now, after, iteration, context))

    def dim(axis: int, d: Dim, d_after: Dim) -> Dim:
        if known_eq(d_after, substitute(d, step), context.scope):
            return d
        assert first.shape is not None, "checked above"
        if (number, axis) in changing:
            return d  # an unconstrained symbol covers every size
        growth = d_after - d
        if is_invariant(growth, context, iteration):
            return first.shape[axis] + iteration * growth
        changing.add((number, axis))
        return context.fresh("it changes from iteration to iteration", stem="state")

    shape = tuple(dim(axis, *pair) for axis, pair in enumerate(zip(now.shape, after.shape, strict=True)))
    values = None
    if now.values is not None and first.values is not None and shape == first.shape:
        flat: list[object] = []
        new = [None] * now.values.size if after.values is None else list(after.values.flat)
        if len(new) != now.values.size:
            new = [None] * now.values.size
        for base, element, element_after in zip(first.values.flat, now.values.flat, new, strict=True):
            flat.append(_element(base, element, element_after, iteration, context))
        if any(e is not None for e in flat) or not flat:
            values = make_values(flat, now.values.shape)
    span = _steady_range(before, now, after, iteration, context) if needs_range(values) else None
    return SymbolicTensor(dtype, shape, values, span)


def _members(now: SequenceType, after: SequenceType, iteration: Expr, context: Context) -> Value | None:
    """Facts that hold for every member of the sequence, before the loop and after any iteration; None when unknown."""
    fresh = fresh_dim(context, DIFFERS)
    element = after.element
    if now.length != 0:  # else there is no member before the loop
        element = None if now.element is None or element is None else join(now.element, element, fresh)
    if element is None:
        return None
    element = project_out(element, _made_since(iteration, context), fresh)
    return now.element if now.length != 0 and _equal_up_to_symbols(element, now.element, context) else element


def _element(base: object, now: object, after: object, iteration: Expr, context: Context) -> object:
    """The next hypothesis about one element: constant, linear in the iteration number, or None for unknown.

    base    the element before the loop
    now     the present hypothesis
    after   the element after an iteration under this hypothesis
    """
    if not (_is_size(base) and _is_size(now) and _is_size(after)):
        return now if type(now) is type(after) and repr(now) == repr(after) else None
    if known_eq(after, substitute(now, {iteration.name: iteration + 1}), context.scope):
        return now
    growth = after - now
    return base + iteration * growth if is_invariant(growth, context, iteration) else None


def _is_size(element: object) -> TypeGuard[Dim]:
    """Whether an element is a known integer, as a Dim: False for bools, floats, quotients and unknown elements."""
    return isinstance(element, (int, Expr)) and not isinstance(element, bool)


def is_invariant(growth: Dim, context: Context, iteration: Expr) -> bool:
    """True when `growth` is loop-invariant: none of its symbols was generated since the loop began."""
    return _made_since(iteration, context).isdisjoint(free_symbols(growth))


def _made_since(iteration: Expr, context: Context) -> set[str]:
    """The names of the symbols generated since the loop began, including the iteration number."""
    made: set[str] = set()
    for name in reversed(context.causes):
        made.add(name)
        if name == iteration.name:
            break
    return made


def _range_before(first: Value, scope: Scope) -> ValueRange | None:
    """The value range of a state before the loop, without facts that the body adds, which hold only if it runs."""
    return explicit_range(first, scope) if isinstance(first, SymbolicTensor) else None


def _steady_range(
    before: ValueRange | None, now: SymbolicTensor, after: SymbolicTensor, iteration: Expr, context: Context
) -> ValueRange | None:
    """The bounds of a state that are loop-invariant and that the body preserves; None when there are none."""
    old, new = now.value_range if needs_range(now.values) else before, explicit_range(after, context.scope)
    if old is None or new is None:
        return None

    def steady(end: Dim | None) -> Dim | None:
        return end if end is not None and is_invariant(end, context, iteration) else None

    lo, hi = steady(old.lo), steady(old.hi)
    if lo is not None and (new.lo is None or known_le(lo, new.lo, context.scope) is not True):
        lo = None
    if hi is not None and (new.hi is None or known_le(new.hi, hi, context.scope) is not True):
        hi = None
    return None if lo is None and hi is None else ValueRange(lo, hi)


def _equal_up_to_symbols(a: Value, b: Value | None, context: Context) -> bool:
    """True when two member facts differ only in generated symbols for differing dims, so that a join adds nothing."""

    def blur(shape: Shape | None) -> object:
        return None if shape is None else tuple("?" if is_member_dim(d) else d for d in shape)

    def is_member_dim(dim: Dim) -> bool:
        return any(n in context.causes and context.causes[n].reason == DIFFERS for n in free_symbols(dim))

    return (
        isinstance(a, SymbolicTensor)
        and isinstance(b, SymbolicTensor)
        and a.dtype == b.dtype
        and blur(a.shape) == blur(b.shape)
    )
