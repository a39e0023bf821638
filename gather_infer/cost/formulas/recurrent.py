"""Formulas of recurrent networks: each gate multiplies the input and the state of each step with a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gather_infer.cost.work import Formulas, Work, last
from gather_infer.symbolic import Dim

GATES: Final = {"RNN": 1, "GRU": 3, "LSTM": 4}


def add_to(tables: Mapping[str, Formulas]) -> None:
    """Register RNN, GRU and LSTM in the tables of ai.onnx, com.microsoft and OpenVINO."""
    for name, gates in GATES.items():
        text = f"T * B * D * {gates} * H * (I + H); every sequence at full length"
        tables[""].counts(name, text=text)(_sequence(1, 2, gates))
        if name == "LSTM":
            tables["com.microsoft"].counts("DynamicQuantizeLSTM", text=text)(_dynamic)
        weights = 4 if name == "LSTM" else 3
        tables["openvino"].counts(f"{name}Sequence", text=text)(_sequence(weights, weights + 1, gates))
        tables["openvino"].counts(f"{name}Cell", text=f"B * {gates} * H * (I + H)")(_cell(weights - 1, weights, gates))


def _sequence(weights: int, recurrence: int, gates: int) -> Callable[[Work], Dim]:
    """A formula for a whole sequence: X [T, B, I] or [B, T, I], W [D, gates * H, I], R [D, gates * H, H].

    weights, recurrence   indices of the inputs W and R
    """

    def macs(work: Work) -> Dim:
        x, w, r = work.shape(0, 3), work.shape(weights, 3), work.shape(recurrence, 3)
        hidden = r[2]
        return x[0] * x[1] * w[0] * gates * hidden * (w[2] + hidden)

    return macs


def _cell(weights: int, recurrence: int, gates: int) -> Callable[[Work], Dim]:
    """A formula for a single step: X [B, I], W [gates * H, I], R [gates * H, H].

    weights, recurrence   indices of the inputs W and R
    """

    def macs(work: Work) -> Dim:
        x, hidden = work.shape(0, 2), last(work.shape(recurrence, 2))
        return x[0] * gates * hidden * (last(work.shape(weights, 2)) + hidden)

    return macs


def _dynamic(work: Work) -> Dim:
    """Multiply-adds of DynamicQuantizeLSTM: X [T, B, I], W [D, I, 4 * H], R [D, H, 4 * H]."""
    x, w, r = work.shape(0, 3), work.shape(1, 3), work.shape(2, 3)
    return x[0] * x[1] * w[0] * 4 * r[1] * (w[1] + r[1])
