"""Shape -> Gather -> Unsqueeze -> Concat -> Reshape in many forms: exact, and confirmed by a run."""

from __future__ import annotations

import pytest

from gather_infer.symbolic import symbol
from gather_infer.tensor import ValueRange
from tests.inference.models import check, model

SIZES = [(1, 4), (2, 4), (3, 8), (5, 12), (7, 4), (0, 4)]

# each takes x: float[N, S] with S a multiple of 4
CHAINS = {
    # id: (nodes, fact of y)
    "scalar index": ("n = Gather(s, zero) u = Unsqueeze(n, ax0) t = Concat<axis=0>(u, m1)", "float32[N, S]"),
    "negative scalar index": ("n = Gather(s, mone) u = Unsqueeze(n, ax0) t = Concat<axis=0>(m1, u)", "float32[N, S]"),
    "axis -1": ("n = Gather<axis=-1>(s, zero) u = Unsqueeze(n, ax0) t = Concat<axis=-1>(u, m1)", "float32[N, S]"),
    "vector of one": ("u = Gather(s, ax0) t = Concat<axis=0>(u, m1)", "float32[N, S]"),
    "vector of two, swapped": (
        "i = Constant<value = int64[2] {1, 0}>() t = Gather(s, i)",
        "float32[S, N]",
    ),
    "negative vector": ("i = Constant<value = int64[2] {-1, -2}>() t = Gather(s, i)", "float32[S, N]"),
    "matrix of indices": (
        "i = Constant<value = int64[1, 2] {1, 0}>() w = Gather(s, i) t = Squeeze(w, ax0)",
        "float32[S, N]",
    ),
    "matrix flattened": (
        "i = Constant<value = int64[2, 1] {0, 1}>() w = Gather(s, i) t = Reshape(w, m1)",
        "float32[N, S]",
    ),
    "product": (
        "n = Gather(s, zero) k = Gather(s, one) p = Mul(n, k) t = Unsqueeze(p, ax0)",
        "float32[N*S]",
    ),
    "product by ReduceProd": ("p = ReduceProd<keepdims=0>(s) t = Unsqueeze(p, ax0)", "float32[N*S]"),
    "floor division": (
        "n = Gather(s, zero) k = Gather(s, one) q = Div(k, four) nu = Unsqueeze(n, ax0) qu = Unsqueeze(q, ax0)"
        " f = Constant<value = int64[1] {4}>() t = Concat<axis=0>(nu, f, qu)",
        "float32[N, 4, S//4]",
    ),
    "-1 divides exactly": (
        "n = Gather(s, zero) nu = Unsqueeze(n, ax0) f = Constant<value = int64[1] {2}>() t = Concat<axis=0>(f, nu, m1)",
        "float32[2, N, S//2]",
    ),
    "partly known values": (
        "i = Constant<value = int64[1] {0}>() n = Gather(s, i) d = Cast<to=7>(c) t1 = Concat<axis=0>(n, d, m1)"
        " keep = Constant<value = int64[2] {0, 2}>() t = Gather(t1, keep)",
        "float32[N, S]",
    ),
    "slice of the shape": (
        "e = Constant<value = int64[1] {1}>() u = Slice(s, ax0, e) t = Concat<axis=0>(u, m1)",
        "float32[N, S]",
    ),
    "split of the shape": ("a, b = Split<axis=0>(s) t = Concat<axis=0>(b, a)", "float32[S, N]"),
    "float round trip": (
        "f = Cast<to=11>(s) h = Constant<value = double {0.5}>() g = Mul(f, h) fl = Floor(g) i = Cast<to=7>(fl)"
        " k = Gather(i, one) ku = Unsqueeze(k, ax0) n = Gather(s, zero) nu = Unsqueeze(n, ax0)"
        " two = Constant<value = int64[1] {2}>() t = Concat<axis=0>(nu, two, ku)",
        "float32[N, 2, S//2]",
    ),
    "GatherElements": ("i = Constant<value = int64[2] {1, 0}>() t = GatherElements<axis=0>(s, i)", "float32[S, N]"),
    "GatherND": ("i = Constant<value = int64[2, 1] {1, 0}>() t = GatherND(s, i)", "float32[S, N]"),
    "Where keeps what is known": (
        "m = Constant<value = int64[2] {-1, -1}>() k = Constant<value = int64[2] {1, 1}>() e = Equal(k, m)"
        " t = Where(e, k, s)",
        "float32[N, S]",
    ),
}
HEAD = """
  s = Shape(x)
  zero = Constant<value = int64 {0}>() one = Constant<value = int64 {1}>() mone = Constant<value = int64 {-1}>()
  four = Constant<value = int64 {4}>() ax0 = Constant<value = int64[1] {0}>() m1 = Constant<value = int64[1] {-1}>()
"""


