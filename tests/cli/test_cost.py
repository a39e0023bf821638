"""`gather-infer cost`: its options, its forms, its widths."""

from __future__ import annotations

import json

import onnx
import pytest

import gather_infer
from gather_infer.report import CostReport, View, cost_text
from gather_infer.symbolic import parse_dim
from tests.cli.conftest import Run
from tests.cli.test_first_screen import WIDTHS, plain
from tests.cli.test_streams import on_a_terminal

BERT = "fixtures/bert-torchscript.onnx"
FIXTURES = ["bert-torchscript", "clip-dynamo", "detr-torchscript", "moe-nonzero-dynamo", "embedding-bag-dynamo"]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("by_node", [False, True])
@pytest.mark.parametrize("name", FIXTURES)
def test_lines_keep_to_the_width(name: str, by_node: bool, width: int) -> None:
    cost = gather_infer.infer(f"fixtures/{name}.onnx").cost()
    for verbose in (False, True):
        lines = cost_text(CostReport(cost, by_node), View(verbose, width, 0.0))
        assert [line for line in lines if len(line) > width and len(line.split()) > 2] == []
        narrow = " ".join(" ".join(lines).split())
        wide = " ".join(" ".join(cost_text(CostReport(cost), View(verbose, None, 0.0))[:5]).split())
        assert wide in narrow, "nothing is lost"


def test_json_has_the_formulas_as_text(run: Run) -> None:
    found = json.loads(run("cost", BERT, "--format", "json").stdout)
    cost = gather_infer.infer(BERT).cost()
    for what in ("macs", "reads", "writes", "peak"):
        assert parse_dim(found[what]) == getattr(cost, what)
    assert found["parameters"] == {str(dtype): nbytes for dtype, nbytes in cost.parameters.items()}
    assert sum(row["nodes"] for row in found["operators"]) == len(found["nodes"]) == len(cost.nodes)
    assert found["exact"] == dict.fromkeys(("macs", "reads", "writes", "peak"), True)
    matmul = found["operators"][0]
    assert matmul["op_type"] == "MatMul"
    assert matmul["source"] == "https://onnx.ai/onnx/operators/onnx__MatMul.html"


def test_json_has_numbers_at_sizes(run: Run) -> None:
    by_at = json.loads(run("cost", BERT, "--format", "json", "--at", "batch=2, seq=5").stdout)
    by_dim = json.loads(run("cost", BERT, "--format", "json", "--dim", "batch=2", "--dim", "seq=5").stdout)
    assert by_at["sizes"] == {"batch": 2, "seq": 5}
    for what in ("macs", "reads", "writes", "peak", "parameter_bytes"):
        assert isinstance(by_at[what], int)
        assert by_at[what] == by_dim[what]


def test_what_is_left_out_is_named(run: Run) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21, "mine" : 1]>'
        "g (float[N] x) => (float[N] y) { a = mine.Blur(x) b = mine.Blur(a) y = Relu(b) }"
    )
    onnx.save(model, "blur.onnx")
    result = run("cost", "blur.onnx")
    assert result.exit_code == 0
    assert "  macs          at least 0\n" in result.stdout
    assert "    macs of mine.Blur (2 nodes, first Blur#0): mine.Blur has no formula\n" in result.stdout
    assert "mine.Blur       2   unknown" in result.stdout
    found = json.loads(run("cost", "blur.onnx", "--format", "json").stdout)
    assert found["exact"]["macs"] is False
    assert {gap["node"] for gap in found["unknown_contributions"] if gap["quantity"] == "macs"} == {"Blur#0", "Blur#1"}


def test_an_error_in_the_model_is_printed_on_stderr(run: Run) -> None:
    result = run("cost", "bad.onnx")
    assert (result.exit_code, result.stderr) == (0, "the model has an error; gather-infer infer bad.onnx\n")
    assert run("cost", "bad.onnx", "-q").stderr == ""


GPT2 = "fixtures/gpt2-kv-torchscript.onnx"


