"""Preconditions on the inputs of rules: ranks, equal dims, divisibility, equal element types."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

from gather_infer.errors import SpecViolation
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import DType, Shape, SymbolicTensor, format_shape

PartialShape: TypeAlias = "tuple[Dim | None, ...]"


def require_rank(shape: Shape | None, rank: int | tuple[int, ...], name: str) -> Shape | None:
    """Return `shape` after checking its rank; an unknown rank (None) is accepted.

    rank   the required rank, or a tuple of allowed ranks

    Raises SpecViolation (GI305) when the rank is known and not allowed.
    """
    ranks = (rank,) if isinstance(rank, int) else rank
    if shape is not None and len(shape) not in ranks:
        found = f"has rank {len(shape)}: {format_shape(shape)}"
        raise SpecViolation(f"{name} must have rank {alternatives(ranks)}, {found}", "GI305")
    return shape


def alternatives(allowed: Iterable[object]) -> str:
    """The items of `allowed`, at least one, as text: `a, b or c`."""
    *others, last = map(str, allowed)
    return f"{', '.join(others)} or {last}" if others else last


def require_min_rank(shape: Shape | None, rank: int, name: str) -> Shape | None:
    """Return `shape` after checking that its rank is at least `rank`.

    Raises SpecViolation (GI305) when the rank is known and smaller.
    """
    if shape is not None and len(shape) < rank:
        found = f"has rank {len(shape)}: {format_shape(shape)}"
        raise SpecViolation(f"{name} must have rank {rank} or more, {found}", "GI305")
    return shape


def require_shape(op: OpCall, shape: Shape | None, expected: Shape, name: str) -> Shape:
    """`expected`, with the static dims of `shape` in place of symbolic ones; `expected` itself when `shape` is None.

    The two shapes must be equal, dim for dim. Raises SpecViolation when the ranks differ (GI305) or two dims can never
    be equal (GI212).
    """
    if shape is None or shape is expected:
        return expected
    require_rank(shape, len(expected), name)
    return tuple(
        w
        if d is w or d == w
        else op.require_equal(w, d, f"axis {axis} of {name} {format_shape(shape)} and its expected dim")
        for axis, (d, w) in enumerate(zip(shape, expected, strict=True))
    )


def merge_shape(op: OpCall, shape: PartialShape | None, expected: PartialShape, name: str) -> PartialShape:
    """As `require_shape`, but a dim of either shape may be None, an unknown dim; the other shape's dim replaces it."""
    if shape is None:
        return expected
    if len(shape) != len(expected):
        raise SpecViolation(f"{name} must have rank {len(expected)}, has rank {len(shape)}", "GI305")
    return tuple(
        w if d is None else d if w is None else op.require_equal(w, d, f"axis {axis} of {name} and its expected dim")
        for axis, (d, w) in enumerate(zip(shape, expected, strict=True))
    )


def fill(op: OpCall, dims: PartialShape, reason: str) -> Shape:
    """`dims` with a new symbol in place of each unknown dim (None); `reason` explains why a dim is unknown."""
    return tuple(op.fresh(reason) if dim is None else dim for dim in dims)


def require_broadcast_to(op: OpCall, shape: Shape | None, target: Shape, name: str) -> Shape:
    """`target`, with the static dims of `shape` in place of symbolic ones; `shape` must broadcast to `target`.

    shape   [s0, ..., sm-1], m <= n, aligned to the right; each si is 1 or equals the dim of target at the same axis
    target  [t0, ..., tn-1], never extended

    Raises SpecViolation (GI212) when `shape` can never broadcast to `target`.
    Spec: https://github.com/onnx/onnx/blob/main/docs/Broadcasting.md
    """
    if shape is None:
        return target
    if len(shape) > len(target):
        raise SpecViolation(
            f"{name} {format_shape(shape)} must broadcast to {format_shape(target)}, has more axes", "GI212"
        )
    result = list(target)
    for axis in range(-len(shape), 0):
        dim, wanted = shape[axis], target[axis]
        if dim is wanted or dim == 1:
            continue
        op.require(
            (dim, "==", 1),
            (dim, "==", wanted),
            otherwise=lambda axis=axis, dim=dim, wanted=wanted: (  # type: ignore[misc] # its defaults have no types
                f"{name} {format_shape(shape)} must broadcast to {format_shape(target)}: "
                f"dim {dim} and dim {wanted} at axis {axis}"
            ),
            code="GI212",
        )
        if isinstance(dim, int):
            result[axis] = dim  # it is not 1
    return tuple(result)


