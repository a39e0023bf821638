"""Requirements of ONNX on a converted file: names, ranks and element types of inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from gather_infer import convert
from gather_infer.errors import ConversionRefused, GatherInferError, ModelReadError
from tests.openvino.ir_made import Layer, body, chain, const, net, parameter, relu, result, save


def accepted(path: Path, **options: object) -> onnx.ModelProto:
    """The conversion, which onnx's checker and onnxruntime take."""
    proto = convert(path, **options).proto  # type: ignore[arg-type]
    onnx.checker.check_model(proto, full_check=True)
    onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return proto


@pytest.mark.parametrize("name", ["", ' name=""'])
def test_a_net_without_a_name_gets_that_of_the_file(name: str, tmp_path: Path) -> None:
    assert accepted(save(tmp_path, chain().replace(' name="n"', name, 1))).graph.name == "m"


def test_a_net_without_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionRefused, match="it has no outputs: no layer is a Result"):
        convert(save(tmp_path, net([parameter("0"), relu("1")], "0.0>1.0")))


def test_an_input_without_a_rank_is_asked_for(tmp_path: Path) -> None:
    path = save(tmp_path, net([parameter("0", "...", name="x"), relu("1"), result("2")], "0.0>1.0 1.1>2.0"))
    with pytest.raises(
        ConversionRefused, match=r"rank of every .*\n  input x: give it, as in --input 'x=float32\[a, b\]'$"
    ):
        convert(path)
    proto = accepted(path, inputs=["x=float32[a, b]"])
    assert [dim.dim_param for dim in proto.graph.output[0].type.tensor_type.shape.dim] == ["a", "b"]


def squeezed(port: str) -> str:
    squeeze = Layer("1", "Squeeze", ("0:FP32:-1,3",), (port,))
    return net([parameter("0", "?,3", name="x"), squeeze, result("2", name="y")], "0.0>1.0 1.1>2.0")


def test_sizes_that_tell_a_rank_are_asked_for(tmp_path: Path) -> None:
    path = save(tmp_path, squeezed("1:FP32:"))
    with pytest.raises(ConversionRefused, match=r"output y: its rank depends on sizes.* --input 'x=float32\[1, 3\]'$"):
        convert(path)
    for given, dims in (("1", [3]), ("2", [2, 3])):
        proto = accepted(path, inputs=[f"x=float32[{given}, 3]"])
        assert [dim.dim_value for dim in proto.graph.output[0].type.tensor_type.shape.dim] == dims


def test_a_rank_that_only_the_file_knows(tmp_path: Path) -> None:
    """It is what OpenVINO has inferred; of other inputs than the file's it says nothing."""
    path = save(tmp_path, squeezed("1:FP32:3"))
    assert len(accepted(path).graph.output[0].type.tensor_type.shape.dim) == 1
    with pytest.raises(ConversionRefused, match="output y: its rank depends on sizes"):
        convert(path, inputs=["x=float32[n, 3]"])


def test_a_rank_that_depends_on_elements_is_refused(tmp_path: Path) -> None:
    """Axes may be listed twice, in OpenVINO and in onnxruntime."""
    layers = [
        parameter("0", "2,3,4", name="x"),
        parameter("1", "2", "i64", name="axes", outs=("0:I64:2",)),
        Layer("2", "ReduceSum", ("0:FP32:2,3,4", "1:I64:2"), ("2:FP32:",), data='keep_dims="false"'),
        result("3", name="y"),
    ]
    edges = "0.0>2.0 1.0>2.1 2.2>3.0"
    with pytest.raises(ConversionRefused, match="output y: its rank depends on elements, not on sizes"):
        convert(save(tmp_path, net(layers, edges)))
    kept = net(layers, edges).replace('keep_dims="false"', 'keep_dims="true"')
    proto = accepted(save(tmp_path, kept))
    assert len(proto.graph.output[0].type.tensor_type.shape.dim) == 3


def loop(trips: int) -> str:
    """The last value of what a Loop computes of an input of [2, 3], which is no state."""
    inner = body(
        [parameter("0", name="s"), relu("1"), result("2"),
         const("3", "", 0, 1, "boolean"), result("4", ins=("0:BOOL:",))],
        "0.0>1.0 1.1>2.0 3.0>4.0",
    )  # fmt: skip
    ports = (
        '<port_map><input external_port_id="2" internal_layer_id="0"/>'
        '<output external_port_id="3" internal_layer_id="2"/>'
        '<output external_port_id="-1" internal_layer_id="4" purpose="execution_condition"/></port_map>'
    )
    layers = [
        parameter("0", name="x"),
        const("1", "", 8 * trips + 1, 8, "i64"),
        const("2", "", 0, 1, "boolean"),
        Layer("3", "Loop", ("0:I64:", "1:BOOL:", "2:FP32:2,3"), ("3:FP32:2,3",), version="opset5",
              extra=f"{ports}<body>{inner}</body>"),
        result("4", name="y"),
    ]  # fmt: skip
    return net(layers, "1.0>3.0 2.0>3.1 0.0>3.2 3.3>4.0")


@pytest.mark.parametrize("trips", [0, 1, 2])
def test_the_last_value_of_no_iterations_is_zeros(trips: int, tmp_path: Path) -> None:
    """OpenVINO leaves open what it is, and gives something of this shape."""
    weights = bytes([1]) + np.array([0, 1, 2], np.int64).tobytes()
    proto = accepted(save(tmp_path, loop(trips), weights))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.array([[1, -2, 3], [-4, 5, 6]], np.float32)
    (found,) = session.run(None, {"x": x})
    assert found.tolist() == (np.maximum(x, 0) if trips else np.zeros_like(x)).tolist()
    assert ("ConstantOfShape" in {node.op_type for node in proto.graph.node}) == (trips == 0)


LONG = "x" * 1_000_000
FAULTY: dict[str, str] = {
    "an id": chain(Layer(LONG, "Sqrt", ("0:FP32:",))),
    "a name": chain(Layer("7", "Sqrt", ("0:FP32:",), name=LONG)),
    "a type": net(
        [parameter("0"), Layer("1", LONG, ("0:FP32:2,3",), ("1:FP32:2,3",)), result("2")], "0.0>1.0 1.1>2.0"
    ),
    "a version": chain(Layer("7", "Sqrt", version=LONG)),
    "a port": chain(Layer("7", "Sqrt", (f"{LONG}:FP32:",))),
    "an element type": chain(Layer("7", "Sqrt", (f"0:{LONG}:",))),
    "an edge": chain().replace('from-layer="0"', f'from-layer="{LONG}"'),
    "an attribute": net(
        [parameter("0"), Layer("1", "SoftMax", ("0:FP32:2,3",), ("1:FP32:2,3",), LONG, "opset8", f'axis="{LONG}"'),
         result("2")],
        "0.0>1.0 1.1>2.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTY)
def test_messages_quote_no_megabytes(what: str, tmp_path: Path) -> None:
    with pytest.raises(GatherInferError) as caught:
        convert(save(tmp_path, FAULTY[what]))
    assert isinstance(caught.value, (ModelReadError, ConversionRefused))
    assert "xxx" in str(caught.value)
    assert len(str(caught.value)) < 3000
