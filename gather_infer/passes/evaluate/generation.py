"""Evaluators of operators that generate elements from few numbers: Range and OneHot."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.numbers import (
    MAX_ELEMENTS,
    is_float,
    is_number,
    operands,
    result,
    to_numbers,
)

evaluators = EvaluatorSet("")

_MAX_WHOLE: Final = {10: 1 << 11, 16: 1 << 8, 1: 1 << 24}
"""Float type -> the bound up to which it represents every integer; 2**53 for float64, which is not listed."""


@evaluators.evaluates("Range", since=11)
def _range(call: Evaluation) -> list[Constant] | None:
    """Range: `start`, `start + delta`, ... before `limit`; None for float inputs with a fraction or a -0.0."""
    found = operands(call, count=3)
    if found is None or not is_number(found[0]) or any(n.ndim for n in found[1]):
        return None
    data_type, numbers = found
    if is_float(data_type):
        limit = _MAX_WHOLE.get(data_type, 1 << 53)
        if not all(abs(n) <= limit and n == np.rint(n) and not (n == 0 and np.signbit(n)) for n in numbers):
            return None
    else:
        limit = min(int(np.iinfo(numbers[0].dtype).max), 1 << 53)  # runtimes compute in this type, or in float64
    start, stop, delta = (int(n) for n in numbers)
    if not delta or abs(stop - start) > limit:
        return None
    whole = range(start, stop, delta)
    if len(whole) > MAX_ELEMENTS:
        return None
    return result(data_type, np.array(whole, dtype=np.int64).astype(numbers[0].dtype))


@evaluators.evaluates("OneHot", since=9)
def _one_hot(call: Evaluation) -> list[Constant] | None:
    """OneHot: the bits of the two `values`, selected by the indices.

    A negative index counts from the end; None for one before version 11.
    """
    index, depth, values = _whole(call.input(0)), _whole(call.input(1)), call.input(2)
    if index is None or depth is None or depth.shape not in ((), (1,)):
        return None
    if values.bits.shape != (2,):
        raise SpecViolation(f"values must have the shape [2], has {list(values.bits.shape)}", "GI210")
    count = int(depth.reshape(-1)[0])
    if count <= 0 or max(index.size, 1) * count > MAX_ELEMENTS or (call.version < 11 and (index < 0).any()):
        return None
    at = normalize_axis(call.integer("axis", -1), index.ndim + 1)
    counted = np.where(index < 0, index + count, index)
    places = np.arange(count, dtype=np.int64).reshape((count,) + (1,) * (index.ndim - at))
    is_on = np.expand_dims(counted, at) == places
    return [Constant(values.data_type, np.asarray(values.bits[is_on.astype(np.int64)]))]


def _whole(constant: Constant) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    """The elements as int64; None if an element is not an integer, or exceeds 2**53 in magnitude."""
    x = to_numbers(constant) if is_number(constant.data_type) else None
    if x is None or not x.size:
        return None if x is None else x.astype(np.int64)
    if x.dtype.kind == "f" and not (np.isfinite(x).all() and (x == np.rint(x)).all()):
        return None
    if max(abs(math.floor(x.min())), abs(math.ceil(x.max()))) > 1 << 53:
        return None
    return x.astype(np.int64)
