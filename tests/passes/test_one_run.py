# ruff: noqa: E501  (models as text)
"""One run of `optimize` finds all that a second one would: what takes the place of a value tells more of it."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto

from gather_infer.passes import optimize
from tests.oracle.optimized_graphs import ordered
from tests.passes.folding_models import assert_same_outputs, ops, run


def parsed(text: str) -> ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    onnx.checker.check_model(made)
    return made


ENDS = {"a number": ("int64[1] n = {99}, ", ""), "a size": ("", "n = Shape<end = 1>(p)")}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("dims", ["N", "N, M", "N, N", "N, 4"])
def test_a_view_back_to_the_shape_of_a_slice(dims: str, start: int, end: str) -> None:
    """Reshape(Reshape(v, -1), Shape(v)): the shape of the result is known in fewer words once it is v."""
    held, computed = ENDS[end]
    rank = dims.count(",") + 1
    made = parsed(
        f"""g (float[{dims}] x, float[N] p) => (float[{", ".join("ABC"[:rank])}] y) <{held}int64[1] o = {{{start}}}, int64[1] k = {{-1}}> {{
            {computed} v = Slice(x, o, n) r = Reshape(v, k) s = Shape(v) y = Reshape(r, s) }}"""
    )
    found = optimize(made)
    assert "Reshape" not in ops(found.proto.graph)
    assert not optimize(found.proto).applied
    for n, m in product((2, 3, 5), (1, 2)):
        sizes = [{"N": n, "M": m, "4": 4}[dim.strip()] for dim in dims.split(",")]
        feeds = {"x": np.arange(np.prod(sizes), dtype="f4").reshape(sizes), "p": np.zeros(n, "f4")}
        assert_same_outputs(made, found.proto, feeds)


def test_what_a_loop_gives_that_runs_once() -> None:
    """The facts of a body are functions of the iteration, of which there is one."""
    made = parsed(
        """g (float[4, N] x, float[N, N] z, bool go) => (int64[C] y, int64[D] w) <int64 one = {1}> {
            a = Shape<start = 1, end = 2>(x) w = Neg(a) s = Shape(z)
            y = Loop (one, "", s) <body = b (int64 i, bool c, int64[K] r) => (bool d, int64[L] q) {
                d = Identity(c) q = Concat<axis = 0>(r, s) }> }"""
    )
    found = optimize(made)
    assert "Loop" not in ops(found.proto.graph)
    assert not optimize(found.proto).applied
    for n in (0, 1, 3):
        feeds = {"x": np.zeros((4, n), "f4"), "z": np.zeros((n, n), "f4"), "go": np.array(True)}
        assert_same_outputs(made, found.proto, feeds)


def test_integers_that_are_none() -> None:
    """A tensor without elements is known where its shape is, whatever it is computed from."""
    made = parsed("g (float[0] x) => (int64[A] y) { y = Cast<to = 7>(x) }")
    found = optimize(made)
    assert ops(found.proto.graph) == []
    assert_same_outputs(made, found.proto, {"x": np.zeros(0, "f4")})


def test_a_branch_that_was_rewritten_is_inferred_again() -> None:
    made = parsed(
        """g (bool c, float[N] x) => (float[A] y, int64[B] s) {
            y = If (c) <then_branch = t () => (float[P] a) <float[0] e = {}> { a = Concat<axis = 0>(x, e) },
                        else_branch = f () => (float[Q] b) { b = Identity(x) }> s = Shape(y) }"""
    )
    found = optimize(made)
    assert len(found.rounds) == 2
    assert not optimize(found.proto).applied
    for c, n in product((False, True), (0, 3)):
        assert_same_outputs(made, found.proto, {"c": np.array(c), "x": np.arange(n, dtype="f4")})


def test_two_outputs_that_are_the_same_size() -> None:
    """One of them is a copy of the other; the node that tells that no run has N = 0 is not needed itself."""
    made = parsed(
        """g (int64[N] ids, float[3, 2] x) => (int64[A] y, int64[B] z) <int64[2] ones = {1, 1}, int64[1] m = {-1}> {
            s = Shape(ids) y = Identity(s) t = Concat<axis = 0>(s, ones) z = ReduceMax<keepdims = 1>(t)
            e = Expand(x, t) v = Concat<axis = 0>(s, ones, m) unused = Reshape(e, v) }"""
    )
    found = optimize(made)
    assert not optimize(found.proto).applied
    for n in (1, 3):
        assert_same_outputs(made, found.proto, {"ids": np.zeros(n, "i8"), "x": np.zeros((3, 2), "f4")})


def test_elements_that_turn_out_to_be_simpler() -> None:
    """3 * N - 3 * min(0, 3 * N - 1), of a target that is 0 in an empty tensor, is 3 * N where a -1 stands instead."""
    made = parsed(
        """g (float[N, M] p, float["N + M", 3, N] x) => (int64[1, 1] z, float16[A, B] h, int64[3] y) <int64[1] o = {1}, int64[1] two = {2}, int64[1] n = {0}, int64[2] m = {1, -1}, int64[2] last = {-1, -1}> {
            s = Shape(x) a = Gather(s, n) b = Gather(s, o) c = Gather(s, two) d = Mul(b, c) t = Concat<axis = 0>(a, d) z = Reshape(d, m)
            r = Reshape(x, t) unused = GatherND(r, last) w = Concat<axis = 0>(r, r) h = Cast<to = 10>(w)
            u = Shape(w) k = Gather(u, o) y = Concat<axis = 0>(n, k, o) }"""
    )
    found = optimize(made, max_growth=0)
    assert not optimize(found.proto, max_growth=0).applied
    for m, n in product((1, 2, 5), repeat=2):
        assert_same_outputs(made, found.proto, {"p": np.zeros((n, m), "f4"), "x": np.zeros((n + m, 3, n), "f4")})


def test_a_dim_of_unknown_sizes_in_fewer_words() -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]>
        g (float[N, N] x) => (float[A] w, int64[1] y) <int64[2] b = {-3, 2}, int64[2] e = {9223372036854775807, 9223372036854775807}, int64[2] a = {-1, -2}, int64[2] t = {-2, 3}, int64[1] o = {1}, int64[1] n = {0}> {
            d = Shape(v) i = Gather(d, n) v = Slice(h, b, e, a, t) w = Reshape(v, y) j = Gather(d, o) y = Concat<axis = 0>(p) p = Mul(i, j) h = HardSwish(x) }"""
    )
    found = optimize(made, max_growth=64)
    assert not optimize(found.proto, max_growth=64).applied
    for n in (3, 5, 7):
        assert_same_outputs(ordered(made), found.proto, {"x": np.arange(n * n, dtype="f4").reshape(n, n)})


