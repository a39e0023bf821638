"""Progress of a command: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.documents import REPO

pty = pytest.importorskip("pty")  # Windows has none

SOON = """
import sys
from gather_infer_cli import progress
progress.DELAY, progress.INTERVAL = {delay}, 0.01
from gather_infer_cli.main import main
main()
"""
NETWORK = str(REPO / "fixtures" / "gpt2-kv-torchscript.onnx")
COMMANDS = {
    # command: (arguments, what is told in turn)
    "infer": ([NETWORK, "-o", "out.onnx"], [r"inferring, \d+ %"]),
    "fold": ([NETWORK, "-o", "out.onnx", "--verify", "1"], [r"inferring, \d+ %", "verifying, run 1 of 1"]),
    "optimize": ([NETWORK, "-o", "out.onnx"], [r"inferring, \d+ %", r"rewriting, \d+ rewrites"]),
    "freeze": ([NETWORK, "--dim", "batch=2", "-o", "out.onnx"], [r"inferring, \d+ %"]),
    "contract": ([NETWORK, "--embed", "-o", "out.onnx"], [r"inferring, \d+ %"]),
    "convert": ([str(REPO / "fixtures" / "openvino" / "unet.xml"), "-o", "out.onnx"], ["converting"]),
}


def run(
    folder: Path,
    arguments: list[str],
    *,
    delay: float = 0.0,
    terminal: bool = True,
    code: int = 0,
    more: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """Text on standard output and on standard error, which is a terminal or a pipe."""
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "TERM")}
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", SOON.format(delay=delay), *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=folder,
        env={**plain, "TERM": "xterm", "COLUMNS": "70", **(more or {})},
    ) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal has nobody at its other end
                break
            if not part:
                break
            told += part
        os.close(ours)
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == code, told
    return printed.decode(), told.decode()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_shows_progress(command: str, tmp_path: Path) -> None:
    arguments, told = COMMANDS[command]
    printed, shown = run(tmp_path, [command, *arguments])
    texts = re.findall(r"\r\x1b\[K([^\r\x1b]*)", shown)
    assert all(re.fullmatch(r"[a-zB ,.0-9%]+ \.\.\. \d+ s|", text.split("\x1b")[0].strip("\n")) for text in texts[:-1])
    found = iter(texts)
    for text in told:
        assert any(re.match(rf"{text} \.\.\. \d+ s", each) for each in found), (text, texts)
    assert "\x1b" not in printed and " ... " not in printed.split("\n")[0]
    last = shown.split("\r\x1b[K")[-1]
    assert last.startswith("wrote out.onnx")


MANY = {
    # command: what is told while files are worked through
    "infer": r"inferring, [01] of 2 files done \.\.\. \d+ s",
    "check": r"checking, [01] of 2 files done \.\.\. \d+ s",
    "inspect": r"reading, file [12] of 2 \.\.\. \d+ s",
}


@pytest.mark.parametrize("command", MANY)
def test_many_files_are_counted(command: str, tmp_path: Path) -> None:
    printed, shown = run(tmp_path, [command, NETWORK, NETWORK.replace("torchscript", "dynamo")])
    assert re.search(MANY[command], shown), shown
    assert shown.endswith("\r\x1b[K")
    assert "\x1b" not in printed and "gpt2-kv-dynamo" in printed


def test_what_is_written_is_counted(tmp_path: Path) -> None:
    """Weights are streamed: 64 MiB take longer than the display waits."""
    weights = np.zeros((16, 1 << 20), np.float32)
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    types = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 1 << 20]) for name in "xy"}
    graph = onnx.helper.make_graph(
        [node], "g", [types["x"]], [types["y"]], [onnx.numpy_helper.from_array(weights, "w")]
    )
    onnx.save(onnx.helper.make_model(graph), tmp_path / "large.onnx")
    _, shown = run(tmp_path, ["freeze", "large.onnx", "--dim", "N=16", "-o", "out.onnx"])
    assert re.search(r"writing, [\d.]+ (B|KiB|MiB) of weights \.\.\. \d+ s", shown), shown
    assert (tmp_path / "out.onnx").stat().st_size > weights.nbytes


def test_what_is_printed_stands_on_lines_of_its_own(tmp_path: Path) -> None:
    """Both streams are one terminal: the progress makes way for each line."""
    ours, theirs = pty.openpty()
    models = [NETWORK, str(REPO / "fixtures" / "bert-dynamo.onnx"), "missing.onnx"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "240"}
    for name in ("CI", "NO_COLOR"):
        environment.pop(name, None)
    arguments = [sys.executable, "-c", SOON.format(delay=0.0), "infer", *models]
    with subprocess.Popen(arguments, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            told += part
    os.close(ours)
    assert process.returncode == 3
    left = [line.split("\x1b[K")[-1] for line in told.decode().replace("\r\n", "\n").replace("\r", "").split("\n")]
    assert re.fullmatch(r".*gpt2-kv-torchscript.onnx: 583 tensors, all known; .*", left[0])
    assert re.fullmatch(r".*bert-dynamo.onnx: 191 tensors, all known; .*", left[1])
    assert re.sub(r"\x1b\[\d*m", "", left[2]) == "error: missing.onnx: No such file or directory"
    assert left[3].startswith("2 of 3 files: ") and left[4:] == [""]


@pytest.mark.parametrize("case", ["pipe", "NO_COLOR", "CI", "dumb", "--quiet", "--no-color", "quick"])
def test_nothing_is_shown_elsewhere(case: str, tmp_path: Path) -> None:
    environment = {"NO_COLOR": "1"} if case == "NO_COLOR" else {"CI": "true"} if case == "CI" else {}
    if case == "dumb":
        environment = {"TERM": "dumb"}
    options = [case] if case.startswith("-") else []
    arguments = ["optimize", str(REPO / "fixtures" / "beam-step-torchscript.onnx"), "-o", "out.onnx", *options]
    delay = 600.0 if case == "quick" else 0.0
    _, shown = run(tmp_path, arguments, delay=delay, terminal=case != "pipe", more=environment)
    assert "\x1b[K" not in shown and "rewriting" not in shown
    assert shown.startswith("" if case == "--quiet" else "wrote out.onnx")


def test_an_error_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    printed, shown = run(tmp_path, ["optimize", "broken.onnx", "-o", "out.onnx"], code=3)
    last = re.sub(r"\x1b\[\d+m", "", shown.split("\r\x1b[K")[-1])
    assert printed == "" and last.startswith("error: broken.onnx: ") and last.count("\n") == 1
