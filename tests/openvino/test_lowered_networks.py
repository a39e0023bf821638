"""The layers of neural networks of OpenVINO in operators of ONNX."""

from __future__ import annotations

from pathlib import Path

import pytest

from gather_infer import convert
from tests.openvino.cases_empty_axes import CASES as CASES_EMPTY
from tests.openvino.cases_networks_few import CASES, MODULES
from tests.openvino.judge import assert_equal_to_openvino, capabilities, difference, recorded, wrong_facts

VERSIONS = """
    AdaptiveAvgPool-8 AdaptiveMaxPool-8 AvgPool-1 AvgPool-14 AvgPool-16 BatchNormInference-1 BatchNormInference-5
    BinaryConvolution-1 Convolution-1 ConvolutionBackpropData-1 DeformableConvolution-1 DeformableConvolution-8
    DeformablePSROIPooling-1 DFT-7 FakeConvert-13 FakeQuantize-1 GridSample-9 GRN-1 GroupConvolution-1
    GroupConvolutionBackpropData-1 GroupNormalization-12 GRUCell-3 GRUSequence-5 IDFT-7 Interpolate-1 Interpolate-4
    Interpolate-11 IRDFT-9 ISTFT-16 LRN-1 LSTMCell-1 LSTMCell-4 LSTMSequence-5 MaxPool-1 MaxPool-8 MaxPool-14 MVN-1
    MVN-6 NormalizeL2-1 PSROIPooling-1 RDFT-9 RNNCell-1 RNNSequence-5 ROIPooling-1 ScaledDotProductAttention-13
    STFT-15
"""


def test_every_version_has_a_case() -> None:
    assert {name.split()[0] for name in CASES} == set(VERSIONS.split())


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_networks_few")


def test_bytes_saturate_and_are_rounded() -> None:
    assert_equal_to_openvino("tests.openvino.cases_bytes")


def test_networks_that_run_on_no_elements_do_not_require_some(tmp_path: Path) -> None:
    """That onnxruntime's Conv fails there must teach the run nothing of sizes."""
    cases = recorded("tests.openvino.cases_empty_axes", tmp_path)
    assert {one.name: one.arrays("o")[0].size for one in cases} == dict.fromkeys(CASES_EMPTY, 0)
    assert {one.name: wrong_facts(one) for one in cases} == dict.fromkeys(CASES_EMPTY, "")


@pytest.mark.oracle
@pytest.mark.parametrize("module", [*MODULES, "tests.openvino.cases_networks_bf16"])
def test_every_case_is_equal_to_openvino(module: str) -> None:
    if module.endswith("bf16") and "BF16" not in capabilities():
        pytest.skip("OpenVINO computes bfloat16 models in float32 on this processor, and rounds nothing in between")
    assert_equal_to_openvino(module)


@pytest.mark.oracle
def test_attention_is_one_node_from_opset_23_on(tmp_path: Path) -> None:
    """Where dims tell that batch and heads agree; it gives what OpenVINO does, but for a row of which all is masked."""
    faults, attentions = {}, 0
    for one in recorded("tests.openvino.cases_attention", tmp_path):
        nodes = convert(one.path.with_suffix(".xml"), opset=23).proto.graph.node
        is_attention = [node.op_type for node in nodes if node.op_type in ("Attention", "Softmax")] == ["Attention"]
        attentions += is_attention
        if fault := difference(one, opset=23):
            faults[str(one)] = fault
    assert attentions >= 15
    assert set(faults) == {f"ScaledDotProductAttention-13 a row of nothing, scale {s} (static)" for s in (None, 0.3)}


@pytest.mark.oracle
@pytest.mark.parametrize("opset", [18, 19, 20, 22, 24])
def test_other_opsets(opset: int, tmp_path: Path) -> None:
    """A layer that needs more than the opset has is refused by name."""
    found = {str(one): difference(one, opset) for one in recorded("tests.openvino.cases_networks_few", tmp_path)}
    faults = {name: fault for name, fault in found.items() if fault and " needs opset " not in fault}
    # onnxruntime has MaxRoiPool up to 21
    missing = {"ROIPooling-1 max, scaled (static)", "ROIPooling-1 max, (3, 3) (dynamic)"} if opset > 21 else set()
    assert {name for name, fault in faults.items() if "for MaxRoiPool(22)" in fault} == missing
    assert not faults.keys() - missing
    assert any(" needs opset " in fault for fault in found.values()) == (opset < 20)
