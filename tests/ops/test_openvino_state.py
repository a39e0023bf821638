"""State of OpenVINO's models: shapes that a file states of a variable, by the operators' pages."""

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops.openvino.state import rules
from gather_infer.symbolic import Expr
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import call
from tests.ops.facts import N, of

F32 = DType.FLOAT32

CASES: dict[str, Any] = {
    # id: (initial value, attributes, element type, dims; "" for one that is open)
    "version 6, all numbers": (
        of(F32, 1, 4),
        {"variable_shape": (1, 4), "variable_type": "f32"},
        DType.FLOAT32,
        (1, 4),
    ),
    "open dims": (
        of(F32, 1, 4, 0, 8),
        {"variable_shape": "?,4,?,8", "variable_type": "f32"},
        DType.FLOAT32,
        ("", 4, "", 8),
    ),
    "bounds": (None, {"variable_shape": "1..4,8", "variable_type": "i64"}, DType.INT64, ("", 8)),
    "a scalar": (None, {"variable_shape": "", "variable_type": "boolean"}, DType.BOOL, ()),
    "one dim": (None, {"variable_shape": 3, "variable_type": "f16"}, DType.FLOAT16, (3,)),
    "no rank": (of(F32, 2), {"variable_shape": "...", "variable_type": "f32"}, DType.FLOAT32, None),
    "a type that ONNX lacks": (of(F32, 2), {"variable_shape": (2,), "variable_type": "dynamic"}, F32, (2,)),
    "version 3": (of(DType.INT64, N, 0, 2), {}, DType.INT64, ("", "", 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_read_value(case: str) -> None:
    initial, attributes, dtype, dims = CASES[case]
    (made,) = call(rules, "ReadValue", [initial], variable_id="v", **attributes)
    assert isinstance(made, SymbolicTensor) and made.dtype is dtype
    if dims is None:
        assert made.shape is None
        return
    assert made.shape is not None and len(made.shape) == len(dims)
    for found, expected in zip(made.shape, dims, strict=True):
        assert isinstance(found, Expr) if expected == "" else found == expected


def test_a_variable_needs_a_shape_or_a_first_value() -> None:
    with pytest.raises(SpecViolation, match="neither an initial value nor a variable_shape"):
        call(rules, "ReadValue", [], variable_id="v")


def test_what_is_assigned_is_passed_on() -> None:
    (made,) = call(rules, "Assign", [of(F32, N, 2)], variable_id="v")
    assert made == of(F32, N, 2)
