"""Provenance through operators of another domain, by the traits of their rules."""

from __future__ import annotations

import pytest

from gather_infer import OpCall, RuleSet, infer
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.validate import Elements, VerdictKind, verdicts
from tests.inference.models import model
from tests.inference.provenance_runs import HEAD, ROWS


def test_an_operator_of_another_domain_is_not_followed() -> None:
    """Whatever it is called: only the rule of the caller knows what `local.Range` is."""
    rules = RuleSet("local")

    @rules.rule("Range")
    def anything(op: OpCall) -> list[SymbolicTensor]:
        return [SymbolicTensor(DType.INT64, (op.fresh("it depends on data"),))]

    body = f"(float[{ROWS}, 2] table, float[N] scores) => (z) {{ {HEAD.partition('a = ')[0]} y = local.Range(zero, nine, one) z = Gather(table, y) }}"
    inference = infer(model(body, domains=', "local": 1'), rules=[rules])
    assert inference["y"].value_range is None
    assert verdicts(inference)[-1].kind is VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    ("moves", "permutes", "said"),
    [(None, False, "undecided"), (0, False, "undecided"), (1, False, "-9 <= x < 9"), (1, True, "-9 <= x < 9")],
)
def test_an_operator_of_another_domain_is_followed_where_it_moves(moves: int | None, permutes: bool, said: str) -> None:
    """`local.Turn` returns elements of x, and of nothing else; x itself is an input of the graph."""
    rules = RuleSet("local")

    @rules.rule("Turn", moves=moves, permutes=permutes)
    def turn(op: OpCall) -> list[SymbolicTensor]:
        return [SymbolicTensor(DType.INT64, op.tensor(1).shape)]

    body = f"(float[{ROWS}, 2] table, int64[N] x, int64[M] other) => (z) {{ q = Mul(other, other) y = local.Turn(q, x) z = Gather(table, y) }}"
    inference = infer(model(body, domains=', "local": 1'), rules=[rules])
    verdict = verdicts(inference)[-1]
    assert (verdict.condition or str(verdict.kind)) == said
    whole = [c.left.whole for c in verdict.conditions if isinstance(c.left, Elements)]
    assert whole == ([permutes, permutes] if moves == 1 else [])


@pytest.mark.parametrize("dtype", [DType.INT64, DType.FLOAT32, DType.BOOL])
def test_what_moves_may_be_left_out(dtype: DType) -> None:
    rules = RuleSet("local")
    rules.rule("Turn", moves=1, permutes=True)(lambda op: [SymbolicTensor(dtype, op.tensor(0).shape)])
    inference = infer(model("(int64[N] x) => (y) { y = local.Turn(x) }", domains=', "local": 1'), rules=[rules])
    assert inference["y"] == SymbolicTensor(dtype, inference["x"].shape)


def test_floats_are_followed_through_an_operator_of_another_domain() -> None:
    rules = RuleSet("local")
    rules.rule("Turn", moves=0, permutes=True)(lambda op: [SymbolicTensor(DType.FLOAT32, op.tensor(0).shape)])
    nodes = "c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) r = {} (q) y = Cast<to = 7>(r) z = Gather(table, y)"
    head = HEAD.partition("a = ")[0]
    for turn in ("local.Turn", "Transpose"):
        body = f"(float[{ROWS}, 2] table, int64[N] x) => (z) {{ {head} {nodes.format(turn)} }}"
        inference = infer(model(body, domains=', "local": 1'), rules=[rules])
        assert verdicts(inference)[-1].kind is VerdictKind.PROVED, turn


def test_a_rule_of_the_caller_leaves_an_operator_what_it_is() -> None:
    """It is the same Reshape, whoever has written its rule."""
    rules = RuleSet("")
    rules.rule("Reshape")(lambda op: [SymbolicTensor(DType.INT64, (op.tensor(0).shape or (0,))[:1])])
    body = f"(float[{ROWS}, 2] table, int64[N] x) => (z) {{ {HEAD.partition('a = ')[0]} y = Reshape(x, all) z = Gather(table, y) }}"
    verdict = verdicts(infer(model(body), rules=[rules]))[-1]
    assert verdict.condition == "-9 <= x < 9"
    assert all(c.left.whole for c in verdict.conditions if isinstance(c.left, Elements))


def test_counts_are_kept_by_what_permutes_only() -> None:
    """NonZero(m) has as many columns as ReduceSum(m) says; what may leave elements out says nothing of the sum."""
    for permutes in (True, False):
        rules = RuleSet("local")
        rules.rule("Turn", moves=0, permutes=permutes)(lambda op: [SymbolicTensor(DType.INT64, op.tensor(0).shape)])
        body = "(bool[N] m) => (n, s) { n = NonZero(m) c = Cast<to = 7>(m) t = local.Turn(c) s = ReduceSum<keepdims = 0>(t) }"
        inference = infer(model(body, domains=', "local": 1'), rules=[rules])
        n, s = inference["n"], inference["s"]
        assert isinstance(n, SymbolicTensor) and isinstance(s, SymbolicTensor) and n.shape is not None
        assert (s.only_element == n.shape[1]) is permutes
