"""A rule that checks a clause on known sizes also requires it of symbolic sizes: `OpCall.require` does both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gather_infer.ops
from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.symbolic import known_le, symbol

OPS = Path(gather_infer.ops.__file__).parent
QUESTIONS = {"known_eq", "known_le", "known_lt"}
A, B = symbol("A"), symbol("B")

BESIDE = {
    # function that queries the scope and raises: the place of the constraint for symbolic sizes
    "broadcast_dim": "below, in as few words as the dims allow",
    "reshaped": "below, unless the answer rests on an assumption: then nothing is broken",
    "_require_position": "the verdict on the access",
}


def raising(tree: ast.Module) -> Iterator[str]:
    """The functions with a branch that raises if a query of the scope about sizes succeeds."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for branch in ast.walk(function):
                if isinstance(branch, ast.If) and any(isinstance(s, ast.Raise) for s in branch.body):
                    called = {n.func.id for n in ast.walk(branch.test)
                              if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}  # fmt: skip
                    if called & QUESTIONS:
                        yield function.name


def test_checked_clauses_are_also_required_of_symbols() -> None:
    found = {name for path in OPS.rglob("*.py") for name in raising(ast.parse(path.read_text(encoding="utf-8")))}
    assert found == set(BESIDE), "let `op.require` do both"


def test_a_check_without_a_constraint_is_found() -> None:
    text = "def rule(op):\n    if known_le(k, dim, op.scope) is False:\n        raise SpecViolation('')\n"
    assert list(raising(ast.parse(text))) == ["rule"]


def test_a_clause_is_checked_of_numbers() -> None:
    context = Context()
    context.require((1, "<=", 2), otherwise="no")
    context.require((1, "==", 2), (2, "==", 2), otherwise="no")
    with pytest.raises(SpecViolation, match=r"^no$") as raised:
        context.require((1, "==", 2), (3, "<=", 2), otherwise=lambda: "no", code="GI212")
    assert raised.value.code == "GI212"
    assert not context.constraints and not list(context.trail.all(object))


def test_a_clause_is_required_of_symbols() -> None:
    context = Context()
    context.require((3, "<=", A), otherwise="no")
    context.require((A, "==", B), otherwise="no")
    context.require((B, "==", 1), (B, "==", 5), (7, "<=", 2), otherwise="no")
    assert [str(entry) for entry in context.trail.all(object)] == ["3 <= A", "A == B", "B == 1 or B == 5"]
    assert known_le(3, A, context.scope) is True


def test_what_a_runtime_refuses_is_not_learnt() -> None:
    context = Context()
    context.add_runtime_constraint((3, "<=", A))
    assert [str(entry) for entry in context.trail.all(object)] == ["3 <= A"]
    assert known_le(3, A, context.scope) is None
