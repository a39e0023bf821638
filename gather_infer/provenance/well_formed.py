"""The check of each state against the shape of its tensor: sizes depend on no row, and rows have exactly one place."""

from __future__ import annotations

from gather_infer.provenance.algebra import quotient
from gather_infer.provenance.row_step import RowStep
from gather_infer.provenance.states import Digit, Rows, RowsLost, State
from gather_infer.tensor import Shape, SymbolicTensor


def well_formed(step: RowStep, output: int, state: State) -> State:
    """The state, or a blocked one if a size depends on rows; not that of listed positions, or of equal elements."""
    if not isinstance(state, Rows):
        return state
    try:
        return _checked(step, step.result(output), state)
    except RowsLost as error:
        return error.state


def _checked(step: RowStep, fact: SymbolicTensor, state: Rows) -> Rows:
    batch, shape = step.batch, fact.shape
    if shape is None:
        if state.digit is not None or state.counted is not None:
            raise step.unknown("the rank of its result is unknown")
        return Rows()
    flat = frozenset(axis for axis in state.flat if axis < len(shape) and shape[axis] != 1)
    digit = state.digit
    listed = digit.axis if digit is not None and digit.listing is not None else None
    if not all(batch.is_fixed(dim) or axis in flat or axis == listed for axis, dim in enumerate(shape)):
        raise step.unknown("the size of its result depends on elements")
    if digit is not None and not _fits(step, shape, digit):
        if not state.constant or state.has_numbers:
            raise step.unknown(f"the rows have no place in {shape[digit.axis]}")
        digit = None
    if digit is None:  # any axis along which elements do not vary can hold the rows
        digit = next((Digit(axis) for axis in sorted(flat) if shape[axis] == batch.rows), None)
    for axis, dim in enumerate(shape):
        is_digit = digit is not None and digit.axis == axis
        if batch.counts_rows(dim) and axis not in flat and not is_digit:
            raise step.unknown(f"axis {axis} of its result has size {dim}")
    columns = state.columns
    if columns is not None and (not shape or shape[-1] != len(columns)):
        raise step.unknown("it moves the numbers of rows")
    if state.has_numbers and digit is None:
        raise step.unknown("the numbers of rows have no place")
    return state.with_(digit=digit, flat=flat, columns=columns)


def _fits(step: RowStep, shape: Shape, digit: Digit) -> bool:
    """Whether the axis of the rows has the size `p * rows * inner`, where p and inner do not count rows."""
    outer = quotient(shape[digit.axis], digit.entries(step.batch.rows) * digit.inner)
    if outer is None or not (step.batch.is_fixed(outer) and step.batch.is_fixed(digit.inner)):
        return False
    return not step.batch.counts_rows(outer) and not step.batch.counts_rows(digit.inner)
