"""Dims written in the dialects of other tools: texts, meaning, new names and notes."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import onnx
import pytest
from gather_infer_cli.saving import DIM_DIALECTS
from onnx import TensorProto, helper

from gather_infer import UsageError, infer, optimize
from gather_infer.inference.dim_dialects import DIALECTS, translated
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.symbolic import Expr, evaluate, parse_dim
from gather_infer.symbolic.notations import NOTATIONS, InexpressibleDim
from gather_infer.symbolic.printing import to_text

FIXTURES = Path(__file__).parents[2] / "fixtures"


class Exact:
    """A rational number with the operators of the dialects, as Python's own parser reads them."""

    def __init__(self, value: Any) -> None:
        self.value: Fraction = value.value if isinstance(value, Exact) else Fraction(value)

    def __add__(self, other: object) -> Exact:
        return Exact(self.value + Exact(other).value)

    def __radd__(self, other: object) -> Exact:
        return Exact(other) + self

    def __sub__(self, other: object) -> Exact:
        return Exact(self.value - Exact(other).value)

    def __rsub__(self, other: object) -> Exact:
        return Exact(other) - self

    def __mul__(self, other: object) -> Exact:
        return Exact(self.value * Exact(other).value)

    def __rmul__(self, other: object) -> Exact:
        return Exact(other) * self

    def __neg__(self) -> Exact:
        return Exact(-self.value)

    def __truediv__(self, other: object) -> Exact:
        return Exact(self.value / Exact(other).value)

    def __floordiv__(self, other: object) -> Exact:
        return Exact(self.value // Exact(other).value)

    def __mod__(self, other: object) -> Exact:
        return Exact(self.value % Exact(other).value)

    def __xor__(self, other: object) -> Exact:
        return Exact(max(self.value, Exact(other).value))

    def __and__(self, other: object) -> Exact:
        return Exact(min(self.value, Exact(other).value))


def _choose(choose: Any) -> Any:
    return lambda *args: Exact(choose(Exact(arg).value for arg in args))


FUNCTIONS = {
    "floor": lambda x: Exact(math.floor(Exact(x).value)),
    "Mod": lambda a, b: Exact(a) % b,
    "PythonMod": lambda a, b: Exact(a) % b,
    "Max": _choose(max),
    "Min": _choose(min),
    "max": _choose(max),
    "min": _choose(min),
}


def value_of(text: str, sizes: dict[str, int]) -> Fraction:
    """The value of a text by Python's parser, with every number exact."""
    exact = re.sub(r"(?<![\w.])\d+", lambda found: f"Exact({found[0]})", text)
    names = {name: Exact(size) for name, size in sizes.items()}
    return Exact(eval(exact, {"Exact": Exact, **FUNCTIONS, **names})).value


DIMS = [
    "2*N + 1", "N*M", "(N + 1)//2", "(N - 3)//2 + 2", "N//2//M", "7 - N//2", "-(N//3) + N", "N % 5", "3*((N + M) % 4) + 1",
    "max(0, N - 3)", "min(N, M)*max(N, M, 4)", "(N*M + 7)//(M + 1)", "N//(M + 1)//3 + N % (M + 2)", "max(1, N)//2*M",
    "(max(N, 5) - min(M, 4))//3", "N*N*M - N", "max(M - N, N//2 - M)", "(N - M)//2 + M", "4 - min(N - M, M//3)",
]  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", DIMS)
def test_the_text_of_a_dialect_has_the_values_of_the_dim(text: str, dialect: str) -> None:
    dim = parse_dim(text)
    written = to_text(dim, NOTATIONS[dialect])
    for n in (0, 1, 2, 3, 5, 8, 13):
        for m in (1, 2, 3, 7, 13):
            assert value_of(written, {"N": n, "M": m}) == evaluate(dim, {"N": n, "M": m}), written


def texts(proto: onnx.ModelProto) -> dict[str, list[str | int]]:
    values = (*proto.graph.input, *proto.graph.value_info, *proto.graph.output)
    return {v.name: [d.dim_param or d.dim_value for d in dims_of(v.type)] for v in values}


def model(*dims: str) -> onnx.ModelProto:
    """A model with an input of each dim, of which each is declared once more as that of the output."""
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [dim]) for i, dim in enumerate(dims)]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [dim]) for i, dim in enumerate(dims)]
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(len(dims))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_expressions_are_rewritten_everywhere_and_names_nowhere() -> None:
    found = translated(model("N", "batch", "N//2", "max(0, N - 1)", "floor(batch/2 - 1/2) + 1"), "onnxruntime")
    expected = ["N", "batch", "floor(N/2)", "Max(0, N - 1)", "floor((batch + 1)/2)"]
    assert texts(found.proto) == {f"{x}{i}": [text] for x in "xy" for i, text in enumerate(expected)}
    assert found.notes == ()


