"""Operators of onnx that have no rule: those of a newer onnx, say. Their bodies are walked, or onnx is asked."""

from __future__ import annotations

import pytest

from gather_infer import infer
from gather_infer.rules import RuleSet
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.inference.models import model

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
    """Let an operator have no rule."""
    lookup = RuleSet.lookup
    monkeypatch.setattr(
        RuleSet, "lookup", lambda rules, name, *rest: None if name == op_type else lookup(rules, name, *rest)
    )


@pytest.mark.parametrize("name", WALKED)
def test_the_body_of_an_operator_is_walked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
