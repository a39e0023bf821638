"""Cases of recurrent cells and sequences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case, Engine

CASES: dict[str, Case] = {}

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DEFAULTS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}
INPUT, HIDDEN = 3, 4


def recurrent(
    type_name: str,
    opset: int,
    *,
    lengths: list[int] | None = None,
    length: int = 5,
    batch: int = 2,
    dtype: str = "f4",
    engine: Engine = "plugin",
    weights: str = "const",
    bias: bool = True,
    **attributes: Any,
) -> Case:
    """A cell, or a sequence where `lengths` are given, one for each row."""
    kind = type_name.removesuffix("Cell").removesuffix("Sequence")
    d = 2 if attributes.get("direction") == "bidirectional" else 1
    gates = GATES[kind]
    attributes = {"activations": DEFAULTS[kind], "clip": 0.0, **attributes}
    rows = gates + 1 if attributes.get("linear_before_reset") else gates

    def build(b: Build) -> Any:
        held = getattr(b, weights)

        def numbers(*shape: int) -> Any:
            return b.floats(*shape, low=-1, high=1, dtype=dtype)

        around: tuple[int, ...] = () if lengths is None else (d,)
        x = numbers(batch, INPUT) if lengths is None else numbers(batch, length, INPUT)
        given = [b.param(x)]
        given += [b.param(numbers(batch, *around, HIDDEN)) for _ in range(2 if kind == "LSTM" else 1)]
        if lengths is not None:
            given.append(b.param(np.array(lengths, np.int64)))
        given += [held(numbers(*around, gates * HIDDEN, INPUT)), held(numbers(*around, gates * HIDDEN, HIDDEN))]
        if bias:
            given.append(held(numbers(*around, rows * HIDDEN)))
        return b.op(opset, type_name, given, hidden_size=HIDDEN, **attributes)

    return Case(build, engine=engine, rtol=3e-3 if dtype == "f2" else 2e-5)


# OpenVINO has no LSTMSequence-1 any more
SEQUENCE: Any = {"engine": "reshaped"}
"""Sequences of unknown dims differ from those of known ones, which are those of the page."""

ACTIVATIONS = {"LSTM": ["tanh", "sigmoid", "relu"], "GRU": ["tanh", "relu"], "RNN": ["relu"]}
for _kind, _opsets in {"LSTM": (1, 4), "GRU": (3,), "RNN": (1,)}.items():
    for _opset in _opsets:
        CASES |= {
            f"{_kind}Cell-{_opset}": recurrent(f"{_kind}Cell", _opset),
            f"{_kind}Cell-{_opset} activations": recurrent(f"{_kind}Cell", _opset, activations=ACTIVATIONS[_kind]),
            f"{_kind}Cell-{_opset} clip": recurrent(f"{_kind}Cell", _opset, clip=0.3),
            f"{_kind}Cell-{_opset} inputs": recurrent(f"{_kind}Cell", _opset, weights="param"),
            f"{_kind}Cell-{_opset} f64": recurrent(f"{_kind}Cell", _opset, dtype="f8"),
            f"{_kind}Cell-{_opset} f16": recurrent(f"{_kind}Cell", _opset, dtype="f2"),
        }
CASES["LSTMCell-1 without bias"] = recurrent("LSTMCell", 1, bias=False)
for _format in ("fico", "icof", "ifco", "ifoc", "iofc"):
    CASES[f"LSTMCell-1 gates {_format}"] = recurrent("LSTMCell", 1, weights_format=_format)
CASES["GRUCell-3 linear before reset"] = recurrent("GRUCell", 3, linear_before_reset=True)
for (_kind, _opset), _direction, (_name, _lengths) in product(
    (("LSTM", 5), ("GRU", 5), ("RNN", 5)),
    ("forward", "reverse", "bidirectional"),
    {"full": [5, 5], "shorter": [3, 5]}.items(),
):
    _id = f"{_kind}Sequence-{_opset} {_direction}, {_name}"
    CASES[_id] = recurrent(f"{_kind}Sequence", _opset, lengths=_lengths, direction=_direction, **SEQUENCE)
for _kind in GATES:
    _sequence: Any = {"lengths": [4, 5], "direction": "forward", **SEQUENCE}
    CASES |= {
        f"{_kind}Sequence-5 activations": recurrent(f"{_kind}Sequence", 5, activations=ACTIVATIONS[_kind], **_sequence),
        f"{_kind}Sequence-5 clip": recurrent(f"{_kind}Sequence", 5, clip=0.3, **_sequence),
        f"{_kind}Sequence-5 f16": recurrent(f"{_kind}Sequence", 5, dtype="f2", **_sequence),
        f"{_kind}Sequence-5 f64": recurrent(f"{_kind}Sequence", 5, dtype="f8", **_sequence),
        f"{_kind}Sequence-5 one step": recurrent(
            f"{_kind}Sequence", 5, length=1, lengths=[1, 1], direction="forward", **SEQUENCE
        ),
        f"{_kind}Sequence-5 a row without steps": recurrent(
            f"{_kind}Sequence", 5, length=3, lengths=[0, 2], direction="reverse", **SEQUENCE
        ),
    }
for _direction in ("forward", "bidirectional"):
    CASES[f"GRUSequence-5 linear before reset, {_direction}"] = recurrent(
        "GRUSequence", 5, lengths=[4, 5], direction=_direction, linear_before_reset=True, **SEQUENCE
    )


def full(type_name: str, direction: str) -> Case:
    """Every row is as long as X, which the lengths are computed from."""
    kind = type_name.removesuffix("Sequence")
    gates, d = GATES[kind], 2 if direction == "bidirectional" else 1

    def build(b: Build) -> Any:
        ops = b.ov.opset16
        x = b.param(b.floats(2, 5, INPUT, low=-1, high=1))
        states = [b.param(b.floats(2, d, HIDDEN)) for _ in range(2 if kind == "LSTM" else 1)]
        sizes, zero = ops.shape_of(x), np.int64(0)
        batch, length = (ops.gather(sizes, np.array([axis], np.int64), zero) for axis in (0, 1))
        lengths = ops.broadcast(length, batch)
        shapes = ((d, gates * HIDDEN, INPUT), (d, gates * HIDDEN, HIDDEN), (d, gates * HIDDEN))
        weights = [b.const(b.floats(*shape, low=-1, high=1)) for shape in shapes]
        attributes = {"hidden_size": HIDDEN, "direction": direction, "activations": DEFAULTS[kind], "clip": 0.0}
        return b.op(5, type_name, [x, *states, lengths, *weights], **attributes)

    return Case(build, engine="reshaped", rtol=2e-5)


for _kind, _direction in product(GATES, ("forward", "bidirectional")):
    CASES[f"{_kind}Sequence-5 computed lengths, {_direction}"] = full(f"{_kind}Sequence", _direction)
