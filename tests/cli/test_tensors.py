"""`tensors` and `explain` of many tensors: widths, forms, and that all ways tell the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gather_infer
from tests.cli.conftest import Run
from tests.cli.test_streams import on_a_terminal


def shown(columns: int, *arguments: str) -> tuple[int, str]:
    """The final screen of a terminal of that width, without progress."""
    return on_a_terminal(columns, *arguments, "-q")


DETECTOR = "fixtures/detector-nonzero-dynamo.onnx"


@pytest.mark.parametrize("columns", [80, 120])
def test_a_line_each_at_usual_widths(columns: int, run: Run) -> None:
    code, text = shown(columns, "tensors", DETECTOR, "--unknown")
    lines = text.rstrip("\n").split("\n")
    assert code == 0
    assert all(len(line) <= columns for line in lines)
    assert [line.split()[0] for line in lines[1:-2]] == [
        row.title for row in gather_infer.infer(DETECTOR).tensors(unknown=True)
    ]
    whole = "nonzero_0: the number of elements that are not 0 depends on the data"
    assert (whole in lines[1]) == (columns == 120)
    assert "nonzero_0, from node_NonZero_37" in lines[2]


@pytest.mark.parametrize("columns", [80, 120])
def test_long_names_stay_whole_on_a_narrow_terminal(columns: int, run: Run) -> None:
    code, text = shown(columns, "tensors", "fixtures/bert-torchscript.onnx", "--op", "Softmax", "-v")
    assert code == 0
    assert "/bert/encoder/layer.1/attention/self/Softmax_output_0" in text
    assert "float32[batch, 4, seq, seq]" in text
    assert all(len(line) <= columns for line in text.split("\n"))


@pytest.mark.parametrize("columns", [80, 120])
def test_a_symbol_on_a_terminal(columns: int, run: Run) -> None:
    code, text = shown(columns, "explain", "fixtures/bert-torchscript.onnx", "batch")
    assert code == 0
    assert all(len(line) <= columns for line in text.split("\n"))
    assert "  rename       --input 'input_ids=[NAME, seq]'" in text


@pytest.mark.parametrize("columns", [80, 120])
def test_names_and_options_of_a_symbol_stay_whole(columns: int, run: Run) -> None:
    _, text = shown(columns, "explain", "fixtures/gpt2-kv-torchscript.onnx", "past")
    assert all(len(line) <= columns for line in text.split("\n"))
    assert "past_key_values.1.key, ..." in text
    assert "--input 'past_key_values.0.key=[batch, 4, NAME, 8]'" in text


@pytest.mark.parametrize("columns", [80, 120])
def test_a_tensor_on_a_terminal(columns: int, run: Run) -> None:
    """Names and types are whole: a name alone may be wider than the terminal."""
    model = "fixtures/bert-torchscript.onnx"
    _, text = shown(columns, "explain", model, "last_hidden_state")
    lines = text.rstrip("\n").split("\n")
    assert all(len(line) <= columns or len(line.split()) == 1 for line in lines)
    assert ("  Add       /bert/encoder/layer.1/output/LayerNorm/Add_1   A float32[" in text) == (columns == 120)
    assert "data float32[batch, seq, 4, 8], shape int64[3] =" in text
    assert "".join(text.split()) == "".join(run("explain", model, "last_hidden_state").stdout.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_an_operator_on_a_terminal(columns: int, run: Run) -> None:
    code, text = shown(columns, "ops", "Gather")
    assert code == 0
    assert all(len(line) <= columns for line in text.split("\n") if "https://" not in line)
    assert "Elements and value ranges of the results are known" in text


def test_text_json_and_python_tell_the_same(run: Run) -> None:
    rows = gather_infer.infer(DETECTOR).tensors("val_*", op="Slice")
    told = json.loads(run("tensors", DETECTOR, "val_*", "--op", "Slice", "--format", "json").stdout)
    assert [(t["name"], t["op_type"], t["node"], t["cause"]) for t in told["tensors"]] == [
        (row.name, row.op_type, str(row.node), row.cause) for row in rows
    ]
    assert (told["total"], told["model"]) == (47, DETECTOR)
    printed = run("tensors", DETECTOR, "val_*", "--op", "Slice").stdout.split("\n")
    assert [line.split()[0] for line in printed[1 : len(rows) + 1]] == [row.title for row in rows]


def test_an_explanation_is_the_same_by_command_and_in_python(run: Run) -> None:
    explainer = gather_infer.Explainer(DETECTOR)
    assert run("explain", DETECTOR, "boxes").stdout == f"{explainer.tensor('boxes')}\n"
    assert run("explain", DETECTOR, "nonzero_0").stdout == f"{explainer.symbol('nonzero_0')}\n"
    several = "\n\n".join(map(str, explainer.tensors("val_4*")))
    assert run("explain", DETECTOR, "val_4*").stdout == f"{several}\n"


def test_the_first_of_many_explanations_are_printed(run: Run) -> None:
    first = run("explain", DETECTOR, "--unknown", "--depth", "0").stdout
    every = run("explain", DETECTOR, "--unknown", "--depth", "0", "--all").stdout
    assert first.endswith("\n\n... 6 more tensors: --all\n")
    assert every.startswith(first.removesuffix("... 6 more tensors: --all\n"))
    told = json.loads(run("explain", DETECTOR, "--unknown", "--depth", "0", "--format", "json").stdout)
    assert (len(told["explanations"]), told["omitted"]) == (12, 6)


def test_one_explanation_is_an_object_and_several_are_a_list(run: Run) -> None:
    one = json.loads(run("explain", "embedding.onnx", "seq", "--format", "json").stdout)
    assert (one["symbol"], one["lower"], one["upper"]) == ("seq", 0, None)
    assert [limit["text"] for limit in one["contract_lines"]] == ["seq <= 16"]
    none = json.loads(run("explain", "embedding.onnx", "--unknown", "--format", "json").stdout)
    assert none == {"schema": 2, "explanations": [], "omitted": 0}


def test_of_the_names_that_there_are_those_of_the_interface_come_first(run: Run) -> None:
    for command in ("tensors", "explain"):
        error = run(command, "fixtures/gpt2-kv-torchscript.onnx", "zzz").stderr
        assert "'zzz'; there are logits, present.0.key, " in error, error


def test_errors_of_the_model_are_printed_on_stderr(run: Run) -> None:
    result = run("tensors", "bad.onnx")
    assert (result.exit_code, result.stderr) == (0, "the model has an error; gather-infer infer bad.onnx\n")


def test_an_ir(run: Run) -> None:
    result = run("tensors", "fixtures/openvino/cnn.xml", "image")
    assert result.exit_code == 0
    assert result.stdout.split("\n")[1].split()[:2] == ["image", "input"]


WRITERS = ("fold", "optimize", "freeze --dim a=1", "infer", "contract --embed")


@pytest.mark.parametrize("command", WRITERS)
def test_who_does_not_write_an_ir_points_to_convert(command: str, run: Run) -> None:
    name, *options = command.split()
    result = run(name, "fixtures/openvino/cnn.xml", "-o", "out.onnx", *options)
    assert result.exit_code == 3
    assert "`gather-infer convert fixtures/openvino/cnn.xml -o OUT.onnx` makes it ONNX" in result.stderr
    assert not Path("out.onnx").exists()


def test_a_model_without_unknowns_is_reported_as_such(run: Run) -> None:
    said = "0 of 19 tensors: every such tensor is fully known\n"
    assert run("tensors", "embedding.onnx", "--unknown").stdout == said
    assert run("tensors", "embedding.onnx", "--unknown", "--op", "Gather").stdout == said
    assert run("tensors", "bad.onnx", "pick*", "--unknown").exit_code == 2, "there is no such tensor"
