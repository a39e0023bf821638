"""Joins of both branches of an If, and contradictions of declared types; compared with onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from gather_infer import Inference, infer
from gather_infer.tensor import SequenceType, SymbolicTensor
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

HEAD = """one = Constant<value_int = 1>() two = Constant<value_int = 2>() four = Constant<value_int = 4>()
    v0 = Constant<value_ints = [0]>() v12 = Constant<value_ints = [1, 2]>() v13 = Constant<value_ints = [1, 3]>() w12 = Constant<value_ints = [1, 2]>()
    f = Constant<value_floats = [0.5, 1.5]>() g = Constant<value_floats = [0.5, 2.5]>() nan = Constant<value = float[2] {nan, 1.5}>()
    neg = Constant<value_floats = [-0.0]>() pos = Constant<value_floats = [0.0]>() s = Shape(x) """
JOINS = {
    # id:                        (then, else, the fact of y)
    "the same":                  ("y1 = Identity(x)", "y2 = Identity(x)", "float32[N, 3]"),
    "another size":              ("y1 = Identity(x)", "y2 = Concat<axis = 0>(x, x)", "float32[if_0, 3]"),
    "another rank":              ("y1 = Identity(x)", "y2 = ReduceSum<keepdims = 0>(x)", "float32[...]"),
    "the same elements":         ("y1 = Identity(v12)", "y2 = Identity(w12)", "int64[2] = [1, 2], in [1, 2]"),
    "one element in common":     ("y1 = Identity(v12)", "y2 = Identity(v13)", "int64[2] = [1, ?], in [1, 3]"),
    "no element in common":      ("y1 = Identity(one)", "y2 = Identity(two)", "int64[], in [1, 2]"),
    "floats in common":          ("y1 = Identity(f)", "y2 = Identity(g)", "float32[2] = [0.5, ?]"),
    "signs of zero":             ("y1 = Identity(neg)", "y2 = Identity(pos)", "float32[1]"),
    "sizes in common":           ("y1 = Identity(s)", "y2 = Shape(x)", "int64[2] = [N, 3], in [min(3, N), max(3, N)]"),
    "one size in common":        ("y1 = Identity(s)", "o = Neg(s) k = Gather(o, v0) l = Gather(s, w1) y2 = Concat<axis = 0>(k, l)", "int64[2] = [?, 3], in [-N, max(3, N)]"),
    "sequences":                 ("y1 = SequenceConstruct(x, x)", "y2 = SequenceConstruct(x, x)", "seq(float32[N, 3]), 2 of them"),
    "sequences of two lengths":  ("y1 = SequenceConstruct(x)", "y2 = SequenceConstruct(x, x)", "seq(float32[N, 3]), None of them"),
    "sequences of two sizes":    ("y1 = SequenceConstruct(x)", "d = Concat<axis = 0>(x, x) y2 = SequenceConstruct(d)", "seq(float32[if_0, 3]), 1 of them"),
    # best: seq(float32[N, 3]), for an empty sequence has no member to disagree
    "an empty sequence":         ("y1 = SequenceEmpty()", "y2 = SequenceConstruct(x)", "seq(float32[...]), None of them"),
    "then an empty sequence":    ("y1 = SequenceConstruct(x)", "y2 = SequenceEmpty()", "seq(float32[...]), None of them"),
    "two empty sequences":       ("y1 = SequenceEmpty()", "y2 = SequenceEmpty()", "seq(float32[...]), 0 of them"),
    "ranks in sequences":        ("y1 = SequenceConstruct(x)", "d = ReduceSum<keepdims = 0>(x) y2 = SequenceConstruct(d)", "seq(float32[...]), 1 of them"),
}  # fmt: skip


def proto_of(then: str, other: str) -> onnx.ModelProto:
    head = HEAD + "w1 = Constant<value_ints = [1]>()"
    return untyped(
        model(f"""(float[N, 3] x, bool c) => (y) {{ {head}
        y = If (c) <then_branch = t () => (y1) {{ {then} }}, else_branch = e () => (y2) {{ {other} }}> }}""")
    )


def described(fact: object) -> str:
    """The fact with its span, or the length of a sequence."""
    if isinstance(fact, SequenceType):
        return f"{fact}, {fact.length} of them"
    span = fact.value_range if isinstance(fact, SymbolicTensor) else None
    return f"{fact}" if span is None else f"{fact}, in [{span.lo}, {span.hi}]"


@pytest.mark.parametrize("name", JOINS)
def test_what_both_branches_say_holds(name: str) -> None:
    then, other, expected = JOINS[name]
    proto = proto_of(then, other)
    inference, runtime = infer(proto), Runtime(proto)
    for taken in (True, False):
        for n in (0, 1, 2, 5):
            feeds = {"x": np.ones((n, 3), np.float32), "c": np.array(taken)}
            assert compare(inference, runtime.run(feeds), {"N": n}).wrong == [], (taken, n)
    assert described(inference["y"]) == expected


CHOICES = {
    # by n < 4:           (then, else, what is known of y)
    "at least 4 rows":    ("y1 = ConstantOfShape(v4)", "y2 = ConstantOfShape(v)", "sizes"),
    "at most 4 rows":     ("y1 = ConstantOfShape(v)", "y2 = ConstantOfShape(v4)", "sizes"),
    "one row less":       ("y1 = ConstantOfShape(v)", "k = Sub(v, w1) y2 = ConstantOfShape(k)", "sizes"),
    "none or all":        ("y1 = ConstantOfShape(v0)", "y2 = ConstantOfShape(v)", "sizes"),
    "a number":           ("y1 = Identity(four)", "y2 = Identity(n)", "sizes and elements"),
    "other numbers":      ("y1 = Identity(one)", "y2 = Identity(two)", "sizes and elements"),
    "numbers in part":    ("y1 = Concat<axis = 0>(v, w1)", "y2 = Concat<axis = 0>(v4, w1)", "sizes and elements"),
    "a bool":             ("y1 = Less(one, two)", "y2 = Less(two, one)", "sizes"),
    "a float":            ("y1 = Identity(f)", "y2 = Identity(g)", "sizes, some elements"),
    "the same float":     ("y1 = Identity(f)", "y2 = Identity(f)", "sizes and elements"),
    "open and a number":  ("y1 = Cast<to = 7>(c)", "y2 = Identity(one)", "sizes"),
    "a sum of data":      ("y1 = NonZero(x)", "y2 = NonZero(x)", "nothing"),
    "a rank":             ("y1 = Identity(v4)", "y2 = Identity(four)", "nothing"),
    "kinds":              ("y1 = SequenceConstruct(x)", "d = Concat<axis = 0>(x, x) y2 = SequenceConstruct(d)", "nothing"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_by_a_size_holds(name: str) -> None:
    then, other, expected = CHOICES[name]
    head = (
        HEAD
        + """w1 = Constant<value_ints = [1]>() v4 = Constant<value_ints = [4]>() e1 = Constant<value_ints = [1]>()
        v = Slice(s, v0, e1) n = Squeeze(v) t = Less(n, four)"""
    )
    proto = untyped(
        model(f"""(float[N, 3] x, bool c) => (y) {{ {head}
        y = If (t) <then_branch = t1 () => (y1) {{ {then} }}, else_branch = e () => (y2) {{ {other} }}> }}""")
    )
    inference, runtime = infer(proto), Runtime(proto)
    for n in (0, 1, 3, 4, 5, 9):
        feeds = {"x": np.ones((n, 3), np.float32), "c": np.array(n % 2 == 0)}
        assert compare(inference, runtime.run(feeds), {"N": n}).wrong == [], n
    assert reported(inference, "y") == expected


def reported(inference: Inference, name: str) -> str:
    """The fact of a tensor at the model's sizes."""
    fact = inference[name]
    if not isinstance(fact, SymbolicTensor) or fact.shape is None or any(map(inference.is_generated, fact.shape)):
        return "nothing"
    if fact.values is None:
        return "sizes"
    return "sizes, some elements" if None in fact.values.flat else "sizes and elements"


