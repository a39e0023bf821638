"""Shape operators: ShapeOf, Reshape, Squeeze, Transpose, Broadcast, Tile, Range, Eye.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from gather_infer.dialect import LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import NUMPY, FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import as_int64, iota, single, vector
from gather_infer.openvino.lowerings.type_legalization import WITHOUT_BFLOAT16, TypeLegalization, legalized
from gather_infer.symbolic import Dim, Expr, floordiv, known_eq, product
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_RANGED: Final[TypeLegalization] = {
    DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32, DType.FLOAT32: DType.FLOAT32,
    DType.FLOAT64: DType.FLOAT64,
}  # fmt: skip
"""Computation types for Range; int64 for a type that is not listed.

A Range of int32 is avoided: onnxruntime assumes that any Cast of a Shape is int64, and refuses to load a Range of int32
with such a Cast as limit.
"""


@lowers("ShapeOf", preserves_failures=True)
def shape_of(op: LayerView, g: FunctionBuilder) -> str:
    """shape/shape-of-1, shape-of-3: Shape; a constant where all dims are known.

    Version 1 returns int64, version 3 the type in `output_type`.
    """
    to = op.type_of("output_type", "i64") if op.version >= 3 else DType.INT64
    sizes = op.sizes(0) if op.has_rank(0) else None
    if sizes is not None and to in NUMPY:
        return g.const(sizes, NUMPY[to])
    return g.cast(g.Shape(op.x(0)), DType.INT64, to)


@lowers("Reshape")
def reshape(op: LayerView, g: FunctionBuilder) -> str:
    """shape/reshape-1: Reshape.

    pattern   the dims of the result; -1 is the dim that remains. With `special_zero`, a 0 copies the dim of the data at
              the same axis; unlike in ONNX, -1 is then determined even if a copied dim is 0
    """
    special, pattern = op.flag("special_zero"), op.ints(1)
    if pattern is None:
        copying = _copying_pattern(op)
        target = None if copying is None else _constant_target(op, copying)
        if target is not None:
            return g.Reshape(op.x(0), g.i64(*target))
        return g.Reshape(op.x(0), vector(op, g, 1), allowzero=not special)
    if pattern.count(-1) > 1 or any(size < -1 for size in pattern):
        raise SpecViolation(f"pattern = {pattern} has to be of dims from 0 on, and -1 at most once", "GI106")
    if not special:
        # with a dim of 0, -1 is undetermined: OpenVINO replaces it by 1
        sizes = [1 if size == -1 and 0 in pattern else size for size in pattern]
        return g.Reshape(op.x(0), g.i64(*sizes), allowzero=0 in sizes)
    return g.Reshape(op.x(0), g.i64(*pattern)) if not op.has_rank(0) else _copying(op, g, pattern)


def _copying_pattern(op: LayerView) -> list[int] | None:
    """The pattern with 0 for each element that is proved to be the dim of the data at its axis.

    None if another element is not a number, and if it has -1 more than once.
    """
    values, shape = op.tensor(1).values, op.tensor(0).shape
    if values is None or values.ndim != 1 or shape is None:
        return None
    found: list[int] = []
    for axis, element in enumerate(values.tolist()):
        if isinstance(element, int) and (element == -1 or element > 0):
            found.append(element)
        elif isinstance(element, (int, Expr)) and axis < len(shape) and known_eq(element, shape[axis], op.call.scope):
            found.append(0)
        else:
            return None
    return found if found.count(-1) < 2 else None


def _copying(op: LayerView, g: FunctionBuilder, pattern: Sequence[int]) -> str:
    """Input 0 reshaped by `pattern`, where 0 copies the dim at the same axis.

    If a copied dim may be 0, the dim for -1 is computed before the Reshape.
    """
    if any(size == 0 and axis >= op.rank(0) for axis, size in enumerate(pattern)):
        raise SpecViolation(
            f"pattern = {pattern} copies a dim that an input of rank {op.rank(0)} does not have", "GI301"
        )
    target = _constant_target(op, pattern)
    if target is not None:
        return g.Reshape(op.x(0), g.i64(*target))
    copied = [axis for axis, size in enumerate(pattern) if size == 0]
    rest = _rest(op, pattern, copied)
    same = next((axis for axis, dim in enumerate(op.shape(0)) if known_eq(rest, dim, op.call.scope)), None)
    size = _quotient(op, g, pattern, copied) if same is None else g.dim(op.x(0), same)
    return g.Reshape(op.x(0), _resolved(op, g, pattern, size), allowzero=1)


def _constant_target(op: LayerView, pattern: Sequence[int]) -> list[int] | None:
    """A target of ONNX's Reshape for `pattern`, in which -1 is determined or replaced; None if there is none."""
    copied = [axis for axis, size in enumerate(pattern) if size == 0]
    if -1 not in pattern or all(op.is_positive(0, axis) for axis in copied):
        return list(pattern)
    place, rest = pattern.index(-1), _rest(op, pattern, copied)
    if place < op.rank(0) and known_eq(rest, op.shape(0)[place], op.call.scope):
        return [0 if size == -1 else size for size in pattern]
    if isinstance(rest, int) and rest > 0:
        return [rest if size == -1 else size for size in pattern]
    return None


