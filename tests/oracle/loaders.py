"""Who loads a model: onnxruntime, with its optimiser off and on, and onnx.checker with its inference of shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import onnx
import onnxruntime as ort
from onnx import ModelProto

from tests.oracle.graph_builder import REFUSALS


def refused_now(before: ModelProto, after: ModelProto) -> str:
    """Loaders that accept a model and refuse its rewritten form, in words; empty when none does."""
    for loader, refusal_of in LOADERS.items():
        refusal = refusal_of(after)
        if refusal and not refusal_of(before):
            return f"{loader} refuses what it took: {refusal}"
    return ""


def _refusal_of_onnxruntime(model: ModelProto, level: ort.GraphOptimizationLevel) -> str:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except REFUSALS as refusal:
        return str(refusal)
    return ""


def _refusal_of_checker(model: ModelProto) -> str:
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as refusal:
        return str(refusal)
    return ""


LOADERS: Final[Mapping[str, Callable[[ModelProto], str]]] = {
    "onnxruntime": partial(_refusal_of_onnxruntime, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL),
    "onnxruntime with its optimiser": partial(_refusal_of_onnxruntime, level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
    "onnx.checker": _refusal_of_checker,
}
"""Who may refuse a file -> why it does, empty when it does not."""
