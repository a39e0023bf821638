"""The pytest plugin: which files are tests, with which options, and what a failure shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.inference.models import model

REPO = Path(__file__).parents[2]

PLUGIN = ["-p", "no:gather-infer", "-p", "gather_infer_cli.pytest_plugin"]
"""Loads the plugin as a module, whether or not the environment has its entry point."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with models: two without findings, one with a warning, one that is no model, and an IR."""
    (tmp_path / "models").mkdir()
    texts = {
        "good": "(float[n] x) => (float[n] y) { y = Neg (x) }",
        "long": "(float[seq] x) => (float[seq] y) { y = Neg (x) }",
        "warned": "(float[n] x) => (float[n, 3] y) { y = Neg (x) }",
    }
    for name, text in texts.items():
        onnx.save(model(text), tmp_path / "models" / f"{name}.onnx")
    (tmp_path / "models" / "broken.onnx").write_text("no model")
    (tmp_path / "models" / "other.xml").write_text("<xml/>")
    (tmp_path / "models" / "notes.txt").write_text("notes")
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of pytest in `folder`, without colours."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *PLUGIN, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def names(output: str) -> set[str]:
    """The models that `--collect-only -q` lists."""
    return {Path(line.partition("::")[0]).name for line in output.splitlines() if "::gather-infer" in line}


COLLECTED: dict[str, tuple[str, list[str], set[str]]] = {
    # id: (pytest.ini, arguments, collected models)
    "nothing asked for": ("", ["models"], set()),
    "a folder": ("", ["--gather-infer", "models"], {"good.onnx", "long.onnx", "warned.onnx", "broken.onnx"}),
    "a file": ("", ["--gather-infer", "models/good.onnx"], {"good.onnx"}),
    "globs": ("gather_infer_models = models/g*.onnx models/l*", ["models"], {"good.onnx", "long.onnx"}),
    "globs, nothing else": ("gather_infer_models = models/good.onnx", [], {"good.onnx"}),
    "a glob that fits nothing": ("gather_infer_models = other/*.onnx", ["models"], set()),
    "both": ("gather_infer_models = models/good.onnx", ["--gather-infer", "models/long.onnx"], {"long.onnx"}),
}


@pytest.mark.parametrize("case", COLLECTED)
def test_collected_models(case: str, folder: Path) -> None:
    ini, arguments, wanted = COLLECTED[case]
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    assert names(run(folder, "--collect-only", "-q", *arguments)[1]) == wanted


def test_an_ir_is_a_model_with_its_weights(folder: Path) -> None:
    (folder / "models" / "other.bin").write_bytes(b"")
    assert "other.xml" in names(run(folder, "--collect-only", "-q", "--gather-infer", "models")[1])


def test_findings_are_failures(folder: Path) -> None:
    code, output = run(folder, "--gather-infer", "models")
    assert code == 1
    assert "1 failed, 3 passed" in output
    assert "error[GI001]: " in output and "Traceback" not in output
    assert "FAILED models/broken.onnx::gather-infer" in output


def test_options_of_check(folder: Path) -> None:
    code, output = run(folder, "--gather-infer", "--gather-infer-args=--strict", "models/warned.onnx")
    assert code == 1 and "warning[GI202]" in output
    (folder / "pytest.ini").write_text("[pytest]\ngather_infer_args = --strict --ignore GI202\n")
    assert run(folder, "--gather-infer", "models/warned.onnx")[0] == 0
    assert run(folder, "--gather-infer", "--gather-infer-args=--strict", "models/warned.onnx")[0] == 1


def test_the_configuration_of_check(folder: Path) -> None:
    """Constraints of the table apply to the models that have the dim."""
    (folder / "pyproject.toml").write_text('[tool.gather-infer]\nfail-on = "warning"\ndim = ["seq=1..64"]\n')
    code, output = run(folder, "--gather-infer", "models/good.onnx", "models/long.onnx", "models/warned.onnx")
    assert code == 1 and "1 failed, 2 passed" in output


def test_a_baseline_that_the_command_wrote(folder: Path) -> None:
    command = [sys.executable, "-m", "gather_infer", "check", "models/warned.onnx", "--baseline", "accepted.json"]
    subprocess.run([*command, "--strict", "--write-baseline"], cwd=folder, check=True, capture_output=True, timeout=120)
    assert json.loads((folder / "accepted.json").read_text())
    arguments = "--gather-infer-args=--strict --baseline accepted.json"
    assert run(folder, "--gather-infer", arguments, "models/warned.onnx")[0] == 0


def test_a_wrong_option_is_one_clear_failure(folder: Path) -> None:
    code, output = run(folder, "--gather-infer", "--gather-infer-args=--nope", "models/good.onnx")
    assert code == 1 and "error: no such option '--nope'" in output and "Traceback" not in output


def test_the_entry_point() -> None:
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gather-infer": "gather_infer_cli.pytest_plugin"}


def test_a_run_without_models_loads_little() -> None:
    """Every pytest run of the environment loads the plugin."""
    code = "import sys, gather_infer_cli.pytest_plugin; print({'onnx', 'numpy', 'click'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()"
