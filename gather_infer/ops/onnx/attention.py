"""Rules of Attention, LinearAttention, RotaryEmbedding, and TensorScatter, which updates key-value caches.

Letters: B the batch; S the length of the query, T of key and value, P of the past; Hq the number of heads of the query,
Hk of key and value; E the head size of query and key, Ev of the value.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Final

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.preconditions import (
    PartialShape,
    fill,
    merge_shape,
    normalize_axis,
    refuse_empty,
    refuse_other_ranks,
    require_broadcast_to,
    require_divisible,
    require_rank,
    require_same_dtype,
    require_shape,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, floordiv
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("")

ANY_PLACE: Final = 2**63
"""An axis length above every index: in circular mode of TensorScatter any index >= 0 is valid."""


def split_heads(op: OpCall, shape: Shape | None, heads: str, name: str) -> PartialShape:
    """The dims [B, heads, length, head size] of an attention input `name`; None for an unknown dim.

    shape   4-D with these dims, or 3-D [B, length, heads * head size]; if None, only the number of heads may be known
    heads   the attribute that holds the number of heads of a 3-D input

    Raises SpecViolation when the rank is neither 3 nor 4, or when the attribute of a 3-D input is missing or does not
    divide the last dim.
    """
    if shape is None:
        return None, op.attr(heads), None, None
    if len(shape) == 4:
        return shape
    require_rank(shape, (3, 4), name)
    count = op.attr(heads, 0)
    if count < 1:
        raise SpecViolation(f"attribute {heads} must be given and 1 or more with a {name} of rank 3, is {count}")
    require_divisible(op, shape[2], count, f"the last dim of {name}")
    return shape[0], count, shape[1], floordiv(shape[2], count, op.scope)


@rules.rule("Attention", since=23, operands={6: "lengths from 0 to that of the keys"})
def attention(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Attention.html (version 24 adds nonpad_kv_seqlen, 25 adds window sizes)

    Q              [B, Hq, S, E], or [B, S, Hq*E] with q_num_heads
    K              [B, Hk, T, E], or [B, T, Hk*E] with kv_num_heads
    V              [B, Hk, T, Ev], or [B, T, Hk*Ev]
    attn_mask      broadcasts to [B, Hq, S, P + T]; from version 24 on the last dim may be shorter
    past_key       [B, Hk, P, E]
    past_value     [B, Hk, P, Ev]
    Y              [B, Hq, S, Ev], or [B, S, Hq*Ev]
    present_key    [B, Hk, P + T, E]
    present_value  [B, Hk, P + T, Ev]
    qk             [B, Hq, S, P + T]

    B is the batch, S the length of Q, T the length of K and V, P the length of the past. Hq is the number of heads of
    Q, Hk of K and V. E is the head size of Q and K, Ev of V.
    """
    q, k, v, mask = op.tensor(0), op.tensor(1), op.tensor(2), op.optional_tensor(3)
    past_key, past_value, lengths = op.optional_tensor(4), op.optional_tensor(5), op.optional_tensor(6)
    for name in ("left_window_size", "right_window_size"):
        if op.attr(name, -1) < -1:
            raise SpecViolation(f"{name} must be -1 or more, is {op.attr(name)}")
    if (past_key is None) != (past_value is None):
        raise SpecViolation("past_key and past_value must be given together")
    if past_key is not None and lengths is not None:
        raise SpecViolation("nonpad_kv_seqlen must not be given together with past_key and past_value")
    if op.version >= 25:
        _check_caches(op, lengths is not None)
    key_type = require_same_dtype("Q, K and past_key", q, k, past_key)
    value_type = require_same_dtype("V and past_value", v, past_value)
    ranks = {len(t.shape) for t in (q, k, v) if t.shape is not None}
    if len(ranks) > 1:
        raise SpecViolation(f"Q, K and V must have the same rank, have ranks {sorted(ranks)}", "GI305")
    if op.version >= 25 and 4 in ranks and (op.attr("q_num_heads", 0) or op.attr("kv_num_heads", 0)):
        raise SpecViolation("q_num_heads and kv_num_heads must not be given with Q, K and V of rank 4")
    with op.unenforced() if op.version >= 25 else nullcontext():  # the function body of version 25 broadcasts
        b, hq, s, e = split_heads(op, q.shape, "q_num_heads", "Q")
        b, hk, t, e = merge_shape(op, split_heads(op, k.shape, "kv_num_heads", "K"), (b, None, None, e), "K")
        b, hk, t, ev = merge_shape(op, split_heads(op, v.shape, "kv_num_heads", "V"), (b, hk, t, None), "V")
        p: Dim | None = 0
        if past_key is not None and past_value is not None:
            b, hk, p, e = merge_shape(op, past_key.shape, (b, hk, None, e), "past_key")
            b, hk, p, ev = merge_shape(op, past_value.shape, (b, hk, p, ev), "past_value")
        if hk is not None and hq is not None and hk != 0:
            _require_multiple(op, hq, hk)
        if lengths is not None:
            (b,) = merge_shape(op, lengths.shape, (b,), "nonpad_kv_seqlen")
    refuse_empty(op, *(dim for dim in (b, hq, hk, s, t, e, ev) if dim is not None))
    total = None if t is None or p is None else p + t
    complete = None not in (b, hq, s, total)
    b, hq, hk, s, total, e, ev = fill(op, (b, hq, hk, s, total, e, ev), "the shape of an input is not known")
    scores = (b, hq, s, total)
    if complete and mask is not None and mask.shape is not None:
        with op.unenforced() if op.version >= 25 else nullcontext():
            _check_mask(op, mask.shape, scores)
    y: Shape | None = None
    if ranks:
        y = (b, s, hq * ev) if 3 in ranks else (b, hq, s, ev)
    facts = [
        SymbolicTensor(key_type, y),
        SymbolicTensor(key_type, (b, hk, total, e)),
        SymbolicTensor(value_type, (b, hk, total, ev)),
        SymbolicTensor(key_type, scores),
    ]
    return facts[: len(op.outputs)]


