"""Whole random graphs against onnxruntime: a sample here, as many as one likes with `python -m tests.oracle.fuzz`."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import onnx
import pytest

from gather_infer import infer
from gather_infer.context import Context
from gather_infer.ops.onnx import reshape
from gather_infer.symbolic import Dim, symbol
from tests.inference.models import model
from tests.oracle.fuzz import examined
from tests.oracle.generated_graphs import Graph, check
from tests.oracle.graph_builder import Input
from tests.oracle.shrink import shrunk
from tests.oracle.soundness import Runtime, compare


def _examine(seeds: range, runs: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    found: list[str] = []
    for _, (more, _, texts) in examined(seeds, runs):
        counts += more
        found += texts
    assert not found, "\n\n".join(found)
    return counts


def test_no_fact_of_a_sample_of_graphs_is_wrong() -> None:
    counts = _examine(range(130), 8)
    assert counts["graphs"] >= 92, counts
    assert counts["runs"] >= 350, counts
    assert counts["symbolic dims"] >= 2000, counts


@pytest.mark.oracle
def test_no_fact_of_many_graphs_is_wrong() -> None:
    counts = _examine(range(1_000_000, 1_005_000), 12)
    assert counts["runs"] >= 20_000, counts


SPLIT = """(float[N, M] x, float[M] y) => (float[k, q] u) {
    shape = Shape(x) last = Constant<value = int64[1] {1}>() minus = Constant<value = int64[1] {-1}>()
    m = Gather(shape, last) target = Concat<axis=0>(minus, m) z = Add(x, y) w = Relu(z) u = Reshape(w, target)
}"""


def _imply_too_much(context: Context, dim: Dim) -> None:
    context.scope.add_fact(dim - 1)


def _in_the_wrong_order(*_: object, **__: object) -> tuple[Dim, ...]:
    return (symbol("M"), symbol("N"))


@pytest.mark.parametrize(
    ("where", "name", "fault", "expected"),
    [
        (Context, "add_implied_fact", _imply_too_much, "learnt that M is in [2, inf), is 1"),
        (reshape, "reshaped", _in_the_wrong_order, "u: dim 0 inferred M"),
    ],
    ids=["a fact that is not implied", "dims in the wrong order"],
)
def test_the_oracle_sees_what_is_wrong_and_shrinks_it(where: Any, name: str, fault: Any, expected: str) -> None:
    proto = model(SPLIT, opset=18)
    inputs = [Input("x", ("N", "M"), "float"), Input("y", ("M",), "float")]
    graph = Graph(0, proto, proto, inputs, ["M", "N"])
    assert check(graph, 12, Counter()) is None
    with mock.patch.object(where, name, fault):
        found = check(graph, 12, Counter())
        assert found is not None
        assert any(expected in text for text in found.texts), found.texts
        smaller = shrunk(found)
    assert len(smaller.graph.model.graph.node) < len(proto.graph.node)


TILED = """(float[N, M] x, float[M] y, int64[2] sizes) => (float[k, q] u) <int64[1] one = {1}> {
    tiled = Tile(x, sizes) counts = Shape(tiled) count = Gather(counts, one) is_empty = Less(count, one)
    v = If(is_empty) <
        then_branch = t () => (float[a] o) { o = Identity(y) },
        else_branch = e () => (float[a, b] p) { p = Identity(x) }
    >
    shape = Shape(x) last = Constant<value = int64[1] {1}>() minus = Constant<value = int64[1] {-1}>()
    m = Gather(shape, last) target = Concat<axis=0>(minus, m) u = Reshape(x, target)
}"""

HIDDEN_TILE = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
g (float[N, M] x, float[M] y, int64[2] sizes) => (float[k, q] u) {
    v = local.chosen(x, y, sizes)
    shape = Shape(x) last = Constant<value = int64[1] {1}>() minus = Constant<value = int64[1] {-1}>()
    m = Gather(shape, last) target = Concat<axis=0>(minus, m) u = Reshape(x, target)
}
<domain: "local", opset_import: ["" : 18]> chosen (x, y, sizes) => (v) {
    one = Constant<value = int64[1] {1}>() tiled = Tile(x, sizes) counts = Shape(tiled)
    count = Gather(counts, one) is_empty = Less(count, one)
    v = If(is_empty) <
        then_branch = t () => (float[a] o) { o = Identity(y) },
        else_branch = e () => (float[a, b] p) { p = Identity(x) }
    >
}"""


