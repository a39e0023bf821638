"""Accesses that are in bounds under a condition, and how conditions are reduced."""

from __future__ import annotations

import onnx
import pytest

import gather_infer
from gather_infer.symbolic import Scope, symbol
from gather_infer.validate import Condition, Elements, VerdictKind, verdicts
from gather_infer.validate.condition import minimal
from tests.validate.checked_bounds import MINUS, ONE, ZERO, judged, last

CONDITIONAL = {
    # id: (inputs, body, constants, condition, witness)
    "an input": ("float[9] x, int64[N] i", "y = Gather (x, i)", "", "-9 <= i < 9", "i = 9"),
    "symbolic rows": ("float[V] x, int64[N] i", "y = Gather (x, i)", "", "-V <= i < V", "i = V"),
    "moved input": (
        "float[9] x, int32[N, 2] i",
        "a = Transpose (i) b = Cast <to = 7> (a) c = Reshape (b, s) y = Gather (x, c)",
        "int64[1] s = {-1}",
        "-9 <= i < 9",
        "i = 9",
    ),
    "some of an input": (
        "float[9] x, int64[N] i",
        "a = Slice (i, s, e) y = Gather (x, a)",
        "int64[1] s = {1}, int64[1] e = {3}",
        "-9 <= i < 9",
        "i = 9",
    ),
    "an input where it is not padding": (
        "float[9] x, int64[N] i",
        "p = Equal (i, minus) a = Where (p, zero, i) y = Gather (x, a)",
        f"{ZERO}, {MINUS}",
        "-9 <= i < 9",
        "i = 9",
    ),
    "an input where it is not negative": (
        "float[9] x, int64[N] i",
        "p = Less (i, zero) a = Where (p, zero, i) y = Gather (x, a)",
        ZERO,
        "i < 9",
        "i = 9",
    ),
    "two inputs": (
        "float[9] x, int64[2] i, int64[3] j",
        "a = Concat <axis = 0> (i, j, k) y = Gather (x, a)",
        "int64[1] k = {8}",
        "-9 <= i < 9 and -9 <= j < 9",
        "i = 9",
    ),
    "shifted input": (
        "float[9] x, int64[N] i",
        "a = Sub (i, one) y = Gather (x, a)",
        ONE,
        "-8 <= i < 10",
        "i = 10",
    ),
    "input from 0 on": (
        "float[9] x, int64[N] i",
        "a = Max (i, zero) y = Gather (x, a)",
        ZERO,
        "i < 9",
        "i = 9",
    ),
    "uint8 input": ("float[9] x, uint8[N] i", "a = Cast <to = 7> (i) y = Gather (x, a)", "", "i < 9", "i = 9"),
    "negative made positive": (
        "float[9] x, int64[N] i",
        "c = Less (i, zero) d = Add (i, n) j = Where (c, d, i) y = Gather (x, j)",
        f"{ZERO}, int64 n = {{9}}",
        "-18 <= i < 9",
        "i = 9",
    ),
    "through a function's branch": (
        "bool c, float[9] t, int64[9] i",
        "y = If (c) <then_branch = a () => (u) { u = Gather (t, i) }, else_branch = b () => (v) { v = Identity (t) }>",
        "",
        "-9 <= i < 9",
        "i = 9",
    ),
    "columns of an input": (
        "float[3, 4] x, int64[N, 2] i",
        "y = GatherND (x, i)",
        "",
        "-3 <= i[..., 0] < 3 and -4 <= i[..., 1] < 4",
        "i[..., 0] = 3",
    ),
    "GatherElements": (
        "float[3, 4] x, int64[3, N] i",
        "y = GatherElements <axis = 1> (x, i)",
        "",
        "-4 <= i < 4",
        "i = 4",
    ),
    "positions": (
        "float[512, 8] t, int64[N, S] ids",
        "n = Shape <start = 1, end = 2> (ids) s = Squeeze (n) i = Range (zero, s, one) y = Gather (t, i)",
        f"{ZERO}, {ONE}",
        "S <= 512",
        "S = 513",
    ),
    "positions after a past": (
        "float[48, 8] t, int64[S] ids, float[P] past",
        "a = Shape (ids) b = Shape (past) c = Add (a, b) s = Squeeze (b) e = Squeeze (c) "
        "i = Range (s, e, one) j = Unsqueeze (i, z) y = Gather (t, j)",
        f"{ONE}, int64[1] z = {{0}}",
        "P + S <= 48",
        "P = 48, S = 1",
    ),
    "constant on a symbolic axis": ("float[N] x", "y = Gather (x, i)", "int64 i = {5}", "N >= 6", "N = 5"),
    "the last": ("float[N] x", "y = Gather (x, minus)", MINUS, "N >= 1", "N = 0"),
    "the same index twice: the first": (
        "float[N] x",
        "a = Gather (x, i) b = Gather (x, i) y = Add (a, b)",
        "int64 i = {5}",
        "N >= 6",
        "N = 5",
    ),
    "a later slice that is as long": (
        "float[N] x",
        "s = Slice (x, a, b) y = Gather (s, i)",
        "int64[1] a = {0}, int64[1] b = {6}, int64 i = {5}",
        "N >= 6",
        "N = 5",
    ),
}


