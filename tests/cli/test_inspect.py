"""`gather-infer inspect`: what a file is, what repeats, its widths; files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.cli.cli_models import cache
from tests.cli.conftest import Run
from tests.cli.test_first_screen import WIDTHS, plain
from tests.cli.test_streams import on_a_terminal

DECODER = "fixtures/openvino/decoder.xml"


@pytest.mark.parametrize("columns", WIDTHS)
def test_what_repeats_with_a_number_is_one_row(columns: int, run: Run) -> None:
    onnx.save(cache(), "cache.onnx")
    code, text = on_a_terminal(columns, "inspect", "cache.onnx")
    lines = plain(text)
    assert (code, max(map(len, lines)) <= columns) == (0, True)
    at = next(i for i, line in enumerate(lines) if line.startswith("  inputs"))
    assert lines[at].split(maxsplit=1) == ["inputs", "row float32[batch, 1, 1, 8]"]
    assert [line.strip() for line in lines[at + 1 : at + 3]] == [
        "past_key_{0..47} float32[batch, 1, past, 8]  (48)",
        "past_value_{0..47} float32[batch, 1, past, 8]  (48)",
    ]


def test_verbose_lists_what_repeats(run: Run) -> None:
    onnx.save(cache(), "cache.onnx")
    lines = [line.strip() for line in run("inspect", "cache.onnx", "-v").stdout.splitlines()]
    assert "past_key_47 float32[batch, 1, past, 8]" in lines


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_ir_has_no_ir_version_of_onnx(columns: int, run: Run) -> None:
    """Neither that, nor an opset of ai.onnx, is in the file; the version is that of its root element."""
    assert 'version="11"' in Path(DECODER).read_text()[:200]
    code, text = on_a_terminal(columns, "inspect", DECODER)
    lines = plain(text)
    assert (code, max(map(len, lines)) <= columns) == (0, True)
    assert [line.split(maxsplit=1) for line in lines[1:2]] == [["format", "OpenVINO IR v11"]]
    assert not any("ir_version" in line or "ai.onnx" in line for line in lines)


@pytest.mark.parametrize("command", ["inspect", "infer"])
def test_json_says_what_a_file_is(command: str, run: Run) -> None:
    both = json.loads(run(command, DECODER, "embedding.onnx", "--format", "json").stdout)["models"]
    ir, model = [each["model"] if command == "infer" else each for each in both]
    assert (ir["format"], ir["ir_version"], "" in ir["opsets"]) == ("OpenVINO IR v11", None, False)
    assert (model["format"], model["ir_version"]) == ("ONNX", onnx.load("embedding.onnx").ir_version)


def test_a_file_that_cannot_be_read_has_an_entry(run: Run) -> None:
    error = "missing.onnx: No such file or directory"
    result = run("inspect", "missing.onnx", "embedding.onnx", "--format", "json")
    assert (result.exit_code, result.stderr) == (3, f"error: {error}\n")
    models = json.loads(result.stdout)["models"]
    assert models[0] == {"name": "missing.onnx", "error": error}
    assert models[1] == json.loads(run("inspect", "embedding.onnx", "--format", "json").stdout)["models"][0]
    lines = run("inspect", "missing.onnx", "embedding.onnx", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"schema": 2, **each} for each in models]
    empty = json.loads(run("inspect", "-", "--format", "json", input=b"").stdout)["models"]
    assert [each["name"] for each in empty] == ["<stdin>"]
