"""Constants of element types that ONNX lacks: dims and bounds, without a look at the bytes."""

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops.openvino.constants import rules
from gather_infer.tensor import DType, ValueRange
from tests.ops.call import call
from tests.ops.facts import of

CONSTANTS: dict[str, tuple[str, tuple[int, ...], ValueRange]] = {
    "bits": ("u1", (3, 7), ValueRange(0, 1)),
    "two bits": ("u2", (4,), ValueRange(0, 3)),
    "three bits": ("u3", (8,), ValueRange(0, 7)),
    "six bits": ("u6", (2, 2), ValueRange(0, 63)),
    "a scalar": ("nf4", (), ValueRange(0, 15)),
    "nothing": ("f4e2m1", (0, 5), ValueRange(0, 15)),
    "a byte each": ("f8e8m0", (2,), ValueRange(0, 255)),
}

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a type that ONNX has": ({"element_type": "f32", "shape": (2,)}, "element_type must be one of u1, "),
    "no type": ({"shape": (2,)}, "element_type must be one of u1, .*, is ''"),
    "a negative size": ({"element_type": "u1", "shape": (-1,)}, "attribute shape must be a list of sizes >= 0"),
    "a shape that is none": ({"element_type": "u1", "shape": "2,3"}, "attribute shape must be a list of sizes"),
}


@pytest.mark.parametrize("case", CONSTANTS)
def test_constants(case: str) -> None:
    element, shape, span = CONSTANTS[case]
    (out,) = call(rules, "Const", [of(DType.UINT8, 9)], element_type=element, shape=shape)
    assert (out.dtype, out.shape, out.value_range) == (DType.UINT8, shape, span)


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_constant(case: str) -> None:
    attributes, message = BROKEN[case]
    with pytest.raises(SpecViolation, match=message):
        call(rules, "Const", [of(DType.UINT8, 9)], **attributes)
