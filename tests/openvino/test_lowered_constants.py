"""Constants of every element type of OpenVINO, and Convert between them, in operators of ONNX."""

from __future__ import annotations

import pytest

from tests.openvino.judge import assert_equal_to_openvino


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_constants_few")


@pytest.mark.oracle
def test_every_case_is_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_constants")
