"""If, Loop and Scan against onnxruntime: growing states, trip counts, captures, branches that differ."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import infer
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import verdicts
from tests.inference.models import check, model, untyped

COUNT = "m = Constant<value = int64 {%d}>() go = Constant<value = bool {1}>()"


def test_a_growing_state_grows_with_the_iteration() -> None:
    proto = untyped(
        model(
            """(float[N, 2] x) => (float y, float z) {
              m = Constant<value = int64 {5}>() go = Constant<value = bool {1}>()
              y, z = Loop(m, go, x) <body = b (int64 i, bool c, float[p, 2] s) => (bool c2, float[q, 2] s2, float[q, 2] out) {
                c2 = Identity(c) s2 = Concat<axis=0>(s, x) out = Add(x, x) }> }"""
        )
    )
    runs = [({"N": n}, {"x": (n, 2)}) for n in (1, 2, 3, 7, 0)]
    inference, _ = check(proto, runs)
    assert str(inference["y"]) == "float32[6*N, 2]"
    assert str(inference["z"]) == "float32[5, N, 2]"


def test_a_state_that_doubles_is_not_called_affine() -> None:
    proto = untyped(
        model(
            """(float[N] x) => (float y) {
              m = Constant<value = int64 {3}>() go = Constant<value = bool {1}>()
              y = Loop(m, go, x) <body = b (int64 i, bool c, float[p] s) => (bool c2, float[q] s2) {
                c2 = Identity(c) s2 = Concat<axis=0>(s, s) }> }"""
        )
    )
    inference, _ = check(proto, [({"N": n}, {"x": (n,)}) for n in (0, 1, 2, 5)])
    y = inference["y"]
    assert isinstance(y, SymbolicTensor) and y.shape is not None
    assert inference.is_generated(y.shape[0])


def test_trip_count_from_a_shape_is_the_length_of_a_scan_output() -> None:
    proto = untyped(
        model(
            """(float[N, 3] x) => (float total, float rows) {
              s = Shape(x) zero = Constant<value = int64 {0}>() n = Gather(s, zero) go = Constant<value = bool {1}>()
              init = Constant<value = float[1] {0}>()
              total, rows = Loop(n, go, init) <body = b (int64 i, bool c, float[1] acc) => (bool c2, float[1] acc2, float[3] row) {
                c2 = Identity(c) row = Gather(x, i) r = ReduceSum<keepdims=0>(row) acc2 = Add(acc, r) }> }"""
        )
    )
    inference, _ = check(proto, [({"N": n}, {"x": (n, 3)}) for n in (0, 1, 2, 7)])
    assert str(inference["total"]) == "float32[1]"
    assert str(inference["rows"]) == "float32[N, 3]"
    i = inference.scope("Loop#5/body")["i"]
    assert isinstance(i, SymbolicTensor) and i.value_range is not None and str(i.value_range.hi) == "N - 1"


def test_a_condition_that_depends_on_data_ends_the_loop_early() -> None:
    proto = untyped(
        model(
            """(float[N] x) => (float rows) {
              m = Constant<value = int64 {4}>() go = Constant<value = bool {1}>() half = Constant<value = float {2.5}>()
              rows = Loop(m, go) <body = b (int64 i, bool c) => (bool c2, float row) {
                row = Cast<to=1>(i) c2 = Less(row, half) }> }"""
        )
    )
    inference, _ = check(proto, [({"N": 1}, {"x": (1,)})])
    rows = inference["rows"]
    assert isinstance(rows, SymbolicTensor) and rows.shape is not None and inference.is_generated(rows.shape[0])


def test_counter_state_is_affine_in_the_iteration() -> None:
    proto = untyped(
        model(
            """(float[N] x) => (int64 k, float y) {
              m = Constant<value = int64 {3}>() go = Constant<value = bool {1}>() start = Constant<value = int64[1] {2}>()
              two = Constant<value = int64[1] {2}>()
              k = Loop(m, go, start) <body = b (int64 i, bool c, int64[1] s) => (bool c2, int64[1] s2) {
                c2 = Identity(c) s2 = Add(s, two) }>
              zero = Constant<value = float[1] {0}>() y = Expand(zero, k) }"""
        )
    )
    inference, _ = check(proto, [({"N": 1}, {"x": (1,)})])
    assert str(inference["k"]) == "int64[1] = [8]"
    assert inference["y"].shape == (8,)


@pytest.mark.parametrize("same", [True, False])
def test_if_joins_both_branches(same: bool) -> None:
    other = "Neg(x)" if same else "Concat<axis=0>(x, x)"
    proto = untyped(
        model(
            f"""(bool c, float[N, 3] x) => (float y) {{
              y = If(c) <then_branch = t () => (float[a, 3] p) {{ p = Abs(x) }},
                         else_branch = e () => (float[b, 3] q) {{ q = {other} }}> }}"""
        )
    )
    runs = [({"N": n}, {"c": np.array(flag), "x": (n, 3)}) for n in (0, 1, 2, 5) for flag in (True, False)]
    inference, _ = check(proto, runs)
    y = inference["y"]
    assert isinstance(y, SymbolicTensor) and y.shape is not None
    assert str(y) == "float32[N, 3]" if same else inference.is_generated(y.shape[0]) and y.shape[1] == 3


def test_if_with_a_known_condition_takes_its_branch() -> None:
    proto = untyped(
        model(
            """(float[N, 3] x) => (float y) {
              s = Shape(x) one = Constant<value = int64 {1}>() k = Gather(s, one) three = Constant<value = int64 {3}>()
              c = Equal(k, three)
              y = If(c) <then_branch = t () => (float[a, 3] p) { p = Concat<axis=0>(x, x) },
                         else_branch = e () => (float[b, 3] q) { q = Abs(x) }> }"""
        )
    )
    inference, _ = check(proto, [({"N": n}, {"x": (n, 3)}) for n in (0, 1, 4)])
    assert str(inference["y"]) == "float32[2*N, 3]"


def test_initializers_that_a_body_lists_among_its_inputs_are_passed_by_nobody() -> None:
    """So files up to IR version 3 state them."""
    proto = untyped(
        model(
            """(bool c, float[N, 3] x) => (float y) {
              y = If(c) <then_branch = t (float[3] w) => (float[a, 3] p) <float[3] w = {1, 2, 3}> { p = Add(x, w) },
                         else_branch = e () => (float[b, 3] q) { q = Abs(x) }> }"""
        )
    )
    runs = [({"N": n}, {"c": np.array(flag), "x": (n, 3)}) for n in (1, 4) for flag in (True, False)]
    inference, _ = check(proto, runs)
    assert inference.diagnostics == () and str(inference["y"]) == "float32[N, 3]"


def test_facts_of_a_branch_stay_in_it() -> None:
    """Inside the branch N >= 3 (index 2 is read); outside it nothing is known of N."""
    proto = untyped(
        model(
            """(bool c, float[N] x) => (float y, float z) {
              two = Constant<value = int64 {2}>()
              y = If(c) <then_branch = t () => (float p) { p = Gather(x, two) },
                         else_branch = e () => (float q) { q = Constant<value = float {0}>() }>
              s = Shape(x) three = Constant<value = int64[1] {3}>() d = Sub(s, three) zero = Constant<value = int64[1] {0}>()
              m = Max(d, zero) f = Constant<value = float[1] {0}>() z = Expand(f, m) }"""
        )
    )
    feeds = [({"N": n}, {"c": np.array(n >= 3), "x": (n,)}) for n in (0, 1, 3, 7)]
    inference, _ = check(proto, feeds)
    z = inference["z"]
    assert isinstance(z, SymbolicTensor) and z.shape is not None and "max" in str(z.shape[0])


def test_scan_carries_a_state_and_stacks_slices() -> None:
    proto = untyped(
        model(
            """(float[H] init, float[T, H] xs) => (float last, float ys) {
              last, ys = Scan<num_scan_inputs = 1, body = b (float[H] s, float[H] x) => (float[H] s2, float[H] y) {
                s2 = Add(s, x) y = Mul(s2, x) }>(init, xs) }"""
        )
    )
    inference, _ = check(proto, [({"T": t, "H": h}, {"init": (h,), "xs": (t, h)}) for t, h in ((1, 1), (3, 2), (5, 5))])
    assert str(inference["last"]) == "float32[H]"
    assert str(inference["ys"]) == "float32[T, H]"


def test_the_first_iteration_of_a_scan_tells_the_shapes_of_all() -> None:
    proto = untyped(
        model(
            """(float[N] init, float[T, M] x) => (float y, float z) {
              y, z = Scan<num_scan_inputs=1, body = b (float[p] s, float[q] xi) => (float[r] s2, float[r] out) {
                s2 = Add(s, xi) out = Neg(s2) }>(init, x) }"""
        )
    )
    runs = [({"N": n, "M": n, "T": t}, {"init": (n,), "x": (t, n)}) for n, t in ((3, 2), (1, 4), (0, 1))]
    inference, _ = check(proto, runs)
    y, z = inference["y"], inference["z"]
    assert isinstance(y, SymbolicTensor) and isinstance(z, SymbolicTensor) and y.shape and z.shape
    assert y.shape[0] is z.shape[1]
    assert str(y.shape[0]) == "min(M*N, max(M, N))"
    assert [str(a.dim) for a in inference.assumptions] == ["T"]


def test_scan_axes() -> None:
    proto = untyped(
        model(
            """(float[2, T, 3] xs) => (float ys) {
              ys = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
                body = b (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }>(xs) }"""
        )
    )
    inference, _ = check(proto, [({"T": t}, {"xs": (2, t, 3)}) for t in (1, 2, 5)])
    assert str(inference["ys"]) == "float32[2, 3, T]"


def test_nodes_in_any_order_with_captures() -> None:
    proto = untyped(
        model(
            """(bool c, float[N, 3] x) => (float y) {
              a = Abs(x) b = Neg(a)
              y = If(c) <then_branch = t () => (float[a, 3] p) { p = Add(b, a) },
                         else_branch = e () => (float[b, 3] q) { q = Abs(b) }> }"""
        )
    )
    nodes = list(proto.graph.node)
    del proto.graph.node[:]
    proto.graph.node.extend(reversed(nodes))
    inference = infer(proto)
    assert inference.diagnostics == ()
    assert str(inference["y"]) == "float32[N, 3]"


def test_what_a_body_gives_as_it_is_comes_first() -> None:
    """The node that makes r is listed behind the If whose branch has r for its output."""
    proto = model(
        """(bool t, float[N] x) => (y) {
          y = If(t) <then_branch = g () => (r) { q = Abs(x) }, else_branch = h () => (r) { s = Neg(x) }>
          r = Concat<axis = 0>(x, x) }"""
    )
    inference = infer(proto)
    assert (inference.errors, str(inference["y"])) == ((), "float32[2*N]")


def test_a_body_that_does_not_fit_is_one_finding() -> None:
    proto = untyped(
        model(
            """(float[N] x) => (float y) { m = Constant<value = int64 {3}>() go = Constant<value = bool {1}>()
              y = Loop(m, go, x) <body = b (int64 i, bool c) => (bool c2, float[q] s2) { c2 = Identity(c) s2 = Abs(x) }> }"""
        )
    )
    assert [d.code for d in infer(proto).diagnostics] == ["GI110"]


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


def test_a_branch_knows_what_its_condition_says() -> None:
    """Four rows are enough where n < 5, and a fifth is there where it is not."""
    proto = untyped(
        model(
            """(float[4] four, float[N] x) => (y) {
              zero = Constant<value_int = 0>() one = Constant<value_int = 1>() five = Constant<value_int = 5>()
              s = Shape(x) n = Squeeze(s) t = Less(n, five)
              y = If(t) <then_branch = g () => (y1) { r = Range(zero, n, one) y1 = Gather(four, r) },
                         else_branch = h () => (y2) { last = Constant<value_ints = [4]>() y2 = Gather(x, last) }> }"""
        )
    )
    runs = [({"N": n}, {"four": (4,), "x": (n,)}) for n in (0, 1, 4, 5, 6, 9)]
    inference, _ = check(proto, runs)
    assert [str(found.kind) for found in verdicts(inference)] == ["proved", "proved"]


def test_a_branch_that_is_taken_where_nothing_is_empty() -> None:
    """One row is enough for that, so no more is assumed."""
    proto = untyped(
        model(
            """(float[N] x) => (y) {
              zero = Constant<value_int = 0>() v0 = Constant<value_ints = [0]>() s = Shape(x) n = Squeeze(s) t = Equal(n, zero)
              y = If(t) <then_branch = g () => (y1) { y1 = Identity(x) },
                         else_branch = h () => (y2) { y2 = Unsqueeze(x, v0) }> }"""
        )
    )
    inference, _ = check(proto, [({"N": n}, {"x": (n,)}) for n in (1, 2, 5)])
    assert str(inference["y"]) == "float32[1, N]"
    assert [(str(a.dim), a.lower, a.upper) for a in inference.assumptions] == [("N", 1, None)]
    assert str(infer(proto, assume=False)["y"]) == "float32[...]"
