"""Verification of conversions: what is drawn for lengths, indices and limits of loops is what OpenVINO defines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from onnx.parser import parse_model

from gather_infer import convert
from gather_infer.dialect import InputPrecondition
from gather_infer.inference import infer
from gather_infer.openvino.lowerings import DIALECT, LOWERINGS
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.verification import verify
from gather_infer.verification.element_sampling import ElementDrawer, ElementLimits, FloatPattern
from gather_infer.verification.input_preconditions import input_precondition_limits
from tests.documents import REPO

FIXTURES = REPO / "fixtures" / "openvino"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["lstm", "gru", "recommender", "loop", "detector-nms"])
def test_networks_with_lengths_are_verified(name: str) -> None:
    """Sequences of unequal lengths, bags, a computed number of steps: every output is compared, and is the same."""
    result = convert(FIXTURES / f"{name}.xml")
    found = verify(result.source, result.proto, 3, inference=result.inference, rtol=1e-4, atol=1e-4)
    assert found.ok and len(found.runs) == 3 and not found.skipped, found


def test_eight_bit_kernels_are_not_used() -> None:
    """Layers between FakeQuantize are computed as the specification defines, whatever the processor has."""
    result = convert(FIXTURES / "quantized.xml")
    found = verify(result.source, result.proto, 4, inference=result.inference, rtol=1e-4, atol=1e-4)
    assert found.ok and found.with_elements, found


def test_a_wrong_length_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawn feeds have to distinguish sequences that end early from whole ones."""
    (entry,) = LOWERINGS.versions("LSTMSequence")
    real = entry.lowering

    def whole(op: LayerView, g: FunctionBuilder) -> str | Sequence[str]:
        results = real(op, g)
        for node in g.nodes:
            if node.op_type == "LSTM":
                node.input[4] = ""
        return results

    monkeypatch.setitem(LOWERINGS._entries, "LSTMSequence", (replace(entry, lowering=whole),))
    result = convert(FIXTURES / "lstm.xml")
    found = verify(result.source, result.proto, 3, inference=result.inference, rtol=1e-4, atol=1e-4)
    assert not found.ok and "(LSTMSequence)" in found.first_difference


def limits(body: str, inputs: str) -> dict[str, list[ElementLimits]]:
    text = f'<ir_version: 10, opset_import: ["": 21, "openvino.opset15": 15]> g {inputs} => (y) {{ {body} }}'
    found: dict[str, list[ElementLimits]] = {}
    for name, limit in input_precondition_limits(infer(parse_model(text))):
        found.setdefault(name, []).append(limit)
    return found


OV = "openvino.opset15."


def test_for_what_layers_define_a_result() -> None:
    """The dims are those of the layer's own inputs; what is converted or reshaped before has the same elements."""
    t, rows, n = symbol("T"), symbol("R"), symbol("N")
    turned = OV + "ReverseSequence<batch_axis = 1, seq_axis = 0>(x, l) "
    assert limits(f"y = {turned}", "(float[T, B] x, int64[B] l)") == {"l": [ElementLimits(None, 0, t)]}
    turned = f'k = {OV}Convert<destination_type = "i32">(l) y = {OV}ReverseSequence<seq_axis = 1>(x, k)'
    assert limits(turned, "(float[B, T] x, int64[B] l)") == {"l": [ElementLimits(None, 0, t)]}
    bags = limits(f"y = {OV}EmbeddingBagOffsetsSum(x, i, o)", "(float[R, 3] x, int64[N] i, int64[B] o)")
    assert bags == {"i": [ElementLimits(None, 0, rows - 1)], "o": [ElementLimits(None, 0, n - 1, True)]}
    assert limits(f"k = {OV}Negative(l) y = {OV}ReverseSequence(x, k)", "(float[B, T] x, int64[B] l)") == {}
    assert limits("y = Neg(x)", "(float[B] x)") == {}


def test_loops_run_at_least_once() -> None:
    """OpenVINO's plugin keeps stale outputs of a Loop whose limit is 0, or whose first condition is false."""
    body = "(int64 i, bool c, float[B] s) => (bool c, float[B] t) { t = Neg(s) }"
    text = f"first = Reshape(flag, scalar) y = Loop <body = b {body}> (n, first, x)"
    given = "(int64 n, bool[1] flag, int64[0] scalar, float[B] x)"
    once = [ElementLimits(None, 1, None)]
    found = limits(text, given)
    assert found == {"n": once, "flag": once}
    for turn in range(4):
        numbers = np.random.default_rng(turn)
        assert ElementDrawer(found, {}, FloatPattern.FINITE, 0, turn, numbers).tensor("flag", DType.BOOL, (1,)).all()


def test_preconditions_concern_other_inputs_than_their_dim() -> None:
    table = DIALECT.operators()
    entries = (known for op_type in table.op_types for known in table.versions(op_type))
    found = {known.op_type: known.preconditions for known in entries if known.preconditions}
    assert {"LSTMSequence", "GRUSequence", "RNNSequence", "ReverseSequence", "EmbeddingBagOffsets"} <= found.keys()
    for held in found.values():
        for position, one in held.items():
            assert isinstance(one, InputPrecondition) and 0 <= position < 5
            assert one.size is None or one.size.input != position


@pytest.mark.parametrize("dtype", [DType.INT64, DType.FLOAT32])
def test_what_has_to_ascend_does(dtype: DType) -> None:
    """Buckets are floats too."""
    drawer = ElementDrawer(
        {"x": [ElementLimits(None, None, None, True)]}, {}, FloatPattern.FINITE, 0, 0, np.random.default_rng(1)
    )
    drawn = drawer.value("x", SymbolicTensor(dtype, (40,)))
    assert np.all(np.diff(drawn) >= 0) and len(set(drawn.tolist())) > 1
    assert drawer.value("x", SymbolicTensor(dtype, ())).shape == ()
