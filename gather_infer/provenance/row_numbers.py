"""The transfer functions of integer arithmetic on the numbers of rows: `row*7 + position`, as for flattened indices."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from gather_infer.provenance.algebra import quotient
from gather_infer.provenance.axis_labels import AxisLabels, Role, broadcast_labels, elementwise_labels
from gather_infer.provenance.label_transfer import by_labels
from gather_infer.provenance.movement import labelled, transfer
from gather_infer.provenance.row_step import RowStep
from gather_infer.provenance.states import ComponentsFirst, Kind, Lost, RowNumber, Rows, RowsLost, State, rows_of
from gather_infer.symbolic import Dim, known_le
from gather_infer.tensor import DType

COMPUTES: Final = "it computes with the numbers of rows"
MAX_COLUMNS: Final = 16
"""Maximal size of a last axis whose indices carry numbers of their own: components of index tuples."""


@transfer("Cast")
def cast(step: RowStep) -> list[State]:
    """Integers of 32 and 64 bits carry the numbers of rows."""
    if step.rows(0).has_numbers and step.result(0).dtype not in (DType.INT32, DType.INT64):
        raise step.blocked(Kind.NUMBER, COMPUTES)
    return labelled(step)


@transfer("Add Sub Mul Div Mod")
def arithmetic(step: RowStep) -> list[State]:
    labels = elementwise_labels(step)
    states = [state for state in step.states if not isinstance(state, Lost | None)]
    has_numbers = any(isinstance(state, ComponentsFirst) or state.has_numbers for state in states)
    if labels is None or len(states) < 2 or not has_numbers:
        return labelled(step)
    if step.result(0).dtype not in (DType.INT32, DType.INT64):
        raise step.blocked(Kind.NUMBER, COMPUTES)
    try:
        return [_combined(step, labels, _computed(step, step.number_of(0), step.number_of(1)))]
    except RowsLost:
        shape = step.result_shape()
        for axis in dict.fromkeys((len(shape) - 1, 0)) if shape else ():
            with suppress(RowsLost):
                return [_by_component(step, labels, axis)]
        raise


def _by_component(step: RowStep, labels: AxisLabels, axis: int) -> State:
    """The result with a number for each index of the last axis, or of axis 0, as for `row*(1, 0) + (0, position)`."""
    width = step.result_shape()[axis]
    if not isinstance(width, int) or not 1 < width <= MAX_COLUMNS:
        raise step.blocked(Kind.NUMBER, COMPUTES)
    operands = ([step.number_in_column(index, column, width, axis) for index in (0, 1)] for column in range(width))
    numbers = [_computed(step, a, b) for a, b in operands]
    plain = [state.plain if isinstance(state, ComponentsFirst) else state for state in step.states]
    found = _combined(replace(step, states=plain), labels, numbers[0])
    if found.digit is None or found.digit.axis == axis:
        raise step.blocked(Kind.NUMBER, COMPUTES)
    columns = [number if number.coefficient != 0 else None for number in numbers]
    if axis == len(step.result_shape()) - 1:
        return found.with_columns(columns)
    digit = found.digit._replace(axis=found.digit.axis - 1)
    moved = found.with_(digit=digit, flat=frozenset(a - 1 for a in found.flat if a), number=None)
    return ComponentsFirst(moved.with_columns(columns), step.blocked(Kind.NUMBER, COMPUTES).state)


def _computed(step: RowStep, a: RowNumber, b: RowNumber) -> RowNumber:
    match step.op_type:
        case "Add":
            return RowNumber(a.coefficient + b.coefficient, _sum(a.lo, b.lo), _sum(a.hi, b.hi))
        case "Sub":
            return RowNumber(a.coefficient - b.coefficient, _difference(a.lo, b.hi), _difference(a.hi, b.lo))
        case "Mul":
            return _scaled(step, a, b) if b.coefficient == 0 else _scaled(step, b, a)
        case _:
            return _divided(step, a, b)


def _sum(a: Dim | None, b: Dim | None) -> Dim | None:
    return None if a is None or b is None else a + b


def _difference(a: Dim | None, b: Dim | None) -> Dim | None:
    return None if a is None or b is None else a - b


def _factor(step: RowStep, number: RowNumber, least: int) -> Dim:
    """The only value of a tensor, at least `least`. Raises RowsLost if it is not known."""
    value = number.lo
    is_single = number.coefficient == 0 and value is not None and value == number.hi
    if not is_single or value is None or known_le(least, value, step.batch.scope) is not True:
        raise step.blocked(Kind.NUMBER, COMPUTES)
    if step.batch.counts_rows(value) or not step.batch.is_fixed(value):
        raise step.blocked(Kind.NUMBER, COMPUTES)
    return value


def _scaled(step: RowStep, number: RowNumber, by: RowNumber) -> RowNumber:
    factor = _factor(step, by, 0)
    lo = None if number.lo is None else number.lo * factor
    hi = None if number.hi is None else number.hi * factor
    return RowNumber(number.coefficient * factor, lo, hi)


def _divided(step: RowStep, number: RowNumber, by: RowNumber) -> RowNumber:
    """`(c*k*row + g) / k == c*row` and `(c*k*row + g) mod k == g`, for 0 <= c and 0 <= g < k.

    Behind a negative c, Div and the Mod of C round to 0, and so differ from row to row.
    """
    divisor = _factor(step, by, 1)
    part = quotient(number.coefficient, divisor)
    is_negative = known_le(0, number.coefficient, step.batch.scope) is not True
    if part is None or is_negative or not is_within(step, number, divisor):
        raise step.blocked(Kind.NUMBER, COMPUTES)
    return RowNumber(part, 0, 0) if step.op_type == "Div" else RowNumber(0, number.lo, number.hi)


def is_within(step: RowStep, number: RowNumber, size: Dim) -> bool:
    """Whether the part of a number that is not the row's is known to be in [0, size)."""
    if number.lo is None or number.hi is None:
        return False
    scope = step.batch.scope
    return known_le(0, number.lo, scope) is True and known_le(number.hi, size - 1, scope) is True


