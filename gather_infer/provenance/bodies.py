"""The transfer functions of nodes with bodies: function calls, If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs
from gather_infer.provenance.row_step import RowStep
from gather_infer.provenance.states import CONSTANT, Kind, Lost, Rows, State, lost_of, rows_of

Visit: TypeAlias = "Callable[[InferredGraph, Mapping[str, State | None]], list[State]]"
"""The states of the outputs of a graph, from those of its inputs."""

MAX_VISITS: Final = 4
"""Maximal number of visits of the body of a loop until its states are a fixed point."""


def call(step: RowStep, graphs: InferredGraphs, visit: Visit) -> list[State]:
    """The states of the outputs of a function."""
    found = graphs.bodies(step.place)
    if len(found) != 1 or found[0][0]:
        raise step.unknown("its function is not interpreted")
    body = found[0][1]
    given = [*step.states, *(None for _ in range(len(body.inputs) - len(step.states)))]
    return visit(body, dict(zip(body.inputs, given, strict=False)))


def control_flow(step: RowStep, graphs: InferredGraphs, visit: Visit) -> list[State]:
    bodies = dict(graphs.bodies(step.place))
    match step.op_type:
        case "If":
            return _if(step, bodies, visit)
        case "Loop" if "body" in bodies:
            return _loop(step, bodies["body"], visit)
        case "Scan" if "body" in bodies and step.version >= 9:
            return _scan(step, bodies["body"], visit)
    raise step.unknown("its body is not analysed")


def _if(step: RowStep, bodies: Mapping[str, InferredGraph], visit: Visit) -> list[State]:
    """The join of both branches, or the only branch that is taken."""
    condition = step.fact(0).only_element
    if isinstance(condition, bool):
        taken = bodies.get("then_branch" if condition else "else_branch")
        if taken is None:
            raise step.unknown("its branch is not interpreted")
        return visit(taken, {})
    state = step.rows(0)
    if state.counted is not None:
        raise step.blocked(Kind.COUNT, "its condition depends on the number of rows")
    if not state.constant or state.has_numbers:
        raise step.mixed("its condition depends on rows")
    if len(bodies) != 2:
        raise step.unknown("a branch is not interpreted")
    first, second = (visit(bodies[name], {}) for name in ("then_branch", "else_branch"))
    return [join(step, a, b) for a, b in zip(first, second, strict=False)]


def join(step: RowStep, a: State, b: State) -> State:
    """The least state that covers two, of tensors with the same rank."""
    if not isinstance(a, Rows) or not isinstance(b, Rows):
        return min((lost for state in (a, b) if (lost := lost_of(state))), key=lambda lost: not lost.mixes)
    if a.has_numbers or b.has_numbers:
        return step.unknown("it joins the numbers of rows").state
    counted = a.counted or b.counted
    flat = a.flat & b.flat
    if a.digit == b.digit:
        digit = a.digit
    elif a.constant and (b.digit is None or b.constant or b.digit.axis in a.flat):
        digit = None if b.constant else b.digit
    elif b.constant and a.digit is not None and a.digit.axis in b.flat:
        digit = a.digit
    else:
        return step.unknown("it joins rows at different places").state
    if counted is not None and not (a.constant and b.constant):
        return step.blocked(Kind.COUNT, "it joins a tensor that depends on the number of rows").state
    return Rows(digit, flat, a.constant and b.constant, counted=counted)


def _loop(step: RowStep, body: InferredGraph, visit: Visit) -> list[State]:
    """Carried values to a fixed point. The number of iterations has to be the same for each row."""
    for index in (0, 1):
        step.require_parameter(index)
    carried = [step.states[index] or CONSTANT for index in step.inputs[2:]]
    names = body.inputs
    found: list[State] = []
    for _ in range(MAX_VISITS):
        inputs: dict[str, State | None] = dict(zip(names, (CONSTANT, CONSTANT, *carried), strict=False))
        found = visit(body, inputs)
        joined = [join(step, a, b) for a, b in zip(carried, found[1:], strict=False)]
        if joined == carried:
            break
        carried = joined
    else:
        raise step.unknown("its states do not reach a fixed point")
    condition = rows_of(found[0])
    if not condition.constant or condition.has_numbers:
        raise step.mixed("the number of its iterations depends on rows")
    if condition.counted is not None:
        raise step.blocked(Kind.COUNT, "the number of its iterations depends on the number of rows")
    return [*carried, *(_stacked(step, state, 0) for state in found[1 + len(carried) :])]


def _stacked(step: RowStep, state: State, axis: int) -> State:
    """A tensor for each iteration, joined along a new axis."""
    if not isinstance(state, Rows):
        return state if isinstance(state, Lost) else state.lost
    if state.has_numbers:
        return step.unknown("it joins the numbers of rows").state
    digit = state.digit
    if digit is not None:
        digit = digit._replace(axis=digit.axis + (digit.axis >= axis))
    return state.with_(digit=digit, flat=frozenset(a + (a >= axis) for a in state.flat))


def _scan(step: RowStep, body: InferredGraph, visit: Visit) -> list[State]:
    """Carried values to a fixed point, and slices of the other inputs."""
    scanned = step.integer("num_scan_inputs")
    carried = [step.rows(index) for index in step.inputs[: len(step.inputs) - scanned]]
    states: list[State] = list(carried)
    axes = step.integers("scan_input_axes") or (0,) * scanned
    slices: list[State] = []
    for number, index in enumerate(step.inputs[len(carried) :]):
        slices.append(_slice(step, index, axes[number]))
    found: list[State] = []
    for _ in range(MAX_VISITS):
        found = visit(body, dict(zip(body.inputs, (*states, *slices), strict=False)))
        joined = [join(step, a, b) for a, b in zip(states, found, strict=False)]
        if joined == states:
            break
        states = joined
    else:
        raise step.unknown("its states do not reach a fixed point")
    places = step.integers("scan_output_axes") or (0,) * (len(found) - len(states))
    made: list[State] = []
    for output, state, place in zip(step.outputs[len(states) :], found[len(states) :], places, strict=False):
        rank = step.result(output).rank
        if rank is None:
            raise step.unknown("the rank of its result is unknown")
        made.append(_stacked(step, state, place % rank))
    return [*states, *made]


def _slice(step: RowStep, index: int, axis: int) -> State:
    """One slice of an input, without the axis."""
    state, shape = step.rows(index), step.input_shape(index)
    axis %= len(shape)
    if step.batch.counts_rows(shape[axis]):
        raise step.mixed("it iterates over the rows")
    if not step.batch.is_fixed(shape[axis]):
        raise step.unknown("the number of its iterations depends on elements")
    if state.digit is not None and state.digit.axis == axis and axis not in state.flat:
        raise step.mixed("it iterates over the rows")
    if state.has_numbers:
        raise step.blocked(Kind.NUMBER, "it computes with the numbers of rows")
    digit = state.digit
    if digit is not None:
        digit = None if digit.axis == axis else digit._replace(axis=digit.axis - (digit.axis > axis))
    return state.with_(digit=digit, flat=frozenset(a - (a > axis) for a in state.flat if a != axis))
