"""ONNX's node models by way of OpenVINO and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openvino.node_models import faults

MODES = {"static": 1300, "baked": 350, "symbolic": 1000}
"""How many models are compared at least, of those that OpenVINO takes."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES)
def test_some_node_models(mode: str, tmp_path: Path) -> None:
    compared, found = faults(mode, tmp_path, every=60)
    assert compared > MODES[mode] // 120
    assert not found


@pytest.mark.oracle
@pytest.mark.parametrize("mode", MODES)
def test_all_node_models(mode: str, tmp_path: Path) -> None:
    compared, found = faults(mode, tmp_path)
    assert compared >= MODES[mode]
    assert not found
