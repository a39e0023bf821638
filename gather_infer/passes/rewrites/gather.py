"""Rewrites of a Gather, GatherElements or Where that follow from the shapes, elements and ranges of its inputs."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from onnx import TensorProto

from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.indexing import END, START, gathered_constant, pick_of
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, ValueRange, static_dims

rewrites = RewriteSet()


@rewrites.rewrites("Gather")
def gather_of_all(match: Match) -> Rewrite | None:
    """Gather(x, [0, ..., n-1], axis) == x.

    The length n of the axis is a number, and the indices are all of its positions in order. If n is 1, indices of shape
    [1] need not be known: every legal index refers to the only position.
    """
    pick = pick_of(match)
    if pick is None or len(pick.shape) != 1:
        return None
    if match.equal(pick.length, 1) and match.equal(pick.shape[0], 1):
        return match.replace_with("Gather of the only position of an axis is its data", match.input(0))
    if pick.positions is None or len(pick.positions) != pick.length:
        return None
    if pick.positions != tuple(range(pick.length)):
        return None
    return match.replace_with("Gather of all positions in order is its data", match.input(0))


@rewrites.rewrites("Gather")
def gather_of_one(match: Match) -> Rewrite | None:
    """Gather(x, i, axis) == Squeeze(x, axis), where i is a scalar and the axis has length 1: i must be 0 or -1."""
    pick = pick_of(match)
    if pick is None or pick.shape != () or not match.equal(pick.length, 1):
        return None
    return match.replace_with(
        "Gather of the only position of an axis squeezes it", match.squeeze(match.input(0), [pick.axis])
    )


@rewrites.rewrites("Gather")
def gather_of_range(match: Match) -> Rewrite | None:
    """Gather(Range(0, n), i) == i and Gather(Range(s, n), i) == i + s, when every i >= 0.

    A negative index would count from the end. Range and indices have the same integer type. A constant vector whose
    elements increase by one counts as a Range.
    """
    pick = pick_of(match)
    if pick is None or len(pick.data) != 1 or not match.is_at_least(1, 0):
        return None
    dtype = match.fact(0).dtype
    if dtype not in (DType.INT32, DType.INT64) or dtype != match.fact(1).dtype:
        return None
    data = match.producer(0, "Range")
    start: Dim | None
    if data is not None:
        first, delta = data.elements(0), data.elements(2)
        if delta != (1,):
            return None
        start, name = (None if first is None else first[0]), data.input(0)
    else:
        numbers = match.integers_of(0)
        if not numbers or numbers != tuple(range(numbers[0], numbers[0] + len(numbers))):
            return None
        start, name = numbers[0], ""
    if start == 0:
        return match.replace_with("the element of 0, 1, 2, ... at an index is the index", match.input(1))
    if not name:
        assert isinstance(start, int), "the first element of a constant"
        name = match.scalar(start, dtype)
    return match.replace_with(
        "the element of s, s + 1, s + 2, ... at an index is the index plus s", match.new("Add", [match.input(1), name])
    )


@rewrites.rewrites("Gather")
def gather_of_fill(match: Match) -> Rewrite | None:
    """Gather(ConstantOfShape(s), i, axis) == a constant with the value of ConstantOfShape in each element.

    The shape of the Gather is static, and has at most 64 elements.
    """
    data = match.producer(0, "ConstantOfShape")
    filled = None if data is None or match.is_faulty else _filled(match, data)
    if filled is None:
        return None
    return match.replace_with("all elements of ConstantOfShape are equal", match.add_constant(filled))


def _filled(match: Match, data: Match) -> Constant | None:
    """A constant in the shape of the result of `match`, filled with the value of `data`, a ConstantOfShape.

    None if the shape is not static or has more than 64 elements, or the value is unknown.
    """
    shape = static_dims(match.result().shape)
    if shape is None or prod(shape) > 64:
        return None
    given = data.typed_attr("value", TensorProto)
    value = Constant(1, np.zeros(1, "<u4")) if given is None else match.context.model.pass_input.read(given)
    if value is None or value.bits.size != 1:
        return None
    return Constant(value.data_type, np.full(shape, value.bits.reshape(-1)[0], value.bits.dtype))


@rewrites.rewrites("Gather", since=15)
def gather_of_shape(match: Match) -> Rewrite | None:
    """Gather(Shape(x), [k, k+1, ..., l-1]) == Shape<start=k, end=l>(x).

    The rank of x is known. A scalar index is left alone: its result is a scalar, that of a Shape a vector.
    """
    pick, data = pick_of(match), match.producer(0, "Shape")
    if pick is None or data is None or len(pick.shape) != 1 or not pick.positions:
        return None
    first, last = pick.positions[0], pick.positions[-1]
    rank = data.rank(0)
    if rank is None or pick.positions != tuple(range(first, last + 1)):
        return None
    start = data.integer("start", 0)
    first += max(start + rank, 0) if start < 0 else min(start, rank)
    made = match.new("Shape", [data.input(0)], start=first, end=first + len(pick.positions))
    return match.replace_with("neighbouring elements of Shape are a Shape with start and end", made)


@rewrites.rewrites("Gather")
def gather_to_slice(match: Match) -> Rewrite | None:
    """Gather(x, [k, k+d, k+2d, ...], axis) == Slice(x, k, k+n*d, axis, d), indices constant, not empty, d != 0.

    n is the number of indices. Unless the length of the axis is known, all indices are negative, or none is. A step d
    other than 1 needs opset 10. A Gather of a Shape stays, because the rewrites of shape computations look for it.
    """
    pick = pick_of(match)
    if pick is None or len(pick.shape) != 1 or not pick.indices or match.producer(0, "Shape") is not None:
        return None
    at = pick.positions or pick.indices
    if pick.positions is None and max(at) >= 0:
        return None
    step = at[1] - at[0] if len(at) > 1 else 1
    if step == 0 or any(b - a != step for a, b in pairwise(at)):
        return None
    end = at[-1] + (1 if step > 0 else -1)
    if at[-1] == -1 and step > 0:
        end = END
    if at[-1] == 0 and step < 0:
        end = START
    made = match.slice(match.input(0), [at[0]], [end], [pick.axis], [step])
    return match.replace_with("Gather of evenly spaced positions is a Slice", made)


@rewrites.rewrites("Gather")
def shrink_table(match: Match) -> Rewrite | None:
    """Gather(x, i, axis) == Gather(x[:m], i, axis), x constant and every i in [0, m-1].

    x[:m] is x without the positions of the axis from m on. The Gather is the only use of x. Removing positions at the
    start too would need a node that shifts i.
    """
    pick = pick_of(match)
    if pick is None or pick.indices is not None or not isinstance(pick.length, int) or not match.is_only_reader(0):
        return None
    span = match.fact(1).value_range
    if span is None or not isinstance(span.hi, int) or not 0 <= span.hi < pick.length - 1:
        return None
    if span.lo is None or not match.at_most(0, span.lo):
        return None
    table = match.constant(0)
    if table is None or match.is_trained:
        return None
    rows = table.bits[(slice(None),) * pick.axis + (slice(0, span.hi + 1),)]
    kept = match.add_constant(Constant(table.data_type, rows), match.input(0))
    made = match.new("Gather", [kept, match.input(1)], axis=pick.axis)
    return match.replace_with("rows of a table past the largest index are not read", made)


@rewrites.rewrites("Gather", since=10)
def gather_by_slice(match: Match) -> Rewrite | None:
    """Gather(x, Slice(i, s, e, axes), axis) == Slice(Gather(x, i, axis), s, e, axes + axis), x and i constant.

    The Gather on the right side is a constant, such as a table of positions that the Slice cuts to the length of an
    input. All of i is in range, and the axes of the Slice are constant.
    """
    pick, cut = pick_of(match), match.producer(1, "Slice")
    if pick is None or cut is None or not cut.is_constant(0) or not match.is_constant(0):
        return None
    indices, shape, rank = cut.integers_of(0), cut.shape(0), len(pick.shape)
    axes = cut.integers_of(3) if cut.input(3) else None
    dtype = cut.fact(3).dtype
    if indices is None or shape is None or axes is None or not all(-rank <= a < rank for a in axes) or dtype is None:
        return None
    taken = gathered_constant(match, match.input(0), indices, shape, pick.axis)
    if taken is None:
        return None
    inputs = [taken, cut.input(1), cut.input(2), match.vector((pick.axis + a % rank for a in axes), dtype)]
    made = match.new("Slice", [*inputs, *filter(None, [cut.input(4)])])
    return match.replace_with("Gather by a part of constant indices is a part of the Gather by all of them", made)


@rewrites.rewrites("Where")
def where_decided(match: Match) -> Rewrite | None:
    """Where(c, x, y) == x when every c is true, y when every c is false, and the selected side has the result's shape.

    The value range of i decides a comparison with a number: `Where(i < 0, i + n, i)` is i when i >= 0 is proved. A
    float x is not selected, because onnxruntime adds 0.0 to it, which turns -0.0 into 0.0.
    """
    decided, dtype = _decided(match), match.result().dtype
    if decided is None or match.is_faulty or dtype is None:
        return None
    if decided and not (dtype.is_integer or dtype in (DType.BOOL, DType.STRING)):
        return None
    at = 1 if decided else 2
    if not match.same_shape(match.shape(at), match.result().shape):
        return None
    law = f"a condition that is always {'true' if decided else 'false'} picks one side"
    return match.replace_with(law, match.input(at))


def _decided(match: Match) -> bool | None:
    """The boolean that every element of the condition of a Where equals in every run; None if it is not known.

    It follows from the value range of the condition, or of an operand that the condition compares with a constant.
    """
    span = match.fact(0).value_range
    if span in (ValueRange(0, 0), ValueRange(1, 1)):
        return span == ValueRange(1, 1)
    test = match.producer(0, "Less", "GreaterOrEqual", "Greater", "LessOrEqual")
    if test is None:
        return None
    left, right = test.integers_of(0), test.integers_of(1)
    op_type = test.op_type
    if right is None and left is not None:  # k < i is i > k
        left, right, at = right, left, 1
        op_type = {"Less": "Greater", "Greater": "Less", "LessOrEqual": "GreaterOrEqual"}.get(op_type, "LessOrEqual")
    else:
        at = 0
    if right is None or len(right) != 1:
        return None
    (k,) = right
    below, above = {
        "Less": (k - 1, k), "LessOrEqual": (k, k + 1), "Greater": (k, k + 1), "GreaterOrEqual": (k - 1, k)
    }[op_type]  # fmt: skip
    is_less = op_type in ("Less", "LessOrEqual")
    if test.is_at_least(at, above):
        return not is_less
    if test.is_at_most(at, below):
        return is_less
    return None


@rewrites.rewrites("GatherElements", since=11)
def gather_elements_of_one(match: Match) -> Rewrite | None:
    """GatherElements(x, i, axis) == x, where i has the shape of x and the axis has length 1: i must be 0 or -1."""
    data = match.shape(0)
    if data is None or match.is_faulty or not match.same_shape(data, match.shape(1)):
        return None
    axis = match.axis(len(data))
    if axis is None or not match.equal(data[axis], 1):
        return None
    return match.replace_with("GatherElements of the only position of an axis is its data", match.input(0))
