"""What `fold` and `optimize` tell of their work."""

from __future__ import annotations

import json

import onnx

from tests.cli.conftest import Run

FLOATS = """<ir_version: 9, opset_import: ["": 18]> g (float[A, B] x) => (float[A, B] y)
    <float[2, 3] m = {1.5, 2, 3, -4, 5, 6}, float[3, 1] t = {1, 2, 3}> {
        e = Exp(m) s = Sin(t) c = MatMul(e, s) y = Add(x, c) }"""


def test_folded_floats(run: Run) -> None:
    onnx.save(onnx.parser.parse_model(FLOATS), "floats.onnx")
    told = run("fold", "floats.onnx", "-o", "out.onnx", "--fold-floats", "--verify", "2")
    assert told.exit_code == 0
    assert "evaluated by onnxruntime 1." in told.stdout and ": Exp#0, Sin#1, MatMul#2\n" in told.stdout
    assert "outputs may be apart by 1e-05, relative to max(1, |original|)\n" in told.stdout
    assert "1 output, within 1e-05" in told.stdout
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Add"]
    plain = run("fold", "floats.onnx", "-o", "plain.onnx", "--verify", "2")
    assert "evaluated by" not in plain.stdout and "bit-identical" in plain.stdout
    found = json.loads(run("optimize", "floats.onnx", "--dry-run", "--fold-floats", "--format", "json").stdout)
    assert found["floats"]["tolerance"] == 1e-5 and len(found["floats"]["nodes"]) == 3
    assert json.loads(run("optimize", "floats.onnx", "--dry-run", "--format", "json").stdout)["floats"] is None
