"""Rule files of the user, which may fail; our own faults; an interrupt."""

from __future__ import annotations

import re
import zipfile
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


RULE = "the rule of Gather at node /word/Gather"
FAULTY = {
    "syntax": ("def (:\n", r"error: mine.py:1: .*\n"),
    "raises": ("\nx = 1 / 0\n", r"error: mine.py:2: ZeroDivisionError: division by zero\n"),
    "exit": ("import sys\nsys.exit(0)\n", r"error: mine.py:2: exits the program, which rules must not do\n"),
    "exit in a rule": (
        """
from gather_infer import RuleSet
rules = RuleSet("")

@rules.rule("Gather")
def gather(op):
    raise SystemExit
""",
        rf"error: mine.py:7: {RULE}: exits the program, which rules must not do\n",
    ),
    "raises in a rule": (
        """
from gather_infer import RuleSet
rules = RuleSet("")

def inner(op):
    return {}["x"]

@rules.rule("Gather")
def gather(op):
    return inner(op)
""",
        rf"error: mine.py:6: {RULE}: KeyError: 'x'\n",
    ),
    "calls the package wrongly": (
        """
from gather_infer import RuleSet, SymbolicTensor
rules = RuleSet("")

@rules.rule("Gather")
def gather(op):
    return [SymbolicTensor(None, (op.attr("axis") + "1",))]
""",
        rf"error: mine.py:7: {RULE}: TypeError: .*\n",
    ),
    "no list": (
        """
from gather_infer import RuleSet
rules = RuleSet("")
rules.rule("Gather")(lambda op: 3)
""",
        rf"error: mine.py: {RULE} must return a list of facts, returns int\n",
    ),
    "no text": ("x = 1\0", r"error: --rules mine.py: not Python: .*null bytes\n"),
    "another language": ("<html>", r"error: mine.py:1: invalid syntax\n"),
    "nothing": ("x = 1\n", r"error: --rules mine.py: defines no RuleSet at module level\n"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_rules_file_that_fails_is_not_our_fault(case: str, run: Run) -> None:
    source, message = FAULTY[case]
    Path("mine.py").write_text(source)
    result = run("infer", "embedding.onnx", "--rules", "mine.py")
    assert result.exit_code == 2
    assert re.fullmatch(message, result.stderr)


@pytest.mark.parametrize("name", ["embedding.onnx", "rules.zip", "fixtures/bert-dynamo.onnx"])
def test_rules_that_are_no_python(name: str, run: Run) -> None:
    with zipfile.ZipFile("rules.zip", "w") as archive:  # Python would run it
        archive.writestr("__main__.py", "raise AssertionError('was run')")
    result = run("infer", "embedding.onnx", "--rules", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: --rules {name}: not Python: ")


HEAD = """
from gather_infer import Rewrite, RewriteSet, Match
rules = RewriteSet()

@rules.rewrites("Gather")
def mine(match: Match):
    """
AT = "rewrite mine of /place/Gather"
FAULTY_REWRITES = {
    # id: (what the rule does, the message)
    "raises": ('return {}["x"]', rf"mine.py:7: {AT}: KeyError: 'x'"),
    "asks wrongly": ("return match.replace_with('law', 1, 2, 3)", rf"mine.py:7: {AT}: 3 values for the 1 .*"),
    "exit": ("raise SystemExit(0)", rf"mine.py:7: {AT}: exits the program, which rules must not do"),
    "a list": ("return []", rf"mine.py: {AT} must return a Rewrite or None, returns list"),
    "a number for a name": (
        "return Rewrite(law='', values={match.output(): 3})", rf"mine.py: {AT} must map names to names in values, .*",
    ),
    "no node": (
        "return Rewrite(law='', values={match.output(): 'n'}, nodes=('n',))",
        rf"mine.py: {AT} must have NodeProtos in nodes, has \('n',\)",
    ),
    "no values": ("return Rewrite(law='', values=3)", rf"mine.py: {AT} must map names to names in values, has 3"),
    "what is not there": (
        "return Rewrite(law='', values={match.output(): 'n'})", rf"mine.py: {AT} reads n, which is not defined",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTY_REWRITES)
def test_a_rewrite_that_fails_is_not_our_fault(case: str, run: Run) -> None:
    does, message = FAULTY_REWRITES[case]
    Path("mine.py").write_text(HEAD + does)
    result = run("optimize", "embedding.onnx", "--rewrites", "mine.py", "-o", "out.onnx")
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(f"error: {message}\n", result.stderr)
    assert not Path("out.onnx").exists()
    found = run("optimize", "embedding.onnx", "--rewrites", "mine.py", "--dry-run", "--debug")
    assert found.exit_code == 2 and "Traceback" in found.stderr


def test_our_own_fault_is_exit_4_with_a_line_to_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("an invariant\nin words")

    monkeypatch.setattr("gather_infer.model.model_loading.to_model_file", broken)
    result = run("inspect", "embedding.onnx")
    assert (result.exit_code, result.stdout) == (4, "")
    assert re.fullmatch(r"error: .*: AssertionError: an invariant in words \[.*:\d+\]\n", result.stderr)
    assert "Traceback" in run("inspect", "embedding.onnx", "--debug").stderr


def test_an_interrupt_is_exit_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gather_infer.model.model_loading.to_model_file", interrupt)
    result = run("inspect", "embedding.onnx")
    assert result.exit_code == 130
    assert result.stderr.strip() == "error: interrupted"
