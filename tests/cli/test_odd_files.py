"""Folders and files as they should not be, and models with more findings than anybody reads."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli.cli_models import MODELS
from tests.cli.conftest import Run

GOOD = MODELS["embedding.onnx"]


def place(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(GOOD().SerializeToString())


def test_a_folder_without_models(run: Run) -> None:
    Path("empty/below").mkdir(parents=True)
    result = run("check", "empty/")
    error = "error: empty/: no models below this folder: no .onnx, no .xml with its .bin"
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, error)


def test_a_folder_that_is_not_there_is_named_once(run: Run) -> None:
    for name in ("gone/", "./gone.onnx"):
        result = run("check", name)
        assert result.exit_code == 3 and result.stdout.count("gone") == 1, result.stdout
        assert result.stdout.startswith(f"error[GI001]: No such file or directory\n  --> {name}: model\n")


def checked(run: Run, *arguments: str) -> dict[str, list[str]]:
    told = run("check", *arguments, "--jobs", "1", "--format", "jsonl").stdout.splitlines()
    entries = [json.loads(line) for line in told]
    return {e["name"]: [d["code"] for d in e["diagnostics"]] for e in entries if "name" in e}


def test_links_that_go_in_circles_or_nowhere(run: Run) -> None:
    place("d/good.onnx")
    os.symlink(".", "d/self")
    os.symlink("../d", "d/again")
    os.symlink("nowhere.onnx", "d/lost.onnx")
    os.symlink("round.onnx", "d/round.onnx")
    found = checked(run, "d")
    assert list(found) == ["d/good.onnx", "d/lost.onnx", "d/round.onnx"]
    assert "GI001" not in found["d/good.onnx"]
    assert found["d/lost.onnx"] == found["d/round.onnx"] == ["GI001"]


def test_what_is_broken_hides_nothing(run: Run) -> None:
    place("d/a.onnx")
    place("d/Z.ONNX")
    Path("d/broken.onnx").write_bytes(GOOD().SerializeToString()[:99])
    Path("d/empty.onnx").touch()
    found = checked(run, "d")
    assert found["d/broken.onnx"] == found["d/empty.onnx"] == ["GI001"]
    assert "GI001" not in found["d/a.onnx"] + found["d/Z.ONNX"]


def test_a_folder_that_cannot_be_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    place("d/a.onnx")
    place("d/secret/b.onnx")
    scandir = os.scandir

    def guarded(path: Any) -> Any:
        if str(path).endswith("secret"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    found = checked(run, "d")
    assert set(found) == {"d/a.onnx", "d/secret"} and found["d/secret"] == ["GI001"]


NAMES = [
    "a\nerror[GI301]: forged.onnx",
    "a\n::error::forged.onnx",
    "b\x1b[31m.onnx",
    "c'\".onnx",
    "d\t\r\x85\u202e.onnx",
    "-e.onnx",
    "%0A::error.onnx",
]


@pytest.mark.parametrize("form", ["text", "github", "html", "json", "jsonl", "sarif"])
def test_names_of_files_do_not_steer_the_terminal(form: str, run: Run) -> None:
    for name in NAMES:
        Path("d").mkdir(exist_ok=True)
        Path("d", name).write_bytes(b"broken")
    result = run("check", "d", "--jobs", "1", "--format", form)
    assert result.exit_code == 3
    # to GitHub a name is as it is, but for what ends a line
    assert form == "github" or not {"\x1b", "\r", "\x85", "\u202e"} & set(result.output)
    lines = result.output.split("\n")
    assert not any(line.startswith(("error[GI301]", "::error::")) for line in lines)


def many(number: int, *, alike: bool = False) -> onnx.ModelProto:
    """Gathers out of bounds, with an index each or one for all."""
    held = [numpy_helper.from_array(np.zeros(4, np.float32), "t")]
    held += [numpy_helper.from_array(np.array([4 + i], np.int64), f"i{i}") for i in range(1 if alike else number)]
    nodes = [helper.make_node("Gather", ["t", f"i{0 if alike else i}"], [f"y{i}"], f"n{i}") for i in range(number)]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y0", TensorProto.FLOAT, [1])], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("alike", [False, True])
def test_a_model_with_more_findings_than_anybody_reads(alike: bool, run: Run) -> None:
    onnx.save(many(3000, alike=alike), "m.onnx")
    result = run("check", "m.onnx")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1 and len(lines) < 220 and lines[-1].startswith("3000 errors")
    told = sum(line.startswith("error[GI301]") for line in lines)
    assert ("... 2950 more of GI301: -v" in lines) is not alike and told == (1 if alike else 50)
    assert ("   |  and 2999 more like it: -v" in lines) is alike
    assert run("check", "m.onnx", "-v").stdout.count("error[GI301]") == 3000
    counted = json.loads(run("check", "m.onnx", "--statistics", "--format", "json").stdout)
    assert "3000" in json.dumps(counted)
    assert run("check", "m.onnx", "--statistics").stdout.splitlines()[0].split()[:3] == ["3000", "error", "GI301"]
    assert len(run("infer", "m.onnx").stdout.splitlines()) < 300
