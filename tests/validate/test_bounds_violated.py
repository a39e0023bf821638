"""Accesses that fail in every run that reaches them, and what an index out of bounds does."""

from __future__ import annotations

import onnx
import pytest

import gather_infer
from gather_infer.validate import Outside, VerdictKind, verdict
from tests.validate.checked_bounds import last

VIOLATED = {
    # id: (inputs, body, constants, reason, witness)
    "constant": ("float[6] x", "y = Gather (x, i)", "int64[2] i = {0, 6}", "index 6 is outside [-6, 5]", "index = 6"),
    "far negative": ("float[6] x", "y = Gather (x, i)", "int64 i = {-7}", "index -7 is outside [-6, 5]", "index = -7"),
    "no rows": (
        "float[0] x, int64[3] i",
        "y = Gather (x, i)",
        "",
        "indices is not empty, the axis it addresses has length 0",
        "",
    ),
    "one past the end": (
        "float[N] x",
        "i = Shape (x) y = Gather (x, i)",
        "",
        "index N is outside [-N, N - 1]",
        "index = N",
    ),
    "span past the end": (
        "float[6] x, int64[N] j",
        "i = Clip (j, m) y = Gather (x, i)",
        "int64 m = {6}",
        "indices in [6, ...] are outside [-6, 5]",
        "",
    ),
    "a column of a tuple": (
        "float[6, 2] x",
        "y = GatherND (x, i)",
        "int64[1, 2] i = {5, 2}",
        "index 2 is outside [-2, 1]",
        "index = 2",
    ),
    "negative, from the front only": (
        "float[2, 6] x",
        "y = ai.onnx.ml.ArrayFeatureExtractor (x, i)",
        "int64[1] i = {-1}",
        "index -1 is outside [0, 5]",
        "index = -1",
    ),
    "in a branch": (
        "bool c, float[4] t",
        "y = If (c) <then_branch = a () => (u) { u = Gather (t, i) }, else_branch = b () => (v) { v = Identity (t) }>",
        "int64[4] i = {0, 1, 2, 4}",
        "index 4 is outside [-4, 3]",
        "index = 4",
    ),
}


@pytest.mark.parametrize("case", VIOLATED)
def test_violated(case: str) -> None:
    *model, reason, witness = VIOLATED[case]
    found = last(*model)
    assert (found.kind, found.reason, found.example) == (VerdictKind.VIOLATED, reason, witness)
    assert found.outside is Outside.FAILS


def test_before_opset_11_a_negative_index_is_not_defined() -> None:
    assert last("float[9] x, int64[N] i", "y = Gather (x, i)", opset=10).condition == "0 <= i < 9"
    found = last("float[9] x", "y = Gather (x, i)", "int64 i = {-1}", opset=10)
    assert (found.kind, found.reason) == (
        VerdictKind.UNDECIDED,
        "index -1 is negative, which Gather defines from opset 11 on",
    )
    assert last("float[9] x", "y = Gather (x, i)", "int64 i = {-10}", opset=10).kind is VerdictKind.VIOLATED


DIALECTS = {
    # id: (body, index, kind, what an index out of bounds does)
    "Gather-8 in bounds": ("y = openvino.opset8.Gather (x, i, a)", -9, VerdictKind.PROVED, Outside.ZERO),
    "Gather-8 outside": ("y = openvino.opset8.Gather (x, i, a)", 9, VerdictKind.VIOLATED, Outside.ZERO),
    "Gather-7 negative": ("y = openvino.opset7.Gather (x, i, a)", -1, VerdictKind.UNDECIDED, Outside.UNDEFINED),
    "Gather-7 outside": ("y = openvino.opset7.Gather (x, i, a)", 9, VerdictKind.VIOLATED, Outside.UNDEFINED),
    "Gather-13": ("y = Gather (x, i)", 9, VerdictKind.VIOLATED, Outside.FAILS),
    "com.microsoft GatherND": ("y = com.microsoft.GatherND (x, i)", 9, VerdictKind.VIOLATED, Outside.FAILS),
}


@pytest.mark.parametrize("case", DIALECTS)
def test_what_an_index_out_of_bounds_does(case: str) -> None:
    body, index, kind, outside = DIALECTS[case]
    found = last("float[9, 4] x", body, f"int64[1] i = {{{index}}}, int64 a = {{0}}")
    assert (found.kind, found.outside) == (kind, outside)
    finding = found.diagnostic()
    if kind is VerdictKind.VIOLATED:
        assert finding is not None
        assert (finding.severity == "error") == (outside is Outside.FAILS)
        assert (str(outside) in finding.detail) == (outside is not Outside.FAILS)


def test_zero_fill_of_quantized_blocks() -> None:
    found = last(
        "uint8[9, 16] x, float[9, 1] s, int64[N] i",
        "y = com.microsoft.GatherBlockQuantized <block_size = 32> (x, i, s)",
    )
    assert (found.kind, found.condition, found.outside) == (VerdictKind.CONDITIONAL, "-9 <= i < 9", Outside.ZERO)


def test_negative_indices_can_be_ruled_out() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[9] x) => (y) <int64 i = {-1}> { y = Gather (x, i) }'
    )
    (access,) = gather_infer.infer(model).accesses
    assert verdict(access).kind is VerdictKind.PROVED
    assert verdict(access, allow_negative=False).kind is VerdictKind.VIOLATED
