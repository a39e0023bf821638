"""Range of floats: onnxruntime fails if start or limit is infinite or NaN, so the contract is open there."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, parser
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from gather_infer import contract_of

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g'
FLOATS = "(float a) => (float[n] y) <float z = {0}, float q = {0.25}> { y = Range (%s) }"
SIZES = (
    "(float[N] x) => (float[n] y) <float z = {0}, float q = {0.25}>"
    " { s = Size (x) c = Cast <to = 1> (s) y = Range (z, c, q) }"
)


def runs(proto: ModelProto, feed: object) -> bool:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    try:
        session.run(None, {session.get_inputs()[0].name: np.asarray(feed, np.float32)})
    except InvalidArgument:
        return False
    return True


@pytest.mark.parametrize("operands", ["a, z, q", "z, a, q"])
def test_a_float_of_the_caller_may_not_be_finite(operands: str) -> None:
    proto = parser.parse_model(HEAD + FLOATS % operands)
    assert runs(proto, 1.5) and not runs(proto, np.inf) and not runs(proto, np.nan)
    (point,) = contract_of(proto).contract.open
    assert point.reason == "start and limit have to be finite"


def test_a_size_is_finite() -> None:
    proto = parser.parse_model(HEAD + SIZES)
    assert runs(proto, [1, 2]) and runs(proto, []) and not contract_of(proto).contract.open