def _combined(step: RowStep, labels: AxisLabels, number: RowNumber) -> Rows:
    """The elementwise result with a number; all numbers have to be at the place of the rows."""
    states = [state.with_(number=None, columns=None) if isinstance(state, Rows) else state for state in step.states]
    found = rows_of(by_labels(replace(step, states=states), labels)[0])
    made = labels.outputs[0]
    for index, state in enumerate(step.states):
        if not isinstance(state, Rows) or not state.has_numbers:
            continue
        x = labels.inputs[index]
        assert not isinstance(x, Role) and state.digit is not None, "numbers have a place"
        if found.digit is None or (made[found.digit.axis], found.digit.order) != (
            x[state.digit.axis],
            state.digit.order,
        ):
            raise step.blocked(Kind.NUMBER, COMPUTES)
    return found.with_(number=number if number.coefficient != 0 else None)


@transfer("Where")
def choice(step: RowStep) -> list[State]:
    """One operand where the condition is known; otherwise both, with the same number."""
    condition = step.fact(0)
    known = condition.value_range
    elements = None if condition.values is None else set(condition.values.flat)
    chosen: bool | None = None
    if known is not None and known.lo == known.hi and known.lo in (0, 1):
        chosen = known.lo == 1
    elif elements in ({True}, {False}):
        chosen = elements == {True}
    if chosen is not None:
        index, rank = (1 if chosen else 2), len(step.result_shape())
        x, y = broadcast_labels(len(step.input_shape(index))), broadcast_labels(rank)
        roles = tuple(x if i == index else Role.SHAPE for i in step.inputs)
        kept = replace(step, states=[step.rows(index) if i == index else None for i in step.inputs])
        new = frozenset(y[: rank - len(x)])
        return by_labels(kept, AxisLabels(roles, (y,), moves=True, flat=new))
    labels = elementwise_labels(step)
    states = [state for state in step.states[1:] if isinstance(state, Rows)]
    if labels is None or len(states) < 2 or not any(state.has_numbers for state in states):
        return labelled(step)
    try:
        if step.rows(0).has_numbers:
            raise step.blocked(Kind.NUMBER, COMPUTES)
    except RowsLost:
        return labelled(step)
    a, b = step.number_of(1), step.number_of(2)
    if a.coefficient != b.coefficient:
        raise step.blocked(Kind.NUMBER, COMPUTES)
    lo = a.lo if a.lo == b.lo else None
    hi = a.hi if a.hi == b.hi else None
    return [_combined(step, labels, RowNumber(a.coefficient, lo, hi))]