def require_divisible(op: OpCall, dim: Dim, divisor: int, what: str) -> None:
    """Require that `divisor` divides `dim`. Raises SpecViolation (GI212) when it never does.

    what   describes `dim` in the message
    """
    if divisor != 1:
        message = f"{what} must be a multiple of {divisor}, is {dim}"
        op.require((dim % divisor, "==", 0), otherwise=message, code="GI212")


def require_same_dtype(names: str, *tensors: SymbolicTensor | None) -> DType | None:
    """The element type shared by `tensors`; None when no element type is known. An absent tensor (None) is skipped.

    names   the names of the tensors for the message

    Raises SpecViolation (GI211) when two known element types differ.
    """
    found: DType | None = None
    for tensor in tensors:
        if tensor is None or tensor.dtype is None or tensor.dtype is found:
            continue
        if found is not None:
            raise SpecViolation(f"{names} must have one element type, have {found} and {tensor.dtype}", "GI211")
        found = tensor.dtype
    return found


def require_one_element(op: OpCall, tensor: SymbolicTensor | None, name: str) -> None:
    """Require that a tensor of any rank has one element; an absent tensor (None) or an unknown rank is accepted.

    Raises SpecViolation (GI305) when the tensor can never have one element.
    """
    for dim in () if tensor is None or tensor.shape is None else tensor.shape:
        op.require((dim, "==", 1), otherwise=lambda: f"{name} must have one element, is {tensor}", code="GI305")


def require_scalar(op: OpCall, tensor: SymbolicTensor | None, name: str) -> None:
    """Require that a tensor has rank 0 or 1 and one element; an absent tensor (None) or an unknown rank is accepted.

    Raises SpecViolation (GI305) when the rank is higher or the tensor can never have one element.
    """
    if tensor is not None and tensor.shape is not None and len(tensor.shape) > 1:
        raise SpecViolation(f"{name} must be a scalar, has rank {len(tensor.shape)}", "GI305")
    require_one_element(op, tensor, name)


def require_one_or(op: OpCall, tensor: SymbolicTensor | None, dim: Dim | None, name: str) -> None:
    """Require that a tensor has one element, or is a vector of `dim` elements; `dim` None means an unknown number.

    Raises SpecViolation (GI212) when a vector can have neither length. onnxruntime refuses ranks above 1, even for one
    element: such a rank is recorded as unchecked, as is a vector if `dim` is unknown. An absent tensor (None) is
    accepted.
    """
    if tensor is None or not tensor.shape:
        return
    if len(tensor.shape) > 1:
        refuse_other_ranks(op, tensor.shape, (0, 1), name)
        return
    (length,) = tensor.shape
    if dim is None:
        if length != 1:
            op.add_unchecked(f"{name} of {length} elements has to fit an operand of unknown size")
        return
    message = f"{name} must have one element or {dim}, has {length}"
    op.require((length, "==", 1), (length, "==", dim), otherwise=message, code="GI212")


def refuse_empty(op: OpCall, *dims: Dim) -> None:
    """Record that onnxruntime fails where one of `dims` is 0, which the specification does not mention."""
    for dim in dims:
        op.add_runtime_constraint((1, "<=", dim))


def refuse_other_ranks(op: OpCall, shape: Shape | None, ranks: Collection[int], name: str, what: str = "") -> None:
    """Record that onnxruntime may fail when `shape` has a rank outside `ranks`, which the specification allows.

    name  the name of the tensor for the message
    what  qualifies the operator in the message, as ` with cubic interpolation`
    """
    if shape is not None and len(shape) not in ranks:
        taken = alternatives(ranks)
        op.add_unchecked(
            f"onnxruntime runs {op.op_type}{what} only for {name} of rank {taken}, this one has {len(shape)}"
        )


def unknown_dims(op: OpCall, count: int, reason: str) -> Shape:
    """`count` new symbols for dims that are unknown for `reason`."""
    return tuple(op.fresh(reason) for _ in range(count))


def known_value(tensor: SymbolicTensor | None) -> Dim | None:
    """The only element of an integer tensor.

    None when `tensor` is None, does not have exactly one element, or the element is unknown.
    """
    element = None if tensor is None else tensor.only_element
    return element if isinstance(element, (int, Expr)) and not isinstance(element, bool) else None


def normalize_axis(axis: int, rank: int, name: str = "axis", *, of: str = "data") -> int:
    """`axis` counted from the front; a negative axis counts from the end of the `rank` axes.

    name, of   describe the axis and the tensor in the message

    Raises SpecViolation (GI304) when `axis` is outside [-rank, rank - 1].
    """
    if not -rank <= axis < rank:
        raise SpecViolation(f"{name} = {axis} is outside [{-rank}, {rank - 1}], {of} has rank {rank}", "GI304")
    return axis + rank if axis < 0 else axis
