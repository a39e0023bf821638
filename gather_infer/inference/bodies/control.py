"""If, Loop and Scan: their bodies walked, and what is known of them outside. Loops are inferred by `induction`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from onnx import NodeProto, ValueInfoProto

from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.induction import induction, is_invariant
from gather_infer.inference.bodies.iteration import left_behind, note_branch, note_iterations
from gather_infer.inference.bodies.predicates import assumed, either, scalar
from gather_infer.inference.bodies.sequence_map import sequence_map
from gather_infer.inference.bodies.subgraph import body_of, inputs_of, inside, local_symbols, walk_body
from gather_infer.inference.frame import MAX_DEPTH, Frame
from gather_infer.inference.join import escape, fresh_dim, join
from gather_infer.ops.onnx.sequence import DIFFERS
from gather_infer.record import Assumption
from gather_infer.rules import Attribute, Context
from gather_infer.symbolic import Dim, Expr, ceildiv, free_symbols, known_eq, known_le, maximum, minimum, substitute
from gather_infer.tensor import UNKNOWN, DType, SequenceType, Shape, Span, SymbolicTensor, Value, make_values

if TYPE_CHECKING:
    from gather_infer.inference.walk import Walker
    from gather_infer.record import Mark

TRUE: Final = SymbolicTensor(DType.BOOL, (), make_values(True))


def infer(
    walker: Walker,
    node: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    frame: Frame,
) -> Sequence[Value | None]:
    """The facts of a control-flow node's outputs. Raises SpecViolation when its bodies do not fit it."""
    if frame.depth >= MAX_DEPTH:
        raise SpecViolation(f"subgraphs and calls nest deeper than {MAX_DEPTH}", "GI108")
    with walker.context.kept():
        match node.op_type:
            case "If":
                return _if(walker, node, attributes, inputs, frame)
            case "Loop":
                return _loop(walker, node, attributes, inputs, frame)
            case "SequenceMap":
                mark = walker.mark()
                found = sequence_map(walker, node, body_of(attributes, "body"), inputs, frame)
                note_branch(walker, mark)  # it may be given a sequence without members
                return found
            case _:
                return _scan(walker, node, attributes, inputs, frame)


# If


