"""Several models at once: a line each, or one of JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_first_screen import WIDTHS, plain
from tests.cli.test_streams import on_a_terminal

THREE = ("embedding.onnx", "bad.onnx", "many.onnx")
LINES = [
    "embedding.onnx: 19 tensors, all known; 4 accesses: 2 proved, 2 conditional",
    "bad.onnx: 3 tensors, all known; 1 access: 1 violated; 1 error",
    "many.onnx: 22 tensors, all known; 20 accesses: 19 proved, 1 conditional",
]


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_line_each(columns: int, run: Run) -> None:
    code, text = on_a_terminal(columns, "infer", *THREE)
    lines = plain(text)
    assert (code, lines[:3]) == (1, LINES)
    assert re.fullmatch(r"3 files: 1 error in \d+\.\d\d s", lines[3])
    assert lines[4:] == [""]


def test_what_is_not_known_is_counted(run: Run) -> None:
    text = run("infer", "fixtures/detector-nonzero-dynamo.onnx", "embedding.onnx").stdout
    assert re.match(r"fixtures/detector-nonzero-dynamo.onnx: \d+ tensors, \d+ of them known; ", text)


def test_files_that_cannot_be_read(run: Run) -> None:
    result = run("infer", "missing.onnx", "embedding.onnx", "--exit-zero")
    assert (result.exit_code, result.stderr) == (3, "error: missing.onnx: No such file or directory\n")
    assert result.stdout.startswith(f"{LINES[0]}\n1 of 2 files: no errors, no warnings in ")


def test_a_file_of_the_current_folder_is_named_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cut.onnx", "other.onnx"):
        (tmp_path / name).write_bytes(b"\xff")
    monkeypatch.chdir(tmp_path)
    result = run("infer", ".")
    assert (result.exit_code, result.stderr) == (
        3,
        "error: cut.onnx: truncated or not ONNX protobuf\nerror: other.onnx: truncated or not ONNX protobuf\n",
    )


def test_files_that_cannot_be_read_have_an_entry(run: Run) -> None:
    """Where it was named, in both forms; the others are what they are alone."""
    alone = json.loads(run("infer", "embedding.onnx", "--format", "json").stdout)
    missing = {"schema": 2, "model": {"name": "missing.onnx"}, "error": "missing.onnx: No such file or directory"}
    for order in (["missing.onnx", "embedding.onnx"], ["embedding.onnx", "missing.onnx"]):
        expected = [missing if name == "missing.onnx" else alone for name in order]
        result = run("infer", *order, "--format", "json")
        assert (result.exit_code, json.loads(result.stdout)) == (3, {"schema": 2, "models": expected})
        lines = run("infer", *order, "--format", "jsonl").stdout.splitlines()
        assert [json.loads(line) for line in lines] == expected


def test_exit_codes_of_many(run: Run) -> None:
    assert run("infer", "embedding.onnx", "many.onnx").exit_code == 0
    assert run("infer", *THREE, "--exit-zero").exit_code == 0
    assert run("infer", *THREE, "--strict").exit_code == 1


def test_json_of_many(run: Run) -> None:
    """The objects are those of each model alone."""
    alone = [json.loads(run("infer", model, "--format", "json").stdout) for model in THREE]
    together = json.loads(run("infer", *THREE, "--format", "json").stdout)
    assert together == {"schema": 2, "models": alone}
    lines = run("infer", *THREE, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == alone
    (line,) = run("infer", "bad.onnx", "--format", "jsonl").stdout.splitlines()
    assert json.loads(line) == alone[1]


def test_verbose_prints_the_whole_report_of_each(run: Run) -> None:
    seconds = re.compile(r" +\d+\.\d\d s$", re.MULTILINE)
    whole = [seconds.sub("", run("infer", model, "-v").stdout) for model in THREE]
    assert run("infer", *THREE, "-v").stdout.startswith("\n".join(whole) + "\n3 files: ")


def test_constraints_apply_to_models_with_such_names(run: Run) -> None:
    lines = run("infer", "embedding.onnx", "many.onnx", "--dim", "seq=1..16", "--dim", "n=1..").stdout.splitlines()
    assert lines[0] == "embedding.onnx: 19 tensors, all known; 4 accesses: 3 proved, 1 conditional"
    assert lines[1] == "many.onnx: 22 tensors, all known; 20 accesses: 20 proved"
    result = run("infer", "embedding.onnx", "many.onnx", "--dim", "sec=3")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        2,
        "error: no model has an input or an input dim with the name 'sec'",
    )


def test_standard_input_among_files(run: Run) -> None:
    result = run("infer", "embedding.onnx", "-", input=Path("bad.onnx").read_bytes())
    assert result.stdout.splitlines()[:2] == [LINES[0], LINES[1].replace("bad.onnx", "<stdin>")]
