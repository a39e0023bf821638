"""An index past the end on purpose: OpenVINO's Gather gives 0 there, ONNX's fails, so that it needs a guard."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest

from gather_infer.errors import ConversionRefused
from gather_infer.openvino import convert
from tests.passes.folding_models import run

RANGE = "n = Shape (x) rows = Squeeze (n) r = Range (zero, rows, one)"
MODELS = {
    # id: (inputs, body)
    "the number of rows": (
        "float[N] x, bool[N] p",
        f"{RANGE} i = Where (p, r, rows) y = openvino.opset8.Gather (x, i, zero)",
    ),
    "before the first": (
        "float[N] x, bool[N] p",
        f"{RANGE} m = Neg (rows) b = Sub (m, one) i = Where (p, r, b) y = openvino.opset8.Gather (x, i, zero)",
    ),
    "a number": (
        "float[6] x, bool[N] p, int64[N] j",
        "c = Clip (j, zero, one) i = Where (p, past, c) y = openvino.opset8.Gather (x, i, zero)",
    ),
}

CHILD = """
import numpy as np, openvino as ov
from openvino import opset8
data, index = opset8.parameter([-1], np.float32), opset8.parameter([-1], np.int64)
made = ov.Model([opset8.gather(data, index, opset8.constant(0))], [data, index])
request = ov.Core().compile_model(made, "CPU").create_infer_request()
print(list(request.infer([np.array([5, 6], np.float32), np.array([0, 2, -3])]).values())[0].tolist())
"""


@pytest.mark.parametrize("case", MODELS)
def test_a_sentinel_is_guarded(case: str) -> None:
    inputs, body = MODELS[case]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "openvino.opset8": 1]> g ({inputs}) => (y) '
        f"<int64 zero = {{0}}, int64 one = {{1}}, int64 past = {{100}}> {{ {body} }}"
    )
    with pytest.raises(ConversionRefused, match="Gather"):
        convert(model, gather_oob="refuse")
    result = convert(model)
    assert [c.indices for c in result.converted] == ["guarded"]
    x, chosen = np.arange(1, 7, dtype=np.float32), np.array([True, False, True, True, False, False])
    feeds = {"x": x, "p": chosen} | ({"j": np.zeros(6, np.int64)} if case == "a number" else {})
    expected = np.where(chosen, 0, x[0]) if case == "a number" else np.where(chosen, x, 0)
    assert (run(result.proto, feeds)[0] == expected).all()


def test_openvino_gives_0_there() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[5.0, 0.0, 0.0]"
