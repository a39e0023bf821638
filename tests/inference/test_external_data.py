"""Shapes need no weights: where external data is missing, inference says so and goes on; rewriting ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import gather_infer
from gather_infer import ModelReadError, Severity, infer
from tests.inference.models import model


def weighted() -> onnx.ModelProto:
    proto = model("(float[N, 64] x) => (float[N, 64] y) { y = Add(x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((1, 64), np.float32), "w"))
    return proto


def saved(proto: onnx.ModelProto, directory: Path) -> Path:
    """The model with its weights in m.bin."""
    path = directory / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="m.bin", size_threshold=0, convert_attribute=True)
    return path


def test_missing_external_data_is_reported(tmp_path: Path) -> None:
    path = saved(weighted(), tmp_path)
    assert str(infer(path)["y"]) == "float32[N, 64]"
    assert infer(path).diagnostics == ()
    (tmp_path / "m.bin").unlink()
    inference = infer(path)
    assert (str(inference["w"]), str(inference["y"])) == ("float32[1, 64]", "float32[N, 64]")
    (found,) = inference.diagnostics
    assert (found.code, found.severity, found.location.value) == ("GI112", Severity.WARNING, "w")
    assert found.message.startswith("external data file ") and found.message.endswith(
        "m.bin: No such file or directory"
    )


def test_external_data_that_is_too_short_is_reported(tmp_path: Path) -> None:
    path = saved(weighted(), tmp_path)
    (tmp_path / "m.bin").write_bytes(bytes(100))
    (found,) = infer(path).diagnostics
    assert found.message.startswith("bytes [0, 256) are outside ")
    assert found.message.endswith("m.bin, which has bytes [0, 100)")


def test_numbers_that_are_missing_are_not_known(tmp_path: Path) -> None:
    """Of the target of a Reshape and an index in a Constant; what stands in the model is read."""
    proto = model(
        "(float[N, 6] x, float[9] t) => (float[N, M, K] y, float[1] z)"
        "{ i = Constant <value = int64[1] {4}> () y = Reshape(x, s) z = Gather(t, i) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0, 2, 3]), "s"))
    proto.graph.node[0].attribute[0].t.CopyFrom(numpy_helper.from_array(np.array([4])))
    path = saved(proto, tmp_path)
    whole = infer(path)
    assert str(whole["y"]) == "float32[N, 2, 3]"
    (tmp_path / "m.bin").unlink()
    inference = infer(path)
    assert [str(d.location) for d in inference.diagnostics] == [
        "value s",
        "node Constant#0 (Constant), attribute value",
    ]
    shape = inference["y"].shape
    assert shape is not None and len(shape) == 3 and not isinstance(shape[1], int)
    (verdict,) = gather_infer.validate.verdicts(inference)
    assert verdict.kind is gather_infer.validate.VerdictKind.UNDECIDED


REWRITING: dict[str, Callable[[Path], object]] = {
    "fold": gather_infer.fold,
    "optimize": gather_infer.optimize,
    "freeze": lambda path: gather_infer.freeze(path, dims=["N=3"]),
    "convert": gather_infer.convert,
}


@pytest.mark.parametrize("name", REWRITING)
def test_what_rewrites_needs_the_data(name: str, tmp_path: Path) -> None:
    path = saved(weighted(), tmp_path)
    REWRITING[name](path)
    (tmp_path / "m.bin").unlink()
    with pytest.raises(ModelReadError, match=r"tensor 'w': external data file .*m\.bin: No such file or directory"):
        REWRITING[name](path)


def test_a_declared_output_of_an_input_symbol_tells_nothing_of_the_symbol() -> None:
    """N broadcasts with 64, so it is 64 or 1: `N = 64` would be wrong."""
    proto = model("(float[N, 4] x, float[64, 4] w) => (float[N, 4] y) { y = Add(x, w) }")
    inference = infer(proto)
    assert str(inference["y"]) == "float32[64, 4]"
    assert inference.diagnostics == ()