def test_a_dim_without_a_text_becomes_a_new_name() -> None:
    proto = model("a.b", "2*a.b", "a.b*2", "a.b//3", "dim_0")
    found = translated(proto, "rfc0009")
    assert [dims for name, dims in texts(found.proto).items() if name.startswith("y")] == [
        ["a.b"], ["dim_1"], ["dim_1"], ["dim_2"], ["dim_0"],
    ]  # fmt: skip
    (note,) = found.notes
    assert note.code == "GI122"
    assert [note.message, *note.detail] == [
        "dim_1 stands for 2*a.b: the dialect rfc0009 has no expressions with the name 'a.b'",
        "dim_2 stands for a.b//3: the dialect rfc0009 has no expressions with the name 'a.b'",
    ]
    assert infer(found.proto)["y1"] == infer(found.proto)["y2"]
    assert translated(proto, "onnx-ir").notes == ()


def test_a_name_that_readers_take_for_an_expression_is_kept_with_a_note() -> None:
    proto = model("batch-size", "seq len")
    found = translated(proto, "onnx-ir")
    assert found.proto is proto
    assert [(n.code, n.message) for n in found.notes] == [
        ("GI120", "readers of the dialect onnx-ir may take these names for expressions: 'batch-size'")
    ]
    assert translated(proto, "gather-infer").notes == ()


def test_a_text_that_is_a_name_in_the_file_is_not_given_to_an_expression() -> None:
    proto = model("N", "M", "2*N//3")
    proto.graph.output[1].type.tensor_type.shape.dim[0].dim_param = "floor(K/3)"
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "K"
    proto.graph.input[2].type.tensor_type.shape.dim[0].dim_param = "K//3"
    found = texts(translated(proto, "onnxruntime").proto)
    assert found["y1"] == found["x2"] == ["floor(K/3)"]  # both are the expression
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "L"
    assert texts(translated(proto, "onnxruntime").proto)["y1"] == ["floor(K/3)"]  # a name, for no dim is K


@pytest.mark.parametrize("dialect", DIALECTS)
def test_round_trip(dialect: str, tmp_path: Path) -> None:
    for name in ("gpt2-kv-dynamo", "convnet-torchscript", "detector-nonzero-dynamo"):
        inference = infer(FIXTURES / f"{name}.onnx")
        path = tmp_path / f"{name}.onnx"
        report = inference.save(path, dim_dialect=dialect)
        assert report.notes == ()
        plain, written = inference.annotated(), onnx.load(path)
        back = translated(written, "gather-infer", inference.causes).proto
        assert texts(back) == texts(translated(plain, "gather-infer", inference.causes).proto)
        again = infer(written)
        known = {v: f for v, f in inference.items() if not any(map(inference.is_generated, _dims(f)))}
        assert {v: again[v] for v in known} == known


def _dims(fact: object) -> list[Expr]:
    return [dim for dim in getattr(fact, "shape", None) or () if isinstance(dim, Expr)]


def test_a_result_of_optimize_is_written_in_a_dialect(tmp_path: Path) -> None:
    result = optimize(FIXTURES / "gpt2-kv-dynamo.onnx")
    result.save(tmp_path / "out.onnx", dim_dialect="torch")
    with pytest.raises(UsageError, match="unknown dim dialect 'tortch'; did you mean 'torch'"):
        result.save(tmp_path / "other.onnx", dim_dialect="tortch")


def test_the_option_lists_all_dialects() -> None:
    assert DIM_DIALECTS == DIALECTS


def test_a_notation_without_quotes_has_no_odd_names() -> None:
    for name, notation in NOTATIONS.items():
        if not notation.quotes:
            with pytest.raises(InexpressibleDim, match=name):
                to_text(parse_dim("2*'a b'"), notation)