def _rest(op: LayerView, pattern: Sequence[int], copied: Sequence[int]) -> Dim:
    """The dim that -1 in `pattern` stands for.

    The product of the dims of input 0 at axes that are not in `copied`, divided by the product of the positive numbers
    in `pattern`.
    """
    left = product(dim for axis, dim in enumerate(op.shape(0)) if axis not in copied)
    return floordiv(left, prod(size for size in pattern if size > 0), op.call.scope)


def _quotient(op: LayerView, g: FunctionBuilder, pattern: Sequence[int], copied: Sequence[int]) -> str:
    """The dim of `_rest`, computed at run time, as an int64 vector of one element."""
    divisor = prod(size for size in pattern if size > 0)
    rest = _product(g, [g.dim(op.x(0), axis) for axis in range(op.rank(0)) if axis not in copied])
    return rest if divisor == 1 else g.Div(rest, g.i64(divisor))


def _resolved(op: LayerView, g: FunctionBuilder, pattern: Sequence[int], rest: str) -> str:
    """The int64 vector of the result's dims: `pattern` with -1 replaced by `rest`, and 0 by a dim of input 0."""
    x = op.x(0)
    return g.concat(
        *(rest if size == -1 else g.dim(x, axis) if size == 0 else g.i64(size) for axis, size in enumerate(pattern))
    )


def _product(g: FunctionBuilder, sizes: Sequence[str]) -> str:
    if not sizes:
        return g.i64(1)
    product = sizes[0]
    for size in sizes[1:]:
        product = g.Mul(product, size)
    return product


@lowers("Squeeze")
def squeeze(op: LayerView, g: FunctionBuilder) -> str:
    """shape/squeeze-1: Squeeze of the listed axes, or of all dims of 1 if none is listed. An axis may be listed twice.

    A listed axis whose dim is known not to be 1 is kept, as in OpenVINO at run time. An unknown dim is assumed to be 1.
    """
    if not op.has(1) or op.ints(1) == []:
        return g.Squeeze(op.x(0))
    if op.ints(1) is None:
        return g.Squeeze(op.x(0), vector(op, g, 1))
    return g.squeeze(op.x(0), *(axis for axis in _listed(op) if op.size(0, axis) in (1, None)))


@lowers("Squeeze", since=15)
def squeeze_or_skip(op: LayerView, g: FunctionBuilder) -> str:
    """shape/squeeze-15: Squeeze; with `allow_axis_skip` a listed dim other than 1 is kept, else it is an error."""
    if not op.has(1) or op.ints(1) == []:
        return g.Squeeze(op.x(0))
    if not op.flag("allow_axis_skip", False):
        return g.squeeze(op.x(0), *_listed(op)) if op.ints(1) is not None else g.Squeeze(op.x(0), vector(op, g, 1))
    op.known_ints(1)
    axes = [axis for axis in _listed(op) if op.size(0, axis) in (1, None)]
    if all(op.size(0, axis) == 1 for axis in axes):
        return g.squeeze(op.x(0), *axes)
    shape = g.Shape(op.x(0))
    stays = g.const([axis not in axes for axis in range(op.rank(0))])
    kept = g.Or(g.Not(g.Equal(shape, g.i64(1))), stays)
    return g.Reshape(op.x(0), g.Compress(shape, kept, axis=0), allowzero=1)


def _listed(op: LayerView) -> list[int]:
    return sorted(set(op.axes(1, op.rank(0)))) if op.rank(0) else []


