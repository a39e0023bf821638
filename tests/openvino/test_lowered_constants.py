"""Constants of every element type of OpenVINO, and Convert between them, in operators of ONNX."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import numpy_helper

from gather_infer import convert
from gather_infer.errors import ConversionRefused
from tests.openvino.ir_made import Layer, const, net, parameter, result, save
from tests.openvino.judge import assert_equal_to_openvino


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_constants_few")


@pytest.mark.oracle
def test_every_case_is_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_constants")


REFUSED = {
    # id: (source, destination, opset, reason)
    "no code for a float": ("f32", "nf4", 21, "a Convert to nf4 while the model runs"),
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


def test_a_constant_becomes_an_initializer(tmp_path: Path) -> None:
    """Of bytes that are all read: the packed ones are gone, and no node is left of it."""
    layers = [const("0", "3", 0, 2, "nf4", name="codes"), result("1", ins=("0:NF4:3",))]
    made = convert(save(tmp_path, net(layers, "0.0>1.0"), bytes.fromhex("f073"))).proto
    assert {t.name: numpy_helper.to_array(t).tolist() for t in made.graph.initializer} == {"codes": [0, 15, 3]}
    assert [n.op_type for n in made.graph.node] == ["Identity"]