def _require_multiple(op: OpCall, heads: Dim, of: Dim) -> None:
    if isinstance(of, int):
        require_divisible(op, heads, of, "the heads of Q")
    elif heads is not of:
        message = f"the heads of Q must be a multiple of those of K, are {heads} and {of}"
        op.require((heads, "==", floordiv(heads, of, op.scope) * of), otherwise=message, code="GI212")


def _check_caches(op: OpCall, has_lengths: bool) -> None:
    """Raise SpecViolation when exactly one of the outputs present_key and present_value is used.

    Also raise it when the two are used although input nonpad_kv_seqlen is given (`has_lengths`).
    """
    present = [*op.outputs, False, False, False][1:3]
    if present[0] != present[1]:
        raise SpecViolation("present_key and present_value must be outputs together")
    if has_lengths and any(present):
        raise SpecViolation("nonpad_kv_seqlen must not be given together with present_key and present_value")


def _check_mask(op: OpCall, mask: Shape, scores: Shape) -> None:
    if op.version >= 24:
        # The last dim may be shorter than P + T, so it does not broadcast.
        require_broadcast_to(op, mask[:-1], scores[:-1], "attn_mask without its last axis")
    else:
        require_broadcast_to(op, mask, scores, "attn_mask")
    refuse_other_ranks(op, mask, (2, 3, 4), "attn_mask")
    for dim, wanted in zip(reversed(mask[-2:]), reversed(scores), strict=False):
        op.add_runtime_constraint((dim, "==", wanted))


