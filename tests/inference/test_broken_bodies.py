"""Functions, branches and bodies of loops with something wrong in them, and how deep they may nest."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as refusals

from gather_infer import infer
from tests.inference.models import found, graph, model, node, shapes, untyped
from tests.oracle.soundness import Runtime, compare

CALL = '<domain: "local", opset_import: ["" : 17, "local" : 1]>'
FUNCTIONS = {
    # id: (functions, findings)
    "calls itself": (f"{CALL} f (a) => (b) {{ b = local.f(a) }}", [("GI108", "function f calls itself")]),
    "call each other": (
        f"{CALL} f (a) => (b) {{ b = local.g(a) }} {CALL} g (a) => (b) {{ b = local.f(a) }}",
        [("GI108", "function f calls itself")],
    ),
    "an output that nothing defines": (
        f"{CALL} f (a) => (b) {{ c = Abs(a) }}", [("GI103", "function output b is not defined")],
    ),
    "too many inputs": (f"{CALL} f () => (b) {{ b = Constant<value = int64 {{0}}>() }}", [
        ("GI107", "function f takes at most 0 inputs, found 1")]),
    "too many outputs": (f"{CALL} f (a) => () {{ b = Abs(a) }}", [
        ("GI107", "function f has at most 0 outputs, found 1")]),
    "an attribute that the function lacks": (
        f"{CALL} f (a) => (b) {{ b = Softmax<axis: int = @k>(a) }}",
        [("GI106", "attribute axis refers to a function's attribute k, the function has none")],
    ),
    "reads the graph around the call": (f"{CALL} f (a) => (b) {{ b = Add(a, x) }}", [("GI103", "input x is not defined")]),
    "defined twice": (
        f"{CALL} f (a) => (b) {{ b = Abs(a) }} {CALL} f (a) => (b) {{ b = Neg(a) }}",
        [("GI101", "function local.f is defined more than once")],
    ),
    "imports no opset": (
        '<domain: "local", opset_import: ["local" : 1]> f (a) => (b) { b = Abs(a) }',
        [("GI104", "the model imports no opset for domain ai.onnx")],
    ),
    "the same output twice": (f"{CALL} f (a) => (b) {{ b = Abs(a) b = Neg(a) }}", [
        ("GI101", "value b is defined more than once")]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_broken_functions(name: str) -> None:
    functions, expected = FUNCTIONS[name]
    proto = model("(float[N, 3] x) => (y) { y = local.f(x) z = Abs(x) }", functions=functions, domains=', "local" : 1')
    assert found(proto) == expected
    assert shapes(proto)["z"] == "float32[N, 3]"


BODIES = {
    # id: (node, code, message)
    "a branch with inputs": (
        "y = If(c) <then_branch = t (float[1] i) => (float[1] o) { o = Abs(i) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI110", "then_branch must have no inputs, has 1",
    ),
    "a branch with too few outputs": (
        "y = If(c) <then_branch = t () => () { o = Abs(x) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI110", "then_branch must have 1 outputs, has 0",
    ),
    "no else branch": ("y = If(c) <then_branch = t () => (float[1] o) { o = Abs(x) }>", "GI106", "attribute else_branch is missing"),
    "a loop body with too few inputs": (
        "y = Loop(m, c, x) <body = b (int64 i) => (bool k, float[N] o) { k = Identity(c) o = Abs(x) }>",
        "GI110", "the body must have 3 inputs (i, cond, 1 states), has 1",
    ),
    "a loop body with too many outputs": (
        "y = Loop(m, c) <body = b (int64 i, bool k) => (bool k2, float[N] o, float[N] p) { k2 = Identity(k) o = Abs(x) p = Abs(x) }>",
        "GI110", "the body must have 2 outputs (cond and 1), has 3",
    ),
    "more scan inputs than inputs": (
        "y = Scan<num_scan_inputs = 3, body = b (float r) => (float o) { o = Abs(r) }>(x)",
        "GI110", "num_scan_inputs must be in [1, 1], is 3",
    ),
    "more loop state variables than outputs": (
        "y = Scan<num_scan_inputs = 1, body = b (float s, float t, float r) => (float o) { o = Abs(r) }>(x, x, x)",
        "GI110", "the 2 loop state variables must each have an output, 1 given",
    ),
    "a scan axis past the rank": (
        "y = Scan<num_scan_inputs = 1, scan_input_axes = [4], body = b (float r) => (float o) { o = Abs(r) }>(x)",
        "GI304", "scan input axis 4 is outside [-1, 0], the input has rank 1",
    ),
    "a scan over a scalar": (
        "y = Scan<num_scan_inputs = 1, body = b (float r) => (float o) { o = Abs(r) }>(m)", "GI304", "scan input axis 0 is outside",
    ),
    "a body that stacks a sequence": (
        "y = Loop(m, c) <body = b (int64 i, bool k) => (bool k2, seq(float[N]) o) { k2 = Identity(k) o = SequenceConstruct(x) }>",
        "GI110", "a scan output must be a tensor",
    ),
    "a cycle inside a body": (
        "y = If(c) <then_branch = t () => (float[1] o) { o = Add(x, p) p = Abs(o) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI102", "is a cycle",
    ),
    "a body that reads what its node defines": (
        "y = If(c) <then_branch = t () => (float[1] o) { o = Abs(y) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI102", "is a cycle",
    ),
    "a body with an undefined output": (
        "y = If(c) <then_branch = t () => (float[1] o) { q = Abs(x) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI103", "graph output o is not defined",
    ),
    "a name twice in a body": (
        "y = If(c) <then_branch = t () => (float[1] o) { o = Abs(x) o = Neg(x) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI101", "value o is defined more than once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_do_not_fit(name: str) -> None:
    text, code, message = BODIES[name]
    proto = model(f"(float[N] x, bool c, int64 m) => (y) {{ {text} z = Abs(x) }}")
    (finding,) = found(proto)
    assert finding[0] == code
    assert message in finding[1]
    assert shapes(proto)["z"] == "float32[N]"


def test_a_branch_that_never_runs_may_break_the_rules_of_sizes() -> None:
    """An exporter's `if rank and size allow it: squeeze`: its other branch is never legal, and never runs."""
    squeeze = "then_branch = t () => (o) { o = Squeeze(x, one) q = Gather(x, nine) }, else_branch = e () => (p) { p = Identity(x) }"
    head = "one = Constant<value = int64[1] {1}>() nine = Constant<value = int64 {9}>() n = Shape<start = 1>(x) c = Equal(n, one)"
    proto = model(f"(float[9, 3] x) => (y) {{ {head} y = If(c) <{squeeze}> }}")
    inference = infer(proto)
    assert inference.diagnostics == ()
    assert inference.accesses == ()
    assert str(inference["y"]) == "float32[9, 3]"
    unknown = model(f"(float[9, 3] x, bool c) => (y) {{ {head.rsplit(' c =', 1)[0]} y = If(c) <{squeeze}> }}")
    assert "GI210" in [code for code, _ in found(unknown)] or "GI212" in [code for code, _ in found(unknown)]


