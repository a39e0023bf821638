"""Graphs that random runs have found to be inferred wrongly, cut down to what matters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gather_infer import infer
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare, open_dims

# id: (model, {input: its dims}, bindings)
CASES: dict[str, tuple[str, Mapping[str, str], list[dict[str, int]]]] = {
    # The target entry N copies M where N is 0, so -1 beside it does not make N >= 1.
    "Reshape, a computed 0 that copies a dim next to -1": (
        """(float[1, N, M] x) => (float[p, q, r, s] y) {
            shape = Shape(x) at = Constant<value = int64[1] {1}>() n = Gather(shape, at)
            minus = Constant<value = int64[1] {-1}>() three = Constant<value = int64[1] {3}>()
            target = Concat<axis = 0>(minus, at, n, three) y = Reshape(x, target)
        }""",
        {"x": "1 N M"},
        [{"N": 0, "M": 3}, {"N": 2, "M": 3}, {"N": 5, "M": 6}],
    ),
    # Where N is 0 the slice starts at the front and has an element to gather, as it has where N >= 1.
    "Slice from -N, then an index that needs an element": (
        """(float[N] x) => (float[p] y) {
            n = Shape(x) start = Neg(n) zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>()
            data = Constant<value = float[1] {7.0}>() part = Slice(data, start, one, zero, one) y = Gather(part, zero)
        }""",
        {"x": "N"},
        [{"N": 0}, {"N": 1}, {"N": 5}],
    ),
    # Where N or M is 0, it is taken out of the input and of the target, and -1 is still 16//8.
    "Reshape with allowzero, a repeated dim of 0 next to -1": (
        """(float[N, M, 16] x) => (float[p, q, r, s] y) {
            dims = Shape<start = 0, end = 2>(x) rest = Constant<value = int64[2] {-1, 8}>()
            target = Concat<axis = 0>(dims, rest) y = Reshape<allowzero = 1>(x, target)
        }""",
        {"x": "N M 16"},
        [{"N": 0, "M": 3}, {"N": 2, "M": 0}, {"N": 0, "M": 0}, {"N": 5, "M": 1}],
    ),
    "Reshape with allowzero, a repeated dim of 0 and -1 for the rest": (
        """(float[N, 2, 8] x) => (float[p, q] y) {
            dims = Shape<start = 0, end = 1>(x) rest = Constant<value = int64[1] {-1}>()
            target = Concat<axis = 0>(dims, rest) y = Reshape<allowzero = 1>(x, target)
        }""",
        {"x": "N 2 8"},
        [{"N": 0}, {"N": 3}],
    ),
    "Where of sums, under a test of one of the addends": (
        """(float[N, M] x) => (int64[N] y, int64[N] z) {
            i = ArgMax<axis = 1, keepdims = 0, select_last_index = 1>(x) two = Constant<value = int64 {2}>()
            n = Shape<start = 0, end = 1>(x) a = Mul(i, n) b = Add(a, i) c = Sub(a, i) p = Less(i, two)
            y = Where(p, b, two) z = Where(p, two, c)
        }""",
        {"x": "N M"},
        [{"N": 1, "M": 1}, {"N": 3, "M": 2}, {"N": 2, "M": 3}, {"N": 5, "M": 7}],
    ),
    "Cast of floats past the end of int8": (
        """(float[N, 200] x) => (int64[N] y) {
            i = ArgMax<axis = 1, keepdims = 0, select_last_index = 1>(x) f = Cast<to = 1>(i) a = Cast<to = 3>(f)
            y = Cast<to = 7>(a)
        }""",
        {"x": "N 200"},
        [{"N": 0}, {"N": 1}, {"N": 3}],
    ),
}


# id: as above; every dim is known, and there is no finding
KNOWN: dict[str, tuple[str, Mapping[str, str], list[dict[str, int]]]] = {
    # The offsets of PyTorch's EmbeddingBag; the node fails when its delta is 0.
    "Range, steps of a dim": (
        """(float[N, M] x) => (int64[p] y) {
            shape = Shape(x) both = ReduceProd<keepdims = 0>(shape) at = Constant<value = int64 {1}>()
            m = Gather(shape, at) zero = Constant<value = int64 {0}>() y = Range(zero, both, m)
        }""",
        {"x": "N M"},
        [{"N": 1, "M": 1}, {"N": 0, "M": 3}, {"N": 5, "M": 3}, {"N": 3, "M": 7}],
    ),
    # N - 1 iterations: in the body N >= 2, so row i + 1 is there.
    "Loop, one iteration less than the dim": (
        """(float[N, M] x) => (float[p, q] y) {
            shape = Shape(x) zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>()
            n = Gather(shape, zero) less = Sub(n, one) trips = Squeeze(less) go = Constant<value = bool {1}>()
            first = Slice(x, zero, one, zero)
            y = Loop(trips, go, first) <body = b (int64 i, bool c, float[r, t] s) => (bool c2, float[u, v] s2) {
                c2 = Identity(c) from = Add(i, one) to = Add(from, one) row = Slice(x, from, to, zero)
                s2 = Concat<axis = 0>(s, row) }>
        }""",
        {"x": "N M"},
        [{"N": 1, "M": 1}, {"N": 0, "M": 3}, {"N": 5, "M": 3}, {"N": 2, "M": 7}],
    ),
    # interpolate of PyTorch: the size is computed in floats, or the scale is a rounded one
    "Resize, to a size scaled by 1.7": (
        """(float[1, 1, N, M] x) => (float[p, q, r, s] y) {
            shape = Shape(x) two = Constant<value = int64[1] {2}>() four = Constant<value = int64[1] {4}>()
            zero = Constant<value = int64[1] {0}>() head = Slice(shape, zero, two) tail = Slice(shape, two, four)
            whole = Cast<to = 1>(tail) by = Constant<value = float {1.7}>() far = Mul(whole, by) down = Floor(far)
            size = Cast<to = 7>(down) sizes = Concat<axis = 0>(head, size) y = Resize(x, , , sizes)
        }""",
        {"x": "1 1 N M"},
        [{"N": 1, "M": 1}, {"N": 10, "M": 20}, {"N": 30, "M": 7}, {"N": 59, "M": 640}],
    ),
    "Resize, by 0.7 and 0.3": (
        """(float[1, 1, N, M] x) => (float[p, q, r, s] y) {
            by = Constant<value_floats = [1.0, 1.0, 0.7, 0.3]>() y = Resize(x, , by)
        }""",
        {"x": "1 1 N M"},
        [{"N": 5, "M": 9}, {"N": 10, "M": 10}, {"N": 20, "M": 30}, {"N": 59, "M": 640}],
    ),
    # What a scripted `if` on sizes gives: an expression says which branch is taken.
    "If, padded to an even length": (
        """(float[N] x) => (float[p] y) {
            shape = Shape(x) n = Squeeze(shape) two = Constant<value = int64 {2}>() one = Constant<value = int64 {1}>()
            rest = Mod(n, two) odd = Equal(rest, one) c = Cast<to = 9>(odd)
            y = If(c) <then_branch = t () => (float[q] a) {
                pads = Constant<value = int64[2] {0, 1}>() a = Pad(x, pads) }, else_branch = e () => (float[r] b) {
                b = Identity(x) }>
        }""",
        {"x": "N"},
        [{"N": 0}, {"N": 1}, {"N": 4}, {"N": 7}],
    ),
    "If, padded to the longer": (
        """(float[N] x, float[M] y) => (float[p] z) {
            xs = Shape(x) ys = Shape(y) c = Less(xs, ys)
            z = If(c) <then_branch = t () => (float[q] a) {
                zero = Constant<value = int64[1] {0}>() more = Sub(ys, xs) pads = Concat<axis = 0>(zero, more)
                a = Pad(x, pads) }, else_branch = e () => (float[r] b) { b = Identity(x) }>
        }""",
        {"x": "N", "y": "M"},
        [{"N": 0, "M": 3}, {"N": 5, "M": 2}, {"N": 4, "M": 4}, {"N": 1, "M": 7}],
    ),
    "If, a size chosen by two tests": (
        """(float[N, M] x) => (int64[p, q] y) {
            shape = Shape(x) zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>()
            n = Gather(shape, zero) m = Gather(shape, one) three = Constant<value = int64[1] {3}>()
            small = Less(n, three) short = GreaterOrEqual(m, n) long = Not(short) c = And(small, long)
            size = If(c) <then_branch = t () => (int64[1] a) { a = Add(m, three) },
                          else_branch = e () => (int64[1] b) { b = Mul(n, three) }>
            two = Concat<axis = 0>(size, one) y = Expand(one, two)
        }""",
        {"x": "N M"},
        [{"N": 0, "M": 0}, {"N": 2, "M": 1}, {"N": 1, "M": 2}, {"N": 5, "M": 1}],
    ),
    # x[:, :1].squeeze(1) of PyTorch, which asks whether there is a first column
    "If, squeezed when it is 1": (
        """(float[N, M] x) => (float[p] y) {
            zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>() s = Slice(x, zero, one, one)
            shape = Shape(s) m = Gather(shape, one) c = Equal(m, one)
            y = If(c) <then_branch = t () => (float[q] a) { a = Squeeze(s, one) },
                       else_branch = e () => (float[r, u] b) { b = Identity(s) }>
        }""",
        {"x": "N M"},
        [{"N": 2, "M": 1}, {"N": 0, "M": 3}, {"N": 4, "M": 7}],
    ),
    "SplitToSequence, the axis goes with a split of 1": (
        """(float[N, 3, M] x) => (float[p, q] y) {
            one = Constant<value = int64 {1}>() s = SplitToSequence<axis = 1, keepdims = 0>(x, one)
            y = ConcatFromSequence<axis = 0>(s)
        }""",
        {"x": "N 3 M"},
        [{"N": 1, "M": 1}, {"N": 4, "M": 3}, {"N": 5, "M": 5}],
    ),
    # hstack, tensor_split and chunk of PyTorch take known members of sequences whose members differ.
    "SequenceAt, of two inputs": (
        """(float[N, 2] x, float[M, 2] y) => (float[p, q] z) {
            s = SequenceConstruct(x, y) one = Constant<value = int64 {1}>() last = Constant<value = int64 {-1}>()
            b = SequenceAt(s, one) t = SequenceErase(s, last) u = SequenceInsert(t, b) v = SequenceInsert(u, b, one)
            z = ConcatFromSequence<axis = 0>(v)
        }""",
        {"x": "N 2", "y": "M 2"},
        [{"N": 1, "M": 1}, {"N": 0, "M": 3}, {"N": 4, "M": 7}],
    ),
    "SplitToSequence, uneven parts": (
        """(float[N, 7] x) => (float[p, q] a, float[r, t] b, float[u, v, w] c) {
            three = Constant<value = int64 {3}>() zero = Constant<value = int64 {0}>()
            two = Constant<value = int64 {2}>() s = SplitToSequence<axis = 1>(x, three) a = SequenceAt(s, two)
            b = ConcatFromSequence<axis = -1>(s) e = SequenceEmpty() f = SequenceInsert(e, a)
            g = SequenceInsert(f, a, zero) c = ConcatFromSequence<axis = -1, new_axis = 1>(g)
        }""",
        {"x": "N 7"},
        [{"N": 1}, {"N": 4}, {"N": 5}],
    ),
    "STFT, a real signal without an axis for its parts": (
        """(float[N, L] x) => (float[p, q, r, s] y) {
            step = Constant<value = int64 {4}>() window = Constant<value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]>()
            y = STFT(x, step, window)
        }""",
        {"x": "N L"},
        [{"N": 1, "L": 6}, {"N": 3, "L": 17}],
    ),
}


def test_the_same_elements_are_counted_once() -> None:
    """x[mask] and y[mask] of PyTorch: two NonZero of one mask have one size, which makes their sum exact."""
    proto = model(
        """(float[N] x, float[N] y, bool[N] mask, bool[N] other) => (float[p] z) {
            i = NonZero(mask) it = Transpose(i) a = GatherND(x, it) j = NonZero(mask) jt = Transpose(j)
            b = GatherND(y, jt) z = Add(a, b) k = NonZero(other)
        }"""
    )
    inference = infer(proto)
    assert str(inference["z"]) == "float32[nonzero_0]"
    assert inference["i"] == inference["j"] != inference["k"]
    runtime = Runtime(proto)
    rng = np.random.default_rng(0)
    for size in (1, 4, 9):
        feeds = {name: np.ones(size, np.float32) for name in "xy"} | {
            m: rng.random(size) < 0.6 for m in ("mask", "other")
        }
        assert compare(inference, runtime.run(feeds), {"N": size}).wrong == []


@pytest.mark.parametrize("name", KNOWN)
def test_every_dim_is_known(name: str) -> None:
    body, inputs, bindings = KNOWN[name]
    proto = model(body)
    inference = infer(proto)
    assert [d.text() for d in inference.diagnostics if d.severity != "note"] == []
    runtime = Runtime(proto)
    compared = 0
    for binding in bindings:
        feeds = {
            name: np.ones([binding[d] if d in binding else int(d) for d in dims.split()], np.float32)
            for name, dims in inputs.items()
        }
        actual = runtime.run(feeds)
        result = compare(inference, actual, binding)
        assert result.assumption_fails or result.wrong == [], binding
        compared += not result.assumption_fails
        assert open_dims(inference, [actual]) == []
    assert compared > len(bindings) // 2


@pytest.mark.parametrize("assume", [True, False], ids=["with assumptions", "without"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_wrong(name: str, assume: bool) -> None:
    body, inputs, bindings = CASES[name]
    proto = model(body)
    inference = infer(proto, assume=assume)
    assert inference.errors == ()
    runtime = Runtime(proto)
    for binding in bindings:
        feeds = {
            name: np.ones([binding[d] if d in binding else int(d) for d in dims.split()], np.float32)
            for name, dims in inputs.items()
        }
        result = compare(inference, runtime.run(feeds), binding)
        assert result.assumption_fails or result.wrong == [], binding
        assert assume or not result.assumption_fails


def test_an_assumption_stays_listed_when_what_rests_on_it_implies_it() -> None:
    inference = infer(model(CASES["Slice from -N, then an index that needs an element"][0]))
    assert [str(a) for a in inference.assumptions] == ["N >= 1 (node Slice#5)"]


def test_an_entry_that_may_copy_a_dim_is_assumed_not_implied() -> None:
    inference = infer(model(CASES["Reshape, a computed 0 that copies a dim next to -1"][0]))
    assert [str(a) for a in inference.assumptions] == ["N >= 1 (node Reshape#6)"]


def test_the_walk_that_confirms_assumptions_names_other_dims() -> None:
    """Without assumptions `reshape_0` is dim 2 of y, which Gather implies to be >= 1; with them it is dim 0 of z."""
    proto = model(
        """(float[N, M, 4] x, float[P, Q] u, int64[2] k, float[A, B] v) => (z, w, h) {
            n = Shape<start = 0, end = 1>(x) m = Shape<start = 1, end = 2>(x) two = Constant<value = int64[1] {2}>()
            t = Concat<axis = 0>(m, two, n, two) y = Reshape(x, t) zero = Constant<value = int64 {0}>()
            h = Gather<axis = 2>(y, zero) z = Reshape(u, k) c = Shape<start = 0, end = 1>(z)
            b = Shape<start = 1, end = 2>(v) s = Concat<axis = 0>(c, b) w = Reshape(v, s)
        }"""
    )
    inference = infer(proto)
    assert [str(a) for a in inference.assumptions] == ["N >= 1 (node Reshape#4)", "reshape_0 >= 1 (node Reshape#11)"]
    feeds = {"x": np.ones((2, 2, 4), np.float32), "u": np.ones((0, 3), np.float32), "v": np.ones((5, 3), np.float32)}
    actual = Runtime(proto).run(feeds | {"k": np.array([0, 3])})
    bindings = {"N": 2, "M": 2, "P": 0, "Q": 3, "A": 5, "B": 3}
    assert compare(inference, actual, bindings).assumption_fails
    assert compare(infer(proto, assume=False), actual, bindings).wrong == []


@pytest.mark.parametrize("assume", [True, False], ids=["with assumptions", "without"])
def test_doubles_that_int32_does_not_hold(assume: bool) -> None:
    proto = model(
        """(float[N] x) => (int64[1] y) {
            i = ArgMax<axis = 0, keepdims = 1>(x) far = Constant<value = int64 {4194304}>() j = Mul(i, far)
            f = Cast<to = 11>(j) k = Cast<to = 6>(f) y = Cast<to = 7>(k)
        }"""
    )
    inference = infer(proto, assume=assume)
    for n in (2, 5000):
        result = compare(inference, Runtime(proto).run({"x": np.arange(n, dtype=np.float32)}), {"N": n})
        assert result.assumption_fails == (assume and n > 512)
        assert result.assumption_fails or result.wrong == []


def test_a_length_far_below_0_is_not_taken_for_0() -> None:
    """onnxruntime's difference to the dim overflows, and the axis stays as it is; -1 makes it empty."""
    lengths = {-1: "0", -(2**62): "0", -(2**63): "centercroppad_0"}
    for length, dim in lengths.items():
        proto = model(
            f"""(float[N] x) => (float[p] y) {{
              l = Constant<value = int64[1] {{{length}}}>() y = CenterCropPad(x, l) }}""",
            opset=18,
        )
        assert str(infer(proto)["y"]).partition(" ")[0] == f"float32[{dim}]"
        result = compare(infer(proto), Runtime(proto).run({"x": np.ones(3, np.float32)}), {"N": 3})
        assert result.wrong == [], length
