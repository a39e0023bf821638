"""Detection, regions, colours, embedding bags and decoders of OpenVINO in operators of ONNX."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer import convert
from gather_infer.errors import ConversionRefused
from tests.openvino import judge
from tests.openvino.judge import assert_equal_to_openvino


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_detection_few")


@pytest.mark.oracle
@pytest.mark.parametrize("module", ["detection", "suppression", "regions", "bags"])
def test_every_case_is_equal_to_openvino(module: str) -> None:
    assert_equal_to_openvino(f"tests.openvino.cases_{module}")


@pytest.mark.oracle
@pytest.mark.parametrize("opset", [18, 23])
def test_equal_to_openvino_at_other_opsets(opset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime has no kernel of some newer versions, and older ones lack attributes."""
    monkeypatch.setattr(judge, "convert", partial(convert, opset=opset))
    assert_equal_to_openvino("tests.openvino.cases_detection_few")


def layer(op_type: str, opset: int, inputs: int, **attributes: Any) -> ModelProto:
    """One layer of OpenVINO, whose inputs are float vectors and scalars of which nothing else is known."""
    names = [f"in{k}" for k in range(inputs)]
    node = helper.make_node(op_type, names, ["out"], "it", domain=f"openvino.opset{opset}", **attributes)
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 30, 4, 4]) for name in names]
    made = [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "g", given, made)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(f"openvino.opset{opset}", opset)]
    )


@pytest.mark.parametrize(
    ("op_type", "opset", "why"),
    [
        ("StringTensorUnpack", 15, "the bytes of a text"),
    ],
)
def test_refused_by_name(op_type: str, opset: int, why: str) -> None:
    with pytest.raises(ConversionRefused, match=rf"{op_type}-{opset}, it: .*{why}"):
        convert(layer(op_type, opset, 1))


def test_region_of_another_number_of_channels_is_refused() -> None:
    """OpenVINO takes the first of them for one image and mixes images for more."""
    region = layer("RegionYolo", 1, 1, axis=1, end_axis=3, num=3, classes=4, coords=4, do_softmax=1)
    with pytest.raises(ConversionRefused, match="30 channels for 3 regions of 9"):
        convert(region)


def test_more_priors_than_there_is_room_for_are_refused() -> None:
    """OpenVINO writes past the end of its output."""
    priors = layer("PriorBox", 8, 2, fixed_size=[8.0], density=[2.0], fixed_ratio=[1.0, 2.0], offset=0.5)
    for k in range(2):
        priors.graph.input[0].type.Clear()
        del priors.graph.input[0]
        priors.graph.initializer.append(numpy_helper.from_array(np.array([2, 3], np.int64), f"in{k}"))
    with pytest.raises(ConversionRefused, match="define 8 boxes per cell, its shape has 7"):
        convert(priors)
