"""Sequences and optional values through If, Loop and calls, against onnxruntime."""

from __future__ import annotations

import pytest

from tests.inference.models import untyped
from tests.inference.test_control_attacks import HEAD, attack

CASES = {
    "split by one and joined": "(y1) { q = SplitToSequence<axis = 0, keepdims = 1>(x) y1 = ConcatFromSequence<axis = 0>(q) }",
    "split and stacked": "(y1) { q = SplitToSequence<axis = 0, keepdims = 0>(x) y1 = ConcatFromSequence<axis = 0, new_axis = 1>(q) }",
    "split in twos": """(y1, y2, y3) { q = SplitToSequence<axis = 0>(x, s2) n = SequenceLength(q) y1 = SequenceAt(q, s0)
        z = Sub(s0, s1) y2 = SequenceAt(q, z) y3 = ConcatFromSequence<axis = 0>(q) }""",
    "members of two lengths": "(y1, y2, y3) { q = SequenceConstruct(x, y) y1 = SequenceAt(q, s0) y2 = SequenceAt(q, s1) y3 = ConcatFromSequence<axis = 0>(q) }",
    "inserted and erased": "(y1, n) { q = SequenceConstruct(x, y) r = SequenceInsert(q, f, s0) e = SequenceErase(r, s1) y1 = SequenceAt(e, s0) n = SequenceLength(e) }",
    "an empty sequence": "(n, y1) { q = SequenceEmpty<dtype = 1>() n = SequenceLength(q) r = SequenceInsert(q, x) y1 = SequenceAt(r, s0) }",
    "erased in a loop": f"""(n, y1) {{ p = SequenceConstruct(x, y, f, x) q = Loop(t, c, p) <body = b ({HEAD}, seq(float[]) a)
        => (bool k2, seq(float[]) a2) {{ k2 = Identity(k) a2 = SequenceErase(a, s0) }}> n = SequenceLength(q) y1 = SequenceAt(q, s0) }}""",
    "replaced in a loop": f"""(n, y1) {{ p = SequenceConstruct(x) q = Loop(t, c, p) <body = b ({HEAD}, seq(float[]) a)
        => (bool k2, seq(float[]) a2) {{ k2 = Identity(k) m = SequenceAt(a, s0) d = Concat<axis = 0>(m, f) a2 = SequenceConstruct(d, y) }}>
        n = SequenceLength(q) y1 = SequenceAt(q, s0) }}""",
    "filled and joined": f"""(y1, n) {{ p = SequenceEmpty<dtype = 1>() q = Loop(t, c, p) <body = b ({HEAD}, seq(float[]) a)
        => (bool k2, seq(float[]) a2) {{ k2 = Identity(k) a2 = SequenceInsert(a, x) }}> n = SequenceLength(q) y1 = ConcatFromSequence<axis = 0>(q) }}""",
    "the last of what a loop grows": f"""(y1) {{ p = SequenceConstruct(x) q = Loop(t, c, p) <body = b ({HEAD}, seq(float[]) a)
        => (bool k2, seq(float[]) a2) {{ k2 = Identity(k) z = Sub(s0, s1) m = SequenceAt(a, z) d = Concat<axis = 0>(m, y) a2 = SequenceInsert(a, d) }}>
        z1 = Sub(s0, s1) y1 = SequenceAt(q, z1) }}""",
    "two members summed": f"""(y1) {{ p = SequenceConstruct(f) q = Loop(t, c, p) <body = b ({HEAD}, seq(float[]) a)
        => (bool k2, seq(float[]) a2) {{ k2 = Identity(k) n = Add(i, s2) m = Reshape(n, one) z = Expand(f, m) a2 = SequenceInsert(a, z) }}>
        z1 = Sub(s0, s1) l = SequenceAt(q, z1) h = SequenceAt(q, s0) y1 = Add(l, h) }}""",
    "a branch with an empty sequence": """(n, y1) { q = If(c) <then_branch = g () => (seq(float[]) o) { o = SequenceEmpty<dtype = 1>() },
        else_branch = h () => (seq(float[]) o2) { o2 = SequenceConstruct(x, x) }> n = SequenceLength(q) r = SequenceInsert(q, y) y1 = SequenceAt(r, s0) }""",
    "branches that split differently": """(n, y1) { q = If(c) <then_branch = g () => (seq(float[]) o) { o = SplitToSequence<axis = 0, keepdims = 1>(x) },
        else_branch = h () => (seq(float[]) o2) { o2 = SplitToSequence<axis = 0>(x, s2) }> n = SequenceLength(q) y1 = ConcatFromSequence<axis = 0>(q) }""",
    "an optional": "(y1, h) { o = Optional(x) h = OptionalHasElement(o) y1 = OptionalGetElement(o) }",
    "an optional of a sequence": "(y1, n) { q = SequenceConstruct(x, y) o = Optional(q) e = OptionalGetElement(o) n = SequenceLength(e) y1 = SequenceAt(e, s1) }",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sequences_are_what_onnxruntime_makes_them(name: str) -> None:
    attack(CASES[name], legal=4)


def test_a_filled_sequence_keeps_the_shape_of_its_members() -> None:
    inference = attack(CASES["filled and joined"], legal=4)
    assert str(inference["q"]) == "seq(float32[N])"


def test_untyped_leaves_the_rest_alone() -> None:
    from tests.inference.models import model

    proto = model("(float[N] x) => (float[N] y) { y = Abs(x) }")
    assert not untyped(proto).graph.output[0].type.WhichOneof("value")
    assert proto.graph.input[0].type.tensor_type.elem_type == 1
