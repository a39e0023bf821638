"""Deformable convolution by DeformConv, and binary convolution by Conv.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/
"""

from __future__ import annotations

import numpy as np

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import AS_FLOAT
from gather_infer.openvino.lowerings.windows import Windows, spatial_of, windows
from gather_infer.tensor import DType, static_dims

lowerings = LoweringTable()
lowers = lowerings.lowers

_FLOAT, _INT64 = DType.FLOAT32, DType.INT64
_OFFSETS, _WEIGHTS, _MASK = 1, 2, 3


@lowers("DeformableConvolution", opset=19)
def deformable_convolution_1(op: LayerView, g: FunctionBuilder) -> str:
    """deformable-convolution-1: DeformConv of data, offsets, filters. See `_deformable`."""
    return _deformable(op, g, fades=False)


@lowers("DeformableConvolution", since=8, opset=19)
def deformable_convolution_8(op: LayerView, g: FunctionBuilder) -> str:
    """deformable-convolution-8: DeformConv of data, offsets, filters and, optionally, mask. See `_deformable`."""
    return _deformable(op, g, fades=op.flag("bilinear_interpolation_pad", False))


def _deformable(op: LayerView, g: FunctionBuilder, *, fades: bool) -> str:
    """The layer's output [N, O, h, w], by DeformConv; D is deformable_group, G is group.

    data [N, C, H, W], offsets [N, D*kh*kw*2, h, w], filters [O, C/G, kh, kw], mask [N, D*kh*kw, h, w]

    fades   samples outside the data fade to zero within one element, as in ONNX. Otherwise a sample outside [0, H) or
            [0, W) is 0, and a sample beyond the last element equals that element: offsets are clamped, and a mask added
    """
    sizes = [op.size(_WEIGHTS, axis) for axis in (2, 3)]
    kernel = [size for size in sizes if size is not None]
    slide = windows(op, 2).explicit(spatial_of(op, 2), kernel) if len(kernel) == 2 else None
    if slide is None:
        raise LoweringRefused("the size of the filters is not known, or pads follow from a dim that is not known")
    groups, deformed = op.integer("group", 1), op.integer("deformable_group", 1)
    x, offsets, weights = (g.cast(op.x(i), op.dtype(i), _FLOAT) for i in range(3))
    mask = g.cast(op.x(_MASK), op.dtype(_MASK), _FLOAT) if op.has(_MASK) else None
    if not fades:
        offsets, inside = _clamped(op, g, offsets, slide, kernel, deformed)
        mask = inside if mask is None else g.Mul(mask, inside)
    bias = g.Expand(g.scalar(0, _FLOAT), g.dim(weights, 0))
    made = g.DeformConv(
        x, weights, offsets, bias, mask, group=groups, offset_group=deformed,
        kernel_shape=kernel, strides=slide.strides, dilations=slide.dilations, pads=slide.pads,
    )  # fmt: skip
    return g.cast(made, _FLOAT, op.dtype(0))


def _clamped(
    op: LayerView, g: FunctionBuilder, offsets: str, slide: Windows, kernel: list[int], deformed: int
) -> tuple[str, str]:
    """Offsets clamped so that all positions are in the data, and a mask of the positions.

    The mask, float32 [N, D*kh*kw, h, w], is 1 for each position that was in the data before clamping, else 0.
    """
    count = kernel[0] * kernel[1]
    spatial = g.dims(offsets, 2)
    split = g.concat(g.dim(offsets, 0), g.i64(deformed, count, 2), spatial)
    base = _base(g, spatial, slide, kernel)
    place = g.Add(g.Reshape(offsets, split, allowzero=1), base)
    size = g.Reshape(g.Cast(g.dims(op.x(0), 2), to=_FLOAT), g.i64(2, 1, 1))
    zero = g.scalar(0, _FLOAT)
    inside = g.Cast(g.And(g.GreaterOrEqual(place, zero), g.Less(place, size)), to=_FLOAT)
    inside = g.ReduceMin(inside, g.i64(3), keepdims=0)
    kept = g.Sub(g.Min(g.Max(place, zero), g.Sub(size, g.scalar(1, _FLOAT))), base)
    shape = g.concat(g.dim(offsets, 0), g.i64(deformed * count), spatial)
    return g.Reshape(kept, g.Shape(offsets), allowzero=1), g.Reshape(inside, shape, allowzero=1)


def _base(g: FunctionBuilder, spatial: str, slide: Windows, kernel: list[int]) -> str:
    """Row and column of each window element before offsets are added, float32 [kh*kw, 2, h, w].

    spatial   int64 vector of h and w
    """
    zero, one = g.scalar(0, _INT64), g.scalar(1, _INT64)
    taps = np.stack(np.meshgrid(*(np.arange(k) for k in kernel), indexing="ij")).reshape(2, -1, 1, 1)
    whole = g.concat(g.i64(len(taps[0])), spatial)
    parts = []
    for axis in range(2):
        along = g.Range(zero, g.Gather(spatial, g.scalar(axis, _INT64)), one)
        starts = g.Sub(g.Mul(along, g.scalar(slide.strides[axis], _INT64)), g.scalar(slide.begin[axis], _INT64))
        starts = g.unsqueeze(starts, 1) if axis == 0 else starts
        places = g.Add(g.const((taps[axis] * slide.dilations[axis]).astype(np.int64)), starts)
        parts.append(g.unsqueeze(g.Expand(g.Cast(places, to=_FLOAT), whole), 1))
    return g.Concat(*parts, axis=1)


@lowers("BinaryConvolution")
def binary_convolution(op: LayerView, g: FunctionBuilder) -> str:
    """binary-convolution-1: Conv of signs.

    data [N, C, H, W], filters [O, C, kh, kw] of bits

    A bit 1 counts as 1, a bit 0 as -1. A data element counts as 1 if it is above 0, else as -1. Pads hold pad_value.
    """
    op.text("mode", "xnor-popcount", choices=("xnor-popcount",))
    one, two = g.scalar(1, _FLOAT), g.scalar(2, _FLOAT)
    kernel = static_dims(op.shape(1)[2:])
    if kernel is None or len(kernel) != 2:
        raise LoweringRefused("the size of the filters is not known")
    dtype = op.dtype(0)
    above = g.Cast(g.Greater(g.cast(op.x(0), dtype, AS_FLOAT.get(dtype, dtype)), g.scalar(0, _FLOAT)), to=_FLOAT)
    signs = g.Sub(g.Mul(above, two), one)
    around = windows(op, 2).padded(g, signs, kernel, g.scalar(op.number("pad_value", 0.0), _FLOAT))
    weights = g.Sub(g.Mul(g.Cast(op.x(1), to=_FLOAT), two), one)
    slide = around.slide
    made = g.Conv(around.data, weights, strides=slide.strides, dilations=slide.dilations)
    return g.cast(made, _FLOAT, dtype)
