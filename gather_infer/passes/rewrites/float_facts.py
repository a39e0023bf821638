"""Facts about float values that follow from the operators that compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy.typing as npt
from onnx import TensorProto

from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match

_ARITHMETIC: Final = (
    "Add", "BatchNormalization", "Conv", "Cos", "Div", "Erf", "Exp", "HardSigmoid", "HardSwish",
    "InstanceNormalization", "LayerNormalization", "Log", "LogSoftmax", "MatMul", "Mul", "Reciprocal", "Sigmoid",
    "Sin", "Softmax", "Softplus", "Sqrt", "Sub", "Tanh",
)  # fmt: skip
"""Operators that compute floats and never return a signalling NaN. (Gemm copies C where the inner dim is 0.)"""

_POSITIVE: Final = ("Abs", "Exp", "Sigmoid", "Softmax", "Softplus")
"""Operators that never return -0.0."""

_INFINITY: Final[Mapping[int, tuple[int, int]]] = {
    TensorProto.FLOAT: (0x7F800000, 1 << 22),
    TensorProto.DOUBLE: (0x7FF << 52, 1 << 51),
}
"""Float type -> the bits of infinity, and the bit that makes a NaN quiet."""

_MAX_NODES: Final = 8

_MAX_READ: Final = 1 << 16
"""Maximum number of elements of a constant that is searched."""


def has_no_signalling_nan(match: Match, name: str) -> bool:
    """Whether none of the floats of the value `name` is a signalling NaN: arithmetic has computed them, or they are
    constant.
    """
    pending, seen = [name], 0
    while pending:
        name, seen = pending.pop(), seen + 1
        if seen > _MAX_NODES:
            return False
        if match.producer_of(name, *_ARITHMETIC) is not None or _has_only(match, name, _is_no_signalling_nan):
            continue
        read = _moved_from(match, name, "Relu")
        if read is None:
            return False
        pending += read
    return True


def has_no_negative_zero(match: Match, name: str) -> bool:
    """Whether none of the floats of the value `name` is -0.0, by IEEE 754.

    A sum of two floats is -0.0 only if both are. Relu returns its argument or 0.0.
    """
    return _has_no_negative_zero(match, name, _MAX_NODES)


def _has_no_negative_zero(match: Match, name: str, limit: int) -> bool:
    if match.producer_of(name, *_POSITIVE) is not None or _has_only(match, name, _is_no_negative_zero):
        return True
    if limit <= 0:
        return False
    added = match.producer_of(name, "Add")
    if added is not None:
        return any(_has_no_negative_zero(match, read, limit // 2) for read in added.inputs)
    read = _moved_from(match, name, "Relu") or []
    return bool(read) and all(_has_no_negative_zero(match, each, limit // len(read) - 1) for each in read)


def is_zero(match: Match, name: str) -> bool:
    """Whether all elements of the value `name` are 0.0, and none -0.0: constants, or elements moved from constants."""
    pending, seen = [name], 0
    while pending:
        name, seen = pending.pop(), seen + 1
        if seen > _MAX_NODES:
            return False
        constant = match.constant_of(name)
        if constant is not None:
            if constant.bits.dtype.hasobject or constant.plain.any():
                return False
            continue
        filled = match.producer_of(name, "ConstantOfShape")
        if filled is not None:
            given = filled.typed_attr("value", TensorProto)
            value = None if given is None else match.context.model.pass_input.read(given)
            if given is not None and (value is None or value.plain.any()):
                return False
            continue
        read = _moved_from(match, name)
        if read is None:
            return False
        pending += read
    return True


def _moved_from(match: Match, name: str, *copying: str) -> list[str] | None:
    """The values whose elements the value `name` consists of; None if its producer does not only move elements.

    copying   operators of one input that return an element or 0.0
    """
    found = match.producer_of(name)
    traits = None if found is None else found.traits
    if found is None or found.domain or traits is None:
        return None
    if found.op_type in copying:
        return [found.input(0)]
    if found.op_type == "Concat":
        return list(dict.fromkeys(found.inputs))
    if traits.moves != 0:
        return None
    return [found.input(0)] if found.op_type == "Split" or found.position_of(name) == 0 else None


def _has_only(match: Match, name: str, is_allowed: Callable[[Constant], bool]) -> bool:
    """Whether the value `name` is a constant of float32 or float64 with allowed elements only."""
    constant = match.constant_of(name)
    return constant is not None and _is_readable(constant) and is_allowed(constant)


def _is_readable(constant: Constant) -> bool:
    return constant.data_type in _INFINITY and constant.bits.size <= _MAX_READ


def _is_no_signalling_nan(constant: Constant) -> bool:
    infinity, quiet = _INFINITY[constant.data_type]
    magnitude = _magnitude(constant)
    return not ((magnitude > infinity) & (magnitude & magnitude.dtype.type(quiet) == 0)).any()


def _is_no_negative_zero(constant: Constant) -> bool:
    return not ((_magnitude(constant) == 0) & (constant.plain != 0)).any()


def _magnitude(constant: Constant) -> npt.NDArray[Any]:
    """The bits of the elements without their signs."""
    plain = constant.plain
    sign = 31 if constant.data_type == TensorProto.FLOAT else 63
    magnitude: npt.NDArray[Any] = plain & plain.dtype.type((1 << sign) - 1)
    return magnitude


def zero_signs(match: Match, at: int) -> tuple[bool, bool] | None:
    """Whether input `at`, a constant of float32 or float64 of zeros only, has 0.0 and -0.0; None for another input."""
    constant = match.constant(at)
    if constant is None or not _is_readable(constant) or _magnitude(constant).any():
        return None
    return bool((constant.plain == 0).any()), bool((constant.plain != 0).any())
