"""Verdicts held against runs of onnxruntime that stay in bounds and runs that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import onnx
import onnxruntime

import gather_infer
from gather_infer.validate import VerdictKind, verdicts
from tests.validate.access_models import by_node

onnxruntime.set_default_logger_severity(4)
NUMPY = {7: np.int64, 6: np.int32, 2: np.uint8, 13: np.uint64, 9: np.bool_, 1: np.float32}
Feeds: TypeAlias = dict[str, object]
Case: TypeAlias = tuple[str, str, str, VerdictKind, str, list[Feeds], list[Feeds]]
"""Inputs, body, constants, kind, conditions, runs in bounds, runs out of bounds."""

ROWS = "n = Shape (x) rows = Squeeze (n)"
ZERO, ONE = "int64 zero = {0}", "int64 one = {1}"


def x(rows: int) -> Feeds:
    return {"x": np.zeros(rows, np.float32)}


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def passes(model: onnx.ModelProto, feeds: Feeds, runtime: onnxruntime.InferenceSession) -> bool:
    """Whether onnxruntime runs the model on the feeds; what they lack is zeros."""
    arrays: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape: Sequence[int] = [d.dim_value for d in tensor.shape.dim]
        arrays[value.name] = np.asarray(feeds.get(value.name, np.zeros(shape)), NUMPY[tensor.elem_type])
    try:
        runtime.run(None, arrays)
    except Exception as error:  # noqa: BLE001 - each failure of the runtime has a class of its own
        assert "out of" in str(error).lower() or "invalid index" in str(error), error
        return False
    return True


def check(case: Case, *, tight: bool) -> None:
    """The verdict is as said, and runs in bounds and out of bounds are what the runtime says."""
    inputs, body, given, kind, condition, fine, failing = case
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    found = by_node(verdicts(gather_infer.infer(model)))[-1]
    assert (found.kind, found.condition, found.tight) == (kind, condition, tight), found
    for value in model.graph.output:  # of one type, float
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    runtime = session(model)
    assert [passes(model, feeds, runtime) for feeds in fine] == [True] * len(fine)
    assert [passes(model, feeds, runtime) for feeds in failing] == [False] * len(failing)
