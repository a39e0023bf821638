"""Declarations of the model replace types that cannot be inferred, and a user's rule is held to its contract."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

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


RETURNS: dict[str, Any] = {
    # id:              (what the rule returns, what the error says)
    "no list":          (SymbolicTensor(DType.FLOAT32, (3,)), "must return a list of facts, returns SymbolicTensor"),
    "nothing":          (None, "must return a list of facts, returns NoneType"),
    "too few":          ([], "must return 1 facts, returns 0"),
    "too many":         ([None, None], "must return 1 facts, returns 2"),
    "a negative dim":   ([SymbolicTensor(DType.FLOAT32, (3, -8))], "returns as output 0 the dim -8, not an int >= 0 or an Expr"),
    "a numpy dim":      ([SymbolicTensor(DType.FLOAT32, (np.int64(3),))], f"returns as output 0 the dim {np.int64(3)!r}, not an int"),
    "a text dim":       ([SymbolicTensor(DType.FLOAT32, cast(Any, ("N",)))], "returns as output 0 the dim 'N'"),
    "a list of dims":   ([SymbolicTensor(DType.FLOAT32, cast(Any, [3]))], "returns as output 0 the shape [3], not a tuple"),
    "a value":          ([SymbolicTensor(None, (3,), cast(Any, 3))], "returns as output 0 the values 3, not an array of"),
    "too few values":   ([SymbolicTensor(None, (3,), np.array([1, 2], object))], "not an array of the shape (3,)"),
    "values, no shape": ([SymbolicTensor(None, None, np.array([1, 2], object))], "not an array of the shape None"),
    "a pair of bounds": ([SymbolicTensor(None, (3,), None, cast(Any, (0, 1)))], "the value_range (0, 1), not a ValueR"),
    "a number":         ([3], "returns as output 0 int, not a fact or None"),
}  # fmt: skip


@pytest.mark.parametrize("name", RETURNS)
def test_a_rule_of_the_caller_that_returns_nonsense_is_named(name: str) -> None:
    returned, message = RETURNS[name]
    rules = RuleSet("my")
    rules.rule("Foo")(lambda op: returned)
    with pytest.raises(UsageError) as caught:
        infer(model("(float[N, 3] x) => (float y) { y = my.Foo(x) }", domains=CUSTOM), rules=[rules])
    assert str(caught.value).startswith(f"{__file__}: the rule of my.Foo at node Foo#0")
    assert message in str(caught.value)


def test_a_declared_element_type_completes_what_a_rule_knows() -> None:
    rules = RuleSet("my")
    rules.rule("Foo")(lambda op: [SymbolicTensor(None, op.tensor(0).shape)])
    proto = model("(float[N] x) => (z) { y = my.Foo(x) z = Abs(y) }", domains=CUSTOM)
    assert str(infer(proto, rules=[rules])["z"]) == "?[N]"
    proto.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"]))
    assert str(infer(proto, rules=[rules])["z"]) == "float32[N]"


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


def typed(kind: str, *dims: int | str | None, dtype: int = TensorProto.FLOAT) -> onnx.TypeProto:
    """A tensor of some dims, or a sequence or an optional of it."""
    tensor = helper.make_tensor_type_proto(dtype, dims)
    match kind:
        case "seq":
            return helper.make_sequence_type_proto(tensor)
        case "optional":
            return helper.make_optional_type_proto(tensor)
        case "map":
            return helper.make_map_type_proto(TensorProto.INT64, tensor)
        case "sparse":
            return helper.make_sparse_tensor_type_proto(dtype, dims)
    return tensor


CONTRADICTIONS: dict[str, Any] = {
    # id:                     (type of the input, type that is declared for its copy, whether no run has both)
    "a size":                 (typed("tensor", "N", 3), typed("tensor", "N", 4), True),
    "a size that may be":     (typed("tensor", "N", 3), typed("tensor", 4, 3), False),
    "names":                  (typed("tensor", "N", 3), typed("tensor", "M", 3), False),
    "a rank":                 (typed("tensor", "N", 3), typed("tensor", "N"), True),
    "a type":                 (typed("tensor", "N"), typed("tensor", "N", dtype=TensorProto.INT64), True),
    "a sequence":             (typed("seq", "N", 3), typed("seq", "N", 3), False),
    "a size in a sequence":   (typed("seq", "N", 3), typed("seq", "N", 4), True),
    "a type in a sequence":   (typed("seq", "N"), typed("seq", "N", dtype=TensorProto.INT64), True),
    "a kind":                 (typed("tensor", "N"), typed("seq", "N"), True),
    "an optional":            (typed("optional", "N", 3), typed("optional", "N", 3), False),
    "a size in an optional":  (typed("optional", "N", 3), typed("optional", "N", 4), True),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_declarations_that_no_run_can_satisfy(name: str) -> None:
    given, declared, is_contradiction = CONTRADICTIONS[name]
    nodes = [helper.make_node("Identity", ["x"], ["h"]), helper.make_node("Identity", ["h"], ["y"])]
    for inside in (True, False):
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_value_info("x", given)],
            [helper.make_value_info("y", given if inside else declared)],
        )
        if inside:
            graph.value_info.append(helper.make_value_info("h", declared))
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        found = {d.code for d in infer(proto).diagnostics} & {"GI201", "GI202"}
        assert found == ({"GI201" if inside else "GI202"} if is_contradiction else set()), inside


def test_what_a_declared_symbol_of_an_output_is() -> None:
    inference = infer(model("(float[N] x) => (float[M] y) { y = Identity(x) }"))
    assert [d.message for d in inference.diagnostics] == ["M = N"]


def test_a_declared_number_where_other_sizes_are_legal() -> None:
    """Whoever goes by it takes the model for one of that size alone; the run has the size of its input."""
    inference = infer(model("(float[N, 3] x) => (float[4, 3] y) { y = Neg(x) }"))
    assert [(d.code, d.message) for d in inference.diagnostics] == [
        ("GI203", "dim 0 is declared 4, the inputs imply N")
    ]
    assert str(inference["y"]) == "float32[N, 3]"


def test_a_number_as_the_name_of_a_dim_is_a_name() -> None:
    proto = model("(float[N] x) => (float[M] y) { y = my.Foo(x) }", domains=CUSTOM)
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "8"
    y = infer(proto)["y"]
    assert isinstance(y, SymbolicTensor) and y.shape is not None
    assert not isinstance(y.shape[0], int)


def test_a_name_that_is_defined_twice_is_written_once() -> None:
    inference = infer(model("(float[N] x) => (float[N] y) { h = Neg(x) h = Abs(x) y = Identity(h) }"))
    assert [d.code for d in inference.errors] == ["GI101"]
    assert [v.name for v in inference.annotated().graph.value_info] == ["h"]


@pytest.mark.parametrize(
    "given, declared, dims, is_contradiction",
    [("N", 3, "N=4..9", True), ("N", 3, "N=3..9", False), ("2*N", 3, (), True), ("2*N", 4, (), False)],
    ids=["below the bounds", "in the bounds", "an odd size", "an even size"],
)
def test_a_declared_number_that_a_size_never_is(given: str, declared: int, dims: str, is_contradiction: bool) -> None:
    proto = model(f"(float[N] m, float[A] x) => (float[{declared}] y) {{ y = Identity(x) }}")
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = given
    found = {d.code for d in infer(proto, dims=[dims] if dims else ()).diagnostics}
    assert ("GI202" in found) == is_contradiction


def test_coverage_counts_what_is_known() -> None:
    """x and s are exact, h has a size that depends on data, o an element type alone and u nothing."""
    inference = infer(
        model(
            "(float[N] x, float o) => (u) { s = SequenceConstruct(x, x) h = NonZero(x) u = my.Foo(x) }", domains=CUSTOM
        )
    )
    found = inference.coverage()
    assert (found.tensors, found.typed, found.ranked, found.exact) == (5, 4, 4, 3)