@lowers("Unsqueeze", preserves_failures=True)
def unsqueeze(op: LayerView, g: FunctionBuilder) -> str:
    """shape/unsqueeze-1: ONNX's Unsqueeze."""
    return g.Unsqueeze(op.x(0), vector(op, g, 1))


@lowers("Transpose")
def transpose(op: LayerView, g: FunctionBuilder) -> str:
    """movement/transpose-1: Transpose; an empty order reverses the axes.

    An order that is computed at run time, which ONNX's Transpose cannot take, becomes a Gather from the flattened data.
    """
    order = op.ints(1)
    if order is not None:
        return g.Transpose(op.x(0), perm=[op.normalized_axis(axis, len(order)) for axis in order] or None)
    x, rank = op.x(0), op.rank(0)
    backwards = g.i64(*range(rank - 1, -1, -1))
    computed = vector(op, g, 1)
    computed = g.Slice(g.Concat(computed, backwards, axis=0), g.i64(0), g.i64(rank), g.i64(0))
    dims = g.Shape(x)
    # strides of the axes in the flattened data
    strides = [_product(g, [g.dim(x, after) for after in range(axis + 1, rank)]) for axis in range(rank)]
    sizes = g.Gather(dims, computed, axis=0)
    steps = g.Gather(g.concat(*strides), computed, axis=0)
    place = g.scalar(0, DType.INT64)
    for axis in range(rank):
        size, step = (g.Slice(v, g.i64(axis), g.i64(axis + 1), g.i64(0)) for v in (sizes, steps))
        place = g.Add(place, g.unsqueeze(g.Mul(iota(g, size), step), *range(1, rank - axis)))
    return g.Gather(g.as_vector(x), place, axis=0)


@lowers("Broadcast")
def broadcast(op: LayerView, g: FunctionBuilder) -> str:
    """movement/broadcast-1, broadcast-3: Expand.

    data    [d0, ..., dr-1]
    target  the dims of the result; with mode `bidirectional`, dims to broadcast the data with, as in ONNX
    axes    with mode `explicit`, the axis of the result that each dim of the data belongs to
    """
    mode = op.text("mode", "numpy", choices=("numpy", "explicit", "none", "pdpd", "bidirectional"))
    mode = "explicit" if mode == "none" else mode  # files write "none" for the explicit mode of broadcast-1
    return legalized(
        g, op.dtype(0), lambda x: g.Expand(_placed(op, g, mode, x), vector(op, g, 1)), op.x(0), by=WITHOUT_BFLOAT16
    )


def _placed(op: LayerView, g: FunctionBuilder, mode: str, x: str) -> str:
    """The data `x` with dims of 1 inserted at the axes of the result that it lacks, as `mode` defines.

    Raises LoweringRefused when the rank of the result has to be known and is not.
    """
    if mode not in ("explicit", "pdpd"):
        return x
    rank = op.size(1, 0)
    if rank is None:
        raise LoweringRefused("the rank of the result is not known")
    if mode == "explicit":
        axes = op.axes(2, rank)
        return g.unsqueeze(x, *(axis for axis in range(rank) if axis not in axes))
    axis = op.integer("mode.auto_broadcast_axis", op.integer("broadcast_spec.auto_broadcast_axis", -1))
    first = rank - op.rank(0) if axis == -1 else axis
    return g.unsqueeze(x, *range(op.rank(0), rank - first))


@lowers("Tile")
def tile(op: LayerView, g: FunctionBuilder) -> str:
    """movement/tile-1: Tile; the shorter of the shape of the data and the repeats is padded with leading ones."""
    count = op.size(1, 0) if op.rank(1) else 1
    if count is None:
        raise LoweringRefused("the number of repeats is not known")
    repeats, missing = vector(op, g, 1), op.rank(0) - count
    repeats = g.concat(g.i64(*[1] * missing), repeats) if missing > 0 else repeats
    return legalized(
        g, op.dtype(0), lambda x: g.Tile(g.unsqueeze(x, *range(-missing)), repeats), op.x(0), by=WITHOUT_BFLOAT16
    )  # fmt: skip


@lowers("Range")
def range_of_one_type(op: LayerView, g: FunctionBuilder) -> str:
    """generation/range-1: Range; start, stop and step have the type of the result."""
    return _range(op, g, op.dtype(0))