def _if(
    walker: Walker,
    call: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    frame: Frame,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__If.html: the branch that is taken, or what holds in both."""
    context, place, outputs = walker.context, walker.context.node, len(call.output)
    if not inputs or inputs[0] is None:
        raise SpecViolation("input cond is missing", "GI107")
    taken = scalar(inputs[0])
    negative = frame.comparison(call.input[0])
    scope, created = context.scope, len(context.causes)
    results: dict[bool, list[Value]] = {}
    for branch, name in ((True, "then_branch"), (False, "else_branch")):
        body = body_of(attributes, name)
        if len(body.output) != outputs:
            raise SpecViolation(f"{name} must have {outputs} outputs, has {len(body.output)}", "GI110")
        given = inputs_of(body)
        if given:
            raise SpecViolation(f"{name} must have no inputs, has {len(given)}", "GI110")
        mark = walker.mark()
        with context.kept():
            # a branch that always runs is on the unconditional path
            context.scope = scope if taken is branch else scope.child()
            if negative is not None and not isinstance(taken, bool):
                context.scope.require(-negative - 1 if branch else negative)
            results[branch], _ = walk_body(walker, body, (), inside(place, call, name), frame)
        if taken is not branch:
            walker.forget_conditional(mark, is_dead=isinstance(taken, bool))
            note_branch(walker, mark)
    if isinstance(taken, bool):
        return results[taken]
    differ = "the branches of the If give it different sizes"
    pairs = list(zip(results[True], results[False], strict=True))
    if negative is not None:
        if any(_ranks_differ(*pair) for pair in pairs) and (held := assumed(negative, context)) is not None:
            return results[held]
        local = local_symbols(context, created)
        pairs = [either(negative, a, b, local, context) for a, b in pairs]
    return [join(a, b, fresh_dim(context, DIFFERS if isinstance(a, SequenceType) else differ)) for a, b in pairs]


def _ranks_differ(a: Value, b: Value) -> bool:
    return isinstance(a, SymbolicTensor) and isinstance(b, SymbolicTensor) and a.rank != b.rank


# Loop


def _loop(
    walker: Walker,
    call: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    frame: Frame,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__Loop.html

    inputs    M (trip count, optional), cond (optional), n initial states
    body      (i, cond, n states) -> (cond, n states, k scan outputs)
    outputs   n final states, k scan outputs with the trip count as a new first dim
    """
    context, outputs = walker.context, len(call.output)
    body = body_of(attributes, "body")
    at = inside(context.node, call, "body")
    states = [UNKNOWN if v is None else v for v in inputs[2:]]
    n = len(states)
    taken = len(inputs_of(body))
    if taken != n + 2:
        raise SpecViolation(f"the body must have {n + 2} inputs (i, cond, {n} states), has {taken}", "GI110")
    if len(body.output) != outputs + 1 or outputs < n:
        raise SpecViolation(
            f"the body must have {outputs + 1} outputs (cond and {outputs}), has {len(body.output)}", "GI110"
        )

    limit = scalar(inputs[0]) if inputs else None
    most = maximum(0, limit, scope=context.scope) if isinstance(limit, (int, Expr)) else None
    # where M is given and not known, the loop may end before its condition says so
    is_limit_known = most is not None or not inputs or inputs[0] is None
    start = scalar(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else True

    scope, created = context.scope, len(context.causes)
    iteration = _iteration(context)
    begins = frame.comparison(call.input[1]) if len(call.input) > 1 else None
    counted: Dim | None = None
    bodies: list[Frame] = []

    def run(state: list[Value]) -> list[Value]:
        context.scope = scope.child()  # what was learnt under another hypothesis does not hold under this one
        if most is not None:
            context.scope.require(most - 1 - iteration)
        if isinstance(limit, Expr):
            context.scope.require(limit - 1 - iteration)  # `most` may hide it in a max(0, M)
        span = Span(0, None if most is None else most - 1)
        counter = SymbolicTensor(DType.INT64, (), make_values(iteration), span)
        results, inner = walk_body(walker, body, [counter, TRUE, *state], at, frame)
        bodies.append(inner)
        return results

    for _ in range(2):  # again when the condition turned out to count the iterations
        mark = walker.mark()
        with context.kept():  # the body may never run, so its facts say nothing of how often it does
            state, results = induction(walker, states, iteration, run, slice(1, 1 + n))
        goes_on = scalar(results[0])
        continues = bodies[-1].comparison(body.output[0].name)
        counted = _counted(start, begins, continues, iteration, context, most)
        if counted is None or counted == most:
            break
        walker.rollback(mark)
        most = counted

    trips: Dim
    is_counted = True
    if start is False:
        trips = 0
    elif counted is not None and is_limit_known:
        trips = counted
    elif start is True and goes_on is False and is_limit_known:
        trips = 1 if most is None else minimum(1, most, scope=scope)
    elif start is True and goes_on is True and is_limit_known and most is not None:
        trips = most
    else:
        is_counted = False
        trips = context.fresh("the number of iterations depends on data", stem="trips")
        if most is not None:
            scope.require(most - trips)
    _leave(walker, mark, trips)
    note_iterations(walker, mark, iteration, trips if is_counted else None)
    local = local_symbols(context, created) - free_symbols(trips)
    left = [
        left_behind(s, first, after, iteration, trips, scope)
        for s, first, after in zip(state, states, results[1 : 1 + n], strict=True)
    ]
    finals = [_after(s, iteration, trips, local, context) for s in left]
    stacked = zip(results[1 + n :], body.output[1 + n :], strict=True)
    scans = [_stacked(v, declared, trips, 0, local, context) for v, declared in stacked]
    return [*finals, *scans]


def _iteration(context: Context) -> Expr:
    """The symbol of an iteration's number, which nobody may assume to be >= 1: it starts at 0."""
    iteration = context.fresh("the number of an iteration", stem="iteration")
    context.zero_dims |= {iteration.name}
    return iteration


def _leave(walker: Walker, mark: Mark, trips: Dim) -> None:
    """Forget what holds only if the body runs, unless it surely does."""
    runs = known_le(1, trips, walker.context.scope)
    if runs is not True:
        walker.forget_conditional(mark, is_dead=runs is False)


def _counted(
    start: object, begins: Dim | None, continues: Dim | None, iteration: Expr, context: Context, most: Dim | None
) -> Dim | None:
    """The trip count of a loop whose condition compares something that grows by the same amount each time.

    start      the initial condition, None when it is not known
    begins     it is true exactly when this dim is negative
    continues  the loop goes on after iteration `i` exactly when this dim, `base + i*step` with step > 0, is negative
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
        # the same question before the loop: iteration i runs while base + (i - 1)*step < 0
        trips = maximum(0, ceildiv(step - base, step), scope=context.scope)
    else:
        return None
    return trips if most is None else minimum(trips, most, scope=context.scope)


def _after(state: Value, iteration: Expr, trips: Dim, local: set[str], context: Context) -> Value:
    """A state after the last iteration: the hypothesis at `i = trips`."""
    if isinstance(state, SymbolicTensor):
        at = {iteration.name: trips}
        shape = None if state.shape is None else tuple(substitute(d, at) for d in state.shape)
        values = state.values
        if values is not None:
            values = make_values([substitute(v, at) if isinstance(v, Expr) else v for v in values.flat], values.shape)
        span = state.span
        if span is not None:
            span = Span(*(None if end is None else substitute(end, at) for end in (span.lo, span.hi)))
        state = SymbolicTensor(state.dtype, shape, values, span)
    elif isinstance(state, SequenceType) and state.length is not None:
        state = SequenceType(state.element, substitute(state.length, {iteration.name: trips}))
    changes = "a loop changes it by amounts that are not known"
    return escape(state, local, fresh_dim(context, DIFFERS if isinstance(state, SequenceType) else changes))


def _stacked(value: Value, declared: ValueInfoProto, trips: Dim, axis: int, local: set[str], context: Context) -> Value:
    """What `trips` iterations of `value` are when they are stacked on a new `axis`.

    Without an iteration nobody says what the other dims are, so one that the body does not declare as a number rests on
    there being one.
    """
    if not isinstance(value, SymbolicTensor):
        raise SpecViolation(f"a scan output must be a tensor, is {value}", "GI110")
    outside = escape(value.with_(values=None), local, fresh_dim(context, "a body computes it from data"))
    assert isinstance(outside, SymbolicTensor), "escape keeps the kind of a value"
    if outside.shape is None:
        return SymbolicTensor(outside.dtype, span=outside.span)
    shape: Shape = outside.shape
    stated = [d.dim_value if d.HasField("dim_value") else None for d in declared.type.tensor_type.shape.dim]
    if stated != list(shape) and not context.assume(trips, 1, "without an iteration its dims are open"):
        is_stated = [known == d for known, d in zip_longest(stated[: len(shape)], shape)]
        shape = tuple(
            d if sure else context.fresh("the body may never run") for d, sure in zip(shape, is_stated, strict=True)
        )
    rank = len(shape) + 1
    if not -rank <= axis < rank:
        raise SpecViolation(f"scan axis {axis} is outside [{-rank}, {rank - 1}]", "GI304")
    axis %= rank
    return SymbolicTensor(outside.dtype, (*shape[:axis], trips, *shape[axis:]), span=outside.span)


# Scan


def _scan(
    walker: Walker,
    node: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    frame: Frame,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__Scan.html (8 has a batch dim and sequence_lens, 9 adds the axes)

    inputs    n initial states, m scan inputs, each cut along its scan axis (length T, the same for all)
    body      (n states, m slices) -> (n states, k slices)
    outputs   n final states, k scan outputs with T as a new dim on their axis

    The outputs of the body must have the same shapes in each iteration, so those of the first one tell them all.
    """
    context = walker.context
    body = body_of(attributes, "body")
    at = inside(context.node, node, "body")
    batched = frame.opsets.version_of("") < 9
    given = [UNKNOWN if v is None else v for v in (inputs[1:] if batched else inputs)]
    m = _int(attributes, "num_scan_inputs", 0)
    n = len(given) - m
    k = len(node.output) - n
    if m < 1 or n < 0 or k < 0:
        raise SpecViolation(f"num_scan_inputs must be in [1, {len(given)}], is {m}", "GI110")
    taken = len(inputs_of(body))
    if taken != n + m or len(body.output) != n + k:
        found = f"{taken} inputs and {len(body.output)} outputs"
        raise SpecViolation(f"the body must have {n + m} inputs and {n + k} outputs, has {found}", "GI110")
    in_axes = _ints(attributes, "scan_input_axes", m)
    out_axes = _ints(attributes, "scan_output_axes", k)

    scope, created = context.scope, len(context.causes)
    states, slices, batch, trips = _scan_operands(given, n, [0] * m if batched else in_axes, batched, context)
    if trips is None:
        trips = context.fresh("the length of the scan inputs is not known", stem="trips")

    iteration = _iteration(context)
    mark = walker.mark()
    first: list[Value] = []  # what the body makes of the initial states
    believed: list[Assumption] = []

    def run(state: list[Value]) -> list[Value]:
        context.scope = scope.child()
        context.scope.require(trips - 1 - iteration)
        results = walk_body(walker, body, [*state, *slices], at, frame)[0]
        if state is states:
            first[:] = results
            believed[:] = context.assumptions
        return results

    with context.kept():
        state, results = induction(walker, states, iteration, run, slice(0, n))
    _leave(walker, mark, trips)
    note_iterations(walker, mark, iteration, trips)
    local = local_symbols(context, created) - free_symbols(trips)
    told = [_as_at_first(s, f, local) for s, f in zip(results, first, strict=True)] if first else results
    if told != results:
        for assumption in believed:
            context.record.assume(assumption)
    results = told
    finals: list[Value] = []
    for s, after in zip(state, results, strict=False):
        if _is_open(s, local) and context.assume(trips, 1, "without an iteration the state is the initial one"):
            finals.append(escape(after, local, fresh_dim(context, "a body computes it from data")))
        else:
            finals.append(_after(s, iteration, trips, local, context))
    axes = [0] * k if batched else out_axes
    stacked = zip(results[n:], body.output[n:], axes, strict=True)
    scans: list[Value] = [_stacked(v, declared, trips, a, local, context) for v, declared, a in stacked]
    outputs = [*finals, *scans]
    return [_with_batch(v, batch, context) for v in outputs] if batched else outputs


def _scan_operands(
    given: Sequence[Value], count: int, axes: Sequence[int], batched: bool, context: Context
) -> tuple[list[Value], list[Value], Dim | None, Dim | None]:
    """The states and the slices that one iteration sees, the batch dim and the number of iterations, as far as known.

    given   `count` states, then what is cut along `axes`; with `batched` each has a batch dim first
    """
    batch: Dim | None = None
    trips: Dim | None = None
    slices: list[Value] = []
    states: list[Value] = []
    for position, value in enumerate(given):
        if not isinstance(value, SymbolicTensor):
            raise SpecViolation(f"input {position} must be a tensor, is {value}", "GI211")
        shape = value.shape
        if batched and shape is not None:
            if not shape:
                raise SpecViolation(f"input {position} must have a batch dim, is a scalar", "GI305")
            batch = shape[0] if batch is None else context.require_equal(batch, shape[0], "the batch dims")
            shape = shape[1:]
        if position < count:
            states.append(value if shape is value.shape else SymbolicTensor(value.dtype, shape, span=value.span))
            continue
        if shape is None:
            slices.append(SymbolicTensor(value.dtype, span=value.span))
            continue
        axis = axes[position - count]
        if not -len(shape) <= axis < len(shape):
            raise SpecViolation(
                f"scan input axis {axis} is outside [{-len(shape)}, {len(shape) - 1}], the input has rank {len(shape)}",
                "GI304",
            )
        axis %= len(shape)
        length = shape[axis]
        trips = length if trips is None else context.require_equal(trips, length, "the lengths of the scan inputs")
        slices.append(SymbolicTensor(value.dtype, (*shape[:axis], *shape[axis + 1 :]), span=value.span))
    return states, slices, batch, trips


def _is_open(state: Value, local: set[str]) -> bool:
    """True for a tensor whose rank or some dim nobody can tell outside the body."""
    if not isinstance(state, SymbolicTensor):
        return False
    return state.shape is None or any(not local.isdisjoint(free_symbols(d)) for d in state.shape)


def _as_at_first(value: Value, first: Value, local: set[str]) -> Value:
    """An output of any iteration, with the dims of the first one where its own mean nothing outside the body."""
    if not (isinstance(value, SymbolicTensor) and isinstance(first, SymbolicTensor)) or not _is_open(value, local):
        return value
    if value.shape is None or first.shape is None or len(value.shape) != len(first.shape):
        shape = first.shape if value.shape is None else value.shape
    else:
        pairs = zip(value.shape, first.shape, strict=True)
        shape = tuple(d if local.isdisjoint(free_symbols(d)) else f for d, f in pairs)
    return SymbolicTensor(value.dtype, shape, span=value.span)


def _with_batch(value: Value, batch: Dim | None, context: Context) -> Value:
    if not isinstance(value, SymbolicTensor) or value.shape is None:
        return value
    first = context.fresh("the batch dim is not known", stem="batch") if batch is None else batch
    return SymbolicTensor(value.dtype, (first, *value.shape), span=value.span)


def _int(attributes: Mapping[str, Attribute], name: str, default: int) -> int:
    value = attributes.get(name, default)
    return value if isinstance(value, int) else default


def _ints(attributes: Mapping[str, Attribute], name: str, count: int) -> Sequence[int]:
    value = attributes.get(name)
    if not isinstance(value, tuple):
        return [0] * count
    if len(value) != count:
        raise SpecViolation(f"{name} must have {count} entries, has {len(value)}", "GI110")
    return value
