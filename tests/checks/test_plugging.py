"""Where checks plug in: people's own tests, pre-commit, GitHub Actions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

from gather_infer.checks.baseline import write_baseline
from gather_infer.checks.check_model import check
from gather_infer.diagnostic import Severity
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.testing import assert_model_ok
from tests.checks.plants import FIXTURES
from tests.checks.small_models import lookup
from tests.documents import REPO

BERT = FIXTURES / "bert-torchscript.onnx"


def test_a_model_that_is_ok() -> None:
    result = assert_model_ok(BERT, dims=["seq=1..64"])
    assert result.accesses["proved"] == 16
    assert assert_model_ok(lookup()).errors == ()


def test_a_model_that_is_not() -> None:
    with pytest.raises(AssertionError) as told:
        assert_model_ok(BERT, dims=["seq=1..65"])
    assert str(told.value).splitlines()[:2] == [
        "error[GI501]: seq=1..65 is declared, which reaches outside seq <= 64: the model fails there",
        f"  --> {BERT}: node /bert/embeddings/Add_1 (Add-14)",
    ]


def test_what_weighs_how_much() -> None:
    assert_model_ok(lookup(index=9), ignore=["GI3"])
    assert_model_ok(lookup(index=9), select=["GI1,GI2"])
    with pytest.raises(AssertionError, match=r"note\[GI302\]"):
        assert_model_ok(BERT, fail_on="note")
    assert_model_ok(BERT, fail_on=Severity.NOTE, dims=["seq=1..64"], ranges={"input_ids": (0, 150)}, ignore=["GI302"])


def test_accepted_findings(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(lookup(index=9), path)
    write_baseline(tmp_path / "accepted.json", [check(path)], Severity.WARNING)
    assert_model_ok(path, baseline=tmp_path / "accepted.json")
    with pytest.raises(AssertionError, match="GI301"):
        assert_model_ok(path)


def test_mistakes_are_no_assertions(tmp_path: Path) -> None:
    with pytest.raises(ModelReadError):
        assert_model_ok(tmp_path / "none.onnx")
    with pytest.raises(UsageError):
        assert_model_ok(BERT, select=["GI9"])


def loaded(name: str) -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((REPO / name).read_text())


def test_the_hook_calls_the_command() -> None:
    (hook,) = loaded(".pre-commit-hooks.yaml")
    assert hook["entry"].split() == ["gather-infer", "check"] and hook["require_serial"] is True
    assert {"id", "name", "entry", "language", "files"} <= hook.keys()


def act(tmp_path: Path, models: str, arguments: str = "", sarif: str = "") -> subprocess.CompletedProcess[str]:
    """The step of the action that checks, as a runner has it."""
    step = loaded("action.yml")["runs"]["steps"][-1]
    assert step["shell"] == "python" and step["env"].keys() == {"MODELS", "ARGUMENTS", "SARIF"}
    program = shutil.which("gather-infer", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    assert program is not None
    path = os.pathsep.join([os.path.dirname(program), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "MODELS": models, "ARGUMENTS": arguments, "SARIF": sarif}
    command = [sys.executable, "-c", step["run"]]
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)


def test_the_action(tmp_path: Path) -> None:
    (tmp_path / "models/inner dir").mkdir(parents=True)
    onnx.save(lookup(), tmp_path / "models/good.onnx")
    onnx.save(lookup(index=9), tmp_path / "models/inner dir/bad.onnx")
    told = act(tmp_path, "models/**/*.onnx", sarif="found.sarif")
    assert told.returncode == 1
    assert told.stdout.startswith("::error file=models/inner dir/bad.onnx,title=GI301 node pick (Gather-13)::index 9")
    found = json.loads((tmp_path / "found.sarif").read_text())
    assert [each["ruleId"] for each in found["runs"][0]["results"]] == ["GI301"]
    assert act(tmp_path, "models/*.onnx").returncode == 0
    assert act(tmp_path, "models/**/*.onnx", "--ignore 'GI301'").returncode == 0
    nothing = act(tmp_path, "weights/*.onnx")
    assert (nothing.returncode, nothing.stdout) == (2, "::error title=gather-infer::no file matches weights/*.onnx\n")


def test_a_wrong_command_line_of_the_action_is_reported_once(tmp_path: Path) -> None:
    onnx.save(lookup(), tmp_path / "good.onnx")
    found = act(tmp_path, "good.onnx", "--nonsense", sarif="found.sarif")
    assert (found.returncode, found.stdout, found.stderr.count("no such option")) == (2, "", 1)
    assert not (tmp_path / "found.sarif").exists()
