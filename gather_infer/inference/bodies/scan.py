"""Scan: a loop over slices of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto, ValueInfoProto

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.induction import induction
from gather_infer.inference.bodies.iteration import (
    iteration_symbol,
    leave_body,
    record_iterations,
    require_same_state,
    require_stackable,
    stacked,
    state_after_loop,
)
from gather_infer.inference.bodies.loop_carried import LoopCarriedProvenance, record_provenance, sliced_per_iteration
from gather_infer.inference.bodies.subgraph import body_location, body_of, inputs_of, interpret_body, local_symbols
from gather_infer.inference.environment import Environment
from gather_infer.inference.join import fresh_dim, project_out
from gather_infer.rules import Attribute
from gather_infer.symbolic import Dim, free_symbols, known_le
from gather_infer.tensor import UNKNOWN, SymbolicTensor, Value
from gather_infer.trail import Assumption, Iterations, PathCondition

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter


def scan(
    interpreter: Interpreter,
    node: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    environment: Environment,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__Scan.html (8 has a batch dim and sequence_lens, 9 adds the axes)

    inputs    n initial states, m scan inputs, each cut along its scan axis (length T, the same for all)
    body      (n states, m slices) -> (n states, k slices)
    outputs   n final states, k scan outputs with T as a new dim on their axis

    The outputs of the body must have the same shapes in each iteration, so the first iteration determines the shapes.
    """
    context = interpreter.context
    body = body_of(attributes, "body")
    place = context.node
    at = body_location(place, node, "body")
    batched = environment.opsets.version_of("") < 9
    given = [UNKNOWN if v is None else v for v in (inputs[1:] if batched else inputs)]
    m = attributes["num_scan_inputs"]
    assert isinstance(m, int), "the schema requires it"
    n = len(given) - m
    k = len(node.output) - n
    if m < 1 or n < 0:
        raise SpecViolation(f"num_scan_inputs must be in [1, {len(given)}], is {m}", "GI110")
    if k < 0:
        raise SpecViolation(f"the {n} loop state variables must each have an output, {len(node.output)} given", "GI110")
    taken = len(inputs_of(body))
    if taken != n + m or len(body.output) != n + k:
        found = f"{taken} inputs and {len(body.output)} outputs"
        raise SpecViolation(f"the body must have {n + m} inputs and {n + k} outputs, has {found}", "GI110")
    in_axes = _ints(attributes, "scan_input_axes", m)
    out_axes = _ints(attributes, "scan_output_axes", k)

    scope, created = context.scope, len(context.causes)
    states, slices, batch, trip_count = _scan_operands(given, n, [0] * m if batched else in_axes, batched, context)
    if trip_count is None:
        trip_count = context.fresh("the length of the scan inputs is not known", stem="trips")
    else:
        context.add_runtime_constraint((1, "<=", trip_count))

    iteration = iteration_symbol(context)
    mark = interpreter.checkpoint()
    first: list[Value] = []  # results of the body for the initial states
    assumed: list[Assumption] = []
    walks: list[list[Value]] = []

    def run(state: list[Value]) -> list[Value]:
        context.scope = scope.child()
        context.scope.add_fact(trip_count - 1 - iteration)
        results = interpret_body(interpreter, body, [*state, *slices], at, environment, prepare)[0]
        walks.append(results)
        if state is states:
            first[:] = results
            assumed[:] = context.assumptions
        return results

    names, inputs_given = inputs_of(body), node.input[1:] if batched else node.input[:]
    made = [output.name for output in body.output[:n]]
    carried = LoopCarriedProvenance.of(names[:n], made, inputs_given[:n], states, iteration, context, environment)
    if batched:
        carried.forget()  # an iteration sees the states of one batch entry

    def prepare(inner: Environment) -> None:
        carried.bind(inner)
        for name, source in zip(names[n:], inputs_given[n:], strict=False):
            cut = sliced_per_iteration(environment.provenance_of(source), iteration.name)
            if cut is not None:
                inner.provenance[name] = cut

    with context.preserved():
        state, results = induction(interpreter, states, iteration, run, slice(0, n), carried)
    leave_body(interpreter, mark, known_le(1, trip_count, scope), PathCondition(at.path, place, "body", -trip_count))
    interpreter.trail.add(Iterations(at.path, iteration.name, trip_count))
    record_iterations(interpreter, mark, iteration, trip_count, trip_count)
    for declared, value in zip(body.output, results, strict=True):
        _compare_rank(declared, value, context)
    for declared, before, after in zip(body.output, states, first, strict=False):
        require_same_state(before, after, declared.name, trip_count, context)
    require_stackable(walks[:2][-1][n:], body.output[n:], iteration, trip_count, context)
    local = local_symbols(context, created) - free_symbols(trip_count)
    outside = [_with_dims_of_first(s, f, local) for s, f in zip(results, first, strict=True)] if first else results
    if outside != results:
        for assumption in assumed:
            context.trail.add_assumption(assumption)
    results = outside
    finals: list[Value] = []
    for s, after in zip(state, results, strict=False):
        if _has_local_dims(s, local) and context.assume(
            trip_count, 1, "without an iteration the state is the initial one"
        ):
            finals.append(project_out(after, local, fresh_dim(context, "a body computes it from data")))
        else:
            finals.append(state_after_loop(s, iteration, trip_count, local, context))
    axes = [0] * k if batched else out_axes
    record_provenance(carried.after(trip_count), node.output[:n], local, environment)
    stacks = zip(results[n:], body.output[n:], axes, strict=True)
    scans: list[Value] = [stacked(v, declared, trip_count, a, local, context) for v, declared, a in stacks]
    outputs = [*finals, *scans]
    return [_with_batch(v, batch, context) for v in outputs] if batched else outputs


