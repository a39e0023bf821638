"""Resizing (Interpolate) and sampling at given positions (GridSample).

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/image/

Interpolate becomes one Resize if ONNX has the mode and onnxruntime a kernel for it. Otherwise the axes are resized one
after the other: nearest by a Gather, linear and cubic by a MatMul with a matrix of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, range_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import WIDE_FLOATS
from gather_infer.symbolic import Expr, known_eq
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_MODES: Final = ("nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow")
_KINDS: Final = {
    "nearest": "nearest", "linear": "linear", "linear_onnx": "linear", "cubic": "cubic",
    "bilinear_pillow": "linear", "bicubic_pillow": "cubic",
}  # fmt: skip
_COORDINATES: Final = (
    "half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners",
)  # fmt: skip
_ROUNDINGS: Final = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")
_FLOAT, _INT64 = DType.FLOAT32, DType.INT64
_BYTES: Final = (DType.UINT8, DType.INT8)


@dataclass(frozen=True, slots=True)
class Resizing:
    """Resizing parameters.

    kind            nearest, linear or cubic
    coordinates     coordinate transformation mode: from elements of the result to positions in the data
    rounding        of positions, for nearest; "simple" rounds up along an axis that becomes shorter, else down
    coefficient     of the cubic kernel; always -0.5 with pillow modes, as in Pillow and in OpenVINO's CPU plugin
    is_filtered     antialias of linear: if any axis becomes shorter, weights of each axis are stretched by 1 / scale
    is_pillow       antialias as in Pillow: weights along an axis that becomes shorter are stretched by 1 / scale
    axes            the axes to resize
    sizes, scales   names of vectors with an element for each of `axes`; one of them is given, the other is None
    """

    kind: str
    coordinates: str
    rounding: str
    coefficient: float
    is_filtered: bool
    is_pillow: bool
    axes: tuple[int, ...]
    sizes: str | None = None
    scales: str | None = None


@lowers("Interpolate")
def interpolate_1(op: LayerView, g: FunctionBuilder) -> str:
    """interpolate-1: Resize, or a Gather or MatMul for each axis.

    Inputs: data, and the sizes of the axes that the attribute `axes` lists.

    The page does not define the coordinates without align_corners. OpenVINO's own conversion to version 4 chooses
    half_pixel for mode linear without pads, unless the axes are 2 and 3 of rank 4; otherwise asymmetric.
    """
    rank = op.rank(0)
    axes = tuple(op.normalized_axis(axis, rank) for axis in op.integers("axes"))
    kind = op.text("mode", choices=("nearest", "linear", "cubic"))
    padded = any(op.integers("pads_begin", ()) + op.integers("pads_end", ()))
    plane = rank == 4 and sorted(axes) == [2, 3]
    coordinates = "half_pixel" if kind == "linear" and not padded and not plane else "asymmetric"
    if op.flag("align_corners", True):
        coordinates = "align_corners"
    how = Resizing(kind, coordinates, "simple", -0.75, False, False, axes, _wanted(op, g, 1, _INT64, len(axes)))
    return _resized(op, g, how)


@lowers("Interpolate", since=4)
def interpolate_4(op: LayerView, g: FunctionBuilder) -> str:
    """interpolate-4: Resize, or a Gather or MatMul for each axis.

    Inputs: data, sizes, scales, axes (optional). The attribute `shape_calculation_mode` selects sizes or scales.
    """
    by_sizes = op.text("shape_calculation_mode", choices=("sizes", "scales")) == "sizes"
    return _resized(op, g, _resizing(op, g, 1 if by_sizes else 2, 3, by_sizes))


@lowers("Interpolate", since=11)
def interpolate_11(op: LayerView, g: FunctionBuilder) -> str:
    """interpolate-11: Resize, or a Gather or MatMul for each axis.

    Inputs: data, sizes or scales, axes (optional).
    """
    by_sizes = op.text("shape_calculation_mode", choices=("sizes", "scales")) == "sizes"
    return _resized(op, g, _resizing(op, g, 1, 2, by_sizes))


def _resizing(op: LayerView, g: FunctionBuilder, target: int, axes: int, by_sizes: bool) -> Resizing:
    mode = op.text("mode", choices=_MODES)
    pillow = mode.endswith("pillow")
    coordinates = op.text("coordinate_transformation_mode", "half_pixel", choices=_COORDINATES)
    coordinates = "half_pixel" if pillow else coordinates
    which = tuple(op.axes(axes, op.rank(0))) if op.has(axes) else tuple(range(op.rank(0)))
    wanted = _wanted(op, g, target, _INT64 if by_sizes else _FLOAT, len(which))
    if not any(_pads(op, op.rank(0))):
        changed = [at for at, axis in enumerate(which) if not _is_size_kept(op, target, at, axis, by_sizes)]
        wanted = _elements_at(g, wanted, changed, len(which))
        which = tuple(which[at] for at in changed)
    if pillow and not by_sizes:
        wanted, by_sizes = _sizes(op, g, which, wanted), True  # the weights follow from the resulting sizes
    return Resizing(
        _KINDS[mode],
        coordinates,
        op.text("nearest_mode", "round_prefer_floor", choices=_ROUNDINGS),
        -0.5 if pillow else op.number("cube_coeff", -0.75),
        mode == "linear" and op.flag("antialias", False),
        pillow,
        which,
        wanted if by_sizes else None,
        None if by_sizes else wanted,
    )


def _is_size_kept(op: LayerView, target: int, at: int, axis: int, by_sizes: bool) -> bool:
    """Whether element `at` of input `target` is proved to be the size of `axis` of the data, or a scale of 1.

    OpenVINO then leaves the positions along this axis as they are, in every coordinate transformation mode.
    """
    values = op.tensor(target).values
    if values is None or values.ndim != 1 or at >= values.size or values[at] is None:
        return False
    if not by_sizes:
        return bool(values[at] == 1)
    return isinstance(values[at], (int, Expr)) and known_eq(values[at], op.dim(0, axis), op.call.scope) is True


def _elements_at(g: FunctionBuilder, vector: str, positions: list[int], count: int) -> str:
    """The elements at ascending `positions` of a vector of `count` elements."""
    if len(positions) == count or not positions:
        return vector
    if positions == list(range(positions[0], positions[-1] + 1)):
        return g.Slice(vector, g.i64(positions[0]), g.i64(positions[-1] + 1), g.i64(0))
    return g.Gather(vector, g.i64(*positions), axis=0)


def _wanted(op: LayerView, g: FunctionBuilder, index: int, dtype: DType, count: int) -> str:
    """Input `index`, sizes or scales, cast to `dtype`, as a vector of static length `count`, which Resize requires."""
    wanted = g.cast(op.x(index), op.dtype(index), dtype)
    return wanted if op.shape(index) == (count,) else g.Reshape(wanted, g.i64(count))


def _sizes(op: LayerView, g: FunctionBuilder, axes: tuple[int, ...], scales: str) -> str:
    length = g.Cast(g.concat(*(g.dim(op.x(0), axis) for axis in axes)), to=_FLOAT)
    return g.Cast(g.Floor(g.Mul(length, scales)), to=_INT64)


def _resized(op: LayerView, g: FunctionBuilder, how: Resizing) -> str:
    x, rank, dtype = op.x(0), op.rank(0), op.dtype(0)
    pads = _pads(op, rank)
    if any(pads):
        x = g.Pad(x, g.i64(*pads))
    if not how.axes:
        return x
    wide = dtype if how.kind == "nearest" else _FLOAT
    in_bytes = how.is_pillow and dtype in _BYTES
    attributes = None if in_bytes else _attributes(how, rank)
    if attributes is None:
        resized = g.cast(x, dtype, wide)
        is_shorter = _is_shorter(g, x, how) if how.is_filtered else ""
        for position in sorted(range(len(how.axes)), key=lambda at: -how.axes[at]):
            resized = _resized_axis(g, resized, rank, how, position, is_shorter)
            if in_bytes:  # the CPU plugin rounds to bytes after each axis, as Pillow does
                resized = _rounded_to_type(g, resized, how.kind, dtype)
        if not in_bytes and wide is _FLOAT:
            resized = _rounded_to_type(g, resized, how.kind, dtype)
        return g.cast(resized, wide, dtype)
    if how.kind == "nearest" and dtype not in (DType.INT32, DType.UINT8, DType.INT8):
        wide = DType.INT32 if dtype.is_integer else _FLOAT
    made = g.Resize(g.cast(x, dtype, wide), None, how.scales, how.sizes, axes=how.axes, **attributes)
    return g.cast(_rounded_to_type(g, made, how.kind, dtype) if wide is _FLOAT else made, wide, dtype)


def _pads(op: LayerView, rank: int) -> list[int]:
    """The pads at the begin of each axis, then those at the end."""
    return [pad for name in ("pads_begin", "pads_end") for pad in [*op.integers(name, ()), *[0] * rank][:rank]]


def _rounded_to_type(g: FunctionBuilder, x: str, kind: str, dtype: DType) -> str:
    """The floats `x`, rounded if `dtype` is an integer type; with kind cubic also clipped to an 8-bit range."""
    if not dtype.is_integer:
        return x
    x = g.Round(x)
    if kind != "cubic" or dtype not in _BYTES:
        return x
    least, most = range_of(dtype)
    return g.Clip(x, g.scalar(least, _FLOAT), g.scalar(most, _FLOAT))


def _attributes(how: Resizing, rank: int) -> dict[str, Any] | None:
    """Attributes of an equivalent Resize of data of rank `rank`; None if there is no such Resize."""
    if how.is_filtered:
        return None
    attributes: dict[str, Any] = {"mode": how.kind, "coordinate_transformation_mode": how.coordinates}
    if how.coordinates == "tf_half_pixel_for_nn":
        if (how.kind, how.rounding) != ("nearest", "floor"):
            return None
        # floor((i + 0.5) / s) is (i + 0.5) / s - 0.5, rounded half up
        attributes |= {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"}
    elif how.kind == "nearest":
        if how.rounding == "simple":
            return None
        attributes["nearest_mode"] = how.rounding
    if (how.kind == "cubic" or how.is_pillow) and (rank != 4 or sorted(how.axes) != [2, 3]):
        return None
    if how.kind == "cubic":
        attributes["cubic_coeff_a"] = how.coefficient
    if how.is_pillow:
        attributes |= {"antialias": 1, "exclude_outside": 1}
    return attributes


def _is_shorter(g: FunctionBuilder, x: str, how: Resizing) -> str:
    """Whether any of `how.axes` becomes shorter, a boolean scalar."""
    scales = how.scales
    if how.sizes is not None:
        length = g.Cast(g.concat(*(g.dim(x, axis) for axis in how.axes)), to=_FLOAT)
        scales = g.Div(g.Cast(how.sizes, to=_FLOAT), length)
    return g.Less(g.ReduceMin(scales, keepdims=0), g.scalar(1, _FLOAT))


def _resized_axis(g: FunctionBuilder, x: str, rank: int, how: Resizing, position: int, is_shorter: str) -> str:
    """`x` resized along the axis `how.axes[position]`.

    is_shorter   the scalar of `_is_shorter`; read only if `how.is_filtered`
    """
    axis = how.axes[position]
    size = g.squeeze(g.dim(x, axis), 0)
    length, at = g.Cast(size, to=_FLOAT), g.scalar(position, _INT64)
    if how.sizes is not None:
        wanted = g.Gather(how.sizes, at)
        scale = g.Div(g.Cast(wanted, to=_FLOAT), length)
    else:
        scale = g.Gather(how.scales, at)
        wanted = g.Cast(g.Floor(g.Mul(length, scale)), to=_INT64)
    place = _positions(g, how.coordinates, size, wanted, scale)
    if how.kind == "nearest":
        last = g.Sub(size, g.scalar(1, _INT64))
        return g.Gather(x, g.Clip(_rounded(g, how.rounding, place, scale), g.scalar(0, _INT64), last), axis=axis)
    one = g.scalar(1, _FLOAT)
    if how.is_filtered:
        weights = _filtered(g, how, place, size, g.Where(is_shorter, scale, one))
    elif how.is_pillow:
        weights = _filtered(g, how, place, size, g.Min(scale, one))
    else:
        weights = _linear(g, place, size) if how.kind == "linear" else _cubic(g, how.coefficient, place, size)
    # a MatMul with the weights resizes the last axis, so the axis is moved there
    order = [a for a in range(rank) if a != axis] + [axis]
    moved = g.MatMul(g.transpose(x, order), weights)
    return g.transpose(moved, [order.index(a) for a in range(rank)])


def _positions(g: FunctionBuilder, coordinates: str, size: str, wanted: str, scale: str) -> str:
    """The position in the data of each element of a resized axis, float32 [wanted].

    size, wanted   length of the axis before and after, int64 scalars
    scale          ratio of the lengths, float32 scalar
    """
    half, one, zero = g.scalar(0.5, _FLOAT), g.scalar(1, _INT64), g.scalar(0, _FLOAT)
    i = g.Cast(g.Range(g.scalar(0, _INT64), wanted, one), to=_FLOAT)
    if coordinates == "asymmetric":
        return g.Div(i, scale)
    if coordinates == "align_corners":
        last = g.Cast(g.Sub(size, one), to=_FLOAT)
        others = g.Cast(g.Max(g.Sub(wanted, one), one), to=_FLOAT)
        return g.Where(g.Equal(wanted, one), zero, g.Div(g.Mul(i, last), others))
    place = g.Div(g.Add(i, half), scale)
    if coordinates == "tf_half_pixel_for_nn":
        return g.Where(g.Equal(scale, g.scalar(1, _FLOAT)), i, place)  # OpenVINO moves nothing along such an axis
    place = g.Sub(place, half)
    return place if coordinates == "half_pixel" else g.Where(g.Greater(wanted, one), place, zero)


def _rounded(g: FunctionBuilder, rounding: str, position: str, scale: str) -> str:
    half = g.scalar(0.5, _FLOAT)
    match rounding:
        case "floor":
            whole = g.Floor(position)
        case "ceil":
            whole = g.Ceil(position)
        case "round_prefer_floor":
            whole = g.Ceil(g.Sub(position, half))
        case "round_prefer_ceil":
            whole = g.Floor(g.Add(position, half))
        case _:
            whole = g.Where(g.Less(scale, g.scalar(1, _FLOAT)), g.Ceil(position), g.Floor(position))
    return g.Cast(whole, to=_INT64)


def _elements(g: FunctionBuilder, size: str) -> str:
    """The column 0, 1, ..., size - 1 as float32 [size, 1]; `size` is an int64 scalar."""
    return g.unsqueeze(g.Cast(g.Range(g.scalar(0, _INT64), size, g.scalar(1, _INT64)), to=_FLOAT), 1)


def _linear(g: FunctionBuilder, position: str, size: str) -> str:
    """Weights of the `size` elements of an axis for each of the n positions, [size, n].

    All but the two elements around a position have weight 0; beyond the ends, the end elements are used.
    """
    one, zero = g.scalar(1, _FLOAT), g.scalar(0, _FLOAT)
    last = g.Sub(g.Cast(size, to=_FLOAT), one)
    distance = g.Abs(g.Sub(g.Clip(position, zero, last), _elements(g, size)))
    return g.Max(g.Sub(one, distance), zero)


def _filtered(g: FunctionBuilder, how: Resizing, position: str, size: str, scale: str) -> str:
    """Weights [size, n] by the linear or cubic kernel around each of the n positions, stretched by 1 / scale.

    The weights for each position are normalized to sum 1.
    """
    distance = g.Mul(g.Abs(g.Sub(position, _elements(g, size))), scale)
    if how.kind == "cubic":
        weights = _cubic_weight(g, how.coefficient, distance)
    else:
        weights = g.Max(g.Sub(g.scalar(1, _FLOAT), distance), g.scalar(0, _FLOAT))
    return g.Div(weights, g.ReduceSum(weights, g.i64(0), keepdims=1))


def _cubic(g: FunctionBuilder, coefficient: float, position: str, size: str) -> str:
    """Weights of the `size` elements of an axis for each of the n positions, [size, n].

    All but the four elements around a position have weight 0; beyond the ends, the end elements are used.
    """
    below, elements = g.Floor(position), _elements(g, size)
    zero, last = g.scalar(0, _FLOAT), g.Sub(g.Cast(size, to=_FLOAT), g.scalar(1, _FLOAT))
    past = g.Sub(position, below)  # in [0, 1): the four are at the distances past + 1, past, 1 - past and 2 - past
    one, two = g.scalar(1, _FLOAT), g.scalar(2, _FLOAT)
    weights = (
        _cubic_outer(g, coefficient, g.Add(past, one)),
        _cubic_inner(g, coefficient, past),
        _cubic_inner(g, coefficient, g.Sub(one, past)),
        _cubic_outer(g, coefficient, g.Sub(two, past)),
    )
    terms = []
    for offset, weight in zip((-1.0, 0.0, 1.0, 2.0), weights, strict=True):
        at = g.Clip(g.Add(below, g.scalar(offset, _FLOAT)), zero, last)
        terms.append(g.Mul(g.Cast(g.Equal(at, elements), to=_FLOAT), weight))
    return g.Sum(*terms)


def _cubic_weight(g: FunctionBuilder, a: float, t: str) -> str:
    """Keys' cubic kernel with coefficient `a` at distances `t` >= 0; 0 from distance 2 on."""
    one, two = g.scalar(1, _FLOAT), g.scalar(2, _FLOAT)
    outer = g.Where(g.Less(t, two), _cubic_outer(g, a, t), g.scalar(0, _FLOAT))
    return g.Where(g.LessOrEqual(t, one), _cubic_inner(g, a, t), outer)


