"""Named laws: equations that hold for real numbers, and in floats where a runtime computes both sides alike.

A proof uses a law only if the caller names it; docs/diff.md lists in which runtimes and at which sizes it was measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from gather_infer.equality.frames import Frame, range_of
from gather_infer.equality.pieces import rearranged
from gather_infer.equality.pointwise import applied, operands_broadcast
from gather_infer.equality.pool import TermPool
from gather_infer.equality.reshape import reshaped_index
from gather_infer.equality.result import Law
from gather_infer.equality.terms import Call, Operator, Source, Tensor, Term
from gather_infer.equality.view import TermView
from gather_infer.errors import UsageError, close_match
from gather_infer.symbolic import Dim, product
from gather_infer.tensor import DType, Shape

_MATMUL: Final[Operator] = ("", "MatMul", 1)
_ADD: Final[Operator] = ("", "Add", 7)


def laws_of(names: Iterable[Law | str]) -> tuple[Law, ...]:
    """The laws with these names, each once. Raises UsageError for an unknown name."""
    known = {str(law): law for law in Law}
    found = []
    for name in map(str, names):
        if name not in known:
            raise UsageError(f"no law {name!r}{close_match(name, known)}; the laws are {', '.join(known)}")
        found.append(known[name])
    return tuple(dict.fromkeys(found))


def opened_by_law(view: TermView, operator: Operator, laws: Collection[Law]) -> Tensor | None:
    """The output of an operator by one of the laws; None if none is about it."""
    if operator[:2] == ("", "MatMul") and Law.ROWS in laws:
        data, weights = view.operand(0), view.operand(1)
        if data is not None and weights is not None and data.rank > 2 and weights.rank == 2:
            return _rowwise(view, data, weights)
    if operator[:2] == ("", "Gemm") and Law.GEMM_BIAS in laws:
        return _gemm(view)
    return None


def element_of_columns(
    pool: TermPool, product: Source, call: Call, place: tuple[Dim, ...], frame: Frame
) -> Term | None:
    """An element of a product with a matrix, as one of the product with the columns that are read.

    None if one column is read, which onnxruntime multiplies in another way, or all, or it is not known which.
    """
    data, weights = call.operands
    columns = range_of(place[-1], frame) if place else None
    if not isinstance(weights, Tensor) or weights.rank != 2 or columns is None or product.shape is None:
        return None
    number = len(columns)
    if number < 2 or not isinstance(product.shape[-1], int) or number >= product.shape[-1]:
        return None
    shape = (weights.shape[0], number)
    read = pool.frame(shape)
    part = pool.tensor(
        weights.dtype, shape, pool.at(weights, (read.variables[0], read.variables[1] + columns.start), read)
    )
    found = pool.result(
        pool.call(call.operator, call.attributes, (data, part)), 0, product.dtype, (*product.shape[:-1], number)
    )
    return pool.select(found, (*place[:-1], place[-1] - columns.start), frame)


def _rowwise(view: TermView, data: Tensor, weights: Tensor) -> Tensor | None:
    """A product of a tensor of rank 3 or more with a matrix."""
    flat = _reshaped(view.pool, data, (product(data.shape[:-1]), data.shape[-1]))
    if flat is None:
        return None
    found = _matmul(view.pool, flat, weights, view.dtype)
    return _reshaped(view.pool, found, view.result_shape)


def _gemm(view: TermView) -> Tensor | None:
    data, weights = view.operand(0), view.operand(1)
    if data is None or weights is None or (data.rank, weights.rank) != (2, 2):
        return None
    if view.attr("alpha", 1.0) != 1 or (view.has(2) and view.attr("beta", 1.0) != 1):
        return None
    data = _transposed(view.pool, data) if view.integer("transA") else data
    weights = _transposed(view.pool, weights) if view.integer("transB") else weights
    found = _matmul(view.pool, data, weights, view.dtype)
    if not view.has(2):
        return found
    bias = view.operand(2)
    frame, shape = view.frame, view.result_shape
    indices = None if bias is None else operands_broadcast((found.shape, bias.shape), shape, frame)
    if bias is None or indices is None:
        return None
    terms = tuple(view.pool.at(part, index, frame) for part, index in zip((found, bias), indices, strict=True))
    return view.result(applied(view.pool, _ADD, (), view.dtype, terms, frame))


def _matmul(pool: TermPool, data: Tensor, weights: Tensor, dtype: DType | None) -> Tensor:
    """The product of two matrices, as a MatMul of them is translated."""
    call = pool.call(_MATMUL, (), (data, weights))
    return pool.whole(pool.result(call, 0, dtype, (data.shape[0], weights.shape[1])))


def _transposed(pool: TermPool, matrix: Tensor) -> Tensor:
    shape = matrix.shape[::-1]
    return rearranged(pool, matrix, matrix.dtype, shape, pool.frame(shape).variables[::-1])


def _reshaped(pool: TermPool, data: Tensor, shape: Shape) -> Tensor | None:
    index: Sequence[Dim] | None = reshaped_index(data.shape, shape, pool.frame(shape))
    return None if index is None else rearranged(pool, data, data.dtype, shape, index)