def nested(depth: int) -> ModelProto:
    proto = graph([])
    body = proto.graph
    for _ in range(depth):
        inner = body.node.add(op_type="If", input=["c"], output=["v"])
        for name in ("else_branch", "then_branch"):
            attribute = inner.attribute.add(name=name, type=AttributeProto.GRAPH)
            attribute.g.output.add(name="v")
            attribute.g.node.add(op_type="Abs", input=["x"], output=["v"])
        body = attribute.g
        del body.node[:]
    body.node.add(op_type="Abs", input=["x"], output=["v"])
    proto.graph.node.append(node("Neg", "x", "z"))
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    proto.graph.output.add(name="v")
    return proto


@pytest.mark.parametrize("depth", [41, 300])
def test_nesting_past_the_limit(depth: int) -> None:
    proto = nested(depth)
    assert found(proto) == [("GI108", "subgraphs and calls nest deeper than 40")]
    assert shapes(proto)["z"] == "float32[N, 3]"
    assert infer(infer(proto).annotated())["z"] == infer(proto)["z"]


def test_nesting_as_deep_as_it_may() -> None:
    assert found(nested(40)) == []
    assert shapes(nested(40))["v"] == "float32[N, 3]"


@pytest.mark.parametrize("depth", [39, 40, 300])
def test_calls_past_the_limit(depth: int) -> None:
    chain = [f"{CALL} f{i} (a) => (b) {{ b = local.f{i + 1}(a) }}" for i in range(depth)]
    last = f"{CALL} f{depth} (a) => (b) {{ b = Abs(a) }}"
    proto = model(
        "(float[N, 3] x) => (y) { y = local.f0(x) }", functions=" ".join([*chain, last]), domains=', "local" : 1'
    )
    assert found(proto) == ([("GI108", "subgraphs and calls nest deeper than 40")] if depth >= 40 else [])


