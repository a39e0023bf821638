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


@pytest.mark.oracle
def test_fold(nested: ModelProto) -> None:
    result = gather_infer.fold(nested)
    assert {d.code for d in result.diagnostics} == {"GI108"}
    assert len(result.applied) > 0


def test_convert(nested: ModelProto) -> None:
    assert gather_infer.convert(nested).converted == ()


@pytest.mark.parametrize("kind", ["plain", "redirected condition", "dead node beside", "dead", "constant condition"])
@pytest.mark.parametrize("depth", [30, 120])
def test_optimize(depth: int, kind: str) -> None:
    """Depths below and above what a file can nest: reading one ends at some 33 graphs in each other."""
    made = helper.make_model(onnx.GraphProto(name="g"), opset_imports=[helper.make_opsetid("", 17)])
    graph = made.graph
    graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]))
    graph.initializer.append(helper.make_tensor("yes", TensorProto.BOOL, [], [1]))
    condition = {"redirected condition": "d", "constant condition": "yes"}.get(kind, "c")
    graph.node.append(helper.make_node("Identity", ["c"], ["d"]))
    graph.node.append(helper.make_node("Neg", ["x"], ["y"]))
    graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [3]))
    for level in range(depth):
        if kind == "dead node beside":
            graph.node.append(helper.make_node("Neg", ["x"], [f"unread{level}"]))
        node = graph.node.add(op_type="If", input=[condition], output=[f"o{level}"])
        if level or kind != "dead":
            graph.output.append(helper.make_tensor_value_info(f"o{level}", TensorProto.FLOAT, [3]))
        other = node.attribute.add(name="else_branch", type=AttributeProto.GRAPH).g
        other.node.append(helper.make_node("Abs", ["x"], [f"e{level}"]))
        other.output.append(helper.make_tensor_value_info(f"e{level}", TensorProto.FLOAT, [3]))
        graph = node.attribute.add(name="then_branch", type=AttributeProto.GRAPH).g
    graph.node.append(helper.make_node("Sqrt", ["x"], ["leaf"]))
    graph.output.append(helper.make_tensor_value_info("leaf", TensorProto.FLOAT, [3]))

    result = gather_infer.optimize(made)

    kinds = [node.op_type for node in result.model.graph.node]
    ifs, graphs = 0, [result.model.graph]
    while graphs:
        inner = [a.g for node in graphs.pop().node if node.op_type == "If" for a in node.attribute]
        ifs, graphs = ifs + len(inner) // 2, graphs + inner
    if kind in ("dead", "constant condition"):
        assert ifs == 0 and kinds == (["Neg"] if kind == "dead" else ["Neg", "Sqrt"]), kinds
    else:
        assert ifs == depth and kinds == ["Neg", "If"], kinds
