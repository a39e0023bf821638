"""Runs of small models in onnxruntime, which tests of the prover take for the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

from gather_infer import diff

REFUSALS = (state.Fail, state.InvalidArgument, state.InvalidGraph, state.RuntimeException)


def outputs_of(model: ModelProto, feeds: Mapping[str, Any]) -> list[Any] | None:
    """The outputs in onnxruntime without optimizations; None if it refuses the model or the feeds."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, typed(model, feeds))
    except REFUSALS:
        return None


def typed(model: ModelProto, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The feeds as arrays of the types that the inputs have."""
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    return {name: np.asarray(value, helper.tensor_dtype_to_np_dtype(types[name])) for name, value in feeds.items()}


def are_equal(outputs: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether types, shapes and bits are equal; a NaN equals each NaN."""
    return all(
        (a.dtype, a.shape) == (b.dtype, b.shape)
        and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        and (a.dtype.kind != "f" or np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)])))
        for a, b in zip(outputs, others, strict=True)
    )


def constant_model(name: str, value: Any) -> ModelProto:
    """A model whose output is a constant."""
    tensor = onnx.numpy_helper.from_array(value, "c")
    output = helper.make_tensor_value_info(name, tensor.data_type, value.shape)
    node = helper.make_node("Identity", ["c"], [name])
    graph = helper.make_graph([node], "constant", [], [output], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def proved(first: ModelProto, second: ModelProto, **options: Any) -> bool:
    """Whether two models are proved equal, without runs."""
    return diff(first, second, runs=0, details=False, **options).is_proved


def results(computed: ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """The outputs in onnxruntime, which runs the model."""
    found = outputs_of(computed, feeds)
    assert found is not None
    return found
