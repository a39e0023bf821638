"""A Gather of an elementwise result: gather the operands first, and compute fewer elements."""

from __future__ import annotations

from typing import Final

import numpy as np

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.indexing import Pick, gathered_constant, is_smaller, pick_of
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType

rewrites = RewriteSet()

_EXACT: Final = frozenset({
    # operators on bits, signs and truth values, which are exact for every element type
    "And", "Or", "Xor", "Not", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Where",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift", "IsNaN", "IsInf", "Neg", "Abs",
})  # fmt: skip
_ROUNDED: Final = frozenset({"Add", "Sub", "Mul", "Div", "Sqrt", "Relu", "Sign"})
"""Correctly rounded operators, for integers, float32 and float64.

In float16 runtimes compute the last few elements in another way, which gives a NaN other bits.
"""

POSITION_FREE: Final = (*sorted(_EXACT | _ROUNDED), "Cast")
"""Elementwise operators that may give an element the same bits at every position; see `is_position_free`."""

_EITHER_NAN: Final = frozenset({"Add", "Mul"})
"""Operators that return either of two NaN operands in onnxruntime, depending on the position of the element."""

_MAX_READ: Final = 1 << 16
"""Maximum number of elements of a constant that is searched for NaN."""

_EXACT_CAST: Final = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16,
                                DType.UINT32, DType.UINT64, DType.BOOL})  # fmt: skip
"""Types of which the specification defines a Cast bit for bit, to each other, to float32 and to float64."""


@rewrites.rewrites("Gather")
def gather_of_elementwise(match: Match) -> Rewrite | None:
    """Gather(f(x, y), i, axis) == f(Gather(x, i, axis), y), where f is elementwise and y has length 1 along the axis.

    An operand that is longer along the axis is gathered too, at compile time if it is constant. The rewrite is applied
    only if the Gather is the only use of the result of f, and returns fewer elements than its data has.

    f gives an element the same bits at every position. Exp, Log, Sin, Tanh and Erf are left out, because their last
    bits depend on the position in runtimes, and so are operators on quantized numbers. Add and Mul of floats need an
    operand without NaN.
    """
    pick = pick_of(match)
    if pick is None or not match.is_only_reader(0) or not is_smaller(match, pick):
        return None
    if match.equal(pick.length, 1):  # there may be no index: no operand determines the new length
        return None
    made_by = match.producer(0, *POSITION_FREE)
    if made_by is None or len(made_by.outputs) != 1 or not is_position_free(made_by):
        return None
    inputs: list[str] = []
    for at, name in enumerate(made_by.inputs):
        again = made_by.inputs.index(name)
        operand = inputs[again] if again < at else _gathered(match, pick, made_by, at)
        if operand is None:
            return None
        inputs.append(operand)
    (made,) = match.copy(made_by, inputs)
    return match.replace_with("Gather of an elementwise result computes the elements that are taken", made)


def is_position_free(made_by: Match) -> bool:
    """Whether each element of the result of `made_by` has the same bits at every position, in all runtimes."""
    dtype, result = made_by.fact(0).dtype, made_by.result().dtype
    if made_by.op_type in _EXACT:
        return dtype is not None
    if made_by.op_type == "Cast":
        if dtype in _EXACT_CAST:
            return result in _EXACT_CAST or result in (DType.FLOAT32, DType.FLOAT64)
        return (dtype, result) == (DType.FLOAT32, DType.FLOAT64)
    if dtype not in (DType.FLOAT32, DType.FLOAT64):
        return dtype is not None and dtype.is_integer
    if made_by.op_type == "Sign" and dtype is DType.FLOAT64:
        return False  # onnxruntime clears the sign of a NaN at some positions
    return made_by.op_type not in _EITHER_NAN or made_by.input(0) == made_by.input(1) or _is_number(made_by)


def _is_number(made_by: Match) -> bool:
    """Whether one of the two float operands of `made_by` is a constant without a NaN."""
    for at in (0, 1):
        constant = made_by.constant(at)
        if constant is not None and constant.bits.size <= _MAX_READ:
            dtype = np.float32 if made_by.fact(at).dtype is DType.FLOAT32 else np.float64
            if not np.isnan(np.ascontiguousarray(constant.bits).view(dtype)).any():
                return True
    return False


def _gathered(match: Match, pick: Pick, made_by: Match, at: int) -> str | None:
    """The operand at index `at` of `made_by`, an elementwise operator, for the elements that `pick` selects.

    The operand itself if it is broadcast along the axis, else a Gather or constant; None if that cannot be built.
    """
    shape, name = made_by.shape(at), made_by.input(at)
    if shape is None:
        return None
    axis = pick.axis - (len(pick.data) - len(shape))
    if axis < 0:
        return name
    if match.equal(shape[axis], 1):
        if len(pick.shape) == 1:
            return name
        # The axis has to be removed, or replaced by several.
        if not made_by.is_constant(at):
            return None
        zeros = tuple(1 for _ in pick.shape)
        return gathered_constant(match, name, [0], zeros, axis)
    if not match.equal(shape[axis], pick.length):
        return None
    if made_by.is_constant(at):
        if pick.indices is None:
            return None
        return gathered_constant(match, name, pick.indices, pick.shape, axis)
    return match.new("Gather", [name, match.input(1)], axis=axis)
