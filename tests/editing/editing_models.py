"""Models for the tests of edits, and runs of them in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
from onnx import ModelProto

HEAD = '<ir_version: 9, opset_import: ["": 18]>'


def parsed(text: str, head: str = HEAD) -> ModelProto:
    """A model from the text of its graph, with names for its nodes: operator and position."""
    model: ModelProto = onnx.parser.parse_model(f"{head} {text}")
    for position, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{position}"
    return model


def run(model: ModelProto, feeds: Mapping[str, Any], outputs: Sequence[str] | None = None) -> list[Any]:
    """The outputs of a model in onnxruntime, without graph optimization."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=None
    )
    found: list[Any] = session.run(outputs, dict(feeds))
    return found


def interface(model: ModelProto) -> tuple[list[str], list[str]]:
    """Names of the inputs and of the outputs."""
    return [value.name for value in model.graph.input], [value.name for value in model.graph.output]


def same_bits(one: Any, other: Any) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    a, b = np.asarray(one), np.asarray(other)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
