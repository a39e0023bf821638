"""The drop-in for onnxruntime's symbolic_shape_infer: options, files and exit codes, beside those of the script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, numpy_helper

from gather_infer import infer
from gather_infer.compat import command, symbolic_shape_infer
from gather_infer.compat.symbolic_shape_infer import (
    IncompleteInference,
    InvalidModel,
    SymbolicShapeInference,
    with_inferred_types,
)
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.model import ModelFile
from tests.inference.models import model

FIXTURES = Path(__file__).parents[2] / "fixtures"
BERT = str(FIXTURES / "bert-torchscript.onnx")
ACME = ', "com.acme" : 1'


def run(*arguments: str, module: str = "gather_infer.compat.symbolic_shape_infer") -> tuple[int, str]:
    """Exit code and standard error of a command in a child process."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


def called(*arguments: str) -> int:
    """Exit code of the command in this process."""
    with pytest.raises(SystemExit) as end:
        command.run(symbolic_shape_infer.main, arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def dims(proto: ModelProto) -> dict[str, list[int | str]]:
    """The declared dims of the inputs, the outputs and the values in between."""
    values = (*proto.graph.input, *proto.graph.value_info, *proto.graph.output)
    return {v.name: [d.dim_param or d.dim_value for d in dims_of(v.type)] for v in values}


CODES: dict[str, list[str]] = {
    "a model": ["--input", "{model}", "--output", "{out}"],
    "a check only": ["--input", "{model}"],
    "no input": [],
    "an unknown option": ["--input", "{model}", "--nope"],
    "a number that is none": ["--input", "{model}", "--int_max", "many"],
    "a file that is missing": ["--input", "gone.onnx", "--output", "{out}"],
    "a file that is no model": ["--input", "{text}", "--output", "{out}"],
    "an unknown operator": ["--input", "{unknown}", "--output", "{out}"],
    "an unknown operator, guessed": ["--input", "{unknown}", "--output", "{out}", "--guess_output_rank"],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", CODES)
def test_exit_codes_and_files_are_those_of_the_script(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "(float[n, ?] x) => (float[a, b] y) { z = com.acme.Foo (x) y = Relu (z) }"
    onnx.save(model(text, domains=ACME), tmp_path / "unknown.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    found = []
    for module in ("onnxruntime.tools.symbolic_shape_infer", "gather_infer.compat.symbolic_shape_infer"):
        folder = tmp_path / module
        folder.mkdir()
        monkeypatch.chdir(folder)
        names = {"model": BERT, "unknown": "../unknown.onnx", "text": "../text.onnx", "out": "out.onnx"}
        merge = ["--auto_merge"] if module.startswith("onnxruntime") and "{model}" in CODES[case] else []
        code, errors = run(*(argument.format(**names) for argument in CODES[case]), *merge, module=module)
        found.append((code, {path.name for path in folder.iterdir() if path.suffix == ".onnx"}))
    assert found[0] == found[1]
    assert "Traceback" not in errors
    assert bool(errors) == bool(code)
    if code == 1:
        assert errors.startswith("error: ") and errors.count("\n") == 1


def test_open_dims_of_inputs_have_the_names_that_the_script_gives() -> None:
    given = model("(float[n, ?] x, float[x_d1] other) => (float[a, b] y) { y = Relu (x) }")
    assert dims(SymbolicShapeInference.infer_shapes(given)) == {
        "x": ["n", "x_d1_"],  # the script takes x_d1, which is the size of another input
        "other": ["x_d1"],
        "y": ["n", "x_d1_"],
    }


def test_outputs_have_the_inferred_dims() -> None:
    """Also in place of a wrong number; a dim that depends on data keeps its name, unless another dim has it."""
    text = """(float[n, 3] x) => (float[m, 7] y, int64[2, found] z, int64[2, n] w, int64[2, found] v)
        { y = Concat <axis = 1> (x, x) z = NonZero (x) w = NonZero (y) b = Neg (x) v = NonZero (b) }"""
    found = dims(SymbolicShapeInference.infer_shapes(model(text)))
    assert found["y"] == ["n", 6]
    assert found["z"] == [2, "found"]
    assert found["w"][1] not in ("n", "found") and found["v"][1] not in ("n", "found", found["w"][1])


def test_a_number_that_an_output_does_not_have_in_every_run_is_replaced() -> None:
    found = dims(SymbolicShapeInference.infer_shapes(model("(float[n] x) => (float[5] y) { y = Neg (x) }")))
    assert found["y"] == ["n"]


MERGES: dict[str, tuple[str, dict[str, list[int | str]]]] = {
    # id: (model, dims with --auto_merge)
    "two symbols": ("(float[a] x, float[b] y) => (float[c] z) { z = Add (x, y) }", {"y": ["a"], "z": ["a"]}),
    "a number": ("(float[a] x, float[5] y) => (float[c] z) { z = Add (x, y) }", {"x": [5], "z": [5]}),
    "three symbols": (
        "(float[a] x, float[b] y, float[c] w) => (float[d] z) { s = Add (x, y) z = Add (s, w) }",
        {"y": ["a"], "w": ["a"], "z": ["a"]},
    ),
    "no broadcast": ("(float[a] x, float[b] y) => (float[c] z) { z = Concat <axis = 0> (x, y) }", {"z": ["a + b"]}),
    "a size from data": (
        "(float[a] x, int64[1] size) => (float[c] z) { z = Expand (x, size) }",
        {"x": ["a"], "z": ["c"]},
    ),
}


@pytest.mark.parametrize("case", MERGES)
def test_auto_merge_makes_dims_of_inputs_equal(case: str) -> None:
    text, wanted = MERGES[case]
    found = dims(SymbolicShapeInference.infer_shapes(model(text), auto_merge=True))
    assert {name: found[name] for name in wanted} == wanted


def test_without_auto_merge_a_broadcast_is_an_expression() -> None:
    found = SymbolicShapeInference.infer_shapes(model("(float[a] x, float[b] y) => (float[c] z) { z = Add (x, y) }"))
    assert dims(found)["z"] == ["min(a*b, max(a, b))"]


def test_int_max_is_the_largest_size() -> None:
    text = "(float[n] x) => (float[m] y) <int64[1] zero = {0}, int64[1] end = {1000}> { y = Slice (x, zero, end) }"
    assert dims(SymbolicShapeInference.infer_shapes(model(text)))["y"] == ["min(1000, n)"]
    assert dims(SymbolicShapeInference.infer_shapes(model(text), int_max=1000))["y"] == ["n"]
    assert dims(SymbolicShapeInference.infer_shapes(model(text), 1001))["y"] == ["min(1000, n)"]


def test_guess_output_rank() -> None:
    text = "(float16[n, 3] x) => (float16[a, b] y) { z = com.acme.Foo (x) y = Relu (z) }"
    found = SymbolicShapeInference.infer_shapes(model(text, domains=ACME), guess_output_rank=True)
    assert len(dims(found)["z"]) == 2 and dims(found)["z"][1] != 3
    assert {v.name: v.type.tensor_type.elem_type for v in found.graph.value_info}["z"] == onnx.TensorProto.FLOAT16
    with pytest.raises(IncompleteInference, match=r"z of com\.acme\.Foo node .*; --guess_output_rank guesses"):
        SymbolicShapeInference.infer_shapes(model(text, domains=ACME))


def test_a_model_that_fails_in_every_run() -> None:
    text = "(float[n, 3] x) => (float[a] y) <float[4, 4] w = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> { y = MatMul (x, w) }"
    with pytest.raises(InvalidModel, match=r"MatMul"):
        SymbolicShapeInference.infer_shapes(model(text))


def test_the_partial_result_of_an_unknown_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "(float[n] x) => (float[a] y) { w = Neg (x) z = com.acme.Foo (w) y = Neg (z) }"
    onnx.save(model(text, domains=ACME), "in.onnx")
    assert called("--input", "in.onnx", "--output", "out.onnx") == 1
    assert not Path("out.onnx").exists()
    assert dims(onnx.load("sym_shape_infer_temp.onnx"))["w"] == ["n"]


def test_verbose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    text = "(float[n] x) => (int64[1, a] y) { w = Neg (x) y = NonZero (w) }"
    for verbose, wanted in ((0, []), (1, ["y"]), (3, ["w", "x", "y"])):
        caplog.clear()
        SymbolicShapeInference.infer_shapes(model(text), verbose=verbose)
        assert sorted(text.partition(":")[0] for text in caplog.messages) == wanted


def test_the_argument_stays_as_it_is() -> None:
    given = model("(float[a, ?] x, float[b, 5] y) => (float[c, d] z) { z = Add (x, y) }")
    before = given.SerializeToString()
    SymbolicShapeInference.infer_shapes(given, auto_merge=True)
    assert given.SerializeToString() == before


def test_old_opsets_are_inferred_too() -> None:
    """The script writes nothing for an opset before 7, and exits with 0."""
    given = model("(float[n] x) => (float[a] y) { y = Neg (x) }", opset=6)
    assert dims(SymbolicShapeInference.infer_shapes(given))["y"] == ["n"]


def large_model() -> ModelProto:
    proto = model("(float[n, 64] x) => (float[n, 32] y) { z = MatMul (x, w) y = Add (z, b) }")
    for name, shape in (("w", (64, 32)), ("b", (32,))):
        count = shape[0] * shape[-1] if len(shape) == 2 else shape[0]
        elements = [float(number) for number in range(count)]
        tensor = onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, shape, elements)
        proto.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(tensor), name))
    return proto


FILES: dict[str, tuple[list[str], set[str]]] = {
    # id: (options, data files)
    "inline": ([], set()),
    "a file for each": (["--save_as_external_data"], {"w"}),
    "all of them": (["--save_as_external_data", "--external_data_size_threshold", "0"], {"w", "b"}),
    "one file": (["--save_as_external_data", "--all_tensors_to_one_file"], {"out.onnx.data"}),
    "a named file": (
        ["--save_as_external_data", "--all_tensors_to_one_file", "--external_data_location", "weights.bin"],
        {"weights.bin"},
    ),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("is_external", [False, True])
def test_external_data(case: str, is_external: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options, wanted = FILES[case]
    Path("source").mkdir()
    onnx.save(large_model(), "source/in.onnx", save_as_external_data=is_external, size_threshold=0)
    for _ in range(2):  # the second run replaces its own files
        assert called("--input", "source/in.onnx", "--output", "out.onnx", *options) == 0
        assert {path.name for path in tmp_path.iterdir()} == {"source", "out.onnx", *wanted}
        written = onnx.load("out.onnx")
        assert [numpy_helper.to_array(t).tolist() for t in written.graph.initializer] == [
            numpy_helper.to_array(t).tolist() for t in large_model().graph.initializer
        ]
    assert dims(written)["z"] == ["n", 32]


BAD_FILES: dict[str, tuple[list[str], str]] = {
    "a file of someone": (["--external_data_location", "notes.txt"], "notes.txt: exists, and is not external data"),
    "the model itself": (["--external_data_location", "out.onnx"], "out.onnx: exists, and is not external data"),
    "another folder": (["--external_data_location", "../data"], "leaves the directory of the model"),
    "an absolute path": (["--external_data_location", "/data"], "is not relative to the model"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_data_files_that_are_refused(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options, message = BAD_FILES[case]
    onnx.save(large_model(), "in.onnx")
    Path("notes.txt").write_text("notes")
    options = ["--save_as_external_data", "--all_tensors_to_one_file", *options]
    assert called("--input", "in.onnx", "--output", "out.onnx", *options) == 1
    assert message in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"in.onnx", "notes.txt"}


def test_names_of_tensors_are_no_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("inside").mkdir()
    proto = large_model()
    for tensor, name in zip(proto.graph.initializer, ("../w", "out.onnx"), strict=True):
        for node in proto.graph.node:
            node.input[1] = name if node.input[1] == tensor.name else node.input[1]
        tensor.name = name
    onnx.save(proto, "in.onnx")
    options = ["--save_as_external_data", "--external_data_size_threshold", "0"]
    assert called("--input", "in.onnx", "--output", "inside/out.onnx", *options) == 0
    assert {path.name for path in Path("inside").iterdir()} == {"out.onnx", "out.onnx.0", "out.onnx.1"}
    assert {path.name for path in tmp_path.iterdir()} == {"inside", "in.onnx"}


def test_in_place(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(large_model(), path)
    assert called("--input", str(path), "--output", str(path)) == 0
    assert dims(onnx.load(path))["z"] == ["n", 32]


def test_an_openvino_ir_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("--input", str(FIXTURES / "openvino" / "decoder.xml")) == 1
    assert "gather-infer convert" in capsys.readouterr().err


def test_a_fault_in_a_kept_name_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every generated dim under its declared name, two sizes would share one."""
    proto = model("(float[n] x) => (int64[1, k] y, int64[1, k] z) { y = NonZero (x) w = Cos (x) z = NonZero (w) }")
    inference = infer(proto)
    found: Any = dims(with_inferred_types(ModelFile.from_proto(proto), inference))
    assert found["y"] == [1, "k"] and found["z"][1] != "k"
