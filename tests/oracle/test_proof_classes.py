"""Operators that a proof takes for exact, at each position in onnxruntime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "proof_classes.py"


@pytest.mark.oracle
def test_exact_operators_are_alike_at_every_position() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Log                     pointwise" in done.stdout and "law rows" in done.stdout
