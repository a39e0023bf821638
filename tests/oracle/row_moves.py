"""The moves of random graphs with independent rows: idioms of exported networks, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from onnx import helper

from tests.oracle.row_constants import (
    causal,
    embedded,
    embedded_positions,
    flipped,
    from_end,
    masked,
    near,
    positions,
    relative,
    shifted,
    slid,
    table,
    token,
    triangle,
    zeros,
)
from tests.oracle.row_graphs import (
    BATCH,
    Axis,
    RowGraph,
    Size,
    Value,
    has,
    has_no_batch,
    is_alone,
    is_number,
    number_of,
    replaced,
)

Move: TypeAlias = Callable[[RowGraph, Value], "Value | None"]
_INT64_MAX: Final = 2**63 - 1


# the order of the elements


def unary(g: RowGraph, value: Value) -> Value:
    return Value(g.op(g.random.choice(("Neg", "Relu", "Tanh", "Abs", "Sin")), value.name), value.axes)


def transpose(g: RowGraph, value: Value) -> Value:
    perm = list(range(len(value.axes)))
    g.random.shuffle(perm)
    return Value(g.op("Transpose", value.name, perm=perm), tuple(value.axes[at] for at in perm))


def merge(g: RowGraph, value: Value) -> Value | None:
    if len(value.axes) < 2:
        return None
    at = g.random.randrange(len(value.axes) - 1)
    merged = (*value.axes[at], *value.axes[at + 1])
    return g.reshape(value.name, (*value.axes[:at], merged, *value.axes[at + 2 :]))


def cut(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, lambda axis: len(axis) > 1)
    if at is None:
        return None
    place = g.random.randrange(1, len(value.axes[at]))
    return g.reshape(value.name, replaced(value, at, value.axes[at][:place], value.axes[at][place:]))


def heads(g: RowGraph, value: Value) -> Value | None:
    """An axis of the network, cut in two."""
    at = g.axis(value, lambda axis: isinstance(axis[-1] if axis else None, int) and axis[-1] in (4, 6, 8, 9, 12, 16))
    if at is None:
        return None
    width = value.axes[at][-1]
    assert isinstance(width, int)
    count = g.random.choice([each for each in range(2, width) if width % each == 0])
    parts = (count, width // count)
    if len(value.axes[at]) > 1 and g.random.random() < 0.5:
        return g.reshape(value.name, replaced(value, at, (*value.axes[at][:-1], parts[0]), (parts[1],)))
    return g.reshape(value.name, replaced(value, at, (*value.axes[at][:-1],), *((part,) for part in parts)))


def flat(g: RowGraph, value: Value) -> Value:
    """All axes in one, and cut again elsewhere."""
    factors = [factor for axis in value.axes for factor in axis]
    one = g.reshape(value.name, [tuple(factors)])
    axes: list[Axis] = []
    while factors:
        count = g.random.randint(1, len(factors))
        axes.append(tuple(factors[:count]))
        del factors[:count]
    return g.reshape(g.op("Neg", one.name), axes)


def unsqueeze(g: RowGraph, value: Value) -> Value:
    at = g.random.randint(0, len(value.axes))
    axes = (*value.axes[:at], (), *value.axes[at:])
    if g.random.random() < 0.5:
        return g.reshape(value.name, axes)
    return Value(g.op("Unsqueeze", value.name, g.constant([at])), axes)


def squeeze(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, lambda axis: axis == () or axis == (1,))
    if at is None:
        return None
    return Value(g.op("Squeeze", value.name, g.constant([at])), replaced(value, at))


# sums


def dense(g: RowGraph, value: Value) -> Value | None:
    if not is_number(value.axes[-1] if value.axes else ()):
        return None
    (width,), out = value.axes[-1], g.number()
    assert isinstance(width, int)
    return Value(g.op("MatMul", value.name, g.weights(width, out)), (*value.axes[:-1], (out,)))


def mean(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, has_no_batch)
    if at is None:
        return None
    keeps = g.random.random() < 0.5
    found = g.op("ReduceMean", value.name, g.constant([at]), keepdims=1)
    if keeps:
        return Value(g.op("Sub", value.name, found), value.axes)
    return Value(g.op("Squeeze", found, g.constant([at])), replaced(value, at))


def mean_by_size(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, lambda axis: has_no_batch(axis) and has(axis, "seq"))
    if at is None:
        return None
    total = g.op("ReduceSum", value.name, g.constant([at]), keepdims=0)
    return Value(g.op("Div", total, g.floats(g.product(value.axes[at]))), replaced(value, at))


def softmax(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, has_no_batch)
    return None if at is None else Value(g.op("Softmax", value.name, axis=at), value.axes)


def cumulative(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, has_no_batch)
    if at is None:
        return None
    flags = {"exclusive": g.random.randrange(2), "reverse": g.random.randrange(2)}
    return Value(g.op("CumSum", value.name, g.constant(at), **flags), value.axes)


def attention(g: RowGraph, value: Value) -> Value | None:
    """Products of all pairs of positions."""
    if len(value.axes) < 2:
        return None
    *outer, rows, width = range(len(value.axes))
    if not is_number(value.axes[width]) or not has_no_batch(value.axes[rows]):
        return None
    turned = g.op("Transpose", value.name, perm=[*outer, width, rows])
    return Value(g.op("MatMul", value.name, turned), (*value.axes[:-1], value.axes[rows]))


def group_norm(g: RowGraph, value: Value) -> Value | None:
    if not value.axes or value.axes[0] != (BATCH,) or len(value.axes) < 2:
        return None
    inner = tuple(factor for axis in value.axes[1:] for factor in axis)
    shape = g.op("Shape", value.name)
    merged = g.op("Reshape", value.name, g.constant([0, 1, -1]))
    found = g.op("Softmax", merged, axis=2) if inner else merged
    return Value(g.op("Reshape", found, shape), value.axes)


# copies and cuts


def expand(g: RowGraph, value: Value) -> Value:
    """A new axis, whose rows are equal."""
    at, count = g.random.randint(0, len(value.axes)), g.number()
    axes = (*value.axes[:at], (count,), *value.axes[at:])
    one = g.op("Unsqueeze", value.name, g.constant([at]))
    return Value(g.op("Expand", one, g.shape(axes)), axes)


def tile(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, lambda axis: True)
    if at is None:
        return None
    repeats = [2 if each == at else 1 for each in range(len(value.axes))]
    return Value(g.op("Tile", value.name, g.constant(repeats)), replaced(value, at, (2, *value.axes[at])))


def repeat(g: RowGraph, value: Value) -> Value | None:
    """Each row of an axis, several times."""
    at = g.axis(value, lambda axis: len(axis) < 3)
    if at is None:
        return None
    axes = replaced(value, at, value.axes[at], (2,))
    found = g.op("Expand", g.op("Unsqueeze", value.name, g.constant([at + 1])), g.shape(axes))
    return g.reshape(found, replaced(value, at, (*value.axes[at], 2)))


def without_end(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(
        value, lambda axis: len(axis) == 1 and isinstance(axis[0], Size) and axis[0].plus > 0 and has_no_batch(axis)
    )
    if at is None:
        return None
    (held,) = value.axes[at]
    assert isinstance(held, Size)
    if g.random.random() < 0.5:
        begin, end = g.constant([1]), g.constant([_INT64_MAX])
    elif g.random.random() < 0.5:
        begin, end = g.constant([0]), g.constant([-1])
    else:
        begin, end = g.constant([0]), g.size(Size(held.symbol, held.plus - 1))
    found = g.op("Slice", value.name, begin, end, g.constant([at]))
    return Value(found, replaced(value, at, (Size(held.symbol, held.plus - 1),)))


def one_position(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, is_alone)
    if at is None:
        return None
    if g.random.random() < 0.5:
        return Value(g.op("Gather", value.name, g.constant(g.random.choice((0, -1))), axis=at), replaced(value, at))
    last = g.op("Sub", g.product(value.axes[at]), g.constant([1]))
    return Value(g.op("Gather", value.name, last, axis=at), replaced(value, at, (1,)))


def rolled(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, has_no_batch)
    if at is None:
        return None
    begin = g.random.choice((1, -1))
    parts = [
        g.op("Slice", value.name, g.constant([low]), g.constant([high]), g.constant([at]))
        for low, high in ((begin, _INT64_MAX), (0, begin))
    ]
    return Value(g.op("Concat", *parts, axis=at), value.axes)


def reversed_axis(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, has_no_batch)
    if at is None:
        return None
    bounds = [g.constant([each]) for each in (-1, -_INT64_MAX, at, -1)]
    return Value(g.op("Slice", value.name, *bounds), value.axes)


def every_other(g: RowGraph, value: Value) -> Value | None:
    """One of the entries of the inner factor of an axis, by a step."""
    at = g.axis(value, lambda axis: len(axis) > 1 and isinstance(axis[-1], int) and axis[-1] > 1)
    if at is None:
        return None
    step = value.axes[at][-1]
    assert isinstance(step, int)
    begin = g.random.randrange(step)
    bounds = [g.constant([each]) for each in (begin, _INT64_MAX, at, step)]
    return Value(g.op("Slice", value.name, *bounds), replaced(value, at, value.axes[at][:-1]))


def picked(g: RowGraph, value: Value) -> Value | None:
    """Some entries of an axis of the network, in another order."""
    at = g.axis(value, is_number)
    if at is None:
        return None
    (width,) = value.axes[at]
    assert isinstance(width, int)
    chosen = [g.random.randrange(width) for _ in range(g.number())]
    return Value(g.op("Gather", value.name, g.constant(chosen), axis=at), replaced(value, at, (len(chosen),)))


def picked_in_merged(g: RowGraph, value: Value) -> Value | None:
    """One entry of each row of a merged axis, by its number: `row * stride + position`."""
    at = g.axis(value, lambda axis: len(axis) > 1)
    if at is None:
        return None
    place = g.random.randrange(1, len(value.axes[at]))
    outer, inner = value.axes[at][:place], value.axes[at][place:]
    if has(inner, "batch"):
        return None
    indices = g.op("Mul", g.range(outer), g.product(inner))
    if g.random.random() < 0.6:
        last = g.op("Sub", g.product(inner), g.constant([1]))
        indices = g.op("Add", indices, last if g.random.random() < 0.5 else g.constant(1 if _two(g, inner) else 0))
    return Value(g.op("Gather", value.name, indices, axis=at), replaced(value, at, outer))


def _two(g: RowGraph, inner: Axis) -> bool:
    return all(isinstance(factor, int) for factor in inner) and number_of(inner, g.old) > 1


def advanced(g: RowGraph, value: Value) -> Value | None:
    """`x[arange(rows), position]` of the two first axes."""
    if len(value.axes) < 2 or not has_no_batch(value.axes[1]) or not value.axes[1]:
        return None
    rows = g.range(value.axes[0])
    if g.random.random() < 0.5:
        column = g.op("Expand", g.constant([0]), g.product(value.axes[0]))
    else:
        last = g.op("Sub", g.product(value.axes[1]), g.constant([1]))
        column = g.op("Expand", last, g.product(value.axes[0]))
    parts = [g.op("Unsqueeze", each, g.constant([1])) for each in (rows, column)]
    return Value(g.op("GatherND", value.name, g.op("Concat", *parts, axis=1)), (value.axes[0], *value.axes[2:]))


def largest(g: RowGraph, value: Value) -> Value | None:
    """The entry at the position of the largest one, of each row."""
    at = g.axis(value, has_no_batch)
    if at is None or not value.axes[at]:
        return None
    where = g.op("ArgMax", value.name, axis=at, keepdims=1)
    if g.random.random() < 0.5:
        return Value(g.op("GatherElements", value.name, where, axis=at), replaced(value, at, (1,)))
    return Value(g.op("Mul", value.name, g.floats(where)), value.axes)


def largest_of_row(g: RowGraph, value: Value) -> Value | None:
    """`x[arange(rows), argmax]`, in an axis of merged rows."""
    if len(value.axes) != 2 or not has_no_batch(value.axes[1]) or not value.axes[1]:
        return None
    where = g.op("ArgMax", value.name, axis=1, keepdims=0)
    indices = g.op("Add", g.op("Mul", g.range(value.axes[0]), g.product(value.axes[1])), where)
    one = g.op("Reshape", value.name, g.constant([-1]))
    return Value(g.op("Gather", one, indices, axis=0), (value.axes[0],))


def scattered(g: RowGraph, value: Value) -> Value | None:
    """Ones at the position of the largest entry."""
    at = g.axis(value, has_no_batch)
    if at is None or not value.axes[at]:
        return None
    where = g.op("ArgMax", value.name, axis=at, keepdims=1)
    blank = g.op("ConstantOfShape", g.shape(value.axes), value=helper.make_tensor("v", 1, [1], [0.0]))
    ones = g.op("ConstantOfShape", g.shape(replaced(value, at, ())), value=helper.make_tensor("v", 1, [1], [1.0]))
    return Value(g.op("Mul", value.name, g.op("ScatterElements", blank, where, ones, axis=at)), value.axes)


def top(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, is_number)
    if at is None:
        return None
    (width,) = value.axes[at]
    assert isinstance(width, int)
    count = g.random.randint(1, width)
    g.op("TopK", value.name, g.constant([count]), outputs=2, axis=at)
    return Value(g.nodes[-1].output[0], replaced(value, at, (count,)))


def counted(g: RowGraph, value: Value) -> Value | None:
    """Numbers of rows by CumSum of ones, as an index into merged rows."""
    at = g.axis(value, lambda axis: len(axis) == 2 and axis[0] == BATCH and isinstance(axis[1], int))
    if at is None:
        return None
    ones = g.op("ConstantOfShape", g.size(BATCH), value=helper.make_tensor("v", 7, [1], [1]))
    numbers = g.op("CumSum", ones, g.constant(0), exclusive=1)
    indices = g.op("Mul", numbers, g.size(value.axes[at][1]))
    return Value(g.op("Gather", value.name, indices, axis=at), replaced(value, at, (BATCH,)))


# windows


def padded(g: RowGraph, value: Value) -> Value | None:
    at = g.axis(value, is_alone)
    if at is None:
        return None
    (held,) = value.axes[at]
    before, after = g.random.choice(((1, 1), (1, 0), (2, 0), (0, 1), (2, 2)))
    pads = [0] * (2 * len(value.axes))
    pads[at], pads[at + len(value.axes)] = before, after
    total = before + after
    grown: Axis = (held + total,) if isinstance(held, int) else (Size(held.symbol, held.plus + total),)
    return Value(g.op("Pad", value.name, g.constant(pads)), replaced(value, at, grown))


def convolved(g: RowGraph, value: Value) -> Value | None:
    """A Conv along the last axis, which keeps its size."""
    if len(value.axes) != 3 or has(value.axes[2], "batch") or not is_number(value.axes[1]):
        return None
    (width,) = value.axes[1]
    assert isinstance(width, int)
    out = g.number()
    found = g.op("Conv", value.name, g.weights(out, width, 3), pads=[1, 1], kernel_shape=[3])
    return Value(found, replaced(value, 1, (out,)))


def recurrent(g: RowGraph, value: Value) -> Value | None:
    """A GRU over the first axis, with states of zeros."""
    if len(value.axes) != 3 or not has_no_batch(value.axes[0]) or not is_number(value.axes[2]):
        return None
    (width,), hidden = value.axes[2], 2
    assert isinstance(width, int)
    shape = g.shape([(1,), value.axes[1], (hidden,)])
    state = g.op("ConstantOfShape", shape, value=helper.make_tensor("v", 1, [1], [g.random.choice((0.0, 0.5))]))
    weights = g.weights(1, 3 * hidden, width), g.weights(1, 3 * hidden, hidden)
    found = g.op("GRU", value.name, *weights, "", "", state, hidden_size=hidden)
    return Value(g.op("Squeeze", found, g.constant([1])), (value.axes[0], value.axes[1], (hidden,)))


MOVES: Final[Mapping[str, Move]] = {
    move.__name__: move
    for move in (
        unary, transpose, transpose, merge, cut, heads, flat, unsqueeze, squeeze, dense, mean, mean_by_size, softmax,
        cumulative, attention, group_norm, token, zeros, positions, table, embedded_positions, causal, triangle,
        relative, masked, embedded, expand, tile, repeat, without_end, one_position, rolled, reversed_axis, every_other,
        picked, picked_in_merged, advanced, largest, largest_of_row, scattered, top, counted, padded, convolved,
        recurrent, flipped, shifted, slid, from_end, near,
    )
}  # fmt: skip
