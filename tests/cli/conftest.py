"""A working directory with the small models in it, and a way to run a command there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from gather_infer_cli.main import main

from tests.cli.cli_models import MODELS
from tests.documents import cli_runner

Run = Callable[..., Result]

READERS = (
    "infer", "inspect", "explain", "fold", "optimize", "freeze", "convert", "contract", "cost", "tensors", "extract",
    "outputs", "rename",
)  # fmt: skip
"""The commands that read a model."""

PROGRAM = [sys.executable, "-c", "from gather_infer_cli.start import main; main()"]
"""Begins the arguments of a process."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("infer", "embedding.onnx")` in a directory that holds the models; no traceback is ever printed."""
    for name, make in MODELS.items():
        (tmp_path / name).write_bytes(make().SerializeToString(deterministic=True))
    (tmp_path / "fixtures").symlink_to(Path(__file__).parents[2] / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*arguments: str, input: bytes | None = None, color: bool = False) -> Result:
        result = cli_runner().invoke(main, list(arguments), input=input, color=color)
        if "--debug" not in arguments:
            assert "Traceback" not in result.stdout + result.stderr
        return result

    return run
