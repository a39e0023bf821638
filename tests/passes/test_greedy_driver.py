"""Services of the driver for rules, and limits that it enforces; runs are in onnxruntime, its optimiser off."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from gather_infer.errors import ModelReadError, UsageError
from gather_infer.ir.constant import Constant
from gather_infer.passes import optimize
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.node_view import RewriteContext
from gather_infer.passes.rewrite import GraphRewrite, Rewrite
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import Shape
from tests.passes.folding_models import assert_same_outputs, model, ops

F, X = TensorProto.FLOAT, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
IDENTITIES = RewriteSet()


@IDENTITIES.rewrites("Identity")
def identity(site: Match) -> Rewrite | None:
    return site.replace_with("Identity(x) = x", site.input(0))


def parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')


NESTED = """g (float[2,3] x, bool c) => (float[M,K] y) {
    a = Identity(x)
    b = If(c) <
        then_branch = t () => (float[q,r] o) { p = Identity(a) o = Neg(p) },
        else_branch = e () => (float[q,r] o2) {
            o2 = If(c) <
                then_branch = t2 () => (float[q,r] s) { u = Identity(a) s = Abs(u) },
                else_branch = e2 () => (float[q,r] w) { w = Relu(a) }
            >
        }
    >
    y = Identity(b)
}"""


@pytest.mark.parametrize("flag", [False, True])
def test_bodies_of_a_node_that_changes_change_too(flag: bool) -> None:
    made = parsed(NESTED)
    result = optimize(made, rewrites=[IDENTITIES])
    assert ops(result.proto.graph) == ["If"]
    assert [ops(a.g) for a in result.proto.graph.node[0].attribute] in ([["Neg"], ["If"]], [["If"], ["Neg"]])
    assert "Identity" not in onnx.printer.to_text(result.proto)
    assert not optimize(result.proto, rewrites=[IDENTITIES]).applied
    assert_same_outputs(made, result.proto, {**X, "c": np.array(flag)})


def test_bodies_of_a_node_that_moves_change_too() -> None:
    made = parsed(NESTED)
    shuffled = parsed(NESTED)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(list(made.graph.node)[::-1])
    result = optimize(shuffled, rewrites=[IDENTITIES])
    assert "Identity" not in onnx.printer.to_text(result.proto)
    assert_same_outputs(made, result.proto, {**X, "c": np.array(True)})


def unknown_value(site: Match) -> Rewrite | None:
    return site.replace_with("law", "nosuch")


def reads_unknown(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Relu", ["nosuch"]))


def reads_itself(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Abs", [site.output()]))


def other_type(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Cast", [site.input(0)], to=TensorProto.INT64))


def endless(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Neg", [site.input(0)]))


def too_many(site: Match) -> Rewrite | None:
    return site.replace_with("law", "x", "x")


def other_output(site: Match) -> Rewrite | None:
    return Rewrite(law="law", values={"x": "r"})


def known_name(site: Match) -> Rewrite | None:
    return Rewrite(law="law", values={"y": "r"}, nodes=(helper.make_node("Relu", ["x"], ["r"]),))


def out_of_order(site: Match) -> Rewrite | None:
    nodes = (helper.make_node("Relu", ["p"], ["q"]), helper.make_node("Relu", ["x"], ["p"]))
    return Rewrite(law="law", values={"y": "q"}, nodes=nodes)


def with_a_subgraph(site: Match) -> Rewrite | None:
    body = onnx.parser.parse_graph("b () => (float[2,3] o) { o = Relu(r) }")
    return site.replace_with("law", site.new("If", ["x"], then_branch=body, else_branch=body))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (unknown_value, "reads nosuch, which is not defined"),
        (reads_unknown, "reads nosuch, which is not defined"),
        (reads_itself, "the rewrites lead to a cycle of nodes"),
        (other_type, "replaces y, which is float32, by a value of int64"),
        (endless, "the rewrites do not reach a fixed point: endless"),
        (too_many, "2 values for the 1 outputs of Neg"),
        (other_output, "replaces x, which .* does not write"),
        (known_name, "writes r, which is already defined"),
        (out_of_order, "reads p, which is not defined"),
        (with_a_subgraph, "adds If, which has a subgraph"),
    ],
)
def test_what_a_rule_may_not_do(rule: Callable[[Match], Rewrite | None], message: str) -> None:
    rules = RewriteSet()
    rules.rewrites("Neg")(rule)
    made = parsed("g (float[2,3] x) => (float[2,3] y) { r = Relu(x) a = Abs(r) y = Neg(a) }")
    with pytest.raises(UsageError, match=message):
        optimize(made, rewrites=[rules])


def no_such_operator(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Foo", [site.input(0)]))


def domain_without_import(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Gelu", [site.input(0)], domain="com.microsoft"))


def nothing(site: Match) -> Rewrite | None:
    return site.replace_with("law", "")


def itself(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.output())


@pytest.mark.parametrize("rule", [no_such_operator, domain_without_import, nothing, itself])
def test_what_is_not_done(rule: Callable[[Match], Rewrite | None]) -> None:
    rules = RewriteSet()
    rules.rewrites("Neg")(rule)
    made = parsed("g (float[2,3] x) => (float[2,3] y) { r = Relu(x) y = Neg(r) }")
    assert optimize(made, rewrites=[rules]).proto == made


def one_more_node(site: Match) -> Rewrite | None:
    return site.replace_with("law", site.new("Neg", [site.new("Identity", [site.input(0)])]))


def more_bytes(site: Match) -> Rewrite | None:
    """One node for one, which reads the larger tensor as well."""
    return site.replace_with("law", site.new("Where", ["big", site.input(0), "r"]))


def bytes_of_some_sizes(site: Match) -> Rewrite | None:
    """No more bytes where N is 2."""
    return site.replace_with("law", site.new("Expand", ["x", "shape"]))


def large_constant(site: Match) -> Rewrite | None:
    zeros = site.add_constant(Constant(TensorProto.FLOAT, np.zeros((600, 600), "f4").view("<u4")))
    return site.replace_with("law", zeros)


@pytest.mark.parametrize("rule", [one_more_node, more_bytes, bytes_of_some_sizes, large_constant])
def test_what_costs_more_is_not_done(rule: Callable[[Match], Rewrite | None]) -> None:
    rules = RewriteSet()
    rules.rewrites("Neg")(rule)
    made = parsed(
        "g (float[M,K] x, bool[90,M,K] big, int64[2] shape) => (float[M,K] y, float[M,K] z) "
        "{ r = Relu(x) y = Neg(r) z = Exp(r) }"
    )
    result = optimize(made, rewrites=[rules])
    assert result.proto == made
    refused = [d.message for d in result.diagnostics if d.code == "GI401"]
    assert refused == (
        ["not folded: its constants grow by 1440000 bytes, the budget is 1048576"] if rule is large_constant else []
    )
    if rule is large_constant:
        assert ops(optimize(made, rewrites=[rules], max_growth=1440000).proto.graph) == ["Relu", "Exp"]


HIDING = """g (float[2,3] x, bool c) => (float[M,K] y) {
    r = Relu(x)
    a = Identity(r)
    s = Neg(r)
    y = If(c) <
        then_branch = t () => (float[q,p] o) { r = Abs(s) o = Add(r, a) },
        else_branch = e () => (float[q,p] w) { w = Add(s, a) }
    >
}"""


def test_a_name_that_means_another_value_in_a_subgraph() -> None:
    """The branch reads a, and r is another value there: it cannot read the r outside."""
    made = parsed(HIDING)
    result = optimize(made, rewrites=[IDENTITIES], passes=["identity"])
    assert result.proto == made


def test_of_some_outputs_only() -> None:
    rules = RewriteSet()

    @rules.rewrites("Split")
    def first(site: Match) -> Rewrite | None:
        return Rewrite(law="law", values={"s": site.input(0)}) if site.shape(0) == (1, 3) else None

    text = "g (float[1,3] x) => (float[1,3] y, float[a,b] z) { s, t = Split<num_outputs=2>(x) y = Neg(s) z = Neg(t) }"
    result = optimize(parsed(text), rewrites=[rules])
    assert [list(n.input) for n in result.proto.graph.node] == [["x"], ["x"], ["t"]]


KEPT_FOR_ANOTHER = """g (bool c, float[N, K] x, float[1] v) => (int64[A] n, float[N, K] y, float[B] z)
    <int64 zero = {0}, int64[1] axis = {0}> {
    n, y = If(c) <
        then_branch = t () => (int64[1] tn, float[N, K] ty) { tn = Shape<start = 0, end = 1>(x) ty = Neg(x) },
        else_branch = e () => (int64[1] en, float[N, K] ey) { en = Shape<start = 0, end = 1>(x) ey = Relu(x) }
    >
    r = Abs(x) s = Shape(r) d = Gather(s, zero) u = Unsqueeze(d, axis) z = Expand(v, u)
}"""
"""A size that an If gives, and the graph, and that is had for less elsewhere."""


@pytest.mark.parametrize("flag", [False, True])
def test_a_node_whose_output_another_one_takes_over_stays_for_its_other_output(flag: bool) -> None:
    made = parsed(KEPT_FOR_ANOTHER)
    result = optimize(made)
    assert "canonical-dims" in [done.rule for done in result.applied]
    assert sorted(ops(result.proto.graph)) == ["Expand", "If", "Shape"]
    assert not optimize(result.proto).applied
    assert_same_outputs(made, result.proto, {**X, "c": np.array(flag), "v": np.ones(1, np.float32)})


@pytest.mark.parametrize("flag", [False, True])
def test_a_rule_may_take_over_one_of_two_outputs_of_a_graph(flag: bool) -> None:
    sets = RewriteSet()

    @sets.rewrites("If")
    def size(site: Match) -> Rewrite | None:
        return Rewrite(law="law", values={"n": "m"}) if site.outputs[0] == "n" else None

    text = KEPT_FOR_ANOTHER.replace("u = Unsqueeze(d, axis)", "m = Shape<end = 1>(x)").replace("(v, u)", "(v, m)")
    made = parsed(text.replace("r = Abs(x) s = Shape(r) d = Gather(s, zero)", ""))
    result = optimize(made, rewrites=[sets], passes=["size"])
    assert [done.rule for done in result.applied] == ["size"]
    assert_same_outputs(made, result.proto, {**X, "c": np.array(flag), "v": np.ones(1, np.float32)})


def test_what_a_rule_builds_and_does_not_use_is_not_there_for_the_next_one() -> None:
    rules = RewriteSet()

    @rules.rewrites("Neg")
    def builds(site: Match) -> Rewrite | None:
        site.new("Exp", [site.vector([1, 2, 3])])
        return None

    @rules.rewrites("Neg")
    def positive(site: Match) -> Rewrite | None:
        return site.replace_with("law", site.new("Abs", [site.input(0)]))

    made = parsed("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }")
    result = optimize(made, rewrites=[rules])
    assert [done.rule for done in result.applied] == ["positive"]
    assert ops(result.proto.graph) == ["Abs"] and not result.proto.graph.initializer


@pytest.mark.parametrize(("old", "new"), [("", "own"), ("own", "")])
def test_what_is_known_of_a_value_is_known_of_the_one_in_its_place(old: str, new: str) -> None:
    """Nothing is known of an operator of another domain."""
    rules, others = RewriteSet(), RewriteSet(old)

    @others.rewrites("Neg")
    def elsewhere(site: Match) -> Rewrite | None:
        return site.replace_with("law", site.new("Neg", [site.input(0)], domain=new))

    @rules.rewrites("Abs")
    def behind(site: Match) -> Rewrite | None:
        writer = site.producer(0)
        if writer is not None and writer.domain == new:
            seen.append(site.shape(0))
        return None

    seen: list[Shape | None] = []
    made = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 21, "own": 1]>
        g (float[2,3] x) => (float[2,3] y) {{ a = {old + "." if old else ""}Neg(x) y = Abs(a) }}"""
    )
    assert optimize(made, rewrites=[rules, others]).applied
    assert seen[0] == (2, 3)


