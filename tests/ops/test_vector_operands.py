"""Operands that are vectors by the specification: which operators onnxruntime runs with a scalar in their place."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, parser
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from gather_infer import contract_of, diff

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g (float[4] x, float[1, 4] row) => (float[] y)'
REFUSALS = (Fail, InvalidArgument, RuntimeException)
CALLS = {
    # node, with a vector or a scalar i: its elements
    "y = Tile (x, i)": 3,
    "y = Reshape (x, i)": 4,
    "y = Slice (x, i, e)": 1,
    "y = Slice (x, b, e, i)": 0,
    "y = Slice (x, b, e, b, i)": 1,
    "y = ConstantOfShape (i)": 4,
    "y = Squeeze (row, i)": 0,
    "y = Unsqueeze (x, i)": 0,
    "y = ReduceSum (row, i)": 0,
    "y = ReduceMax (row, i)": 0,
    "y = Split (x, i)": 4,
    "y = Pad (x, two, , i)": 0,
    "y = CenterCropPad <axes = [0]> (x, i)": 2,
}


def model(node: str, element: int, *, is_scalar: bool) -> ModelProto:
    kind = "int64 i" if is_scalar else "int64[1] i"
    constants = f"{kind} = {{{element}}}, int64[1] b = {{0}}, int64[1] e = {{3}}, int64[2] two = {{1, 1}}"
    return parser.parse_model(f"{HEAD} <{constants}> {{ {node} }}")


def runs(proto: ModelProto) -> bool:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    feeds = {"x": np.ones(4, np.float32), "row": np.ones((1, 4), np.float32)}
    try:
        ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feeds)
    except REFUSALS:
        return False
    return True


@pytest.mark.parametrize("node", CALLS)
def test_a_scalar_is_promised_only_where_it_runs(node: str) -> None:
    vector, scalar = (model(node, CALLS[node], is_scalar=is_scalar) for is_scalar in (False, True))
    assert runs(vector) and not contract_of(vector).contract.open
    found = contract_of(scalar)
    assert runs(scalar) == (not found.contract.open and not found.inference.diagnostics)


@pytest.mark.parametrize("node", [node for node in CALLS if "Unsqueeze" not in node and "CenterCropPad" not in node])
def test_a_scalar_in_place_of_a_vector_is_not_proved(node: str) -> None:
    found = diff(*(model(node, CALLS[node], is_scalar=is_scalar) for is_scalar in (False, True)), runs=0)
    assert str(found.verdict) != "proved"
