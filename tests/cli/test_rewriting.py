"""Reports of `fold` and `optimize`."""

from __future__ import annotations

import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer.passes import OptimizeResult, fold, optimize
from gather_infer.report.output_formats import REWRITING, OutputFormat, RewriteReport, View
from tests.cli.conftest import Run
from tests.documents import REPO
from tests.passes.folding_models import model

FLOATS = """<ir_version: 9, opset_import: ["": 18]> g (float[A, B] x) => (float[A, B] y)
    <float[2, 3] m = {1.5, 2, 3, -4, 5, 6}, float[3, 1] t = {1, 2, 3}> {
        e = Exp(m) s = Sin(t) c = MatMul(e, s) y = Add(x, c) }"""


def test_folded_floats(run: Run) -> None:
    onnx.save(onnx.parser.parse_model(FLOATS), "floats.onnx")
    told = run("fold", "floats.onnx", "-o", "out.onnx", "--fold-floats", "--verify", "2")
    assert told.exit_code == 0
    assert "evaluated by onnxruntime 1." in told.stdout and ": Exp#0, Sin#1, MatMul#2\n" in told.stdout
    assert "outputs may differ by 1e-05, relative to max(1, |original|)\n" in told.stdout
    assert "1 output, within 1e-05" in told.stdout
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Add"]
    plain = run("fold", "floats.onnx", "-o", "plain.onnx", "--verify", "2")
    assert "evaluated by" not in plain.stdout and "bit-identical" in plain.stdout
    found = json.loads(run("optimize", "floats.onnx", "--dry-run", "--fold-floats", "--format", "json").stdout)
    assert found["floats"]["tolerance"] == 1e-5 and len(found["floats"]["nodes"]) == 3
    assert json.loads(run("optimize", "floats.onnx", "--dry-run", "--format", "json").stdout)["floats"] is None


def lines(result: OptimizeResult, width: int | None = None, *, verbose: bool = False) -> list[str]:
    return REWRITING.lines(OutputFormat.TEXT, RewriteReport(result), View(verbose, width))


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_network_fits_the_terminal(width: int) -> None:
    result = optimize(REPO / "fixtures" / "gpt2-kv-torchscript.onnx")
    shown = lines(result, width)
    assert max(map(len, shown)) <= width
    assert [line.split()[0] for line in shown[1:4]] == ["nodes", "Gather", "Shape"]
    assert re.fullmatch(r" +\d+ others +\d+ +\d+", shown[12])
    assert "  interface unchanged: 6 inputs, 5 outputs, 4 symbolic dims" in shown
    everything = lines(result, width, verbose=True)
    assert not any("others" in line for line in everything)
    assert sum(": " in line and line.startswith("    /") for line in everything) > 100
    counts = [line.split() for line in everything if line.startswith("    ") and len(line.split()) == 3]
    gone = sum(int(before) - int(after) for _, before, after in counts if before.isdigit() and after.isdigit())
    assert gone == result.before.nodes - result.after.nodes


def test_types_that_change_with_a_dim_are_reported() -> None:
    shown = lines(optimize(REPO / "fixtures" / "bert-torchscript.onnx", dims=["batch=1"]))
    assert "    in   input_ids           [batch, seq] -> [1, seq]" in shown
    assert not any("interface unchanged" in line for line in shown)


def test_what_was_left_alone_is_a_table() -> None:
    names = [f"/encoder/layer.{i}/product" for i in range(9)]
    nodes = [helper.make_node("MatMul", ["a", "a"], [f"y{i}"], name) for i, name in enumerate(names)]
    made = model(nodes, {}, {f"y{i}": (TensorProto.FLOAT, None) for i in range(9)}, {"a": np.ones((9, 9), np.float32)})
    result = fold(made, fold_floats=True, max_growth=99)
    shown = lines(result)
    at = shown.index("  left alone                 operator   because")
    assert shown[at + 1] == (
        "  /encoder/layer.0/product   MatMul     its result float32[9, 9] is past the budget of 99 bytes"
    )
    assert shown[at + 5] == "  ... 5 more: --verbose"
    assert max(map(len, lines(result, 60))) <= 60
    assert all(any(name in line for line in lines(result, verbose=True)) for name in names)
    found = json.loads(REWRITING.lines(OutputFormat.JSON, RewriteReport(result))[0])
    assert [d["location"]["node"] for d in found["diagnostics"] if d["code"] == "GI401"] == names


def test_a_dry_run_tells_of_nodes_that_stay(run: Run) -> None:
    """A node that is renamed, or reads another value, is neither removed nor inserted."""
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[N, 8] x) => (float[N, 8] y, float[N, 8] z) '
        "{ a = Relu (x) y = Identity (a) b = Neg (a) c = Identity (b) z = Exp (c) }"
    )
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    told = run("optimize", "m.onnx", "--dry-run", "--verbose").stdout
    assert [line.split(": ")[1] for line in told.splitlines() if line.startswith("  optimize: ")] == [
        "rename a to y, of Relu a",
        "remove Identity y",
        "let Neg b read y instead of a",
        "remove Identity c",
        "let Exp z read b instead of c",
    ]
