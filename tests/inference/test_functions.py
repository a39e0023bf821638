"""Calls: the facts of a call are those of the inlined model, and every call is one of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.inliner
import pytest
from onnx.reference import ReferenceEvaluator

import gather_infer
from gather_infer import infer
from gather_infer.tensor import SymbolicTensor
from gather_infer.verification.body_coverage import body_coverage_of
from tests.inference.models import check, model, shapes, untyped
from tests.onnx_versions import needs_onnx

D = '<domain: "local", opset_import: ["" : 17, "local" : 1]>'
X = "(float[N, 3] x, float[M, 3] w)"

CALLS: dict[str, Any] = {
    # id: (nodes, functions, fact of y)
    "two shapes": (
        "a = local.twice(x) y = local.twice(w)", f"{D} twice (i) => (o) {{ o = Concat<axis=0>(i, i) }}", "float32[2*M, 3]",
    ),
    "nested": (
        "y = local.outer(x)",
        f"{D} outer (i) => (o) {{ t = local.inner(i) o = local.inner(t) }} {D} inner (i) => (o) {{ o = Concat<axis=0>(i, i) }}",
        "float32[4*N, 3]",
    ),
    "an attribute": (
        "y = local.soft <axis = 0> (x)", f"{D} soft <axis> (i) => (o) {{ o = ReduceSum<keepdims: int = @axis>(i) }}", "float32[]",
    ),
    "an attribute left out": (
        "y = local.flat (x)", f"{D} flat <axis> (i) => (o) {{ o = Flatten<axis: int = @axis>(i) }}", "float32[N, 3]",
    ),
    "an attribute with a default": (
        "y = local.flat (x)", f"{D} flat <axis: int = 0> (i) => (o) {{ o = Flatten<axis: int = @axis>(i) }}", "float32[1, 3*N]",
    ),
    "a default that the call overrides": (
        "y = local.flat <axis = 2> (x)", f"{D} flat <axis: int = 0> (i) => (o) {{ o = Flatten<axis: int = @axis>(i) }}",
        "float32[3*N, 1]",
    ),
    "an attribute handed on": (
        "y = local.outer <k = 0> (x)",
        f"{D} outer <k> (i) => (o) {{ o = local.flat<axis: int = @k>(i) }}"
        f" {D} flat <axis> (i) => (o) {{ o = Flatten<axis: int = @axis>(i) }}",
        "float32[1, 3*N]",
    ),
    "an attribute inside a subgraph": (
        "c = Constant<value = bool {1}>() y = local.f <axis = 0> (c, x)",
        f"{D} f <axis> (c, i) => (o) {{ o = If(c) <then_branch = t () => (float[a, b] p) {{ p = Flatten<axis: int = @axis>(i) }},"
        " else_branch = e () => (float[d, h] q) { q = Flatten<axis: int = @axis>(i) }> }",
        "float32[1, 3*N]",
    ),
    "an input left out": (
        "y = local.clip(x)",
        f"{D} clip (i, lo, hi) => (o) {{ o = Clip(i, lo, hi) }}",
        "float32[N, 3]",
    ),
    "an input left out that a subgraph reads": (
        "c = Constant<value = bool {1}>() y = local.clip(c, x)",
        f"{D} clip (c, i, lo) => (o) {{ o = If(c) <then_branch = t () => (float[a, b] p) {{ p = Clip(i, lo) }},"
        " else_branch = e () => (float[d, h] q) { q = Clip(i, lo) }> }",
        "float32[N, 3]",
    ),
    "an operator's name in another domain": (
        "y = local.Transpose(x)", f"{D} Transpose (i) => (o) {{ o = Concat<axis=0>(i, i) }}", "float32[2*N, 3]",
    ),
    "another opset inside": (
        "y = local.f(x)",
        '<domain: "local", opset_import: ["" : 11]> f (i) => (o) { o = Unsqueeze<axes = [0]>(i) }', "float32[1, N, 3]",
    ),
    "shapes inside": (
        "y = local.f(x)",
        f"{D} f (i) => (o) {{ s = Shape(i) z = Constant<value = int64[1] {{1}}>() n = Gather(s, z) m = Constant<value = int64[1] {{-1}}>()"
        " t = Concat<axis=0>(n, m) o = Reshape(i, t) }",
        "float32[3, N]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_the_inlined_body(name: str) -> None:
    nodes, functions, fact = CALLS[name]
    proto = untyped(model(f"{X} => (y) {{ {nodes} }}", functions=functions, domains=', "local" : 1'))
    assert shapes(proto)["y"] == fact
    assert infer(proto).errors == ()
    # onnx's inliner converts no opsets and forgets the defaults of attributes
    if name not in ("another opset inside", "an attribute with a default"):
        assert str(infer(onnx.inliner.inline_local_functions(proto))["y"]) == fact
    # onnxruntime takes the opset of the model, and does not know a left out input inside a subgraph
    if name not in ("another opset inside", "an input left out that a subgraph reads"):
        sizes = [(n, m) for n in (0, 1, 2, 5) for m in (1, 3)]
        check(proto, [({"N": n, "M": m}, {"x": (n, 3), "w": (m, 3)}) for n, m in sizes])


def test_overloads_are_different_functions() -> None:
    proto = untyped(model(f"{X} => (y, z) {{ y = local.f(x) z = local.f(x) }}", functions=f"{D} f (i) => (o) {{ o = Abs(i) }}",
                          domains=', "local" : 1', ir=10))  # fmt: skip
    other = proto.functions.add()
    other.CopyFrom(proto.functions[0])
    other.overload = proto.graph.node[1].overload = "longer"
    other.node[0].CopyFrom(onnx.helper.make_node("Concat", ["i", "i"], ["o"], axis=0))
    facts = shapes(proto)
    assert (facts["y"], facts["z"]) == ("float32[N, 3]", "float32[2*N, 3]")


def test_data_dependent_symbols_differ_per_call() -> None:
    functions = f"{D} nz (i) => (o) {{ o = NonZero(i) }}"
    proto = untyped(
        model(f"{X} => (y, z) {{ y = local.nz(x) z = local.nz(w) }}", functions=functions, domains=', "local" : 1')
    )
    inference = infer(proto)
    y, z = inference["y"], inference["z"]
    assert isinstance(y, SymbolicTensor) and isinstance(z, SymbolicTensor)
    assert y.shape is not None and z.shape is not None
    assert y.shape[0] == z.shape[0] == 2
    assert y.shape[1] != z.shape[1]


def test_a_symbol_declared_in_a_function_is_one_of_each_call() -> None:
    """value_info inside a function says K of a custom operator's output, which differs from call to call."""
    functions = f"{D} f (i) => (o) {{ t = my.custom(i) o = Abs(t) }}"
    proto = model(
        f"{X} => (y, z) {{ y = local.f(x) z = local.f(w) }}", functions=functions, domains=', "local" : 1, "my" : 1'
    )
    proto.functions[0].opset_import.add(domain="my", version=1)
    proto.functions[0].value_info.append(onnx.helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, ["N", "K"]))
    inference = infer(untyped(proto))
    y, z = inference["y"], inference["z"]
    assert isinstance(y, SymbolicTensor) and isinstance(z, SymbolicTensor)
    assert y.shape is not None and z.shape is not None
    x = inference["x"]
    assert isinstance(x, SymbolicTensor) and x.shape is not None
    assert len({*y.shape, *z.shape, *x.shape}) == 6


