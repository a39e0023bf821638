"""Costs of small models, counted by hand: bodies of If, Loop, Scan, SequenceMap and functions, what is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from onnx import ModelProto, helper, parser

from gather_infer import DType, infer
from gather_infer.symbolic import factored

HEAD = '<ir_version: 10, opset_import: ["" : 21, "loc" : 1]>'


def model(graph: str, functions: str = "") -> ModelProto:
    return parser.parse_model(f"{HEAD}\n{graph}\n{functions}")


@dataclass(frozen=True)
class Expected:
    """The cost of a model, derived from the page of each operator."""

    macs: str
    peak: str
    reads: str = ""
    writes: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


CASES: dict[str, tuple[str, Expected]] = {
    "a chain": (
        "g (float[N,4] x, float[4,8] w) => (float[N,8] y) { h = MatMul(x, w) y = Relu(h) }",
        # x and w, then h beside them; at Relu h and y alone
        Expected("32*N", "max(48*N + 128, 64*N)", "16*N + 128 + 32*N", "64*N"),
    ),
    "what is read later stays": (
        "g (float[N] x) => (float[N] y) { a = Relu(x) b = Exp(a) c = Neg(b) y = Add(c, x) }",
        Expected("0", "12*N"),
    ),
    "an operand that is read twice": (
        "g (float[N] x) => (float[N] y) { y = Mul(x, x) }",
        Expected("0", "8*N", "4*N", "4*N"),
    ),
    "outputs stay": (
        "g (float[N] x) => (float[N] a, float[N] y) { a = Relu(x) b = Exp(a) y = Neg(b) }",
        Expected("0", "12*N"),
    ),
    "an output that nobody reads": (
        "g (float[N] x) => (float[N] y) { a = Relu(x) z = Exp(a) y = Neg(a) }",
        Expected("0", "8*N"),
    ),
    "an input that nobody reads": (
        "g (float[N] x, float[M] u) => (float[N] y) { y = Relu(x) }",
        Expected("0", "max(4*N + 4*M, 8*N)"),
    ),
    "an input that is an output": (
        "g (float[N] x) => (float[N] x, float[N] y) { t = Relu(x) y = Exp(t) }",
        Expected("0", "12*N"),
    ),
    "no nodes": ("g (float[N] x) => (float[N] x) { }", Expected("0", "4*N")),
    "constants are no activations": (
        "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> "
        "{ c = Constant<value = float[2] {3, 4}>() t = Add(x, w) y = Add(t, c) }",
        Expected("0", "16*N", "8*N + 8 + 8*N + 8", "16*N"),
    ),
    "nodes in no order": (
        "g (float[N] x) => (float[N] y) { b = Relu(a) a = Neg(x) y = Exp(b) }",
        Expected("0", "8*N"),
    ),
    "rows that are picked": (
        "g (float[100,8] t, int64[N] i) => (float[N,8] y) { y = Gather(t, i) }",
        Expected("0", "3200 + 8*N + 32*N", "32*N + 8*N", "32*N"),
    ),
    "dims alone are told": (
        "g (float[N,8] x) => (int64[2] y) { y = Shape(x) }",
        Expected("0", "32*N + 16", "0", "16"),
    ),
    "four bits": ("g (int4[N] x) => (int4[N] y) { y = Identity(x) }", Expected("0", "2*((N + 1)//2)")),
    "an If has its larger branch": (
        "g (float[N,4] x, bool c, float[4,8] w) => (float[N,8] y) {"
        " y = If (c) <then_branch = t () => (float[N,8] a) { a = MatMul(x, w) },"
        " else_branch = e () => (float[N,8] b) { h = MatMul(x, w) k = Relu(h) b = Exp(k) }> }",
        # x, c and w are read by the branches; h and k beside them
        Expected("32*N", "16*N + 1 + 128 + 64*N", "16*N + 128 + 64*N", "96*N"),
    ),
    "an If of which the branch is known": (
        "g (float[N,4] x, float[4,8] w) => (float[N,4] y) <bool c = {0}> {"
        " y = If (c) <then_branch = t () => (float[N,8] a) { a = MatMul(x, w) },"
        " else_branch = e () => (float[N,4] b) { b = Relu(x) }> }",
        Expected("0", "max(16*N + 128 + 16*N, 32*N)", "16*N", "16*N"),
    ),
    "a Loop whose trips a run decides": (
        "g (float[4,4] x, int64 m, bool c) => (float[4,4] y, float[K,4,4] z) {"
        " y, z = Loop (m, c, x) <body = b (int64 i, bool cc, float[4,4] s)"
        " => (bool co, float[4,4] so, float[4,4] sc) { co = Identity(cc) so = MatMul(s, x) sc = Relu(so) }> }",
        # x, m, c and z; i, cc and s go as they are read: at MatMul co, s and so; at Relu co, so and sc
        Expected(
            "64*trips_0",
            "64 + 8 + 1 + 64*trips_0 + 1 + 128",
            "trips_0*(1 + 64 + 64 + 64) + 64*trips_0",
            "trips_0*(1 + 64 + 64) + 64*trips_0",
        ),
    ),
    "a Loop whose state grows": (
        "g (float[N,4] x, float[1,4] r, float[4,4] w) => (float[M,4] y) <int64 zero = {0}> {"
        " sh = Shape(x) n = Gather(sh, zero)"
        " y = Loop (n, , x) <body = b (int64 i, bool cc, float[P,4] s) => (bool co, float[Q,4] so)"
        " { co = Identity(cc) t = Concat<axis=0>(s, r) so = MatMul(t, w) }> }",
        # iteration i multiplies N + i + 1 rows: 16 * (N*N + N*(N - 1)/2 + N)
        Expected("24*N*N + 8*N", "16*N + 16 + 64 + 8 + 1 + 32*(N + max(0, N - 1) + 1)"),
    ),
    "a Loop in a Loop": (
        "g (float[3,4] x, float[4,4] w) => (float[3,4] y) <int64 two = {2}, int64 five = {5}> {"
        " y = Loop (two, , x) <body = b (int64 i, bool cc, float[3,4] s) => (bool co, float[3,4] so) {"
        "  co = Identity(cc)"
        "  so = Loop (five, , s) <body = d (int64 j, bool dc, float[3,4] u) => (bool do, float[3,4] uo)"
        "   { do = Identity(dc) uo = MatMul(u, w) }> }> }",
        Expected("480", "48 + 64 + 1 + 48 + 1 + 48 + 48"),
    ),
    "a Scan": (
        "g (float[B,4] h, float[T,B,3] x, float[3,4] w) => (float[B,4] y, float[T,B,4] z) {"
        " y, z = Scan <num_scan_inputs = 1, body = b (float[B,4] s, float[B,3] e)"
        " => (float[B,4] so, float[B,4] sc) { p = MatMul(e, w) so = Add(s, p) sc = Identity(so) }> (h, x) }",
        # h, x, w and z; at Add s, p and so
        Expected("12*B*T", "16*B + 12*T*B + 48 + 16*T*B + 48*B"),
    ),
    "a SequenceMap": (
        "g (float[N] x) => (y) { e = SequenceConstruct(x, x)"
        " y = SequenceMap<body = b (float[N] s) => (float[N] o) { o = Relu(s) }>(e) }",
        # e and y, a member and what becomes of it
        Expected("0", "8*N + 8*N + 8*N", "4*N + 2*4*N + 8*N", "8*N + 2*4*N + 8*N"),
    ),
    "an operator that nobody knows": (
        "g (float[N] x) => (float[N] y) { a = Relu(x) y = loc.Bar(a) }",
        Expected(
            "0", "8*N", "8*N", "4*N + 4*N", (("macs", "loc.Bar has no formula"),)
        ),
    ),
    "strings": (
        "g (string[N] x) => (string[N] y) { y = Identity(x) }",
        Expected(
            "0", "0", "0", "0",
            tuple((what, "strings have no fixed size") for what in ("peak", "peak", "reads", "writes")),
        ),
    ),
    "a cycle": (
        "g (float[N] x) => (float[N] y) { b = Relu(a) a = Neg(b) y = Exp(x) }",
        Expected(
            "0", "8*N", "4*N", "4*N",
            tuple((what, "it is on a cycle") for what in ("macs", "macs", "peak", "peak", "reads", "reads", "writes",
                                                            "writes")),
        ),
    ),
}  # fmt: skip


def same(found: object, expected: str) -> bool:
    from gather_infer.symbolic import known_eq, parse_dim

    return known_eq(found, parse_dim(expected)) is True  # type: ignore[arg-type] # a sum that is not told is no Dim, and fails


@pytest.mark.parametrize("name", CASES)
def test_cost_of(name: str) -> None:
    text, expected = CASES[name]
    cost = infer(model(text)).cost()
    assert same(cost.macs, expected.macs), factored(cost.macs)
    assert same(cost.peak, expected.peak), factored(cost.peak)
    if expected.reads:
        assert same(cost.reads, expected.reads), factored(cost.reads)
        assert same(cost.writes, expected.writes), factored(cost.writes)
    assert sorted((gap.quantity, gap.reason) for gap in cost.unknown_contributions) == sorted(expected.left_out)


def test_a_model_of_nothing_costs_nothing() -> None:
    cost = infer(model("g () => (float[2] y) <float[2] y = {1, 2}> { }")).cost()
    assert (cost.macs, cost.peak, cost.program_points, cost.peaks) == (0, 0, (), ())
    assert cost.parameter_bytes == 8


def test_a_function_costs_what_its_body_does() -> None:
    """Attributes come from the call: the second one turns nothing."""
    text = (
        "g (float[N,4] x, float[6,4] v, float[6,4] w) => (float[N,4] y) { a = loc.f<k=1>(x, v) y = loc.f<k=0>(a, w) }"
    )
    function = (
        '<opset_import: ["" : 21], domain: "loc"> f <k> (p, q) => (r) { s = Gemm<transB: int = @k>(p, q) r = Relu(s) }'
    )
    cost = infer(model(text, function)).cost()
    assert factored(cost.macs) == "48*N"
    assert [str(node.node) for node in cost.nodes] == ["f#0/Gemm#0", "f#0/Relu#1", "f#1/Gemm#0", "f#1/Relu#1"]
    assert ["?" if node.macs is None else factored(node.macs) for node in cost.nodes] == ["24*N", "0", "24*N", "0"]
    # in the first call x, v and w stay, as a caller holds what it gives; s and r beside them
    assert same(cost.peak, "16*N + 96 + 96 + 24*N + 24*N")


def test_a_branch_is_counted_once_and_listed_twice() -> None:
    cost = infer(model(CASES["an If has its larger branch"][0])).cost()
    assert cost.branches == 1
    assert [node.op_type for node in cost.nodes] == ["MatMul", "MatMul", "Relu", "Exp"]
    (matmul,) = [row for row in cost.by_operator() if row.op_type == "MatMul"]
    assert (matmul.nodes, factored(matmul.macs)) == (2, "64*N")


def test_iterations_that_differ_are_not_summed() -> None:
    text = (
        "g (float[N] x, int64[K] at) => (float[K] y) <int64 zero = {0}, int64[1] axis = {0}, bool go = {1}> {"
        " sh = Shape(at) n = Gather(sh, zero)"
        " y = Loop (n, go) <body = b (int64 i, bool cc) => (bool co, float s) {"
        "  co = Identity(cc) e = Gather(at, i) end = Unsqueeze(e, axis)"
        "  part = Slice(x, axis, end) s = ReduceSum<keepdims=0>(part) }> }"
    )
    cost = infer(model(text)).cost()
    assert {gap.quantity for gap in cost.unknown_contributions} == {"reads", "writes", "peak"}
    assert all("may differ from iteration to iteration" in gap.reason for gap in cost.unknown_contributions)
    assert factored(cost.macs) == "0"
    assert not cost.is_exact("peak")


def test_parameters_by_type() -> None:
    weights = helper.make_tensor("w", 22, [3], bytes([0x21, 0x03]), raw=True)  # three elements of four bits
    found = model(
        "g (float[N] x) => (float[N] y) <float[2] a = {1, 2}, int64[3] b = {1, 2, 3}> "
        "{ c = Constant<value_ints = [1, 2]>() d = Constant<value_float = 1.0>() y = Add(x, d) }"
    )
    found.graph.initializer.append(weights)
    cost = infer(found).cost()
    assert dict(cost.parameters) == {DType.INT64: 3 * 8 + 2 * 8, DType.FLOAT32: 2 * 4 + 4, DType.INT4: 2}
    assert cost.parameter_bytes == 40 + 12 + 2


def test_a_default_of_an_input_is_a_parameter() -> None:
    found = model("g (float[N] x, float[2] w) => (float[N] y) <float[2] w = {1, 2}> { y = Relu(x) }")
    cost = infer(found).cost()
    assert factored(cost.peak) == "8*N"
    assert cost.parameter_bytes == 8


@pytest.mark.parametrize(
    ("size", "expected"), [(1, {"trips": 1}), (3, {"trips": 3}), (0, {"trips": 0})], ids=["one", "three", "none"]
)
def test_a_loop_at_sizes_is_the_loop_of_that_many_trips(size: int, expected: dict[str, Any]) -> None:
    text = CASES["a Loop whose state grows"][0]
    at = infer(model(text)).cost().at(N=size)
    assert at.macs == sum(16 * (size + i + 1) for i in range(expected["trips"]))
    assert at.macs == infer(model(text), dims={"N": size}).cost().macs
