"""Rule files of the user, which may fail; our own faults; an interrupt."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from tests.cli.conftest import Run

RULES = """
from gather_infer import RuleSet, SymbolicTensor
rules = RuleSet("com.example")

@rules.rule("Twice")
def twice(op):
    return [op.tensor(0)]
"""


@pytest.fixture
def custom(run: Run) -> None:
    """`custom.onnx`: its `sum` is made by an operator that `mine.py` has a rule for."""
    model = onnx.load("embedding.onnx")
    model.graph.node[5].op_type, model.graph.node[5].domain = "Twice", "com.example"
    del model.graph.node[5].input[1:]
    model.opset_import.add(domain="com.example", version=1)
    onnx.save(model, "custom.onnx")
    Path("mine.py").write_text(RULES)


def test_rules_from_a_file(run: Run, custom: None) -> None:
    assert "GI105" in run("infer", "custom.onnx").stdout
    assert "GI105" not in run("infer", "custom.onnx", "--rules", "mine.py").stdout


def test_explain_takes_what_infer_takes(run: Run, custom: None) -> None:
    assert "known with a rule for com.example.Twice" in run("explain", "custom.onnx", "sum").stdout
    result = run("explain", "custom.onnx", "sum", "--rules", "mine.py", "--dim", "seq=4")
    assert result.stdout.startswith("sum   float32[batch, 4, 8]\n")


FAULTY = {
    "syntax": ("def (:\n", r"error: mine.py:1: .*\n"),
    "raises": ("\nx = 1 / 0\n", r"error: mine.py:2: ZeroDivisionError: division by zero\n"),
    "exit": ("import sys\nsys.exit(0)\n", r"error: mine.py:2: ends the program, which rules must not do\n"),
    "exit in a rule": (
        """
from gather_infer import RuleSet
rules = RuleSet("")

@rules.rule("Gather")
def gather(op):
    raise SystemExit
""",
        r"error: mine.py:7: ends the program, which rules must not do\n",
    ),
    "no list": (
        """
from gather_infer import RuleSet
rules = RuleSet("")
rules.rule("Gather")(lambda op: 3)
""",
        r"error: the rule of ai.onnx.Gather must return a list of facts, returns int\n",
    ),
    "nothing": ("x = 1\n", r"error: --rules mine.py: defines no RuleSet at module level\n"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_rules_file_that_fails_is_not_our_fault(case: str, run: Run) -> None:
    source, message = FAULTY[case]
    Path("mine.py").write_text(source)
    result = run("infer", "embedding.onnx", "--rules", "mine.py")
    assert result.exit_code == 2
    assert re.fullmatch(message, result.stderr)


def test_our_own_fault_is_exit_4_with_a_line_to_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("an invariant\nin words")

    monkeypatch.setattr("gather_infer.model.open_model", broken)
    result = run("inspect", "embedding.onnx")
    assert (result.exit_code, result.stdout) == (4, "")
    assert re.fullmatch(r"error: .*: AssertionError: an invariant in words \[.*:\d+\]\n", result.stderr)
    assert "Traceback" in run("inspect", "embedding.onnx", "--debug").stderr


def test_an_interrupt_is_exit_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gather_infer.model.open_model", interrupt)
    result = run("inspect", "embedding.onnx")
    assert result.exit_code == 130
    assert result.stderr.strip() == "error: interrupted"
