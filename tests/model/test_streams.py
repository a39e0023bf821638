"""Paths that are no regular files: pipes, devices, sockets and directories in the place of a model."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gather_infer.errors import ModelReadError
from gather_infer.inference import infer
from gather_infer.model import open_model
from tests.checks.small_models import lookup
from tests.cli.conftest import PROGRAM

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the files of Unix")


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "a pipe without a writer"),
    "a device that never ends": (lambda path: path.symlink_to("/dev/zero"), "a device, not a model file"),
    "an empty device": (lambda path: path.symlink_to("/dev/null"), "a device, not a model file"),
    "a directory": (Path.mkdir, "a directory, not a model file"),
    "a socket": (bound, "a socket, not a model file"),
}


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file(kind: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    make, message = KINDS[kind]
    path = Path(f"model{suffix}")
    make(path)
    with pytest.raises(ModelReadError) as raised:
        infer(path)
    assert str(raised.value) == f"{path}: {message}"


@pytest.mark.parametrize("command", ["infer", "check"])
def test_a_pipe_ends_a_command(command: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    os.mkfifo(path)
    done = subprocess.run([*PROGRAM, command, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "a pipe without a writer" in done.stdout + done.stderr


def test_a_pipe_that_is_written(tmp_path: Path) -> None:
    """Also by who comes to it first and waits, and by who takes its time."""
    model, path = tmp_path / "whole.onnx", tmp_path / "model.onnx"
    model.write_bytes(lookup().SerializeToString())
    os.mkfifo(path)
    with subprocess.Popen(["bash", "-c", f"exec 3> {path}; sleep 0.3; cat {model} >&3"]) as writer:
        while not _is_waited_for(path):
            pass
        found = open_model(path).proto
    assert writer.returncode == 0
    assert found == lookup()


def _is_waited_for(path: Path) -> bool:
    """Whether a process has come to the pipe to write."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.read(descriptor, 1)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_standard_input_that_never_ends() -> None:
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run([*PROGRAM, "infer", "-"], stdin=zeros, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "error: <stdin>: not ONNX protobuf, whose first byte is never 0\n")
