"""Recurrent cells and sequences: LSTM, GRU, RNN.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/

OpenVINO has the batch axis first, another order of LSTM gates than ONNX, and one bias where ONNX has two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gather_infer.dialect import AxisSize, InputPrecondition, LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import AS_FLOAT
from gather_infer.symbolic import known_eq
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_DIRECTIONS: Final = ("forward", "reverse", "bidirectional")
_ACTIVATIONS: Final = {
    "sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "hardsigmoid": "HardSigmoid", "hard_sigmoid": "HardSigmoid",
    "elu": "Elu", "softsign": "Softsign", "softplus": "Softplus",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CellKind:
    """A kind of recurrent cell.

    onnx          type of the ONNX operator
    activations   default activation functions, by OpenVINO's names
    """

    onnx: str
    activations: tuple[str, ...]

    @property
    def states(self) -> int:
        return 2 if self.onnx == "LSTM" else 1


LSTM: Final = CellKind("LSTM", ("sigmoid", "tanh", "tanh"))
GRU: Final = CellKind("GRU", ("sigmoid", "tanh"))
RNN: Final = CellKind("RNN", ("tanh",))
KINDS: Final = {kind.onnx: kind for kind in (LSTM, GRU, RNN)}

_GATES: Final = (1, 3, 0, 2)
"""Positions in OpenVINO's order of LSTM gates (f, i, c, o) of the gates in ONNX's order (i, o, f, c).

OpenVINO writes an attribute `weights_format`, but ignores it.
"""

_LENGTHS: Final = InputPrecondition(0, AxisSize(0, 1), is_enforced=False)
"""Precondition on the lengths of the sequences in X [batch, length, input]: in [0, length]."""


@lowers("LSTMSequence", preconditions={3: _LENGTHS})
@lowers("GRUSequence", "RNNSequence", preconditions={2: _LENGTHS})
def sequence(op: LayerView, g: FunctionBuilder) -> tuple[str, ...]:
    """lstm-sequence-1, lstm-sequence-5, gru-sequence-5, rnn-sequence-5: ONNX's LSTM, GRU or RNN.

    d is the number of directions, G the number of gates; there are two states for LSTM, else one.

    X [batch, length, input], states [batch, d, hidden] each, sequence_lengths [batch]
    W [d, G*hidden, input], R [d, G*hidden, hidden], B [d, G*hidden]
    results   Y [batch, d, length, hidden], states [batch, d, hidden] each
    """
    kind = KINDS[op.op_type.removesuffix("Sequence")]
    dtype, first = op.dtype(0), 1 + kind.states
    wide = AS_FLOAT.get(dtype, dtype)
    direction = op.text("direction", "forward", choices=_DIRECTIONS)
    for position in filter(op.has_rank, range(1, first + 1)):
        op.call.require_equal(op.dim(0, 0), op.dim(position, 0), f"batch of inputs 0 and {position}")
    x, *states = (_batch_second(g, g.cast(op.x(i), op.dtype(i), wide)) for i in range(first))
    lengths = "" if _are_full(op, first) else g.cast(op.x(first), op.dtype(first), DType.INT32)
    weights = [g.cast(op.x(i), op.dtype(i), wide) for i in range(first + 1, first + 4)]
    given = _weights(op, g, kind, weights)
    made = _run(op, g, kind, x, states, lengths, given, direction)
    results = (g.Transpose(made[0], perm=[2, 1, 0, 3]), *(_batch_second(g, one) for one in made[1:]))
    return tuple(g.cast(one, wide, dtype) for one in results)


def _are_full(op: LayerView, index: int) -> bool:
    """Whether all elements of input `index`, the lengths, are proved to be the length of X, as ONNX assumes without."""
    span, length = op.tensor(index).value_range, op.dim(0, 1)
    return span is not None and all(
        end is not None and known_eq(end, length, op.call.scope) is True for end in (span.lo, span.hi)
    )


@lowers("LSTMCell", "GRUCell", "RNNCell")
def cell(op: LayerView, g: FunctionBuilder) -> tuple[str, ...]:
    """lstm-cell-1, lstm-cell-4, gru-cell-3, rnn-cell-0: one step of ONNX's LSTM, GRU or RNN.

    G is the number of gates; there are two states for LSTM, else one.

    X [batch, input], states [batch, hidden] each, W [G*hidden, input], R [G*hidden, hidden], B [G*hidden], optional
    results   states [batch, hidden] each
    """
    kind = KINDS[op.op_type.removesuffix("Cell")]
    dtype, first = op.dtype(0), 1 + kind.states
    wide = AS_FLOAT.get(dtype, dtype)
    if op.has(first + 3) and np.any(op.known(first + 3)):
        raise LoweringRefused("it has peephole weights, from the cell to the gates")
    x, *states = (g.unsqueeze(g.cast(op.x(i), op.dtype(i), wide), 0) for i in range(first))
    weights = [g.unsqueeze(g.cast(op.x(i), op.dtype(i), wide), 0) for i in range(first, first + 2)]
    if op.has(first + 2):
        weights.append(g.unsqueeze(g.cast(op.x(first + 2), op.dtype(first + 2), wide), 0))
    made = _run(op, g, kind, x, states, "", _weights(op, g, kind, weights), "forward")
    return tuple(g.cast(g.squeeze(one, 0), wide, dtype) for one in made[1:])


def _batch_second(g: FunctionBuilder, x: str) -> str:
    return g.Transpose(x, perm=[1, 0, 2])


def _weights(op: LayerView, g: FunctionBuilder, kind: CellKind, given: Sequence[str]) -> list[str]:
    """W, R and B in ONNX's layout and order of gates, from `given`: W, R and, optionally, B; "" for a missing B."""
    w, r, *biases = (_reordered(g, one, _GATES) if kind is LSTM else one for one in given)
    if not biases:
        return [w, r, ""]
    (bias,) = biases
    if not _is_linear(op, kind):
        return [w, r, g.Concat(bias, g.Sub(bias, bias), axis=1)]
    z, reset, hidden, recurrent = g.node("Split", (bias,), 4, axis=1, num_outputs=4)
    none = g.Sub(z, z)
    return [w, r, g.Concat(z, reset, hidden, none, none, recurrent, axis=1)]