def test_a_constant_that_others_may_give_is_not_merged() -> None:
    rules = RewriteSet()

    @rules.rewrites("Add")
    def other(site: Match) -> Rewrite | None:
        return Rewrite(law="law", merged={site.input(1): "v"})

    made = parsed(
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {1, 2}> "
        "{ a = Mul(x, v) y = Add(a, w) }"
    )
    assert optimize(made, rewrites=[rules]).proto == made


def test_a_gather_may_take_the_place_of_another_operator_once_one_has_gone() -> None:
    made = parsed(
        """g (float[5,3] x, int64[M] i, int64[M] j) => (float[M,3] y, float[M,3] z, float[M,3] v)
        <int64[1] axes = {1}> {
            k = Unsqueeze(i, axes)
            y = GatherND(x, k)
            a = Gather(x, j)
            b = Gather(x, j)
            z = Add(a, b)
            l = Unsqueeze(j, axes)
            c = GatherND(x, l)
            v = Neg(c)
        }"""
    )
    result = optimize(made)
    assert ops(result.proto.graph).count("Gather") == 2
    assert_same_outputs(
        made,
        result.proto,
        {"x": np.arange(15, dtype="f4").reshape(5, 3), "i": np.array([4, 0]), "j": np.array([1, -1])},
    )


