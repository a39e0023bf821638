"""The gather family of OpenVINO in operators of ONNX."""

from __future__ import annotations

import pytest

from tests.openvino.judge import assert_equal_to_openvino


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_gather_few")


@pytest.mark.oracle
def test_every_case_is_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_gather")
