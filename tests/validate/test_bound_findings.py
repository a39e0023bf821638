"""Messages and details of findings about accesses."""

from __future__ import annotations

import onnx
import pytest

import gather_infer
from gather_infer.validate import verdicts
from tests.validate.access_models import by_node
from tests.validate.bound_runs import ONE
from tests.validate.test_exact_bounds import CASES


def test_what_is_enough_says_so() -> None:
    inputs, body, given, *_ = CASES["a part that may be empty"]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    finding = by_node(verdicts(gather_infer.infer(model)))[-1].diagnostic()
    assert finding is not None
    assert finding.code == "GI302"
    assert finding.message.startswith("always in bounds for P + S <= 2: indices are computed from data")
    assert not any("past the end" in line for line in finding.detail)


DETAILS = {
    # id: (inputs, nodes, constants, severity, message, detail)
    "violated": (
        "float[9] x", "y = Gather (x, i)", "int64 i = {9}", "error", "index 9 is outside [-9, 8]",
        ("data x: float32[9], axis 0",),
    ),
    "violated, a range": (
        "float[9] x, int64[M] i", "j = Clip (i, ten) y = Gather (x, j)", "int64 ten = {10}", "error",
        "indices in [10, ...] are outside [-9, 8]", ("data x: float32[9], axis 0",),
    ),
    "conditional": (
        "float[1, 9] x, int64[M] i", "y = Gather <axis = 1> (x, i)", ONE, "note",
        "in bounds only for -9 <= i < 9: its elements are the indices, the axis has 9 rows",
        ("data x: float32[1, 9], axis 1", "i = 9 is past the end"),
    ),
    "conditional on one row": (
        "float[1] x, int64[M] i", "y = Gather (x, i)", ONE, "note",
        "in bounds only for -1 <= i < 1: its elements are the indices, the axis has 1 row",
        ("data x: float32[1], axis 0", "i = 1 is past the end"),
    ),
    "undecided": (
        "float[9] x, int64[M] i, int64[M] j", "k = Add (i, j) y = Gather (x, k)", ONE, "note",
        "it is not known whether every index is in bounds: indices are computed from data; "
        "indices in [..., ...], the axis has 9 rows",
        ("data x: float32[9], axis 0",),
    ),
    "a tree": (
        "int64[T, B, K] x, int64[T, B, K] i, int64[B] l, int64 e", "y = openvino.GatherTree (x, i, l, e)", ONE, "note",
        "in bounds only for 0 <= i < K: those of its elements that are read are indices, the axis has K rows",
        ("data x: int64[T, B, K], axis 2", "i = K is past the end"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DETAILS)
def test_what_a_finding_says(case: str) -> None:
    inputs, body, given, severity, message, detail = DETAILS[case]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "openvino": 1]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    finding = verdicts(gather_infer.infer(model))[-1].diagnostic()
    assert finding is not None
    assert (str(finding.severity), finding.message, finding.detail) == (severity, message, detail)
