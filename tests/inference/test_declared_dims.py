"""Dims and types that the model declares: odd ones, those that contradict, and names that the tool makes up itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from gather_infer import infer
from gather_infer.tensor import SymbolicTensor
from tests.inference.models import found, graph, model, node, shapes, untyped
from tests.oracle.soundness import Runtime, compare

DIMS: dict[str, Any] = {
    # id: (dim of x, fact of y = x)
    "-1 is unknown": (-1, "float32[x.0, 3]"),
    "a very long axis": (2**62 - 1, f"float32[{2**62 - 1}, 3]"),
    "a name with a space": ("batch size", "float32['batch size', 3]"),
    "an expression of unknown names": ("2*N", "float32['2*N', 3]"),
    "half a parenthesis": ("N)", "float32['N)', 3]"),
    "half a sum": ("N+", "float32['N+', 3]"),
    "nothing": ("", "float32[x.0, 3]"),
    "a number in text": ("7", "float32['7', 3]"),
    "a negative number in text": ("-1", "float32['-1', 3]"),
    "a question mark": ("?", "float32['?', 3]"),
    "not ASCII": ("größe", "float32['größe', 3]"),
    "a quote": ("it's", "float32['it\\'s', 3]"),
}


NOTED = {
    # names that read like expressions
    "an expression of unknown names": ["GI120"],
    "a number in text": ["GI120"],
    "a negative number in text": ["GI120"],
}


@pytest.mark.parametrize("name", DIMS)
def test_odd_dims(name: str) -> None:
    dim, fact = DIMS[name]
    proto = graph([node("Concat", "x x", "z", axis=0), node("Abs", "x", "y")])
    entry = proto.graph.input[0].type.tensor_type.shape.dim[0]
    if isinstance(dim, int):
        entry.dim_value = dim
    else:
        entry.dim_param = dim
    assert shapes(proto)["y"] == fact
    annotated = infer(proto).annotated()
    assert shapes(annotated) == shapes(proto)
    assert found(proto) == found(annotated)
    assert [code for code, _ in found(proto)] == NOTED.get(name, [])


def test_a_very_long_name_and_a_very_long_expression() -> None:
    for text in ("n" * 100_000, "N + " * 20_000 + "N", "(" * 5000 + "N" + ")" * 5000):
        proto = graph([node("Abs", "x", "y")])
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = text
        found: Any = infer(proto)["y"]
        assert found.shape[1] == 3


@pytest.mark.parametrize("size", [-2, -7])
def test_a_dim_below_minus_one_is_reported(size: int) -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = size
    assert found(proto) == [("GI109", f"a dim of x must be >= 0, is {size}; it is treated as unknown")]
    assert shapes(proto)["y"] == "float32[N, x.1]"


def test_members_of_a_sequence_have_sizes_of_their_own() -> None:
    proto = untyped(
        model("""(seq(float[-1, 3]) q) => (y, z) { none = Constant<value_int = 0>() one = Constant<value_int = 1>()
            y = SequenceAt(q, none) z = SequenceAt(q, one) }""")
    )
    inference = infer(proto)
    members: Any = [np.ones((n, 3), np.float32) for n in (2, 5)]
    values = Runtime(proto).run({"q": members})
    assert compare(inference, values, {}).wrong == []
    rows = [
        value.shape[0]
        for value in (inference["y"], inference["z"])
        if isinstance(value, SymbolicTensor) and value.shape
    ]
    assert len(set(rows)) == 2


def test_a_declared_difference_is_a_size() -> None:
    """`N - 5` is a dim only where N >= 5, in every legal run."""
    proto = model("(float[N] a, float[M] b) => (float y) { y = Abs(b) }")
    proto.graph.output[0].ClearField("type")
    del proto.graph.input[1].type.tensor_type.shape.dim[:]
    proto.graph.input[1].type.tensor_type.shape.dim.add(dim_param="N - 5")
    body = model(
        "(float[N] a) => (float y) { f = Constant<value = int64[1] {5}>() e = Constant<value = int64[1] {10000}>() z = Slice(a, f, e) }"
    )
    proto.graph.node.extend(body.graph.node)
    inference = infer(proto)
    assert str(inference["b"]) == "float32[N - 5]"
    assert str(inference["z"]) == "float32[min(9995, N - 5)]"


def test_a_missing_shape_is_no_scalar() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    assert shapes(proto)["y"] == "float32[...]"
    proto.graph.input[0].type.tensor_type.shape.SetInParent()
    assert shapes(proto)["y"] == "float32[]"


DECLARED: dict[str, Any] = {
    # id: (type of y, (code, message) as an output; None: nothing is wrong)
    "another size": (("float", ["N", 4]), "float32[N, 4]"),
    "another rank": (("float", ["N"]), "float32[N]"),
    "another element type": (("int64", ["N", 3]), "int64[N, 3]"),
    "a size that is never right": (("float", ["N + 1", 3]), "float32[N + 1, 3]"),
    "a symbol": (("float", ["K", 3]), None),
    "a size that may be right": (("float", [5, 3]), None),
    "no shape": (("float", None), None),
}


@pytest.mark.parametrize("where", ["value_info", "output"])
@pytest.mark.parametrize("name", DECLARED)
def test_declared_against_inferred(name: str, where: str) -> None:
    (kind, dims), text = DECLARED[name]
    proto = graph([node("Abs", "x", "y"), node("Neg", "y", "z")])
    declared = helper.make_tensor_value_info("y", TensorProto.FLOAT if kind == "float" else TensorProto.INT64, dims)
    (proto.graph.value_info if where == "value_info" else proto.graph.output).append(declared)
    expected = []
    if text is not None and where == "value_info":
        expected = [("GI201", f"value_info of y declares {text}, the inputs imply float32[N, 3]")]
    elif text is not None:
        expected = [("GI202", f"output y is declared {text}, the inputs imply float32[N, 3]")]
    assert found(proto) == expected
    assert shapes(proto)["z"] == "float32[N, 3]"
    errors = [d.code for d in infer(proto).errors]  # of an output that differs in its shape alone runtimes only warn
    assert errors == (["GI202" if where == "output" else "GI201"] if kind != "float" else [])


def test_a_declared_symbol_that_stands_for_two_dims() -> None:
    proto = graph([node("Concat", "x x", "y", axis=1), node("Concat", "x x x", "z", axis=1)])
    for name in "yz":
        proto.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", "K"]))
    del proto.graph.output[0]
    assert found(proto) == [("GI202", "declared dim K is both 6 and 9")]


def test_what_several_declared_symbols_stand_for() -> None:
    """Each is said once, wherever it stands; what is named after an input stands for itself."""
    proto = graph([node("Concat", "x x", "y", axis=1), node("Concat", "x x x", "z", axis=0), node("Abs", "x", "w")])
    del proto.graph.output[:]
    stated: dict[str, list[str | int]] = {"y": ["N", "K"], "z": ["L", 3], "w": ["M", "J"], "x": ["M", 3]}
    for name, dims in stated.items():
        proto.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
    assert [d.message for d in infer(proto).diagnostics] == ["K = 6", "L = 3*N", "M = N", "J = 3"]


def test_value_info_of_an_input_changes_nothing() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.value_info.append(helper.make_tensor_value_info("x", TensorProto.INT64, [9]))
    assert shapes(proto)["y"] == "float32[N, 3]"


def test_value_info_stands_in_for_an_unknown_operator() -> None:
    proto = graph([node("Custom", "x", "a", domain="my"), node("Abs", "a", "y")])
    proto.opset_import.add(domain="my", version=1)
    proto.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["K", "2*N"]))
    assert shapes(proto)["y"] == "float32[K, 2*N]"


NONZERO = [node("NonZero", "x", "i"), node("Transpose", "i", "y")]


def test_generated_names_of_our_own_are_not_taken_for_declared_ones() -> None:
    proto = graph(NONZERO)
    once = infer(proto).annotated()
    assert shapes(once) == shapes(proto)
    assert infer(once).annotated() == once
    # the same name for another value: first declared, then generated
    proto.graph.node.insert(0, node("Custom", "x", "a", domain="my"))
    proto.opset_import.add(domain="my", version=1)
    proto.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["nonzero_0"]))
    facts = shapes(proto)
    assert facts["a"] == "float32[nonzero_0]"
    assert facts["i"] == "int64[2, nonzero_1]"
    # ... and first generated, then declared
    proto.graph.node.append(proto.graph.node[0])
    del proto.graph.node[0]
    facts = shapes(proto)
    assert facts["i"] == "int64[2, nonzero_1]"
    assert facts["a"] == "float32[nonzero_0]"


def test_an_input_with_a_name_like_a_generated_one() -> None:
    proto = graph(NONZERO)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "nonzero_0"
    assert shapes(proto)["i"] == "int64[2, nonzero_1]"
    again = infer(infer(proto).annotated())
    assert str(again["i"]) == "int64[2, nonzero_1]"


def test_a_dim_with_the_address_of_an_anonymous_one() -> None:
    proto = graph([node("Abs", "x", "y"), node("Abs", "z", "w")])
    proto.graph.input[0].type.tensor_type.shape.dim[0].ClearField("value")
    proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["x.0"]))
    facts = shapes(proto)
    assert facts["w"] == "float32[x.0]"
    assert facts["y"] == "float32[x.0_, 3]"


def test_facts_of_one_pass_do_not_meet_other_dims_of_that_name_in_the_next() -> None:
    """In the first pass the sum of a and b is broadcast_0, at least 4 long; later a >= 1 and b >= 1 are implied, so that
    the name goes to the sum of c and d, which may be shorter."""
    proto = model(
        """(float[A] a, float[B] b, float[C] c, float[D] d) => (float y) {
          three = Constant<value = int64 {3}>() t1 = Constant<value = int64[1] {3}>() e1 = Constant<value = int64[1] {9999}>()
          s = Add(a, b) g = Gather(s, three) r = Add(c, d) y = Slice(r, t1, e1)
          zero = Constant<value = int64 {0}>() a0 = Gather(a, zero) b0 = Gather(b, zero) }"""
    )
    proto.graph.output[0].ClearField("type")
    inference = infer(proto)
    assert str(inference["s"]) == "float32[max(A, B)]"
    assert str(inference["y"]).startswith("float32[max(0, ")