@pytest.mark.parametrize("case", CONDITIONAL)
def test_conditional(case: str) -> None:
    *model, condition, witness = CONDITIONAL[case]
    found = judged(*model)[0]
    assert found.kind is VerdictKind.CONDITIONAL, found
    assert (found.condition, found.example) == (condition, witness)


def test_an_access_does_not_prove_itself_in_a_second_pass() -> None:
    """A fact that a node implies simplifies sizes before it: `min(N, 6)` becomes 6."""
    inputs, body = "float[N] x, float[M] z", "s = Slice (x, a, b) r = Gather (s, i) q = Reshape (z, t) y = Mul (q, r)"
    given = "int64[1] a = {0}, int64[1] b = {6}, int64 i = {5}, int64[2] t = {0, -1}"
    (found,) = judged(inputs, body, given)
    assert found.kind is VerdictKind.CONDITIONAL
    assert found.example == "N = 5"


def test_a_declared_bound_proves() -> None:
    inputs, body = "float[512, 8] t, int64[N, S] ids", (
        "n = Shape <start = 1, end = 2> (ids) s = Squeeze (n) i = Range (zero, s, one) y = Gather (t, i)"
    )  # fmt: skip
    given = f"{ZERO}, {ONE}"
    assert last(inputs, body, given, dims=("S=0..512",)).kind is VerdictKind.PROVED
    assert last(inputs, body, given, dims=("S=0..513",)).kind is VerdictKind.CONDITIONAL
    assert last(inputs, body, given, dims=("S=513..600",)).kind is VerdictKind.VIOLATED


POSITIONS_OF_N = "s = Shape (n) d = Gather (s, zero) r = Range (zero, d, one) y = Gather (x, r)"


REDUCED = {
    # id: (inputs, body, condition, dims)
    "the nearer end": ("float[9] x, float[5] t, int64[N] i", "y = Gather (x, i) z = Gather (t, i)", "-5 <= i < 5", ()),
    "what is declared": ("float[9] x, float[N] n", POSITIONS_OF_N, "", ("N=0..9",)),
    "of sizes": ("float[9] x, float[N] n", POSITIONS_OF_N, "N <= 9", ("N=0..10",)),
}  # fmt: skip


@pytest.mark.parametrize("case", REDUCED)
def test_conditions_are_reduced(case: str) -> None:
    inputs, body, condition, dims = REDUCED[case]
    found = last(inputs, body, f"{ZERO}, {ONE}", dims=dims)
    assert found.condition == condition


def test_conditions_of_two_parts_are_reduced() -> None:
    """Two clamps of one table: `seq <= 191 and seq <= 64` is `seq <= 64`."""
    scope = Scope()
    n = symbol("n")
    wide, narrow, loose = Condition(n, "<=", 191), Condition(n, "<=", 64), Condition(n, "<=", 32, tight=False)
    assert minimal([wide, narrow], scope) == (narrow,)
    assert minimal([wide, narrow, loose], scope) == (narrow, loose)
    assert minimal([loose, Condition(n, "<=", 64, tight=False)], scope) == (loose,)
    some = Elements("ids", whole=False)
    rows = [Condition(some, "<", 5), Condition(Elements("ids"), "<", 5), Condition(Elements("ids", 1), "<", 9)]
    assert minimal(rows, scope) == (rows[1],)


def test_conditions_are_structured() -> None:
    low, high = last("float[V] x, int64[N] i", "y = Gather (x, i)").conditions
    assert (low.left, low.relation, str(low.right)) == (Elements("i"), ">=", "-V")
    assert (high.left, high.relation, str(high.right)) == (Elements("i"), "<", "V")


def test_a_function_is_followed() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "f": 1]>
        g (float[9] x, int64[N] i) => (y) { a = f.move (i) y = f.pick (x, a) }
        <domain: "f", opset_import: ["": 17]> move (i) => (o) { o = Identity (i) }
        <domain: "f", opset_import: ["": 17]> pick (x, i) => (o) { o = Gather (x, i) }
    """)
    (found,) = verdicts(gather_infer.infer(model))
    assert (str(found.access.node), found.condition) == ("pick#1/Gather#0", "-9 <= i < 9")
