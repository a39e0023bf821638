"""Clauses that were once got wrong: what holds only in a body, in one pass, or of one kind of value."""

from __future__ import annotations

from gather_infer import infer
from tests.inference.models import check, model


def test_facts_of_a_loop_body_say_nothing_of_how_often_it_runs() -> None:
    """Inside the body N >= 1; the condition stops it after one iteration, but N = 0 never starts it."""
    proto = model(
        """(float[N] x) => (float[r] y) {
          s = Shape(x) z = Constant<value = int64 {0}>() m = Gather(s, z) go = Constant<value = bool {1}>()
          one = Constant<value = int64 {1}>() v = Constant<value = float[1] {0}>()
          y = Loop(m, go, v) <body = b (int64 i, bool c, float[p] s0) => (bool c2, float[q] s2) {
            j = Add(i, one) c2 = Less(j, one) s2 = Concat<axis=0>(s0, v) }> }"""
    )
    inference, _ = check(proto, [({"N": n}, {"x": (n,)}) for n in (0, 1, 2, 5)])
    assert str(inference["y"]) == "float32[min(1, N) + 1]"


def test_a_sequence_of_which_nothing_is_known_decides_for_both_branches() -> None:
    proto = model(
        """(bool c, float[3] x) => (float[r] z) {
          zero = Constant<value = int64 {0}>()
          s = If(c) <then_branch = t () => (seq(float[r]) p) { p0 = foo.Bar(x) p = SequenceInsert(p0, x) },
                     else_branch = e () => (seq(float[r]) q) { q = SequenceConstruct(x) }>
          y = SequenceAt(s, zero) z = Identity(y) }""",
        domains=', "foo" : 1',
    )
    assert infer(proto)["y"].shape is None