def _cubic_inner(g: FunctionBuilder, a: float, t: str) -> str:
    """Keys' kernel for distances t <= 1: (a+2)t^3 - (a+3)t^2 + 1."""
    return _polynomial(g, t, a + 2, -(a + 3), 0, 1)


def _cubic_outer(g: FunctionBuilder, a: float, t: str) -> str:
    """Keys' kernel for distances 1 <= t <= 2: at^3 - 5at^2 + 8at - 4a."""
    return _polynomial(g, t, a, -5 * a, 8 * a, -4 * a)


def _polynomial(g: FunctionBuilder, t: str, *coefficients: float) -> str:
    value = g.scalar(coefficients[0], _FLOAT)
    for coefficient in coefficients[1:]:
        value = g.Add(g.Mul(value, t), g.scalar(coefficient, _FLOAT))
    return value


@lowers("GridSample", since=9, opset=20)
def grid_sample(op: LayerView, g: FunctionBuilder) -> str:
    """grid-sample-9: ONNX's GridSample.

    data [N, C, H, W], grid [N, h, w, 2]

    For integer data, OpenVINO rounds samples of 8-bit types and truncates samples of wider types.
    """
    if op.rank(0) != 4:
        raise LoweringRefused("the data must have rank 4")
    kind = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}
    mode = op.text("mode", "bilinear", choices=tuple(kind))
    padding = op.text("padding_mode", "zeros", choices=("zeros", "border", "reflection"))
    dtype = op.dtype(0)
    wide = WIDE_FLOATS.get(dtype, _FLOAT if dtype.is_integer else dtype)
    sampled = g.GridSample(
        g.cast(op.x(0), dtype, wide), g.cast(op.x(1), op.dtype(1), wide),
        mode=kind[mode], padding_mode=padding, align_corners=int(op.flag("align_corners", False)),
    )  # fmt: skip
    if dtype in _BYTES and mode != "nearest":
        sampled = _rounded_to_type(g, sampled, kind[mode], dtype)
    return g.cast(sampled, wide, dtype)
