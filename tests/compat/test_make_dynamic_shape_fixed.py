"""The drop-in for onnxruntime's make_dynamic_shape_fixed: types, exit codes and functions, beside the originals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto
from onnxruntime.tools import onnx_model_utils as original

from gather_infer.compat import make_dynamic_shape_fixed as drop_in
from gather_infer.compat.command import run
from gather_infer.inference.dim_rendering import dims_of
from tests.inference.models import model

FIXTURES = Path(__file__).parents[2] / "fixtures"
BERT = str(FIXTURES / "bert-torchscript.onnx")
MODULES = ("onnxruntime.tools.make_dynamic_shape_fixed", "gather_infer.compat.make_dynamic_shape_fixed")


def dims(proto: ModelProto) -> dict[str, list[int | str]]:
    values = (*proto.graph.input, *proto.graph.value_info, *proto.graph.output)
    return {v.name: [d.dim_param or d.dim_value for d in dims_of(v.type)] for v in values}


CASES: dict[str, list[str]] = {
    "a dim": ["--dim_param", "batch", "--dim_value", "1", BERT, "out.onnx"],
    "a shape": ["--input_name", "input_ids", "--input_shape", "1,64", BERT, "out.onnx"],
    "a dim that no value has": ["--dim_param", "zzz", "--dim_value", "1", BERT, "out.onnx"],
    "no value": ["--dim_param", "batch", BERT, "out.onnx"],
    "a value of 0": ["--dim_param", "batch", "--dim_value", "0", BERT, "out.onnx"],
    "a shape with a 0": ["--input_name", "input_ids", "--input_shape", "1,0", BERT, "out.onnx"],
    "both": ["--dim_param", "a", "--dim_value", "1", "--input_name", "b", "--input_shape", "1", BERT, "out.onnx"],
    "neither": [BERT, "out.onnx"],
    "another rank": ["--input_name", "input_ids", "--input_shape", "1,2,3", BERT, "out.onnx"],
    "no such input": ["--input_name", "nope", "--input_shape", "1", BERT, "out.onnx"],
    "no number": ["--input_name", "input_ids", "--input_shape", "1,x", BERT, "out.onnx"],
    "no model": ["--dim_param", "batch", "--dim_value", "1", "gone.onnx", "out.onnx"],
    "no output": ["--dim_param", "batch", "--dim_value", "1", BERT],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES)
def test_exit_codes_and_types_are_those_of_the_script(case: str, tmp_path: Path) -> None:
    found = []
    for module in MODULES:
        folder = tmp_path / module
        folder.mkdir()
        command = [sys.executable, "-m", module, *CASES[case]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
        written = {path.name: dims(onnx.load(path)) for path in folder.iterdir()}
        found.append((done.returncode, written))
    assert found[0] == found[1]
    assert "Traceback" not in done.stderr
    if done.returncode == 1:
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    if done.returncode == 255:
        assert done.stdout.startswith("Invalid usage.\nusage: ")


def test_expressions_and_inner_values_follow(tmp_path: Path) -> None:
    """The script leaves `past + seq` as a name."""
    text = """(float[batch, past] k, float[batch, seq] x, float[batch, "past + seq"] mask) => (float[batch, total] y)
        { z = Concat <axis = 1> (k, x) y = Add (z, mask) }"""
    proto = model(text.replace('"past + seq"', "total"))
    proto.graph.input[2].type.tensor_type.shape.dim[1].dim_param = "past + seq"
    onnx.save(proto, tmp_path / "in.onnx")
    arguments = ["--dim_param", "seq", "--dim_value", "4", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
    assert drop_in.main(arguments) == 0
    assert dims(onnx.load(tmp_path / "out.onnx"))["mask"] == ["batch", "past + 4"]


def test_sizes_that_contradict_the_model_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run(drop_in.main, ["--dim_param", "seq", "--dim_value", "65", BERT, str(tmp_path / "out.onnx")])
    assert end.value.code == 1
    assert "the sizes contradict the model" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


BODY = """(float[n, 3, ?] x, bool c) => (float[n, b, d] y)
    { y = If (c) <then_branch = t () => (float[n, 3, d] a) { a = Neg (x) },
                  else_branch = e () => (float[n, 3, d] b) { b = Abs (x) }> }"""

EDITS: dict[str, tuple[str, Callable[[Any, ModelProto], None]]] = {
    "a dim": (BODY, lambda module, proto: module.make_dim_param_fixed(proto.graph, "n", 2)),
    "a dim of an output": (BODY, lambda module, proto: module.make_dim_param_fixed(proto.graph, "d", 7)),
    "a shape": (BODY, lambda module, proto: module.make_input_shape_fixed(proto.graph, "x", [2, 3, 7])),
    "outputs": ("(float[2, 3] x) => (float[a, b] y) { y = Neg (x) }", lambda m, proto: m.fix_output_shapes(proto)),
}


@pytest.mark.parametrize("case", EDITS)
def test_the_functions_change_what_the_originals_change(case: str) -> None:
    text, edit = EDITS[case]
    ours, theirs = model(text), model(text)
    edit(drop_in, ours)
    edit(original, theirs)
    assert ours == theirs
    assert ours != model(text)


REFUSED: dict[str, tuple[str, list[int]]] = {
    "another rank": ("x", [1, 2]),
    "another size": ("x", [2, 4, 7]),
    "no such input": ("z", [1]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_functions_refuse_what_the_originals_refuse(case: str) -> None:
    for module in (original, drop_in):
        with pytest.raises(ValueError):
            module.make_input_shape_fixed(model(BODY).graph, *REFUSED[case])


def test_sizes_below_1_count_as_unknown() -> None:
    """Converters write -1 or 0 for a dim."""
    for module in (original, drop_in):
        proto = model("(float[n, 3] x) => (float[n, 3] y) { y = Neg (x) }")
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
        module.make_input_shape_fixed(proto.graph, "x", [2, 3])
        assert dims(proto)["x"] == [2, 3]


def test_the_command_takes_sizes_below_1_as_unknown(tmp_path: Path) -> None:
    proto = model("(float[n, 3] x) => (float[m, 3] y) { y = Neg (x) }")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0
    onnx.save(proto, tmp_path / "in.onnx")
    arguments = ["--input_name", "x", "--input_shape", "2,3", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
    assert drop_in.main(arguments) == 0
    assert dims(onnx.load(tmp_path / "out.onnx")) == {"x": [2, 3], "y": [2, 3]}
