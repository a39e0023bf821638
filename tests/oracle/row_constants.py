"""Moves of random graphs: constants that follow a size, as class tokens, tables, masks and numbers of positions."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.oracle.row_graphs import (
    BATCH,
    SEQ,
    TABLE,
    Axis,
    RowGraph,
    Size,
    Value,
    has_no_batch,
    is_alone,
    is_number,
    number_of,
    replaced,
)


def token(g: RowGraph, value: Value) -> Value | None:
    """A learned row before or behind the others, for each row."""
    at = g.axis(value, is_alone)
    if at is None:
        return None
    count = g.random.choice((1, 1, 2))
    (held,) = value.axes[at]
    axes = replaced(value, at, (count,))
    numbers = [axis for axis in axes if all(isinstance(factor, int) for factor in axis)]
    one = [number_of(axis, g.old) if axis in numbers else 1 for axis in axes]
    rows = g.op("Expand", g.weights(*one), g.shape(axes))
    parts = [rows, value.name] if g.random.random() < 0.6 else [value.name, rows]
    grown: Axis = (held + count,) if isinstance(held, int) else (Size(held.symbol, held.plus + count),)
    return Value(g.op("Concat", *parts, axis=at), replaced(value, at, grown))


def zeros(g: RowGraph, value: Value) -> Value:
    """A tensor of the same shape, made by ConstantOfShape."""
    number = g.random.choice((0.0, 1.0, 2.5))
    made = g.op("ConstantOfShape", g.shape(value.axes), value=helper.make_tensor("v", 1, [1], [number]))
    return Value(g.op("Add", value.name, made), value.axes)


def positions(g: RowGraph, value: Value) -> Value | None:
    """Numbers of positions along an axis, added."""
    at = g.axis(value, has_no_batch)
    if at is None:
        return None
    numbers = g.floats(g.range(value.axes[at]))
    if g.random.random() < 0.5:
        numbers = g.op("Mul", numbers, g.constant(g.random.choice((0.5, 2.0, 0.1)), np.float32))
    if g.random.random() < 0.3:
        numbers = g.op(g.random.choice(("Sin", "Neg")), numbers)
    return Value(g.op("Add", value.name, g.along(numbers, at, len(value.axes))), value.axes)


def table(g: RowGraph, value: Value) -> Value | None:
    """Learned positions, cut at the length."""
    at = g.axis(value, lambda axis: is_alone(axis) and not is_number(axis))
    if at is None:
        return None
    rows = g.op("Slice", g.weights(TABLE), g.constant([0]), g.product(value.axes[at]), g.constant([0]))
    return Value(g.op("Add", value.name, g.along(rows, at, len(value.axes))), value.axes)


def embedded_positions(g: RowGraph, value: Value) -> Value | None:
    """A table read at the numbers of the positions."""
    at = g.axis(value, lambda axis: is_alone(axis) and not is_number(axis))
    if at is None:
        return None
    numbers = g.range(value.axes[at])
    if g.random.random() < 0.5:
        numbers = g.op("Add", numbers, g.constant(2))
    rows = g.op("Gather", g.weights(TABLE), numbers, axis=0)
    return Value(g.op("Add", value.name, g.along(rows, at, len(value.axes))), value.axes)


def _two_positions(g: RowGraph, value: Value) -> tuple[str, str] | None:
    """The positions along two axes, the first of which is the outer one; None if there are not two."""
    places = [at for at, axis in enumerate(value.axes) if is_alone(axis)]
    if len(places) < 2:
        return None
    low, high = sorted(g.random.sample(places, 2))
    one, two = (g.along(g.range(value.axes[at]), at, len(value.axes)) for at in (low, high))
    return one, two


def causal(g: RowGraph, value: Value) -> Value | None:
    """A mask that compares two positions."""
    pair = _two_positions(g, value)
    if pair is None:
        return None
    one, two = pair
    if g.random.random() < 0.3:
        one = g.op("Add", one, g.constant(1))
    mask = g.op(g.random.choice(("LessOrEqual", "Less", "Greater")), two, one)
    if g.random.random() < 0.5:
        return Value(g.op("Where", mask, value.name, g.constant(-9, np.float32)), value.axes)
    added = g.op("Where", mask, g.constant(0, np.float32), g.constant(-9, np.float32))
    return Value(g.op("Add", value.name, added), value.axes)


def triangle(g: RowGraph, value: Value) -> Value | None:
    """A mask of ones below the diagonal of the two last axes."""
    if len(value.axes) < 2 or not all(is_alone(axis) for axis in value.axes[-2:]):
        return None
    ones = g.op("ConstantOfShape", g.shape(value.axes[-2:]), value=helper.make_tensor("v", 1, [1], [1.0]))
    mask = g.op("Trilu", ones, g.constant(g.random.choice((0, 0, 1))), upper=g.random.randrange(2))
    return Value(g.op("Mul", value.name, mask), value.axes)


def relative(g: RowGraph, value: Value) -> Value | None:
    """A table read at the distance of two positions."""
    pair = _two_positions(g, value)
    if pair is None:
        return None
    one, two = pair
    steps = g.op("Clip", g.op("Sub", two, one), g.constant(-3), g.constant(3))
    rows = g.op("Gather", g.weights(7), g.op("Add", steps, g.constant(3)), axis=0)
    return Value(g.op("Add", value.name, rows), value.axes)


def masked(g: RowGraph, value: Value) -> Value | None:
    """The mask of each row, beside its positions."""
    places = {axis: at for at, axis in enumerate(value.axes)}
    if "mask" not in g.inputs or (BATCH,) not in places or (SEQ,) not in places:
        return None
    rows, columns = places[BATCH,], places[SEQ,]
    mask = "mask"
    if rows > columns:
        mask = g.op("Transpose", mask, perm=[1, 0])
    others = [at for at in range(len(value.axes)) if at not in (rows, columns)]
    mask = g.op("Unsqueeze", mask, g.constant(others)) if others else mask
    if g.random.random() < 0.4:
        mask = g.op("Expand", mask, g.shape(value.axes))
    return Value(g.op("Mul", value.name, mask), value.axes)


def embedded(g: RowGraph, value: Value) -> Value | None:
    if "ids" not in g.inputs or value.axes[:2] != ((BATCH,), (SEQ,)):
        return None
    (axes,) = (list(range(2, len(value.axes))),)
    rows = g.op("Gather", g.weights(5), "ids", axis=0)
    rows = g.op("Unsqueeze", rows, g.constant(axes)) if axes else rows
    return Value(g.op("Add", value.name, rows), value.axes)


# positions in a length


def _position(g: RowGraph, value: Value) -> int | None:
    return g.axis(value, lambda axis: is_alone(axis) and not is_number(axis))


def _last(g: RowGraph, axis: Axis) -> str:
    return g.op("Sub", g.product(axis), g.constant([1]))


def flipped(g: RowGraph, value: Value) -> Value | None:
    """An axis read from its last position to the first one."""
    at = _position(g, value)
    if at is None:
        return None
    indices = g.op("Sub", _last(g, value.axes[at]), g.range(value.axes[at]))
    return Value(g.op("Gather", value.name, indices, axis=at), value.axes)


def shifted(g: RowGraph, value: Value) -> Value | None:
    """Each position reads the next one, the last one itself or the first one."""
    at = _position(g, value)
    if at is None:
        return None
    indices = g.op("Add", g.range(value.axes[at]), g.constant(1))
    if g.random.random() < 0.5:
        indices = g.op("Min", indices, _last(g, value.axes[at]))
    else:
        indices = g.op("Mod", indices, g.product(value.axes[at]))
    return Value(g.op("Gather", value.name, indices, axis=at), value.axes)


def slid(g: RowGraph, value: Value) -> Value | None:
    """Windows of three positions of a padded axis."""
    at = _position(g, value)
    if at is None:
        return None
    pads = [0] * (2 * len(value.axes))
    pads[at] = pads[at + len(value.axes)] = 1
    rows = g.op("Unsqueeze", g.range(value.axes[at]), g.constant([1]))
    indices = g.op("Add", rows, g.constant([[0, 1, 2]]))
    found = g.op("Gather", g.op("Pad", value.name, g.constant(pads)), indices, axis=at)
    return Value(found, replaced(value, at, value.axes[at], (3,)))


def from_end(g: RowGraph, value: Value) -> Value | None:
    """Numbers of positions counted from the last one, or parts of the length."""
    at = _position(g, value)
    if at is None:
        return None
    axis = value.axes[at]
    if g.random.random() < 0.5:
        numbers = g.floats(g.op("Sub", g.range(axis), _last(g, axis)))
    else:
        numbers = g.op("Div", g.floats(g.range(axis)), g.floats(g.product(axis)))
    return Value(g.op("Add", value.name, g.along(numbers, at, len(value.axes))), value.axes)


def near(g: RowGraph, value: Value) -> Value | None:
    """A mask of positions that are near to each other; one without an entry of each kind tells nothing."""
    pair = _two_positions(g, value)
    if pair is None:
        return None
    one, two = pair
    width = g.random.choice((0, 1, 2))
    if width > min(number_of(axis, g.old) for axis in value.axes if is_alone(axis)) - 2:
        return None
    mask = g.op("LessOrEqual", g.op("Abs", g.op("Sub", two, one)), g.constant(width))
    return Value(g.op("Where", mask, value.name, g.constant(0, np.float32)), value.axes)
