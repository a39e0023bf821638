"""A model whose external data is missing cannot be read, whatever its weights are needed for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from gather_infer import ModelReadError, infer
from tests.inference.models import model


def weighted() -> onnx.ModelProto:
    proto = model("(float[N, 64] x) => (float[N, 64] y) { y = Add(x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((1, 64), np.float32), "w"))
    return proto


def test_missing_external_data_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(weighted(), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    assert str(infer(path)["y"]) == "float32[N, 64]"
    (tmp_path / "m.bin").unlink()
    with pytest.raises(ModelReadError, match=r"tensor 'w': external data file .*m\.bin: No such file or directory"):
        infer(path)


def test_external_data_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(weighted(), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    (tmp_path / "m.bin").write_bytes(bytes(100))
    with pytest.raises(
        ModelReadError, match=r"tensor 'w': bytes \[0, 256\) are outside .*m\.bin, which has bytes \[0, 100\)"
    ):
        infer(path)


def test_a_declared_output_of_an_input_symbol_tells_nothing_of_the_symbol() -> None:
    """N broadcasts with 64, so it is 64 or 1: `N = 64` would be wrong."""
    proto = model("(float[N, 4] x, float[64, 4] w) => (float[N, 4] y) { y = Add(x, w) }")
    inference = infer(proto)
    assert str(inference["y"]) == "float32[64, 4]"
    assert inference.diagnostics == ()
