"""Operands: integer inputs read as dims and axes, and the facts that data movement preserves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.preconditions import normalize_axis, refuse_other_ranks, require_rank
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import MAX_VALUES, DType, Shape, SymbolicTensor, ValueRange, holds_values, make_values
from gather_infer.value_ranges import explicit_range, hull, needs_range, range_of

Values = npt.NDArray[np.object_]


def elements_of(tensor: SymbolicTensor, name: str) -> list[Dim | None] | None:
    """The elements of a 1-D integer tensor, with None for each unknown element.

    None in place of the list when the length is unknown or above MAX_VALUES. A scalar counts as one element, as
    onnxruntime takes it for some operators; for the others see `elements_of_vector`. Raises SpecViolation (GI305) when
    `tensor` has rank 2 or more.
    """
    if tensor.shape is None:
        return None
    if len(tensor.shape) > 1:
        require_rank(tensor.shape, 1, name)
    if tensor.values is not None:
        return [element if _is_dim(element) else None for element in tensor.values.flat]
    length = tensor.shape[0] if tensor.shape else 1
    return [None] * length if isinstance(length, int) and length <= MAX_VALUES else None


def elements_of_vector(op: OpCall, tensor: SymbolicTensor, name: str) -> list[Dim | None] | None:
    """The same for an operator of which onnxruntime refuses a scalar in place of a vector of one element."""
    elements = elements_of(tensor, name)
    refuse_other_ranks(op, tensor.shape, (1,), name)
    return elements


def _is_dim(element: object) -> bool:
    return isinstance(element, (int, Expr)) and not isinstance(element, bool)


def all_ints(elements: Sequence[Dim | None] | None) -> list[int] | None:
    """`elements` when all of them are numbers, else None."""
    if elements is None or not all(isinstance(element, int) for element in elements):
        return None
    return [element for element in elements if isinstance(element, int)]


def static_shape(shape: Shape | None) -> tuple[int, ...] | None:
    """`shape` if all dims are static, else None."""
    return None if shape is None or (ints := all_ints(shape)) is None else tuple(ints)


def unique_axes(axes: Sequence[int], rank: int, name: str = "axes") -> list[int]:
    """`axes` in the same order, each counted from the front.

    Raises SpecViolation when an axis is outside [-rank, rank - 1] or two are the same axis.
    """
    result = [normalize_axis(axis, rank, name) for axis in axes]
    if len(set(result)) < len(result):
        raise SpecViolation(f"{name} must be different axes, are {list(axes)} of rank {rank}")
    return result


def replaced(shape: Shape, axis: int, *dims: Dim) -> Shape:
    """`shape` with the dim at `axis` (non-negative) replaced by `dims`."""
    return (*shape[:axis], *dims, *shape[axis + 1 :])


def moved(op: OpCall, data: SymbolicTensor, shape: Shape | None, values: Values | None = None) -> SymbolicTensor:
    """The result of data movement: a tensor of `shape` whose elements are elements of `data`.

    values   the elements of the result, None for each unknown element; None in place of the array when all are unknown
    """
    values = tracked_values(values, shape)
    return SymbolicTensor(data.dtype, shape, values, explicit_range(data, op.scope) if needs_range(values) else None)


def tracked_values(values: Values | None, shape: Shape | None) -> Values | None:
    """`values` if they have the static shape `shape`, are few enough to track, and are not all unknown; else None."""
    if values is None or values.shape != static_shape(shape) or not holds_values(values.shape):
        return None
    return None if values.size and all(element is None for element in values.flat) else values


def joint_range(op: OpCall, inputs: Sequence[SymbolicTensor]) -> ValueRange | None:
    """The value range of a tensor whose elements come from any of `inputs`.

    None when the range has no bound, an input is not known to be an integer tensor, or all inputs are empty.
    """
    if not all(tensor.dtype is not None and tensor.dtype.is_integer for tensor in inputs):
        return None
    inhabited = [t for t in inputs if t.shape is None or not any(isinstance(d, int) and d == 0 for d in t.shape)]
    if not inhabited:
        return None
    joined = hull(
        *(explicit_range(tensor, op.scope) or range_of(tensor, op.scope) for tensor in inhabited), scope=op.scope
    )
    return None if joined.lo is None and joined.hi is None else joined


def values_or_unknown(tensor: SymbolicTensor) -> Values | None:
    """The tracked elements of a tensor, or an array of its shape that is all None.

    None in place of an array when the shape is not static or too large to track.
    """
    if tensor.values is not None:
        return tensor.values
    shape = static_shape(tensor.shape)
    if shape is None or not holds_values(shape):
        return None
    return np.full(shape, None, dtype=object)


def vector(elements: Sequence[Dim]) -> Values:
    """`elements` as a 1-D object array."""
    return make_values(list(elements))


def element_dim(op: OpCall, element: Dim | None, name: str) -> Dim:
    """`element` as a size, after requiring that it is >= 0; a new symbol when `element` is None.

    name   describes the element in messages

    Raises SpecViolation when the element is negative in every run.
    """
    if element is None:
        return op.fresh(f"{name} is not known")
    op.require((0, "<=", element), otherwise=f"{name} must be >= 0, is {element}")
    return element


def element_type(number: int, name: str = "dtype") -> DType:
    """The DType whose number in TensorProto.DataType is `number`.

    name   describes the number in the message

    Raises SpecViolation (GI211) when no DType has this number.
    """
    if number not in DType.__members__.values():
        raise SpecViolation(f"{name} = {number} is no element type", "GI211")
    return DType(number)


def zero_of(dtype: DType | None) -> int | float | bool | None:
    """The zero of an element type, which is its default fill value; None for unknown, string and complex types."""
    if dtype is None or dtype in (DType.STRING, DType.COMPLEX64, DType.COMPLEX128):
        return None
    if dtype is DType.BOOL:
        return False
    return 0.0 if dtype.is_float else 0