def _fan(width: int) -> ModelProto:
    """A value that many nodes read, and as many outputs."""
    nodes = [helper.make_node("Relu", ["x"], ["r"])]
    nodes += [helper.make_node("Identity", ["r"], [f"v{i}"]) for i in range(width)]
    nodes += [helper.make_node("Neg", [f"v{i}"], [f"y{i}"]) for i in range(width)]
    types: Any = {f"y{i}": (F, [3]) for i in range(width)}
    return model(nodes, {"x": (F, [3])}, types)


def _wide(width: int) -> ModelProto:
    """A node of many outputs, and one that reads as many values."""
    names = [f"v{i}" for i in range(width)]
    nodes = [helper.make_node("Split", ["x"], names, axis=0)]
    nodes += [helper.make_node("Identity", [name], [f"{name}_copy"]) for name in names]
    nodes.append(helper.make_node("Sum", [f"{name}_copy" for name in names], ["y"]))
    return model(nodes, {"x": (F, [width])}, {"y": (F, [1])})


@pytest.mark.parametrize("made", [_fan(5000), _wide(5000)], ids=["fan", "wide"])
def test_many_readers_take_linear_time(made: ModelProto) -> None:
    start = time.process_time()
    assert len(optimize(made, rewrites=[IDENTITIES], passes=["identity"]).applied) == 5000
    assert time.process_time() - start < 20  # minutes, before


