"""`gather_infer.diff`: own results, interfaces, weights, the first difference, and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import gather_infer
from fixtures.feeds import model_path
from gather_infer import DiffVerdict, UsageError, diff, fold, freeze, optimize
from tests.validate.bound_runs import session
from tests.verification.models import model

NAMES = (
    "beam-step-dynamo", "bert-torchscript", "convnet-dynamo", "detector-nonzero-dynamo", "dlrm-torchscript",
    "embedding-bag-torchscript", "gnn-torchscript", "gpt2-kv-torchscript", "llama-kv-torchscript",
    "lstm-tagger-torchscript", "moe-nonzero-dynamo", "openvino-gather", "t5-encoder-torchscript", "vit-any-size-dynamo",
    "whisper-decoder-torchscript",
)  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_optimized_fixtures_are_proved(name: str) -> None:
    found = diff(model_path(name), optimize(model_path(name)).proto, runs=0)
    assert found.is_proved, (found.outputs, found.obligations)


@pytest.mark.parametrize("name", ["bert-torchscript", "gpt2-kv-dynamo", "detector-dynamo"])
def test_folded_fixtures_are_proved(name: str) -> None:
    assert diff(model_path(name), fold(model_path(name)).proto, runs=0).is_proved


def test_a_frozen_model_is_narrower() -> None:
    path = model_path("bert-torchscript")
    frozen = freeze(path, dims=["batch=2", "seq=8"]).proto
    found = diff(path, frozen, runs=0)
    assert any("batch in the first" in each for each in found.obligations)
    assert diff(path, frozen, dims=["batch=2", "seq=8"], runs=0).is_proved


def test_a_changed_weight_and_the_first_difference() -> None:
    path = model_path("bert-torchscript")
    changed = onnx.load(path)
    tensor = next(each for each in changed.graph.initializer if each.name.endswith("word_embeddings.weight"))
    array = numpy_helper.to_array(tensor).copy()
    array[3, 5] += 0.5
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    found = diff(path, changed)
    assert found.verdict is DiffVerdict.DIFFERENT and found.witness is not None
    (weight,) = found.weights
    assert (weight.name, weight.elements) == (tensor.name, (1, array.size)) and weight.largest == pytest.approx(0.5)
    assert found.first_difference is not None
    assert found.first_difference.second == "Gather /bert/embeddings/word_embeddings/Gather"


def test_the_first_difference_names_an_attribute() -> None:
    first = model("(float[N, M] x) => (y) { t = Relu(x) s = Softmax<axis=1>(t) y = Neg(s) }")
    second = model("(float[N, M] x) => (y) { t = Relu(x) s = Softmax<axis=0>(t) y = Neg(s) }")
    found = diff(first, second, runs=0).first_difference
    assert found is not None and found.second == "Softmax Softmax#1"
    assert found.differences == ("axis is 0 in the second model, and 1 in the first",)


def test_renamed_inputs_and_outputs_are_compared_by_position() -> None:
    first = model("(float[N] x, float[N] z) => (y, w) { y = Sub(x, z) w = Relu(x) }")
    second = model("(float[A] p, float[A] q) => (r, s) { r = Sub(p, q) s = Relu(p) }")
    found = diff(first, second)
    assert found.is_proved
    assert "input x is called p in the second model" in found.interface
    assert "output y is called r in the second model" in found.interface


def test_outputs_compared_by_request() -> None:
    first = model("(float[N] x) => (y, w) { y = Neg(x) w = Relu(x) }")
    second = model("(float[N] x) => (w, y) { w = Neg(x) y = Relu(x) }")
    assert diff(first, second).verdict is DiffVerdict.DIFFERENT
    assert diff(first, second, outputs={"y": "w", "w": "y"}).is_proved
    with pytest.raises(UsageError, match="'v' is no output of the second model; it has w, y"):
        diff(first, second, outputs={"y": "v"})


def test_outputs_that_are_left_out() -> None:
    """They are neither proved nor run, and the nodes that compute them stay."""
    first = model("(float[N] x) => (float[N] y, float[N] z) { y = Neg(x) z = Exp(x) }")
    second = model("(float[N] x) => (float[N] y, float[N] w) { y = Neg(x) w = Abs(x) }")
    assert diff(first, second, runs=1).verdict is DiffVerdict.DIFFERENT
    found = diff(first, second, outputs={"z": ""}, runs=1)
    assert found.is_proved and [(each.name, each.other) for each in found.outputs] == [("y", "y")]
    assert found.interface == ("output z is left out", "the second model has another output w")
    assert found.given.outputs == {"z": ""} and found.given.options == ["--map z="]
    wrong = model("(float[N] x) => (float[N] y) { y = Abs(x) }")
    found = diff(first, wrong, outputs={"z": ""})
    assert found.verdict is DiffVerdict.DIFFERENT and found.witness is not None
    for outputs, text in (({"y": "", "z": ""}, "no output is left"), ({"v": ""}, "'v' is no output of the first")):
        with pytest.raises(UsageError, match=text):
            diff(first, second, outputs=outputs)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ("(float[N] x, float[N] z) => (y) { y = Add(x, z) }", "the second model needs input z"),
        ("(int64[N] x) => (y) { y = Neg(x) }", "input x is int64 in the second model, and float32 in the first"),
        ("(float[N, 1] x) => (y) { y = Neg(x) }", "input x is float32[N, 1] in the second model, and float32[N]"),
    ],
)
def test_models_that_no_input_fits(second: str, reason: str) -> None:
    found = diff(model("(float[N] x) => (y) { y = Neg(x) }"), model(second))
    assert found.verdict is DiffVerdict.NOT_COMPARABLE and reason in found.interface[0]


def test_a_lacking_output_is_a_difference() -> None:
    first = model("(float[N] x) => (y, w) { y = Neg(x) w = Relu(x) }")
    second = model("(float[N] x) => (y) { y = Neg(x) }")
    found = diff(first, second)
    assert [each.verdict for each in found.outputs] == [DiffVerdict.PROVED, DiffVerdict.DIFFERENT]
    assert found.verdict is DiffVerdict.DIFFERENT


def test_what_is_not_proved_is_run() -> None:
    """MatMul and Gemm are equal in runs only: their sums may be rounded differently."""
    first = model("(float[N, 3] x) => (y) <float[3, 2] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> { y = MatMul(x, w) }")
    second = model("(float[N, 3] x) => (y) <float[3, 2] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> { y = Gemm(x, w) }")
    found = diff(first, second, rtol=1e-5, atol=1e-6)
    assert found.verdict is DiffVerdict.RUNS and found.runs is not None and found.runs.with_elements
    assert found.is_equal and not found.is_proved


def test_random_operators_are_equal_to_nothing() -> None:
    first = model("(float[N] x) => (y) { y = RandomNormalLike(x) }")
    assert diff(first, first, runs=0).verdict is DiffVerdict.UNKNOWN


def test_functions_are_inlined() -> None:
    text = """<ir_version: 10, opset_import: ["" : 18, "f" : 1]> g (float[N] x) => (float[N] y) { y = f.twice(x) }
    <domain: "f", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }"""
    second = model("(float[N] x) => (y) { y = Add(x, x) }")
    assert diff(onnx.parser.parse_model(text), second, runs=0).is_proved


def test_feeds_that_tell_models_apart() -> None:
    """A difference at one element is not found by chance; feeds of the caller show it."""
    first = model("(int64[N] x) => (y) <int64 a = {123456789}> { y = Equal(x, a) }")
    second = model("(int64[N] x) => (y) <int64 a = {123456788}> { y = Equal(x, a) }")
    feeds: list[dict[str, Any]] = [{"x": np.array([123456789], np.int64)}]
    found = diff(first, second, runs=0, feeds=feeds)
    assert found.verdict is DiffVerdict.DIFFERENT and found.witness is not None
    assert found.witness["x"].tolist() == [123456789]


def test_a_negative_number_of_runs() -> None:
    first = model("(float[N] x) => (y) { y = Neg(x) }")
    with pytest.raises(UsageError, match="the number of runs must be >= 0, is -1"):
        gather_infer.diff(first, first, runs=-1)


def test_weights_in_an_external_file(tmp_path: Path) -> None:
    """The result of a pass knows where its weights are."""
    weights = numpy_helper.from_array(np.arange(1 << 19, dtype=np.float32), "w")
    proto = model("(float[1] x) => (y) { z = Identity(x) y = Add(z, w) }")
    proto.graph.initializer.append(weights)
    path = tmp_path / "large.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="large.bin")
    assert diff(path, optimize(path).file, runs=0).is_proved


@pytest.mark.parametrize(
    "second",
    [
        "(float[N, 4] x) => (float[N, 4] y, double[N, 4] z) { y = Abs(x) w = Exp(x) z = Cast<to = 11>(w) }",
        "(float[N, 4] x) => (y, z) <int64[1] a = {1}> { y = Abs(x) w = Exp(x) z = Unsqueeze(w, a) }",
        "(float[N, 4] x) => (y, z) <int64[2] s = {3, 5}> { y = Abs(x) w = Exp(x) z = Reshape(w, s) }",
    ],
    ids=["another type", "another rank", "a failure"],
)
def test_another_type_and_a_failure_have_a_witness(second: str) -> None:
    before, after = model("(float[N, 4] x) => (float[N, 4] y, float[N, 4] z) { y = Abs(x) z = Exp(x) }"), model(second)
    found = diff(before, after, runs=1)
    assert found.verdict is DiffVerdict.DIFFERENT and found.witness is not None
    one, other = session(before), session(after)
    y, z = one.run(None, dict(found.witness))
    if "Reshape" in second:
        with pytest.raises(Exception, match="Reshape"):
            other.run(None, dict(found.witness))
    else:
        same, changed = other.run(None, dict(found.witness))
        assert (same == y).all() and (changed.dtype, changed.shape) != (z.dtype, z.shape)
        assert [str(each.verdict) for each in found.outputs] == ["proved", "different"]