@lowers("Range", since=4)
def range_to(op: LayerView, g: FunctionBuilder) -> str:
    """generation/range-4: Range; start, stop and step of any types are converted to `output_type` first.

    With integer output from floats that are not constant, OpenVINO counts in float32 and rounds each element.
    """
    to = op.type_of("output_type")
    is_known = all(op.array(i) is not None for i in range(3))
    step = op.known_number(2) if is_known and not to.is_float else None
    if step is not None and abs(step) < 1:
        return g.cast(g.i64(), DType.INT64, to)  # a step of 0 is undefined; OpenVINO returns no elements
    if to.is_float or is_known or not any(op.dtype(i).is_float for i in range(3)):
        return _range(op, g, to)
    counted_in_floats = g.Range(*(g.cast(single(op, g, i), op.dtype(i), DType.FLOAT32) for i in range(3)))
    return g.cast(g.Round(counted_in_floats), DType.FLOAT32, to)


def _range(op: LayerView, g: FunctionBuilder, to: DType) -> str:
    wide = _RANGED.get(to, DType.INT64)
    return g.cast(g.Range(*(g.cast(single(op, g, i), op.dtype(i), wide) for i in range(3))), wide, to)


@lowers("Eye", since=9)
def eye(op: LayerView, g: FunctionBuilder) -> str:
    """generation/eye-9: Equal of row and column numbers, then Cast.

    Inputs: number of rows, number of columns, offset, batch shape (optional). The result is 1 where column - row equals
    the offset, and is expanded to the batch shape.
    """
    to = op.type_of("output_type")
    rows, columns, offset = (g.Reshape(as_int64(op, g, i), g.i64(1)) for i in range(3))
    here = g.Equal(iota(g, columns), g.Add(g.unsqueeze(iota(g, rows), 1), offset))
    matrix = g.Cast(here, to=int(to))
    if not op.has(3):
        return matrix
    target = g.concat(vector(op, g, 3), rows, columns)
    return legalized(g, to, lambda x: g.Expand(x, target), matrix, by=WITHOUT_BFLOAT16)


@lowers("ConvertPromoteTypes", since=14, preserves_failures=True)
def promoted(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """type/convert-promote-types-14: Cast of both inputs to their common type; see `_common`."""
    first, second = op.dtype(0), op.dtype(1)
    to = _common(op, first, second)
    return g.cast(op.x(0), first, to), g.cast(op.x(1), second, to)


def _common(op: LayerView, first: DType, second: DType) -> DType:
    """The common type of `first` and `second` by the rules of the page.

    A float type wins over an integer type and an integer type over booleans; then the type with more bits wins.
    """
    if first is second:
        return first
    if op.flag("pytorch_scalar_promotion", False) and (op.rank(0) == 0) != (op.rank(1) == 0):
        tensor, number = (second, first) if op.rank(0) == 0 else (first, second)
        if _category(tensor) >= _category(number):
            return tensor
        return number if _category(number) < 2 else DType.FLOAT32 if tensor is DType.BOOL else number
    if _category(first) != _category(second):
        return first if _category(first) > _category(second) else second
    if _category(first) == 2:
        pair = {first, second}
        return DType.FLOAT32 if pair == {DType.FLOAT16, DType.BFLOAT16} else max(pair, key=_bits)
    return _common_integer(op, first, second)


def _common_integer(op: LayerView, first: DType, second: DType) -> DType:
    signed = [dtype for dtype in (first, second) if _is_signed(dtype)]
    if len(signed) != 1:
        return max(first, second, key=_bits)
    (other,) = {first, second} - set(signed)
    if _bits(other) == 64:
        return op.type_of("u64_integer_promotion_target", "f32")
    wider = {8: DType.INT16, 16: DType.INT32, 32: DType.INT64}[_bits(other)]
    return max(signed[0], wider, key=_bits)


def _category(dtype: DType) -> int:
    return 0 if dtype is DType.BOOL else 2 if dtype.is_float else 1


def _is_signed(dtype: DType) -> bool:
    return dtype in (DType.INT8, DType.INT16, DType.INT32, DType.INT64)


def _bits(dtype: DType) -> int:
    sizes = {
        1: ("int8", "uint8", "bool"),
        2: ("int16", "uint16", "float16", "bfloat16"),
        4: ("int32", "uint32", "float32"),
    }
    return next((8 * size for size, names in sizes.items() if str(dtype) in names), 64)
