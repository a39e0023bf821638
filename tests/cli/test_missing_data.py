"""External data that is missing: shapes need none, so what only looks says so and goes on; what writes does not."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

import gather_infer
from tests.cli.conftest import Run

NEEDED = "; writing the model needs its bytes, shape inference does not\n"
MISSING = "external data file missing.bin: No such file or directory"
LOOKING = {
    # command: (exit code, what says so)
    "infer missing.onnx": (0, f"warning[GI112]: {MISSING}\n"),
    "check missing.onnx": (1, f"error[GI112]: {MISSING}\n"),
    "contract missing.onnx": (0, f"warning[GI112]: {MISSING}\n"),
    "inspect missing.onnx": (0, "missing.bin missing, "),
    "explain missing.onnx logits": (0, f"warning[GI112]: {MISSING}\n"),
}
WRITING = {
    "infer": [],
    "fold": [],
    "optimize": [],
    "freeze": ["--dim", "batch=1"],
    "convert": [],
    "contract": ["--embed"],
}


@pytest.fixture
def missing(run: Run) -> onnx.ModelProto:
    """`missing.onnx`: a fixture all of whose constants, those of nodes too, are in a file that is not there."""
    model = onnx.load("fixtures/gpt2-kv-torchscript.onnx")
    onnx.save(
        model,
        "missing.onnx",
        save_as_external_data=True,
        location="missing.bin",
        size_threshold=0,
        convert_attribute=True,
    )
    Path("missing.bin").unlink()
    return model


@pytest.mark.parametrize("command", LOOKING)
def test_what_looks_says_so_and_goes_on(command: str, run: Run, missing: onnx.ModelProto) -> None:
    code, text = LOOKING[command]
    result = run(*command.split())
    assert (result.exit_code, result.stderr) == (code, "")
    assert result.stdout.count(text) == 1


@pytest.mark.parametrize("command", WRITING)
def test_what_writes_says_that_it_needs_the_bytes(command: str, run: Run, missing: onnx.ModelProto) -> None:
    result = run(command, "missing.onnx", "-o", "out.onnx", *WRITING[command])
    assert (result.exit_code, result.stdout, Path("out.onnx").exists()) == (3, "", False)
    assert result.stderr.startswith("error: missing.onnx: tensor 'gpt2.transformer.wte.weight': ")
    assert result.stderr.endswith(MISSING + NEEDED)


def test_what_is_unknown_for_missing_numbers_is_counted(run: Run, missing: onnx.ModelProto) -> None:
    """Indices and targets are missing too; all else of the fixture is known, so it is unknown for these."""
    text = run("infer", "missing.onnx").stdout
    inference = gather_infer.infer("missing.onnx")
    lost = inference.coverage().tensors - inference.coverage().exact
    assert f", leave {lost} tensors unknown, with {len(inference.causes)} generated symbols" in text
    assert "\n  generated symbols:" not in text
    found = json.loads(run("check", "missing.onnx", "--format", "json").stdout)["models"][0]
    assert (found["checked"], {d["code"] for d in found["diagnostics"] if d["severity"] == "error"}) == (
        True,
        {"GI112"},
    )


def test_large_weights_alone_change_nothing(run: Run) -> None:
    model = onnx.load("fixtures/gpt2-kv-torchscript.onnx")
    onnx.save(model, "missing.onnx", save_as_external_data=True, location="missing.bin", size_threshold=1024)
    Path("missing.bin").unlink()
    whole, without = (gather_infer.infer(path) for path in ("fixtures/gpt2-kv-torchscript.onnx", "missing.onnx"))
    assert dict(without) == dict(whole)
    text = run("infer", "missing.onnx").stdout
    assert "leaves" not in text and "583 with every dim known" in text


def test_a_model_in_memory_may_have_constants_elsewhere(missing: onnx.ModelProto) -> None:
    """Also indices in the attribute of a node: their data has no location."""
    model = onnx.load("missing.onnx", load_external_data=False)
    inference = gather_infer.infer(model)
    assert (str(inference["input_ids"]), inference.errors) == ("int64[batch, seq]", ())
    assert gather_infer.check(model).was_checked
