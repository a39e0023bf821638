"""Files: a command writes a whole output or none, and leaves alone what it was not asked to touch."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from gather_infer.errors import ModelWriteError
from tests.cli.conftest import Run


def test_infer_writes_value_info(run: Run) -> None:
    result = run("infer", "embedding.onnx", "-o", "out.onnx")
    assert (result.exit_code, result.stderr) == (0, "wrote out.onnx\n")
    annotated = onnx.load("out.onnx")
    assert {v.name for v in annotated.graph.value_info} >= {"word", "place", "sum"}
    before = onnx.load("embedding.onnx")
    before.graph.ClearField("value_info")
    annotated.graph.ClearField("value_info")
    assert annotated == before
    result = run("infer", "embedding.onnx", "-o", "out.onnx", "--dim", "seq=1..16", "--dim", "batch=2")
    assert result.stderr == "wrote out.onnx\n"
    assert "    in   ids      [batch, seq] -> [2, seq]\n" in result.stdout
    assert "  persisted in the metadata: seq=1..16\n" in result.stdout
    again = run("infer", "out.onnx").stdout
    assert "  in   ids      int64[2, seq]\n" in again
    assert "  persisted in the file: seq=1..16\n" in again


def test_in_place(run: Run) -> None:
    assert run("infer", "embedding.onnx", "--in-place").exit_code == 0
    assert onnx.load("embedding.onnx").graph.value_info
    assert run("fold", "embedding.onnx", "--in-place").exit_code == 0
    assert len(onnx.load("embedding.onnx").graph.node) == 8
    assert run("convert", "exported.onnx", "--in-place", "--gather-oob", "assume-valid").exit_code == 0
    assert {node.domain for node in onnx.load("exported.onnx").graph.node} == {""}


@pytest.mark.parametrize("command", ["infer", "fold"])
def test_links_are_written_through(command: str, run: Run) -> None:
    Path("link.onnx").symlink_to("embedding.onnx")
    before = Path("embedding.onnx").read_bytes()
    assert run(command, "link.onnx", "--in-place").stderr.startswith("wrote link.onnx")
    assert Path("link.onnx").is_symlink() and Path("embedding.onnx").read_bytes() != before


def test_fold_takes_what_is_known_of_the_inputs(run: Run) -> None:
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "--dim", "seq=4")
    assert "rewrites: " in result.stdout
    assert "    in   ids      [batch, seq] -> [batch, 4]\n" in result.stdout
    assert not any("seq_len" in node.output for node in onnx.load("out.onnx").graph.node)
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "--input", "ids=int64[2, n]")
    assert "    in   ids      [batch, seq] -> [2, n]\n" in result.stdout
    declared = [d.dim_value or d.dim_param for d in onnx.load("out.onnx").graph.input[0].type.tensor_type.shape.dim]
    assert declared == [2, "n"]


def test_fold_and_convert_tell_what_is_wrong_and_are_strict_on_request(run: Run) -> None:
    model = onnx.load("exported.onnx")
    model.graph.value_info.add(name="a", type=onnx.helper.make_tensor_type_proto(TensorProto.FLOAT, [3, 4]))
    onnx.save(model, "stale.onnx")
    for command, more in (("fold", []), ("convert", ["--gather-oob", "assume-valid"])):
        result = run(command, "stale.onnx", "-o", "out.onnx", *more)
        assert (result.exit_code, Path("out.onnx").exists()) == (0, True)
        assert "warning[GI201]: value_info of a declares float32[3, 4]" in result.stdout
        Path("out.onnx").unlink()
        strict = run(command, "stale.onnx", "-o", "out.onnx", "--strict", *more)
        assert (strict.exit_code, strict.stderr, Path("out.onnx").exists()) == (1, "nothing written\n", False)
        assert strict.stdout == result.stdout
    assert run("fold", "stale.onnx", "--dry-run", "--strict").exit_code == 1
    assert run("fold", "embedding.onnx", "-o", "out.onnx", "--strict").exit_code == 0


def test_external_data(run: Run) -> None:
    assert run("infer", "embedding.onnx", "-o", "out.onnx", "--external-data", "weights").exit_code == 0
    light = onnx.load("out.onnx", load_external_data=False)
    words = next(t for t in light.graph.initializer if t.name == "words")
    assert words.data_location == TensorProto.EXTERNAL
    text = run("inspect", "out.onnx").stdout
    assert "weights 3.12 KiB, 1 tensor" in text
    Path("weights").unlink()
    assert "weights missing, 1 tensor" in run("inspect", "out.onnx").stdout
    told = run("infer", "out.onnx")
    assert told.exit_code == 0
    assert "warning[GI112]: external data file " in told.stdout
    assert run("infer", "out.onnx", "--strict").exit_code == 1
    for command in (["fold"], ["optimize"], ["infer"], ["freeze", "--dim", "seq=2"], ["contract", "--embed"]):
        assert run(*command[:1], "out.onnx", *command[1:], "-o", "folded.onnx").exit_code == 3, command
        assert not Path("folded.onnx").exists()


def test_a_refused_conversion_writes_nothing(run: Run) -> None:
    Path("out.onnx").write_bytes(b"precious")
    assert run("convert", "exported.onnx", "-o", "out.onnx", "--gather-oob", "refuse").exit_code == 1
    assert Path("out.onnx").read_bytes() == b"precious"


@pytest.mark.parametrize("command", ["infer", "fold", "convert"])
def test_an_output_that_cannot_be_written(command: str, run: Run) -> None:
    extra = ["--gather-oob", "assume-valid"] if command == "convert" else []
    result = run(command, "exported.onnx", "-o", "no/such/folder/out.onnx", *extra)
    assert result.exit_code == ModelWriteError.exit_code
    assert re.fullmatch(r"error: .*no/such/folder.*\n", result.stderr)


def test_a_full_disk_leaves_the_old_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out.onnx").write_bytes(b"precious")
    before = sorted(Path().iterdir())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(os, "replace", full)
    result = run("fold", "embedding.onnx", "-o", "out.onnx")
    assert result.exit_code == 3
    assert "No space left on device" in result.stderr
    assert Path("out.onnx").read_bytes() == b"precious"
    assert sorted(Path().iterdir()) == before
