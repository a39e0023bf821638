"""`--prove` of the commands that rewrite a model: what is not proved equal is not written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from gather_infer import diff
from tests.cli.conftest import Run
from tests.cli.test_rewriting import FLOATS

SUM = """<ir_version: 9, opset_import: ["": 18]> g (float[N, 4] x) => (float[A, B] y)
    <int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}> { c = Slice(x, s, e, a) i = Identity(c) y = Add(i, c) }"""
"""A model that optimize, fold and freeze change."""

REWRITES = {
    "optimize": ("optimize",),
    "fold": ("fold",),
    "freeze": ("freeze", "--dim", "N=3"),
}


@pytest.mark.parametrize("name", REWRITES)
def test_what_is_proved_is_written(run: Run, name: str) -> None:
    onnx.save(onnx.parser.parse_model(SUM), "sum.onnx")
    command, *options = REWRITES[name]
    done = run(command, "sum.onnx", *options, "-o", "out.onnx", "--prove")
    assert done.exit_code == 0
    assert "  proved     1 output (same calls)\n" in done.stdout
    assert diff("sum.onnx", "out.onnx", dims=options[1:], runs=0).is_proved


@pytest.mark.parametrize("name", REWRITES)
@pytest.mark.parametrize("is_external", [False, True], ids=["large", "external data"])
def test_weights_that_stay_on_disk(run: Run, name: str, is_external: bool) -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["": 18]> g (float[N, 4] x) => (float[N, 4] y)
            { i = Identity(x) t = Concat<axis = 0>(i, w) p = Gather(w, k) q = ReduceSum<keepdims = 0>(p)
              s = Add(t, q) n = Shape(x) y = Slice(s, z, n, a) }"""
    )
    weights: dict[str, Any] = {"w": np.ones((100_000, 4), np.float32), "k": np.zeros(3, np.int64)}
    weights |= {"z": np.zeros(1, np.int64), "a": np.zeros(1, np.int64)}
    proto.graph.node[5].attribute.add(name="end", type=onnx.AttributeProto.INT, i=1)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(array, key) for key, array in weights.items())
    onnx.save(proto, "large.onnx", save_as_external_data=is_external, location="large.bin")
    command, *options = REWRITES[name]
    done = run(command, "large.onnx", *options, "-o", "out.onnx", "--prove")
    assert done.exit_code == 0, done.stderr
    assert diff("large.onnx", "out.onnx", dims=options[1:], runs=0).is_proved


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ('<domain: "f", opset_import: ["": 18, "f": 1]> r (p) => (q) { q = f.r(p) }', "must not be recursive"),
        ('<domain: "f", opset_import: ["": 18]> r (p) => (q) { q = Abs(p) }\n' * 2, "multiple local functions"),
    ],
)
def test_functions_that_cannot_be_inlined(run: Run, functions: str, message: str) -> None:
    text = f"""<ir_version: 9, opset_import: ["": 18, "f": 1]> g (float[N] x) => (float[N] y) {{ y = f.r(x) }}
        {functions}"""
    onnx.save(onnx.parser.parse_model(text), "functions.onnx")
    before = {path.name for path in Path().iterdir()}
    for arguments in (
        ("diff", "functions.onnx", "functions.onnx"),
        ("rename", "functions.onnx", "--input", "x=data", "-o", "out.onnx", "--prove"),
    ):
        done = run(*arguments)
        assert done.exit_code == 3, done.stderr
        assert done.stderr.startswith("error: functions.onnx: ") and message in done.stderr
        assert done.stderr.count("\n") == 1
    assert {path.name for path in Path().iterdir()} == before


def test_what_is_not_proved_is_not_written(run: Run) -> None:
    """A runtime has folded Exp, Sin and MatMul: another one may round them differently."""
    onnx.save(onnx.parser.parse_model(FLOATS), "floats.onnx")
    done = run("optimize", "floats.onnx", "-o", "out.onnx", "--prove", "--fold-floats")
    assert done.exit_code == 1 and not Path("out.onnx").exists()
    assert "  not proved: 1 of 1 output\n  unknown    y: the terms differ\n  first to differ:" in done.stdout
    shown = run("optimize", "floats.onnx", "-o", "out.onnx", "--prove", "--fold-floats", "--format", "json")
    assert shown.exit_code == 1 and not Path("out.onnx").exists()
    proof = json.loads(shown.stdout)["proof"]
    assert proof["verdict"] == "unknown" and proof["first_difference"]["output"] == "y"
    assert [each["class"] for each in proof["outputs"]] == [None]


def test_several_models(run: Run) -> None:
    """Each model is proved by itself."""
    onnx.save(onnx.parser.parse_model(FLOATS), "floats.onnx")
    onnx.save(onnx.parser.parse_model(SUM), "sum.onnx")
    done = run("optimize", "floats.onnx", "sum.onnx", "-o", "out", "--prove", "--fold-floats")
    assert done.exit_code == 1
    assert sorted(path.name for path in Path("out").iterdir()) == ["sum.onnx"]


def test_a_report_without_a_proof(run: Run) -> None:
    onnx.save(onnx.parser.parse_model(SUM), "sum.onnx")
    assert json.loads(run("fold", "sum.onnx", "--dry-run", "--format", "json").stdout)["proof"] is None
