"""The transfer functions of operators that take indices or give them: whether an index leads to another row.

An index into an axis with the rows keeps to its row if it carries the number of the row, and the rest of it is in
bounds of the row.
"""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.provenance.axis_labels import AxisLabels, Labels, Role, broadcast_labels, labels_of
from gather_infer.provenance.label_transfer import by_labels
from gather_infer.provenance.movement import labelled, transfer
from gather_infer.provenance.row_numbers import is_within
from gather_infer.provenance.row_step import RowStep
from gather_infer.provenance.states import (
    ComponentsFirst,
    Digit,
    Kind,
    Listing,
    Lost,
    RowNumber,
    Rows,
    RowsLost,
    State,
)
from gather_infer.tensor import Shape

TAKES = "takes rows by their numbers"
LISTS = "it lists positions of all rows along one axis"


def leads_to_own_row(step: RowStep, number: RowNumber | None, shape: Shape, digit: Digit) -> bool:
    """Whether an index into the axis of the rows is `row*inner + g` with `0 <= g < inner`."""
    if number is None or digit.listing is not None or shape[digit.axis] != step.batch.rows * digit.inner:
        return False
    return number.coefficient == digit.inner and is_within(step, number, digit.inner)


def own_place(step: RowStep, number: RowNumber | None, data: Rows, shape: Shape, axis: int) -> Digit | None:
    """The place of the rows in data whose axis an index addresses that leads to its own row; None for another index.

    An axis along which elements do not vary can have the rows in any order.
    """
    digit = data.digit
    if number is not None and data.constant and axis in data.flat:
        digit = Digit(axis, number.coefficient)
    return digit if digit is not None and digit.axis == axis and leads_to_own_row(step, number, shape, digit) else None


@transfer("Gather")
def gather(step: RowStep) -> list[State]:
    data, indices = step.rows(0), step.rows(1)
    shape, places = step.input_shape(0), step.input_shape(1)
    axis = step.axis(len(shape))
    if axis is None:
        raise step.unknown("its axis is not known")
    x: Labels = broadcast_labels(len(shape))
    y: Labels = tuple(("index", a) for a in range(len(places)))
    made = (*x[:axis], *y, *x[axis + 1 :])
    if axis in data.flat:  # the same element, whatever the index is
        return by_labels(
            step, AxisLabels((x, Role.SHAPE), (made,), moves=True, flat=frozenset(y), selected=frozenset(x))
        )
    if data.digit is not None and data.digit.axis == axis:
        if data.has_numbers:
            raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
        if not leads_to_own_row(step, indices.number, shape, data.digit):
            raise step.blocked(Kind.NUMBER if data.constant else Kind.ROWS, f"it {TAKES}")
        if indices.counted is not None or data.counted is not None:
            raise step.blocked(Kind.COUNT, "it computes with the number of rows")
        assert indices.digit is not None, "numbers have a place"
        is_constant = data.constant and indices.constant
        return [Rows(indices.digit._replace(axis=axis + indices.digit.axis), constant=is_constant)]
    if data.has_numbers:
        return [_of_numbers(step, data, axis, x, made)]
    return labelled(step)


def _of_numbers(step: RowStep, data: Rows, axis: int, x: Labels, made: Labels) -> State:
    """Constant indices into a tensor of numbers, such as a column of it."""
    step.require_parameter(1)
    assert data.digit is not None, "numbers have a place"
    label = x[data.digit.axis]
    flat = frozenset(a for a, found in enumerate(made) if found in x and x.index(found) in data.flat)
    result = data.with_(digit=data.digit._replace(axis=made.index(label)), flat=flat)
    if data.columns is None:
        return result
    if axis != len(x) - 1:
        if made[-1] != x[-1]:
            raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
        return result
    chosen = step.integers_of(1)
    if (
        chosen is None
        or step.rank(1) not in (0, 1)
        or any(not -len(data.columns) <= i < len(data.columns) for i in chosen)
    ):
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    columns = tuple(data.columns[i] for i in chosen)
    if step.rank(1) == 1:
        return result.with_(columns=columns)
    return result.with_(number=columns[0], columns=None)


@transfer("GatherND")
def gather_nd(step: RowStep) -> list[State]:
    data, indices = step.rows(0), step.rows(1)
    shape, places = step.input_shape(0), step.input_shape(1)
    batch, depth = step.integer("batch_dims"), places[-1] if places else None
    if labels_of(step) is None or not isinstance(depth, int):
        raise step.unknown("the depth of its indices is not known")
    numbers = numbers_of_columns(indices, depth)
    digit = data.digit
    if data.has_numbers:
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    if digit is not None and digit.axis not in data.flat and batch <= digit.axis < batch + depth:
        column = digit.axis - batch
        if not leads_to_own_row(step, numbers[column], shape, digit):
            raise step.blocked(Kind.NUMBER if data.constant else Kind.ROWS, f"it {TAKES}")
        if any(number is not None for at, number in enumerate(numbers) if at != column and batch + at not in data.flat):
            raise step.blocked(Kind.NUMBER, "an index is the number of the row")
        if indices.counted is not None or data.counted is not None:
            raise step.blocked(Kind.COUNT, "it computes with the number of rows")
        assert indices.digit is not None, "numbers have a place"
        if indices.digit.axis >= len(places) - 1:
            raise step.unknown("rows along the components of its indices")
        return [Rows(indices.digit, constant=data.constant and indices.constant)]
    used = [number for at, number in enumerate(numbers) if batch + at not in data.flat]
    if any(number is not None for number in used):
        raise step.blocked(Kind.NUMBER, "an index is the number of the row")
    bare = indices.with_(number=None, columns=None)
    return labelled(step.with_states((data, bare)))


