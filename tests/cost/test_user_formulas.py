"""Formulas of the caller: which one counts, what they may say, and what is a fault of theirs."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from gather_infer import RuleSet, SpecViolation, SymbolicTensor, UsageError, infer
from gather_infer.cost import CostUnknown, Work
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, symbol
from tests.cli.conftest import Run, run  # noqa: F401

HEAD = '<ir_version: 9, opset_import: ["": 18, "mine": 1, "local": 1]> '
B, N = symbol("B"), symbol("N")
MIXED = (
    "g (float[B, N] x) => (float[B, N] y) "
    "{ a = mine.Mix <width = 3> (x) b = MatMul (a, a) y = mine.Mix <width = 5> (b) }"
)
FILE = """
from gather_infer import OpCall, RuleSet, SymbolicTensor
from gather_infer.cost import Work

rules = RuleSet("mine")


@rules.rule("Mix")
def mix(op: OpCall) -> list[SymbolicTensor]:
    return [op.tensor(0)]


@rules.macs("Mix", text="elements * width", source="https://mine.example/mix")
def mix_macs(work: Work):
    return work.output_elements() * work.integer("width")
"""


def text_model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


def same(op: OpCall) -> list[SymbolicTensor]:
    return [op.tensor(0)]


def rules_with(formula: object, *, domain: str = "mine", op_type: str = "Mix") -> RuleSet:
    rules = RuleSet(domain)
    if domain == "mine":
        rules.rule(op_type)(same)
    rules.macs(op_type, text="mine")(formula)  # type: ignore[type-var] # formulas that give what they may not are tried too
    return rules


def by_width(work: Work) -> Dim:
    return work.output_elements() * work.integer("width", 1)


def test_the_number_is_that_of_the_formula_at_each_node() -> None:
    """x [B, N] of widths 3 and 5, and a product [B, N] @ [B, N], for which N is B."""
    cost = infer(text_model(MIXED), rules=[rules_with(by_width)]).cost()
    for size in (0, 1, 2, 7):
        at = cost.at(B=size, N=size)
        assert [node.macs for node in at.nodes] == [3 * size * size, size**3, 5 * size * size]
        assert at.macs == 8 * size * size + size**3
    assert cost.is_exact("macs")
    assert [node.formula for node in cost.nodes if node.op_type == "Mix"] == ["mine", "mine"]


def test_without_a_formula_the_operator_is_named() -> None:
    rules = RuleSet("mine")
    rules.rule("Mix")(same)
    cost = infer(text_model(MIXED), rules=[rules]).cost()
    assert [gap.reason for gap in cost.unknown_contributions if gap.quantity == "macs"] == [
        "mine.Mix has no formula"
    ] * 2


def test_a_formula_of_the_caller_counts_before_ours() -> None:
    model = text_model("g (float[B, 4] x, float[4, 2] w) => (float[B, 2] y) { y = MatMul (x, w) }")
    assert infer(model).cost().macs == 8 * B
    mine = rules_with(lambda work: work.output_elements(), domain="", op_type="MatMul")
    assert infer(model, rules=[mine]).cost().macs == 2 * B
    other = rules_with(lambda work: 0, domain="", op_type="MatMul")
    assert infer(model, rules=[RuleSet(""), mine, other]).cost().macs == 2 * B, "the first one that has it"


def test_a_function_of_the_model_costs_what_its_body_does() -> None:
    model = text_model(
        "g (float[B, 4] x, float[4, 2] w) => (float[B, 2] y) { y = local.Mix (x, w) } "
        '<domain: "local", opset_import: ["": 18]> Mix (a, b) => (c) { c = MatMul (a, b) }'
    )
    mine = rules_with(lambda work: 1, domain="local")
    assert infer(model, rules=[mine]).cost().macs == 8 * B


def test_in_the_body_of_a_loop_it_counts_for_each_round() -> None:
    model = text_model(
        """g (float[B, 3] x) => (float[B, 3] y) <int64 five = {5}, bool yes = {1}> {
            y = Loop (five, yes, x) <body = body (int64 i, bool c, float[B, 3] s) => (bool d, float[B, 3] t)
                { d = Identity (c) t = mine.Mix <width = 2> (s) }> }"""
    )
    assert infer(model, rules=[rules_with(by_width)]).cost().macs == 5 * 2 * 3 * B


def untold(work: Work) -> Dim:
    raise CostUnknown("not of this")


def violating(work: Work) -> Dim:
    raise SpecViolation("width must be even")


def of_another_rank(work: Work) -> Dim:
    return work.shape(0, 3)[0]


UNKNOWN = {
    "untold": (untold, "not of this"),
    "a violation": (violating, "width must be even"),
    "another rank": (of_another_rank, "input 0 has rank 2 instead of 3"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_left_out_with_the_reason(name: str) -> None:
    formula, why = UNKNOWN[name]
    cost = infer(text_model(MIXED), rules=[rules_with(formula)]).cost()
    assert [gap.reason for gap in cost.unknown_contributions if gap.quantity == "macs"] == [why] * 2
    assert not cost.is_exact("macs")


WRONG = {
    "a float": (lambda work: 1.5, "must return a number >= 0 or an expression, returns 1.5"),
    "a negative number": (lambda work: -1, "returns -1"),
    "nothing": (lambda work: None, "returns None"),
    "a truth value": (lambda work: True, "returns True"),
    "an index": (lambda work: work.shape(0)[5], "the formula of mine.Mix at node Mix#0: IndexError: "),
}


@pytest.mark.parametrize("name", WRONG)
def test_faults_of_a_formula_name_its_file(name: str) -> None:
    formula, message = WRONG[name]
    inference = infer(text_model(MIXED), rules=[rules_with(formula)])
    with pytest.raises(UsageError) as caught:
        inference.cost()
    assert message in str(caught.value)
    assert __file__ in str(caught.value)


def test_a_formula_is_given_once() -> None:
    rules = rules_with(by_width)
    with pytest.raises(ValueError, match="the multiply-adds of mine Mix are counted twice"):
        rules.macs("Mix", text="again")(by_width)
    other = rules_with(by_width, op_type="Other")
    rules.update(other)
    assert rules.macs_formula("Other") is not None
    again = RuleSet("mine")
    again.macs("Other", text="again")(by_width)
    with pytest.raises(ValueError, match="counted twice"):
        rules.update(again)


def test_what_an_own_operator_picks_it_reads() -> None:
    """As Gather: of a table of 1000 rows what it gives, and the indices."""
    rules = RuleSet("mine")

    @rules.rule("Rows", addresses={1: 0}, gathers=True)
    def rows(op: OpCall) -> list[SymbolicTensor]:
        table, ids = op.tensor(0), op.tensor(1)
        assert table.shape is not None and ids.shape is not None
        return [SymbolicTensor(table.dtype, (*ids.shape, *table.shape[1:]))]

    model = text_model("g (float[1000, 8] t, int64[N] i) => (float[N, 8] y) { y = mine.Rows (t, i) }")
    assert infer(model, rules=[rules]).cost().reads == 4 * 8 * N + 8 * N


def test_on_the_command_line(run: Run) -> None:  # noqa: F811
    """Text, JSON and Python say the same."""
    Path("mix.py").write_text(FILE)
    onnx.save(text_model("g (float[B, N] x) => (float[B, N] y) { y = mine.Mix <width = 3> (x) }"), "mix.onnx")
    without = run("cost", "mix.onnx")
    assert "macs          at least 0" in without.stdout
    result = run("cost", "mix.onnx", "--rules", "mix.py", "-v")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "  macs          3*B*N\n" in result.stdout
    assert "elements * width" in result.stdout
    found = json.loads(run("cost", "mix.onnx", "--rules", "mix.py", "--format", "json").stdout)
    assert found["macs"] == "3*B*N"
    (row,) = found["operators"]
    assert (row["formula"], row["source"]) == ("elements * width", "https://mine.example/mix")
    Path("mix.py").write_text(FILE.replace('work.integer("width")', "work.nothing"))
    broken = run("cost", "mix.onnx", "--rules", "mix.py")
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert broken.stderr.startswith("error: mix.py:15: the formula of mine.Mix at node Mix#0: AttributeError: ")