def _scan_operands(
    given: Sequence[Value], count: int, axes: Sequence[int], batched: bool, context: Context
) -> tuple[list[Value], list[Value], Dim | None, Dim | None]:
    """The states and slices of one iteration, the batch dim and the trip count; each of these dims is None if unknown.

    given   facts of `count` states, then of scan inputs; with `batched` each has a leading batch dim
    axes    scan axis of each scan input

    Raises SpecViolation when an operand is not a tensor, an axis is outside its range, or batch dims or lengths differ.
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
            states.append(
                value if shape is value.shape else SymbolicTensor(value.dtype, shape, value_range=value.value_range)
            )
            continue
        if shape is None:
            slices.append(SymbolicTensor(value.dtype, value_range=value.value_range))
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
        slices.append(SymbolicTensor(value.dtype, (*shape[:axis], *shape[axis + 1 :]), value_range=value.value_range))
    return states, slices, batch, trips


def _compare_rank(declared: ValueInfoProto, value: Value, context: Context) -> None:
    """Report an output of the body whose declared rank differs from the inferred rank.

    onnxruntime allocates the stacked output by the declared rank. It tolerates wrong declared sizes.
    """
    if not declared.type.tensor_type.HasField("shape") or not isinstance(value, SymbolicTensor) or value.shape is None:
        return
    rank = len(declared.type.tensor_type.shape.dim)
    if rank != len(value.shape):
        message = f"the body declares its output {declared.name} with rank {rank}, it is {value}"
        context.report("GI212", message, (), None)


def _has_local_dims(state: Value, local: set[str]) -> bool:
    """True when the rank of a state is unknown or one of its dims has a symbol in `local`."""
    assert isinstance(state, SymbolicTensor), "all operands are tensors"
    return state.shape is None or any(not local.isdisjoint(free_symbols(d)) for d in state.shape)


def _with_dims_of_first(value: Value, first: Value, local: set[str]) -> Value:
    """`value`, with dims that have symbols in `local` replaced by the dims of `first`, its value in iteration 0."""
    if not (isinstance(value, SymbolicTensor) and isinstance(first, SymbolicTensor)) or not _has_local_dims(
        value, local
    ):
        return value
    if value.shape is None or first.shape is None or len(value.shape) != len(first.shape):
        shape = first.shape if value.shape is None else value.shape
    else:
        pairs = zip(value.shape, first.shape, strict=True)
        shape = tuple(d if local.isdisjoint(free_symbols(d)) else f for d, f in pairs)
    return SymbolicTensor(value.dtype, shape, value_range=value.value_range)


def _with_batch(value: Value, batch: Dim | None, context: Context) -> Value:
    """`value` with a leading batch dim; a fresh symbol if `batch` is None."""
    if not isinstance(value, SymbolicTensor) or value.shape is None:
        return value
    first = context.fresh("the batch dim is not known", stem="batch") if batch is None else batch
    return SymbolicTensor(value.dtype, (first, *value.shape), value_range=value.value_range)


def _ints(attributes: Mapping[str, Attribute], name: str, count: int) -> Sequence[int]:
    """The `count` axes in the attribute `name`, or zeros when it is missing. Raises SpecViolation for another count."""
    value = attributes.get(name)
    if not isinstance(value, tuple):
        return [0] * count
    if len(value) != count:
        raise SpecViolation(f"{name} must have {count} entries, has {len(value)}", "GI110")
    return value
