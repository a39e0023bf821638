"""Models whose rows depend on each other only where rows are equal, which no comparison with the original shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from gather_infer import IndependenceVerdict, unfreeze
from gather_infer.report.output_formats import UnfreezeReport
from gather_infer.report.unfreeze import unfreeze_json, unfreeze_text
from tests.unfreezing.cases import BATCH, model

COPIES = (
    "(float[1, 4] x) => (float[1, 4] y) <int64[1] a = {1}> { u, f, v, c = Unique<axis = 0, sorted = 0>(x)"
    " n = Gather(c, v) e = Cast<to = 1>(n) k = Unsqueeze(e, a) y = Mul(x, k) }"
)
"""Each row times the number of rows that are equal to it."""


@pytest.mark.parametrize("is_file", [False, True])
def test_a_run_with_copies_refuses_the_model(is_file: bool, tmp_path: Path) -> None:
    static = model(COPIES, opset=17)
    onnx.save(static, tmp_path / "static.onnx")
    result = unfreeze(tmp_path / "static.onnx" if is_file else static, BATCH)
    assert result.rows is not None and result.rows.ok  # random rows are not equal
    found = result.independence["batch"]
    assert found.verdict is IndependenceVerdict.REFUTED and result.refused
    assert result.why_refused.startswith("rows of batch depend on each other: at batch=5 copies of row 4 before it")
    assert result.why_refused.endswith("(Unique#0 -> Gather#1 -> Cast#2 -> Unsqueeze#3 -> Mul#4)")
    lines = unfreeze_text(UnfreezeReport(result))
    assert lines[-1] == "  refused: rows depend on each other" and lines[-2].startswith(
        "    at batch=5 copies of row 4"
    )
    as_json: Any = unfreeze_json(UnfreezeReport(result))
    (output,) = as_json["independence"][0]["outputs"]
    assert output["verdict"] == "refuted" and output["run"].startswith("at batch=5 copies of row 4")


def test_the_run_is_right() -> None:
    dynamic = model(COPIES.replace("float[1, 4]", "float[batch, 4]"), opset=17)
    session = onnxruntime.InferenceSession(dynamic.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = np.array([[1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
    (found,) = session.run(None, {"x": rows})
    np.testing.assert_array_equal(found, rows * [[2], [2], [1]])


def test_nothing_is_refuted_without_a_run() -> None:
    result = unfreeze(model(COPIES, opset=17), BATCH, verify=False)
    assert result.independence["batch"].verdict is IndependenceVerdict.OPEN
    assert not result.refused and not result.why_refused


def test_rows_that_a_node_mixes_are_refuted_as_well_as_compared() -> None:
    text = "(float[2,3] x) => (float[2,3] y) <int64[1] a = {0}> { s = ReduceSum<keepdims=1>(x, a) y = Add(x, s) }"
    result = unfreeze(model(text), BATCH)
    assert result.independence["batch"].verdict is IndependenceVerdict.REFUTED
    assert result.why_refused.startswith("output y, row 0 of batch=3: element [0, 0] is ")
    lines = unfreeze_text(UnfreezeReport(result))
    assert lines[-1].startswith("  refused: output y, row 0 of batch=3: element [0, 0] is ")
