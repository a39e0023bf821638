"""Rearrangement of blocks between axes by Reshape and Transpose: space, depth, batch, channels, image patches.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/
"""

from __future__ import annotations

from math import prod

from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import Length, iota, lengths, over, plus, times, vector
from gather_infer.openvino.lowerings.type_legalization import FOR_MIN_MAX, legalized
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers


def sizes(op: LayerView, g: FunctionBuilder, axis: int, *, times: int = 1, over: int = 1) -> str:
    """The dim of input 0 at `axis`, divided by `over` and multiplied by `times`, as an int64 vector of one element.

    Raises SpecViolation when `over` does not divide a known dim.
    """
    known = op.size(0, axis)
    if known is not None:
        if known % over:
            raise SpecViolation(f"dim {known} of axis {axis} is no multiple of {over}", "GI301")
        return g.i64(known * times // over)
    dim = g.dim(op.x(0), axis)
    dim = dim if over == 1 else g.Div(dim, g.i64(over))
    return dim if times == 1 else g.Mul(dim, g.i64(times))


@lowers("DepthToSpace")
def depth_to_space(op: LayerView, g: FunctionBuilder) -> str:
    """depth-to-space-1: Reshape, Transpose, Reshape, for k spatial axes and b = block_size.

    data    [n, c * b^k, s1, ..., sk]
    output  [n, c, s1 * b, ..., sk * b]

    ONNX's DepthToSpace only takes k = 2.
    """
    block, k = op.integer("block_size", 1), op.rank(0) - 2
    first = op.text("mode", choices=("blocks_first", "depth_first")) == "blocks_first"
    batch, space = sizes(op, g, 0), [sizes(op, g, 2 + i) for i in range(k)]
    depth, blocks = sizes(op, g, 1, over=block**k), [g.i64(block)] * k
    cut = g.concat(batch, *((*blocks, depth) if first else (depth, *blocks)), *space)
    channel, inner = (k + 1, 1) if first else (1, 2)
    order = [0, channel, *(axis for i in range(k) for axis in (k + 2 + i, inner + i))]
    result = g.concat(batch, depth, *(sizes(op, g, 2 + i, times=block) for i in range(k)))
    return g.Reshape(g.transpose(g.Reshape(op.x(0), cut, allowzero=1), order), result, allowzero=1)


@lowers("SpaceToDepth")
def space_to_depth(op: LayerView, g: FunctionBuilder) -> str:
    """space-to-depth-1: Reshape, Transpose, Reshape, for k spatial axes and b = block_size.

    data    [n, c, s1 * b, ..., sk * b]
    output  [n, c * b^k, s1, ..., sk]
    """
    block, k = op.integer("block_size", 1), op.rank(0) - 2
    first = op.text("mode", choices=("blocks_first", "depth_first")) == "blocks_first"
    batch, depth = sizes(op, g, 0), sizes(op, g, 1)
    space = [sizes(op, g, 2 + i, over=block) for i in range(k)]
    cut = g.concat(batch, depth, *(part for size in space for part in (size, g.i64(block))))
    inner, outer = [3 + 2 * i for i in range(k)], [2 + 2 * i for i in range(k)]
    order = [0, *inner, 1, *outer] if first else [0, 1, *inner, *outer]
    result = g.concat(batch, sizes(op, g, 1, times=block**k), *space)
    return g.Reshape(g.transpose(g.Reshape(op.x(0), cut, allowzero=1), order), result, allowzero=1)


@lowers("BatchToSpace", since=2)
def batch_to_space(op: LayerView, g: FunctionBuilder) -> str:
    """batch-to-space-2: Reshape, Transpose, Reshape, then a Slice that crops.

    data                     [n * b1 * ... * bk, s1, ..., sk]
    block_shape              [1, b1, ..., bk]
    crops_begin, crops_end   [k + 1]
    output                   [n, s1 * b1, ..., sk * bk], cropped
    """
    rank = op.rank(0)
    k = rank - 1
    blocks, begins, ends = (lengths(op, g, index, rank) for index in (1, 2, 3))
    dims = [_dim(op, g, axis) for axis in range(rank)]
    batch = dims[0]
    for block in blocks[1:]:
        batch = over(g, batch, block)
    cut = g.Reshape(op.x(0), _joined(g, *blocks[1:], batch, *dims[1:]), allowzero=1)
    moved = g.transpose(cut, [k, *(axis for i in range(k) for axis in (k + 1 + i, i))])
    space = [times(g, dim, block) for dim, block in zip(dims[1:], blocks[1:], strict=True)]
    whole = [batch, *space]
    y = g.Reshape(moved, _joined(g, *whole), allowzero=1)
    axes = [axis for axis in range(rank) if begins[axis] != 0 or ends[axis] != 0]
    if not axes:
        return y
    last = [plus(g, whole[axis], times(g, ends[axis], -1)) for axis in axes]
    return g.Slice(y, _joined(g, *(begins[axis] for axis in axes)), _joined(g, *last), g.i64(*axes))


@lowers("SpaceToBatch", since=2)
def space_to_batch(op: LayerView, g: FunctionBuilder) -> str:
    """space-to-batch-2: a Pad with zeros, then Reshape, Transpose, Reshape.

    data                   [n, s1 * b1, ..., sk * bk] once padded
    block_shape            [1, b1, ..., bk]
    pads_begin, pads_end   [k + 1]
    output                 [n * b1 * ... * bk, s1, ..., sk]
    """
    rank, x = op.rank(0), op.x(0)
    k = rank - 1
    blocks, begins, ends = (lengths(op, g, index, rank) for index in (1, 2, 3))
    if any(pad != 0 for pad in (*begins, *ends)):
        x = legalized(g, op.dtype(0), lambda a: g.Pad(a, _joined(g, *begins, *ends)), x, by=FOR_MIN_MAX)
    batch = _dim(op, g, 0)
    space, parts = [], []
    for axis in range(1, rank):
        padded = plus(g, plus(g, _dim(op, g, axis), begins[axis]), ends[axis])
        space.append(over(g, padded, blocks[axis]))
        parts += [space[-1], blocks[axis]]
    cut = g.Reshape(x, _joined(g, batch, *parts), allowzero=1)
    moved = g.transpose(cut, [*(2 + 2 * i for i in range(k)), 0, *(1 + 2 * i for i in range(k))])
    for block in blocks[1:]:
        batch = times(g, batch, block)
    return g.Reshape(moved, _joined(g, batch, *space), allowzero=1)


def _dim(op: LayerView, g: FunctionBuilder, axis: int) -> Length:
    known = op.size(0, axis)
    return g.dim(op.x(0), axis) if known is None else known


def _joined(g: FunctionBuilder, *sizes: Length) -> str:
    """An int64 vector of `sizes`; a constant when all of them are numbers."""
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        return g.i64(*known)
    return g.concat(*(g.i64(size) if isinstance(size, int) else size for size in sizes))


@lowers("ShuffleChannels")
def shuffle_channels(op: LayerView, g: FunctionBuilder) -> str:
    """shuffle-channels-1: Reshape of an axis of groups * c channels to [groups, c], Transpose, Reshape."""
    rank, group = op.rank(0), op.integer("group", 1)
    axis = op.normalized_axis(op.integer("axis", 1), rank)
    dims = [sizes(op, g, i) for i in range(rank)]
    cut = g.concat(*dims[:axis], g.i64(group), sizes(op, g, axis, over=group), *dims[axis + 1 :])
    order = [*range(axis), axis + 1, axis, *range(axis + 2, rank + 1)]
    return g.Reshape(g.transpose(g.Reshape(op.x(0), cut, allowzero=1), order), g.Shape(op.x(0)), allowzero=1)


@lowers("ExtractImagePatches", since=3)
def extract_image_patches(op: LayerView, g: FunctionBuilder) -> str:
    """extract-image-patches-3: a Gather along each of the two spatial axes, then a Transpose.

    data    [n, c, h, w]
    output  [n, kh * kw * c, rows, columns]: the flattened patch at each of rows * columns window positions
    """
    x = op.x(0)
    kernel, strides, rates = (op.integers(name, count=2, lower=1) for name in ("sizes", "strides", "rates"))
    auto_pad = op.text("auto_pad", choices=("valid", "same_upper", "same_lower"))
    windows = [_Window(op, g, 2 + i, *of, auto_pad) for i, of in enumerate(zip(kernel, strides, rates, strict=True))]
    pads = [g.i64(0, 0), *(window.before for window in windows), g.i64(0, 0), *(window.after for window in windows)]
    if auto_pad != "valid":
        x = legalized(g, op.dtype(0), lambda a: g.Pad(a, g.concat(*pads)), x, by=FOR_MIN_MAX)
    rows, columns = (window.positions for window in windows)
    picked = g.Gather(g.Gather(x, columns, axis=3), rows, axis=2)  # [n, c, kh, rows, kw, columns]
    moved = g.transpose(picked, [0, 2, 4, 1, 3, 5])
    depth = sizes(op, g, 1, times=prod(kernel))
    return g.Reshape(moved, g.concat(sizes(op, g, 0), depth, *(window.count for window in windows)), allowzero=1)


class _Window:
    """Positions of a sliding window of `size` elements along `axis` of input 0, as names of int64 tensors.

    count          [1], number of window positions
    before, after  [1], numbers of zeros to pad the axis with
    positions      [size, count], index into the padded axis of each element of the window at each position
    """

    def __init__(
        self, op: LayerView, g: FunctionBuilder, axis: int, size: int, stride: int, rate: int, auto_pad: str
    ) -> None:  # fmt: skip
        dim, reach = g.dim(op.x(0), axis), (size - 1) * rate + 1
        self.before = self.after = g.i64(0)
        if auto_pad == "valid":
            fits = g.Max(g.Sub(dim, g.i64(reach - stride)), g.i64(0))
            self.count = g.Div(fits, g.i64(stride))
        else:
            self.count = g.Div(g.Add(dim, g.i64(stride - 1)), g.i64(stride))
            covered = g.Mul(g.Sub(self.count, g.i64(1)), g.i64(stride))
            total = g.Max(g.Sub(g.Add(covered, g.i64(reach)), dim), g.i64(0))
            small = g.Div(total, g.i64(2))
            large = g.Sub(total, small)
            self.before, self.after = (small, large) if auto_pad == "same_upper" else (large, small)
        starts = g.Mul(iota(g, self.count), g.i64(stride))
        self.positions = g.Add(g.const([[i * rate] for i in range(size)], "<i8"), starts)


@lowers("Col2Im", since=15)
def col2im(op: LayerView, g: FunctionBuilder) -> str:
    """col2im-15: Col2Im, the sum of overlapping patches.

    data         [n, c * kh * kw, patches] or [c * kh * kw, patches]
    output_size  [2], h and w
    kernel_size  [2], kh and kw
    output       [n, c, h, w] or [c, h, w]
    """
    ones = [1, 1]
    pads = [pad for name in ("pads_begin", "pads_end") for pad in op.integers(name, (0, 0), count=2, lower=0)]
    steps = {name: op.integers(name, ones, count=2, lower=1) for name in ("strides", "dilations")}
    attributes = {**steps, "pads": pads}
    unbatched = op.rank(0) == 2

    def image(x: str) -> str:
        batched = g.unsqueeze(x, 0) if unbatched else x
        made = g.Col2Im(batched, vector(op, g, 1), vector(op, g, 2), **attributes)
        return g.squeeze(made, 0) if unbatched else made

    dtype = op.dtype(0)
    return legalized(g, dtype, image, op.x(0), by={dtype: DType.FLOAT32})