def test_a_body_of_which_a_value_has_gone_is_put_in_its_place() -> None:
    made = parsed("""g (float[2,3] x) => (float[M,K] y) <bool c = {1}> {
        y = If(c) <
            then_branch = t () => (float[q,r] o) { u = Neg(x) v = Abs(u) o = Relu(x) },
            else_branch = e () => (float[q,r] o2) { o2 = Neg(x) }
        >
    }""")
    result = optimize(made)
    assert ops(result.proto.graph) == ["Relu"]
    assert_same_outputs(made, result.proto, X)


def test_what_a_callers_rule_raises_is_the_cause_of_a_usage_error() -> None:
    mine = RewriteSet()

    @mine.rewrites("Neg")
    def broken(site: Match) -> Rewrite | None:
        raise KeyError(site.op_type)

    made = parsed("g (float[2,3] x) => (float[2,3] y) { [turn] y = Neg(x) }")
    with pytest.raises(
        UsageError, match=r"test_greedy_driver.py:\d+: rewrite broken of turn: KeyError: 'Neg'"
    ) as raised:
        optimize(made, rewrites=[mine])
    assert isinstance(raised.value.__cause__, KeyError)


def test_what_a_callers_step_raises_is_the_cause_of_a_usage_error() -> None:
    mine = RewriteSet()

    @mine.graph_pass
    def broken(engine: RewriteContext, graph: Graph) -> GraphRewrite | None:
        raise SystemExit(0)

    made = parsed("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }")
    with pytest.raises(UsageError, match="rewrite broken: exits the program, which rules must not do"):
        optimize(made, rewrites=[mine])


def test_a_model_that_cannot_be_read_is_no_fault_of_a_rule() -> None:
    mine = RewriteSet()

    @mine.rewrites("Add")
    def reads(site: Match) -> Rewrite | None:
        raise ModelReadError("gone")

    made = parsed("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    with pytest.raises(ModelReadError, match=r"^gone$"):
        optimize(made, rewrites=[mine])
