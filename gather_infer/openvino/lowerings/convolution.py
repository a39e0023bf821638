"""Convolution and transposed convolution, with and without groups: Conv and ConvTranspose.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/

No lowering in this module preserves failures: OpenVINO accepts an axis without elements, onnxruntime does not.
"""

from __future__ import annotations

from typing import Final

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import AS_FLOAT, legalized
from gather_infer.openvino.lowerings.windows import SAME_LOWER, SAME_UPPER, Windows, of_length, spatial_of, windows
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_WEIGHTS: Final = 1
_OUTPUT_SHAPE: Final = 2


@lowers("Convolution")
def convolution(op: LayerView, g: FunctionBuilder) -> str:
    """convolution-1: ONNX's Conv.

    data      [N, C, D1, ..., Dk]
    filters   [O, C, K1, ..., Kk]
    """
    slide = windows(op, op.rank(_WEIGHTS) - 2)
    return _convolve(op, g, op.x(_WEIGHTS), 1, slide)


@lowers("GroupConvolution")
def group_convolution(op: LayerView, g: FunctionBuilder) -> str:
    """group-convolution-1: Conv with the attribute `group`, which is G and has to be known.

    data      [N, G*C, D1, ..., Dk]
    filters   [G, O, C, K1, ..., Kk], in ONNX [G*O, C, K1, ..., Kk]
    """
    slide = windows(op, op.rank(_WEIGHTS) - 3)
    return _convolve(op, g, _without_groups(op, g), _groups(op), slide)


def _convolve(op: LayerView, g: FunctionBuilder, weights: str, groups: int, slide: Windows) -> str:
    data = op.x(0)
    if not slide.is_explicit and any(d > 1 for d in slide.dilations):  # onnxruntime has no auto_pad with dilations
        kernel = _kernel(op, len(slide.strides))
        found = slide.explicit(spatial_of(op, len(kernel)), kernel)
        if found is None:
            around = slide.padded(g, data, kernel)
            data, found = around.data, around.slide
        slide = found

    def conv(x: str, w: str) -> str:
        return g.Conv(
            x, w, group=groups, strides=slide.strides, dilations=slide.dilations,
            pads=slide.pads, auto_pad=slide.onnx_auto_pad,
        )  # fmt: skip

    return legalized(g, op.dtype(0), conv, data, weights, by=AS_FLOAT)


def _kernel(op: LayerView, rank: int) -> list[int]:
    """The last `rank` dims of the filters, which are spatial. Raises LoweringRefused when one is unknown."""
    kernel = [size for size in op.shape(_WEIGHTS)[-rank:] if isinstance(size, int)]
    if len(kernel) < rank:
        raise LoweringRefused("the spatial dims of the filters are not known")
    return kernel


def _groups(op: LayerView) -> int:
    """The number of groups, dim 0 of the filters. Raises LoweringRefused when it is unknown."""
    groups = op.size(_WEIGHTS, 0)
    if groups is None:
        raise LoweringRefused("the number of groups, dim 0 of the filters, is not known")
    return groups


def _without_groups(op: LayerView, g: FunctionBuilder) -> str:
    """The filters with axes 0 and 1 merged into one."""
    weights = op.x(_WEIGHTS)
    sizes = op.sizes(_WEIGHTS)
    if sizes is not None:
        return g.Reshape(weights, g.i64(sizes[0] * sizes[1], *sizes[2:]), allowzero=1)
    merged = g.Mul(g.dim(weights, 0), g.dim(weights, 1))
    return g.Reshape(weights, g.concat(merged, g.dims(weights, 2)), allowzero=1)


@lowers("ConvolutionBackpropData")
def convolution_backprop(op: LayerView, g: FunctionBuilder) -> str:
    """convolution-backprop-data-1: ONNX's ConvTranspose.

    data           [N, C, D1, ..., Dk]
    filters        [C, O, K1, ..., Kk]
    output_shape   [k], optional: spatial dims of the result, which determine all pads but explicit begin pads
    """
    slide = windows(op, op.rank(_WEIGHTS) - 2)
    return _transposed(op, g, op.x(_WEIGHTS), 1, slide)


