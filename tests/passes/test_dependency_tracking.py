# ruff: noqa: E501  (models as text)
"""Nodes with new facts are enqueued again, and dead nodes are removed at once: nothing is left for a
second run, in which the whole model is looked at anew."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

from gather_infer.passes import fold, optimize
from tests.passes.folding_models import assert_same_outputs, ops

ASKED = {
    # id: (the graph, its nodes afterwards)
    "another reader has gone, and the last one is asked": (
        """g (float[2,4,3] x) => (float[2,3] y, int64[3] z) <float[3] c = {1, 2, 3}, int64 i = {1}> {
            a = Add(x, c) s = Shape(a) z = Neg(s) y = Gather<axis = 1>(a, i) }""",
        ["Gather", "Add"],
    ),
    "a reader has gone, and the node is asked that it has read": (
        """g (float[2,4,3] x) => (float[2,4,3] y, int64[3] z) {
            a = Abs(x) b, m = Dropout(a) y = Neg(b) s = Shape(m) z = Neg(s) }""",
        ["Abs", "Neg"],
    ),
    "what is read has come to be another value": (
        """g (float[2,3] x) => (float[2,3] y) { a = Transpose(x) b = Identity(a) c = Identity(b) d = Transpose(c) y = Neg(d) }""",
        ["Neg"],
    ),
    "constants have become one, and so do those who read them": (
        "g (float[2,3] x) => (float[2,3] y) <float[1] c = {2}, float[1] d = {2}> { a = Mul(x, c) b = Mul(x, d) y = Add(a, b) }",
        ["Mul", "Add"],
    ),
    "a new node is asked itself": (
        """g (float[2,4,3] x) => (float[2,4,3] y) {
            a = Transpose<perm = [1, 2, 0]>(x) b = Transpose<perm = [1, 2, 0]>(a) c = Transpose<perm = [1, 2, 0]>(b) y = Neg(c) }""",
        ["Neg"],
    ),
    "a body has taken the place of its node": (
        """g (float[2,3] x) => (float[2,3] y) <bool c = {1}> {
            a = Transpose(x)
            b = If (c) <then_branch = t () => (float[2,3] p) { q = Neg(a) p = Transpose(q) }, else_branch = e () => (float[2,3] r) { r = Abs(x) }>
            y = Neg(b) }""",
        None,
    ),
}


@pytest.mark.parametrize("what", ASKED)
def test_in_one_run(what: str) -> None:
    text, nodes = ASKED[what]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    result = optimize(made)
    assert result.applied
    assert not optimize(result.proto).applied
    assert nodes is None or ops(result.proto.graph) == nodes
    shape = [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim]
    assert_same_outputs(made, result.proto, {"x": np.random.default_rng(0).standard_normal(shape).astype("f4")})


LATE = {
    # id: (the graph, its nodes afterwards, those of branches too, bytes by which constants may grow)
    "a constant of a branch is there outside now": (
        """g (int64[N] a, bool b, float[1,3] x) => (int64[N] y, int64 k) <int64 z = {0}> {
            s = Shape(x) k = Gather(s, z)
            y = If (b) <then_branch = t () => (int64[N] p) <int64 c = {1}> { p = Add(a, c) }, else_branch = e () => (int64[N] r) { r = Neg(a) }> }""",
        ["If", "Add", "Neg"],
        1 << 20,
    ),
    "a node of a branch is there outside now": (
        """g (float[N] a, bool b) => (float[N] y, float[N] w) <int64[1] c = {-1}> {
            d = Reshape(a, c) w = Exp(d)
            y = If (b) <then_branch = t () => (float[N] p) { q = Exp(a) p = Neg(q) }, else_branch = e () => (float[N] r) { r = Abs(a) }> }""",
        ["Exp", "If", "Neg", "Abs"],
        1 << 20,
    ),
    "an output is a constant now that others can read": (
        """g (float[5] a) => (float[5,1] y, int64[1] k) <float[5] h = {1, 2, 3, 4, 5}, int64[1] d = {2}, int64[1] e = {-1}> {
            k = Add(d, e) c = Constant<value = int64[1] {1}>() b = Add(a, h) y = Unsqueeze(b, c) }""",
        ["Add", "Unsqueeze"],
        0,
    ),
    "a constant is there that was too many before": (
        """g (float[1,N] x) => (float[N] y, int64[1] k) <int32 i = {-1}, int64[1] c = {2}, int64[1] d = {-2}> {
            k = Add(c, d) g = Gather<axis = 0>(x, i) y = Neg(g) }""",
        ["Squeeze", "Neg"],
        0,
    ),
    "what a node two further up reads is a constant now": (
        """g (float[2,3] x, float[4,7] w) => (float[2,3] y) <int64[1] t = {6}, int64[2] u = {2, 3}> {
            s = Size(w) k = Cast<to = 1>(s) v = Reshape(x, t) e = Mul(v, k) f = Exp(e) y = Reshape(f, u) }""",
        ["Mul", "Exp"],
        1 << 20,
    ),
    "more is known of what is read": (
        """g (float[B,4,1,P] x) => (float[B,4,Q,P] z) <int64[1] one = {1}, int64[1] four = {4}, int64[1] rest = {-1}> {
            b = Shape<end = 1>(x) p = Shape<start = 3>(x) m = Mul(b, four)
            t = Concat<axis = 0>(m, one, p) a = Reshape(x, t) u = Concat<axis = 0>(b, four, rest, p)
            y = Reshape(a, u) z = Neg(y) }""",
        ["Neg"],
        1 << 20,
    ),
    "more is known of what a branch gives": (
        """g (float[2,3] x) => (float[2,3] y, int64[2] z) <string a = {"s"}, string b = {"s"}> {
            c = Equal(a, b)
            d = If (c) <then_branch = t () => (float[2,3] p) { p = Neg(x) }, else_branch = e () => (float[4,3] r) { r = Concat<axis = 0>(x, x) }>
            y = Abs(d) z = Shape(d) }""",
        ["Neg", "Abs"],
        1 << 20,
    ),
    "the body of a loop has got small enough": (
        """g (int64[4] a) => (int64[N] y, int64[1] k) <int64 one = {1}, bool on = {1}, int64[1] c = {3}, int64[1] d = {-4}> {
            k = Add(c, d)
            y = Loop (one, on, a) <body = l (int64 i, bool go, int64[M] s) => (bool still, int64[M] r) <int64[1] e = {-1}> {
                still = Identity(go) r = Add(s, e) }> }""",
        ["Add"],
        0,
    ),
}


def _operators(graph: onnx.GraphProto) -> list[str]:
    found = []
    for node in graph.node:
        found += [node.op_type, *(name for attribute in node.attribute for name in _operators(attribute.g))]
    return [name for name in found if name != "Constant"]


@pytest.mark.parametrize("what", LATE)
def test_what_comes_late(what: str) -> None:
    """Nodes are asked about from the end of the model: what stands first has changed when the others were asked already."""
    text, nodes, growth = LATE[what]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    onnx.checker.check_model(made)
    result = optimize(made, max_growth=growth)
    assert _operators(result.proto.graph) == nodes, onnx.printer.to_text(result.proto)
    assert not any(len(later.journal) for later in result.rounds[1:]), "another inference finds nothing"
    assert not optimize(result.proto, max_growth=growth).applied
    random = np.random.default_rng(0)
    sizes = {"N": 5, "B": 2, "P": 3}
    types = {1: "f4", 7: "i8", 9: "?"}
    feeds = {}
    for value in made.graph.input:
        tensor = value.type.tensor_type
        shape = [sizes.get(dim.dim_param, dim.dim_value) for dim in tensor.shape.dim]
        feeds[value.name] = random.integers(0, 2, shape).astype(types[tensor.elem_type])
    assert_same_outputs(made, result.proto, feeds)


def test_a_constant_that_the_call_of_a_function_reads_too() -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21, "local": 1]>
        g (float[1,N] a) => (float[N] y, int64[1] k, int64[1] w) <int64[1] c = {0}, int64[1] d = {2}, int64[1] e = {-2}> {
            k = Add(d, e) w = local.F(c) y = Squeeze(a, c) }
        <domain: "local", opset_import: ["": 21]> F (a) => (r) { r = Neg(a) }"""
    )
    after = optimize(made).proto
    assert [tensor.name for tensor in after.graph.initializer] == ["k"]
    assert_same_outputs(made, after, {"a": np.ones((1, 3), "f4")})


