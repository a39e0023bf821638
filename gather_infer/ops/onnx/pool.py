"""Rules of poolings over windows, global poolings and MaxUnpool."""

from __future__ import annotations

from typing import Final

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.preconditions import (
    refuse_other_ranks,
    require_min_rank,
    require_rank,
    require_shape,
    unknown_dims,
)
from gather_infer.ops.semantics.windows import (
    auto_pad,
    count_pool_ceil,
    count_pool_floor,
    count_same,
    kernel_shape,
    windows,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, product
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange

rules = RuleSet("")

RANKS: Final = (3, 4, 5)
"""Input ranks for which onnxruntime implements pooling."""


def pool_shape(op: OpCall, x: Shape | None) -> Shape | None:
    """Shape of the result of a pooling over an input of shape `x`; of new symbols when `x` is None.

    x       [N, C, D1, ..., Dn], n >= 1
    result  [N, C, o1, ..., on], oi = (Di + pads - extent)//stride + 1, extent = dilation*(ki - 1) + 1

    With ceil_mode the division rounds up, but a window that starts in the end padding does not count. SAME padding
    gives oi = ceil(Di/stride) with and without ceil_mode. VALID padding is the formula without pads. With VALID and
    ceil_mode the specification rounds down, but runtimes and the reference implementation of ONNX round up.

    Raises SpecViolation when the rank of `x` or the length of an attribute does not fit kernel_shape, an attribute is
    malformed, or a window is longer than its padded axis.
    """
    require_min_rank(x, 3, "X")
    kernel = kernel_shape(op, None)
    if kernel is None:
        raise SpecViolation("attribute kernel_shape is missing", "GI106")
    require_rank(x, len(kernel) + 2, "X, by kernel_shape,")
    mode = auto_pad(op)
    slides = windows(op, kernel, mode)
    if x is None:
        return unknown_dims(op, len(kernel) + 2, "the shape of X is not known")
    refuse_other_ranks(op, x, RANKS, "X")
    _refuse_empty_images(op, x)
    count = count_same if mode == "SAME" else count_pool_ceil if op.attr("ceil_mode", 0) else count_pool_floor
    return x[:2] + tuple(count(op, size, window) for size, window in zip(x[2:], slides, strict=True))


def _refuse_empty_images(op: OpCall, x: Shape) -> None:
    """Record that onnxruntime accepts an empty input, of shape `x` = [N, C, D1, ..., Dn], only when N is 0."""
    for dim in x[1:]:
        op.add_runtime_constraint((1, "<=", dim), (x[0], "==", 0))


@rules.rule("AveragePool", since=1)
def average_pool(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__AveragePool.html (version 10 adds ceil_mode, 19 adds dilations)"""
    x = op.tensor(0)
    return [SymbolicTensor(x.dtype, pool_shape(op, x.shape))]


@rules.rule("LpPool", since=1)
def lp_pool(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__LpPool.html (version 18 adds ceil_mode and dilations)

    Version 1 does not require attribute kernel_shape; without it the spatial dims of the result are unknown.
    """
    x = op.tensor(0)
    if op.version < 2 and op.attr("kernel_shape") is None:
        shape = x.shape and x.shape[:2] + unknown_dims(op, len(x.shape) - 2, "attribute kernel_shape is missing")
        return [SymbolicTensor(x.dtype, shape)]
    return [SymbolicTensor(x.dtype, pool_shape(op, x.shape))]


@rules.rule("MaxPool", since=1)
def max_pool(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MaxPool.html (version 8 adds Indices, 10 adds ceil_mode and dilations)

    Indices  int64, shape of Y: positions in the flattened X, in [0, N*C*D1*...*Dn - 1]
    """
    x = op.tensor(0)
    shape = pool_shape(op, x.shape)
    y = SymbolicTensor(x.dtype, shape)
    if len(op.outputs) < 2:
        return [y]
    return [y, SymbolicTensor(DType.INT64, shape, value_range=_positions(x.shape))]


def _positions(shape: Shape | None) -> ValueRange:
    if shape is None:
        return ValueRange(0, None)
    try:
        return ValueRange(0, product(shape) - 1)
    except DimTooLarge:
        return ValueRange(0, None)


@rules.rule("GlobalAveragePool", since=1)
@rules.rule("GlobalMaxPool", since=1)
@rules.rule("GlobalLpPool", since=1)
def global_pool(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html, onnx__GlobalMaxPool.html, onnx__GlobalLpPool.html

    [N, C, D1, ..., Dn] -> [N, C, 1, ..., 1]
    """
    x = op.tensor(0)
    shape = require_min_rank(x.shape, 2, "X")
    if shape is not None:
        refuse_other_ranks(op, shape, RANKS, "X")
        _refuse_empty_images(op, shape)
    return [SymbolicTensor(x.dtype, None if shape is None else shape[:2] + (1,) * (len(shape) - 2))]


@rules.rule("MaxUnpool", since=9, addresses={1: 0}, operands={2: "the sizes of the result"}, dims=(2,))
def max_unpool(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MaxUnpool.html

    X, I          [N, C, D1, ..., Dn]
    output_shape  [n + 2], all dims of the result
    result        the dims in output_shape or, without it, [N, C, o1, ..., on], oi = stride*(Di - 1) + ki - pads

    An element of I is a position in the flattened result.
    """
    shape = _unpooled(op)
    indices = op.tensor(1)
    check_bounds(op, indices, known_numbers(op, 1), product(shape), Indexing(from_end=False),
                 axis=None, data=describe(SymbolicTensor(op.tensor(0).dtype, shape), "the result"))  # fmt: skip
    return [SymbolicTensor(op.tensor(0).dtype, shape)]


def _unpooled(op: OpCall) -> Shape:
    """The shape of the result of MaxUnpool, from input output_shape if present, else from X, I and the window."""
    x, indices, wanted = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    require_min_rank(x.shape, 3, "X")
    kernel = kernel_shape(op, None)
    if kernel is None:
        raise SpecViolation("attribute kernel_shape is missing", "GI106")
    require_rank(x.shape, len(kernel) + 2, "X, by kernel_shape,")
    refuse_other_ranks(op, x.shape, RANKS, "X")
    slides = windows(op, kernel, "NOTSET")
    shape = x.shape
    if shape is not None:
        shape = require_shape(op, indices.shape, shape, "I")
    elif indices.shape is not None:
        shape = require_rank(indices.shape, len(kernel) + 2, "I, by kernel_shape,")
    spatial: list[Dim] = []
    for size, window in zip(shape[2:] if shape is not None else (), slides, strict=False):
        spatial.append(window.stride * (size - 1) + window.extent - window.begin - window.end)
        op.add_runtime_constraint((1, "<=", spatial[-1]))
    if wanted is not None:
        found = _requested_shape(op, wanted, len(kernel) + 2, shape)
        for least, length in zip(spatial, found[2:], strict=False):
            op.add_runtime_constraint((least, "<=", length))
        return found
    if shape is None:
        return tuple(unknown_dims(op, len(kernel) + 2, "the shape of X is not known"))
    for length in spatial:
        op.add_implied_fact(length)
    return shape[:2] + tuple(spatial)


def _requested_shape(op: OpCall, output_shape: SymbolicTensor, rank: int, x: Shape | None) -> Shape:
    """The elements of `output_shape` as `rank` dims.

    An unknown element at position 0 or 1 is replaced by N or C of `x` [N, C, ...], any other by a new symbol.
    """
    require_rank(output_shape.shape, 1, "output_shape")
    if output_shape.shape is not None:
        op.require_equal(output_shape.shape[0], rank, "the length of output_shape and the rank of X")
    elements = [None] * rank if output_shape.values is None else list(output_shape.values)
    head = () if x is None else x[:2]
    shape: list[Dim] = []
    for axis, element in enumerate(elements):
        if element is None:
            known = head[axis] if axis < len(head) else None
            shape.append(op.fresh(f"output_shape[{axis}] is not known") if known is None else known)
        else:
            op.add_implied_fact(element)
            if axis < len(head):
                op.add_runtime_constraint((head[axis], "==", element))
            shape.append(element)
    return tuple(shape)
