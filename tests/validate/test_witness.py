"""Conditions on sizes and their witnesses: onnxruntime fails at the witness, and passes exactly where they hold."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from onnx import ModelProto

from gather_infer import infer
from gather_infer.symbolic import Scope, evaluate, maximum, minimum, symbol
from gather_infer.validate import Elements, VerdictKind, verdicts
from gather_infer.validate.condition import NEVER, difference, nonnegative_conditions
from tests.inference.models import model
from tests.validate.access_models import Runner

HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() two = Constant<value_int = 2>()
    four = Constant<value_int = 4>() twelve = Constant<value_int = 12>()
    sa = Shape(a) n = Squeeze(sa) sb = Shape(b) m = Squeeze(sb)"""
CONDITIONS: dict[str, Any] = {
    # id:                     (nodes that make the index i, rows of the table, the witness)
    "a size":                 ("i = Range(zero, n, one)", 9, "N = 10"),
    "a size down":            ("l = Neg(n) j = Sub(zero, one) i = Range(zero, l, j)", 9, "N = 11"),
    "a square":               ("l = Mul(n, n) i = Range(zero, l, one)", 9, "N = 4"),
    "a cube":                 ("k = Mul(n, n) l = Mul(k, n) i = Range(zero, l, one)", 9, "N = 3"),
    "a square less a size":   ("k = Mul(n, n) l = Sub(k, n) i = Range(zero, l, one)", 9, "N = 4"),
    "a product":              ("l = Mul(n, m) i = Range(zero, l, one)", 9, "M = 10, N = 1"),
    "a sum":                  ("l = Add(n, m) i = Range(zero, l, one)", 9, "M = 9, N = 1"),
    "twice a size":           ("l = Mul(n, two) i = Range(zero, l, one)", 9, "N = 5"),
    "half a size":            ("l = Div(n, two) i = Range(zero, l, one)", 9, "N = 20"),
    "a remainder":            ("i = Mod(n, twelve)", 9, "N = 9"),
    "rows by name":           ("i = Range(zero, n, one)", "V", "N = 2, V = 1"),
    "a number and rows":      ("i = Identity(four)", "V", "V = 4"),
    "a number from the end":  ("i = Neg(four)", "V", "V = 3"),
    "one size":               ("i = Sub(n, four)", 9, "N = 13"),
    "below 0":                ("i = Sub(four, n)", 9, "N = 14"),
    "a difference":           ("i = Sub(n, m)", 9, "M = 11, N = 1"),
    "the greater":            ("i = Max(n, m)", 9, "M = 9"),
    "a square or less":       ("k = Mul(n, n) l = Sub(k, n) o = Sub(l, n) i = Range(zero, o, one)", 9, "N = 5"),
    "a square of a difference": ("d = Sub(n, four) l = Mul(d, d) i = Range(zero, l, one)", 9, "N = 0"),
    "the smaller":            ("i = Min(n, m)", 9, ""),
}  # fmt: skip
SIZES = (1, 2, 3, 4, 5, 8, 9, 10, 11, 13, 14, 19, 20, 24)


def proto_of(nodes: str, rows: int | str) -> ModelProto:
    return model(f"(float[{rows}, 2] table, float[N] a, float[M] b) => (y) {{ {HEAD} {nodes} y = Gather(table, i) }}")


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_witness_fails_and_the_condition_is_tight(name: str) -> None:
    nodes, rows, example = CONDITIONS[name]
    proto = proto_of(nodes, rows)
    verdict = verdicts(infer(proto, assume=False))[-1]
    assert verdict.kind is VerdictKind.CONDITIONAL
    assert verdict.example == example
    runner = Runner(proto, 1)
    if verdict.witness:
        sizes = {"N": 1, "M": 1, "V": 1, **{n: evaluate(size, {}) for n, size in verdict.witness}}
        assert not runner.passes(sizes)
    names = sorted({"N", "M"} | ({"V"} if rows == "V" else set()))
    for chosen in itertools.islice(itertools.product(SIZES, repeat=len(names)), 0, None, len(names) ** 3):
        sizes = dict(zip(names, chosen, strict=True))
        conditions = [c for c in verdict.conditions if not isinstance(c.left, Elements)]
        assert runner.passes(sizes) == all(evaluate(difference(c), sizes) >= 0 for c in conditions), sizes


def test_an_access_to_data_of_unknown_rank_is_undecided() -> None:
    proto = model("(float[N] x, int64[K] shape, int64[M] ids) => (y) { d = Reshape(x, shape) y = Gather(d, ids) }")
    verdict = verdicts(infer(proto))[-1]
    assert (verdict.kind, verdict.reason) == (VerdictKind.UNDECIDED, "the rank of data is not known")


ALLOWED: dict[str, Any] = {
    # id:                          (what is said of the sizes, more nodes, nodes that make the index, the witness)
    "the other where one is few":  (["M=0..5"], "", "l = Add(n, m) i = Range(zero, l, one)", "N = 9, M = 1"),
    "none where both are few":     (["M=0..5", "N=0..5"], "", "l = Add(n, m) i = Range(zero, l, one)", ""),
    "the least that is allowed":   (["M=4.."], "", "l = Add(n, m) i = Range(zero, l, one)", "M = 9, N = 1"),
    "the other at its least":      (["M=4..7"], "", "l = Add(n, m) i = Range(zero, l, one)", "N = 6, M = 4"),
    "none that a node forbids":    ([], "most, at = TopK(b, sa)", "l = Mul(n, two) k = Sub(l, m) i = Max(k, zero)", ""),
    "one that a node allows":      ([], "most, at = TopK(b, sa)", "i = Sub(m, n)", "M = 10, N = 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_a_witness_is_a_legal_size(name: str) -> None:
    """It is in the bounds that are declared, and no node but the access fails at it."""
    dims, more, nodes, example = ALLOWED[name]
    proto = proto_of(f"{more} {nodes}", 9)
    verdict = verdicts(infer(proto, dims=dims, assume=False))[-1]
    assert verdict.kind is VerdictKind.CONDITIONAL
    assert verdict.example == example
    sizes = {n: evaluate(size, {}) for n, size in verdict.witness}
    if sizes:
        assert not Runner(proto, 1).passes(sizes)
        ahead = proto_of(f"{more} i = Identity(zero)", 9)
        assert Runner(ahead, 1).passes(sizes)


def test_what_always_holds_is_no_condition() -> None:
    n, m = symbol("N"), symbol("M")
    scope = Scope()
    scope.add_fact(n - 2)
    for always in (m, n, n - 2, n - 1, n + m - 2, 0, 3, maximum(m, 5), minimum(n - 2, m)):
        assert list(nonnegative_conditions(always, scope)) == [], always
    for never in (-1, -m - 1, 1 - n, minimum(m - 5, 1 - n)):
        assert NEVER in nonnegative_conditions(never, scope), never
    assert [str(c) for c in nonnegative_conditions(n - 3, scope)] == ["N >= 3"]
    assert [str(c) for c in nonnegative_conditions(minimum(2 * n - 7, 9 - m), scope)] == ["N >= 4", "M <= 9"]
    assert next(nonnegative_conditions(4 - 3 * maximum(n, m), scope)) == NEVER
