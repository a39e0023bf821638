"""File names and open files as Windows treats them, as far as Linux can show it."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gather_infer import GatherInferError, UsageError, fold, open_model, optimize
from gather_infer.ir import constant
from gather_infer.model.external import data_file, location_error, windows_name_error
from tests.model.model_samples import refer

DEVICES = [
    # https://learn.microsoft.com/windows/win32/fileio/naming-a-file
    "NUL", "nul", "CON", "con.bin", "aux.onnx", "AUX.tar.gz", "prn", "COM1", "com9.data", "LPT0.x", "NUL .bin",
]  # fmt: skip
DROPPED = ["w.", "w.bin ", "w..."]
FORBIDDEN = ["w:x", "a|b", "a?", "a*", '"a"', "<a>", "tab\t"]
ALLOWED = ["w.bin", "console.bin", "null.onnx", "com10", "auxiliary.onnx", ".data", "a b.bin", "w.com1", "层.bin"]


@pytest.mark.parametrize("name", [*DEVICES, *DROPPED, *FORBIDDEN])
def test_names_that_windows_does_not_take(name: str) -> None:
    assert windows_name_error(name) is not None
    assert location_error(name, windows=True) is not None
    assert location_error(f"folder/{name}", windows=True) is not None
    assert location_error(f"{name}/w.bin", windows=True) is not None


@pytest.mark.parametrize("name", ALLOWED)
def test_names_that_windows_takes(name: str) -> None:
    assert windows_name_error(name) is None
    for location in (name, f"./{name}", f"folder/{name}"):
        assert location_error(location, windows=True) is None


def with_weights(folder: Path, location: str = "w.bin") -> Path:
    """A model that folds the negation of a large external tensor."""
    array = np.arange(4096, dtype=np.float32)
    (folder / "w.bin").write_bytes(array.tobytes())
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4096])
    refer(weights, location, 0, array.nbytes)
    nodes = [helper.make_node("Neg", ["w"], ["n"]), helper.make_node("Add", ["x", "n"], ["y"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", 1, [4096])], [value("y", 1, [4096])], [weights])
    path = folder / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("name", ["aux.bin", "w.", "w:x"])
def test_data_files_get_names_that_windows_takes(name: str, tmp_path: Path) -> None:
    """On every system: the model may be read on another one."""
    path = with_weights(tmp_path)
    with pytest.raises(UsageError, match="external data file"):
        optimize(path).save(tmp_path / "out.onnx", external_data=name)


def test_models_get_names_that_windows_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_weights(tmp_path)
    monkeypatch.setattr(sys.modules["gather_infer.model.targets"], "_IS_WINDOWS", True)
    for name in ("aux.onnx", "out.onnx.", "m.onnx "):
        with pytest.raises(UsageError, match="Windows"):
            optimize(path).save(tmp_path / name)
    optimize(path).save(tmp_path / "out.onnx")


def test_a_location_with_a_backslash_is_explained(tmp_path: Path) -> None:
    """onnx's locations are POSIX paths: https://github.com/onnx/onnx/blob/main/docs/ExternalData.md."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(b"1234")
    with pytest.raises(GatherInferError, match="separates folders by '/'"):
        data_file("sub\\w.bin", tmp_path)
    with pytest.raises(GatherInferError, match=r"No such file or directory$"):
        data_file("sub\\other.bin", tmp_path)
    assert location_error("sub\\w.bin", windows=True) == "contains a backslash"


def replace_as_windows(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """`os.replace`, which fails for files that this process has open or mapped, as on Windows."""
    for path in map(os.path.realpath, (source, target)):
        opened = {os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
        mapped = Path("/proc/self/maps").read_text()
        if path in opened or f"{path}\n" in mapped:
            raise PermissionError(errno.EACCES, "Access is denied", os.fspath(target))
    os.rename(source, target)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="open and mapped files are listed in /proc")
@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("rewrite", [fold, optimize])
def test_a_save_in_place_replaces_files_that_are_not_open(
    rewrite: object, is_mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where external data is mapped, as elsewhere than on Windows, the replacement would fail there."""
    assert callable(rewrite)
    path = with_weights(tmp_path)
    monkeypatch.setattr(constant, "MAPS_FILES", is_mapped)
    monkeypatch.setattr(os, "replace", replace_as_windows)
    kept = open_model(path)
    result = rewrite(kept)
    if is_mapped:
        held = constant.read_tensor(kept, kept.proto.graph.initializer[0])
        with pytest.raises(GatherInferError, match="Access is denied"):
            result.save(path, in_place=True, external_data="w.bin")
        assert held is not None
        return
    result.save(path, in_place=True, external_data="w.bin")
    found = onnx.load(path)
    held_there = {t.name: numpy_helper.to_array(t) for t in found.graph.initializer}
    assert any(np.array_equal(array, -np.arange(4096, dtype=np.float32)) for array in held_there.values())
