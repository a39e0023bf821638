"""What the model declares stands in where nothing can be inferred, and a caller's rule is held to its contract."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import DType, OpCall, RuleSet, SpecViolation, SymbolicTensor, UsageError, infer
from tests.inference.models import model

CUSTOM = ', "my": 1'


def test_a_declared_output_stands_in_for_an_unknown_operator() -> None:
    inference = infer(model("(float[N, 3] x) => (float[N, 4] y) { y = my.Foo(x) }", domains=CUSTOM))
    assert [d.code for d in inference.diagnostics] == ["GI105"]
    assert str(inference["y"]) == "float32[N, 4]"


def test_a_declared_output_stands_in_after_an_unknown_operator() -> None:
    inference = infer(model("(float[N, 3] x) => (float[N, 4] y) { h = my.Foo(x) y = Identity(h) }", domains=CUSTOM))
    assert [str(inference[name]) for name in ("h", "y")] == ["?[...]", "float32[N, 4]"]


def test_a_declared_value_stands_in_for_an_unknown_operator() -> None:
    proto = model("(float[N, 3] x) => (float[M] y) { h = my.Foo(x) s = Shape(h) y = Expand(x, s) }", domains=CUSTOM)
    stated = proto.graph.value_info.add(name="h")
    stated.type.tensor_type.elem_type = 1
    for size in ("N", "K"):
        stated.type.tensor_type.shape.dim.add(dim_param=size)
    assert str(infer(proto)["s"]) == "int64[2] = [N, K]"


RETURNS = {
    # id:              (what the rule returns, what the error says)
    "no list":          (SymbolicTensor(DType.FLOAT32, (3,)), "must return a list of facts, returns SymbolicTensor"),
    "nothing":          (None, "must return a list of facts, returns NoneType"),
    "too few":          ([], "must return 1 facts, returns 0"),
    "too many":         ([None, None], "must return 1 facts, returns 2"),
    "a negative dim":   ([SymbolicTensor(DType.FLOAT32, (3, -8))], "output 0 has the dim -8, not an int >= 0 or an Expr"),
    "a numpy dim":      ([SymbolicTensor(DType.FLOAT32, (np.int64(3),))], "output 0 has the dim np.int64(3)"),
    "a text dim":       ([SymbolicTensor(DType.FLOAT32, ("N",))], "output 0 has the dim 'N'"),
    "a list of dims":   ([SymbolicTensor(DType.FLOAT32, [3])], "output 0 has the shape [3], not a tuple"),
    "a number":         ([3], "output 0 must be a fact or None, is int"),
}  # fmt: skip


@pytest.mark.parametrize("name", RETURNS)
def test_a_rule_of_the_caller_that_returns_nonsense_is_named(name: str) -> None:
    returned, message = RETURNS[name]
    rules = RuleSet("my")
    rules.rule("Foo")(lambda op: returned)
    with pytest.raises(UsageError) as caught:
        infer(model("(float[N, 3] x) => (float y) { y = my.Foo(x) }", domains=CUSTOM), rules=[rules])
    assert str(caught.value).startswith("the rule of my.Foo")
    assert message in str(caught.value)


def test_a_code_that_is_in_no_table_is_named() -> None:
    rules = RuleSet("my")

    @rules.rule("Foo")
    def foo(op: OpCall) -> list[SymbolicTensor]:
        raise SpecViolation("no", "GI999")

    with pytest.raises(UsageError, match="unknown code GI999"):
        infer(model("(float[N, 3] x) => (float y) { y = my.Foo(x) }", domains=CUSTOM), rules=[rules])


def test_the_elements_of_a_rejected_node_are_not_followed() -> None:
    """A scalar cannot be concatenated; what is declared of the result stands in and must not be trusted further."""
    proto = model("(int64 a, int64[2] b) => (int64[3] y) { c = Concat<axis=0>(a, b) y = Identity(c) }")
    stated = proto.graph.value_info.add(name="c")
    stated.type.tensor_type.elem_type = 7
    stated.type.tensor_type.shape.dim.add(dim_value=3)
    inference = infer(proto)
    assert [d.severity for d in inference.diagnostics] == ["error"]
    assert str(inference["y"]) == "int64[3]"
