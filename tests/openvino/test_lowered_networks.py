"""The layers of neural networks of OpenVINO in operators of ONNX."""

from __future__ import annotations

import pytest

from tests.openvino.cases_networks_few import CASES, MODULES
from tests.openvino.judge import assert_equal_to_openvino

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


@pytest.mark.oracle
@pytest.mark.parametrize("module", MODULES)
def test_every_case_is_equal_to_openvino(module: str) -> None:
    assert_equal_to_openvino(module)
