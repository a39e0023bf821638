"""Exit codes of each command on a model with an error, one with a warning, and no model, as docs/shell.md has them."""

from __future__ import annotations

import shlex
from pathlib import Path

import onnx
import pytest
from gather_infer_cli.main import COMMANDS

from tests.cli.conftest import Run

WARNED = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 8] x) => (float[N, 8] y)
    <float[N, 9] a> { a = Relu (x) y = Neg (a) }"""

EXITS = {
    # command: (with an error, with a warning)
    "infer M": (1, 0),
    "infer M --strict": (1, 1),
    "infer M --strict --exit-zero": (0, 0),
    "check M": (1, 0),
    "check M --strict": (1, 1),
    "check M --fail-on warning --exit-zero": (0, 0),
    "contract M": (1, 0),
    "contract M --strict": (2, 2),
    "fold M -o out.onnx": (0, 0),
    "fold M -o out.onnx --strict": (1, 1),
    "optimize M -o out.onnx": (0, 0),
    "optimize M --dry-run --strict": (1, 1),
    "freeze M -o out.onnx --initializers-as-constants": (0, 0),
    "freeze M -o out.onnx --initializers-as-constants --strict": (1, 1),
    "convert M -o out.onnx": (0, 0),
    "convert M -o out.onnx --strict": (1, 1),
    "diff M M": (1, 0),
    "extract M --outputs y -o out.onnx": (0, 0),
    "outputs M --keep y -o out.onnx": (0, 0),
    "rename M --output y=w -o out.onnx": (0, 0),
    "unfreeze M --dim '*.1=width' -o out.onnx": (2, 0),
    "compose M M -o out.onnx": (2, 0),
    "page M -o out.html": (0, 0),
    "explain M y": (0, 0),
    "cost M": (0, 0),
    "tensors M": (0, 0),
    "inspect M": (0, 0),
}


@pytest.mark.parametrize("command", EXITS)
def test_exit_codes(command: str, run: Run) -> None:
    onnx.save(onnx.parser.parse_model(WARNED), "warned.onnx")
    for model, expected in zip(("bad.onnx", "warned.onnx"), EXITS[command], strict=True):
        result = run(*shlex.split(command.replace("M", model)))
        assert result.exit_code == expected, result.output
        assert Path("out.onnx").exists() is (expected == 0 and "out.onnx" in command)
        Path("out.onnx").unlink(missing_ok=True)
    assert run(*shlex.split(command.replace("M", "gone.onnx"))).exit_code == (2 if expected == 2 else 3)


def test_no_command_is_left_out() -> None:
    assert {command.split()[0] for command in EXITS} == COMMANDS.keys() - {"completion", "ops"}
