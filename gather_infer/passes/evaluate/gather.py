"""Evaluators of the gather family; elements are copied as bits, without arithmetic."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Bits, Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet

evaluators = EvaluatorSet("")
ml = EvaluatorSet("ai.onnx.ml")
microsoft = EvaluatorSet("com.microsoft")


@evaluators.evaluates("Gather")
def _gather(call: Evaluation) -> list[Constant]:
    return [gather(*call.data_and_indices(), axis=call.integer("axis", 0))]


@evaluators.evaluates("GatherElements")
def _gather_elements(call: Evaluation) -> list[Constant]:
    return [gather_elements(*call.data_and_indices(), axis=call.integer("axis", 0))]


@evaluators.evaluates("GatherND")
@microsoft.evaluates("GatherND")
def _gather_nd(call: Evaluation) -> list[Constant]:
    return [gather_nd(*call.data_and_indices(), batch_dims=call.integer("batch_dims", 0))]


@ml.evaluates("ArrayFeatureExtractor")
def _array_feature_extractor(call: Evaluation) -> list[Constant]:
    return [array_feature_extractor(*call.data_and_indices())]


def gather(data: Constant, indices: Constant, *, axis: int) -> Constant:
    """The slices of `data` at `indices` along `axis`, in the shape `data[:axis] + indices + data[axis+1:]`.

    Raises SpecViolation if `axis` or an index is out of range, or `indices` is neither int32 nor int64.
    https://onnx.ai/onnx/operators/onnx__Gather.html
    """
    rank = data.bits.ndim
    at = normalize_axis(axis, rank)
    index = in_range(indices_of(indices), data.bits.shape[at])
    shape = data.bits.shape[:at] + index.shape + data.bits.shape[at + 1 :]
    return _moved(data, np.take(data.bits, index.reshape(-1), axis=at), shape)


def gather_elements(data: Constant, indices: Constant, *, axis: int) -> Constant:
    """The element of `data` at each index along `axis`; the result has the shape of `indices`.

    Raises SpecViolation as `gather`, and if the ranks differ, or `indices` is longer than `data` along another axis.
    https://onnx.ai/onnx/operators/onnx__GatherElements.html
    """
    index = indices_of(indices)
    rank = data.bits.ndim
    if index.ndim != rank:
        raise SpecViolation(f"data and indices must have the same rank, have {rank} and {index.ndim}", "GI305")
    at = normalize_axis(axis, rank)
    if any(n > data.bits.shape[i] for i, n in enumerate(index.shape) if i != at):
        raise SpecViolation(f"indices {list(index.shape)} is larger than data {list(data.bits.shape)}", "GI301")
    index = in_range(index, data.bits.shape[at])
    # Off the axis the indices may cover only the first elements of data.
    part = data.bits[tuple(slice(None) if i == at else slice(0, n) for i, n in enumerate(index.shape))]
    return _moved(data, np.take_along_axis(part, index, axis=at), index.shape)


def gather_nd(data: Constant, indices: Constant, *, batch_dims: int = 0) -> Constant:
    """The elements or slices of `data` at the index tuples along the last axis of `indices`.

    The result has the shape `indices[:-1] + data[batch_dims + k:]`, where k is the length of the tuples.

    Raises SpecViolation as `gather`, and if the batch dims differ, or k is outside [1, rank of data - batch_dims].
    https://onnx.ai/onnx/operators/onnx__GatherND.html
    """
    index = indices_of(indices)
    shape = data.bits.shape
    if not shape or not index.ndim:
        raise SpecViolation("data and indices must have rank 1 or more", "GI305")
    b, k = batch_dims, index.shape[-1]
    if not 0 <= b < min(len(shape), index.ndim) or shape[:b] != index.shape[:b]:
        raise SpecViolation(f"batch_dims = {b} does not fit {list(shape)} and {list(index.shape)}", "GI306")
    if not 1 <= k <= len(shape) - b:
        raise SpecViolation(f"index tuples must have a length in [1, {len(shape) - b}], have {k}", "GI307")
    parts = [in_range(index[..., j], shape[b + j]) for j in range(k)]
    tuples = index.shape[:-1]
    batch = [
        np.arange(n, dtype=np.int64).reshape((1,) * i + (n,) + (1,) * (len(tuples) - i - 1))
        for i, n in enumerate(shape[:b])
    ]
    found = data.bits[tuple(batch) + tuple(np.broadcast_to(p, tuples) for p in parts)]
    return _moved(data, found, tuples + shape[b + k :])


def array_feature_extractor(data: Constant, indices: Constant) -> Constant:
    """The elements of the last axis of `data` at the n `indices`: `data[:-1] + [n]`, or `[1, n]` for a vector.

    Raises SpecViolation as `gather`, and for a negative index, which runtimes do not accept.
    https://onnx.ai/onnx/operators/onnx_aionnxml_ArrayFeatureExtractor.html
    """
    index = indices_of(indices).reshape(-1)
    if not data.bits.ndim:
        raise SpecViolation("data must have rank 1 or more, has rank 0", "GI305")
    size = data.bits.shape[-1]
    if index.size and index.min() < 0:
        raise SpecViolation(f"index {index.min()} is outside [0, {size - 1}]", "GI301")
    found = np.take(data.bits, in_range(index, size), axis=-1)
    head = data.bits.shape[:-1] or (1,)
    return _moved(data, found, (*head, index.size))


def indices_of(indices: Constant) -> npt.NDArray[np.int64]:
    """The elements of an index tensor, in its shape. Raises SpecViolation if they are neither int32 nor int64."""
    numbers = indices.to_indices()
    if numbers is None:
        raise SpecViolation("indices must be int32 or int64", "GI308")
    return numbers


def in_range(index: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """`index` with `size`, the length of the axis, added to negative elements.

    Raises SpecViolation if an element is outside [-size, size - 1].
    """
    if index.size:
        for extreme in (int(index.min()), int(index.max())):
            if not -size <= extreme < size:
                raise SpecViolation(f"index {extreme} is outside [{-size}, {size - 1}]", "GI301")
    counted: npt.NDArray[np.int64] = np.where(index < 0, index + size, index)
    return counted


def _moved(data: Constant, bits: object, shape: tuple[int, ...]) -> Constant:
    out: Bits = np.empty(shape, dtype=data.bits.dtype)
    out.reshape(-1)[:] = np.ravel(np.asarray(bits, dtype=data.bits.dtype))
    return Constant(data.data_type, out)