@lowers("GroupConvolutionBackpropData")
def group_convolution_backprop(op: LayerView, g: FunctionBuilder) -> str:
    """group-convolution-backprop-data-1: ConvTranspose with the attribute `group`, which is G and has to be known.

    data           [N, G*C, D1, ..., Dk]
    filters        [G, C, O, K1, ..., Kk], in ONNX [G*C, O, K1, ..., Kk]
    output_shape   [k], optional, as for `convolution_backprop`
    """
    slide = windows(op, op.rank(_WEIGHTS) - 3)
    return _transposed(op, g, _without_groups(op, g), _groups(op), slide)


def _transposed(op: LayerView, g: FunctionBuilder, weights: str, groups: int, slide: Windows) -> str:
    """The layer's output, by a ConvTranspose with `weights` in ONNX's layout.

    Without output_shape, same_upper and same_lower mean no pads.
    """
    extra = of_length(op, "output_padding", len(slide.strides), 0)
    begin, end, crop = slide.begin, slide.end, False
    if op.has(_OUTPUT_SHAPE):
        found = _static_pads(op, slide, extra)
        crop = found is None
        begin, end, extra = found or ((0,) * len(extra), (0,) * len(extra), (0,) * len(extra))

    def conv(x: str, w: str) -> str:
        return g.ConvTranspose(
            x, w, group=groups, strides=slide.strides, dilations=slide.dilations,
            pads=[*begin, *end], output_padding=list(extra) if any(extra) else None,
        )  # fmt: skip

    made = legalized(g, op.dtype(0), conv, op.x(0), weights, by=AS_FLOAT)
    return _cropped(op, g, made, slide) if crop else made


def _static_pads(
    op: LayerView, slide: Windows, extra: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Begin pads, end pads and output padding of a ConvTranspose whose result has the dims of output_shape.

    extra   output padding of the layer

    Each is a tuple with a number for each spatial axis. None if the pads depend on an unknown dim, or if ONNX's
    attributes cannot express them.
    """
    rank = len(slide.strides)
    wanted = op.ints(_OUTPUT_SHAPE, count=rank)
    spatial, kernel = spatial_of(op, rank), op.shape(_WEIGHTS)[-rank:]
    if wanted is None:
        return None
    begin, end, rest = list(slide.begin), [0] * rank, [0] * rank
    for i in range(rank):
        size, width = spatial[i], kernel[i]
        if not isinstance(size, int) or not isinstance(width, int):
            return None
        # size of the output without pads
        full = slide.strides[i] * (size - 1) + slide.dilations[i] * (width - 1) + 1
        over = full + extra[i] - wanted[i]
        if slide.auto_pad in (SAME_UPPER, SAME_LOWER):
            half = max(over, 0) // 2
            begin[i] = max(over, 0) - half if slide.auto_pad == SAME_UPPER else half
        end[i] = full - begin[i] - wanted[i]
        if end[i] < 0:
            end[i], rest[i] = 0, -end[i]
        if rest[i] >= max(slide.strides[i], slide.dilations[i]):
            return None
    return tuple(begin), tuple(end), tuple(rest)


def _cropped(op: LayerView, g: FunctionBuilder, full: str, slide: Windows) -> str:
    """The part of `full`, the output without pads, that output_shape selects, by Pad and Slice.

    Beyond the end of `full` the result is 0.
    """
    rank = len(slide.strides)
    wanted = g.cast(op.x(_OUTPUT_SHAPE), op.dtype(_OUTPUT_SHAPE), DType.INT64)
    size = g.dims(full, 2)
    begin = g.i64(*slide.begin)
    if slide.auto_pad in (SAME_UPPER, SAME_LOWER):
        extra = of_length(op, "output_padding", rank, 0)
        over = g.Max(g.Sub(g.Add(size, g.i64(*extra)), wanted), g.i64(0))
        half = g.Div(over, g.i64(2))
        begin = g.Sub(over, half) if slide.auto_pad == SAME_UPPER else half
    stop = g.Add(begin, wanted)
    behind = g.Max(g.Sub(stop, size), g.i64(0))
    axes = g.i64(*range(2, 2 + rank))
    padded = g.Pad(full, g.concat(g.i64(*[0] * rank), behind), None, axes)
    return g.Slice(padded, begin, stop, axes)