def _reordered(g: FunctionBuilder, x: str, order: Sequence[int]) -> str:
    parts = g.node("Split", (x,), len(order), axis=1, num_outputs=len(order))
    return g.Concat(*(parts[i] for i in order), axis=1)


def _is_linear(op: LayerView, kind: CellKind) -> bool:
    """Whether the cell is a GRU with linear_before_reset: its bias has an extra part, for the reset hidden state."""
    return kind is GRU and op.flag("linear_before_reset", False)


def _run(
    op: LayerView,
    g: FunctionBuilder,
    kind: CellKind,
    x: str,
    states: Sequence[str],
    lengths: str,
    weights: Sequence[str],
    direction: str,
) -> tuple[str, ...]:
    """The outputs of ONNX's operator: Y [length, d, batch, hidden], and the final states [d, batch, hidden] each.

    lengths   name of the sequence lengths [batch]; "" if all sequences have the full length
    weights   W, R and B, as `_weights` returns them
    """
    attributes = _attributes(op, kind, 2 if direction == "bidirectional" else 1)
    if kind is GRU:
        attributes["linear_before_reset"] = int(_is_linear(op, kind))
    if kind is LSTM and op.flag("input_forget", False):
        attributes["input_forget"] = 1
    w, r, b = weights
    return g.node(kind.onnx, (x, w, r, b, lengths, *states), 1 + kind.states, direction=direction, **attributes)


def _attributes(op: LayerView, kind: CellKind, directions: int) -> dict[str, Any]:
    names = [name.lower() for name in op.texts("activations", ())] or list(kind.activations)
    for name in names:
        if name not in _ACTIVATIONS:
            raise SpecViolation(f"activation must be one of {', '.join(_ACTIVATIONS)}, is {name!r}", "GI106")
    attributes: dict[str, Any] = {
        "hidden_size": op.integer("hidden_size"),
        "activations": [_ACTIVATIONS[name] for name in names] * directions,
    }
    for ours, theirs in (("activations_alpha", "activation_alpha"), ("activations_beta", "activation_beta")):
        numbers = op.numbers(ours, ())
        if numbers:
            attributes[theirs] = numbers * directions
    clip = op.number("clip", 0.0)
    if clip > 0 and np.isfinite(clip):
        attributes["clip"] = clip
    return attributes
