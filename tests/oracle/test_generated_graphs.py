"""Whole random graphs against onnxruntime: a sample here, as many as one likes with `python -m tests.oracle.fuzz`."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import pytest

from gather_infer.ops.onnx import reshape
from gather_infer.rules import Context
from gather_infer.symbolic import Dim, symbol
from tests.inference.models import model
from tests.oracle.fuzz import examined
from tests.oracle.generated_graphs import Graph, check
from tests.oracle.graph_builder import Input
from tests.oracle.shrink import shrunk


def _examine(seeds: range, runs: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    found: list[str] = []
    for _, (more, _, texts) in examined(seeds, runs):
        counts += more
        found += texts
    assert not found, "\n\n".join(found)
    return counts


def test_no_fact_of_a_sample_of_graphs_is_wrong() -> None:
    counts = _examine(range(200), 8)
    assert counts["graphs"] >= 185, counts
    assert counts["runs"] >= 700, counts
    assert counts["symbolic dims"] >= 4000, counts


@pytest.mark.oracle
def test_no_fact_of_many_graphs_is_wrong() -> None:
    counts = _examine(range(1_000_000, 1_005_000), 12)
    assert counts["runs"] >= 20_000, counts


SPLIT = """(float[N, M] x, float[M] y) => (float[k, q] u) {
    shape = Shape(x) last = Constant<value = int64[1] {1}>() minus = Constant<value = int64[1] {-1}>()
    m = Gather(shape, last) target = Concat<axis=0>(minus, m) z = Add(x, y) w = Relu(z) u = Reshape(w, target)
}"""


def _imply_too_much(context: Context, dim: Dim) -> None:
    context.scope.require(dim - 1)


def _in_the_wrong_order(*_: object, **__: object) -> tuple[Dim, ...]:
    return (symbol("M"), symbol("N"))


@pytest.mark.parametrize(
    ("where", "name", "fault", "expected"),
    [
        (Context, "imply", _imply_too_much, "learnt that M is in [2, inf), is 1"),
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
