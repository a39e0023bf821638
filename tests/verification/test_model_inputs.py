"""Inputs and tolerances of the caller's."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.inference import infer
from gather_infer.tensor import DType
from gather_infer.verification import Verification, read_feeds, verify
from tests.cli.conftest import Run as Command
from tests.cli.conftest import run
from tests.verification.models import model

__all__ = ["run"]

BEFORE = "(float[N, 2] x, int64[N] i) => (float[N, 2] y) <float c = {12345.5}> { y = Min(x, c) }"
AFTER = "(float[N, 2] x, int64[N] i) => (float[N, 2] y) { y = Identity(x) }"
LARGE = {"x": np.array([[1, 20000]], np.float32), "i": np.zeros(1, np.int64)}


def fed(before: ModelProto, after: ModelProto, *feeds: dict[str, Any], runs: int = 0, **options: Any) -> Verification:
    return verify(before, after, runs, inference=infer(before), feeds=feeds, **options)


def test_what_only_the_caller_knows_is_found() -> None:
    small = {"x": np.ones((1, 2), np.float32), "i": np.zeros(1, np.int64)}
    before, after = model(BEFORE), model(AFTER)
    assert fed(before, after, small).ok
    found = fed(before, after, small, LARGE)
    assert [str(each) for each in found.mismatches] == ["output y at N=1: element [0, 1] is 20000.0, was 12345.5"]
    assert [(str(each), each.float_inputs) for each in found.runs] == [("N=1", "as in the file")] * 2
    assert fed(before, after, small, runs=1).requested_runs == 1 and len(fed(before, after, small, runs=1).runs) == 2


def test_tolerances() -> None:
    before, after = model(BEFORE), model(AFTER.replace("Identity(x)", "Identity(x)"))
    assert fed(before, after, LARGE, atol=7654.5).ok and not fed(before, after, LARGE, atol=7654.0).ok
    assert fed(before, after, LARGE, rtol=0.621).ok and not fed(before, after, LARGE, rtol=0.62).ok


@pytest.mark.parametrize(
    ("feeds", "reason"),
    [
        ({"x": LARGE["x"]}, "feeds have no input 'i': x"),
        ({**LARGE, "z": np.zeros(1)}, "feeds have 'z', the inputs are x, i"),
        ({**LARGE, "i": np.zeros(1, np.int32)}, "feeds: input i is int64, not int32"),
        ({**LARGE, "x": np.zeros((1, 3), np.float32)}, r"feeds: input x is float32\[N, 2\], not of shape \[1, 3\]"),
        ({**LARGE, "x": np.zeros(2, np.float32)}, r"feeds: input x is float32\[N, 2\], not of shape \[2\]"),
    ],
)
def test_feeds_that_do_not_fit(feeds: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        fed(model(BEFORE), model(AFTER), feeds)


def test_feeds_on_which_the_model_fails() -> None:
    proto = model("(float[N] x, int64[K] i) => (float[K] y) { y = Gather(x, i) }")
    found = fed(proto, proto, {"x": np.zeros(2, np.float32), "i": np.array([7])})
    assert not found.ok and found.failure.startswith("the original does not run on feeds 1: ")


def test_feeds_of_other_types(tmp_path: Path) -> None:
    half = np.array([1.5, 2.5]).astype(DType.BFLOAT16.dtype)
    np.savez(tmp_path / "half.npz", h=half, z=np.zeros(1))
    np.savez(tmp_path / "texts.npz", s=np.array(["a", "b"]))
    texts = '(string[N] s, float d = {2.0}) => (string[M] y) <string[1] c = {"x"}> { y = Concat<axis=0>(s, c) }'
    for name, text in (("half", "(bfloat16[N] h) => (bfloat16[N] z) { z = Identity(h) }"), ("texts", texts)):
        found = fed(model(text), model(text), read_feeds(tmp_path / f"{name}.npz"))
        assert found.ok and len(found.compared_outputs) == 1, found


NO_ARCHIVE = "no .npz, as np.savez(FILE, **feeds) writes it"
NO_ARRAY = "x cannot be read as an array of numbers or texts"
BROKEN = {
    # name: what is said of it
    "nothing.npz": "No such file or directory",
    "folder.npz": "Is a directory",
    "empty.npz": NO_ARCHIVE,
    "text.npz": NO_ARCHIVE,
    "cut.npz": NO_ARCHIVE,
    "one.npy": "one array; feeds are a .npz with an array for each input",
    "objects.npz": NO_ARRAY,
    "damaged.npz": NO_ARRAY,
    "huge.npz": "x takes more memory than there is",
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_none(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if name == "folder.npz":
        file.mkdir()
    elif name == "one.npy":
        np.save(file, np.zeros(1))
    elif name != "nothing.npz":
        x = np.array([None]) if name == "objects.npz" else np.arange(1000)
        np.savez_compressed(file, x=x)
        data = bytearray(file.read_bytes())
        data[100:200] = bytes(100) if name == "damaged.npz" else data[100:200]
        data = {"empty.npz": bytearray(), "text.npz": bytearray(b"text"), "cut.npz": data[:99]}.get(name, data)
        file.write_bytes(data)
        if name == "huge.npz":
            header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % (1 << 58)
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(UsageError) as caught:
        read_feeds(file)
    assert str(caught.value) == f"{file}: {BROKEN[name]}"


IDS = np.array([[3, 1, 4]])


def record() -> None:
    np.savez("f.npz", input_ids=IDS, attention_mask=np.ones_like(IDS), token_type_ids=np.zeros_like(IDS))


@pytest.mark.parametrize("command", [["optimize"], ["fold"], ["freeze", "--dim", "batch=1"]], ids=lambda c: str(c[0]))
def test_commands(command: list[str], run: Command) -> None:
    record()
    told = [*command, "fixtures/bert-torchscript.onnx", "-o", "out.onnx", "--feeds", "f.npz", "--rtol", "1e-6"]
    result = run(*told, "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["verification"]
    assert found["ok"] and found["requested_runs"] == 0 and found["rtol"] == 1e-6 and found["atol"] == 0
    assert [each["float_inputs"] for each in found["runs"]] == ["as in the file"]
    assert "within 1e-06 * |original|" in run(*told).stdout


def test_an_ir(run: Command, tmp_path: Path) -> None:
    from tests.documents import REPO

    path = str(REPO / "fixtures" / "openvino" / "int4.xml")
    (name,) = infer(path).inputs
    shape = [dim if isinstance(dim, int) else 2 for dim in infer(path).shape(name)]
    feeds: dict[str, Any] = {name: np.ones(shape, np.float32)}
    np.savez(tmp_path / "f.npz", **feeds)
    told = ["convert", path, "--dry-run", "--feeds", str(tmp_path / "f.npz")]
    result = run(*told)
    assert result.exit_code == 0 and "within 0.0001 + 0.0001 * |original|" in result.stdout, result.stderr
    assert "session.qdq_matmulnbits_accuracy_level=1" in result.stdout
    assert "within 0.5," in run(*told, "--atol", "0.5").stdout


def test_a_tolerance_of_nothing(run: Command) -> None:
    result = run("optimize", "embedding.onnx", "-o", "out.onnx", "--rtol", "1e-6")
    assert result.exit_code == 2 and "--rtol and --atol are for --verify N or --feeds FILE.npz" in result.stderr
    result = run("optimize", "embedding.onnx", "-o", "out.onnx", "--feeds", "nothing.npz")
    assert result.exit_code == 2 and result.stderr == "error: nothing.npz: No such file or directory\n"