def test_a_constant_from_an_attribute() -> None:
    functions = f"{D} f <v> (i) => (o) {{ k = Constant<value: tensor = @v>() o = Gather(i, k) }}"
    proto = model(f"{X} => (y) {{ y = local.f(x) }}", functions=functions, domains=', "local" : 1')
    proto.graph.node[0].attribute.add(name="v", type=onnx.AttributeProto.TENSOR).t.CopyFrom(
        onnx.numpy_helper.from_array(np.array([0, 5, 0]))
    )
    inference = infer(untyped(proto))
    assert str(inference["y"]) == "float32[3, 3]"
    assert inference.errors == ()
    check(proto, [({"N": n, "M": 1}, {"x": (n, 3), "w": (1, 3)}) for n in (6, 7, 11)])


SCHEMA_FUNCTIONS: dict[str, Any] = {
    # id: (node, opset, fact of y)
    "without a rule of ours": ("y = Celu(x)", 17, "float32[N, 3]"),
    "of the types": ("y = Clip(x)", 17, "float32[N, 3]"),
    "with an attribute": ("y = Softmax<axis = 0>(x)", 17, "float32[N, 3]"),
    "of several nodes": ("y = MeanVarianceNormalization<axes = [0]>(x)", 17, "float32[N, 3]"),
    "a loss": (
        't = Constant<value = int64[2] {0, 1}>() y = SoftmaxCrossEntropyLoss<reduction = "sum">(x, t)',
        17,
        "float32[]",
    ),
}