@pytest.mark.parametrize("columns", WIDTHS)
def test_sizes_with_an_index_out_of_bounds_are_reported(columns: int, run: Run) -> None:
    """The table of positions has 48 rows; what a run would cost is told all the same."""
    code, text = on_a_terminal(columns, "cost", GPT2, "--at", "batch=1,seq=1,past=48")
    lines = plain(text)
    assert (code, max(map(len, lines)) <= columns) == (0, True)
    assert "error[GI301]: every run with past = 48, seq = 1 fails: past + seq <= 48" in lines
    assert any(line.startswith("  macs   ") for line in lines)
    fine = run("cost", GPT2, "--at", "batch=1,seq=1,past=47")
    assert ("error" in fine.stdout, fine.stderr) == (False, "")


def test_what_fails_at_sizes_is_the_same_in_every_form(run: Run) -> None:
    cost = gather_infer.infer(GPT2).cost()
    for past, number in ((47, 0), (48, 1)):
        at = f"batch=1,seq=1,past={past}"
        found = json.loads(run("cost", GPT2, "--at", at, "--format", "json").stdout)
        errors = cost.at(batch=1, seq=1, past=past).errors
        assert [(e["code"], e["message"]) for e in found["errors"]] == [(e.code, e.message) for e in errors]
        assert len(errors) == number
        assert run("cost", GPT2, "--at", at).stdout.count("error[GI301]") == number
    assert cost.errors == ()
    assert cost.at(past=48).at(batch=1, seq=1).errors == cost.at(batch=1, seq=1, past=48).errors != ()
    given = gather_infer.infer(GPT2, dims=["past=4096"])
    assert given.cost().errors == given.errors != ()


def test_given_sizes_with_which_an_index_is_out_of_bounds_are_an_error(run: Run) -> None:
    """The table of positions has 48 rows."""
    result = run("cost", GPT2, "--dim", "past=4096", "--dim", "seq=1")
    assert result.exit_code == 0
    said, _, command = result.stderr.strip().partition("; gather-infer ")
    assert said == "the model has an error"
    shown = run(*command.split())
    assert shown.exit_code == 1 and "index 4096 is outside [-48, 47]" in shown.stdout


def test_sizes_at_which_the_model_runs_print_no_warning(run: Run) -> None:
    assert run("cost", GPT2, "--at", "batch=1,seq=1,past=47").stderr == ""
    assert run("cost", "fixtures/moe-nonzero-torchscript.onnx", "--at", "nonzero_0=2,batch=1").stderr == ""


def test_an_ir_costs_what_its_layers_do(run: Run) -> None:
    """Two products of each of x.0 * x.1 rows: with [32, 48] and with [48, 32]."""
    found = json.loads(run("cost", "fixtures/openvino/int8.xml", "--format", "json").stdout)
    assert parse_dim(found["macs"]) == parse_dim("x.0*x.1*(32*48 + 48*32)")
    assert {row["op_type"] for row in found["operators"] if row["macs"] != 0} == {"MatMul"}


def test_all_rows(run: Run) -> None:
    few, everything = run("cost", BERT).stdout, run("cost", BERT, "--all").stdout
    assert "211 nodes of 27 operators take no multiply-adds: --all" in few
    assert "--all" not in everything
    assert "LayerNormalization" not in few
    assert "  Softmax" in everything


WRONG_SIZES = {
    "seq": "--at must read NAME=SIZE, numbers >= 0 without a unit, joined by commas, found 'seq'",
    "seq=1..4": "--at must read NAME=SIZE, numbers >= 0 without a unit, joined by commas, found 'seq=1..4'",
    "seq=-1": "--at must read NAME=SIZE, numbers >= 0 without a unit, joined by commas, found 'seq=-1'",
    "seq=1,seq=2": "--at has 'seq' twice",
    "sequ=1": "no dim 'sequ'; did you mean 'seq'?",
    "seq=4096": "no run has seq = 4096: seq <= 64 (node /bert/embeddings/Add_1)",
}


@pytest.mark.parametrize("at", WRONG_SIZES)
def test_sizes_that_are_refused(at: str, run: Run) -> None:
    result = run("cost", BERT, "--at", at)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {WRONG_SIZES[at]}\n")


def test_a_model_of_constants_has_no_rows(run: Run) -> None:
    text = '<ir_version: 9, opset_import: ["": 18]> g () => (float[2] z) { z = Constant<value = float[2] {1, 2}>() }'
    onnx.save(onnx.parser.parse_model(text), "constant.onnx")
    told = run("cost", "constant.onnx").stdout
    assert "  parameters    8 B: float32 8 B\n" in told and "\n\n\n" not in told
