"""`unfreeze`: the types that the result declares, in the main graph, in bodies, and behind operators without a rule."""

from __future__ import annotations

import onnx
import pytest
from onnx import ModelProto, TypeProto

from gather_infer import unfreeze
from tests.unfreezing.cases import BATCH
from tests.verification.models import model

CUSTOM = '<ir_version: 10, opset_import: ["" : 18, "custom" : 1]> g '


def dims_of(declared: TypeProto) -> list[int | str | None]:
    dims = declared.tensor_type.shape.dim
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims]


def denotations(declared: TypeProto) -> list[str]:
    return [dim.denotation for dim in declared.tensor_type.shape.dim]


def custom(text: str) -> ModelProto:
    return onnx.parser.parse_model(CUSTOM + text)


def in_bodies() -> ModelProto:
    static = model(
        "(float[2,4] x, bool c) => (float[2,2,2] y, float[2,3] z) <int64[3] s = {2,2,-1}, "
        "float[2,3] k = {1,2,3,4,5,6}> "
        "{ m = Neg(x) y = If(c) <then_branch = t () => (float[2,2,2] p) <float[4,2] q> { f = Constant<value = "
        "int64[2] {4,2}>() q = Reshape(m, f) p = Reshape(q, s) }, "
        "else_branch = e () => (float[2,2,2] b) { n = Abs(m) b = Reshape(n, s) }> "
        "z = If(c) <then_branch = u () => (float[2,3] g) { g = Neg(k) }, "
        "else_branch = v () => (float[2,3] h) { h = Abs(k) }> }"
    )
    graph = static.graph
    graph.value_info.append(onnx.helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [2, 4]))
    branch = graph.node[1].attribute[0].g
    for value in (*graph.input, *graph.output, *graph.value_info, *branch.output, *branch.value_info):
        value.type.denotation = f"TENSOR_{value.name}"
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.denotation = f"AXIS_{axis}"
    return static


def test_types_in_bodies_have_the_symbols() -> None:
    static = in_bodies()
    result = unfreeze(static, BATCH)
    assert not result.refused, result.why_refused
    branch = result.proto.graph.node[1].attribute[0].g
    assert dims_of(branch.output[0].type) == ["batch", 2, 2]
    assert [(v.name, dims_of(v.type)) for v in branch.value_info] == [("q", ["2*batch", 2])]
    assert dims_of(result.proto.graph.node[1].attribute[1].g.output[0].type) == ["batch", 2, 2]
    onnx.checker.check_model(result.proto, full_check=True)
    untouched = static.graph.node[2]  # it does not depend on the input
    assert result.proto.graph.node[2].SerializeToString() == untouched.SerializeToString()


def test_denotations_stay() -> None:
    static = in_bodies()
    found = unfreeze(static, BATCH).proto.graph
    branches = found.node[1].attribute[0].g, static.graph.node[1].attribute[0].g
    pairs = [
        *zip(found.input, static.graph.input, strict=True),
        *zip(found.output, static.graph.output, strict=True),
        *zip(found.value_info, static.graph.value_info, strict=True),
        *zip(branches[0].output, branches[1].output, strict=True),
        *zip(branches[0].value_info, branches[1].value_info, strict=True),
    ]
    assert len(pairs) == 7
    for new, old in pairs:
        assert new.name == old.name and new.type.denotation == old.type.denotation != ""
        assert denotations(new.type) == denotations(old.type)


def test_a_loop_without_an_edit_declares_the_symbols() -> None:
    static = model(
        "(float[2,4] x) => (float[2,4] y, float[3,2,4] z) <int64 n = {3}> { y, z = Loop(n, , x) <"
        "body = b (int64 i, bool c, float[2,4] g) => (bool d, float[2,4] o, float[2,4] w) { d = Identity(c) "
        "o = Neg(g) w = Abs(o) }> }"
    )
    result = unfreeze(static, BATCH)
    assert not result.refused, result.why_refused
    body = result.proto.graph.node[0].attribute[0].g
    assert [dims_of(v.type) for v in (*body.input, *body.output)] == [
        [], [], ["batch", 4], [], ["batch", 4], ["batch", 4],
    ]  # fmt: skip
    onnx.checker.check_model(result.proto, full_check=True)


def test_type_and_rank_of_an_output_of_an_operator_without_a_rule() -> None:
    static = custom(
        "(float[2,3] x, float[4] w) => (float[2,3] y, float[2,3] z, float[4] v) "
        "{ q = custom.Rows(x) y = custom.Rows(q) z = Neg(y) v = custom.Other(w) }"
    )
    static.graph.output[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    static.graph.value_info.append(onnx.helper.make_tensor_value_info("q", onnx.TensorProto.FLOAT, [2, 4]))
    result = unfreeze(static, BATCH, verify=False)
    assert not result.refused, result.why_refused
    y, z, v = result.proto.graph.output
    for value in (y, z):
        assert value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT and dims_of(value.type) == [None, None]
    assert dims_of(v.type) == [4]  # it does not depend on x
    assert [(each.name, dims_of(each.type)) for each in result.proto.graph.value_info] == [("q", [None, None])]
    assert denotations(y.type) == ["DATA_BATCH", ""]
    onnx.checker.check_model(result.proto, full_check=True)
    assert {each.name for each in result.interface.changed} == {"x", "y", "z"}


REFUSED = {
    "a constant of the old size beside a value of unknown shape": (
        "(float[2,3] x) => (float[2,3] y) <float[2,1] k = {1,2}> { r = custom.Rows(x) y = Add(r, k) }",
        "reads r, whose shape is not known, beside a constant with an axis of 2",
    ),
    "a target with the old size for a value of unknown shape": (
        "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2,-1}> { r = custom.Rows(x) y = Reshape(r, s) }",
        "reads r, whose shape is not known, and the number 2",
    ),
    "the old size merged with another": (
        "(float[2,3] x) => (float[6] y) <int64[2] s = {3,2}, int64[1] f = {-1}> "
        "{ m = Reshape(x, f) r = custom.Rows(m) q = Neg(r) u = Constant<value = int64[1] {6}>() y = Reshape(q, u) }",
        "reads q, whose shape is not known, and the number 6",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_constants_that_meet_values_of_unknown_shape_are_refused(name: str) -> None:
    text, reason = REFUSED[name]
    result = unfreeze(custom(text), BATCH, verify=False)
    assert reason in result.why_refused


def test_constants_of_other_sizes_that_meet_such_values_stay() -> None:
    text = (
        "(float[2,3] x) => (float[2,3] y) <float[3] k = {1,2,3}, float[3,3] w = {1,2,3,4,5,6,7,8,9}> "
        "{ r = custom.Rows(x) a = Add(r, k) y = MatMul(a, w) }"
    )
    result = unfreeze(custom(text), BATCH, verify=False)
    assert not result.refused, result.why_refused


def test_the_order_of_elements_of_such_values_is_not_known() -> None:
    """The size may be any axis of `r`, so that no target is known to put it where its elements are."""
    text = "(float[2,3] x) => (float[2,3] y) <int64[2] s = {-1,3}> { r = custom.Rows(x) y = Reshape(r, s) }"
    result = unfreeze(custom(text), BATCH, verify=False)
    assert "r has an unknown shape" in result.why_refused