def numbers_of_columns(indices: Rows, depth: int) -> Sequence[RowNumber | None]:
    """The number that each component of index tuples carries."""
    if indices.columns is not None and len(indices.columns) == depth:
        return indices.columns
    return [indices.number] * depth


@transfer("ScatterND")
def scatter_nd(step: RowStep) -> list[State]:
    data, indices, updates = step.rows(0), step.rows(1), step.rows(2)
    shape, places = step.input_shape(0), step.input_shape(1)
    if 0 in places:  # it writes nothing
        return [data]
    depth = places[-1] if places else None
    if labels_of(step) is None or not isinstance(depth, int):
        raise step.unknown("the depth of its indices is not known")
    if data.has_numbers or updates.has_numbers:
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    numbers = numbers_of_columns(indices, depth)
    numbered = [column for column, number in enumerate(numbers) if number is not None]
    if not numbered:
        return labelled(step)
    digit = own_place(step, numbers[numbered[0]], data, shape, numbered[0])
    if digit is None or len(numbered) > 1:
        raise step.blocked(Kind.NUMBER, "an index is the number of the row")
    return [_written(step, digit)]


@transfer("ScatterElements")
def scatter_elements(step: RowStep) -> list[State]:
    data, indices, updates = step.rows(0), step.rows(1), step.rows(2)
    shape = step.input_shape(0)
    axis = step.axis(len(shape))
    if indices.number is None or indices.digit is None or axis is None or labels_of(step) is None:
        return labelled(step)
    if data.has_numbers or updates.has_numbers:
        raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    digit = own_place(step, indices.number, data, shape, axis)
    if digit is None or indices.digit.axis != axis:
        raise step.blocked(Kind.NUMBER, "an index is the number of the row")
    return [_written(step, digit)]


def _written(step: RowStep, digit: Digit) -> Rows:
    """The state of data with updates in their own rows."""
    data, indices, updates = step.rows(0), step.rows(1), step.rows(2)
    assert indices.digit is not None, "numbers have a place"
    if any(state.counted is not None for state in (data, indices, updates)):
        raise step.blocked(Kind.COUNT, "it computes with the number of rows")
    if updates.digit != indices.digit:
        if not updates.constant:
            raise step.mixed("it writes elements of other rows")
        if indices.digit.axis not in updates.flat and step.input_shape(2)[indices.digit.axis] != 1:
            raise step.blocked(Kind.NUMBER, "it writes a tensor that differs from row to row")
    return Rows(digit, constant=data.constant and indices.constant and updates.constant)


@transfer("GatherElements")
def gather_elements(step: RowStep) -> list[State]:
    data, indices, shape = step.rows(0), step.rows(1), step.input_shape(0)
    axis = step.axis(len(shape))
    if indices.number is None or indices.digit is None or axis is None or labels_of(step) is None:
        return labelled(step)
    digit = data.digit
    is_own = digit is not None and digit.axis == axis and leads_to_own_row(step, indices.number, shape, digit)
    if data.has_numbers or not is_own or indices.digit.axis != axis:
        raise step.blocked(Kind.NUMBER, "an index is the number of the row")
    if indices.counted is not None or data.counted is not None:
        raise step.blocked(Kind.COUNT, "it computes with the number of rows")
    return [Rows(indices.digit, constant=data.constant and indices.constant)]


@transfer("NonZero")
def non_zero(step: RowStep) -> list[State]:
    """Positions in row-major order; the index along the axis of the rows carries the number of the row.

    x        [d0, ..., dr-1]
    result   [r, positions]
    """
    state, shape, (_, size) = step.rows(0), step.input_shape(0), step.result_shape()
    lost = Lost(Kind.UNKNOWN, step.place.path, "NonZero", LISTS)
    digit = state.digit
    if state.constant or state.has_numbers or digit is None or digit.listing is not None:
        raise RowsLost(lost)
    if shape[digit.axis] != step.batch.rows * digit.inner:
        raise RowsLost(lost)
    number = RowNumber(digit.inner, 0, digit.inner - 1)
    place = Digit(0, listing=Listing(step.place.path, size))
    tuples = Rows(place, constant=False).with_columns([number if a == digit.axis else None for a in range(len(shape))])
    return [ComponentsFirst(tuples, lost)]


@transfer("Transpose")
def transpose(step: RowStep) -> list[State]:
    """Index tuples, if their components are moved from axis 0 to the end."""
    state = step.states[0]
    if isinstance(state, ComponentsFirst):
        rank = len(step.input_shape(0))
        if (step.integers("perm") or tuple(reversed(range(rank)))) == (*range(1, rank), 0):
            return [state.tuples]
    return labelled(step)
