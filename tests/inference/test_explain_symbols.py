"""Where symbols come from, what bounds them, and how they are renamed."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import onnx
import pytest

import gather_infer
from gather_infer import Explainer, UnknownName
from gather_infer.symbolic import Interval
from tests.cli.cli_models import embedding

FIXTURES = Path(__file__).parents[2] / "fixtures"


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> {text}')


def test_a_symbol_of_the_inputs() -> None:
    found = Explainer(FIXTURES / "bert-torchscript.onnx").symbol("seq")
    assert [str(place) for place in found.interface_dims] == [
        "axis 1 of the input input_ids",
        "axis 1 of the input attention_mask",
        "axis 1 of the input token_type_ids",
        "axis 1 of the output last_hidden_state",
    ]
    assert (found.cause, found.equals, found.suggestions) == (None, None, ())
    assert found.bounds == Interval(1, 64)  # the table of positions has 64 rows, a Reshape refuses no tokens
    assert found.declared == Interval(0, None)
    assert "seq <= 64" in [line.text for line in found.contract_lines]


def test_the_suggested_option_renames() -> None:
    model = FIXTURES / "bert-torchscript.onnx"
    option, text = shlex.split(Explainer(model).symbol("seq").rename)
    assert option == "--input"
    renamed = gather_infer.infer(model, inputs=[text.replace("NAME", "tokens")])
    assert str(renamed["last_hidden_state"]) == "float32[batch, tokens, 32]"
    assert "seq" not in str(renamed["attention_mask"])


def test_what_limits_an_access_bounds_no_symbol() -> None:
    """Where the batch is empty nothing is looked up, so every seq is legal then."""
    text = "g (int64[batch, seq] x, float[16, 4] t) => (float[batch, seq, 4] y)"
    model = parsed(f"{text} {{ s = Shape (x) z = Constant <value_int = 0> () o = Constant <value_int = 1> () "
                   "n = Gather (s, o) r = Range (z, n, o) e = Expand (r, s) y = Gather (t, e) }")  # fmt: skip
    found = Explainer(model).symbol("seq")
    assert found.bounds == Interval(0, None)
    assert [line.text for line in found.contract_lines] == ["seq <= 16"]


def test_a_symbol_that_the_run_made_up() -> None:
    explainer = Explainer(FIXTURES / "gpt2-kv-dynamo.onnx", assume=False)
    found = explainer.symbol("reshape_1")
    assert found.cause is not None and found.cause.op_type == "Reshape"
    assert found.suggestions[0] == "--dim batch=1.." and found.rename == ""
    known = gather_infer.infer(FIXTURES / "gpt2-kv-dynamo.onnx", dims=["batch=1.."], assume=False)
    assert "reshape_1" not in known.causes


def test_uses_are_counted() -> None:
    explainer = Explainer(embedding())
    found, facts = explainer.symbol("seq"), explainer.inference
    assert found.shapes == sum("seq" in str(value.shape) for value in facts.values() if hasattr(value, "shape"))
    assert (found.elements, found.examples[0]) == (3, "ids")  # shape, seq_len and target


def test_a_name_of_the_outputs_alone() -> None:
    found = Explainer(embedding()).symbol("total")
    assert (str(found.equals), [str(place) for place in found.interface_dims]) == (
        "seq",
        ["axis 1 of the output hidden"],
    )


def test_a_symbol_that_was_given_a_size() -> None:
    found = Explainer(embedding(), dims=["seq=8"]).symbol("seq")
    assert (found.equals, found.shapes, found.rename) == (8, 0, "")


def test_a_dim_without_a_name() -> None:
    model = embedding()
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    explainer = Explainer(model)
    found = explainer.symbol("ids.1")
    assert [str(place) for place in found.interface_dims] == ["axis 1 of the input ids"]
    assert found.rename == "--input 'ids=[batch, NAME]'"


def test_names_that_are_both_and_neither() -> None:
    model = embedding()
    model.graph.node[1].output[0] = "seq"
    model.graph.node[2].input[0] = model.graph.node[9].input[0] = "seq"
    explainer = Explainer(model)
    tensor, symbol = explainer.named("seq")
    assert isinstance(tensor, gather_infer.Explanation) and tensor.name == "seq"
    assert isinstance(symbol, gather_infer.SymbolExplanation) and symbol.symbol == "seq"
    with pytest.raises(UnknownName, match="no symbol 'sec'; did you mean 'seq'"):
        explainer.symbol("sec")
    with pytest.raises(UnknownName, match="no tensor or symbol 'bacth'; did you mean 'batch'"):
        explainer.named("bacth")


def test_many_tensors_are_explained_by_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = Explainer(FIXTURES / "detector-nonzero-dynamo.onnx")
    runs: list[object] = []

    def counted(*given: Any, **said: Any) -> gather_infer.Inference:
        runs.append(said)
        return gather_infer.infer(*given, **said)

    monkeypatch.setattr("gather_infer.explanation.explainer.infer", counted)
    found = list(explainer.tensors(unknown=True))
    assert [explanation.name for explanation in found] == [r.title for r in explainer.inference.tensors(unknown=True)]
    assert len(runs) <= 16  # bounds that were tried for one are known for all


def test_the_text_of_an_explanation_is_that_of_the_command() -> None:
    text = str(gather_infer.explain(FIXTURES / "bert-torchscript.onnx", "last_hidden_state", depth=1))
    assert text.splitlines()[0] == "last_hidden_state   float32[batch, seq, 32]"
    assert str(Explainer(embedding()).symbol("seq")).startswith("seq   a dim of the inputs\n")


def test_an_output_that_is_declared_with_a_name_of_the_inputs_may_have_another_size() -> None:
    """In runs at batch = 2, certainty is [2, 13]; the exporter calls both axes batch."""
    explainer = Explainer(FIXTURES / "detr-torchscript.onnx")
    assert str(explainer.inference.shape("certainty")) == "(<dim batch>, 13)"
    found = explainer.symbol("batch")
    assert found.equals is None and found.rename == "--input 'pixel_values=[NAME, 3, height, width]'"
    told = [str(place) for place in found.interface_dims]
    assert "axis 0 of the output certainty" in told and "axis 1 of the output certainty" not in told


@pytest.mark.parametrize("name", ["a-b", "my dim", "it's", 'a "b"', "$HOME"])
def test_the_renaming_of_a_neighbour_of_odd_names_is_what_a_shell_takes(name: str) -> None:
    """Names that are no identifiers are quoted in a shape, and the shape once more in a shell."""
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [name, "seq"])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    model = onnx.helper.make_model(onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]))
    explainer = Explainer(model)
    said = explainer.symbol("seq").rename.replace("NAME", "tokens")
    read = subprocess.run(["sh", "-c", f"printf '%s\\n' {said}"], capture_output=True, text=True, check=True)
    option, text = read.stdout.splitlines()
    assert option == "--input"
    renamed = gather_infer.infer(model, inputs=[text])
    assert renamed.shape("y") == (explainer.inference.shape("y")[0], gather_infer.symbol("tokens"))
