"""If, Loop and TensorIterator of an IR, as ONNX's: run by onnxruntime they give what OpenVINO gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from gather_infer import infer
from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir import read_ir
from gather_infer.symbolic import substitute
from tests.openvino.ir_made import Layer, body, net, parameter, relu, result, runs, save, written

CONTROL = ["branches", "counted", "until", "forward", "backward", "pairs", "pairs_backward", "nested"]


RENAMED: dict[str, tuple[str, dict[str, int]]] = {
    "Add": ("Add", {}), "Multiply": ("Mul", {}), "Less": ("Less", {}), "ReLU": ("Relu", {}), "Reshape": ("Reshape", {}),
    "Convert": ("Cast", {"to": onnx.TensorProto.FLOAT}), "ReduceSum": ("ReduceSum", {"keepdims": 1}),
}  # fmt: skip
"""The operators of the models here, which are ONNX's but for names and attributes."""

FUNCTION = """
<domain: "test", opset_import: ["": 21]> {name} <axis> (parts) => (joined)
{{ {order} sequence = SplitToSequence <axis: int = 0, keepdims: int = 0> ({parts})
   joined = ConcatFromSequence <axis: int = @axis> (sequence) }}
"""
BACKWARDS = """
    ahead = Constant <value_ints: ints = [-1]> () end = Constant <value_ints: ints = [-9223372036854775807]> ()
    axes = Constant <value_ints: ints = [0]> () turned = Slice (parts, ahead, end, axes, ahead)
"""


def nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    found: list[onnx.NodeProto] = []
    for node in graph.node:
        found.append(node)
        for attribute in node.attribute:
            found += nodes(attribute.g)
    return found


