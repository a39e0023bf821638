# ruff: noqa: E501  (models as text)
"""No rewrite is justified by what the nodes imply that it takes out, nor two of them by each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto

from gather_infer import infer
from gather_infer.inference.incremental import add_equalities
from gather_infer.node_ids import MAIN
from gather_infer.passes import optimize
from gather_infer.passes.fact_support import FactSupport
from gather_infer.symbolic import known_le, symbol
from tests.passes.folding_models import ops
from tests.rewrites.table import run

SPARE = "s = Shape(x) d = Gather(s, zero) u = Unsqueeze(d, o) z = ConstantOfShape(u)"
"""A Gather that goes: there is one to spare."""

ROWS = "<int64[1, 1] i = {-1}, int64[1] o = {0}, int64 zero = {0}>"


def parsed(text: str) -> ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    onnx.checker.check_model(made)
    return made


CIRCLES = {
    "an index needs the rows that it reads": f"g (float[A, B] x) => (float[1, B] y, float[C] z) {ROWS} {{ {SPARE} y = GatherND(x, i) }}",
    "of what is computed": f"g (float[A, B] x) => (float[1, B] y, float[C] z) {ROWS} {{ {SPARE} n = Neg(x) y = GatherND(n, i) }}",
    "behind a batch of one": f"""g (float[1, A, B] x) => (float[1, 1, B] y, float[C] z)
        <int64[1, 1, 1] i = {{-1}}, int64[1] o = {{0}}, int64 zero = {{1}}> {{ {SPARE} y = GatherND<batch_dims = 1>(x, i) }}""",
}


@pytest.mark.parametrize("circle", CIRCLES)
def test_what_a_node_implies_does_not_take_it_out(circle: str) -> None:
    """onnxruntime lets GatherND of rows without elements pass, whatever the index, and Gather not."""
    made = parsed(CIRCLES[circle])
    after = optimize(made).proto
    assert "GatherND" in ops(after.graph)
    assert len(after.graph.node) < len(made.graph.node), "the spare Gather went"
    _agree(made, after)


def _agree(made: ModelProto, after: ModelProto) -> None:
    dims = [d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim]
    compared = 0
    for sizes in product(*((size,) if size else (0, 1, 2) for size in dims)):
        feeds = {"x": np.arange(np.prod(sizes), dtype="f4").reshape(sizes)}
        before = run(made, feeds)
        if before is not None:
            then = run(after, feeds)
            assert then is not None, f"it fails at {sizes}"
            assert all(np.array_equal(a, b) for a, b in zip(before, then, strict=True))
            compared += 1
    assert compared >= 3


def test_what_a_node_implies_that_stays_does() -> None:
    made = parsed(
        f"""g (float[A, B] x) => (float[1, B] y, float[C] z, int64[B] w) {ROWS} {{
            {SPARE} y = GatherND(x, i) w = ArgMax<axis = 0, keepdims = 0>(x) }}"""
    )
    assert "GatherND" not in ops(optimize(made, dims=["B=1..9"]).proto.graph)
    _agree(made, optimize(made).proto)


def test_two_nodes_do_not_justify_each_other() -> None:
    """A fact that both imply is lost when the second of them is removed, and no sooner."""
    made = parsed(
        "g (float[A, B] x) => (float[1, B] y, float[1, B] v) <int64[1] i = {0}> { y = Gather(x, i) v = Gather(x, i) }"
    )
    inference = infer(made)
    (fact,) = (fact for fact in inference.implied_facts if str(fact) == "A - 1")
    grounds = FactSupport(inference, add_equalities, lambda _: False)
    assert grounds.unsupported_after([(MAIN, 0)]) == grounds.unsupported_after([(MAIN, 1)]) == set()
    assert grounds.unsupported_after([(MAIN, 0), (MAIN, 1)]) == {fact}
    grounds.remove([(MAIN, 0)])
    assert grounds.unsupported == set() and grounds.unsupported_after([(MAIN, 1)]) == {fact}
    assert known_le(1, symbol("A"), grounds.scope_without(frozenset())) and not known_le(
        1, symbol("A"), grounds.scope_without(frozenset({fact}))
    )


MORE = "<int64[1, 1] i = {-1}, int64[1, 1] j = {0}, int64[1] o = {0}, int64[1] one = {1}, int64 zero = {0}>"

PASSED_OVER = {
    "two that gather": f"g (float[A, B] x) => (float[1, B] y, float[1, B] v, float[C] z) {MORE} {{ {SPARE} y = GatherND(x, i) v = GatherND(x, j) }}",
    "of what is computed": f"g (float[A, B] x) => (float[1, B] y, float[1, B] v, float[C] z) {MORE} {{ {SPARE} n = Neg(x) y = GatherND(x, i) v = GatherND(n, i) }}",
    "a size that is at least 1": f"g (float[A, B] x) => (float[1, B] y, float[D] v, float[C] z) {MORE} {{ {SPARE} y = GatherND(x, i) m = Max(u, one) v = ConstantOfShape(m) }}",
}


@pytest.mark.parametrize("what", PASSED_OVER)
def test_an_index_of_rows_that_may_be_empty_implies_nothing(what: str) -> None:
    """onnxruntime passes over the index of such rows, of a node that stays too."""
    made = parsed(PASSED_OVER[what])
    after = optimize(made).proto
    _agree(made, after)
    assert not optimize(after).applied


def test_a_view_demands_as_many_elements_in_every_runtime() -> None:
    made = parsed(
        """g (float[R, 4] x, float[B, S] q) => (float[C, D] y) <int64[1] c = {4}, int64[2] u = {-1, 4}> {
            s = Shape(q) t = Concat<axis = 0>(s, c) v = Reshape<allowzero = 1>(x, t) w = Exp(v) y = Reshape(w, u) }"""
    )
    assert ops(optimize(made).proto.graph) == ["Exp"]
    feeds = {"x": np.zeros((0, 4), "f4"), "q": np.zeros((1, 2), "f4")}
    assert run(made, feeds) is None
