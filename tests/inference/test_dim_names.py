"""One text, one size: what the file calls its dims and what the tool makes up, in the file that is written."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer import infer, symbol
from gather_infer.symbolic import parse_dim
from tests.inference.models import found, graph, model, node, shapes
from tests.oracle.soundness import Runtime


def sizes_of(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, set[int]]:
    """The sizes that each dim_param of the main graph has in a run of onnxruntime."""
    shapes = {name: array.shape for name, array in {**feeds, **Runtime(proto).run(feeds)}.items()}
    found: dict[str, set[int]] = defaultdict(set)
    for info in (*proto.graph.input, *proto.graph.value_info, *proto.graph.output):
        for dim, size in zip(info.type.tensor_type.shape.dim, shapes[info.name], strict=False):
            if dim.dim_param:
                found[dim.dim_param].add(size)
    return found


def declared(proto: onnx.ModelProto, name: str, *dims: str | int) -> None:
    """Give an output dims."""
    (output,) = (o for o in proto.graph.output if o.name == name)
    output.CopyFrom(helper.make_tensor_value_info(name, TensorProto.INT64, dims))


COUNTS = model("(float[n] x, float[m] y) => (a, b) { i = NonZero(x) j = NonZero(y) a = Transpose(i) b = Transpose(j) }")
FEEDS: dict[str, Any] = {"x": np.array([0, 1, 2], np.float32), "y": np.array([5, 0, 0], np.float32)}


@pytest.mark.parametrize(
    ("first", "second"), [("nonzero_1", "nonzero_0"), ("nonzero_0", "nonzero_1"), ("rows", "nonzero_0")]
)
def test_declared_outputs_with_the_names_of_generated_symbols(first: str, second: str) -> None:
    proto = onnx.ModelProto()
    proto.CopyFrom(COUNTS)
    declared(proto, "a", first, 1)
    declared(proto, "b", second, 1)
    annotated = infer(proto).annotated()
    assert annotated.graph.output == proto.graph.output
    sizes = sizes_of(annotated, FEEDS)
    assert len(sizes) >= 4 and all(len(found) == 1 for found in sizes.values()), sizes
    assert infer(annotated).annotated() == annotated


def test_names_declared_for_other_values() -> None:
    for where in ("value_info of x", "a body", "a function", "an expression"):
        proto = onnx.ModelProto()
        proto.CopyFrom(COUNTS)
        if where == "value_info of x":
            proto.graph.value_info.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["nonzero_0"]))
        elif where == "a body":
            branch = helper.make_graph(
                [helper.make_node("Neg", ["x"], ["t"])], "g", [],
                [helper.make_tensor_value_info("t", TensorProto.FLOAT, ["nonzero_0"])],
            )  # fmt: skip
            proto.graph.node.add(op_type="If", input=["c"], output=["d"]).attribute.extend(
                [helper.make_attribute("then_branch", branch), helper.make_attribute("else_branch", branch)]
            )
            proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
        elif where == "a function":
            proto.functions.append(helper.make_function("local", "F", ["p"], ["q"], [], []))
            info = helper.make_tensor_value_info("r", TensorProto.FLOAT, ["nonzero_0"])
            proto.functions[0].value_info.append(info)
        else:
            declared(proto, "b", "nonzero_0 + 1", 1)
        assert str(infer(proto)["i"]) in ("int64[1, nonzero_1]", "int64[1, nonzero_2]"), where


def test_a_name_of_the_file_does_not_come_back_once_generated() -> None:
    """Types that another run wrote over value_info are no reason for new names."""
    annotated = infer(COUNTS).annotated()
    assert shapes(annotated) == shapes(COUNTS)
    assert str(infer(COUNTS)["j"]) == "int64[1, nonzero_1]"


PADDED = model("(float[N] a, float[N] b) => (c) { c = Concat <axis = 0> (a, b) }")


@pytest.mark.parametrize("other", ["N ", " N", "N\t", "'N'", " 'N'"])
def test_blanks_and_quotes_make_another_name(other: str) -> None:
    """onnxruntime runs with two sizes, as with any two names."""
    proto = onnx.ModelProto()
    proto.CopyFrom(PADDED)
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = other
    inference = infer(proto)
    assert inference["c"].shape == (symbol("N") + symbol(other),)
    annotated = inference.annotated()
    assert infer(annotated)["c"] == inference["c"]
    feeds = {"a": np.zeros(2, np.float32), "b": np.zeros(5, np.float32)}
    assert sizes_of(annotated, feeds)[other] == {5}
    assert Runtime(proto).run(feeds)["c"].shape == (7,)


def test_expressions_of_known_symbols_are_read_as_before() -> None:
    for text in ("N+1", "N + 1", " N + 1 ", "(N + 1)", "'N' + 1"):
        proto = onnx.ModelProto()
        proto.CopyFrom(PADDED)
        proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = text
        assert str(infer(proto)["c"]) == "float32[2*N + 1]", text


def test_an_expression_with_a_quoted_name_before_that_name() -> None:
    proto = onnx.ModelProto()
    proto.CopyFrom(PADDED)
    for entry, text in zip(proto.graph.input, ("'batch size' + 1", "batch size"), strict=True):
        entry.type.tensor_type.shape.dim[0].dim_param = text
    inference = infer(proto)
    assert inference["a"].shape == (parse_dim("'batch size' + 1"),)
    assert infer(inference.annotated())["c"] == inference["c"]


def test_the_same_text_for_an_expression_and_for_a_name() -> None:
    """`A` and `B` are no symbols of the inputs, so the input's `A + B` is a name: it has nothing to do with them."""
    proto = graph([node("Custom", "x", "a b", domain="my"), node("Concat", "a b", "c", axis=0), node("Neg", "x", "y")])
    proto.opset_import.add(domain="my", version=1)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "A + B"
    for name, size in (("a", "A"), ("b", "B")):
        proto.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]))
    inference = infer(proto)
    assert inference["c"].shape == (symbol("A") + symbol("B"),)
    annotated = inference.annotated()
    texts = {v.name: v.type.tensor_type.shape.dim[0].dim_param for v in annotated.graph.value_info}
    assert texts == {"a": "A", "b": "B", "c": "(A + B)"}
    assert annotated.graph.input == proto.graph.input
    again = infer(annotated)
    assert [d.code for d in again.diagnostics] == [d.code for d in inference.diagnostics]
    assert again.annotated() == annotated
    assert {c for c, _ in found(annotated)} == {"GI105", "GI120"}
