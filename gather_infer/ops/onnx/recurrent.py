"""Rules of RNN, GRU and LSTM: one layer over a sequence.

Letters: L the sequence length, N the batch, I the input size, H the hidden size, D the directions (1 or 2),
g the gates (RNN 1, GRU 3, LSTM 4).
"""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_lengths, describe
from gather_infer.ops.semantics.preconditions import (
    PartialShape,
    fill,
    merge_shape,
    refuse_empty,
    require_divisible,
    require_rank,
    require_same_dtype,
    require_shape,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, floordiv
from gather_infer.tensor import Shape, SymbolicTensor

rules = RuleSet("")

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2, "foward": 1}  # GRU-1 misspells its default


def recurrent(op: OpCall, gates: int) -> list[SymbolicTensor]:
    """The outputs Y, Y_h and, for LSTM, Y_c of a recurrent layer with g = `gates` gates.

    L is the sequence length, N the batch, I the input size, H the hidden size and D the number of directions.

    X              [L, N, I]          layout 1: [N, L, I]
    W              [D, g*H, I]
    R              [D, g*H, H]
    B              [D, 2*g*H]
    sequence_lens  [N], each from 0 to L
    initial_h, _c  [D, N, H]          layout 1: [N, D, H]
    P              [D, 3*H]
    Y              [L, D, N, H]       layout 1: [N, L, D, H]
    Y_h, Y_c       [D, N, H]          layout 1: [N, D, H]

    Raises SpecViolation when an input does not have the listed shape, or an attribute is out of range.
    """
    x, w, r, b = op.tensor(0), op.tensor(1), op.tensor(2), op.optional_tensor(3)
    lens, states, p = op.optional_tensor(4), [op.optional_tensor(5)], None
    if gates == 4:
        states.append(op.optional_tensor(6))
        p = op.optional_tensor(7)
    dtype = require_same_dtype("X, W, R, B, P and the initial states", x, w, r, b, *states, p)
    direction = op.attr("direction", "forward")
    if direction not in DIRECTIONS:
        raise SpecViolation(f"direction = {direction!r} is not one of forward, reverse, bidirectional")
    layout = op.attr("layout", 0)
    if layout not in (0, 1):
        raise SpecViolation(f"layout = {layout} is not 0 or 1")
    d = DIRECTIONS[direction]
    h = hidden_size(op, gates, w, r, b, *states)
    x_shape = require_rank(x.shape, 3, "X") or (None, None, None)
    length, n, i = x_shape if layout == 0 else (x_shape[1], x_shape[0], x_shape[2])
    refuse_empty(op, *(dim for dim in (length, n, i) if dim is not None))
    merge_shape(op, w.shape, (d, gates * h, i), "W")
    h = require_shape(op, r.shape, (d, gates * h, h), "R")[2]
    if b is not None:
        require_shape(op, b.shape, (d, 2 * gates * h), "B")
    if p is not None:
        require_shape(op, p.shape, (d, 3 * h), "P")
    if lens is not None:
        (n,) = merge_shape(op, lens.shape, (n,), "sequence_lens")
        if length is not None:
            check_lengths(op, 4, length, axis=layout, data=describe(x, "X"))
    state: PartialShape = (n, d, h) if layout else (d, n, h)
    for name, initial in zip(("initial_h", "initial_c"), states, strict=False):
        if initial is not None:
            state = merge_shape(op, initial.shape, state, name)
    *known_state, length = fill(op, (*state, length), "the shape of X is not known")
    shape: Shape = tuple(known_state)
    y: Shape = (shape[0], length, *shape[1:]) if layout else (length, *shape)
    return [SymbolicTensor(dtype, y), *[SymbolicTensor(dtype, shape)] * (len(op.outputs) - 1)]


def hidden_size(op: OpCall, gates: int, w: SymbolicTensor, r: SymbolicTensor, b: SymbolicTensor | None,
                *states: SymbolicTensor | None) -> Dim:  # fmt: skip
    """The hidden size H: attribute hidden_size, else the last dim of R or of a state, else from W or B.

    Dim 1 of W is H * `gates`, dim 1 of B is 2 * H * `gates`. Returns a new symbol when all shapes are unknown.

    Raises SpecViolation when attribute hidden_size is below 1, or dim 1 of W or B is not divisible.
    """
    size = op.attr("hidden_size")
    if size is not None:
        if size < 1:
            raise SpecViolation(f"hidden_size must be 1 or more, is {size}")
        found: int = size
        return found
    for tensor in (r, *states):
        if tensor is not None and tensor.shape:
            return tensor.shape[-1]
    for tensor, times, name in ((w, gates, "W"), (b, 2 * gates, "B")):
        if tensor is not None and tensor.shape is not None and len(tensor.shape) > 1:
            require_divisible(op, tensor.shape[1], times, f"{name}.shape[1]")
            return floordiv(tensor.shape[1], times, op.scope)
    return op.fresh("the hidden size is not known from any input")


@rules.rule("RNN", since=1, addresses={4: 0})
def rnn(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__RNN.html (version 14 adds layout)"""
    return recurrent(op, 1)


@rules.rule("GRU", since=1, addresses={4: 0})
def gru(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GRU.html (version 14 adds layout)"""
    return recurrent(op, 3)


@rules.rule("LSTM", since=1, addresses={4: 0})
def lstm(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__LSTM.html (version 14 adds layout)"""
    return recurrent(op, 4)