@pytest.mark.parametrize("name", SCHEMA_FUNCTIONS)
def test_functions_of_the_standard(name: str) -> None:
    text, opset, fact = SCHEMA_FUNCTIONS[name]
    proto = untyped(model(f"{X} => (y) {{ {text} }}", opset=opset))
    assert shapes(proto)["y"] == fact


def test_scopes_of_calls_have_paths() -> None:
    functions = f"{D} f (i) => (o) {{ o = Abs(i) }}"
    proto = model(
        f"{X} => (y, z) {{ [A] y = local.f(x) [B] z = local.f(w) }}", functions=functions, domains=', "local" : 1'
    )
    inference = infer(proto)
    assert str(inference.scope("A")["o"]) == "float32[N, 3]"
    assert str(inference.scope("B")["o"]) == "float32[M, 3]"
    with pytest.raises(KeyError):
        inference.scope("nowhere")


@needs_onnx("1.22", "FlexAttention")
def test_a_function_of_the_standard_that_depends_on_the_types() -> None:
    """onnx alone gives no more than the rank; the body that its schema builds tells every dim."""
    inputs: dict[str, list[Any]] = {"q": ["B", 2, "L", 4], "k": ["B", 2, "S", 4], "v": ["B", 2, "S", 6]}
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("FlexAttention", list(inputs), ["y"], domain="ai.onnx.preview")],
            "g",
            [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, dims in inputs.items()],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 25), onnx.helper.make_opsetid("ai.onnx.preview", 1)],
    )
    y = infer(proto)["y"]
    assert str(y) == "float32[B, 2, L, 6]"
    sizes = {"B": 1, "L": 3, "S": 5}
    feeds = {n: np.ones([sizes.get(d, d) for d in dims], np.float32) for n, dims in inputs.items()}
    (result,) = ReferenceEvaluator(proto).run(None, feeds)
    assert isinstance(result, np.ndarray) and result.shape == (1, 2, 3, 6)


def test_graphs_that_a_call_passes() -> None:
    """A function may hand its graph attributes to the nodes of its body; all analyses find their nodes."""
    branch = onnx.AttributeProto.GRAPH
    choose = onnx.helper.make_node("If", ["c"], ["o"])
    choose.attribute.add(name="then_branch", ref_attr_name="yes", type=branch)
    choose.attribute.add(name="else_branch", ref_attr_name="no", type=branch)
    opsets = [onnx.helper.make_opsetid("", 17)]
    function = onnx.helper.make_function("local", "choose", ["c", "x"], ["o"], [choose], opsets, ["yes", "no"])
    made = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17, "local": 1]> g (bool c, float[2] x) => (float[2] y) {
        y = local.choose <yes = t () => (float[2] p) { p = Neg(x) }, no = e () => (float[2] q) { q = Relu(x) }> (c, x) }"""
    )
    made.functions.append(function)
    inference = infer(made)
    rows = {row.scope: (row.origin, str(row.node)) for row in inference.tensors() if row.name in ("p", "q")}
    assert rows == {
        "choose#0/If#0/then_branch": ("node", "choose#0/If#0/then_branch/Neg#0"),
        "choose#0/If#0/else_branch": ("node", "choose#0/If#0/else_branch/Relu#0"),
    }
    assert not gather_infer.check(made).errors
    assert {str(each.node) for each in inference.cost().unknown_contributions} == {"choose#0/If#0"}
    assert not body_coverage_of(inference).entered
