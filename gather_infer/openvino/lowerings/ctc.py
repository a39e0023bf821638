"""Connectionist temporal classification: greedy decoding of label sequences, and the loss.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from gather_infer.dialect import AxisSize, InputPrecondition
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.tensor_idioms import (
    END,
    as_float,
    as_int64,
    axis_slice,
    dims,
    iota,
    loop,
    shape_vector,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers
_INT, _FLOAT = DType.INT64, DType.FLOAT32


@lowers("CTCGreedyDecoder")
def greedy(op: LayerView, g: FunctionBuilder) -> str:
    """sequence/ctc-greedy-decoder-1: ArgMax, then ScatterElements of the labels that are neither blank nor repeated.

    data    [t, n, c], sequence_mask [t, n]: a sequence ends at its first 0; the last class is blank
    result  [n, t, 1, 1], the labels, padded with -1
    """
    labels = g.Transpose(g.ArgMax(as_float(op, g, 0), axis=2, keepdims=0), perm=[1, 0])
    mask = g.Transpose(as_float(op, g, 1), perm=[1, 0])
    over = g.Cast(g.Equal(mask, g.scalar(0, _FLOAT)), to=int(_INT))
    is_on = g.Equal(g.CumSum(over, g.scalar(1, _INT)), g.scalar(0, _INT))
    merged = op.flag("merge_repeated", op.flag("ctc_merge_repeated", True))
    decoded, _ = _decoded(g, labels, is_on, _last_class(op, g), merged=merged)
    return g.unsqueeze(g.Cast(decoded, to=int(op.dtype(0))), 2, 3)


@lowers("CTCGreedyDecoderSeqLen", since=6, preconditions={1: InputPrecondition(0, AxisSize(0, 1), is_enforced=False)})
def greedy_of_length(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """sequence/ctc-greedy-decoder-seq-len-6: CTCGreedyDecoder with lengths of sequences instead of a mask.

    data     [n, t, c], sequence_length [n], blank_index (one element, by default the last class)
    results  the labels [n, t], padded with -1; and their number [n]
    """
    labels = g.ArgMax(as_float(op, g, 0), axis=2, keepdims=0)
    is_on = g.Less(iota(g, g.dim(op.x(0), 1)), g.unsqueeze(as_int64(op, g, 1), 1))
    decoded, length = _decoded(g, labels, is_on, _blank(op, g, 2), merged=op.flag("merge_repeated", True))
    kinds = op.type_of("classes_index_type", "i32"), op.type_of("sequence_length_type", "i32")
    return g.cast(decoded, _INT, kinds[0]), g.cast(length, _INT, kinds[1])


def _last_class(op: LayerView, g: FunctionBuilder) -> str:
    (classes,) = dims(op, g, 0, 2)
    return g.as_scalar(g.Sub(shape_vector(g, classes), g.i64(1)))


def _blank(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """The blank class, an int64 scalar: input `index`, or the last class if that input is left out."""
    return g.as_scalar(as_int64(op, g, index)) if op.has(index) else _last_class(op, g)


def _decoded(g: FunctionBuilder, labels: str, is_on: str, blank: str, *, merged: bool) -> tuple[str, str]:
    """The labels [n, t] that `is_on` selects, without blanks, padded with -1; and their number [n].

    merged   also drop each label that equals its predecessor
    """
    kept = g.And(is_on, g.Not(g.Equal(labels, blank)))
    return _packed(g, labels, g.And(kept, _is_new(g, labels)) if merged else kept)


def _is_new(g: FunctionBuilder, labels: str) -> str:
    """Flags [n, t]: whether each label differs from its predecessor in the row; true for the first label."""
    start = g.Expand(g.scalar(-1, _INT), shape_vector(g, g.dim(labels, 0), 1))
    return g.Not(g.Equal(labels, g.Concat(start, axis_slice(g, labels, 0, -1, 1), axis=1)))


def _packed(g: FunctionBuilder, labels: str, kept: str) -> tuple[str, str]:
    """The labels [n, t] that `kept` selects, moved to the front and padded with -1; and their number [n].

    CumSum gives the target positions; labels that are not selected are written to an extra column, which is cut off.
    """
    number = g.Cast(kept, to=int(_INT))
    place = g.CumSum(number, g.scalar(1, _INT), exclusive=1)
    steps = g.dim(labels, 1)
    empty = g.Expand(g.scalar(-1, _INT), shape_vector(g, g.dim(labels, 0), g.Add(steps, g.i64(1))))
    dropped = g.Where(kept, place, steps)
    put = g.ScatterElements(empty, dropped, g.Where(kept, labels, g.scalar(-1, _INT)), axis=1)
    return axis_slice(g, put, 0, -1, 1), g.ReduceSum(number, g.i64(1), keepdims=0)


@lowers(
    "CTCLoss",
    since=4,
    preconditions={
        1: InputPrecondition(1, AxisSize(0, 1)),
        2: InputPrecondition(0, AxisSize(0, 2), margin=1, is_enforced=False),
        3: InputPrecondition(1, AxisSize(2, 1), clause="each at most the logit length"),
    },
)
def loss(op: LayerView, g: FunctionBuilder) -> str:
    """sequence/ctc-loss-4: the forward algorithm in a Loop over the time steps.

    logits  [n, t, c], logit_length [n], labels [n, t], label_length [n], blank_index of one element
    result  [n], -ln p(labels | logits); p is the sum over all alignments of the labels, with blanks between them, to
            the time steps

    The algorithm computes the probability of 2t + 1 states for each sequence: label k is state 2k + 1, the other states
    are blanks.
    """
    logits, length = as_float(op, g, 0), as_int64(op, g, 1)
    blank = _blank(op, g, 4)
    target, size = _target(op, g)
    states = _states(g, target, blank)
    steps = g.dim(op.x(0), 1)
    wide = g.Expand(g.unsqueeze(states, 1), shape_vector(g, g.dim(op.x(0), 0), steps, g.dim(states, 1)))
    seen = g.GatherElements(g.LogSoftmax(logits, axis=2), wide, axis=2)  # [n, t, states]
    alike, skips = _moves(op, g, states, blank)
    impossible = g.scalar(float("-inf"), _FLOAT)
    begins = g.Less(iota(g, g.dim(states, 1)), g.scalar(2, _INT))
    start = g.Where(begins, g.squeeze(axis_slice(g, seen, 0, 1, 1), 1), impossible)
    edge = g.Expand(impossible, shape_vector(g, g.dim(op.x(0), 0), 1))

    def step(
        body: FunctionBuilder, number: str, carried: tuple[str, ...]
    ) -> tuple[list[str], None, list[tuple[str, DType]]]:
        now = body.Add(number, body.scalar(1, _INT))
        before = body.Concat(edge, axis_slice(body, carried[0], 0, -1, 1), axis=1)
        skipped = body.Concat(edge, axis_slice(body, before, 0, -1, 1), axis=1)
        ways = [body.Where(alike, carried[0], impossible), before, body.Where(skips, skipped, impossible)]
        moved = body.Add(_log_sum(body, ways), body.Gather(seen, now, axis=1))
        is_on = body.Less(now, body.unsqueeze(length, 1))
        return [body.Where(is_on, moved, carried[0])], None, []

    (ends,) = loop(g, g.Sub(g.as_scalar(steps), g.scalar(1, _INT)), [(start, _FLOAT, 2)], step)
    last = g.unsqueeze(g.Mul(size, g.scalar(2, _INT)), 1)
    both = [g.GatherElements(ends, one, axis=1) for one in (last, g.Max(g.Sub(last, g.i64(1)), g.i64(0)))]
    return g.cast(g.Neg(g.squeeze(_log_sum(g, both), 1)), _FLOAT, op.dtype(0))


def _target(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """The target labels [n, t] without the repeats that the attributes drop, padded with -1; and their number [n]."""
    labels = as_int64(op, g, 2)
    places = iota(g, g.dim(labels, 1))
    kept = g.Less(places, g.unsqueeze(as_int64(op, g, 3), 1))
    if op.flag("unique", False):
        same = g.Equal(g.unsqueeze(labels, 2), g.unsqueeze(labels, 1))
        earlier = g.And(same, g.Less(places, g.unsqueeze(places, 1)))
        repeated = g.ReduceMax(g.Cast(earlier, to=int(DType.INT32)), g.i64(2), keepdims=0)
        kept = g.And(kept, g.Equal(repeated, g.scalar(0, DType.INT32)))
    elif op.flag("preprocess_collapse_repeated", False):
        kept = g.And(kept, _is_new(g, labels))
    return _packed(g, labels, kept)


def _states(g: FunctionBuilder, target: str, blank: str) -> str:
    """The class of each state [n, 2t + 1]: blank, label, blank, label, ..., blank; -1 in `target` counts as blank."""
    target = g.Where(g.Less(target, g.scalar(0, _INT)), blank, target)
    blanks = g.Expand(blank, g.Shape(target))
    pairs = g.Concat(g.unsqueeze(blanks, 2), g.unsqueeze(target, 2), axis=2)
    shape = shape_vector(g, g.dim(target, 0), g.Mul(g.dim(target, 1), g.i64(2)))
    row = g.Reshape(pairs, shape, allowzero=1)
    return g.Concat(row, g.Expand(blank, shape_vector(g, g.dim(target, 0), 1)), axis=1)


def _moves(op: LayerView, g: FunctionBuilder, states: str, blank: str) -> tuple[str, str]:
    """Two flags for each of `states` [n, s]: it may follow itself, and it may follow the state two before it."""
    is_blank = g.Equal(states, blank)
    never = g.Expand(g.scalar(False, DType.BOOL), shape_vector(g, g.dim(states, 0), 2))
    was_blank = g.Concat(g.Not(never), axis_slice(g, is_blank, 0, -2, 1), axis=1)
    skips = g.Not(was_blank)
    if not op.flag("ctc_merge_repeated", True):
        return is_blank, skips
    same = g.Equal(axis_slice(g, states, 2, END, 1), axis_slice(g, states, 0, -2, 1))
    return g.Or(is_blank, g.Not(is_blank)), g.And(skips, g.Not(g.Concat(never, same, axis=1)))


def _log_sum(g: FunctionBuilder, terms: list[str]) -> str:
    """Elementwise log-sum-exp of `terms`; -inf where every term is -inf."""
    most = g.Max(*terms)
    base = g.Where(g.IsInf(most), g.scalar(0, _FLOAT), most)
    parts = [g.Exp(g.Sub(term, base)) for term in terms]
    return g.Add(base, g.Log(g.Sum(*parts)))
