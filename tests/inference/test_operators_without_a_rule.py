"""Operators of onnx that have no rule: those of a newer onnx, say. Their bodies are walked, or onnx is asked."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from gather_infer import infer
from gather_infer.inference import op_resolution
from gather_infer.rules import RuleSet
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.inference.models import model
from tests.onnx_versions import require_onnx

N = symbol("N")
WALKED = {
    # id: (node, opset, whether its body depends on the node)
    "a body of one version": ("y = HardSwish(x)", 18),
    "a body for each version": ("y = LessOrEqual(x, x)", 18),
    "a body that depends on attributes": ("y = Celu<alpha = 2.0>(x)", 18),
    "a body that depends on the node": ("y = Softmax<axis = 1>(x)", 18),
    "a body of several outputs": ("y, z, p = DynamicQuantizeLinear(w)", 18),
}
ASKED = {
    # id: (node, the result for a static x, the rank for [N, 3, 2])
    "one input": ("y = Abs(x)", (2, 3, 2), 3),
    "an input that is left out": ("c = Constant<value_ints = [2, 6, 2]>() y = Resize(x, , , c)", (2, 6, 2), 3),
    "a size that does not depend on x": ("c = Constant<value_ints = [4, 5]>() y = ConstantOfShape(c)", (4, 5), None),
}


def hide(monkeypatch: pytest.MonkeyPatch, op_type: str) -> None:
    """Let an operator have no rule, whatever an earlier run has found of it."""
    monkeypatch.setattr(op_resolution, "_standard_op", op_resolution._standard_op.__wrapped__)
    lookup = RuleSet.lookup
    monkeypatch.setattr(
        RuleSet, "lookup", lambda rules, name, *rest: None if name == op_type else lookup(rules, name, *rest)
    )


@pytest.mark.parametrize("name", WALKED)
def test_the_function_body_of_an_operator_is_interpreted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, opset = WALKED[name]
    proto = model(f"(float[N, 3] x, float[N, 3] w) => (y) {{ {nodes} }}", opset=opset)
    expected = infer(proto)["y"]
    hide(monkeypatch, proto.graph.node[0].op_type)
    found = infer(proto)
    assert found["y"] == expected and found.diagnostics == ()
    assert isinstance(expected, SymbolicTensor) and expected.shape == (N, 3)


@pytest.mark.parametrize("name", ASKED)
def test_onnx_is_asked_about_static_shapes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of symbols it is asked for the element type and the rank alone."""
    if "left out" in name:
        require_onnx("1.17", "shape inference of a single node whose inputs are omitted")
    nodes, shape, rank = ASKED[name]
    hide(monkeypatch, nodes.rsplit(" = ", 1)[1].split("(")[0])
    found = infer(model(f"(float[2, 3, 2] x) => (y) {{ {nodes} }}", opset=18))
    assert found["y"] == SymbolicTensor(DType.FLOAT32, shape) and found.errors == ()
    found = infer(model(f"(float[N, 3, 2] x) => (y) {{ {nodes} }}", opset=18))
    fact = found["y"]
    assert isinstance(fact, SymbolicTensor) and fact.dtype is DType.FLOAT32 and fact.shape is not None
    if rank is None:
        assert fact.shape == shape
    else:
        assert len(fact.shape) == rank and all(map(found.is_generated, fact.shape))


def made_by_onnx(op_type: str, version: int, node: onnx.NodeProto, kinds: list[onnx.TypeProto]) -> dict[str, str]:
    """Values of the function body that onnx has for an operator at a version of ai.onnx, each with its operator."""
    schema: Any = onnx.defs.get_schema(op_type, version)
    if schema.has_function:
        body = schema.get_function_with_opset_version(version)
    else:
        types = [kind.SerializeToString() for kind in kinds]
        body = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
    return {name: made.op_type for made in onnx.FunctionProto.FromString(body).node for name in made.output}


@pytest.mark.parametrize(("opset", "version"), [(17, 13), (18, 18), (20, 18)])
def test_the_newest_function_body_of_the_opset_is_interpreted(
    opset: int, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    proto = model("(float[N, 3] x) => (y) { y = MeanVarianceNormalization<axes = [0]>(x) }", opset=opset)
    hide(monkeypatch, "MeanVarianceNormalization")
    found = infer(proto)
    schema: Any = onnx.defs.get_schema("MeanVarianceNormalization", opset)
    assert max(v for v in schema.function_opset_versions if v <= opset) == version
    made = made_by_onnx("MeanVarianceNormalization", version, proto.graph.node[0], [])
    (path,) = (path for path in found.scopes if path.steps)
    assert found.scopes[path].keys() - {"X"} == made.keys()


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_body_that_depends_on_an_attribute_of_the_function_around_it(
    reduction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tensor of the body has the node that makes it, which is found again from what the call gives."""
    function = """<domain: "local", opset_import: ["" : 18]> loss <kind> (x, t) => (y) {
        y = NegativeLogLikelihoodLoss<reduction: string = @kind>(x, t) }"""
    text = f'(float[N, 5] x, int64[N] t) => (y) {{ y = local.loss<kind = "{reduction}">(x, t) }}'
    proto = model(text, opset=18, domains=', "local": 1', functions=function)
    hide(monkeypatch, "NegativeLogLikelihoodLoss")
    found = infer(proto)
    assert found.diagnostics == ()
    node = onnx.helper.make_node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], reduction=reduction)
    kinds = [
        onnx.helper.make_tensor_type_proto(kind, None) for kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64)
    ]
    made = made_by_onnx("NegativeLogLikelihoodLoss", 13, node, kinds)
    (deepest,) = (label for path, label in found.labels.items() if len(path.steps) == 2)
    rows = [row for row in found.tensors() if row.scope == deepest]
    assert {row.name: row.op_type for row in rows if row.origin == "node"} == made
