"""The last layers of YOLO networks: RegionYolo and ReorgYolo.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from math import prod

from gather_infer.dialect import LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.tensor_idioms import as_float, axis_slice, dims, reshape, shape_vector
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers


@lowers("RegionYolo")
def region_yolo(op: LayerView, g: FunctionBuilder) -> str:
    """detection/region-yolo-1: Sigmoid and Softmax of slices of the channels.

    data    [n, regions * (coords + 1 + classes), h, w]
    result  the same shape if `do_softmax` is false; otherwise axes `axis` to `end_axis` are merged into one

    In each region, the Sigmoid applies to the first two coordinates and to the confidence. With `do_softmax` the
    Softmax applies to the classes, otherwise the Sigmoid.
    """
    classes, coords = op.integer("classes"), op.integer("coords")
    softmax = op.flag("do_softmax", True)
    regions = op.integer("num") if softmax else len(op.integers("mask", []))
    channels = op.size(0, 1)
    if channels is not None and channels != regions * (classes + coords + 1):
        raise LoweringRefused(f"{channels} channels for {regions} regions of {classes + coords + 1}")
    batch, height, width = dims(op, g, 0, 0, 2, 3)
    x = reshape(g, as_float(op, g, 0), batch, regions, classes + coords + 1, height, width)
    rest = axis_slice(g, x, coords, classes + coords + 1, 2)
    if softmax:
        confidence, scores = axis_slice(g, rest, 0, 1, 2), axis_slice(g, rest, 1, classes + 1, 2)
        rest = g.Concat(g.Sigmoid(confidence), g.Softmax(scores, axis=2), axis=2)
    else:
        rest = g.Sigmoid(rest)
    made = g.Concat(g.Sigmoid(axis_slice(g, x, 0, 2, 2)), axis_slice(g, x, 2, coords, 2), rest, axis=2)
    made = g.cast(made, DType.FLOAT32, op.dtype(0))
    return g.Reshape(made, _flat(op, g) if softmax else g.Shape(op.x(0)), allowzero=1)


def _flat(op: LayerView, g: FunctionBuilder) -> str:
    """The dims of input 0 with axes `axis` to `end_axis` merged into one, an int64 vector."""
    first, last = op.normalized_axis(op.integer("axis"), 4), op.normalized_axis(op.integer("end_axis"), 4)
    whole = dims(op, g, 0, 0, 1, 2, 3)
    between = whole[first : last + 1]
    known = [one for one in between if isinstance(one, int)]
    size: int | str = prod(known)
    if len(known) < len(between):
        size = g.ReduceProd(shape_vector(g, *between), g.i64(0), keepdims=1)
    return shape_vector(g, *whole[:first], size, *whole[last + 1 :])


@lowers("ReorgYolo")
def reorg_yolo(op: LayerView, g: FunctionBuilder) -> str:
    """detection/reorg-yolo-1: space to depth as in Darknet, by Reshape and Transpose.

    data    [n, c, h, w], c divisible by stride^2, h and w by the stride
    result  [n, c * stride^2, h / stride, w / stride]

    The data is read as [n, c / stride^2, h, stride, w, stride]; the positions in a block become the first axes.
    """
    strides = op.integers("stride" if op.attr("stride", None) is not None else "strides", lower=1)
    if not strides:
        raise SpecViolation("attribute strides must have an element", "GI106")
    stride = strides[0]
    batch, channels, height, width = dims(op, g, 0, 0, 1, 2, 3)

    def divided(dim: int | str, by: int) -> int | str:
        return dim // by if isinstance(dim, int) else g.Div(dim, g.i64(by))

    blocks = reshape(g, op.x(0), batch, divided(channels, stride * stride), height, stride, width, stride)
    turned = g.transpose(blocks, (0, 3, 5, 1, 2, 4))
    deep = channels * stride * stride if isinstance(channels, int) else g.Mul(channels, g.i64(stride * stride))
    return reshape(g, turned, batch, deep, divided(height, stride), divided(width, stride))
