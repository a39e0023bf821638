"""Evaluators of ScatterElements, Scatter and ScatterND without a reduction: data with some elements replaced."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Bits, Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.gather import in_range, indices_of
from gather_infer.passes.evaluate.input_checks import require_same_type

evaluators = EvaluatorSet("")


@evaluators.evaluates("Scatter", since=9)
@evaluators.evaluates("ScatterElements", since=11)
def _scatter_elements(call: Evaluation) -> list[Constant] | None:
    """Scatter and ScatterElements; None with a reduction (since version 16) or a negative index before version 11."""
    data, indices, updates = (call.input(i) for i in range(3))
    found = indices_of(indices)
    if call.text("reduction", "none") != "none" or (call.version < 11 and found.size and int(found.min()) < 0):
        return None
    return scatter_elements(data, indices, updates, axis=call.integer("axis", 0))


def scatter_elements(data: Constant, indices: Constant, updates: Constant, *, axis: int) -> list[Constant] | None:
    """`data` with the elements at `indices` along `axis` replaced by `updates`; None if an element is replaced twice.

    Raises SpecViolation if `axis` or an index is out of range, or types, ranks or shapes do not fit the operator.
    https://onnx.ai/onnx/operators/onnx__ScatterElements.html
    """
    require_same_type("data and updates", data, updates)
    index = indices_of(indices)
    if not data.bits.ndim:
        raise SpecViolation("data must have rank 1 or more, has rank 0", "GI305")
    if index.ndim != data.bits.ndim:
        raise SpecViolation(f"data and indices must have equal ranks, have {data.bits.ndim} and {index.ndim}", "GI305")
    if index.shape != updates.shape:
        found = f"{list(index.shape)} and {list(updates.shape)}"
        raise SpecViolation(f"indices and updates must have equal shapes, are {found}", "GI212")
    at = normalize_axis(axis, data.bits.ndim)
    for other, (dim, size) in enumerate(zip(index.shape, data.shape, strict=True)):
        if other != at and dim > size:
            raise SpecViolation(f"dim {other} of indices is {dim}, more than {size}, that of data", "GI212")
    places: list[npt.NDArray[np.int64]] = list(np.indices(index.shape, sparse=True))
    places[at] = in_range(index, data.shape[at])
    return _replaced(data, tuple(places), updates)


@evaluators.evaluates("ScatterND", since=11)
def _scatter_nd(call: Evaluation) -> list[Constant] | None:
    """ScatterND; None with a reduction (since version 16)."""
    data, indices, updates = (call.input(i) for i in range(3))
    return scatter_nd(data, indices, updates) if call.text("reduction", "none") == "none" else None


def scatter_nd(data: Constant, indices: Constant, updates: Constant) -> list[Constant] | None:
    """`data` with the elements or slices at the index tuples in `indices` replaced by `updates`.

    None if an element is replaced twice, and for tuples of length 0.

    Raises SpecViolation as `scatter_elements`.
    https://onnx.ai/onnx/operators/onnx__ScatterND.html
    """
    require_same_type("data and updates", data, updates)
    index = indices_of(indices)
    if indices.data_type != TensorProto.INT64:
        raise SpecViolation("indices must be int64", "GI308")
    if not data.bits.ndim or not index.ndim:
        raise SpecViolation("data and indices must have rank 1 or more", "GI305")
    k = index.shape[-1]
    if k > data.bits.ndim:
        raise SpecViolation(
            f"the index tuples have length {k}, allowed is at most the rank {data.bits.ndim} of data", "GI307"
        )
    wanted = (*index.shape[:-1], *data.shape[k:])
    if updates.shape != wanted:
        raise SpecViolation(f"updates must be {list(wanted)}, is {list(updates.shape)}", "GI212")
    if not k:
        return None
    return _replaced(data, tuple(in_range(index[..., j], data.shape[j]) for j in range(k)), updates)


def _replaced(data: Constant, places: tuple[npt.NDArray[np.int64], ...], updates: Constant) -> list[Constant] | None:
    """`data` with `updates` at `places`, an array of positions for each of the first axes.

    None if a place occurs twice: the order of the updates is undefined.
    """
    if not updates.bits.size:
        return [data]
    flat = np.ravel_multi_index(np.broadcast_arrays(*places), data.shape[: len(places)]).reshape(-1)
    if np.unique(flat).size < flat.size:
        return None
    bits: Bits = data.plain.copy()
    bits[places] = updates.plain
    return [Constant(data.data_type, bits)]
