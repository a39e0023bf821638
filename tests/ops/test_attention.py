"""Attention, LinearAttention and RotaryEmbedding against their specifications."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import parser
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from gather_infer import contract_of, infer
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.attention import rules
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import UNRANKED, call

B, P, S, T = map(symbol, "BPST")
HEADS: dict[str, Any] = {"q_num_heads": 8, "kv_num_heads": 4}

CASES: dict[str, Any] = {
    # id:         (inputs,                                                            attributes, outputs)
    "4-D":        ([(2, 8, 5, 16), (2, 4, 7, 16), (2, 4, 7, 12)],                     {},
                   [(2, 8, 5, 12), (2, 4, 7, 16), (2, 4, 7, 12), (2, 8, 5, 7)]),
    "4-D, past":  ([(B, 8, S, 16), (B, 8, T, 16), (B, 8, T, 12), None, (B, 8, P, 16), (B, 8, P, 12)], {},
                   [(B, 8, S, 12), (B, 8, P + T, 16), (B, 8, P + T, 12), (B, 8, S, P + T)]),
    "3-D":        ([(2, 5, 128), (2, 7, 64), (2, 7, 48)],                             HEADS,
                   [(2, 5, 96), (2, 4, 7, 16), (2, 4, 7, 12), (2, 8, 5, 7)]),
    "3-D, past":  ([(B, S, 128), (B, S, 64), (B, S, 48), (S, P + S), (B, 4, P, 16), (B, 4, P, 12)], HEADS,
                   [(B, S, 96), (B, 4, P + S, 16), (B, 4, P + S, 12), (B, 8, S, P + S)]),
    "empty past": ([(2, 8, 5, 16), (2, 8, 5, 16), (2, 8, 5, 16), None, (2, 8, 0, 16), (2, 8, 0, 16)], {},
                   [(2, 8, 5, 16), (2, 8, 5, 16), (2, 8, 5, 16), (2, 8, 5, 5)]),
    "Q unranked, past tells": ([UNRANKED, (2, 8, 5, 16), (2, 8, 5, 16), None, (2, 8, P, 16), (2, 8, P, 16)], {},
                   [None, (2, 8, P + 5, 16), (2, 8, P + 5, 16), None]),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, expected", CASES.values(), ids=CASES)
def test_attention(inputs: Any, attributes: dict[str, Any], expected: Any) -> None:
    found = call(rules, "Attention", inputs, version=23, outputs=4, **attributes)
    for fact, shape in zip(found, expected, strict=True):
        assert shape is None or fact.shape == shape


def test_attention_of_unranked_inputs() -> None:
    y, key, value, scores = call(rules, "Attention", [UNRANKED] * 3, version=23, outputs=4, **HEADS)
    assert y.shape is None and key.rank == value.rank == scores.rank == 4
    assert key.shape[1] == value.shape[1] == 4 and scores.shape[1] == 8


def test_attention_types() -> None:
    q, v = SymbolicTensor(DType.FLOAT16, (2, 8, 5, 16)), SymbolicTensor(DType.FLOAT32, (2, 8, 5, 16))
    found = call(rules, "Attention", [q, q, v], version=23, outputs=4)
    assert [t.dtype for t in found] == [q.dtype, q.dtype, v.dtype, q.dtype]
    with pytest.raises(SpecViolation, match="Q, K and past_key must have one element type"):
        call(rules, "Attention", [q, v, v], version=23)


def test_attention_mask_may_be_short_since_24() -> None:
    inputs = [(2, 8, 5, 16), (2, 8, 7, 16), (2, 8, 7, 16), (5, 6)]
    assert call(rules, "Attention", inputs, version=24)[0].shape == (2, 8, 5, 16)
    with pytest.raises(SpecViolation, match=r"attn_mask \[5, 6\] must broadcast"):
        call(rules, "Attention", inputs, version=23)
    with pytest.raises(SpecViolation, match="attn_mask without its last axis"):
        call(rules, "Attention", [*inputs[:3], (4, 6)], version=24)


Q, K = (2, 8, 5, 16), (2, 8, 7, 16)
BAD: dict[str, Any] = {
    "one past":    ([Q, K, K, None, (2, 8, 3, 16)], {},                      "past_key and past_value must be given together"),
    "past and nonpad": ([Q, K, K, None, K, K, (2,)], {},                     "nonpad_kv_seqlen must not be given together"),
    "nonpad":      ([Q, K, K, None, None, None, (3,)], {},                   "axis 0 of nonpad_kv_seqlen"),
    "ranks":       ([Q, (2, 7, 64), K], HEADS,                               "must have the same rank, have ranks [3, 4]"),
    "rank 2":      ([(2, 8), (2, 8), (2, 8)], {},                            "Q must have rank 3 or 4, has rank 2"),
    "no heads":    ([(2, 5, 128), (2, 7, 64), (2, 7, 48)], {},               "attribute q_num_heads must be given"),
    "hidden size": ([(2, 5, 127), (2, 7, 64), (2, 7, 48)], HEADS,            "the last dim of Q must be a multiple of 8, is 127"),
    "heads":       ([Q, (2, 3, 7, 16), (2, 3, 7, 16)], {},                   "the heads of Q must be a multiple of 3, is 8"),
    "head size":   ([Q, (2, 8, 7, 15), K], {},                               "axis 3 of K and its expected dim must be equal, are 16 and 15"),
    "batch":       ([Q, (3, 8, 7, 16), (3, 8, 7, 16)], {},                   "axis 0 of K and its expected dim must be equal, are 2 and 3"),
    "lengths":     ([Q, K, (2, 8, 6, 16)], {},                               "axis 2 of V and its expected dim must be equal, are 7 and 6"),
    "past":        ([Q, K, K, None, (2, 8, 3, 16), (2, 8, 4, 16)], {},       "axis 2 of past_value and its expected dim must be equal, are 3 and 4"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, message", BAD.values(), ids=BAD)
def test_attention_violations(inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "Attention", inputs, version=24, **attributes)
    assert message in caught.value.message


BAD_SINCE_25: dict[str, Any] = {
    # id:                (inputs,                              outputs,                    attributes, message)
    "one present":       ([Q, K, K],                           (True, True),               {},    "present_key and present_value must be outputs together"),
    "other present":     ([Q, K, K],                           (True, False, True),        {},    "present_key and present_value must be outputs together"),
    "present, lengths":  ([Q, K, K, None, None, None, (2,)],   (True, True, True, False),  {},    "nonpad_kv_seqlen must not be given together with present_key"),
    "heads of rank 4":   ([Q, K, K],                           (True,),                    HEADS, "must not be given with Q, K and V of rank 4"),
    "query heads":       ([Q, K, K],                           (True,),                    {"q_num_heads": 8}, "must not be given with Q, K and V of rank 4"),
    "key heads":         ([Q, K, K],                           (True,),                    {"kv_num_heads": 8}, "must not be given with Q, K and V of rank 4"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, outputs, attributes, message", BAD_SINCE_25.values(), ids=BAD_SINCE_25)
def test_attention_violations_since_25(
    inputs: Any, outputs: tuple[bool, ...], attributes: dict[str, Any], message: str
) -> None:
    assert len(call(rules, "Attention", inputs, version=24, outputs=outputs, **attributes)) == len(outputs)
    with pytest.raises(SpecViolation, match=message):
        call(rules, "Attention", inputs, version=25, outputs=outputs, **attributes)


LINEAR = {**HEADS, "update_rule": "linear"}


def test_linear_attention() -> None:
    inputs = [(B, S, 8 * 16), (B, S, 4 * 16), (B, S, 4 * 12)]
    y, state = call(rules, "LinearAttention", inputs, version=27, outputs=2, **LINEAR)
    assert (y.shape, state.shape) == ((B, S, 8 * 12), (B, 4, 16, 12))
    past = SymbolicTensor(DType.FLOAT16, (2, 4, 16, 12))
    y, state = call(rules, "LinearAttention", [*inputs, past], version=27, outputs=2, **LINEAR)
    assert (y.shape, state) == ((2, S, 8 * 12), past)
    with pytest.raises(SpecViolation, match="axis 3 of past_state"):
        call(rules, "LinearAttention", [*inputs, (2, 4, 16, 16)], version=27, outputs=2, **LINEAR)
    with pytest.raises(SpecViolation, match="q_num_heads must be a multiple of 3, is 8"):
        call(
            rules, "LinearAttention", inputs, version=27, outputs=2, q_num_heads=8, kv_num_heads=3, update_rule="linear"
        )


GATES: dict[str, Any] = {
    # id:          (decay,      beta,       update_rule,   violation)
    "per key dim": ((2, 5, 64), (2, 5, 4), "gated_delta", None),
    "per head":    ((2, 5, 4),  (2, 5, 1), "gated_delta", None),
    "gated":       ((2, 5, 4),  None,      "gated",       None),
    "delta":       (None,       (2, 5, 4), "delta",       None),
    "no decay":    (None,       (2, 5, 4), "gated_delta", "update_rule = 'gated_delta' needs decay"),
    "no beta":     ((2, 5, 4),  None,      "gated_delta", "update_rule = 'gated_delta' needs beta"),
    "no gate":     ((2, 5, 4),  None,      "linear",      "update_rule = 'linear' takes no decay"),
    "unknown":     (None,       None,      "cubic",       "update_rule = 'cubic' is not one of linear, gated, delta"),
    "odd decay":   ((2, 5, 7),  None,      "gated",       "the last dim of decay must be 64 or 4, is 7"),
    "odd beta":    (None,       (2, 5, 3), "delta",       "the last dim of beta must be 4 or 1, is 3"),
}  # fmt: skip


@pytest.mark.parametrize("decay, beta, rule, violation", GATES.values(), ids=GATES)
def test_gates_of_linear_attention(decay: Any, beta: Any, rule: str, violation: str | None) -> None:
    inputs = [(2, 5, 128), (2, 5, 64), (2, 5, 48), None, decay, beta]
    attributes = {**HEADS, "update_rule": rule}
    if violation is None:
        y, state = call(rules, "LinearAttention", inputs, version=27, outputs=2, **attributes)
        assert (y.shape, state.shape) == ((2, 5, 96), (2, 4, 16, 12))
    else:
        with pytest.raises(SpecViolation) as caught:
            call(rules, "LinearAttention", inputs, version=27, outputs=2, **attributes)
        assert violation in caught.value.message


def test_windows_of_attention() -> None:
    inputs = [(2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)]
    assert call(rules, "Attention", inputs, version=25, left_window_size=-1, right_window_size=3)[0].shape == (
        2,
        4,
        3,
        6,
    )
    with pytest.raises(SpecViolation, match="right_window_size must be -1 or more, is -2"):
        call(rules, "Attention", inputs, version=25, right_window_size=-2)


POSITIONS = SymbolicTensor(DType.INT64, (2, 5))
ROTARY: dict[str, Any] = {
    "4-D":        ([(2, 4, 5, 8), (50, 4), (50, 4), POSITIONS], {}),
    "3-D":        ([(2, 5, 32), (50, 4), (50, 4), POSITIONS], {"num_heads": 4}),
    "no ids":     ([(B, 4, S, 8), (B, S, 4), (B, S, 4)], {}),
    "partial":    ([(2, 4, 5, 8), (50, 2), (50, 2), POSITIONS], {"rotary_embedding_dim": 4}),
    "unranked":   ([UNRANKED, (50, 2), (50, 2), POSITIONS], {}),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes", ROTARY.values(), ids=ROTARY)
def test_rotary_embedding(inputs: Any, attributes: dict[str, Any]) -> None:
    (found,) = call(rules, "RotaryEmbedding", inputs, version=23, **attributes)
    assert found.shape == (inputs[0] if isinstance(inputs[0], tuple) else None)


ROTARY_BAD: dict[str, Any] = {
    "cache":      ([(2, 4, 5, 8), (50, 3), (50, 3), POSITIONS], "cos_cache.shape[1] and half the rotated dims must be equal, are 3 and 4"),
    "cache rank": ([(2, 4, 5, 8), (50, 4), (50, 4)],            "cos_cache must have rank 3, has rank 2"),
    "odd":        ([(2, 4, 5, 7), (50, 4), (50, 4), POSITIONS], "must be a multiple of 2, is 7"),
    "no heads":   ([(2, 5, 32), (50, 4), (50, 4), POSITIONS],   "attribute num_heads must be given"),
    "ids":        ([(2, 4, 6, 8), (50, 4), (50, 4), POSITIONS], "axis 1 of position_ids"),
    "ids type":   ([(2, 4, 5, 8), (50, 4), (50, 4), (2, 5)],    "position_ids must be int64, is float32"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, message", ROTARY_BAD.values(), ids=ROTARY_BAD)
def test_rotary_embedding_violations(inputs: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "RotaryEmbedding", inputs, version=23)
    assert message in caught.value.message


WRITE = SymbolicTensor(DType.INT64, (2,))


def test_tensor_scatter() -> None:
    assert call(rules, "TensorScatter", [(2, 4, 9, 8), (2, 4, 1, 8), WRITE], version=24)[0].shape == (2, 4, 9, 8)
    assert call(rules, "TensorScatter", [(B, P, 8), (B, S, 8), WRITE], version=24)[0].shape == (2, P, 8)
    assert call(rules, "TensorScatter", [UNRANKED, (2, S, 8)], version=24)[0].shape is None
    circular = call(rules, "TensorScatter", [(2, 4, 8), (2, 5, 8)], version=24, mode="circular")
    assert circular[0].shape == (2, 4, 8)


SCATTER_BAD: dict[str, Any] = {
    "axis 0":   ([(2, 4, 8), (2, 1, 8)], {"axis": -3}, "axis must not be 0, the batch"),
    "axis":     ([(2, 4, 8), (2, 1, 8)], {"axis": 3}, "axis = 3 is outside [-3, 2]"),
    "mode":     ([(2, 4, 8), (2, 1, 8)], {"mode": "ring"}, "mode = 'ring' is not one of linear, circular"),
    "rank":     ([(2, 4, 8), (2, 8)], {}, "update, as past_cache, must have rank 3, has rank 2"),
    "too long": ([(2, 4, 8), (2, 5, 8)], {}, "update must have length 4 or less at axis 1, has 5"),
    "dims":     ([(2, 4, 8), (2, 1, 7)], {}, "axis 2 of update"),
    "indices":  ([(3, 4, 8), (3, 1, 8), WRITE], {}, "axis 0 of write_indices"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, message", SCATTER_BAD.values(), ids=SCATTER_BAD)
def test_tensor_scatter_violations(inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "TensorScatter", inputs, version=24, **attributes)
    assert message in caught.value.message


@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("version", [23, 24])
def test_ranks_of_the_mask_that_onnxruntime_takes(rank: int, version: int) -> None:
    """The specification lets a mask broadcast from any rank; onnxruntime refuses ranks 0 and 1."""
    heads, dims = (2, 8, 5, 16), (2, 8, 5, 5)
    shapes = [f"{list(heads)}"] * 3 + [f"{list(dims[4 - rank :])}"]
    given = ", ".join(
        f"float{shape if shape != '[]' else ''} {name}" for shape, name in zip(shapes, "qkvm", strict=True)
    )
    text = f'<ir_version: 10, opset_import: ["" : {version}]> g ({given}) => (float[2, 8, 5, 16] y) {{ y = Attention(q, k, v, m) }}'
    proto = parser.parse_model(text)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    feeds = {i.name: np.ones([int(n) for n in i.shape], np.float32) for i in session.get_inputs()}
    try:
        runs = session.run(None, feeds)[0].shape == heads
    except Fail:
        runs = False
    found = infer(proto)
    assert found["y"].shape == heads and not found.diagnostics
    assert runs == (rank >= 2) == (not contract_of(proto).contract.open)