def test_loops_in_loops_do_not_take_forever() -> None:
    """Each body asks for several walks of what is inside it: 2 ** 12 at the least."""
    text = "r12 = Concat<axis=0>(s11, x)"
    for level in reversed(range(12)):
        state = f"s{level - 1}" if level else "x"
        text = (
            f"r{level} = Loop(m, c, {state}) <body = b{level} (int64 i{level}, bool c{level}, float[p] s{level}) => "
            f"(bool d{level}, float[q] r{level + 1}) {{ d{level} = Identity(c{level}) {text} }}>"
        )
    proto = model(f"(float[N] x, bool c, int64 m) => (y) {{ {text} y = Identity(r0) }}")
    assert found(proto) == []


DEAD = {
    # what the body has:       (nodes, the code of the finding; "" where only a run would fail)
    "an undefined name":       ("o = Neg(nobody)", "GI103"),
    "an unknown operator":     ("o = Odd(x)", "GI105"),
    "no attribute":            ("o = Concat(x, x)", "GI106"),
    "too many inputs":         ("o = Neg(x, x)", "GI107"),
    "a wrong element type":    ("n = Shape(x) o = Sigmoid(n)", "GI211"),
    "a constant without data": ("n = Constant<value = float[2] {1}>() o = Add(x, n)", "GI204"),
    "an index out of bounds":  ("n = Constant<value_int = 9>() o = Gather(x, n)", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", DEAD)
@pytest.mark.parametrize("kind", ["If", "Loop"])
def test_in_a_body_that_never_runs_only_the_model_itself_is_wrong(kind: str, name: str) -> None:
    """Models that onnxruntime refuses to load are found; those that it loads and runs are not."""
    nodes, code = DEAD[name]
    body = {
        "If": f"y = If(no) <then_branch = t () => (o) {{ {nodes} }}, else_branch = e () => (p) {{ p = Identity(x) }}>",
        "Loop": f"y, z = Loop(zero, go, x) <body = b (int64 i, bool c, float[q] s) => (bool c2, float[r] s2, float[u] o) {{ c2 = Identity(c) s2 = Identity(s) {nodes} }}>",
    }[kind]
    head = "no = Constant<value = bool {0}>() go = Constant<value = bool {1}>() zero = Constant<value_int = 0>() one = Constant<value_int = 1>()"
    proto = untyped(model(f"(float[4] x) => (y) {{ {head} {body} }}"))
    for attribute in (a for n in proto.graph.node for a in n.attribute if a.HasField("g")):
        for output in attribute.g.output[-1:]:
            output.type.tensor_type.elem_type = 1
            output.type.tensor_type.ClearField("shape")
    if code:
        with pytest.raises((refusals.Fail, refusals.InvalidGraph, refusals.NotImplemented)):
            Runtime(proto)
    else:
        assert compare(infer(proto), Runtime(proto).run({"x": np.ones(4, np.float32)}), {}).wrong == []
    assert {c for c, _ in found(proto)} == ({code} if code else set())
    assert infer(proto).accesses == ()
