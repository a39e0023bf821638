"""Standard streams: what goes where, terminals and their colours, and readers that go away."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
from pathlib import Path

import onnx
import pytest

from tests.cli.conftest import PROGRAM, Run


@pytest.mark.parametrize(
    "command",
    [
        "fold EVIL -o out.onnx -v",
        "fold EVIL --dry-run",
        "infer EVIL -v",
        "check EVIL -v",
        "contract EVIL",
        "explain EVIL nothing",
        "explain EVIL '*'",
        "inspect EVIL 'gone\x1b[2J\r\nerror[GI301]: forged'",
        "infer EVIL --input k=int64[1]",
        "convert EVIL -o o",
    ],
)
def test_no_name_can_steer_the_terminal(command: str, run: Run) -> None:
    model = onnx.load("embedding.onnx")
    steering = "\x1b[2J\r\nerror[GI301]: forged\x85"
    for node in model.graph.node:
        node.name += steering
    model.graph.node.add(op_type="Gather", name=f"ov{steering}", domain="openvino", input=["words", "ids", "zero"])
    model.graph.node[-1].output.append(f"extra{steering}")
    model.graph.input[0].name = f"ids{steering}"
    for node in model.graph.node:
        node.input[:] = [f"ids{steering}" if name == "ids" else name for name in node.input]
    onnx.save(model, "evil.onnx")
    result = run(*shlex.split(command.replace("EVIL", "evil.onnx")))
    output = result.stdout + result.stderr
    assert "\\x1b[2J" in output
    assert not {"\x1b", "\r", "\x85"} & set(output)
    assert not any(line.lstrip().startswith("error[GI301]: forged") for line in output.splitlines())


def test_quiet_prints_results_and_errors_only(run: Run) -> None:
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "-q")
    assert result.stderr == ""
    assert "3 rewrites" in result.stdout
    assert run("infer", "missing.onnx", "-q").stderr.startswith("error: ")


def test_colours_only_where_they_are_wanted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in run("infer", "bad.onnx", color=True).stdout
    assert "\x1b[" not in run("infer", "bad.onnx", "--no-color", color=True).stdout
    assert "\x1b[" not in run("infer", "bad.onnx").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("infer", "bad.onnx", color=True).stdout
    assert "\x1b[" not in run("infer", "missing.onnx", color=True).stderr


COLOURS = {
    # --no-color, environment: whether there are colours on a terminal, and elsewhere
    "usual": ((), {}, (True, False)),
    "a dumb terminal": ((), {"TERM": "dumb"}, (False, False)),
    "forced": ((), {"FORCE_COLOR": "1"}, (True, True)),
    "forced on a dumb terminal": ((), {"FORCE_COLOR": "1", "TERM": "dumb"}, (True, True)),
    "forced by 0 or nothing": ((), {"FORCE_COLOR": "0", "TERM": "dumb"}, (False, False)),
    "not wanted": ((), {"NO_COLOR": "1"}, (False, False)),
    "not wanted, and forced": ((), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, (False, False)),
    "an empty wish": ((), {"NO_COLOR": "", "FORCE_COLOR": ""}, (True, False)),
    "an option, and forced": (("--no-color",), {"FORCE_COLOR": "1"}, (False, False)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", COLOURS)
def test_who_has_the_last_word_on_colours(case: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    options, variables, wanted = COLOURS[case]
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    on_terminal = on_a_terminal(80, "infer", "bad.onnx", "-q", *options, **variables)[1]
    elsewhere = subprocess.run([*PROGRAM, "infer", "bad.onnx", *options], capture_output=True, text=True).stdout
    assert tuple("\x1b[31m" in text for text in (on_terminal, elsewhere)) == wanted


def test_standard_streams(run: Run) -> None:
    data = Path("embedding.onnx").read_bytes()
    assert run("inspect", "-", input=data).stdout.startswith("<stdin>")
    assert run("infer", "-", input=b"").exit_code == 3
    done = subprocess.run([*PROGRAM, "fold", "-", "-o", "-"], input=data, capture_output=True, check=True)
    assert len(onnx.ModelProto.FromString(done.stdout).graph.node) == 8
    assert b"3 rewrites" in done.stderr


def test_explain_and_convert_read_standard_input(run: Run) -> None:
    data = Path("embedding.onnx").read_bytes()
    assert run("explain", "-", "hidden", input=data).stdout.startswith("hidden   float32[batch, seq, 8]\n")
    assert run("inspect", "embedding.onnx", "-", input=data).stdout.split()[:2] == ["embedding.onnx", "<stdin>"]
    command = ["convert", "-", "-o", "-", "--gather-oob", "assume-valid"]
    exported = Path("exported.onnx").read_bytes()
    done = subprocess.run([*PROGRAM, *command], input=exported, capture_output=True, check=True)
    assert {node.domain for node in onnx.ModelProto.FromString(done.stdout).graph.node} == {""}
    assert done.stderr.startswith(b"<stdin>   ONNX, 2 nodes -> 2 nodes, opset ")


def test_nobody_reads_on(run: Run) -> None:
    model = Path("many.onnx").resolve()
    command = f"{shlex.join(PROGRAM)} infer {model} --all --format json | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{\n", "")
    assert done.returncode in (0, 141)  # 0 when everything fitted into the pipe


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_results_that_cannot_be_written(run: Run) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, "inspect", "many.onnx"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert done.stderr == "error: standard output: No space left on device\n"


def on_a_terminal(columns: int, *arguments: str, **variables: str) -> tuple[int, str]:
    """Exit code and everything printed by a command whose streams are a terminal of that width."""
    leader, follower = pty.openpty()
    command = [*PROGRAM, *arguments]
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    environment |= variables
    done = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    output = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        output += part
    os.close(leader)
    return done.wait(), output.decode().replace("\r", "")


@pytest.mark.parametrize("columns", [60, 100])
def test_on_a_terminal_tables_fit_unelided_and_have_colours(columns: int, run: Run) -> None:
    code, text = on_a_terminal(columns, "infer", "bad.onnx")
    assert code == 1
    assert "\x1b[" in text
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("pick"))
    assert max(len(line) for line in lines[start : start + 3]) <= columns
    assert "int64[3] = [0, 1, 9]" in text and "float32[9, 4]" in text


def test_no_model_is_written_to_a_terminal(run: Run) -> None:
    code, text = on_a_terminal(80, "fold", "embedding.onnx", "-o", "-")
    assert code == 2
    assert "-o - writes a model to standard output, which is a terminal" in text