@rules.rule("LinearAttention", since=27)
def linear_attention(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__LinearAttention.html

    query          [B, S, Hq*E]
    key            [B, S, Hk*E]
    value          [B, S, Hk*Ev]
    past_state     [B, Hk, E, Ev]
    decay          [B, S, Hk*E] or [B, S, Hk]
    beta           [B, S, Hk] or [B, S, 1]
    output         [B, S, Hq*Ev]
    present_state  [B, Hk, E, Ev]

    B is the batch, S the length. Hq is the number of heads of query, Hk of key and value. E is the head size of query
    and key, Ev of value.

    Raises SpecViolation when decay or beta is absent although update_rule needs it, or given although update_rule is
    linear.
    """
    names = ("query", "key", "value", "decay", "beta")
    q, k, v, past = op.tensor(0), op.tensor(1), op.tensor(2), op.optional_tensor(3)
    decay, beta = op.optional_tensor(4), op.optional_tensor(5)
    dtype = require_same_dtype(", ".join(names), q, k, v, decay, beta)
    for name, tensor in zip(names, (q, k, v, decay, beta), strict=True):
        require_rank(None if tensor is None else tensor.shape, 3, name)
    _check_update_rule(op.attr("update_rule", "gated_delta"), decay is not None, beta is not None)
    with op.unenforced():  # onnxruntime runs the function body, which broadcasts
        b, hq, s, e = split_heads(op, q.shape, "q_num_heads", "query")
        require_divisible(op, op.attr("q_num_heads"), op.attr("kv_num_heads"), "q_num_heads")
        b, hk, s, e = merge_shape(op, split_heads(op, k.shape, "kv_num_heads", "key"), (b, None, s, e), "key")
        b, hk, s, ev = merge_shape(op, split_heads(op, v.shape, "kv_num_heads", "value"), (b, hk, s, None), "value")
        if past is not None:
            b, hk, e, ev = merge_shape(op, past.shape, (b, hk, e, ev), "past_state")
    b, hq, hk, s, e, ev = fill(op, (b, hq, hk, s, e, ev), "the shape of an input is not known")
    refuse_empty(op, b, hq, hk, s, e, ev)
    for name, tensor, lengths in (("decay", decay, (hk * e, hk)), ("beta", beta, (hk, 1))):
        if tensor is None or tensor.shape is None:
            continue
        with op.unenforced():
            op.require_equal(tensor.shape[0], b, f"the batch dims of query and {name}")
            op.require_equal(tensor.shape[1], s, f"the lengths of query and {name}")
            last = tensor.shape[2]
            op.require(
                *((last, "==", length) for length in lengths),
                otherwise=f"the last dim of {name} must be {lengths[0]} or {lengths[1]}, is {last}",
                code="GI212",
            )
    return [
        SymbolicTensor(dtype, (b, s, hq * ev)),
        SymbolicTensor(dtype if past is None else past.dtype, (b, hk, e, ev)),
    ]


_UPDATE_RULES = {
    # update_rule: (needs decay, needs beta)
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}


def _check_update_rule(rule: str, has_decay: bool, has_beta: bool) -> None:
    if rule not in _UPDATE_RULES:
        raise SpecViolation(f"update_rule = {rule!r} is not one of {', '.join(_UPDATE_RULES)}")
    for name, needed, given in zip(("decay", "beta"), _UPDATE_RULES[rule], (has_decay, has_beta), strict=True):
        if needed and not given:
            raise SpecViolation(f"update_rule = {rule!r} needs {name}", "GI107")
        if given and rule == "linear":
            raise SpecViolation(f"update_rule = {rule!r} takes no {name}", "GI107")


@rules.rule("RotaryEmbedding", since=23, addresses={3: 1})
def rotary_embedding(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html

    X                     [B, H, S, E], or [B, S, H*E] with num_heads
    cos_cache, sin_cache  [positions, R/2] with position_ids, else [B, S, R/2]; R is rotary_embedding_dim, by default E
    position_ids          [B, S], from 0 to positions - 1
    result                shape of X
    """
    x, cos, sin, positions = op.tensor(0), op.tensor(1), op.tensor(2), op.optional_tensor(3)
    dtype = require_same_dtype("X, cos_cache and sin_cache", x, cos, sin)
    if x.shape is None:
        return [SymbolicTensor(dtype)]
    b, _, s, e = fill(op, split_heads(op, x.shape, "num_heads", "X"), "the shape of X is not known")
    rotated: Dim = op.attr("rotary_embedding_dim", 0) or e
    op.require((rotated, "<=", e), otherwise=f"rotary_embedding_dim must be the head size {e} or less, is {rotated}")
    with op.unenforced():
        require_divisible(op, rotated, 2, "the head size, or rotary_embedding_dim,")
    half = floordiv(rotated, 2, op.scope)
    for name, cache in (("cos_cache", cos), ("sin_cache", sin)):
        shape = require_rank(cache.shape, 3 if positions is None else 2, name)
        if shape is None:
            continue
        if positions is None:
            require_shape(op, shape, (b, s, half), name)
        else:
            op.require_equal(shape[1], half, f"{name}.shape[1] and half the rotated dims")
    if positions is not None:
        if cos.shape is not None and sin.shape is not None:
            op.require_equal(cos.shape[0], sin.shape[0], "the positions of cos_cache and sin_cache")
            refuse_empty(op, *cos.shape)
        if positions.dtype not in (None, DType.INT64):
            raise SpecViolation(f"position_ids must be int64, is {positions.dtype}", "GI211")
        require_shape(op, positions.shape, (b, s), "position_ids")
        if cos.shape is not None:
            check_bounds(op, positions, known_numbers(op, 3), cos.shape[0], Indexing(from_end=False),
                         axis=0, data=describe(cos, "cos_cache"), position=3)  # fmt: skip
    return [SymbolicTensor(dtype, x.shape)]


@rules.rule("TensorScatter", since=24, addresses={2: 0})
def tensor_scatter(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__TensorScatter.html

    past_cache     [B, ..., L, ...], L at axis, which is not 0
    update         [B, ..., S, ...], S at axis, S <= L in mode linear; the other dims as in past_cache
    write_indices  [B], from 0 to L - S in mode linear
    result         shape of past_cache
    """
    cache, update, positions = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = require_same_dtype("past_cache and update", cache, update)
    mode = op.attr("mode", "linear")
    if mode not in ("linear", "circular"):
        raise SpecViolation(f"mode = {mode!r} is not one of linear, circular")
    shape = cache.shape
    if shape is None:
        return [SymbolicTensor(dtype)]
    axis = normalize_axis(op.attr("axis", -2), len(shape))
    if axis == 0:
        raise SpecViolation("axis must not be 0, the batch", "GI304")
    if update.shape is not None:
        require_rank(update.shape, len(shape), "update, as past_cache,")
        length, most = update.shape[axis], shape[axis]
        if mode == "linear":
            message = f"update must have length {most} or less at axis {axis}, has {length}"
            op.require((length, "<=", most), otherwise=message, code="GI212")
        else:
            op.add_runtime_constraint((length, "<=", most))
        found = require_shape(op, update.shape, (*shape[:axis], length, *shape[axis + 1 :]), "update")
        shape = (*found[:axis], most, *found[axis + 1 :])
    if positions is not None:
        (b,) = require_shape(op, positions.shape, shape[:1], "write_indices")
        shape = (b, *shape[1:])
        if update.shape is not None:
            places = shape[axis] - update.shape[axis] + 1 if mode == "linear" else ANY_PLACE
            check_bounds(op, positions, known_numbers(op, 2), places, Indexing(from_end=False),
                         axis=axis, data=describe(cache, "past_cache"), position=2)  # fmt: skip
    return [SymbolicTensor(dtype, shape)]
