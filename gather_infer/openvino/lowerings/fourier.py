"""Fourier transforms, whole (DFT) and of frames (STFT).

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/signals/

A complex tensor has real and imaginary parts along its last axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.dialect import LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, numpy_of
from gather_infer.openvino.lowerings.layer_view import MAX_GENERATED, LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import WIDE_FLOATS
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_SIZES = 2


def _wide(op: LayerView) -> DType:
    return WIDE_FLOATS.get(op.dtype(0), op.dtype(0))


def _transform(
    g: FunctionBuilder, x: str, axis: int, length: str = "", *, inverse: bool = False, half: bool = False
) -> str:
    """ONNX's DFT of `x` along `axis`, truncated or padded with zeros to `length` elements ("": not changed).

    half   return only the first half of the result, which determines the rest for real data
    """
    attributes = {"inverse": int(inverse) or None, "onesided": int(half) or None}
    if g.opset < 20:
        return g.DFT(x, length, axis=axis, **attributes)
    return g.DFT(x, length, g.scalar(axis, DType.INT64), **attributes)


def _length(op: LayerView, g: FunctionBuilder, axes: Sequence[int], position: int) -> str:
    """The entry of signal_size for `axes[position]`, an int64 scalar; "" for the whole axis."""
    if not op.has(_SIZES):
        return ""
    axis, sizes = axes[position], op.ints(_SIZES, count=len(axes))
    if sizes is not None:
        return "" if sizes[position] == -1 else g.scalar(sizes[position], DType.INT64)
    given = g.Gather(g.cast(op.x(_SIZES), op.dtype(_SIZES), DType.INT64), g.scalar(position, DType.INT64))
    whole = g.squeeze(g.dim(op.x(0), axis), 0)
    return g.Where(g.Less(given, g.scalar(0, DType.INT64)), whole, given)


@lowers("DFT", "IDFT", since=7)
def dft(op: LayerView, g: FunctionBuilder) -> str:
    """dft-7, idft-7: a DFT along each of the axes.

    Inputs: data [..., 2], axes [k], signal_size [k] (optional). Negative axes count without the last axis of data.
    """
    wide = _wide(op)
    x = g.cast(op.x(0), op.dtype(0), wide)
    axes = op.axes(1, op.rank(0) - 1)
    for position, axis in reversed(list(enumerate(axes))):
        x = _transform(g, x, axis, _length(op, g, axes, position), inverse=op.op_type == "IDFT")
    return g.cast(x, wide, op.dtype(0))


@lowers("RDFT", since=9)
def rdft(op: LayerView, g: FunctionBuilder) -> str:
    """rdft-9: a DFT along each of the axes, one-sided along the last entry of `axes`.

    Inputs: real data, axes [k], signal_size [k] (optional). Along `axes[-1]`, of n elements, the result has n // 2 + 1.
    """
    wide = _wide(op)
    x = g.unsqueeze(g.cast(op.x(0), op.dtype(0), wide), -1)
    axes = op.axes(1, op.rank(0))
    for position, axis in reversed(list(enumerate(axes))):
        half = position == len(axes) - 1
        x = _transform(g, x, axis, _length(op, g, axes, position), half=half)
    return g.cast(x, wide, op.dtype(0))


@lowers("IRDFT", since=9)
def irdft(op: LayerView, g: FunctionBuilder) -> str:
    """irdft-9: the inverse of RDFT, by inverse DFTs.

    Inputs: data [..., 2], axes [k], signal_size [k] (optional).

    Along `axes[-1]` the data holds the first half of a spectrum; the second half is its conjugates in reverse order.
    """
    wide = _wide(op)
    x = g.cast(op.x(0), op.dtype(0), wide)
    rank = op.rank(0) - 1
    axes = op.axes(1, rank)
    if not axes:
        raise SpecViolation("IRDFT needs an axis at least", "GI106")
    for position, axis in enumerate(axes[:-1]):
        x = _transform(g, x, axis, _length(op, g, axes, position), inverse=True)
    last = axes[-1]
    one, two = g.i64(1), g.i64(2)
    size = _real_size(op, g, axes)
    count = g.Add(g.Div(size, two), one)
    lacking = g.Max(g.Sub(count, g.dim(x, last)), g.i64(0))
    along = g.i64(last)
    half = g.Slice(g.Pad(x, g.concat(g.i64(0), lacking), None, along), g.i64(0), count, along)
    rest = g.Slice(half, g.Sub(size, count), g.i64(0), along, g.i64(-1))
    whole = g.Concat(half, g.Mul(rest, g.const(np.array([1, -1], numpy_of(wide)))), axis=last)
    real = g.Slice(_transform(g, whole, last, inverse=True), g.i64(0), one, g.i64(rank))
    return g.cast(g.squeeze(real, rank), wide, op.dtype(0))


def _real_size(op: LayerView, g: FunctionBuilder, axes: Sequence[int]) -> str:
    """Length of the real data along `axes[-1]`, an int64 vector of one element.

    It is the last entry of signal_size, or by default 2 * (n - 1) for n elements of the input.
    """
    default = g.Mul(g.Sub(g.dim(op.x(0), axes[-1]), g.i64(1)), g.i64(2))
    if not op.has(_SIZES):
        return default
    sizes = op.ints(_SIZES, count=len(axes))
    if sizes is not None:
        return default if sizes[-1] == -1 else g.i64(sizes[-1])
    given = g.Slice(g.cast(op.x(_SIZES), op.dtype(_SIZES), DType.INT64), g.i64(-1), g.i64(1 << 31), g.i64(0))
    return g.Where(g.Less(given, g.i64(0)), default, given)


@lowers("STFT", since=15)
def stft(op: LayerView, g: FunctionBuilder) -> str:
    """stft-15: ONNX's STFT, with the window padded to the length of a frame.

    signal   [L] or [batch, L]
    window   [w]; frame_size [], frame_step []
    result   [batch, frames, frame_size // 2 + 1, 2], without batch for [L]; with `transpose_frames`, the frequency axis
             comes before the axis of frames
    """
    wide = _wide(op)
    size, step = (_scalar(op, g, i) for i in (2, 3))
    signal = g.unsqueeze(g.cast(op.x(0), op.dtype(0), wide), *([0, 2] if op.rank(0) == 1 else [2]))
    window = _window(op, g, wide)
    made = g.STFT(signal, step, window, size, onesided=1)
    if op.flag("transpose_frames", False):
        made = g.Transpose(made, perm=[0, 2, 1, 3])
    return g.cast(made if op.rank(0) > 1 else g.squeeze(made, 0), wide, op.dtype(0))


def _scalar(op: LayerView, g: FunctionBuilder, index: int) -> str:
    known = op.ints(index, count=1)
    if known is not None:
        return g.scalar(known[0], DType.INT64)
    return g.as_scalar(g.cast(op.x(index), op.dtype(index), DType.INT64))


def _window(op: LayerView, g: FunctionBuilder, wide: DType) -> str:
    """The window in input 1, cast to `wide` and padded with zeros on both sides to the length of a frame."""
    window = g.cast(op.x(1), op.dtype(1), wide)
    frame, width = op.ints(2, count=1), op.size(1, 0)
    if frame is not None and width == frame[0]:
        return window
    size = g.i64(frame[0]) if frame is not None else g.Reshape(_scalar(op, g, 2), g.i64(1))
    lacking = g.Sub(size, g.Shape(window))
    before = g.Div(lacking, g.i64(2))
    return g.Pad(window, g.concat(before, g.Sub(lacking, before)))


@lowers("ISTFT", since=16)
def istft(op: LayerView, g: FunctionBuilder) -> str:
    """istft-16: an inverse transform of each frame by MatMul, then overlap-add by ConvTranspose.

    data     [batch, bins, frames, 2] or [bins, frames, 2], where bins is frame_size // 2 + 1
    window   [w]; frame_size [], frame_step [], length [] (optional)
    result   [batch, length] or [length]

    The sum of overlapping frames is divided by the sum of the squared windows.
    """
    frame, steps, wide = op.ints(2, count=1, lower=1), op.ints(3, count=1, lower=1), _wide(op)
    if frame is None or steps is None:
        raise LoweringRefused("frame_size and frame_step have to be constants")
    (size,), (step,) = frame, steps
    if size > MAX_GENERATED:
        raise LoweringRefused(f"frames of {size} numbers, more than {MAX_GENERATED} are not converted")
    batched = op.rank(0) == 4
    data = g.cast(op.x(0), op.dtype(0), wide)
    frames = _frames(g, data if batched else g.unsqueeze(data, 0), size, wide)
    if op.flag("normalized", False):
        frames = g.Mul(frames, g.scalar(float(size) ** 0.5, wide))
    window = g.unsqueeze(_window(op, g, wide), 0, 2)
    one = g.i64(1)
    squares = g.Expand(g.Mul(window, window), g.concat(one, one, g.dim(frames, 2)))
    total, weight = (_added(g, x, size, step, wide) for x in (g.Mul(frames, window), squares))
    is_covered = g.Greater(weight, g.scalar(1e-10, wide))
    signal = g.squeeze(g.Where(is_covered, g.Div(total, g.Where(is_covered, weight, g.scalar(1, wide))), total), 1)
    signal = _cut(op, g, signal, size)
    return g.cast(signal if batched else g.squeeze(signal, 0), wide, op.dtype(0))


def _frames(g: FunctionBuilder, data: str, size: int, wide: DType) -> str:
    """The real frames [batch, size, frames] whose one-sided transforms are `data` [batch, bins, frames, 2]."""
    turned = g.Transpose(data, perm=[0, 2, 1, 3])
    real, imaginary = (g.Gather(turned, g.scalar(part, DType.INT64), axis=3) for part in (0, 1))
    bins = size // 2 + 1
    angles = np.arange(bins)[:, None] * np.arange(size) * 2 * np.pi / size
    # every bin but 0 and size / 2 represents a pair of conjugates
    twice = np.full((bins, 1), 2.0 / size)
    twice[0] = 1.0 / size
    if size % 2 == 0:
        twice[-1] = 1.0 / size
    cosines, sines = (np.asarray(turn * twice, numpy_of(wide)) for turn in (np.cos(angles), -np.sin(angles)))
    frames = g.Add(g.MatMul(real, g.const(cosines)), g.MatMul(imaginary, g.const(sines)))
    return g.Transpose(frames, perm=[0, 2, 1])


def _added(g: FunctionBuilder, frames: str, size: int, step: int, wide: DType) -> str:
    """The sum of overlapping `frames` [batch, size, n], `step` apart: [batch, 1, (n - 1) * step + size].

    By a ConvTranspose with the identity matrix as weights.
    """
    single = DType.FLOAT32
    unit = g.const(np.eye(size, dtype=np.float32)[:, None, :])
    return g.cast(g.ConvTranspose(g.cast(frames, wide, single), unit, strides=[step]), single, wide)


def _cut(op: LayerView, g: FunctionBuilder, signal: str, size: int) -> str:
    """`signal` [batch, n] without its first and its last half frame if the attribute `center` is set.

    If input 4 holds a length, only the first half frame is dropped; the rest is cut or zero-padded to that length.
    """
    axis, start = g.i64(1), size // 2 if op.flag("center", False) else 0
    if not op.has(4):
        return g.Slice(signal, g.i64(start), g.i64(-start), axis) if start else signal
    length = g.Reshape(_scalar(op, g, 4), g.i64(1))
    stop = g.Add(length, g.i64(start))
    lacking = g.Max(g.Sub(stop, g.dim(signal, 1)), g.i64(0))
    padded = g.Pad(signal, g.concat(g.i64(0), lacking), None, axis)
    return g.Slice(padded, g.i64(start), stop, axis)
