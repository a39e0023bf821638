"""Rules of operators whose output sizes come from an input: Pad, CenterCropPad, Col2Im, GridSample, AffineGrid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.operands import (
    Values,
    all_ints,
    element_dim,
    elements_of,
    elements_of_vector,
    joint_range,
    static_shape,
    tracked_values,
    unique_axes,
    zero_of,
)
from gather_infer.ops.semantics.preconditions import (
    refuse_empty,
    refuse_other_ranks,
    require_divisible,
    require_min_rank,
    require_rank,
)
from gather_infer.ops.semantics.windows import windows
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, floordiv, known_le, maximum, minimum, product
from gather_infer.tensor import Shape, SymbolicTensor, ValueRange, format_shape, holds_values, make_values
from gather_infer.value_ranges import explicit_range, hull

rules = RuleSet("")


@rules.rule("Pad", since=1)
def onnx_pad_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Pad.html (version 1: the pads are attribute `paddings`)"""
    return [pad(op, op.tensor(0), list(op.attr("paddings", ())), fill=_number(op), mode=op.attr("mode", "constant"))]


@rules.rule("Pad", since=2)
def onnx_pad_2(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Pad.html (version 2: the pads are attribute `pads`)"""
    return [pad(op, op.tensor(0), list(op.attr("pads", ())), fill=_number(op), mode=op.attr("mode", "constant"))]


def _number(op: OpCall) -> SymbolicTensor:
    return SymbolicTensor(op.tensor(0).dtype, (), make_values(op.attr("value", 0.0)))


@rules.rule(
    "Pad",
    since=11,
    operands={1: "two pads per axis, which remove no more than its length", 3: "different axes"},
    dims=(1,),
)
def onnx_pad(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Pad.html (version 11: pads is an input; 18 adds axes, 19 adds mode wrap)"""
    data, mode = op.tensor(0), op.attr("mode", "constant")
    pads, fill = elements_of_vector(op, op.tensor(1), "pads"), op.optional_tensor(2)
    if not op.has(3):
        return [pad(op, data, pads, fill=fill, mode=mode)]
    axes = all_ints(elements_of_vector(op, op.tensor(3), "axes"))
    if axes is None:
        rank = data.rank
        shape = None if rank is None else tuple(op.fresh("axes are not known") for _ in range(rank))
        return [SymbolicTensor(data.dtype, shape, None, _padded_range(op, data, fill, mode))]
    return [pad(op, data, pads, axes=axes, fill=fill, mode=mode)]


def pad(
    op: OpCall,
    data: SymbolicTensor,
    pads: Sequence[Dim | None] | None,
    *,
    axes: Sequence[int] | None = None,
    fill: SymbolicTensor | None = None,
    mode: str = "constant",
) -> SymbolicTensor:
    """`data` with elements added before and after each axis, or removed where a pad is negative.

    data    [d0, ..., dr-1]
    pads    2 * len(axes) counts: first the counts before each axis, then the counts after each axis. None for an
            unknown count; `pads` is None when all counts are unknown
    axes    the padded axes; None for all axes
    fill    the added element in mode constant, a tensor with one element; 0 when None
    mode    constant, reflect, edge or wrap
    result  di + before + after at each padded axis, di at every other

    Raises SpecViolation when `pads` has another length, an axis is outside [-r, r-1], a result dim is negative, `fill`
    does not have one element, or an axis is too short for `mode`.
    """
    if fill is not None and fill.shape is not None:
        message = f"constant_value must be a scalar, has shape {format_shape(fill.shape)}"
        for dim in fill.shape:
            op.require((dim, "==", 1), otherwise=message)
    span = _padded_range(op, data, fill, mode)
    if data.shape is None:
        rank = len(pads) // 2 if pads is not None and axes is None else None
        shape = None if rank is None else tuple(op.fresh("the rank of the input is not known") for _ in range(rank))
        return SymbolicTensor(data.dtype, shape, None, span)
    if not data.shape:
        op.add_unchecked("onnxruntime pads no scalar")
    padded = list(range(len(data.shape))) if axes is None else unique_axes(axes, len(data.shape))
    if pads is None:
        pads = [None] * (2 * len(padded))
    if len(pads) != 2 * len(padded):
        raise SpecViolation(f"pads must have {2 * len(padded)} elements, two per padded axis, has {len(pads)}")
    dims = list(data.shape)
    if mode == "wrap":
        refuse_empty(op, *dims)
    for i, axis in enumerate(padded):
        before, after = pads[i], pads[i + len(padded)]
        if mode != "constant" and before is not None and after is not None:
            _require_source(op, data.shape, before, after, mode, axis)
        dims[axis] = _padded(op, dims[axis], before, after, axis)
    result = tuple(dims)
    values = _padded_values(data, padded, all_ints(pads), fill, result) if mode == "constant" else None
    return SymbolicTensor(data.dtype, result, values, span)


def _require_source(op: OpCall, shape: Shape, before: Dim, after: Dim, mode: str, axis: int) -> None:
    """Require that `axis` has enough elements for `mode`, which is not constant, to fill the pads `before` and `after`.

    Negative pads remove elements first. Then each positive pad needs one element more than its width in mode reflect,
    and one element in modes edge and wrap. For data with a dim of 0, modes reflect and edge only require that no axis
    of length 0 grows.
    """
    dim = shape[axis]
    left = dim + minimum(0, before, scope=op.scope) + minimum(0, after, scope=op.scope)
    message = f"elements cannot be added to axis {axis} of length {dim} in mode {mode}"
    grows = known_le(before + after, 0, op.scope) is False
    empty = (d for at, d in enumerate(shape) if at != axis or not grows)
    nothing = [] if mode == "wrap" else [(d, "==", 0) for d in empty if isinstance(d, Expr) or d == 0]
    if left is not dim:
        op.add_runtime_constraint((1, "<=", left), *nothing)
    for width in (before, after):
        least = width + 1 if mode == "reflect" else 1
        op.require((width, "<=", 0), (least, "<=", left), *nothing, otherwise=f"{width} {message}")
    if nothing:
        grown = dim + before + after
        op.require((1, "<=", dim), (grown, "<=", 0), otherwise=f"{grown} {message}")


def _padded(op: OpCall, dim: Dim, before: Dim | None, after: Dim | None, axis: int) -> Dim:
    if before is None or after is None:
        return op.fresh("pads are not known")
    added = before + after
    if isinstance(added, int) and added >= 2**63:
        raise SpecViolation(f"pads {before} and {after} of axis {axis} overflow int64")
    size = dim + added
    op.require((0, "<=", size), otherwise=f"pads {before} and {after} cut more than the dim {dim} of axis {axis}")
    return size


def _padded_values(
    data: SymbolicTensor, axes: Sequence[int], pads: list[int] | None, fill: SymbolicTensor | None, shape: Shape
) -> Values | None:
    static = static_shape(shape)
    if data.values is None or pads is None or static is None or not holds_values(static):
        return None
    if not data.values.shape:
        return data.values  # numpy would store the array itself in a result of rank 0
    widths = [(0, 0)] * data.values.ndim
    for i, axis in enumerate(axes):
        widths[axis] = (pads[i], pads[i + len(axes)])
    values = data.values
    for axis, (before, after) in enumerate(widths):
        dim = values.shape[axis]
        kept = range(min(max(-before, 0), dim), max(dim + min(after, 0), 0))
        values = np.take(values, np.asarray(kept, dtype=np.intp), axis)
    grown = [(max(before, 0), max(after, 0)) for before, after in widths]
    filler = zero_of(data.dtype) if fill is None else None if fill.values is None else fill.values.flat[0]
    result = np.full([n + b + a for n, (b, a) in zip(values.shape, grown, strict=True)], filler, dtype=object)
    result[tuple(slice(b, b + n) for n, (b, _) in zip(values.shape, grown, strict=True))] = values
    return tracked_values(result, shape)


def _padded_range(op: OpCall, data: SymbolicTensor, fill: SymbolicTensor | None, mode: str) -> ValueRange | None:
    if mode != "constant":
        return explicit_range(data, op.scope)
    if fill is None:
        return _range_with_zero(op, data)
    return joint_range(op, [data.with_(shape=None), fill])


def _range_with_zero(op: OpCall, data: SymbolicTensor) -> ValueRange | None:
    span = explicit_range(data, op.scope)
    return None if span is None else hull(span, ValueRange(0, 0), scope=op.scope)


@rules.rule("CenterCropPad", since=18, operands={1: "a size per axis"}, dims=(1,))
def onnx_center_crop_pad(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__CenterCropPad.html

    data    [d0, ..., dr-1]
    shape   the target length of each axis in attribute axes or, without the attribute, of every axis. The page does not
            define a length below 0; onnxruntime treats it as 0, unless subtracting it from the dim overflows
    result  data cropped or padded with zeros around its centre
    """
    data, wanted = op.tensor(0), elements_of(op.tensor(1), "shape")
    given = op.attr("axes")
    span = _range_with_zero(op, data)
    if data.shape is None:
        rank = len(wanted) if wanted is not None and given is None else None
        shape = None if rank is None else tuple(op.fresh("the rank of the input is not known") for _ in range(rank))
        return [SymbolicTensor(data.dtype, shape, None, span)]
    axes = list(range(len(data.shape))) if given is None else unique_axes(given, len(data.shape))
    if wanted is None:
        wanted = [None] * len(axes)
    if len(wanted) != len(axes):
        raise SpecViolation(f"shape must have {len(axes)} elements, one per axis, has {len(wanted)}")
    dims = list(data.shape)
    for axis, size in zip(axes, wanted, strict=True):
        if isinstance(size, int) and size < -(2**62):
            dims[axis] = op.fresh(f"the difference to a size of {size} overflows int64")
        else:
            dims[axis] = op.fresh("shape is not known") if size is None else maximum(0, size, scope=op.scope)
    return [SymbolicTensor(data.dtype, tuple(dims), None, span)]


@rules.rule(
    "Col2Im",
    since=18,
    operands={1: "sizes into which the blocks fit", 2: "sizes that divide the channels"},
    dims=(1, 2),
)
def onnx_col2im(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Col2Im.html

    input        [N, C * product(block_shape), L], L blocks
    image_shape  [k]
    block_shape  [k]
    result       [N, C, image_shape[0], ..., image_shape[k-1]]
    """
    data = op.tensor(0)
    shape = require_rank(data.shape, 3, "the input")
    image, block = elements_of(op.tensor(1), "image_shape"), elements_of(op.tensor(2), "block_shape")
    if image is None:
        return [SymbolicTensor(data.dtype)]
    if block is not None and len(block) != len(image):
        raise SpecViolation(f"image_shape and block_shape must have one length, have {len(image)} and {len(block)}")
    sizes = [element_dim(op, e, f"element {i} of image_shape") for i, e in enumerate(image)]
    batch = op.fresh("the input has no known rank") if shape is None else shape[0]
    channels: Dim
    if shape is None or block is None or None in block:
        channels = op.fresh("the input or block_shape is not known")
    else:
        blocks = tuple(element_dim(op, e, f"element {i} of block_shape") for i, e in enumerate(block))
        area = product(blocks)
        op.require((1, "<=", area), otherwise="an element of block_shape must be >= 1, is 0")
        refuse_empty(op, *shape, *sizes)
        rooms = [(size + window.begin + window.end - window.extent, window.stride)
                 for size, window in zip(sizes, windows(op, blocks, "NOTSET"), strict=True)]  # fmt: skip
        op.add_runtime_constraint(
            (shape[2], "==", product([floordiv(room, stride, op.scope) + 1 for room, stride in rooms]))
        )
        if isinstance(area, int):
            require_divisible(op, shape[1], area, "dim 1 of the input")
        channels = floordiv(shape[1], area, op.scope)
    return [SymbolicTensor(data.dtype, (batch, channels, *sizes))]


@rules.rule("GridSample", since=16)
def onnx_grid_sample(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GridSample.html (version 20: any number of spatial axes)

    X       [N, C, D1, ..., Dk], k = 2 in version 16, k >= 1 from version 20 on
    grid    [N, E1, ..., Ek, k]
    result  [N, C, E1, ..., Ek]
    """
    data, grid = op.tensor(0), op.tensor(1)
    require_min_rank(data.shape, 3, "the input")
    require_min_rank(grid.shape, 3, "grid")
    if data.shape is None and grid.shape is None:
        return [SymbolicTensor(data.dtype)]
    if grid.shape is None:
        assert data.shape is not None
        sizes: Shape = tuple(op.fresh("grid has no known rank") for _ in data.shape[2:])
        return [SymbolicTensor(data.dtype, (*data.shape[:2], *sizes))]
    if data.shape is None:
        return [SymbolicTensor(data.dtype, (grid.shape[0], op.fresh("the input has no known rank"), *grid.shape[1:-1]))]
    require_rank(grid.shape, len(data.shape), "grid")
    if op.attr("mode", "linear") in ("cubic", "bicubic"):
        refuse_other_ranks(op, data.shape, (4,), "the input", " with cubic interpolation")
    else:
        refuse_other_ranks(op, data.shape, (4, 5), "the input")
    refuse_empty(op, *data.shape[2:])
    op.require_equal(grid.shape[-1], len(data.shape) - 2, "the last dim of grid and the number of spatial axes")
    batch = op.require_equal(data.shape[0], grid.shape[0], "the batch dims of the input and grid")
    return [SymbolicTensor(data.dtype, (batch, data.shape[1], *grid.shape[1:-1]))]


@rules.rule("AffineGrid", since=20, operands={1: "4 or 5 sizes, those of theta among them"}, dims=(1,))
def onnx_affine_grid(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__AffineGrid.html

    theta   [N, k, k + 1], k is 2 or 3
    size    [k + 2]: N, C, D1, ..., Dk
    result  [N, D1, ..., Dk, k]
    """
    theta, size = op.tensor(0), elements_of(op.tensor(1), "size")
    shape = require_rank(theta.shape, 3, "theta")
    if size is None:
        if shape is None or not isinstance(shape[1], int):
            return [SymbolicTensor(theta.dtype)]
        size = [None] * (shape[1] + 2)
    if len(size) not in (4, 5):
        raise SpecViolation(f"size must have 4 or 5 elements, has {len(size)}")
    k = len(size) - 2
    dims = [element_dim(op, e, f"element {i} of size") for i, e in enumerate(size)]
    batch = dims[0]
    if shape is not None:
        op.require_equal(shape[1], k, "dim 1 of theta and the number of spatial axes")
        op.require_equal(shape[2], k + 1, "dim 2 of theta and the number of spatial axes + 1")
        batch = op.require_equal(shape[0], batch, "the batch dims of theta and size")
    return [SymbolicTensor(theta.dtype, (batch, *dims[2:], k))]
