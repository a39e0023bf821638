"""Models in ONNX's text form, inferred and held against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, parser

from gather_infer import Inference, infer
from tests.oracle.soundness import Comparison, Runtime, compare


def model(body: str, *, opset: int = 17, ir: int = 8, functions: str = "", domains: str = "") -> onnx.ModelProto:
    """`body` is `(inputs) => (outputs) { nodes }`; more domains as `, "local": 1`."""
    return parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{domains}]> g {body} {functions}')


def graph(nodes: list[NodeProto]) -> onnx.ModelProto:
    """A model of `nodes` over x: float32[N, 3], opset 17."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x], []), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    for node in proto.graph.node[-1:]:
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    return proto


def node(op_type: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def found(proto: onnx.ModelProto) -> list[tuple[str, str]]:
    """(code, message) of every finding, the notes on declared symbols left out."""
    return [(d.code, d.message) for d in infer(proto).diagnostics if d.code != "GI203"]


def shapes(proto: onnx.ModelProto, **options: Any) -> dict[str, str]:
    """name -> fact as text"""
    return {name: str(value) for name, value in infer(proto, **options).items()}


def check(
    proto: onnx.ModelProto,
    runs: Sequence[tuple[Mapping[str, int], Mapping[str, Any]]],
    **options: Any,
) -> tuple[Inference, list[Comparison]]:
    """Infer once, run at every (bindings, feeds) and assert that nothing is wrong.

    A feed given as a tuple of sizes becomes a float32 array of that shape.
    """
    inference = infer(proto, **options)
    runtime = Runtime(proto)
    found = []
    for bindings, feeds in runs:
        arrays = {
            name: np.arange(np.prod(feed), dtype=np.float32).reshape(feed) if isinstance(feed, tuple) else feed
            for name, feed in feeds.items()
        }
        result = compare(inference, runtime.run(arrays), bindings)
        assert result.wrong == [], bindings
        found.append(result)
    return inference, found


def untyped(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the declared types of its outputs: what is inferred has nothing to lean on."""
    for output in proto.graph.output:
        output.ClearField("type")
    return proto
