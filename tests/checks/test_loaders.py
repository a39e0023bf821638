"""`check` reports an error exactly where onnxruntime refuses to load: small models, compared with it."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, parser

from gather_infer import check
from gather_infer.inference.proto.releases import NEWEST_OPSET
from tests.oracle.graph_builder import REFUSALS

HEAD = '<ir_version: 8, opset_import: ["": 17]>'
CALLS = '<ir_version: 8, opset_import: ["": 17, "c": 1]>'
X = {"x": np.ones(3, np.float32)}
INTEGERS = {"x": np.arange(3)}
TAKEN = {**X, "b": np.array(True)}
ONE = "g (float[3] x) => (float[3] y) {} {{ {} }}"
INTS = "g (int64[3] x) => (int64[3] y) {} {{ {} }}"
IF = "g (float[3] x, bool b) => (float[3] y) {{ y = If(b) <then_branch = t () => ({}) {}, else_branch = e () => (float[3] q) {{ q = Abs(x) }}> }}"
CALL = 'g (float[3] x) => (float[3] y) {{ y = {}(x) }} <domain: "c", opset_import: ["": {}]> f (a) => (d) {{ {} }}'

Change = Callable[[ModelProto], None]


def as_it_is(model: ModelProto) -> None:
    """Nothing is changed."""


def declared(kind: str, name: str, elem_type: int | None) -> Change:
    """A value_info, or an input or output, says so; None is no type at all, 0 one without an element type."""

    def change(model: ModelProto) -> None:
        values = getattr(model.graph, kind)
        value = next((v for v in values if v.name == name), None) or values.add(name=name)
        if elem_type is None:
            value.ClearField("type")
        else:
            value.type.tensor_type.SetInParent()
            value.type.tensor_type.elem_type = elem_type

    return change


def opset(domain: str, version: int) -> Change:
    def change(model: ModelProto) -> None:
        entry = next((o for o in model.opset_import if o.domain == domain), None) or model.opset_import.add(
            domain=domain
        )
        entry.version = version

    return change


def without(what: str) -> Change:
    """The checker minds, onnxruntime does not."""

    def change(model: ModelProto) -> None:
        output = model.graph.output[0]
        if what == "name":
            model.graph.ClearField("name")
        elif what == "type":
            output.ClearField("type")
        else:
            output.type.tensor_type.ClearField("shape")
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(model)

    return change


def unsorted(model: ModelProto) -> None:
    model.graph.node.reverse()
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(model)


def overridable(model: ModelProto) -> None:
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.INT64, [1]))


MODELS: dict[str, tuple[str, Change, dict[str, Any], str, str]] = {
    # id: (model, what is changed, feeds, what onnxruntime does, the error that is reported)
    "two names": (HEAD + ONE.format("", "[n] a = Neg(x) [m] y = Abs(a)"), as_it_is, X, "runs", ""),
    "no names": (HEAD + ONE.format("", "a = Neg(x) y = Abs(a)"), as_it_is, X, "runs", ""),
    "one name": (HEAD + ONE.format("", "[n] a = Neg(x) [n] y = Abs(a)"), as_it_is, X, "refuses", "GI117"),
    "one name, and nobody reads": (HEAD + ONE.format("", "[n] a = Neg(x) [n] y = Abs(x)"), as_it_is, X, "refuses", "GI117"),
    "the name of a Constant": (HEAD + ONE.format("", "[n] a = Constant<value = float[1] {1}>() [n] y = Add(x, a)"), as_it_is, X, "runs", ""),
    "one name in a branch": (HEAD + IF.format("float[3] p", "{ [n] r = Neg(x) [n] p = Neg(r) }"), as_it_is, TAKEN, "refuses", "GI117"),
    "one name in both branches": (HEAD + IF.format("float[3] p", "{ [n] p = Neg(x) }").replace("q = Abs", "[n] q = Abs"), as_it_is, TAKEN, "runs", ""),
    "one name in a function": (CALLS + CALL.format("c.f", 17, "[n] e = Neg(a) [n] d = Neg(e)"), as_it_is, X, "refuses", "GI117"),
    "one name in a function that nobody calls": (CALLS + CALL.format("Neg", 17, "[n] e = Neg(a) [n] d = Neg(e)"), as_it_is, X, "runs", ""),
    "value_info of the type": (HEAD + ONE.format("<float[3] a>", "a = Neg(x) y = Abs(a)"), as_it_is, X, "runs", ""),
    "value_info of another type": (HEAD + ONE.format("<int64[3] a>", "a = Neg(x) y = Abs(a)"), as_it_is, X, "refuses", "GI201"),
    "value_info of another size": (HEAD + ONE.format("<float[4] a>", "a = Neg(x) y = Abs(a)"), as_it_is, X, "runs", ""),
    "value_info of another rank": (HEAD + ONE.format("<float[3, 1] a>", "a = Neg(x) y = Abs(a)"), as_it_is, X, "runs", ""),
    "value_info of another type, of a Constant": (HEAD + ONE.format("<int64[1] a>", "a = Constant<value = float[1] {1}>() y = Add(x, a)"), as_it_is, X, "runs", ""),
    "value_info of another type, of an input": (HEAD + ONE.format("", "y = Abs(x)"), declared("value_info", "x", 7), X, "runs", ""),
    "value_info of another type, of an output": (HEAD + ONE.format("", "y = Abs(x)"), declared("value_info", "y", 7), X, "runs", ""),
    "value_info of another type, of a call": (CALLS + CALL.format("c.f", 17, "d = Neg(a)").replace("{ y = c.f(x) }", "{ z = c.f(x) y = Neg(z) }"), declared("value_info", "z", 7), X, "refuses", "GI201"),
    "value_info of another type, of microsoft": ('<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>' + ONE.format("<int64[3] a>", "a = com.microsoft.Gelu(x) y = Abs(a)"), as_it_is, X, "refuses", "GI201"),
    "value_info of another type, in a branch": (HEAD + IF.format("float[3] p", "<int64[3] r> { r = Neg(x) p = Neg(r) }"), as_it_is, {**X, "b": np.array(False)}, "refuses", "GI201"),
    "value_info of another type, in a branch in a function": (CALLS + CALL.format("c.f", 17, "k = Constant<value = bool {1}>() d = If(k) <then_branch = t () => (float[3] p) <int64[3] r> { r = Neg(a) p = Neg(r) }, else_branch = e () => (float[3] q) { q = Abs(a) }>"), as_it_is, X, "refuses", "GI201"),
    "value_info of another type, in a function": (CALLS + CALL.format("c.f", 17, "r = Neg(a) d = Neg(r)").replace("=> (d) {", "=> (d) <int64[3] r> {"), as_it_is, X, "runs", ""),
    "more elements than addresses, whose shape is read": (HEAD + "g (float[3] x) => (int64[2] y) <int64[2] s = {1099511627776, 1099511627776}> { c = ConstantOfShape(s) y = Shape(c) }", as_it_is, X, "runs", ""),
    "value_info without a type": (HEAD + ONE.format("", "a = Neg(x) y = Abs(a)"), declared("value_info", "a", None), X, "runs", ""),
    "value_info without an element type": (HEAD + ONE.format("", "a = Neg(x) y = Abs(a)"), declared("value_info", "a", 0), X, "refuses", "GI205"),
    "value_info without an element type, of nothing": (HEAD + ONE.format("", "y = Abs(x)"), declared("value_info", "a", 0), X, "runs", ""),
    "value_info without an element type, of an input": (HEAD + ONE.format("", "y = Abs(x)"), declared("value_info", "x", 0), X, "runs", ""),
    "value_info without an element type, of an output": (HEAD + ONE.format("", "y = Abs(x)"), declared("value_info", "y", 0), X, "runs", ""),
    "value_info without an element type, of a Constant": (HEAD + ONE.format("", "a = Constant<value = float[1] {1}>() y = Add(x, a)"), declared("value_info", "a", 0), X, "runs", ""),
    "an output without an element type": (HEAD + ONE.format("", "y = Abs(x)"), declared("output", "y", 0), X, "refuses", "GI205"),
    "an input that nobody reads, without an element type": (HEAD + ONE.format("", "y = Abs(x)"), declared("input", "z", 0), X, "refuses", "GI205"),
    "an output of another type": (HEAD + ONE.format("", "y = Abs(x)"), declared("output", "y", 7), X, "refuses", "GI202"),
    "an output of another type, of a constant": (HEAD + "g (float[3] x) => (float[3] y, int64[1] w) <float[1] w = {1}> { y = Neg(x) }", as_it_is, X, "runs", ""),
    "an output of another type, of an input": (HEAD + "g (float[3] x) => (float[3] y, int64[3] x) { y = Neg(x) }", as_it_is, X, "runs", ""),
    "an output of another type, of a branch": (HEAD + IF.format("int64[3] p", "{ p = Neg(x) }"), as_it_is, TAKEN, "refuses", "GI202"),
    "a graph without a name": (HEAD + ONE.format("", "y = Abs(x)"), without("name"), X, "runs", ""),
    "an output without a shape": (HEAD + ONE.format("", "y = Abs(x)"), without("shape"), X, "runs", ""),
    "an output without a type": (HEAD + ONE.format("", "y = Abs(x)"), without("type"), X, "runs", ""),
    "nodes out of order": (HEAD + ONE.format("", "a = Neg(x) y = Abs(a)"), unsorted, X, "runs", ""),
    "opset 99": (HEAD + ONE.format("", "y = Abs(x)"), opset("", 99), X, "refuses", "GI104"),
    "opset 99 of ml": (HEAD + ONE.format("", "y = Abs(x)"), opset("ai.onnx.ml", 99), X, "refuses", "GI104"),
    "opset 99 of microsoft": (HEAD + ONE.format("", "y = Abs(x)"), opset("com.microsoft", 99), X, "refuses", "GI104"),
    "opset 99 of a domain of one's own": (HEAD + ONE.format("", "y = Abs(x)"), opset("c", 99), X, "runs", ""),
    "opset 99 of a function that nobody calls": (CALLS + CALL.format("Neg", 99, "d = Neg(a)"), as_it_is, X, "refuses", "GI104"),
    "division by 2": (HEAD + INTS.format("<int64[1] z = {2}>", "y = Div(x, z)"), as_it_is, INTEGERS, "runs", ""),
    "division by 0": (HEAD + INTS.format("<int64[1] z = {0}>", "y = Div(x, z)"), as_it_is, INTEGERS, "refuses", "GI210"),
    "division by 0 among others": (HEAD + INTS.format("<int64[3] z = {1, 0, 2}>", "y = Div(x, z)"), as_it_is, INTEGERS, "refuses", "GI210"),
    "division by 0, and nobody reads": (HEAD + INTS.format("<int64[1] z = {0}>", "a = Div(x, z) y = Abs(x)"), as_it_is, INTEGERS, "refuses", "GI210"),
    "division by a Constant of 0": (HEAD + INTS.format("", "z = Constant<value = int64[1] {0}>() y = Div(x, z)"), as_it_is, INTEGERS, "refuses", "GI210"),
    "division by a default of 0": (HEAD + INTS.format("<int64[1] z = {0}>", "y = Div(x, z)"), overridable, {**INTEGERS, "z": np.ones(1, np.int64)}, "runs", ""),
    "modulo 0": (HEAD + INTS.format("<int64[1] z = {0}>", "y = Mod(x, z)"), as_it_is, INTEGERS, "refuses", "GI210"),
    "modulo 0, like C": (HEAD + INTS.format("<int64[1] z = {0}>", "y = Mod<fmod = 1>(x, z)"), as_it_is, INTEGERS, "refuses", "GI210"),
    "division of a float by 0": (HEAD + ONE.format("<float[1] z = {0}>", "y = Div(x, z)"), as_it_is, X, "runs", ""),
    "division by 0 in a branch": (HEAD + IF.format("float[3] p", "<int64[1] z = {0}> { i = Shape(x) j = Div(i, z) p = Expand(x, j) }"), as_it_is, {**X, "b": np.array(False)}, "refuses", "GI210"),
    "division by an outer Constant of 0 in a branch": (HEAD + IF.format("float[3] p", "{ i = Shape(x) j = Div(i, z) p = Expand(x, j) }").replace("{ y = If", "{ z = Constant<value = int64[1] {0}>() y = If"), as_it_is, {**X, "b": np.array(False)}, "refuses", "GI210"),
    "division by a computed 0 in a branch, a constant of its name in the other": (HEAD + "g (float[N] x, bool b) => (int64[1] y) { s = Shape(x) y = If(b) <then_branch = t () => (int64[1] p) { z = Sub(s, s) p = Div(s, z) }, else_branch = e () => (int64[1] q) <int64[1] z = {0}> { q = Add(s, z) }> }", as_it_is, {**X, "b": np.array(False)}, "runs", ""),
    "division by 0 in a function that nobody calls": (CALLS + CALL.format("Neg", 17, "z = Constant<value = int64[1] {0}>() i = Shape(a) d = Div(i, z)"), as_it_is, X, "runs", ""),
    "a size past 64 bits": (HEAD + "g (float[N] x) => (float[A, B] y) <int64[2] s = {1099511627776, 1099511627776}> { y = Reshape(x, s) }", as_it_is, X, "refuses", "GI322"),
    "a product past 64 bits": (HEAD + "g (float[N, M] x) => (float[A, B] y) <int64[2] s = {1099511627776, 1099511627776}> { y = Reshape(x, s) }", as_it_is, X, "refuses", "GI322"),
    "no roi before opset 13": ('<ir_version: 6, opset_import: ["": 11]>' + "g (float[3] x) => (float[6] y) <int64[1] s = {6}> { y = Resize(x, , , s) }", as_it_is, X, "refuses", "GI107"),
    "no roi since opset 13": ('<ir_version: 7, opset_import: ["": 13]>' + "g (float[3] x) => (float[6] y) <int64[1] s = {6}> { y = Resize(x, , , s) }", as_it_is, X, "runs", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_what_is_refused_is_an_error(name: str) -> None:
    text, change, feeds, outcome, code = MODELS[name]
    model = parser.parse_model(text)
    change(model)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options)
    except REFUSALS:
        assert outcome == "refuses"
    else:
        assert outcome == "runs"
        session.run(None, feeds)
    assert [d.code for d in check(model).errors] == ([code] if code else [])


def test_one_opset_more_than_is_known_may_come() -> None:
    """A later onnx knows it, and a later onnxruntime: that is a warning."""
    model = parser.parse_model(HEAD + ONE.format("", "y = Abs(x)"))
    model.opset_import[0].version = NEWEST_OPSET + 1
    result = check(model)
    assert result.errors == () and "GI109" in {d.code for d in result.warnings}


def test_a_computed_0_divides_nothing_where_there_is_nothing() -> None:
    body = "g (int64[{0}] x, float[0] q) => (int64[{0}] y) {{ s = Shape(q) y = Div(x, s) }}"
    some, none, open_ = (check(parser.parse_model(HEAD + body.format(size))) for size in ("3", "0", "N"))
    assert [d.code for d in some.errors] == ["GI210"]
    assert [[d.code for d in r.warnings] for r in (none, open_)] == [["GI210"], ["GI210"]]
    assert none.errors == open_.errors == ()


SHARED = """g (float[N] x) => (float[M] y) <{}> {{
    a = Exp(x) b = Concat<axis = 0>(a, a) c = Concat<axis = 0>(b, b) d = Concat<axis = 0>(c, c) y = Concat<axis = 0>(d, d) }}"""


def test_a_name_of_two_sizes() -> None:
    """onnxruntime puts a value into the buffer of another one that is called alike, and the run fails."""
    named = parser.parse_model(HEAD + SHARED.format("float[K] a, float[L] b, float[K] c, float[L] d"))
    right = parser.parse_model(HEAD + SHARED.format("float[N] a, float[K] b, float[L] c, float[P] d"))
    found = [(d.code, d.location.value) for d in check(named).warnings]
    assert found == [("GI201", "output c"), ("GI201", "output d")]
    assert "which differ at N = 1" in check(named).warnings[0].message
    assert check(right).warnings == ()
    for model, runs in ((named, False), (right, True)):
        session = ort.InferenceSession(model.SerializeToString())
        if runs:
            session.run(None, X)
        else:
            with pytest.raises(REFUSALS, match="re-use buffer"):
                session.run(None, X)


def test_a_name_of_two_sizes_that_are_one_in_each_run() -> None:
    """With more rows than the table has no run comes to its end."""
    model = parser.parse_model(
        HEAD
        + """g (int64[N] x) => (int64[N] y) <int64[8] t = {1, 2, 3, 4, 5, 6, 7, 8}, int64[1] z = {0}, int64[N] r> {
            s = Shape(x) r = Slice(t, z, s) y = Add(x, r) }"""
    )
    assert check(model).warnings == ()
