"""Shell completion, through click's protocol and in a real bash."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gather_infer.diagnostic import CODES
from tests.cli.conftest import PROGRAM, Run


def completed(line: str, shell: str = "bash") -> list[str]:
    """Candidates for the last word of a line, `type,value`; nothing else is printed."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_GATHER_INFER_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line if shell != "fish" else " ".join(words[:-1]),
        "COMP_CWORD": str(len(words) - 1) if shell != "fish" else words[-1],
    }
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


OFFERED = {
    # line: what is offered
    "gather-infer ten": ["plain,tensors"],
    "gather-infer infer emb": ["file,emb"],
    "gather-infer infer embedding.onnx --ru": ["plain,--rules"],
    "gather-infer infer embedding.onnx --rules m": ["file,m"],
    "gather-infer fold embedding.onnx -o o": ["file,o"],
    "gather-infer check a.onnx b": ["file,b"],
    "gather-infer explain emb": ["file,emb"],
    "gather-infer explain GI20": [f"plain,{code}" for code in CODES if code.startswith("GI20")],
    "gather-infer explain gi301": ["plain,GI301"],
    "gather-infer check embedding.onnx --select GI301,GI302": ["plain,GI301,GI302"],
    "gather-infer explain embedding.onnx wid": ["plain,width", "plain,widths"],
    "gather-infer tensors embedding.onnx wid": ["plain,width", "plain,widths"],
    "gather-infer tensors embedding.onnx --op Re": ["plain,Reshape"],
    "gather-infer explain fixtures/lstm-tagger-torchscript.onnx /If/e": ["plain,/If/else_branch//Identity_output_0"],
    "gather-infer explain exported.onnx --op openv": ["plain,openvino.opset8.Gather"],
    "gather-infer rename embedding.onnx --input i": ["plain,ids="],
    "gather-infer rename embedding.onnx --output hid": ["plain,hidden="],
    "gather-infer rename embedding.onnx --output hidden=new": [],
    "gather-infer rename fixtures/gpt2-kv-torchscript.onnx --dim ": ["plain,batch=", "plain,past=", "plain,seq="],
    "gather-infer rename fixtures/lstm-tagger-torchscript.onnx --node /Ident": ["plain,/Identity="],
    "gather-infer outputs embedding.onnx --keep ": ["plain,hidden"],
    "gather-infer outputs embedding.onnx --drop ": ["plain,hidden"],
    "gather-infer outputs embedding.onnx --add wid": ["plain,width", "plain,widths"],
    "gather-infer extract embedding.onnx --inputs wid": ["plain,width", "plain,widths"],
    "gather-infer extract fixtures/bert-torchscript.onnx --from-node /bert/pooler/d": ["plain,/bert/pooler/dense/Gemm"],
    "gather-infer extract fixtures/bert-torchscript.onnx --to-node /bert/pooler/d": ["plain,/bert/pooler/dense/Gemm"],
    "gather-infer rename missing.onnx --dim ": [],
    "gather-infer ops GatherE": ["plain,GatherElements"],
    "gather-infer ops com.microsoft.Gel": ["plain,com.microsoft.Gelu"],
    "gather-infer completion f": ["plain,fish"],
    # what cannot be read offers nothing, and says nothing
    "gather-infer explain missing.onnx a": [],
    "gather-infer explain broken.onnx a": [],
    "gather-infer explain fixtures a": [],
    "gather-infer tensors missing.onnx --op R": [],
    "gather-infer explain - a": [],
    "gather-infer nothing x": [],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("line", OFFERED)
def test_what_is_offered(line: str, run: Run) -> None:
    Path("broken.onnx").write_bytes(Path("embedding.onnx").read_bytes()[:100])
    assert completed(line) == OFFERED[line]


def test_zsh_and_fish_are_offered_the_same(run: Run) -> None:
    line = "gather-infer tensors embedding.onnx wid"
    assert [entry for entry in completed(line, "zsh") if "wid" in entry] == ["width", "widths"]
    assert completed(line, "fish") == ["plain,width", "plain,widths"]


def test_a_fault_is_silent_to_a_shell(run: Run, tmp_path: Path) -> None:
    code = (
        "import gather_infer.model.model_loading as given\n"
        "def fault(path): raise AssertionError('an invariant')\n"
        "given.to_model_file = fault\n"
        "from gather_infer_cli.start import main; main()"
    )
    environment = {
        **os.environ,
        "_GATHER_INFER_COMPLETE": "bash_complete",
        "COMP_WORDS": "gather-infer tensors embedding.onnx w",
        "COMP_CWORD": "3",
    }
    done = subprocess.run([PROGRAM[0], "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str, run: Run) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_GATHER_INFER_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes_a_tensor(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "gather-infer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    typed = b'eval "$(gather-infer completion bash)"; echo rea""dy\n'
    text = _in_bash(program.parent, [(typed, b"ready"), (b"gather-infer tensors embedding.onnx hidd\t", b"hidden")])
    assert "gather-infer tensors embedding.onnx hidden" in text


def _in_bash(folder: Path, steps: list[tuple[bytes, bytes]]) -> str:
    """Output of an interactive bash for typed input; each step waits for a text, half a minute at most."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ "}
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"], stdin=follower, stdout=follower, stderr=follower, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    os.set_blocking(leader, False)
    shown = b""
    for typed, wanted in steps:
        os.write(leader, typed)
        before, end = len(shown), time.monotonic() + 30
        while wanted not in shown[before:] and time.monotonic() < end:
            try:
                shown += os.read(leader, 4096)
            except BlockingIOError:
                time.sleep(0.05)
    shell.kill()
    shell.wait()
    os.close(leader)
    return shown.decode()