def _tiled(text: str) -> Graph:
    proto = model(text, opset=18) if not text.startswith("<") else onnx.parser.parse_model(text)
    inputs = [Input("x", ("N", "M"), "float"), Input("y", ("M",), "float"), Input("sizes", (2,), "count")]
    return Graph(3, proto, proto, inputs, ["M", "N"], least={"N": 1, "M": 1})


@pytest.mark.parametrize("text", [TILED, HIDDEN_TILE], ids=["seen", "not seen"])
def test_what_is_assumed_of_data_is_held_against_the_run(text: str) -> None:
    """Which branch is taken rests on `tile_1 >= 1`, which the sizes of the Tile tell where they are seen."""
    counts: Counter[str] = Counter()
    assert check(_tiled(text), 40, counts) is None
    outside = "runs outside the assumptions" if text is TILED else "runs that may be outside the assumptions"
    assert 1 <= counts[outside] < 40 and counts["runs"] >= 1, counts


def test_a_wrong_dim_is_seen_next_to_an_assumption_that_holds() -> None:
    with mock.patch.object(reshape, "reshaped", _in_the_wrong_order):
        found = check(_tiled(TILED), 40, Counter())
    assert found is not None and any("u: dim 0 inferred M" in text for text in found.texts), found


JOINED = """(float[N] x, bool flag) => (int64[k] w, float[p] u) {
    u = If(flag) <
        then_branch = t () => (float[a] o) { o = Identity(x) },
        else_branch = e () => (float[b] p) { p = Concat<axis = 0>(x, x, x) }
    >
    v = Shape(u) w = Reshape(v, v)
}"""


def test_a_symbol_is_what_the_first_tensor_tells_in_whatever_order_a_run_lists_them() -> None:
    """A target entry `if_0` of 0 keeps the one element: `w` has the size `if_0` only where that is assumed to be 1."""
    proto = model(JOINED, opset=18)
    inference = infer(proto)
    assert [(str(a.dim), a.lower) for a in inference.assumptions] == [("if_0", 1)]
    runtime = Runtime(proto)
    outside = runtime.run({"x": np.zeros(0, np.float32), "flag": np.array(True)})
    assert (outside["u"].shape, outside["w"].shape) == ((0,), (1,))
    for names in (("w", "u", "v"), ("v", "w", "u")):
        found = compare(inference, {name: outside[name] for name in names}, {"N": 0})
        assert found.assumption_fails, names
    inside = runtime.run({"x": np.zeros(1, np.float32), "flag": np.array(True)})
    found = compare(inference, {name: inside[name] for name in ("w", "u", "v")}, {"N": 1})
    assert not found.assumption_fails and found.wrong == []


def test_batch_dims_that_differ_are_a_fault_of_the_runtime() -> None:
    text = """(float[N, M] x) => (float[k, q] u) <float[1, 3, 1] data = {1, 2, 3}, int64[3, 1] indices = {0, 1, 2}> {
        y = GatherND<batch_dims=1>(data, indices)
        shape = Shape(x) last = Constant<value = int64[1] {1}>() minus = Constant<value = int64[1] {-1}>()
        m = Gather(shape, last) target = Concat<axis=0>(minus, m) u = Reshape(x, target)
    }"""
    proto = model(text, opset=18)
    counts: Counter[str] = Counter()
    assert check(Graph(0, proto, proto, [Input("x", ("N", "M"), "float")], ["M", "N"]), 12, counts) is None
    assert counts["runs with a known fault"] >= 1, counts
    right = model(text.replace("float[1, 3, 1]", "float[3, 1, 1]").replace("{0, 1, 2}", "{0, 0, 0}"), opset=18)
    graph = Graph(0, right, right, [Input("x", ("N", "M"), "float")], ["M", "N"])
    assert check(graph, 12, Counter()) is None
    with mock.patch.object(reshape, "reshaped", _in_the_wrong_order):
        assert check(graph, 12, Counter()) is not None
