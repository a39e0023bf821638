"""Facts about float values that follow from the operators that compute them."""

from __future__ import annotations

from typing import Final

from onnx import TensorProto

from gather_infer.passes.match import Match

_ARITHMETIC: Final = (
    "Add", "Conv", "Div", "Erf", "Exp", "HardSigmoid", "HardSwish", "MatMul", "Mul", "Sigmoid", "Sqrt", "Sub",
    "Tanh",
)  # fmt: skip
"""Operators that compute floats and never return a signalling NaN. (Gemm copies C where the inner dim is 0.)"""

_MAX_NODES: Final = 8


def has_no_signalling_nan(match: Match, name: str) -> bool:
    """Whether arithmetic has computed the floats of the value `name`, so that none of them is a signalling NaN."""
    for _ in range(_MAX_NODES):
        if match.producer_of(name, *_ARITHMETIC) is not None:
            return True
        made_by = match.producer_of(name, "Relu") or _moving_node(match, name)
        if made_by is None:
            return False
        name = made_by.input(0)
    return False


def is_zero(match: Match, name: str) -> bool:
    """Whether all elements of the value `name` are 0.0, and none -0.0: constants, or elements moved from constants."""
    for _ in range(_MAX_NODES):
        constant = match.constant_of(name)
        if constant is not None:
            return not constant.bits.dtype.hasobject and not constant.plain.any()
        filled = match.producer_of(name, "ConstantOfShape")
        if filled is not None:
            given = filled.typed_attr("value", TensorProto)
            value = None if given is None else match.context.model.pass_input.read(given)
            return given is None or (value is not None and not value.plain.any())
        made_by = _moving_node(match, name)
        if made_by is None:
            return False
        name = made_by.input(0)
    return False


def _moving_node(match: Match, name: str) -> Match | None:
    """The producer of the value `name`, if it only moves elements of its first input; else None."""
    found = match.producer_of(name)
    traits = None if found is None else found.traits
    if found is None or found.domain or traits is None or traits.moves != 0:
        return None
    return found if found.op_type == "Split" or found.position_of(name) == 0 else None
