"""A process killed between any two changes of the file system: a model at the output has its data, old or new."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

KILLED_AT = """
import os, signal, sys
from pathlib import Path
from gather_infer.model import open_model, save

left = int(sys.argv[1])

def counted(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call

model = open_model(sys.argv[2])
edited = type(model.proto).FromString(model.proto.SerializeToString())
edited.producer_version = "edited"
os.replace, os.link, Path.unlink = counted(os.replace), counted(os.link), counted(Path.unlink)
save(model, edited, sys.argv[3], external_data=sys.argv[4] or None, in_place=sys.argv[2] == sys.argv[3])
"""
"""Kill at the change with the number of the first argument, of those that rename, link or remove a file."""


def model_with(value: int, *locations: str, folder: Path) -> ModelProto:
    """A model with a large tensor full of a number in a data file each, and one inline."""
    text = '<ir_version: 9, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
    model: ModelProto = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.full(900, value, np.float32), "inline"))
    for location in locations:
        tensor = numpy_helper.from_array(np.full(900, value, np.float32), location)
        file = folder / location
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
        model.graph.initializer.append(tensor)
    return model


def same_data_file(folder: Path) -> tuple[Path, Path, str]:
    """An inline model, and an older output with its data."""
    (folder / "in.onnx").write_bytes(model_with(1, folder=folder).SerializeToString())
    old = model_with(0, folder=folder)
    onnx.save(old, folder / "out.onnx", save_as_external_data=True, location="out.bin", size_threshold=0)
    return folder / "in.onnx", folder / "out.onnx", "out.bin"


def in_place(folder: Path) -> tuple[Path, Path, str]:
    model = model_with(1, "m.bin", folder=folder)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx", folder / "m.onnx", "m.bin"


def copied_data_files(folder: Path) -> tuple[Path, Path, str]:
    """A model with two data files, and an older one in another folder, which has one of them."""
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    (folder / "a" / "in.onnx").write_bytes(
        model_with(1, "one.bin", "sub/two.bin", folder=folder / "a").SerializeToString()
    )
    (folder / "b" / "out.onnx").write_bytes(model_with(0, "sub/two.bin", folder=folder / "b").SerializeToString())
    return folder / "a" / "in.onnx", folder / "b" / "out.onnx", ""


def content(path: Path) -> str:
    """A hash of a model and of the bytes of its tensors, wherever they are. A data file that lacks is an error."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            data = (path.parent / entries["location"]).read_bytes()[int(entries.get("offset", 0)) :]
            tensor.raw_data = data[: int(entries.get("length", len(data)))]
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return hashlib.sha256(model.SerializeToString()).hexdigest()


@pytest.mark.sampled(3)
@pytest.mark.skipif(not hasattr(os, "link") or os.name == "nt", reason="needs SIGKILL and links")
@pytest.mark.parametrize("prepare", [same_data_file, in_place, copied_data_files])
def test_a_model_and_its_data_do_not_part(prepare: Callable[[Path], tuple[Path, Path, str]], tmp_path: Path) -> None:
    states = []
    for moment in range(30):
        folder = tmp_path / str(moment)
        folder.mkdir()
        source, out, data = prepare(folder)
        expected = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
        old = content(out)
        done = subprocess.run([sys.executable, "-c", KILLED_AT, str(moment), source, out, data], check=False)
        states.append("old" if content(out) == old else "new")
        if done.returncode == 0:
            added = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} - expected
            assert added <= {Path("b", "one.bin")}, "names that are for the moment of renaming alone are left"
            new = content(out)
            break
    else:
        pytest.fail("the end of the program was not reached")
    assert {content(tmp_path / str(moment) / out.relative_to(folder)) for moment in range(len(states))} == {old, new}
    assert states == sorted(states, reverse=True), "an old model after a new one"
    assert len(states) > 5, "there is no moment between two changes"
