# ruff: noqa: E501  (models as text)
"""Branches of an If that do the same, that no run takes, or that require the same of sizes in both models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gather_infer import diff
from gather_infer.equality import DiffVerdict
from tests.equality.runs import are_equal, outputs_of
from tests.verification.models import model

INPUTS = "(float[N, M] x, float[N, M] w, int64 i, bool p, bool q) => ({}) <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] end = {{9223372036854775807}}>"
IF = "{} = If({})<then_branch = g{} () => ({}) {{ {} }}, else_branch = h{} () => ({}) {{ {} }}>"


def branches(outputs: str, condition: str, then: tuple[str, str], other: tuple[str, str], number: int = 0) -> str:
    return IF.format(outputs, condition, number, then[0], then[1], number, other[0], other[1])


SIZE = "n = Size(x) k = Constant<value = int64 {6}>() c = Less(n, k)"
SOFT = ("a", "s = Softmax<axis=1>(x) a = Relu(s)")
SOFT_AGAIN = ("b", "u = Softmax<axis=-1>(x) b = Relu(u)")
TO_77 = "t = Constant<value = int64[2] {7, 11}>()"

EQUAL: dict[str, tuple[str, str]] = {
    "equal branches of calls": (
        "y = Softmax<axis=1>(x)",
        branches("y", "p", ("a", "a = Softmax<axis=1>(x)"), ("b", "b = Softmax<axis=1>(x)")),
    ),
    "equal branches, in another order": (
        "y = Tanh(x) d = Softmax<axis=1>(w) z = Add(y, d)",
        branches("y, z", "p", ("a, e", "a = Tanh(x) s = Softmax<axis=1>(w) e = Add(a, s)"), ("b, f", "r = Softmax<axis=1>(w) b = Tanh(x) f = Add(b, r)")),
    ),
    "equal branches that require something of sizes": (
        f"{TO_77} y = Reshape(x, t)",
        f"{TO_77} {branches('y', 'p', ('a', 'a = Reshape(x, t)'), ('b', 'b = Reshape(x, t)'))}",
    ),
    "equal branches under a condition on sizes": (
        "y = Softmax<axis=1>(x)", f"{SIZE} {branches('y', 'c', ('a', 'a = Softmax<axis=1>(x)'), ('b', 'b = Softmax<axis=1>(x)'))}",
    ),
    "a Loop in equal branches": (
        "y = Loop(i, , x)<body = l (int64 j, bool k, float[N, M] s) => (bool k2, float[N, M] s2) { k2 = Identity(k) s2 = Softmax<axis=1>(s) }>",
        branches("y", "p", ("a", "a = Loop(i, , x)<body = l1 (int64 j1, bool k1, float[N, M] s1) => (bool k12, float[N, M] s12) { k12 = Identity(k1) s12 = Softmax<axis=1>(s1) }>"), ("b", "b = Loop(i, , x)<body = l2 (int64 j2, bool k2, float[N, M] s2) => (bool k22, float[N, M] s22) { k22 = Identity(k2) s22 = Softmax<axis=1>(s2) }>")),
    ),
    "a Loop in a branch that is taken": (
        "y = Loop(i, , x)<body = l (int64 j, bool k, float[N, M] s) => (bool k2, float[N, M] s2) { k2 = Identity(k) s2 = Softmax<axis=1>(s) }>",
        "t = Constant<value = bool {1}>() " + branches("y", "t", ("a", "a = Loop(i, , x)<body = l1 (int64 j1, bool k1, float[N, M] s1) => (bool k12, float[N, M] s12) { k12 = Identity(k1) s12 = Softmax<axis=1>(s1) }>"), ("b", "b = Neg(x)")),
    ),
    "a branch requires the same of other values": (
        branches("y", "p", ("a", f"{TO_77} r = Reshape(x, t) a = Neg(r)"), ("b", "b = Exp(x)")),
        branches("y", "p", ("a", f"{TO_77} r = Neg(x) a = Reshape(r, t)"), ("b", "b = Exp(x)")),
    ),
    "a branch reads the same positions in another order": (
        branches("y", "p", ("a", "t = Constant<value = int64[2] {4, 2}>() a = Gather<axis=1>(x, t)"), ("b", "b = Exp(x)")),
        branches("y", "p", ("a", "t = Constant<value = int64[2] {2, 4}>() r = Gather<axis=1>(x, t) u = Constant<value = int64[2] {1, 0}>() a = Gather<axis=1>(r, u)"), ("b", "b = Exp(x)")),
    ),
    "branches that return one value in other ways": (
        "y = Neg(x)", branches("y", "p", ("a", "t = Transpose(x) n = Neg(t) a = Transpose(n)"), ("b", "b = Neg(x)")),
    ),
    "a branch does the same in another way": (
        branches("y", "p", ("a", "a = Neg(x)"), ("b", "b = Softmax<axis=1>(x)")),
        branches("y", "p", ("a", "t = Transpose(x) n = Neg(t) a = Transpose(n)"), ("b", "b = Softmax<axis=1>(x)")),
    ),
    "a branch that no run takes may fail": (
        "y = Neg(x)", f"n = Size(x) g = Equal(n, n) {branches('y', 'g', ('a', 'a = Neg(x)'), ('b', f'{TO_77} b = Reshape(x, t)'))}",
    ),
}  # fmt: skip

DIFFERENT: dict[str, tuple[str, str, dict[str, Any]]] = {
    # the nodes of both models, and what feeds are other than below
    "branches of another attribute": (
        "y = Softmax<axis=1>(x)", branches("y", "p", ("a", "a = Softmax<axis=1>(x)"), ("b", "b = Softmax<axis=0>(x)")), {},
    ),
    "branches with swapped operands": (
        "y = Sub(x, w)", branches("y", "p", ("a", "a = Sub(x, w)"), ("b", "b = Sub(w, x)")), {},
    ),
    "branches that return two values in other orders": (
        "y = Neg(x) z = Abs(x)", branches("y, z", "p", ("a, d", "a = Neg(x) d = Abs(x)"), ("b, e", "b = Abs(x) e = Neg(x)")), {},
    ),
    "branches that read other values": (
        "y = Softmax<axis=1>(x)", branches("y", "p", ("a", "a = Softmax<axis=1>(x)"), ("b", "b = Softmax<axis=1>(w)")), {},
    ),
    "branches of another constant": (
        "y = Concat<axis=0>(x, x)", branches("y", "p", ("a", "k = Constant<value = int64[2] {2, 1}>() a = Tile(x, k)"), ("b", "l = Constant<value = int64[2] {1, 2}>() b = Tile(x, l)")), {},
    ),
    "outputs of branches in the other order": (
        "y = Neg(x) z = Exp(x)", branches("y, z", "p", ("a, d", "a = Neg(x) d = Exp(x)"), ("b, e", "e = Neg(x) b = Exp(x)")), {},
    ),
    "Loops of branches with other bodies": (
        "y = Loop(i, , x)<body = l (int64 j, bool k, float[N, M] s) => (bool k2, float[N, M] s2) { k2 = Identity(k) s2 = Neg(s) }>",
        branches("y", "p", ("a", "a = Loop(i, , x)<body = l1 (int64 j1, bool k1, float[N, M] s1) => (bool k12, float[N, M] s12) { k12 = Identity(k1) s12 = Neg(s1) }>"), ("b", "b = Loop(i, , x)<body = l2 (int64 j2, bool k2, float[N, M] s2) => (bool k22, float[N, M] s22) { k22 = Identity(k2) s22 = Relu(s2) }>")), {},
    ),
    "inner branches of other conditions": (
        "y = If(q)<then_branch = a1 () => (a2) { a2 = Neg(x) }, else_branch = a3 () => (a4) { a4 = Exp(x) }>",
        branches("y", "p", ("a", "a = If(q)<then_branch = b1 () => (b2) { b2 = Neg(x) }, else_branch = b3 () => (b4) { b4 = Exp(x) }>"), ("b", "b = If(q)<else_branch = c1 () => (c2) { c2 = Neg(x) }, then_branch = c3 () => (c4) { c4 = Exp(x) }>")), {},
    ),
    "one branch of the first model requires what all runs of the second do": (
        branches("y", "p", ("a", f"{TO_77} a = Reshape(x, t)"), ("b", "b = Exp(x)")),
        f"{TO_77} q = Reshape(x, t) {branches('y', 'p', ('a', 'a = Reshape(x, t)'), ('b', 'b = Exp(x)'))}", {},
    ),
    "the other branch of the first model requires it": (
        branches("y, z", "p", ("a, d", f"{TO_77} a = Reshape(x, t) d = Neg(x)"), ("b, e", "b = Exp(x) e = Abs(x)")),
        branches("y, z", "p", ("a, d", f"{TO_77} a = Reshape(x, t) d = Neg(x)"), ("b, e", "b = Exp(x) t2 = Constant<value = int64[2] {7, 11}>() k = Reshape(x, t2) e = Abs(x)")), {},
    ),
    "another size is required": (
        branches("y", "p", ("a", "t = Constant<value = int64[1] {3}>() r = Gather<axis=1>(x, t) a = Neg(r)"), ("b", "b = Exp(x)")),
        branches("y", "p", ("a", "t = Constant<value = int64[1] {3}>() q = Neg(x) a = Gather<axis=1>(q, t) u = Constant<value = int64[1] {4}>() v = Gather<axis=1>(q, u)"), ("b", "b = Exp(x)")), {"p": True, "x": np.ones((2, 4)), "w": np.ones((2, 4))},
    ),
    "initializers of branches with one name": (
        "y = If(p)<then_branch = g () => (a) <float c = {2}> { a = Mul(x, c) }, else_branch = h () => (b) <float c = {3}> { b = Mul(x, c) }>",
        "y = If(p)<then_branch = g () => (a) <float c = {2}> { a = Mul(x, c) }, else_branch = h () => (b) <float c = {5}> { b = Mul(x, c) }>", {},
    ),
    "a branch that some runs take fails": (
        "y = Neg(x)", f"{SIZE} {branches('y', 'c', ('a', 'a = Neg(x)'), ('b', f'{TO_77} b = Reshape(x, t)'))}", {},
    ),
}  # fmt: skip

FEEDS: dict[str, Any] = {"x": np.arange(12).reshape(3, 4) - 5, "w": np.ones((3, 4)), "i": 1, "p": False, "q": False}
TRUE = {**FEEDS, "x": np.arange(77).reshape(7, 11), "w": np.ones((7, 11)), "p": True}


def pair_of(first: str, second: str) -> tuple[Any, Any]:
    outputs = "y, z" if " z = " in f" {first}" or "y, z" in first else "y"
    one, two = (model(f"{INPUTS.format(outputs)} {{ {text} }}") for text in (first, second))
    return one, two


@pytest.mark.parametrize("name", EQUAL)
def test_equal_and_proved(name: str) -> None:
    one, two = pair_of(*EQUAL[name])
    for feeds in (TRUE, {**TRUE, "p": False}):
        mine, its = outputs_of(one, feeds), outputs_of(two, feeds)
        assert mine is not None and its is not None and are_equal(mine, its)
    found = diff(one, two, runs=0, details=False)
    assert found.is_proved, (found.obligations, found.outputs)


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_and_not_proved(name: str) -> None:
    first, second, other = DIFFERENT[name]
    one, two = pair_of(first, second)
    feeds = {**FEEDS, **other}
    mine, its = outputs_of(one, feeds), outputs_of(two, feeds)
    assert mine is not None and (its is None or not are_equal(mine, its))
    assert diff(one, two, runs=0, details=False).verdict is DiffVerdict.UNKNOWN


def test_facts_of_one_branch_are_not_those_of_both() -> None:
    """Where a condition on sizes is true, a Reshape is known that is another one elsewhere."""
    text = "k = Constant<value = int64[1] {-1}>() a = Reshape(x, k)"
    one, two = pair_of(
        "k = Constant<value = int64[1] {-1}>() y = Reshape(x, k)",
        f"{SIZE} {branches('y', 'c', ('a', text), ('b', 'l = Constant<value = int64[1] {-1}>() b = Reshape(w, l)'))}",
    )
    assert diff(one, two, runs=0, details=False).verdict is DiffVerdict.UNKNOWN


def test_a_condition_of_several_elements_is_no_condition() -> None:
    """The If fails then, whatever its branches do."""
    text = "(float[N] x, bool[K] p) => (y) {{ {} }}"
    one = model(text.format("y = Neg(x)"))
    two = model(text.format(branches("y", "p", ("a", "a = Neg(x)"), ("b", "b = Neg(x)"))))
    feeds = {"x": [1.0], "p": [True, False]}
    assert outputs_of(one, feeds) is not None and outputs_of(two, feeds) is None
    found = diff(one, two, runs=0, details=False)
    assert found.verdict is DiffVerdict.UNKNOWN
    assert found.obligations == (
        "node If#0 of the second model has bodies that may fail",
        "node If#0 of the second model requires K == 1",
    )


def test_without_a_condition_nothing_is_proved() -> None:
    """The checker refuses such an If, and so does onnxruntime."""
    broken = model(
        "(float[N] x, bool p) => (float[N] y) { y = If(p)<then_branch = g () => (float[N] a) { a = Relu(x) }, else_branch = h () => (float[N] b) { b = Neg(x) }> }"
    )
    del broken.graph.node[0].input[:]
    assert diff(broken, broken, runs=0).verdict is DiffVerdict.UNKNOWN
