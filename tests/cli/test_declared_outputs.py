"""Known sizes of outputs, behind names that an exporter made up."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import gather_infer
from tests.cli.conftest import Run

MODEL = (
    '<ir_version: 8, opset_import: ["": 17]> '
    "g (float[batch, 3] x, float[N] u, float[3, 17] k) => "
    "(float[batch, LayerNormalizationy_dim_1] y, float[a, b] z, float[n_0] q, float[5, c] w) "
    "{ y = MatMul (x, k) z = Concat <axis = 1> (x, y) q = Concat <axis = 0> (u, u) "
    "s = Constant <value = int64[2] {5, -1}> () w = Reshape (u, s) }"
)


def dims(model: onnx.ModelProto) -> dict[str, list[int | str]]:
    return {
        o.name: [d.dim_value if d.HasField("dim_value") else d.dim_param for d in o.type.tensor_type.shape.dim]
        for o in model.graph.output
    }


NUMBERS = {"y": ["batch", 17], "z": ["a", 20], "q": ["n_0"], "w": [5, "c"]}


def test_freeze_declares_them_where_only_bounds_are_given() -> None:
    model = onnx.parser.parse_model(MODEL)
    frozen = gather_infer.freeze(model, dims=["batch=1..8"])
    assert dims(frozen.proto) == NUMBERS
    assert [change.name for change in frozen.interface.changed] == ["y", "z"]
    onnx.checker.check_model(frozen.proto, full_check=True)


def test_freeze_declares_them_where_initializers_become_constants() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N, 12] x, int64[1] k) => (float[N, m] y) <int64[1] k = {2}> '
        "{ y, i = TopK (x, k) }"
    )
    frozen = gather_infer.freeze(model, initializers_as_constants=True)
    assert dims(frozen.proto) == {"y": ["N", 2]}
    assert [(o.name, o.dim) for o in frozen.interface.dynamic_dims] == [("x", "N"), ("y", "N")]


@pytest.mark.parametrize("more", [[], ["--outputs"]])
def test_infer_writes_them_where_it_is_asked_to(more: list[str], run: Run) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), "m.onnx")
    assert run("infer", "m.onnx", "-o", "out.onnx", *more).exit_code == 0
    written = onnx.load("out.onnx")
    assert dims(written) == (NUMBERS if more else dims(onnx.parser.parse_model(MODEL)))
    onnx.checker.check_model(written, full_check=True)


def test_outputs_are_written_with_a_model_only(run: Run) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), "m.onnx")
    result = run("infer", "m.onnx", "--outputs")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: --outputs needs -o or --in-place")
    assert not Path("out.onnx").exists()