def evaluate(proto: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """The outputs of onnxruntime, with nodes of ONNX in the place of those of the dialect."""
    plain = onnx.ModelProto()
    plain.CopyFrom(proto)
    for node in nodes(plain.graph):
        if node.op_type == "ConcatParts":
            backwards = any(a.name == "reverse" and a.i for a in node.attribute)
            node.domain, node.op_type = "test", "Backwards" if backwards else "Joined"
            kept = [a for a in node.attribute if a.name == "axis"]
        elif node.domain:
            name, attributes = RENAMED[node.op_type]
            node.domain, node.op_type = "", name
            kept = [helper.make_attribute(key, value) for key, value in attributes.items()]
        else:
            continue
        del node.attribute[:]
        node.attribute.extend(kept)
    for name, order, parts in (("Joined", "", "parts"), ("Backwards", BACKWARDS, "turned")):
        plain.functions.append(onnx.parser.parse_function(FUNCTION.format(name=name, order=order, parts=parts)))
    del plain.opset_import[:]
    plain.opset_import.extend([helper.make_opsetid("", 21), helper.make_opsetid("test", 1)])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(plain.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


@pytest.mark.parametrize("name", CONTROL)
def test_what_openvino_gives(name: str) -> None:
    read = read_ir(written(name)).model.proto
    assert {node.op_type for node in nodes(read.graph)}.isdisjoint({"TensorIterator", "Parameter", "Result", "Const"})
    for run in runs(name):
        found = evaluate(read, run.feeds)
        assert len(found) == len(run.results)
        for ours, theirs in zip(found, run.results, strict=True):
            assert ours.shape == theirs.shape and (ours == theirs).all()


@pytest.mark.parametrize("name", CONTROL)
def test_values_have_one_name_each(name: str) -> None:
    proto = read_ir(written(name)).model.proto
    made = [*(v.name for v in proto.graph.input), *(out for n in nodes(proto.graph) for out in n.output)]
    pending = [proto.graph]
    while pending:
        graph = pending.pop()
        made += [t.name for t in graph.initializer]
        made += [v.name for v in graph.input] if graph is not proto.graph else []
        pending += [a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
    assert len(made) == len(set(made))


def test_scalars_that_are_constant_are_known() -> None:
    (loop,) = read_ir(written("nested")).model.proto.graph.node
    proto = read_ir(written("nested")).model.proto
    held = {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}
    assert [(held[name].dtype, held[name].tolist()) for name in loop.input[:2]] == [(np.int64, 3), (np.bool_, True)]
    (endless,) = read_ir(written("until")).model.proto.graph.node
    assert endless.input[0] == ""


@pytest.mark.parametrize("operator", ["Reshape", "Squeeze"])
def test_a_condition_that_is_made_a_scalar_still_counts_the_iterations(operator: str) -> None:
    """As OpenVINO's conditions are: vectors of one element."""
    target = ", none" if operator == "Reshape" else ""
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (y) <bool yes = {{1}}, int64[0] none = {{}}> {{
            n = Shape (x)
            y = Loop ("", yes) <body = b (int64 i, bool c) => (bool d, int64[1] j) <int64[1] one = {{1}}> {{
                j = Add (i, one) less = Less (j, n) d = {operator} (less{target})
            }}> }}"""
    )
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = infer(model)["y"].shape
    assert shape is not None and shape[1:] == (1,)
    for n in (0, 1, 2, 5):  # the body runs once before its condition is asked
        (y,) = session.run(None, {"x": np.zeros(n, np.float32)})
        assert y.shape == (substitute(shape[0], {"N": n}), 1)


def iterated(entries: str, back: str = "", *, inner: list[Layer] | None = None, kind: str = "TensorIterator") -> str:
    """A net with a TensorIterator over input 0, with input 1 as a state."""
    layers = inner or [parameter("0", "1,3"), parameter("1", "1,3"), relu("2"), result("3"), result("4")]
    held = f"<port_map>{entries}</port_map><back_edges>{back}</back_edges>"
    held += f"<body>{body(layers, '0.0>2.0 2.1>3.0 1.0>4.0')}</body>"
    node = Layer("2", kind, ("0:FP32:", "1:FP32:"), ("2:FP32:",), extra=held)
    return net([parameter("0"), parameter("1"), node, result("3")], "0.0>2.0 1.0>2.1 2.2>3.0")


SLICED = '<input external_port_id="0" internal_layer_id="0" axis="0"/>'
OTHER = '<input external_port_id="1" internal_layer_id="1"/>'
JOINED = '<output external_port_id="2" internal_layer_id="3" axis="0"/>'


def test_what_does_not_change_is_given_from_outside(tmp_path: Any) -> None:
    xml = iterated(SLICED + OTHER + '<output external_port_id="2" internal_layer_id="4"/>')
    proto = read_ir(save(tmp_path, xml)).model.proto
    assert [(n.op_type, list(n.input)) for n in proto.graph.node[-1:]] == [("Identity", ["Parameter_1"])]


def test_a_state_that_does_not_change_is_an_output_of_its_own(tmp_path: Any) -> None:
    back = '<edge from-layer="4" to-layer="1"/>'
    xml = iterated(SLICED + OTHER + '<output external_port_id="2" internal_layer_id="4"/>', back)
    proto = read_ir(save(tmp_path, xml)).model.proto
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (evaluate(proto, {"Parameter_0": x, "Parameter_1": -x})[0] == -x).all()


FAULTS = {
    "no port map": ("", "", "nothing for output port 2"),
    "an unbound parameter": (SLICED + JOINED, "", "nothing is bound to this Parameter"),
    "bound twice": (SLICED + SLICED + OTHER + JOINED, "", "two inputs are bound to internal layer 0"),
    "no such port": (SLICED.replace('port_id="0"', 'port_id="7"') + OTHER + JOINED, "", "no input port 7"),
    "no such layer": (SLICED.replace('layer_id="0"', 'layer_id="7"') + OTHER + JOINED, "", "the body has no layer 7"),
    "not a Parameter": (SLICED.replace('layer_id="0"', 'layer_id="2"') + OTHER + JOINED, "", "must be a Parameter"),
    "not a Result": (SLICED + OTHER + JOINED.replace('layer_id="3"', 'layer_id="2"'), "", "must be a Result"),
    "stride 0": (SLICED.replace("axis", 'stride="0" axis') + OTHER + JOINED, "", "stride 0"),
    "no number": (SLICED.replace('axis="0"', 'axis="x"') + OTHER + JOINED, "", "axis must be an integer, found 'x'"),
    "a part of the parts": (SLICED + OTHER + JOINED.replace("axis", 'start="1" axis'), "", "concatenated from 1 to -1"),
    "a back edge to nothing": (SLICED + OTHER + JOINED, '<edge from-layer="4" to-layer="9"/>', "no layer 9"),
    "two back edges": (SLICED + OTHER + JOINED, '<edge from-layer="4" to-layer="1"/>' * 2, "two back edges"),
    "a sliced state": (SLICED + OTHER + JOINED, '<edge from-layer="4" to-layer="0"/>', "back edge and a sliced input"),
    "two results": (SLICED + OTHER + JOINED + JOINED, "", "two results go to output port 2"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_broken_port_maps(case: str, tmp_path: Any) -> None:
    entries, back, text = FAULTS[case]
    with pytest.raises(ModelReadError, match=text) as raised:
        read_ir(save(tmp_path, iterated(entries, back)))
    assert "layer " in str(raised.value) and "m.xml" in str(raised.value)
