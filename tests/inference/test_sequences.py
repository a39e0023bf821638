"""Sequences and optional values through If, Loop and calls, against onnxruntime."""

from __future__ import annotations

import pytest

from gather_infer import infer
from gather_infer.tensor import DType, SymbolicTensor
from tests.inference.models import check, model, untyped
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


def test_a_filled_sequence_preserves_the_shape_of_its_members() -> None:
    inference = attack(CASES["filled and joined"], legal=4)
    assert str(inference["q"]) == "seq(float32[N])"


def test_untyped_leaves_the_rest_alone() -> None:
    from tests.inference.models import model

    proto = model("(float[N] x) => (float[N] y) { y = Abs(x) }")
    assert not untyped(proto).graph.output[0].type.WhichOneof("value")
    assert proto.graph.input[0].type.tensor_type.elem_type == 1


MAPPED = """(float[N, A] a, float[N, B] b) => (y, n, z) {
  two = Constant<value = int64[2] {0, -1}>()
  at = Constant<value = int64 {1}>()
  s = SequenceConstruct(a, b)
  t = SequenceMap(s) <body = reshape (float[p, q] x) => (float[r, c] u) { u = Reshape(x, two) }>
  n = SequenceLength(t)
  z = SequenceAt(t, at)
  y = ConcatFromSequence<axis = 1>(t) }"""


def test_a_sequence_map_sees_the_names_around_it_and_maps_known_members_one_by_one() -> None:
    proto = untyped(model(MAPPED))
    runs = [({"N": n, "A": a, "B": b}, {"a": (n, a), "b": (n, b)}) for n, a, b in ((2, 3, 5), (1, 1, 1), (7, 2, 2))]
    inference, _ = check(proto, runs)
    assert inference.errors == ()
    assert [str(inference[name]) for name in "yz"] == ["float32[N, A + B]", "float32[N, B]"]
    assert str(inference["n"]) == "int64[] = 2"


def test_a_sequence_map_of_members_that_are_not_known() -> None:
    proto = untyped(
        model(
            """(seq(float[N, q]) s, float[N] w) => (y) {
              t = SequenceMap(s, w) <body = sums (float[N, r] x, float[N] v) => (float[o] u) {
                one = Constant<value = int64[1] {1}>() c = ReduceSum<keepdims = 0>(x, one) u = Add(c, v) }>
              at = Constant<value = int64 {0}>() y = SequenceAt(t, at) }"""
        )
    )
    inference = infer(proto)
    assert inference.errors == ()
    y = inference["y"]
    assert isinstance(y, SymbolicTensor) and y.dtype is DType.FLOAT32 and y.rank == 1


BROKEN_MAPS = {
    "body inputs": ("t = SequenceMap(s, a) <body = b (float[p] x) => (float[p] u) { u = Neg(x) }>",
                    "the body must have 2 inputs, like the node, has 1"),
    "no sequence": ("t = SequenceMap(a) <body = b (float[p] x) => (float[p] u) { u = Neg(x) }>",
                    "input 0 must be a sequence, is float32[N]"),
    "lengths": ("""r = SequenceConstruct(a) t = SequenceMap(s, r) <body = b (float[p] x, float[p] v) => (float[p] u) {
                   u = Add(x, v) }>""", "the sequences must have one length, have [2, 1]"),
}  # fmt: skip


@pytest.mark.parametrize("text, message", BROKEN_MAPS.values(), ids=BROKEN_MAPS)
def test_what_a_sequence_map_rejects(text: str, message: str) -> None:
    proto = model(f"(float[N] a) => (t) {{ s = SequenceConstruct(a, a) {text} }}")
    assert [error.message for error in infer(proto).errors] == [message]
