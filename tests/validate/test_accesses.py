"""Operators outside the gather family that fail on a bad index: verdicts require the bounds that onnxruntime does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, helper

import gather_infer
from gather_infer.validate import Verdict, VerdictKind, verdicts

onnxruntime.set_default_logger_severity(4)
F, L, S = np.float32, np.int64, np.int32
FAR = 2**40


def floats(*shape: int) -> np.ndarray:
    return np.linspace(0.1, 1, int(np.prod(shape)), dtype=F).reshape(shape)


@dataclass(frozen=True)
class Case:
    """A node, and between which numbers an element of one input has to be.

    inputs  arrays; None for one that is left out
    index   the input of the index, of which every element is replaced by a number
    tight   whether onnxruntime fails past both ends
    """

    op: str
    inputs: tuple[np.ndarray | None, ...]
    index: int
    low: int
    high: int
    opset: int = 17
    domain: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    tight: bool = True


ROTATED = floats(1, 2, 3, 4), floats(7, 2), floats(7, 2)
CACHED = (floats(1, 1, 16), floats(1, 1, 16), floats(1, 1, 16), floats(1, 1, 5, 16), floats(1, 1, 5, 16))
HEADS = {"num_heads": 1, "kv_num_heads": 1}
CASES = {
    "a region's image": Case("RoiAlign", (floats(3, 1, 4, 4), floats(2, 4), np.zeros(2, L)), 2, 0, 2),
    "a box's image": Case(
        "CropAndResize", (floats(3, 1, 4, 4), floats(2, 4), np.zeros(2, S), np.array([2, 2], S)), 2, 0, 2,
        domain="com.microsoft",
    ),
    "places in all that is unpooled": Case(
        "MaxUnpool", (floats(2, 1, 2, 2), np.zeros((2, 1, 2, 2), L)), 1, 0, 31,
        attributes={"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    "places in a shape that is given": Case(
        "MaxUnpool", (floats(1, 1, 2, 2), np.zeros((1, 1, 2, 2), L), np.array([1, 1, 5, 5])), 1, 0, 24,
        attributes={"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    "classes": Case("NegativeLogLikelihoodLoss", (floats(2, 3), np.zeros(2, L)), 1, 0, 2, tight=False),
    "classes of scores": Case("SoftmaxCrossEntropyLoss", (floats(2, 3, 4), np.zeros((2, 4), L)), 1, 0, 2, tight=False),
    "classes, one that counts for nothing": Case(
        "NegativeLogLikelihoodLoss", (floats(2, 3), np.zeros(2, L)), 1, 0, 2,
        attributes={"ignore_index": 3}, tight=False,
    ),
    "positions of a rotation": Case("RotaryEmbedding", (*ROTATED, np.zeros((1, 3), L)), 3, 0, 6, opset=23),
    "positions of a contrib rotation": Case(
        "RotaryEmbedding", (ROTATED[0], np.zeros((1, 3), L), *ROTATED[1:]), 1, 0, 6, domain="com.microsoft"
    ),
    "the first position of three": Case(
        "RotaryEmbedding", (ROTATED[0], np.zeros(1, L), *ROTATED[1:]), 1, 0, 4, domain="com.microsoft"
    ),
    "positions in three ways": Case(
        "MRotaryEmbedding", (floats(1, 2, 2, 8), np.zeros((3, 1, 2), L), floats(7, 4), floats(7, 4)), 1, 0, 6,
        domain="com.microsoft", attributes={"mrope_section": [1, 1, 2]},
    ),
    "where a cache is written": Case(
        "TensorScatter", (floats(1, 2, 5, 3), floats(1, 2, 2, 3), np.zeros(1, L)), 2, 0, 3, 24
    ),
    "where a circular cache is written": Case(
        "TensorScatter", (floats(1, 2, 5, 3), floats(1, 2, 2, 3), np.zeros(1, L)), 2, 0, FAR, 24,
        attributes={"mode": "circular"},
    ),
    "the last key of a prompt": Case(
        "GroupQueryAttention", (*[floats(1, 3, 16)] * 3, None, None, np.zeros(1, S), np.array([3], S)), 5, 0, 2,
        domain="com.microsoft", attributes=HEADS, outputs=3,
    ),
    "the last key of a cache": Case(
        "GroupQueryAttention", (*CACHED, np.zeros(1, S), np.array([6], S)), 5, 0, 5,
        domain="com.microsoft", attributes=HEADS, outputs=3,
    ),
    "positions beside a cache": Case(
        "GroupQueryAttention",
        (*CACHED, np.array([5], S), np.array([6], S), floats(7, 8), floats(7, 8), np.zeros((1, 1), L)), 9, 0, 6,
        domain="com.microsoft", attributes={**HEADS, "do_rotary": 1}, outputs=3,
    ),
    "lengths that are reversed": Case("ReverseSequence", (floats(4, 2), np.zeros(2, L)), 1, 0, 4),
    "lengths that are reversed, batch first": Case(
        "ReverseSequence", (floats(2, 4, 3), np.zeros(2, L)), 1, 0, 4, attributes={"batch_axis": 0, "time_axis": 1}
    ),
    "lengths for an RNN": Case(
        "RNN", (floats(4, 2, 3), floats(1, 5, 3), floats(1, 5, 5), None, np.zeros(2, S)), 4, 0, 4,
        attributes={"hidden_size": 5},
    ),
    "lengths for a GRU backwards": Case(
        "GRU", (floats(4, 2, 3), floats(1, 15, 3), floats(1, 15, 5), None, np.zeros(2, S)), 4, 0, 4,
        attributes={"hidden_size": 5, "direction": "reverse"},
    ),
    "lengths for an LSTM both ways": Case(
        "LSTM", (floats(4, 2, 3), floats(2, 20, 3), floats(2, 20, 5), None, np.zeros(2, S)), 4, 0, 4, 7,
        attributes={"hidden_size": 5, "direction": "bidirectional"},
    ),
    "lengths for a quantized LSTM": Case(
        "DynamicQuantizeLSTM",
        (
            floats(4, 2, 3), np.ones((1, 3, 20), np.int8), np.ones((1, 5, 20), np.int8), None, np.zeros(2, S),
            None, None, None, floats(1), np.zeros(1, np.int8), floats(1), np.zeros(1, np.int8),
        ), 4, 0, 4, domain="com.microsoft", attributes={"hidden_size": 5},
    ),
    "tokens behind a repeated one": Case(
        "NGramRepeatBlock", (np.zeros((1, 4), L), floats(1, 5)), 0, 0, 4,
        domain="com.microsoft", attributes={"ngram_size": 2},
    ),
}  # fmt: skip


def model_of(case: Case, number: int | None = None) -> ModelProto:
    """The node with its index as an input, the other integers as constants; with `number` in the index's place."""
    names = ["" if array is None else f"i{at}" for at, array in enumerate(case.inputs)]
    node = helper.make_node(
        case.op, names, [f"o{i}" for i in range(case.outputs)], domain=case.domain, **case.attributes
    )
    given, constants = [], []
    for at, (name, array) in enumerate(zip(names, case.inputs, strict=True)):
        if array is None:
            continue
        if at == case.index and number is not None:
            array = np.full_like(array, number)
        if (at == case.index and number is None) or array.dtype == F:
            given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        else:
            constants.append(onnx.numpy_helper.from_array(array, name))
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name="o0")], constants)
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def passes(model: ModelProto, case: Case, number: int) -> bool:
    """Whether onnxruntime runs the model with the number everywhere in the index."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    feeds = {i.name: case.inputs[int(i.name[1:])] for i in session.get_inputs()}
    if f"i{case.index}" in feeds:
        feeds[f"i{case.index}"] = np.full_like(case.inputs[case.index], number)
    try:
        session.run(None, feeds)
    except Exception:  # noqa: BLE001 - a run that fails is an answer
        return False
    return True


def judged(model: ModelProto, case: Case) -> Verdict:
    return next(v for v in verdicts(gather_infer.infer(model)) if v.access.input == case.index)


@pytest.mark.parametrize("name", CASES)
def test_required_bounds_are_those_of_onnxruntime(name: str) -> None:
    case = CASES[name]
    model = model_of(case)
    verdict = judged(model, case)
    assert (verdict.kind, verdict.tight) == (VerdictKind.CONDITIONAL, case.tight), verdict.text()
    asked = {condition.relation: condition.right for condition in verdict.conditions}
    assert asked == ({">=": case.low} if case.high == FAR else {">=": case.low, "<": case.high + 1})
    assert passes(model, case, case.low)
    assert passes(model, case, case.high)
    assert passes(model, case, case.high + 1) == (case.high == FAR or "ignore_index" in case.attributes)
    assert not passes(model, case, case.low - 1) or not case.tight


@pytest.mark.parametrize("name", CASES)
def test_known_indices_are_judged(name: str) -> None:
    case = CASES[name]
    for number in (case.low, case.high):
        assert judged(model_of(case, number), case).kind is VerdictKind.PROVED
    if case.high < FAR and "ignore_index" not in case.attributes:
        model = model_of(case, case.high + 1)
        found = judged(model, case)
        # only the tokens behind what is repeated are looked up: whether there are any is not known
        assert found.kind is (VerdictKind.UNDECIDED if case.op == "NGramRepeatBlock" else VerdictKind.VIOLATED), (
            found.text()
        )
        assert not passes(model, case, 0)


def test_an_index_that_is_ignored_is_in_bounds() -> None:
    case = CASES["classes, one that counts for nothing"]
    assert judged(model_of(case, 3), case).kind is VerdictKind.PROVED
    assert judged(model_of(case, 4), case).kind is VerdictKind.VIOLATED
    assert not passes(model_of(case, 4), case, 0)


def test_positions_that_are_not_read_are_in_bounds() -> None:
    turned = CASES["positions beside a cache"]
    case = Case(turned.op, turned.inputs, 9, 0, 6, domain=turned.domain, attributes=HEADS, outputs=3)
    assert judged(model_of(case), case).kind is VerdictKind.PROVED
    assert passes(model_of(case), case, 7)


SEQUENCES = {
    # operator: the inputs behind the sequence, and between which numbers a position has to be, of 3 members
    "SequenceAt": ("p", -3, 2),
    "SequenceErase": ("p", -3, 2),
    "SequenceInsert": ("x, p", -3, 3),
}


@pytest.mark.parametrize("op", SEQUENCES)
def test_positions_in_a_sequence(op: str) -> None:
    more, low, high = SEQUENCES[op]
    after = "Identity" if op == "SequenceAt" else "SequenceLength"
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x, int64 p) => (y) {{ s = SequenceConstruct (x, x, x) t = {op} (s, {more}) y = {after} (t) }}"""
    )
    (verdict,) = verdicts(gather_infer.infer(model))
    assert (verdict.condition, verdict.tight) == (f"{low} <= p < {high + 1}", True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for number in (low - 1, low, high, high + 1):
        feeds = {"x": floats(2), "p": np.array(number)}
        if low <= number <= high:
            session.run(None, feeds)
        else:
            with pytest.raises(Exception, match=r"index|Index|invalid|Invalid"):
                session.run(None, feeds)


def test_a_position_in_a_sequence_of_unknown_length_is_open() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (seq(float[2]) s, int64 p) => (float[2] y) { y = SequenceAt (s, p) }'
    )
    (verdict,) = verdicts(gather_infer.infer(model))
    assert (verdict.kind, verdict.reason) == (VerdictKind.UNDECIDED, "the length of the sequence is not known")
