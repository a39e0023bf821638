"""Rules of Resize and its predecessor Upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.operands import element_dim, elements_of, unique_axes
from gather_infer.ops.semantics.preconditions import refuse_other_ranks, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, floordiv, known_eq
from gather_infer.tensor import MAX_VALUES, Ratio, SymbolicTensor, format_shape

rules = RuleSet("")

Scale = object  # int, float, Expr, Ratio, or None when it is unknown


@rules.rule("Upsample", since=1)
def onnx_upsample_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Upsample.html (version 1: attributes height_scale and width_scale)"""
    data = op.tensor(0)
    require_rank(data.shape, 4, "the input")
    return [scaled(op, data, [1, 1, op.attr("height_scale"), op.attr("width_scale")])]


@rules.rule("Upsample", since=7)
def onnx_upsample_7(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Upsample.html (version 7: scales is an attribute)"""
    return [scaled(op, op.tensor(0), list(op.attr("scales", ())))]


@rules.rule("Upsample", since=9, operands={1: "a scale per axis"}, dims=(1,))
def onnx_upsample(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Upsample.html (version 9: scales is an input)"""
    return [scaled(op, op.tensor(0), scales_of(op.tensor(1)))]


@rules.rule("Resize", since=10, operands={1: "a scale per axis"}, dims=(1,))
def onnx_resize_10(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Resize.html (version 10: scales is an input)"""
    return [scaled(op, op.tensor(0), scales_of(op.tensor(1)))]


@rules.rule("Resize", since=11, operands={2: "a scale per axis", 3: "a size per axis"}, dims=(2, 3))
def onnx_resize(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Resize.html

    Version 11 takes scales or sizes; version 18 adds attributes axes and keep_aspect_ratio_policy.

    Raises SpecViolation unless exactly one of scales and sizes is given; an empty tensor counts as absent.
    """
    data = op.tensor(0)
    scales, sizes = _nonempty_input(op, 2), _nonempty_input(op, 3)
    if (scales is None) == (sizes is None):
        found = "none" if scales is None else "both"
        raise SpecViolation(f"exactly one of scales and sizes must be given, found {found}")
    given = op.attr("axes")
    axes = None if given is None or data.shape is None else unique_axes(given, len(data.shape))
    if sizes is not None:
        return [sized(op, data, elements_of(sizes, "sizes"), axes, op.attr("keep_aspect_ratio_policy", "stretch"))]
    assert scales is not None
    if op.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        op.add_unchecked("the effect of roi on the sizes is not modeled")
        return [_unknown(op, data, "the size depends on roi")]
    return [scaled(op, data, scales_of(scales), axes)]


def _nonempty_input(op: OpCall, index: int) -> SymbolicTensor | None:
    tensor = op.optional_tensor(index)
    if tensor is None or (tensor.shape is not None and len(tensor.shape) == 1 and tensor.shape[0] == 0):
        return None
    return tensor


def scales_of(tensor: SymbolicTensor) -> list[Scale] | None:
    """The elements of the 1-D input scales, None for an unknown element.

    Returns None instead of a list when the number of elements is unknown or too large. Raises SpecViolation for another
    rank.
    """
    if tensor.shape is None:
        return None
    require_rank(tensor.shape, 1, "scales")
    if tensor.values is not None:
        return list(tensor.values.flat)
    length = tensor.shape[0]
    return [None] * length if isinstance(length, int) and length <= MAX_VALUES else None


def scaled(
    op: OpCall, data: SymbolicTensor, scales: Sequence[Scale] | None, axes: Sequence[int] | None = None
) -> SymbolicTensor:
    """`data` resized so that each axis has length floor(dim * scale).

    data    [d0, ..., dr-1]
    scales  numbers > 0, one per axis in `axes`, None for an unknown one; None when their number is unknown
    axes    the resized axes; None for all axes

    Raises SpecViolation when `scales` has another length or a scale is not > 0.
    """
    if data.shape is None:
        return SymbolicTensor(data.dtype)
    if scales is None:
        return _unknown(op, data, "scales are not known")
    where = _scaled_axes(data, len(scales), "scales", axes)
    shape = list(data.shape)
    for axis, scale in zip(where, scales, strict=True):
        shape[axis] = _scaled_dim(op, shape[axis], scale)
    _add_unchecked_ranks(op, data, shape)
    return SymbolicTensor(data.dtype, tuple(shape))


def _add_unchecked_ranks(op: OpCall, data: SymbolicTensor, result: Sequence[Dim]) -> None:
    """Record as unchecked if onnxruntime does not implement attribute mode for `data`, or for the axes that change."""
    mode, rank = op.attr("mode", "nearest"), len(result)
    assert data.shape is not None, "the result has its rank"
    if mode == "cubic":
        refuse_other_ranks(op, data.shape, (2, 4), "the input", " with cubic interpolation")
        if rank == 4 and data.dtype is not None and not data.dtype.is_float:
            op.add_unchecked(f"onnxruntime has no cubic interpolation of {data.dtype}")
    elif mode == "linear":
        refuse_other_ranks(op, data.shape, (2, 3, 4, 5), "the input", " with linear interpolation")
        if rank == 5 and any(known_eq(data.shape[axis], result[axis], op.scope) is not True for axis in (0, 1)):
            op.add_unchecked("onnxruntime interpolates volumes only along their last three axes")


def _scaled_axes(data: SymbolicTensor, count: int, name: str, axes: Sequence[int] | None) -> Sequence[int]:
    assert data.shape is not None
    where = range(len(data.shape)) if axes is None else axes
    if len(where) != count:
        raise SpecViolation(
            f"{name} must have {len(where)} elements, one per axis of {format_shape(data.shape)}, has {count}"
        )
    return where


_EXACT = 256
"""Largest numerator and denominator of a scale whose product with any dim up to 2^16 is exact in float32."""

_LONGEST = 2**16
"""Largest dim for which the float32 product with a scale is compared with the product with a ratio p/q."""


@cache
def _ratio_of(scale: float) -> Fraction | None:
    """p/q such that `floor(float32(scale) * float32(n)) == n*p // q` for all n up to `_LONGEST`; None if none is found.

    For example 0.7 is 0.69999999 in float32, but its float32 product with 10 is 7, so the ratio is 7/10.
    """
    if scale >= 2**31:
        return None  # products too large to compare
    sizes = np.arange(_LONGEST + 1)
    products = np.floor(np.float32(scale) * sizes.astype(np.float32))
    for ratio in (Fraction(scale).limit_denominator(1000), Fraction(scale)):
        if max(ratio.numerator, ratio.denominator) < 2**31 and np.array_equal(
            products, sizes * ratio.numerator // ratio.denominator
        ):
            return ratio
    return None


def _scaled_dim(op: OpCall, dim: Dim, scale: Scale) -> Dim:
    match scale:
        case int() | float() if not scale > 0:
            raise SpecViolation(f"a scale must be > 0, is {scale}")
        case int() | float() if math.isfinite(scale):
            if isinstance(dim, int):
                # Runtimes multiply in float32.
                return int(np.float32(scale) * np.float32(dim))
            exact = Fraction(scale)
            if exact.numerator <= _EXACT and exact.denominator <= _EXACT:
                return floordiv(dim * exact.numerator, exact.denominator, op.scope)
            ratio = _ratio_of(scale)
            rounds_alike = f"floor({dim} * {float(scale):.6g}), taken in float32, is floor({dim} * {ratio})"
            if ratio is not None and op.assume_at_most(dim, _LONGEST, rounds_alike):
                return floordiv(dim * ratio.numerator, ratio.denominator, op.scope)
            return op.derived("resize", dim, scale, reason=f"floor({dim} * {scale}) depends on rounding")
        case Expr():
            op.add_implied_fact(scale - 1)
            return dim * scale
        case Ratio(num, den) if scale.is_exact:
            op.add_implied_fact(num - 1)
            return floordiv(dim * num, den, op.scope)
    return op.fresh("a scale is not known")


def sized(
    op: OpCall, data: SymbolicTensor, sizes: Sequence[Dim | None] | None, axes: Sequence[int] | None, policy: str
) -> SymbolicTensor:
    """`data` resized to `sizes`, or scaled by one factor so that it fits in or covers `sizes`.

    data    [d0, ..., dr-1]
    sizes   numbers >= 0, one per axis in `axes`, None for an unknown one; None when their number is unknown
    axes    the resized axes; None for all axes
    policy  attribute keep_aspect_ratio_policy: stretch (each axis has its size), not_larger or not_smaller

    Raises SpecViolation when `sizes` has another length or a negative element.
    """
    if data.shape is None:
        rank = len(sizes) if sizes is not None and op.attr("axes") is None else None
        if rank is None:
            return SymbolicTensor(data.dtype)
        data = SymbolicTensor(data.dtype, tuple(op.fresh("the rank of the input is not known") for _ in range(rank)))
    assert data.shape is not None
    if sizes is None:
        return _unknown(op, data, "sizes are not known")
    where = _scaled_axes(data, len(sizes), "sizes", axes)
    wanted = [element_dim(op, size, f"element {i} of sizes") for i, size in enumerate(sizes)]
    shape = list(data.shape)
    if policy != "stretch":
        wanted = _fitted(op, [shape[axis] for axis in where], wanted, policy)
    for axis, size in zip(where, wanted, strict=True):
        op.add_runtime_constraint((1, "<=", shape[axis]), (size, "==", 0))
        if len(shape) == 4 and axis < 2 and op.attr("mode", "nearest") != "nearest":
            op.add_runtime_constraint((shape[axis], "==", size))
        shape[axis] = size
    _add_unchecked_ranks(op, data, shape)
    return SymbolicTensor(data.dtype, tuple(shape))


def _fitted(op: OpCall, dims: list[Dim], sizes: list[Dim], policy: str) -> list[Dim]:
    """round(dim * scale) per dim; scale is the smallest (`policy` not_larger) or largest (not_smaller) size / dim.

    `dims` and `sizes` have an entry per resized axis. The result is `sizes` when all dims are equal and all sizes are
    equal. Otherwise it consists of new symbols if any dim or size is not static.
    """
    if len(set(dims)) == 1 and len(set(sizes)) == 1:
        return sizes
    static = [(d, s) for d, s in zip(dims, sizes, strict=True) if isinstance(d, int) and isinstance(s, int) and d > 0]
    if len(static) < len(dims):
        return [
            op.derived("resize", policy, i, *dims, *sizes, reason=f"the aspect ratio of {dim} depends on rounding")
            for i, dim in enumerate(dims)
        ]
    ratios = [np.float32(size) / np.float32(dim) for dim, size in static]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(float(np.float32(scale * np.float32(dim))) + 0.5) for dim, _ in static]


def _unknown(op: OpCall, data: SymbolicTensor, reason: str) -> SymbolicTensor:
    if data.shape is None:
        return SymbolicTensor(data.dtype)
    return SymbolicTensor(data.dtype, tuple(op.fresh(reason) for _ in data.shape))
