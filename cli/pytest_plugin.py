"""pytest plugin: each model file is a test that fails on the findings of `gather-infer check`.

    pytest --gather-infer models/
    pytest --gather-infer --gather-infer-args="--dim seq=1..512 --strict" models/

or, for `pytest` without options, in the configuration of pytest:

    [tool.pytest.ini_options]
    gather_infer_models = ["models/*.onnx"]
    gather_infer_args = "--fail-on warning"

pytest loads this module in every run of an environment with gather-infer, so it imports little.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest


class ModelFailed(Exception):
    """The check of a model did not exit with 0; the text is what it printed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gather-infer", "checks of ONNX models")
    group.addoption(
        "--gather-infer", action="store_true", help="check every model below the given paths: .onnx, .xml with its .bin"
    )
    group.addoption(
        "--gather-infer-args", metavar="OPTIONS", help='options of `gather-infer check`: "--dim seq=1..512 --strict"'
    )
    parser.addini("gather_infer_models", "globs of models to check, relative to the root directory", type="args")
    parser.addini("gather_infer_args", "options of `gather-infer check`", type="args")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ModelFile | None:
    """The collector of a model: any model with --gather-infer, else those of `gather_infer_models`."""
    if not _is_model(file_path):
        return None
    if not parent.config.getoption("--gather-infer") and not _is_listed(file_path, parent.config):
        return None
    return ModelFile.from_parent(parent, path=file_path)


def _is_model(path: Path) -> bool:
    return path.suffix == ".onnx" or (path.suffix == ".xml" and path.with_suffix(".bin").is_file())


def _is_listed(path: Path, config: pytest.Config) -> bool:
    if not path.is_relative_to(config.rootpath):
        return False
    relative = str(path.relative_to(config.rootpath))
    return any(fnmatch(relative, os.path.normpath(pattern)) for pattern in config.getini("gather_infer_models"))


class ModelFile(pytest.File):
    """A model file with its one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield CheckItem.from_parent(self, name="gather-infer")


class CheckItem(pytest.Item):
    """The test that runs `gather-infer check FILE OPTIONS`; it fails unless the command would exit with 0."""

    def runtest(self) -> None:
        """Check the model. Raises ModelFailed with the findings, or with the reason why it was not checked."""
        options = self.config.getoption("--gather-infer-args")
        given = self.config.getini("gather_infer_args") if options is None else shlex.split(options)
        here = Path.cwd()  # a baseline names files as they are given
        path = self.path.relative_to(here) if self.path.is_relative_to(here) else self.path
        code, text = _checked([str(path), *given])
        if code:
            raise ModelFailed(text)
        self.add_report_section("call", "gather-infer", text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text of the findings; the traceback of any other exception."""
        if isinstance(excinfo.value, ModelFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"gather-infer check {self.nodeid.partition('::')[0]}"


def _checked(arguments: list[str]) -> tuple[int, str]:
    """The exit code of `gather-infer check` with `arguments`, and what it prints, results and messages."""
    from .main import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main(["check", *arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, printed.getvalue().rstrip()
