"""Initializers that are inputs too: a caller may override them, unless an option excludes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import gather_infer
from gather_infer.passes.result import PassResult

BODY = "{ a = Add (x, w) y = Reshape (a, s) z, i = TopK (x, k) q = Concat <axis = 0> (k, k) v = Tile (x, q) }"
DEFAULTS = "int64[3] s = {0, 3, 4}, float[1] w = {1}, int64[1] k = {2}"


def parsed(inputs: str, body: str = BODY, *, defaults: str = DEFAULTS, ir: int = 8) -> onnx.ModelProto:
    model = onnx.parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["": 17]> g ({inputs}) => (float y, float z, float v) <{defaults}> {body}'
    )
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


ALL = "float[N, 12] x, int64[3] s, float[1] w, int64[1] k"
WARNED = "all 3 initializers are inputs that callers may override: no shape can depend on them"
CASES = {
    # id: (inputs, IR version, the warning, shape of z)
    "all": (ALL, 8, [WARNED], "float32[N, topk_0]"),
    "some": ("float[N, 12] x, int64[1] k", 8, [], "float32[N, topk_0]"),
    "none": ("float[N, 12] x", 8, [], "float32[N, 2]"),
    "before IR version 4": (ALL, 3, [], "float32[N, 2]"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_warning_where_nothing_is_constant(case: str) -> None:
    inputs, ir, messages, shape = CASES[case]
    found = gather_infer.infer(parsed(inputs, ir=ir))
    assert [d.message for d in found.diagnostics if d.code == "GI119"] == messages
    assert str(found["z"]) == shape


def test_a_single_default_is_meant() -> None:
    model = parsed(
        "float[N, 12] x, int64[1] k", "{ y, i = TopK (x, k) z = Neg (y) v = Neg (y) }", defaults="int64[1] k = {2}"
    )
    assert not gather_infer.infer(model).diagnostics


def test_causes_name_the_input() -> None:
    """Directly, and through nodes that work on nothing else; not where data decides all the same."""
    causes = gather_infer.infer(parsed(ALL)).causes
    assert {name: cause.reason.partition(": ")[2] for name, cause in causes.items() if cause.data_dependent} == {
        **{f"reshape_{axis}": "callers may override the input s" for axis in range(3)},
        "topk_0": "callers may override the input k",
        "tile_0": "callers may override the input k",
        "tile_1": "callers may override the input k",
    }
    model = parsed("float[N] x, float[1] w, int64[1] k", "{ a = Add (x, w) y = NonZero (a) z = Neg (x) v = Neg (w) }",
                   defaults="float[1] w = {1}, int64[1] k = {2}")  # fmt: skip
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    (cause,) = gather_infer.infer(model).causes.values()
    assert "override" not in cause.reason


def test_causes_in_a_branch() -> None:
    branch = "<then_branch = a () => (t) { t, i = TopK (x, k) }, else_branch = b () => (u) { u = Identity (x) }>"
    model = parsed(f"{ALL}, bool c", f"{{ y = If (c) {branch} z = Neg (x) v = Neg (x) }}")
    reasons = [cause.reason for cause in gather_infer.infer(model).causes.values() if cause.op_type == "TopK"]
    assert reasons == ["K is not known: callers may override the input k"]


def test_taken_for_constants() -> None:
    model = parsed(ALL)
    before = model.SerializeToString()
    found = gather_infer.infer(model, initializers_as_constants=True)
    assert (found.inputs, found.diagnostics) == (("x",), ())
    assert [str(found[name]) for name in "yzv"] == ["float32[N, 3, 4]", "float32[N, 2]", "float32[2*N, 24]"]
    assert model.SerializeToString() == before


def results() -> dict[str, PassResult]:
    return {
        "fold": gather_infer.fold(parsed(ALL), initializers_as_constants=True),
        "optimize": gather_infer.optimize(parsed(ALL), initializers_as_constants=True),
        "freeze": gather_infer.freeze(parsed(ALL), dims=["N=2"], initializers_as_constants=True),
    }


@pytest.mark.parametrize("by", ["fold", "optimize", "freeze"])
def test_rewritten_models_compute_the_same_without_those_inputs(by: str) -> None:
    result = results()[by]
    assert [value.name for value in result.proto.graph.input] == ["x"]
    x = np.arange(24, dtype=np.float32).reshape(2, 12)
    runs = [
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
        for model in (parsed(ALL), result.proto)
    ]
    assert all(np.array_equal(one, other) for one, other in zip(*runs, strict=True))
    if by != "freeze":
        assert "Concat" not in {node.op_type for node in result.proto.graph.node}
    else:
        assert [d.dim_value for d in result.proto.graph.output[2].type.tensor_type.shape.dim] == [4, 24]


def test_external_weights_stay_in_their_file(tmp_path: Path) -> None:
    model = parsed(ALL)
    model.graph.initializer[1].CopyFrom(helper.make_tensor("w", 1, [12], np.ones(12, np.float32).tobytes(), raw=True))
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = 12
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    gather_infer.optimize(tmp_path / "m.onnx", initializers_as_constants=True).save(tmp_path / "out.onnx")
    written = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    assert [value.name for value in written.graph.input] == ["x"]
    assert {e.value for t in written.graph.initializer for e in t.external_data if e.key == "location"} == {"m.data"}