def test_an_if_that_nobody_reads_goes_with_what_has_kept_it() -> None:
    """A node of another domain may do something; it is in a branch that is never taken."""
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float[N] x, bool b) => (float[N] y) <bool on = {1}> { y = Neg(x)
            u = If (b) <then_branch = t () => (float[N] p) {
                    p = If (on) <then_branch = tt () => (float[N] q) { q = Abs(x) }, else_branch = te () => (float[N] r) { r = own.Op(x) }> },
                else_branch = e () => (float[N] v) { v = Exp(x) }> }"""
    )
    after = optimize(made).proto
    assert ops(after.graph) == ["Neg"]
    assert not optimize(after).applied


INFERRED_AGAIN = {
    # id: (the model, the nodes of its graph afterwards)
    "a function is known to give a number": (
        """g (float[N] x) => (float[N] y, int64 w) { n = local.F(x) w = Neg(n) y = Abs(x) }
        <domain: "local", opset_import: ["": 21]> F (a) => (r) { s = Constant<value_string = "s">() e = Equal(s, s) r = Cast<to = 7>(e) }""",
        ["Abs"],
    ),
    "both branches are known to give the same": (
        """g (float[N] x, bool b) => (float[N] y, int64 w) <string s = {"s"}, string t = {"s"}> {
            n = If (b) <then_branch = t () => (int64 p) { e = Equal(s, t) p = Cast<to = 7>(e) }, else_branch = e () => (int64 r) { r = Constant<value = int64 {1}>() }>
            w = Neg(n) y = Abs(x) }""",
        ["Abs"],
    ),
    "the body of a loop is known to keep a size": (
        """g (float[N] x, int64 n) => (int64[1] w) <string s = {"s"}, string t = {"s"}> {
            y = Loop (n, "", x) <body = l (int64 i, bool go, float[M] v) => (bool still, float[K] z) {
                still = Identity(go) e = Equal(s, t)
                z = If (e) <then_branch = f () => (float[P] p) { p = Neg(v) }, else_branch = h () => (float[Q] q) { q = Concat<axis = 0>(v, v) }> }>
            a = Shape(y) b = Shape(x) c = Equal(a, b) w = Cast<to = 7>(c) }""",
        [],
    ),
}


@pytest.mark.parametrize("what", INFERRED_AGAIN)
def test_inferred_again(what: str) -> None:
    """Results of an operator with graphs, or of a function, need another inference; so there is one."""
    text, nodes = INFERRED_AGAIN[what]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "local": 1]> {text}')
    onnx.checker.check_model(made)
    result = optimize(made)
    assert [f"{node.domain}.{node.op_type}".lstrip(".") for node in result.proto.graph.node] == nodes
    assert not optimize(result.proto).applied
    known = {"x": np.ones(3, "f4"), "b": np.array(False), "n": np.array(2)}
    assert_same_outputs(made, result.proto, {value.name: known[value.name] for value in made.graph.input})


LEFT = {
    # id: (the graph, its initializers after `fold`, which has no second look)
    "a result that nobody reads": (
        "g (float[N] x) => (float[M] y) <float[4] w = {1, 2, 3, 4}> { a, b = Split<num_outputs = 2>(w) y = Concat<axis = 0>(x, a) }",
        ["a"],
    ),
    "equal results": (
        "g (float[N] x) => (float[M] y) <float[2] w = {1, 2}> { a = Neg(w) b = Neg(w) y = Concat<axis = 0>(x, a, b) }",
        ["b"],
    ),
    "a chain": (
        "g (float[N] x) => (float[M] y) <float[2] w = {1, 2}> { a = Neg(w) b = Abs(a) c = Sqrt(b) y = Concat<axis = 0>(x, c) }",
        ["c"],
    ),
}


@pytest.mark.parametrize("what", LEFT)
def test_fold_leaves_nothing(what: str) -> None:
    text, left = LEFT[what]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    after = fold(made).proto
    assert len(after.graph.initializer) == len(left), [tensor.name for tensor in after.graph.initializer]
    assert_same_outputs(made, after, {"x": np.ones(3, "f4")})
