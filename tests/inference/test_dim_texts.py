"""Names and expressions in dim_params: which text is which, and what is noted."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer import infer
from gather_infer.inference.proto.dim_texts import read_dim_text
from gather_infer.symbolic import Expr, parse_dim


def model(*dims: str) -> onnx.ModelProto:
    """A model with an input and an output of rank 1 for each dim of the inputs."""
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [dim]) for i, dim in enumerate(dims)]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(len(dims))]
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(len(dims))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


MEANINGS = {
    # dims of the other inputs; text: the expression, "" for a name; code of the note, "" for none
    "a name": ("N", "M", "", ""),
    "a name with dots": ("N", "DynamicDimension.1", "", ""),
    "a product": ("s0 s1", "s0*s1", "s0*s1", ""),
    "a product of names that no input has": ("s0", "s0*s1", "", "GI120"),
    "a sum": ("N", "N+1", "N + 1", ""),
    "a sum of a name that no input has": ("M", "N+1", "", "GI120"),
    "a word with a hyphen": ("N", "batch-size", "", ""),
    "a word with a hyphen, of dims": ("a b", "a-b", "", "GI120"),
    "a dim and a number joined": ("N", "N-1", "", "GI120"),
    "a difference with blanks": ("a b", "a - b", "a - b", ""),
    "a difference in parentheses": ("a b", "(a-b)", "a - b", ""),
    "two words": ("seq len", "seq len", "", ""),
    "a path": ("N", "input/dim_0", "", ""),
    "a fraction": ("batch", "batch/2", "", "GI121"),
    "a fraction in a sum": ("N", "N/2 + 1", "", "GI121"),
    "a fraction that is whole": ("N", "N*(N + 1)/2", "(N*N + N)//2", ""),
    "a fraction under floor": ("W", "floor(W/2 - 1/2) + 1", "(W + 1)//2", ""),
    "a root": ("N", "sqrt(N)", "", "GI121"),
    "a rounded float": ("N", "floor(0.3*N)", "", "GI121"),
    "an unknown function": ("N", "Where(N < 2, 1, N)", "", "GI121"),
    "an unknown function of names that no input has": ("M", "Where(N < 2, 1, N)", "", ""),
    "a maximum": ("N M", "N^M", "max(M, N)", ""),
    "a maximum or a power": ("N", "N^2", "", "GI120"),
    "a minus before a power": ("N", "-N**2", "", "GI120"),
    "a number": ("N", "7", "", "GI120"),
    "an expression that is a number": ("N", "N - N + 3", "", "GI120"),
    "blanks around a name": ("N", " N ", "", "GI120"),
    "blanks around a name that no input has": ("N", " M ", "", ""),
    "a name with a hyphen in a product": ("batch-size", "2*batch-size", "2*'batch-size'", ""),
    "a name with a blank in a product": ("sl", "floor(seq len/2)", "", ""),
    "a name with a blank under floor": ("seq len", "floor(seq len/2)", "'seq len'//2", ""),
    "a product that is read in two ways": ("a,b,a-b", "2*a-b", "", "GI120"),
    "a product that is read in two ways by prefixes": ("c,a-b,a-b-c", "2*a-b-c", "", "GI120"),
}


@pytest.mark.parametrize("case", MEANINGS)
def test_the_meaning_of_a_text(case: str) -> None:
    others, text, expression, code = MEANINGS[case]
    names = others.split(",") if "," in others or "len" in others else others.split()
    inference = infer(model(*names, text))
    (dim,) = inference[f"y{len(names)}"].shape or ()
    assert isinstance(dim, Expr)
    assert dim.symbols == frozenset({text}) if not expression else dim == parse_dim(expression)
    assert [d.code for d in inference.diagnostics] == ([code] if code else [])
    assert all(text in d.message for d in inference.diagnostics)


def test_all_texts_are_in_one_note() -> None:
    inference = infer(model("N", "M", "N-1", "M-1", "N-M"))
    (note,) = inference.diagnostics
    assert (note.code, note.location.value) == ("GI120", "x3")
    assert [note.message, *note.detail] == [
        "dim 'M-1' is taken as a name: it may be a word or an expression of M",
        "dim 'N-1' is taken as a name: it may be a word or an expression of N",
        "dim 'N-M' is taken as a name: it may be a word or an expression of N and M",
    ]


def test_declared_texts_inside_the_model_are_noted() -> None:
    proto = model("N", "M")
    proto.graph.output[1].CopyFrom(helper.make_tensor_value_info("y1", TensorProto.FLOAT, ["N/M"]))
    assert [(d.code, d.location.value) for d in infer(proto).diagnostics] == [("GI203", "y1"), ("GI121", "y1")]


def test_the_advice_works() -> None:
    assert infer(model("a", "b", "a-b"), dims=["a-b=a - b"])["y2"].shape == (parse_dim("a - b"),)
    assert infer(model("a", "b", "a-b"), inputs=["x2=[a - b]"])["y2"].shape == (parse_dim("a - b"),)
    assert infer(model("N", "N/2"), dims=["N/2=N//2"])["y1"].shape == (parse_dim("N//2"),)


def test_many_odd_names_in_one_text() -> None:
    names = frozenset(f"a-{i}" for i in range(9))
    text = " + ".join(sorted(names))
    found = read_dim_text(text, names)
    assert found.expression is not None and found.expression.symbols == names
    assert read_dim_text(text, names | {"a"}).note is not None
