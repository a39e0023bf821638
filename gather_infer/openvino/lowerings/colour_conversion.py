"""Colour conversion between RGB or BGR and planes of luma and chroma (NV12, I420), BT.601 of limited range.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from collections.abc import Callable

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.tensor_idioms import as_float, axis_slice, dims, reshape
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers


@lowers("NV12toRGB", "NV12toBGR", since=8)
def nv12(op: LayerView, g: FunctionBuilder) -> str:
    """image/nv12-to-rgb-8, nv12-to-bgr-8: a Resize that doubles the chroma, then the colour matrix by Mul and Add.

    y       [n, h, w, 1], uv [n, h/2, w/2, 2]; or both in one plane, [n, 3h/2, w, 1]
    result  [n, h, w, 3]
    """
    if len(op.names) > 1:
        luma, chroma = as_float(op, g, 0), as_float(op, g, 1)
    else:
        luma, rest, half = _split(op, g)
        chroma = reshape(g, rest, *half, 2)
    return _to_rgb(op, g, luma, axis_slice(g, chroma, 0, 1, 3), axis_slice(g, chroma, 1, 2, 3))


@lowers("I420toRGB", "I420toBGR", since=8)
def i420(op: LayerView, g: FunctionBuilder) -> str:
    """image/i420-to-rgb-8, i420-to-bgr-8: a Resize that doubles both chroma planes, then the colour matrix.

    y       [n, h, w, 1], u and v [n, h/2, w/2, 1]; or all in one plane, [n, 3h/2, w, 1]
    result  [n, h, w, 3]
    """
    if len(op.names) > 1:
        return _to_rgb(op, g, as_float(op, g, 0), as_float(op, g, 1), as_float(op, g, 2))
    luma, rest, half = _split(op, g)
    (batch, height, width) = half
    planes = reshape(g, rest, batch, 2, height, width, 1)
    u, v = (g.squeeze(axis_slice(g, planes, k, k + 1, 1), 1) for k in (0, 1))
    return _to_rgb(op, g, luma, u, v)


def _split(op: LayerView, g: FunctionBuilder) -> tuple[str, str, list[str | int]]:
    """Luma [n, h, w, 1] and chroma [n, h/2, w, 1] of a single-plane input [n, 3h/2, w, 1]; and the dims n, h/2, w/2."""
    x = as_float(op, g, 0)
    batch, rows, width = dims(op, g, 0, 0, 1, 2)
    height = rows * 2 // 3 if isinstance(rows, int) else g.Div(g.Mul(rows, g.i64(2)), g.i64(3))
    end = g.i64(height) if isinstance(height, int) else height
    luma = g.Slice(x, g.i64(0), end, g.i64(1))
    rest = g.Slice(x, end, g.i64(rows) if isinstance(rows, int) else rows, g.i64(1))
    half = [one // 2 if isinstance(one, int) else g.Div(one, g.i64(2)) for one in (height, width)]
    return luma, rest, [batch, *half]


def _to_rgb(op: LayerView, g: FunctionBuilder, luma: str, u: str, v: str) -> str:
    """RGB or BGR pixels [n, h, w, 3], by the type of the layer, from luma and chroma.

    luma   [n, h, w, 1]
    u, v   chroma, [n, h/2, w/2, 1] each; a sample covers two by two pixels
    """

    def times(x: str, factor: float) -> str:
        return g.Mul(x, g.scalar(factor, DType.FLOAT32))

    bright = times(g.Sub(luma, g.scalar(16, DType.FLOAT32)), 1.164)
    d, e = (g.Sub(_doubled(g, one), g.scalar(128, DType.FLOAT32)) for one in (u, v))
    red, blue = g.Add(bright, times(e, 1.596)), g.Add(bright, times(d, 2.018))
    green = g.Sub(g.Sub(bright, times(d, 0.391)), times(e, 0.813))
    colours = (blue, green, red) if op.op_type.endswith("BGR") else (red, green, blue)
    # the CPU plugin rounds halves to even here; the page does not define the rounding
    return _stored(op, g, g.Concat(*colours, axis=3), g.Round)


def _doubled(g: FunctionBuilder, x: str) -> str:
    """`x` [n, h, w, 1] with each element repeated two by two, [n, 2h, 2w, 1], by a nearest Resize."""
    scales = g.const([1, 2, 2, 1], "f4")
    asymmetric = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return g.Resize(x, None, scales, mode="nearest", **asymmetric)


def _stored(op: LayerView, g: FunctionBuilder, x: str, rounded: Callable[[str], str]) -> str:
    """`x` clipped to [0, 255], in the element type of input 0; if that is uint8, rounded by the function `rounded`."""
    cut = g.Clip(x, g.scalar(0, DType.FLOAT32), g.scalar(255, DType.FLOAT32))
    return g.cast(rounded(cut) if op.dtype(0) is DType.UINT8 else cut, DType.FLOAT32, op.dtype(0))


@lowers("RGBtoNV12", "BGRtoNV12", since=17)
def to_nv12(op: LayerView, g: FunctionBuilder) -> tuple[str, ...]:
    """image/rgb-to-nv12-17, bgr-to-nv12-17: the colour matrix by Mul and Add, then means of chroma over 2 x 2 pixels.

    input   [n, h, w, 3], h and w even
    result  y [n, h, w, 1] and uv [n, h/2, w/2, 2]; with `single_plane` both in one, [n, 3h/2, w, 1]
    """

    def away(x: str) -> str:
        """The integers nearest to `x` >= 0; halves round up."""
        return g.Floor(g.Add(x, g.scalar(0.5, DType.FLOAT32)))

    x = as_float(op, g, 0)
    weights = ((0.257, -0.148, 0.439), (0.504, -0.291, -0.368), (0.098, 0.439, -0.071))
    places = (0, 1, 2) if op.op_type == "RGBtoNV12" else (2, 1, 0)
    mixed = [g.Mul(axis_slice(g, x, k, k + 1, 3), g.const(row, "f4")) for k, row in zip(places, weights, strict=True)]
    yuv = g.Add(g.Add(g.Add(mixed[0], mixed[1]), mixed[2]), g.const([16, 128, 128], "f4"))
    stored = g.cast(_stored(op, g, yuv, away), op.dtype(0), DType.FLOAT32)
    batch, height, width = dims(op, g, 0, 0, 1, 2)
    half = [one // 2 if isinstance(one, int) else g.Div(one, g.i64(2)) for one in (height, width)]
    squares = reshape(g, axis_slice(g, stored, 1, 3, 3), batch, half[0], 2, half[1], 2, 2)
    mean = g.Div(g.ReduceSum(squares, g.i64(2, 4), keepdims=0), g.scalar(4, DType.FLOAT32))
    luma, chroma = g.cast(axis_slice(g, stored, 0, 1, 3), DType.FLOAT32, op.dtype(0)), _stored(op, g, mean, away)
    if not op.flag("single_plane", True):
        return luma, chroma
    return (g.Concat(luma, reshape(g, chroma, batch, half[0], width, 1), axis=1),)
