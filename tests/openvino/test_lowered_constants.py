"""Constants of every element type of OpenVINO, and Convert between them, in operators of ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from gather_infer import convert
from gather_infer.errors import ConversionRefused
from gather_infer.openvino.conversion import NEWEST_OPSET
from tests.onnx_versions import require_onnx
from tests.openvino.ir_made import Layer, const, net, parameter, result, save
from tests.openvino.judge import assert_equal_to_openvino


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_constants_few")


@pytest.mark.oracle
def test_every_case_is_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_constants")


REFUSED = {
    # id: (source, destination, opset, reason)
    "no code for a float": ("f32", "nf4", 21, "a Convert to nf4 at run time"),
    "an opset without f8": ("f32", "f8e4m3", 18, "a Convert of f32 to f8e4m3 needs opset 19, the result has 18"),
    "an opset without i4": ("i32", "i4", 20, "a Convert of i32 to i4 needs opset 21, the result has 20"),
    "texts": ("string", "f32", 21, "there is no Convert of string to f32"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    source, target, opset, reason = REFUSED[case]
    convert_layer = Layer("1", "Convert", ("0:FP32:2,3",), ("1:FP32:2,3",), data=f'destination_type="{target}"')
    xml = net([parameter("0", element=source), convert_layer, result("2")], "0.0>1.0 1.1>2.0")
    with pytest.raises(ConversionRefused, match=f"Convert-1, Convert_1: {reason}"):
        convert(save(tmp_path, xml), opset=opset)


@pytest.mark.parametrize(("element", "since", "ran"), [("f4e2m1", 23, False), ("f8e8m0", 24, True)])
def test_inputs_of_types_of_later_opsets(element: str, since: int, ran: bool, tmp_path: Path) -> None:
    """onnx's own evaluator decides; onnxruntime has no kernel of f4e2m1."""
    require_onnx("1.23", f"the checker of opset {NEWEST_OPSET}")
    port = element.upper()
    convert_layer = Layer("1", "Convert", (f"0:{port}:-1",), ("1:FP32:-1",), data='destination_type="f32"')
    xml = net([parameter("0", "?", element, name="x", outs=(f"0:{port}:-1",)), convert_layer, result("2")],
              "0.0>1.0 1.1>2.0")  # fmt: skip
    path = save(tmp_path, xml)
    with pytest.raises(ConversionRefused, match=f"x is float{element[1:]}, which needs opset {since}"):
        convert(path, opset=since - 1)
    for opset in (since, NEWEST_OPSET):
        made = convert(path, opset=opset).proto
        onnx.checker.check_model(made, full_check=True)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(made.graph.input[0].type.tensor_type.elem_type)
        given = np.array([1, 0.5, 4, 2], np.float32)
        (found,) = ReferenceEvaluator(made).run(None, {"x": given.astype(dtype)})
        assert found.dtype == np.float32 and found.tolist() == given.tolist()
        if ran:
            onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("element", ["f4e2m1", "f8e8m0"])
def test_codes_are_no_outputs(element: str, tmp_path: Path) -> None:
    convert_layer = Layer("1", "Convert", ("0:FP32:2,3",), (f"1:{element.upper()}:2,3",),
                          data=f'destination_type="{element}"')  # fmt: skip
    path = save(tmp_path, net([parameter("0"), convert_layer, result("2", name="y")], "0.0>1.0 1.1>2.0"))
    with pytest.raises(ConversionRefused, match=f"output y is of {element}, which ONNX cannot return"):
        convert(path, opset=24)


def test_a_constant_becomes_an_initializer(tmp_path: Path) -> None:
    """Of bytes that are all read: the packed ones are gone, and no node is left of it."""
    layers = [const("0", "3", 0, 2, "nf4", name="codes"), result("1", ins=("0:NF4:3",))]
    made = convert(save(tmp_path, net(layers, "0.0>1.0"), bytes.fromhex("f073"))).proto
    assert {t.name: numpy_helper.to_array(t).tolist() for t in made.graph.initializer} == {"codes": [0, 15, 3]}
    assert [n.op_type for n in made.graph.node] == ["Identity"]