TESTS = {
    "less": "t = Less(n, four)",
    "less or equal": "t = LessOrEqual(n, four)",
    "greater": "t = Greater(n, four)",
    "greater or equal": "t = GreaterOrEqual(n, four)",
    "equal": "t = Equal(n, four)",
    "mirrored": "t = LessOrEqual(four, n)",
    "not": "o = LessOrEqual(n, four) t = Not(o)",
    "and": "o = LessOrEqual(n, four) p = Greater(n, one) t = And(o, p)",
    "or": "o = Greater(n, four) p = LessOrEqual(n, one) t = Or(o, p)",
    "as a number": "o = GreaterOrEqual(n, four) p = Cast<to = 7>(o) t = Cast<to = 9>(p)",
}


@pytest.mark.parametrize("name", TESTS)
def test_the_size_that_a_test_chooses_is_known_on_both_sides(name: str) -> None:
    head = (
        HEAD + "w1 = Constant<value_ints = [1]>() z = Constant<value_ints = [0]>() v = Slice(s, v0, w1) n = Squeeze(v)"
    )
    proto = untyped(
        model(f"""(float[N, 3] x) => (y) {{ {head} {TESTS[name]} y = If (t) <
            then_branch = a () => (y1) {{ y1 = ConstantOfShape(z) }}, else_branch = b () => (y2) {{ k = Add(v, w1) y2 = ConstantOfShape(k) }}> }}""")
    )
    inference, runtime = infer(proto), Runtime(proto)
    for n in range(8):
        assert compare(inference, runtime.run({"x": np.ones((n, 3), np.float32)}), {"N": n}).wrong == [], n
    assert reported(inference, "y") == "sizes"