def test_floats_that_are_known_once_a_node_is_folded() -> None:
    """Unique tells how many numbers there are of those that Pad has made."""
    made = parsed(
        """g (float[N] x) => (float[A] u, int64[B] y) <float[3] c = {0, 4, 4}, int64[2] p = {0, 5}, int64[1] o = {1}, int64[1] m = {-1}> {
            e = Pad<mode = "edge">(c, p) u, i, v, k = Unique(e) y = Slice(k, o, m, m) }"""
    )
    found = optimize(made)
    assert not optimize(found.proto).applied
    assert_same_outputs(made, found.proto, {"x": np.zeros(1, "f4")})


def test_floats_that_are_known_once_integers_are() -> None:
    """A Gather of a tensor of one element is that element; through floats it becomes an integer again."""
    made = parsed(
        """g (int64 i) => (int64 y, int64 z, int64[1] u) <int64[1] n = {0}, int64[1] c = {-2}, double h = {0.5}, int64 o = {0}> {
            v = Gather(c, i) d = Cast<to = 11>(v) a = Add(d, h) f = Floor(a) y = Cast<to = 7>(f) z = Gather(c, o) u = Unsqueeze(i, n) }"""
    )
    found = optimize(made, max_growth=0)
    assert ops(found.proto.graph) == ["Unsqueeze"]
    assert not optimize(found.proto, max_growth=0).applied
    assert_same_outputs(made, found.proto, {"i": np.array(0)})


def test_a_view_that_implies_what_a_node_implied_that_is_gone() -> None:
    """The Concat tells that x has 26 rows; it goes, and the new Reshape tells it again, which shows that it copies."""
    made = parsed(
        """g (float["N + M", 2] x, float[N] p, int64[M] q) => (seq(float[A, B]) y, float[26, B] z) <int64[1] m = {-1}> {
            c = Constant<value = float[26, 0] {}>() v = Reshape(x, m) s = Shape(x) r = Reshape(v, s)
            y = SequenceConstruct(r, r) z = Concat<axis = 1>(c, r) }"""
    )
    found = optimize(made)
    assert ops(found.proto.graph) == ["Identity", "SequenceConstruct"]
    assert not optimize(found.proto).applied
    feeds = {"x": np.arange(52, dtype="f4").reshape(26, 2), "p": np.zeros(20, "f4"), "q": np.zeros(6, "i8")}
    for before, after in zip(run(made, feeds), run(found.proto, feeds), strict=True):
        np.testing.assert_array_equal(before, after)


FUNCTIONS = {
    "pure": ("h = Neg(a) k = Shape(h) r = Cast<to = 1>(k)", False),
    "one that calls another": ("r = local.G(a)", False),
    "an operator of somebody": ("r = other.Beep(a)", True),
    "one in a branch": (
        "c = Constant<value_int = 1>() b = Cast<to = 9>(c) r = If(b)<then_branch = t () => (float[A] p) { p = other.Beep(a) },"
        " else_branch = e () => (float[A] q) { q = Neg(a) }>",
        True,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_call_that_nobody_reads(name: str) -> None:
    """It goes with what it reads, where every node of the function does nothing but compute."""
    body, stays = FUNCTIONS[name]
    made = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 21, "local": 1, "other": 1]>
        g (float[N] x) => (float[N] y) {{ d = Exp(x) u = local.F(d) y = Relu(x) }}
        <domain: "local", opset_import: ["": 21, "local": 1, "other": 1]> F (a) => (r) {{ {body} }}
        <domain: "local", opset_import: ["": 21]> G (a) => (r) {{ r = Neg(a) }}"""
    )
    assert ops(optimize(made).proto.graph) == (["Exp", "F", "Relu"] if stays else ["Relu"])
