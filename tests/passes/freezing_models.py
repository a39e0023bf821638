"""Models to freeze, and what a model declares."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from gather_infer import infer
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.model.paths import bodies
from tests.passes.folding_models import i64, model

F, I64 = TensorProto.FLOAT, TensorProto.INT64


def constraints(value: ValueInfoProto) -> list[Any]:
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims_of(value.type)]


def declared(proto: ModelProto) -> dict[str, list[Any]]:
    return {v.name: constraints(v) for v in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info)}


def recorded(proto: ModelProto) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in proto.metadata_props]


def without_types(proto: ModelProto) -> bytes:
    """The model without what it declares: all that a freeze must leave as it is."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    copy.ClearField("metadata_props")
    for _, graph in bodies(copy):
        if isinstance(graph, onnx.GraphProto):
            for value in (*graph.input, *graph.output, *graph.value_info):
                value.ClearField("type")
    return copy.SerializeToString(deterministic=True)


def has_errors(proto: ModelProto) -> bool:
    return bool(infer(proto).errors)


def simple(dims: list[Any] | None = None, out: list[Any] | None = None) -> ModelProto:
    """`y = x + x`, and the size of its first axis."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["y"]),
        helper.make_node("Shape", ["y"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], "pick"),
    ]
    outputs: Any = {"y": (F, ["N", "M"] if out is None else out), "n": (I64, [1])}
    return model(nodes, {"x": (F, ["N", "M"] if dims is None else dims)}, outputs, {"zero": i64(0)})


def three() -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    return model(nodes, {"x": (F, ["N"]), "w": (F, ["M"]), "m": (F, ["T"])}, {"y": (F, ["Y"])})


def shaped(proto: ModelProto, x: list[Any] | None, y: list[Any] | None) -> ModelProto:
    for value, dims in ((proto.graph.input[0], x), (proto.graph.output[0], y)):
        value.CopyFrom(helper.make_tensor_value_info(value.name, F, dims))
    return proto
