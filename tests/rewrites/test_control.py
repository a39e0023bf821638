# ruff: noqa: E501
"""If and Loop whose way is known: the nodes of the body take the place of the node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from gather_infer.passes import greedy_driver, optimize
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet
from tests.rewrites.table import Case, assert_same_runs, judge, model, rewritten, run

_ELSE = "else_branch = e () => (float[N] b) { b = Neg(x) }"

CASES = {
    "if of true": Case(
        "if-decided",
        """g (float[N] x) => (float[N] y) <bool c = {1}> {
             y = If (c) <then_branch = t () => (float[N] a) { r = Relu(x) a = Abs(r) }, """ + _ELSE + "> }",
        "g (float[N] x) => (float[N] y) { r = Relu(x) y = Abs(r) }",
        near={
            "a condition that is an input": """g (float[N] x, bool c) => (float[N] y) {
                y = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, """ + _ELSE + "> }",
            "a condition that can be overridden": """g (float[N] x, bool c) => (float[N] y) <bool c = {1}> {
                y = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, """ + _ELSE + "> }",
            "a condition of an unknown dim": """g (float[N] x) => (float[N] y) <int64 four = {4}> {
                s = Shape(x) n = Squeeze(s) c = Less(n, four)
                y = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, """ + _ELSE + "> }",
            "an Identity for each result, and no node less": """g (float[N] x) => (float[N] y, float[2] z, float[2] w) <bool c = {1}> {
                y = Relu(x)
                z, w = If (c) <then_branch = t () => (float[2] k, float[2] l) <float[2] k = {1, 2}, float[2] l = {3, 4}> {},
                               else_branch = e () => (float[2] m, float[2] n) {
                                   m = Constant<value_floats = [5.0, 6.0]>() n = Constant<value_floats = [7.0, 8.0]>() }> }""",
        },
    ),
    "results that are constants, and as many nodes less": Case(
        "if-decided",
        """g (float[N] x, bool d) => (float[N] y, float[2] z, float[2] w, float[2] v) <bool c = {1}> {
             y = Relu(x)
             z, w, v = If (c) <
                 then_branch = t () => (float[2] k, float[2] l, float[2] m) <float[2] k = {1, 2}, float[2] l = {3, 4}, float[2] m = {5, 6}> {},
                 else_branch = e () => (float[2] n, float[2] o, float[2] p) <float[2] q = {1, 2}> {
                     n, o, p = If (d) <
                         then_branch = tt () => (float[2] n1, float[2] o1, float[2] p1) { n1 = Neg(q) o1 = Abs(q) p1 = Exp(q) },
                         else_branch = te () => (float[2] n2, float[2] o2, float[2] p2) { n2 = Abs(q) o2 = Exp(q) p2 = Neg(q) }> }> }""",
        """g (float[N] x, bool d) => (float[N] y, float[2] z, float[2] w, float[2] v)
             <float[2] k = {1, 2}, float[2] l = {3, 4}, float[2] m = {5, 6}> {
             y = Relu(x) z = Identity(k) w = Identity(l) v = Identity(m) }""",
    ),
    "a state that is an output": Case(
        "loop-once",
        """g (float[N] x) => (float[N] y, float[N] z) <int64 m = {1}> {
             y = Relu(x)
             z = Loop (m, "", y) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] p) { e = Identity(d) }> }""",
        "g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Identity(y) }",
    ),
    "if of false": Case(
        "if-decided",
        """g (float[N] x) => (float[N] y) <bool[1] c = {0}> {
             y = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, """ + _ELSE + "> }",
        "g (float[N] x) => (float[N] y) { y = Neg(x) }",
    ),
    "a condition that only the inference knows": Case(
        "if-decided",
        """g (float[N, 4] x) => (float[N, 4] y) <int64[1] one = {1}, int64[1] four = {4}> {
             s = Shape(x) n = Gather(s, one) c = Equal(n, four)
             y = If (c) <then_branch = t () => (float[N, 4] a) { a = Relu(x) },
                         else_branch = e () => (float[N, 4] b) { b = Neg(x) }> }""",
        "g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }",
    ),
    "names that both branches have": Case(
        "if-decided",
        """g (float[N] x, bool d) => (float[N] y, float[N] z) <bool c = {1}> {
             y = If (c) <then_branch = t () => (float[N] a) { r = Relu(x) a = Abs(r) },
                         else_branch = e () => (float[N] a) { r = Neg(x) a = Abs(r) }>
             z = If (d) <then_branch = t () => (float[N] a) { r = Exp(x) a = Abs(r) },
                         else_branch = e () => (float[N] a) { r = Neg(x) a = Abs(r) }> }""",
        """g (float[N] x, bool d) => (float[N] y, float[N] z) {
             s = Relu(x) y = Abs(s)
             z = If (d) <then_branch = t () => (float[N] a) { r = Exp(x) a = Abs(r) },
                         else_branch = e () => (float[N] a) { r = Neg(x) a = Abs(r) }> }""",
    ),
    "a result that others read": Case(
        "if-decided",
        """g (float[N] x) => (float[N] z) <bool c = {1}> {
             y = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, """ + _ELSE + """>
             z = Abs(y) }""",
        "g (float[N] x) => (float[N] z) { a = Relu(x) z = Abs(a) }",
    ),
    "constants of a branch": Case(
        "if-decided",
        """g (float[N] x) => (float[N] y) <bool c = {1}> {
             y = If (c) <then_branch = t () => (float[N] a) <float k = {2.5}> { q = Constant<value_float = 0.5>() p = Mul(x, k) a = Add(p, q) },
                         """ + _ELSE + "> }",
        """g (float[N] x) => (float[N] y) <float k = {2.5}> {
             q = Constant<value_float = 0.5>() p = Mul(x, k) y = Add(p, q) }""",
    ),
    "a graph inside the branch": Case(
        "if-decided",
        """g (float[N] x, bool d) => (float[N] y) <bool c = {1}> {
             y = If (c) <then_branch = t () => (float[N] a) {
                 r = Relu(x)
                 a = If (d) <then_branch = tt () => (float[N] p) { p = Abs(r) },
                             else_branch = te () => (float[N] q) { q = Neg(r) }> }, """ + _ELSE + "> }",
        """g (float[N] x, bool d) => (float[N] y) {
             r = Relu(x)
             y = If (d) <then_branch = tt () => (float[N] p) { p = Abs(r) },
                         else_branch = te () => (float[N] q) { q = Neg(r) }> }""",
    ),
    "branches inside branches": Case(
        "if-decided",
        """g (float[N] x) => (float[N] y) <bool c = {1}, bool f = {0}> {
             y = If (c) <then_branch = t () => (float[N] a) {
                 r = Relu(x)
                 a = If (f) <then_branch = tt () => (float[N] p) { p = Abs(r) },
                             else_branch = te () => (float[N] q) { q = Neg(r) }> }, """ + _ELSE + "> }",
        "g (float[N] x) => (float[N] y) { r = Relu(x) y = Neg(r) }",
    ),
    "a branch that gives what there is": Case(
        "if-decided",
        """g (float[N] x) => (float[N] z, float[N] y) <bool c = {1}> {
             z = Relu(x)
             y = If (c) <then_branch = t () => (float[N] a) { a = Identity(z) }, """ + _ELSE + "> }",
        "g (float[N] x) => (float[N] z, float[N] y) { z = Relu(x) y = Identity(z) }",
    ),
    "two results that are one": Case(
        "if-decided",
        """g (float[N] x) => (float[N] y, float[N] z) <bool c = {1}> {
             y, z = If (c) <then_branch = t () => (float[N] a, float[N] a2) { a = Relu(x) a2 = Identity(a) },
                            else_branch = e () => (float[N] b, float[N] b2) { b = Neg(x) b2 = Abs(x) }> }""",
        "g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Identity(y) }",
    ),
    "loop that never runs": Case(
        "loop-never",
        """g (float[N] x, bool c) => (float[N] y) <int64 m = {0}> {
             s = Relu(x)
             t = Loop (m, c, s) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                 e = Identity(d) q = Neg(p) }>
             y = Abs(t) }""",
        "g (float[N] x, bool c) => (float[N] y) { s = Relu(x) y = Abs(s) }",
        near={
            "trips that are an input": """g (float[N] x, bool c, int64 m) => (float[N] y) {
                y = Loop (m, c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                    e = Identity(d) q = Neg(p) }> }""",
            "one value for two outputs": """g (float[N] x, bool c) => (float[N] y, float[N] z) <int64 m = {0}> {
                s = Relu(x)
                y, z = Loop (m, c, s, s) <body = b (int64 i, bool d, float[N] p, float[N] u) => (bool e, float[N] q, float[N] v) {
                    e = Identity(d) q = Neg(p) v = Abs(u) }> }""",
            "a scan output": """g (float[N] x, bool c) => (float[N] y, float[K, N] z) <int64 m = {0}> {
                s = Relu(x)
                t, z = Loop (m, c, s) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q, float[N] r) {
                    e = Identity(d) q = Neg(p) r = Abs(p) }>
                y = Abs(t) }""",
        },
    ),
    "loop with a condition that is false": Case(
        "loop-never",
        """g (float[N] x) => (float[N] y) <bool c = {0}> {
             t = Loop ("", c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                 e = Identity(d) q = Neg(p) }>
             y = Abs(t) }""",
        "g (float[N] x) => (float[N] y) { y = Abs(x) }",
    ),
    "loop that never runs, with one value twice": Case(
        "loop-never",
        """g (float[N] x, bool c) => (float[N] y, float[N] z) <int64 m = {0}> {
             s = Relu(x)
             y, t = Loop (m, c, s, s) <body = b (int64 i, bool d, float[N] p, float[N] u) => (bool e, float[N] q, float[N] v) {
                 e = Identity(d) q = Neg(p) v = Abs(u) }>
             z = Abs(t) }""",
        "g (float[N] x, bool c) => (float[N] y, float[N] z) { y = Relu(x) z = Abs(y) }",
    ),
    "loop that runs once, and passes one value twice": Case(
        "loop-once",
        """g (float[N] x, bool c) => (float[N] y, float[N] z) <int64 m = {1}> {
             s = Relu(x)
             y, t = Loop (m, "", s, s) <body = b (int64 i, bool d, float[N] p, float[N] u) => (bool e, float[N] p, float[N] u) {
                 e = Identity(d) }>
             z = Abs(t) }""",
        "g (float[N] x, bool c) => (float[N] y, float[N] z) { y = Relu(x) z = Abs(y) }",
    ),
    "loop that runs once": Case(
        "loop-once",
        """g (float[N] x, float[N] w) => (float[N] y, float[1, N] z) <int64 m = {1}, bool c = {1}> {
             y, z = Loop (m, c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q, float[N] r) {
                 e = Identity(d) f = Cast<to = 1>(i) k = Add(p, f) q = Add(k, w) r = Neg(p) }> }""",
        """g (float[N] x, float[N] w) => (float[N] y, float[1, N] z) <int64 o = {0}, int64[1] a = {0}> {
             f = Cast<to = 1>(o) k = Add(x, f) y = Add(k, w) r = Neg(x) z = Unsqueeze(r, a) }""",
        near={
            "two trips": """g (float[N] x) => (float[N] y) <int64 m = {2}> {
                y = Loop (m, "", x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                    e = Identity(d) q = Neg(p) }> }""",
            "a condition that is not known": """g (float[N] x, bool c) => (float[N] y) <int64 m = {1}> {
                y = Loop (m, c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                    e = Identity(d) q = Neg(p) }> }""",
            "no bound but a condition that may go on": """g (float[N] x, bool g2) => (float[N] y) <bool c = {1}> {
                y = Loop ("", c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                    e = And(d, g2) q = Neg(p) }> }""",
            "a node for each scan output": """g (float[N] x) => (float[1, N] y, float[1, N] z) <int64 m = {1}> {
                y, z = Loop (m, "") <body = b (int64 i, bool d) => (bool e, float[N] q, float[N] r) {
                    e = Identity(d) q = Neg(x) r = Abs(x) }> }""",
            "a counter of a rank that the body does not say": """g (int64[N] x) => (int64[N] y) <int64 m = {1}> {
                y = Loop (m, "", x) <body = b (int64[] i, bool d, int64[N] p) => (bool e, int64[N] q) {
                    e = Identity(d) q = Add(p, i) }> }""",
        },
    ),
    "loop that ends itself": Case(
        "loop-once",
        """g (float[N] x) => (float[N] y) <bool c = {1}> {
             y = Loop ("", c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                 e = Constant<value = bool {0}>() q = Neg(p) }> }""",
        "g (float[N] x) => (float[N] y) { y = Neg(x) }",
    ),
    "loop whose body has a value called like its input outside": Case(
        "loop-once",
        """g (float[N] x, float[N] p) => (float[N] y) <int64 m = {1}> {
             k = Relu(p)
             y = Loop (m, "", x) <body = b (int64 i, bool d, float[N] v) => (bool e, float[N] q) {
                 e = Identity(d) u = Sub(k, v) q = Neg(u) }> }""",
        "g (float[N] x, float[N] p) => (float[N] y) { k = Relu(p) u = Sub(k, x) y = Neg(u) }",
    ),
    "old loop": Case(
        "loop-once",
        """g (float[N] x) => (float[N] y, float[1, N] z) <int64 m = {1}> {
             y, z = Loop (m, "", x) <body = b (int64 i, bool d, float[N] v) => (bool e, float[N] q, float[N] r) {
                 e = Identity(d) q = Neg(v) r = Abs(v) }> }""",
        "g (float[N] x) => (float[N] y, float[1, N] z) { y = Neg(x) r = Abs(x) z = Unsqueeze<axes = [0]>(r) }",
        opset=11,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])


@pytest.mark.parametrize("opset", (7, 9, 10, 11, 13, 14, 15, 18, 21))
def test_if_at_every_opset(opset: int) -> None:
    case = CASES["if of true"]
    before = model(case.before, opset)
    after = rewritten(before, "if-decided")
    assert [node.op_type for node in after.graph.node] == ["Relu", "Abs"]
    assert_same_runs(before, after, case, 20)


def test_graphs_inside_a_node_that_changes_change_as_well() -> None:
    """The node that holds a graph is written anew, and the graph in it as it is by then."""
    text = """g (float[N] x, bool d) => (float[N] y) {
        i = Identity(d)
        y = If (i) <then_branch = t () => (float[N] a) { p = Identity(x) q = Identity(p) a = Abs(q) },
                    else_branch = e () => (float[N] b) {
                        b = If (i) <then_branch = tt () => (float[N] f) { m = Identity(x) f = Exp(m) },
                                    else_branch = te () => (float[N] g) { n = Identity(x) g = Neg(n) }> }> }"""
    before = model(text)
    after = rewritten(before)
    outer = after.graph.node[0]
    assert list(outer.input) == ["d"]
    assert [[n.op_type for n in a.g.node] for a in outer.attribute] == [["Abs"], ["If"]]
    inner = outer.attribute[1].g.node[0]
    assert list(inner.input) == ["d"]
    assert [[n.op_type for n in a.g.node] for a in inner.attribute] == [["Exp"], ["Neg"]]
    assert_same_runs(before, after, Case("", text, ""), 30)


def test_graphs_inside_a_node_that_moves_change_as_well() -> None:
    text = """g (float[N] x, bool d) => (float[N] y, float[N] z) {
        y = If (d) <then_branch = t () => (float[N] a) { p = Identity(x) q = Relu(x) r = Add(p, q) a = Abs(r) },
                    else_branch = e () => (float[N] b) { b = Relu(x) }>
        z = Relu(x) }"""
    before = model(text)
    after = rewritten(before)
    assert_same_runs(before, after, Case("", text, ""), 30)
    [branching] = [node for node in after.graph.node if node.op_type == "If"]
    assert "Identity" not in [n.op_type for n in branching.attribute[0].g.node]


def test_nodes_have_names_of_their_own() -> None:
    """onnxruntime refuses a graph with two nodes of one name; those of a subgraph may be called as those outside."""
    before = model(CASES["names that both branches have"].before)
    graphs = [before.graph, *(a.g for node in before.graph.node for a in node.attribute)]
    for graph in graphs:
        for at, node in enumerate(graph.node):
            node.name = f"node_{at}"
    after = rewritten(before, "if-decided")
    names = [node.name for node in after.graph.node]
    assert names == ["node_0", "node_1_1", "node_1"]
    assert_same_runs(before, after, Case("", "", ""), 10)


def test_inlined_in_a_function() -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "own": 1]>
        g (float[N] x) => (float[N] y) { y = own.f(x) }
        <domain: "own", opset_import: ["": 21]>
        f (x) => (y) {
            c = Constant<value = bool {1}>()
            y = If (c) <then_branch = t () => (float[K] a) { r = Relu(x) a = Abs(r) },
                        else_branch = e () => (float[K] b) { b = Neg(x) }> }"""
    before = onnx.parser.parse_model(text)
    after = optimize(before).proto
    onnx.checker.check_model(after)
    assert [node.op_type for node in after.functions[0].node] == ["Relu", "Abs"]
    assert_same_runs(before, after, Case("", text, ""), 20)


def test_an_index_out_of_range_in_the_branch_that_is_taken_is_still_reported_and_left() -> None:
    text = """g (float[3] x) => (float y) <bool c = {1}, int64 nine = {9}> {
        y = If (c) <then_branch = t () => (float a) { a = Gather(x, nine) },
                    else_branch = e () => (float b) { b = ReduceMax<keepdims = 0>(x) }> }"""
    result = optimize(model(text))
    assert "GI301" in {d.code for d in result.diagnostics}
    assert [node.op_type for node in result.proto.graph.node] == ["Gather"]
    assert run(result.proto, {"x": __import__("numpy").zeros(3, "f4")}) is None


BRANCH = "g (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c) <then_branch = t () => (float[2] a) <float[2] w = {1, 2}> { a = Add(x, w) }, else_branch = e () => (float[2] b) { b = Neg(x) }> }"


def _sparse() -> ModelProto:
    """The constant of the branch as a sparse one."""
    made = model(BRANCH)
    branch = made.graph.node[0].attribute[0].g
    values = numpy_helper.from_array(np.array([3], "f4"), "w")
    indices = numpy_helper.from_array(np.array([1]), "w_indices")
    branch.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    del branch.initializer[:]
    return made


def _mentioned(where: str, name: str) -> ModelProto:
    """A quantization annotation of the graph, or of the branch, mentions a value; both branches have one called w."""
    made = model(BRANCH.replace("{ b = Neg(x) }", "{ w = Neg(x) b = Relu(w) }"))
    graph = made.graph if where == "graph" else made.graph.node[0].attribute[0].g
    graph.quantization_annotation.add(tensor_name=name)
    return made


@pytest.mark.parametrize(
    "made",
    [_sparse(), _mentioned("graph", "y"), _mentioned("branch", "w")],
    ids=["a sparse constant", "a result that has to keep its name", "a value that cannot keep its name"],
)
def test_a_branch_that_has_to_stay_one(made: ModelProto) -> None:
    assert optimize(made, passes=["if-decided"]).proto == made
    assert run(made, {"x": np.ones(2, "f4")}) is not None


def test_constants_of_a_branch_are_read_up_to_a_limit_or_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    made = model(BRANCH)
    assert [node.op_type for node in optimize(made, max_growth=0).proto.graph.node] == ["Add"]
    monkeypatch.setattr(greedy_driver, "MAX_MOVED", 7)
    assert optimize(made, max_growth=7).proto == made
    assert [node.op_type for node in optimize(made, max_growth=8).proto.graph.node] == ["Add"]


def test_a_constant_of_a_branch_that_no_constant_node_can_be() -> None:
    """Where initializers have to be inputs a constant is a node, and before version 9 all of those are floats."""
    text = """<ir_version: 3, opset_import: ["": 8]>
        g (float[2] x, bool c) => ({dtype}[2] y) <bool c = {{1}}> {{
            y = If (c) <then_branch = t () => ({dtype}[2] w) <{dtype}[2] w = {{1, 2}}> {{}},
                        else_branch = e () => ({dtype}[2] v) <{dtype}[2] v = {{3, 4}}> {{}}> }}"""
    before = onnx.parser.parse_model(text.format(dtype="int64"))
    assert optimize(before).proto == before
    after = optimize(onnx.parser.parse_model(text.format(dtype="float"))).proto
    assert [node.op_type for node in after.graph.node] == ["Constant"]


def test_an_input_of_a_body_that_is_read_needs_a_value() -> None:
    rules = RewriteSet()

    @rules.rewrites("Loop")
    def unbound(site: Match) -> Rewrite | None:
        body = site.body("body")
        assert body is not None
        return site.replace_with_body("law", body, body.outputs[1:], {body.inputs[2]: site.input(2)})

    text = """g (float[N] x) => (float[N] y) <int64 m = {1}> {
        y = Loop (m, "", x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) { e = Identity(d) q = Neg(p) }> }"""
    assert not optimize(model(text), rewrites=[rules], passes=["unbound"]).applied
