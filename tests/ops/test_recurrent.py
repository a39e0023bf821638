"""RNN, GRU and LSTM against their specifications."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.recurrent import rules
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import UNRANKED, call

H, L, N, I = map(symbol, "HLNI")  # noqa: E741
LENS = SymbolicTensor(DType.INT32, (2,))
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

CASES = {
    # id:             (X,         D, attributes,                     further inputs,          Y,            Y_h)
    "forward":        ((5, 2, 3), 1, {"hidden_size": 4},             [],                      (5, 1, 2, 4), (1, 2, 4)),
    "reverse":        ((5, 2, 3), 1, {"direction": "reverse"},       [],                      (5, 1, 2, 4), (1, 2, 4)),
    "both":           ((5, 2, 3), 2, {"direction": "bidirectional"}, [None, LENS, (2, 2, 4)], (5, 2, 2, 4), (2, 2, 4)),
    "batch first":    ((2, 5, 3), 1, {"layout": 1},                  [None, LENS, (2, 1, 4)], (2, 5, 1, 4), (2, 1, 4)),
    "no steps":       ((0, 2, 3), 1, {},                             [],                      (0, 1, 2, 4), (1, 2, 4)),
    "symbolic":       ((L, N, 3), 1, {},                             [],                      (L, 1, N, 4), (1, N, 4)),
    "lengths tell N": ((L, N, 3), 1, {},                             [None, LENS],            (L, 1, 2, 4), (1, 2, 4)),
    "state tells N":  ((L, N, I), 1, {},                             [None, None, (1, 2, 4)], (L, 1, 2, 4), (1, 2, 4)),
}  # fmt: skip


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("x, d, attributes, further, y, y_h", CASES.values(), ids=CASES)
def test_recurrent(op_type: str, x: Any, d: int, attributes: dict[str, Any], further: Any, y: Any, y_h: Any) -> None:
    g = GATES[op_type]
    inputs = [x, (d, 4 * g, 3), (d, 4 * g, 4), *further]
    outputs = 3 if op_type == "LSTM" else 2
    found = call(rules, op_type, inputs, version=14, outputs=outputs, **attributes)
    assert [t.shape for t in found] == [y, y_h, y_h][:outputs]


def test_hidden_size_comes_from_what_is_known() -> None:
    def hidden(*inputs: Any, **attributes: Any) -> Any:
        return call(rules, "LSTM", [(L, N, 3), *inputs], version=14, **attributes)[0].shape[3]

    assert hidden(UNRANKED, UNRANKED, hidden_size=7) == 7
    assert hidden(UNRANKED, (1, 28, 7)) == 7
    assert hidden(UNRANKED, UNRANKED, None, None, (1, N, 7)) == 7
    assert hidden((1, 28, 3), UNRANKED) == 7
    assert hidden((1, 4 * H, 3), UNRANKED) is H
    assert hidden(UNRANKED, UNRANKED, (1, 56)) == 7
    assert hidden(UNRANKED, UNRANKED).is_symbol


def test_unranked_sequence() -> None:
    y, y_h = call(rules, "GRU", [UNRANKED, (1, 12, 3), (1, 12, 4)], outputs=2)
    assert y.rank == 4 and y.shape[1] == 1 and y.shape[3] == 4
    assert y_h.shape == (1, y.shape[2], 4)


LSTM_BAD = {
    "rank":          ([(5, 3), (1, 16, 3), (1, 16, 4)], {},                            "X must have rank 3, has rank 2"),
    "input size":    ([(5, 2, 3), (1, 16, 2), (1, 16, 4)], {},                         "axis 2 of W and its expected dim"),
    "gates":         ([(5, 2, 3), (1, 12, 3), (1, 16, 4)], {},                         "axis 1 of W and its expected dim"),
    "R":             ([(5, 2, 3), (1, 16, 3), (1, 16, 5)], {"hidden_size": 4},         "axis 2 of R"),
    "directions":    ([(5, 2, 3), (2, 16, 3), (2, 16, 4)], {},                         "axis 0 of W and its expected dim"),
    "B":             ([(5, 2, 3), (1, 16, 3), (1, 16, 4), (1, 31)], {},                "axis 1 of B"),
    "sequence_lens": ([(5, 2, 3), (1, 16, 3), (1, 16, 4), None, SymbolicTensor(DType.INT32, (3,))], {}, "sequence_lens"),
    "initial_h":     ([(5, 2, 3), (1, 16, 3), (1, 16, 4), None, None, (1, 3, 4)], {},  "axis 1 of initial_h"),
    "P":             ([(5, 2, 3), (1, 16, 3), (1, 16, 4), *[None] * 4, (1, 11)], {},   "axis 1 of P"),
    "direction":     ([(5, 2, 3), (1, 16, 3), (1, 16, 4)], {"direction": "up"},        "direction = 'up' is not one of"),
    "layout":        ([(5, 2, 3), (1, 16, 3), (1, 16, 4)], {"layout": 2},              "layout = 2 is not 0 or 1"),
    "hidden_size":   ([(5, 2, 3), (1, 16, 3), (1, 16, 4)], {"hidden_size": 0},         "hidden_size must be 1 or more, is 0"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, message", LSTM_BAD.values(), ids=LSTM_BAD)
def test_violations(inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "LSTM", inputs, version=14, outputs=3, **attributes)
    assert message in caught.value.message
