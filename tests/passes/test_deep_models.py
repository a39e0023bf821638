"""Models that nest deeper than the interpreter's stack are rewritten as far as the inference reaches."""

from __future__ import annotations

import onnx
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper

import gather_infer

DEPTH = 1000


@pytest.fixture(scope="module")
def nested() -> ModelProto:
    """An If in a branch of an If in ...; each other branch folds. Only in memory: no file may nest so deep."""
    made = helper.make_model(onnx.GraphProto(name="g"), opset_imports=[helper.make_opsetid("", 17)])
    graph = made.graph
    graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    graph.initializer.append(helper.make_tensor("t", TensorProto.FLOAT, [3], [1, 2, 3]))
    graph.initializer.append(helper.make_tensor("i", TensorProto.INT64, [], [1]))
    for level in range(DEPTH):
        node = graph.node.add(op_type="If", input=["c"], output=[f"o{level}"])
        graph.output.append(helper.make_tensor_value_info(f"o{level}", TensorProto.FLOAT, []))
        other = node.attribute.add(name="else_branch", type=AttributeProto.GRAPH).g
        other.node.append(helper.make_node("Gather", ["t", "i"], [f"e{level}"]))
        other.output.append(helper.make_tensor_value_info(f"e{level}", TensorProto.FLOAT, []))
        graph = node.attribute.add(name="then_branch", type=AttributeProto.GRAPH).g
    graph.node.append(helper.make_node("Gather", ["t", "i"], ["leaf"]))
    graph.output.append(helper.make_tensor_value_info("leaf", TensorProto.FLOAT, []))
    return made


def test_fold(nested: ModelProto) -> None:
    result = gather_infer.fold(nested)
    assert {d.code for d in result.diagnostics} == {"GI108"}
    assert len(result.done) > 0


def test_convert(nested: ModelProto) -> None:
    assert gather_infer.convert(nested).converted == ()