@pytest.mark.parametrize("name", CHAINS)
def test_chain_is_exact(name: str) -> None:
    nodes, expected = CHAINS[name]
    proto = model(f"(float[N, S] x, float[1] c) => (float y) {{ {HEAD} {nodes} y = Reshape(x, t) }}")
    del proto.graph.output[0].type.tensor_type.shape.dim[:]
    proto.graph.output[0].ClearField("type")
    # a batch of 0 is legal only where no entry of the target rests on it
    runs = [({"N": n, "S": s}, {"x": (n, s), "c": (1,)}) for n, s in SIZES if n]
    inference, _ = check(proto, runs)
    assert str(inference["y"]) == expected
    assert [d for d in inference.diagnostics if d.severity != "note"] == []


def test_start_and_end_of_shape() -> None:
    proto = model(
        "(float[A, B, C] x) => (int64[K] a, int64[K] b) { a = Shape<start=1>(x) b = Shape<start=-1, end=9>(x) }"
    )
    inference, _ = check(
        proto, [({"A": 2, "B": 3, "C": 5}, {"x": (2, 3, 5)}), ({"A": 0, "B": 1, "C": 1}, {"x": (0, 1, 1)})]
    )
    assert str(inference["a"]) == "int64[2] = [B, C]"
    assert str(inference["b"]) == "int64[1] = [C]"


def test_a_custom_operator_named_shape_is_not_shape() -> None:
    proto = model("(float[N, 3] x) => (float y) { s = local.Shape(x) y = Expand(x, s) }", domains=', "local": 1')
    from gather_infer import infer

    inference = infer(proto)
    assert [d.code for d in inference.diagnostics] == ["GI105"]
    assert str(inference["s"]) == "?[...]"


def test_one_position_table_limits_the_sequence() -> None:
    """BERT: the position table is sliced to the sequence and added; so seq <= 8, and the result keeps seq."""
    proto = model(
        """(float[B, seq, 4] x, float[8, 4] table) => (float y) {
          s = Shape(x) one = Constant<value = int64 {1}>() n = Gather(s, one)
          ax0 = Constant<value = int64[1] {0}>() e = Unsqueeze(n, ax0) p = Slice(table, ax0, e) y = Add(x, p) }"""
    )
    proto.graph.output[0].ClearField("type")
    runs = [
        ({"B": b, "seq": s}, {"x": (b, s, 4), "table": (8, 4)}) for b, s in ((1, 1), (2, 7), (3, 8), (0, 5), (2, 0))
    ]
    inference, _ = check(proto, runs)
    assert str(inference["y"]) == "float32[B, seq, 4]"
    assert "seq <= 8" in map(str, inference.constraints)


def test_what_a_late_node_implies_simplifies_what_an_early_one_computed() -> None:
    """wav2vec2 counts its frames before the convolution that fails without one."""
    proto = model("""(float[1, 1, N] x, float[1, 1, 2] w) => (float y) {
        s = Shape<start = 2>(x) two = Constant<value_ints = [2]>() one = Constant<value_ints = [1]>()
        d = Sub(s, two) q = Div(d, two) n = Add(q, one) m1 = Constant<value_ints = [-1]>() t = Concat<axis = 0>(n, m1)
        c = Conv<strides = [2]>(x, w) y = Reshape(c, t) }""")
    proto.graph.output[0].ClearField("type")
    inference, _ = check(proto, [({"N": n}, {"x": (1, 1, n), "w": (1, 1, 2)}) for n in (2, 3, 4, 9)])
    assert str(inference["y"]) == "float32[N//2, 1]"
    assert inference.constraints == ()


def test_a_short_range_preserves_its_bounds_and_assumes_no_absurd_limit() -> None:
    """Cells of a grid times the stride, in int32, as detectors make their anchors."""
    proto = model(
        """(float[N, 3] x) => (int32[a] cells, int32[b] places) {
          s = Shape(x) zero = Constant<value = int64 {0}>() n = Gather(s, zero) count = Cast<to = 6>(n)
          first = Constant<value = int32 {0}>() step = Constant<value = int32 {1}>()
          cells = Range(first, count, step) places = Mul(cells, count) }"""
    )
    inference, runs = check(proto, [({"N": n}, {"x": (n, 3)}) for n in (1, 2, 7, 50)])
    assert [str(a) for a in inference.assumptions] == [
        "N <= 2147483647 (node Cast#3)",
        "N*N - N <= 2147483647 (node Mul#7)",
    ]
    assert not any(run.assumption_fails for run in runs)
    n = symbol("N")
    assert inference["cells"].value_range == ValueRange(0, n - 1)
    assert inference["places"].value_range == ValueRange(0, n * n - n)


def test_quotients_of_symbols_with_a_meaning_are_written_out() -> None:
    inference, _ = check(
        model("""(float[N] x, float[M] y) => (float[p] z, float[q] r) {
          z = Add(x, y) s = Shape(z) f = Cast<to = 1>(s) three = Constant<value = float {3}>() r = Div(f, three) }"""),
        [({"N": n, "M": m}, {"x": (n,), "y": (m,)}) for n, m in ((4, 4), (1, 7), (0, 1))],
    )
    assert str(inference["r"]) == "float32[1] = [(min(M*N, max(M, N)))/3]"
    assert inference.causes == {}
