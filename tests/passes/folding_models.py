"""Small models with everything that must survive, and running them without optimisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

Feeds = Mapping[str, np.ndarray]


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, tuple[int, Sequence[Any] | None]],
    outputs: Mapping[str, tuple[int, Sequence[Any] | None]],
    initializers: Mapping[str, np.ndarray] | None = None,
    *,
    opset: int = 17,
    ir_version: int = 8,
    domains: Mapping[str, int] | None = None,
) -> ModelProto:
    """A model from arrays; types are (element type, shape)."""
    graph = body(nodes, inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in (domains or {}).items())]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


def body(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, tuple[int, Sequence[Any] | None]],
    outputs: Mapping[str, tuple[int, Sequence[Any] | None]],
    initializers: Mapping[str, np.ndarray] | None = None,
    name: str = "g",
) -> GraphProto:
    return helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(n, *t) for n, t in inputs.items()],
        [helper.make_tensor_value_info(n, *t) for n, t in outputs.items()],
        [tensor(n, a) for n, a in (initializers or {}).items()],
    )


def tensor(name: str, array: np.ndarray) -> TensorProto:
    array = np.asarray(array)
    data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    return TensorProto(name=name, data_type=data_type, dims=array.shape, raw_data=array.tobytes())


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def run(proto: ModelProto, feeds: Feeds) -> list[np.ndarray]:
    """The outputs with graph optimisation off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_prepacking", "1")  # another kernel for an initializer
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    outputs: list[np.ndarray] = session.run(None, dict(feeds))
    return outputs


def assert_same_outputs(before: ModelProto, after: ModelProto, feeds: Feeds) -> None:
    """Same types, shapes and bits."""
    for old, new in zip(run(before, feeds), run(after, feeds), strict=True):
        assert (old.dtype, old.shape) == (new.dtype, new.shape)
        assert old.tobytes() == new.tobytes()


def ops(graph: GraphProto) -> list[str]:
    return [node.op_type for node in graph.node]
