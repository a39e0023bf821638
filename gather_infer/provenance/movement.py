"""The transfer functions of operators that move rows to other places: Reshape, Tile, Slice, Split, Concat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, TypeAlias

from gather_infer.provenance.algebra import digit_in, groups, quotient, strides
from gather_infer.provenance.axis_labels import AxisLabels, Role, labels_of
from gather_infer.provenance.label_transfer import by_labels
from gather_infer.provenance.movement_labels import stepped_axes
from gather_infer.provenance.row_step import RowStep
from gather_infer.provenance.states import CONSTANT, ComponentsFirst, Digit, Kind, RowNumber, Rows, State, rows_of
from gather_infer.symbolic import Dim, product
from gather_infer.tensor import Shape, format_shape

Transfer: TypeAlias = "Callable[[RowStep], list[State]]"
"""The states of the outputs of a node. Raises RowsLost if they are mixed or unknown."""

TRANSFERS: Final[dict[tuple[str, str], Transfer]] = {}


def transfer(names: str, domain: str = "") -> Callable[[Transfer], Transfer]:
    """Decorator that registers the transfer function of operators, whose names are separated by spaces."""

    def add(function: Transfer) -> Transfer:
        for name in names.split():
            TRANSFERS[domain, name] = function
        return function

    return add


def labelled(step: RowStep, labels: AxisLabels | None = None) -> list[State]:
    """The states by the axis labels of the operator."""
    found = labels or labels_of(step)
    if found is None:
        raise step.not_understood("its attributes or inputs are not understood")
    return by_labels(step, found)


@transfer("Reshape Flatten")
def reshape(step: RowStep) -> list[State]:
    """The elements keep their row-major order; the shape of the result, however it was computed, places the rows."""
    state, shape, made = step.states[0], step.input_shape(0), step.result_shape()
    if isinstance(state, ComponentsFirst) and shape[0] == made[0]:
        tuples = _reshaped(step, state.tuples, (*shape[1:], shape[0]), (*made[1:], made[0]))
        return [replace(state, tuples=tuples)]
    return [_reshaped(step, step.rows(0), shape, made)]


def _reshaped(step: RowStep, state: Rows, shape: Shape, made: Shape) -> Rows:
    digit = state.digit
    if digit is not None:
        entries = digit.entries(step.batch.rows)
        outer = quotient(shape[digit.axis], entries * digit.inner)
        assert outer is not None, "the axis of the rows has all of them"
        outer = product(shape[: digit.axis]) * outer
        found = digit_in(made, entries, digit.inner * strides(shape)[digit.axis], outer)
        digit = None if found is None else digit._replace(axis=found[0], inner=found[1])
        if digit is None and not state.constant:
            kind = Kind.ROWS if product(shape) == product(made) else Kind.UNKNOWN
            raise step.blocked(kind, f"rows have no place of their own: {format_shape(shape)} -> {format_shape(made)}")
    columns = state.columns if shape and made and shape[-1] == made[-1] else None
    if columns is None and state.columns is not None:
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    return state.with_(digit=digit, flat=_flat_after_reshape(state, shape, made), columns=columns)


def _flat_after_reshape(state: Rows, shape: Shape, made: Shape) -> frozenset[int]:
    flat = {axis for axis, dim in enumerate(shape) if dim == 1} | state.flat
    return frozenset(
        axis for old, new in groups(shape, made) if flat.issuperset(old) for axis in new if old or made[axis] == 1
    )


@transfer("Tile")
def tile(step: RowStep) -> list[State]:
    """Repeats: rows keep their order, and their place inside each repetition. A constant has one for each row."""
    state, shape, made = step.rows(0), step.input_shape(0), step.result_shape()
    if len(made) != len(shape) or step.version < 6:
        raise step.unknown("the ranks do not fit")
    if state.columns is not None and shape[-1] != made[-1]:
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    if state.digit is not None and quotient(made[state.digit.axis], shape[state.digit.axis]) is None:
        raise step.unknown(f"axis {state.digit.axis} of its result has size {made[state.digit.axis]}")
    flat = state.flat | {axis for axis, dim in enumerate(shape) if dim == 1}
    digit = state.digit
    if digit is None:
        places = (Digit(axis, dim) for axis, dim in enumerate(shape) if made[axis] == step.batch.rows * dim)
        digit = next(places, None)
    return [state.with_(digit=digit, flat=flat)]


@transfer("ConstantOfShape")
def constant_of_shape(step: RowStep) -> list[State]:
    return [Rows(flat=frozenset(range(len(step.result_shape()))))]


@transfer("RandomNormalLike RandomUniformLike")
def random_numbers(step: RowStep) -> list[State]:
    """Numbers drawn for a shape alone: the same parameters for all rows, unless each row has some of its own."""
    if any(step.batch.counts_rows(dim) for dim in step.result_shape()):
        raise step.unknown("it draws random numbers for each row")
    return [CONSTANT]


@transfer("EyeLike")
def eye_like(step: RowStep) -> list[State]:
    """A function of the shape."""
    step.result_shape()
    return [CONSTANT]


@transfer("Shape Size")
def shape_of(step: RowStep) -> list[State]:
    """A function of the sizes, which depend on no row, but maybe on the number of rows."""
    shape = step.input_shape(0)
    if not all(step.batch.is_fixed(dim) for dim in shape):
        raise step.unknown("the size of its input depends on elements")
    counts = any(step.batch.counts_rows(dim) for dim in shape)
    return [Rows(counted=step.place.path) if counts else CONSTANT]


@transfer("Range")
def integer_range(step: RowStep) -> list[State]:
    """`start + i*delta`. With `rows*S` elements, index i is `row*S + s`."""
    (length,) = step.result_shape()
    start, delta = step.only_element(0), step.only_element(2)
    if not step.batch.counts_rows(length):
        for index in step.inputs:
            step.require_parameter(index)
        return [CONSTANT]
    inner = quotient(length, step.batch.rows)
    if inner is None or step.batch.counts_rows(inner):
        raise step.blocked(Kind.COUNT, f"it has {length} elements")
    if start is None or delta is None or any(step.batch.counts_rows(dim) for dim in (start, delta)):
        raise step.blocked(Kind.NUMBER, "it gives each row another number")
    if not isinstance(delta, int) or delta < 0 or not (step.batch.is_fixed(start) and step.batch.is_fixed(inner)):
        raise step.blocked(Kind.NUMBER, "it gives each row another number")
    number = RowNumber(inner * delta, start, start + (inner - 1) * delta)
    return [Rows(Digit(0, inner), number=number)]


@transfer("DynamicQuantizeLinear")
def dynamic_quantization(step: RowStep) -> list[State]:
    """The scale is that of the smallest and the largest element."""
    state = step.rows(0)
    if not state.constant:
        raise step.mixed("it scales by the smallest and the largest element of all rows")
    if state.has_numbers:
        raise step.blocked(Kind.NUMBER, "it computes with the numbers of rows")
    return [state, *(Rows(counted=state.counted) for _ in step.outputs[1:])]


# parts along the axis of the rows, where a merged axis holds all rows several times


def _multiple_of_rows(step: RowStep, dim: Dim | None, digit: Digit) -> bool:
    """Whether a position in the axis of the rows is at the start of all rows."""
    if dim is None or (isinstance(dim, int) and dim < 0) or digit.listing is not None:
        return False
    return quotient(dim, step.batch.rows * digit.inner) is not None


@transfer("Slice")
def slices(step: RowStep) -> list[State]:
    found = labels_of(step)
    state = step.rows(0)
    if found is None:
        raise step.unknown("its starts, ends or steps are not known")
    x, (y,) = found.inputs[0], found.outputs
    assert not isinstance(x, Role), "the data have labels"
    kept = list(y)
    steps = stepped_axes(step, len(x)) or set()
    for axis in range(len(x)):
        if axis in state.flat:
            kept[axis] = x[axis]
        elif state.digit is not None and state.digit.axis == axis and axis not in steps and y[axis] != x[axis]:
            start = _start(step, axis, len(x))
            if _multiple_of_rows(step, start, state.digit):
                kept[axis] = x[axis]
    if state.columns is not None and kept[-1] != x[-1]:
        start = None if len(x) - 1 in steps else _start(step, len(x) - 1, len(x))
        return [_columns(step, found, state.columns, start, 0)]
    needs_values = any(a != b for a, b in zip(kept, x, strict=True))
    roles = (Role.PARAMETER if needs_values else Role.SHAPE for _ in step.inputs[1:])
    return by_labels(step, replace(found, inputs=(x, *roles), outputs=(tuple(kept),)))


def _columns(
    step: RowStep, labels: AxisLabels, columns: Sequence[RowNumber | None], start: Dim | None, output: int
) -> State:
    """Some columns of index tuples, from `start` on."""
    size = step.result_shape(output)[-1]
    if not isinstance(start, int) or start < 0 or not isinstance(size, int) or start + size > len(columns):
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    bare = step.with_states([step.rows(0).with_(columns=None), *step.states[1:]])
    return rows_of(by_labels(bare, labels)[output]).with_columns(columns[start : start + size])


def _start(step: RowStep, axis: int, rank: int) -> Dim | None:
    """The first index that a Slice takes of an axis, if it is known and not negative."""
    if step.version < 10:
        starts: Sequence[Dim] | None = step.integers("starts")
        axes: Sequence[int] | None = step.integers("axes")
    else:
        starts = step.elements(1)
        axes = step.integers_of(3) if step.has(3) else None
        if step.has(3) and axes is None:
            return None
    if starts is None:
        return None
    places = range(len(starts)) if axes is None else [a % rank for a in axes]
    return next((start for start, place in zip(starts, places, strict=False) if place == axis), 0)


@transfer("Split")
def split(step: RowStep) -> list[State]:
    found = labels_of(step)
    state, shape = step.rows(0), step.input_shape(0)
    axis = step.axis(len(shape))
    if found is None or axis is None:
        raise step.unknown("its axis is not known")
    if state.columns is not None and axis == len(shape) - 1:
        starts = accumulate((step.result_shape(output)[axis] for output in step.outputs[:-1]), initial=0)
        return [_columns(step, found, state.columns, start, output) for output, start in enumerate(starts)]
    if state.has_numbers:
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    x = found.inputs[0]
    assert not isinstance(x, Role), "the data have labels"
    if axis in state.flat:
        return by_labels(step, replace(found, outputs=tuple(x for _ in step.outputs)))
    if state.digit is None or state.digit.axis != axis or state.constant:
        return by_labels(step, found)
    offset: Dim = 0
    for output in step.outputs:
        size = step.result_shape(output)[axis]
        if not (_multiple_of_rows(step, offset, state.digit) and _multiple_of_rows(step, size, state.digit)):
            raise step.mixed("it takes rows by their numbers")
        offset = offset + size
    roles = (Role.SHAPE for _ in step.inputs[1:])
    return by_labels(step, replace(found, inputs=(x, *roles), outputs=tuple(x for _ in step.outputs)))


@transfer("Concat")
def concat(step: RowStep) -> list[State]:
    found = labels_of(step)
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank, 1)
    if found is None or rank is None or axis is None:
        raise step.unknown("its ranks or its axis are not known")
    states = [state for index in step.inputs if isinstance(state := step.states[index], Rows)]
    if len(states) < len(step.inputs):
        return by_labels(step, found)  # a blocked input
    if any(state.has_numbers for state in states):
        return _joined_numbers(step, found, states, axis, rank)
    carriers = [
        state for state in states if state.digit is not None and state.digit.axis == axis and not state.constant
    ]
    if not carriers or len(states) == 1:
        return by_labels(step, found)
    digit = carriers[0].digit
    assert digit is not None, "a tensor that depends on rows has a place for them"
    for index, state in enumerate(states):
        if axis not in state.flat if state.constant else state.digit != digit:
            raise step.mixed("it joins rows")
        if not _multiple_of_rows(step, step.input_shape(index)[axis], digit):
            raise step.mixed("it joins rows")
    if any(state.counted is not None for state in states):
        raise step.blocked(Kind.COUNT, "it computes with the number of rows")
    shapes = [step.input_shape(index) for index in step.inputs]
    flat = frozenset(
        a for a in range(rank)
        if a != axis and all(a in state.flat or shape[a] == 1 for state, shape in zip(states, shapes, strict=True))
    )  # fmt: skip
    return [Rows(digit, flat, constant=False)]


def _joined_numbers(step: RowStep, labels: AxisLabels, states: Sequence[Rows], axis: int, rank: int) -> list[State]:
    """Columns of indices joined along the last axis, some of which carry the number of the row."""
    columns: list[RowNumber | None] = []
    if axis != rank - 1 or any(state.digit is not None and state.digit.axis == axis for state in states):
        raise step.blocked(Kind.NUMBER, "it joins the numbers of rows")
    for index, state in enumerate(states):
        width = step.input_shape(index)[axis]
        if not isinstance(width, int) or width > 64:
            raise step.blocked(Kind.NUMBER, "it joins the numbers of rows")
        columns += state.columns if state.columns is not None else [state.number] * width
    bare = replace(step, states=[state.with_(number=None, columns=None) for state in states])
    found = rows_of(by_labels(bare, labels)[0])
    x = labels.outputs[0]
    place = None if found.digit is None else (x[found.digit.axis], found.digit.order)
    for state in states:
        if state.has_numbers and (state.digit is None or (x[state.digit.axis], state.digit.order) != place):
            raise step.blocked(Kind.NUMBER, "it joins the numbers of rows")
    return [found.with_(columns=tuple(columns))]
