"""Rules of com.microsoft's attention operators with fewer key-value heads than query heads, or with packed sequences.

Letters: B is the batch size, Hq the number of query heads, Hk the number of key heads and of value heads, S the query
length, P the cache length before the step, T the total length after the step, E the head size, D a hidden size.
"""

from __future__ import annotations

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.attention import (
    UNKNOWN,
    agree,
    dim_at,
    per_head,
    require_at_most,
    require_pair,
    shape_of,
)
from gather_infer.ops.microsoft.matmul import size_attribute
from gather_infer.ops.microsoft.signature import HALF_OR_SINGLE, MODEL_FLOATS, Inferred, contrib
from gather_infer.ops.semantics.indices import address_no_axis, check_bounds, describe, known_numbers
from gather_infer.ops.semantics.preconditions import (
    PartialShape,
    fill,
    known_value,
    merge_shape,
    refuse_empty,
    require_divisible,
    require_rank,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, known_le, maximum
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("com.microsoft")

GROUPED = "do_rotary:int kv_num_heads:int! num_heads:int! rotary_interleaved:int scale:float"
QUANTIZED_CACHE = frozenset({DType.INT8, DType.UINT8, DType.FLOAT8E4M3FN})


def _heads(op: OpCall) -> tuple[int, int]:
    """The number of query heads Hq and of key-value heads Hk, from attributes num_heads and kv_num_heads.

    Raises SpecViolation when Hk does not divide Hq.
    """
    hq, hk = size_attribute(op, "num_heads"), size_attribute(op, "kv_num_heads")
    require_divisible(op, hq, hk, "num_heads")
    return hq, hk


def _grouped_query(op: OpCall, hq: int, hk: int, rank: int) -> tuple[PartialShape, Dim | None]:
    """The leading dims of the query, (B, S) for `rank` 3 or (tokens,) for `rank` 2, and the head size E.

    An unknown dim is None.

    hq, hk  numbers of query heads and of key-value heads
    query   [..., Hq*E], or without key and value [..., (Hq + 2*Hk)*E]
    key     [..., Hk*E]; the length may differ from the query length
    value   as key; its head size may be attribute v_head_size instead of E
    """
    query = require_rank(op.tensor(0).shape, rank, "query")
    lead: PartialShape = (None,) * (rank - 1) if query is None else query[:-1]
    hidden = None if query is None else query[-1]
    if not require_pair(op, 1, 2, "key and value"):
        return lead, per_head(op, hidden, hq + 2 * hk, "the last dim of the packed query")
    e = per_head(op, hidden, hq, "the last dim of query")
    first: Dim | None = lead[0]
    length: Dim | None = None
    for index, name in ((1, "key"), (2, "value")):
        shape = require_rank(op.tensor(index).shape, rank, name)
        if shape is None:
            continue
        first = agree(op, first, shape[0], f"dim 0 of query and {name}")
        if rank == 3:
            length = agree(op, length, shape[1], "the lengths of key and value")
        if index == 1 or not op.attr("v_head_size", 0):
            e = agree(
                op, e, per_head(op, shape[-1], hk, f"the last dim of {name}"), f"the head sizes of query and {name}"
            )
    return (first, *lead[1:]), e


@contrib(
    rules, "GroupQueryAttention",
    "query:T key?:T value?:T past_key?:C past_value?:C seqlens_k:int32 total_sequence_length:int32 cos_cache?:T "
    "sin_cache?:T position_ids?:int64 attention_bias?:T head_sink?:T k_scale?:float32 v_scale?:float32 "
    "q_norm_weight?:T k_norm_weight?:T query_seqlens?:int32 -> output:T present_key?:C present_value?:C output_qk?:T",
    GROUPED + " causal:int k_norm_epsilon:float k_quant_type:string kv_cache_bit_width:int local_window_size:int "
    "q_norm_epsilon:float qk_norm_epsilon:float qk_output:int sliding_window_cache:int smooth_softmax:int "
    "softcap:float v_quant_type:string",
    addresses={5: 3, 9: 7}, T=MODEL_FLOATS, C=MODEL_FLOATS | QUANTIZED_CACHE,
    unchecked_sizes=range(3, 17), operands={5: "lengths that the caches hold", 6: "the longest of them"}
)  # fmt: skip
def group_query_attention(op: OpCall) -> Inferred:
    """Grouped-query attention over a key-value cache.

    query                       [B, S, Hq*E], or without key and value [B, S, (Hq + 2*Hk)*E]
    key, value                  [B, L, Hk*E]
    past_key, past_value        [B, Hk, P, E]; the last dim is E/2 when a byte packs two numbers
    seqlens_k                   [B], position of the last key in present_key
    query_seqlens               [B], number of valid queries among S
    total_sequence_length       one element, T
    cos_cache, sin_cache        [positions, E/2 or less], positions >= T
    position_ids                [B, S], rows of cos_cache and sin_cache
    output                      [B, S, Hq*E]
    present_key, present_value  [B, Hk, max(P, T), E]; with sliding_window_cache, P in place of max(P, T)
    output_qk                   [B, Hq, S, T]

    B is the batch size, Hq the number of query heads, Hk the number of key-value heads, E the head size, S the query
    length, L the number of new keys and values, P the cache length before the step, T the total length after the step.
    """
    hq, hk = _heads(op)
    (b, s), e = _grouped_query(op, hq, hk, 3)
    has_past = require_pair(op, 3, 4, "past_key and past_value")
    past, cached = _past(op, hk, b, e)
    b = agree(op, b, past[0], "the batch of query and past_key")
    lens = shape_of(op.tensor(5))
    if lens is not None and len(lens) == 1:
        b = agree(op, b, lens[0], "the batch of query and the length of seqlens_k")
    total = known_value(op.tensor(6))
    _check_positions(op, 7, total)
    present = _present_length(op, total, past[2] if has_past else 0, has_past=has_past)
    b, s, e, t = fill(op, (b, s, e, total), UNKNOWN if total is not None else "total_sequence_length is not known")
    width = e if past[3] is None else past[3]
    dtype = cached if has_past else op.tensor(0).dtype
    state = SymbolicTensor(dtype, (b, hk, t if present is None else present, width))
    if op.attr("sliding_window_cache", 0):
        address_no_axis(op, 5)  # positions count from the first key, which may have left the cache
    else:
        _address(op, 5, present if present is not None else t, describe(state, "present_key"), axis=2)
    cache = op.optional_tensor(7)
    if cache is None or not op.attr("do_rotary", 0):
        address_no_axis(op, 9)
    elif cache.shape is not None:
        _address(op, 9, cache.shape[0], describe(cache, "cos_cache"), axis=0)
    return [(b, s, hq * e), state, state, (b, hq, s, t)]


def _address(op: OpCall, position: int, size: Dim, data: str, *, axis: int) -> None:
    if op.has(position):
        check_bounds(
            op, op.tensor(position), known_numbers(op, position), size, Indexing(from_end=False),
            axis=axis, data=data, position=position,
        )  # fmt: skip


def _past(op: OpCall, hk: int, b: Dim | None, e: Dim | None) -> tuple[PartialShape, DType | None]:
    """The shape [B, Hk, P, width] shared by past_key and past_value, and their element type.

    An unknown dim or element type is None.
    """
    past: PartialShape = (b, hk, None, None)
    dtype = None
    for index, name in ((3, "past_key"), (4, "past_value")):
        cache = op.optional_tensor(index)
        if cache is not None:
            past = merge_shape(op, require_rank(cache.shape, 4, name), past, name)
            dtype = cache.dtype or dtype
    if dtype in MODEL_FLOATS:
        agree(op, e, past[3], "the head sizes of query and past_key")
    return past, dtype


def _present_length(op: OpCall, total: Dim | None, past: Dim | None, *, has_past: bool) -> Dim | None:
    """The length of present_key: max(P, T), or P with sliding_window_cache; None without past caches, where it is T.

    total   T, the total sequence length; None when unknown
    past    P, the length of past_key; None when unknown
    """
    if not has_past:
        return None
    if op.attr("sliding_window_cache", 0):
        return op.fresh(UNKNOWN) if past is None else past
    if total is None or past is None:
        length = op.fresh("total_sequence_length is not known" if total is None else UNKNOWN)
        for least in (total, past):
            if least is not None:
                op.add_implied_fact(length - least)
        return length
    if known_le(total, past, op.scope) is True:
        return past
    return maximum(past, total, scope=op.scope)


def _check_positions(op: OpCall, first: int, total: Dim | None) -> None:
    """Require that cos_cache, input `first`, and sin_cache, the input after it, have at least `total` rows.

    Raises SpecViolation when only one of the two is given, or a table does not have rank 2 or has too few rows.
    """
    if not require_pair(op, first, first + 1, "cos_cache and sin_cache"):
        return
    for index, name in ((first, "cos_cache"), (first + 1, "sin_cache")):
        table = require_rank(op.tensor(index).shape, 2, name)
        if table is not None:
            require_at_most(op, total, table[0], f"total_sequence_length, for the rows of {name},")


@contrib(
    rules, "SparseAttention",
    "query:T key?:T value?:T past_key:T past_value:T block_row_indices:int32 block_col_indices:int32 "
    "total_sequence_length:int32 key_total_sequence_lengths:int32 cos_cache?:T sin_cache?:T "
    "-> output:T present_key:T present_value:T", GROUPED + " sparse_block_size:int!", T=MODEL_FLOATS,
    unchecked_sizes=range(3, 9), operands=dict.fromkeys((5, 6, 7, 8), "block layouts and lengths that fit")
)  # fmt: skip
def sparse_attention(op: OpCall) -> Inferred:
    """As GroupQueryAttention, with a block-sparse mask; present_key and present_value have the shape of past_key."""
    hq, hk = _heads(op)
    (b, s), e = _grouped_query(op, hq, hk, 3)
    if op.attr("sparse_block_size") not in (16, 32, 64, 128):
        raise SpecViolation(f"sparse_block_size = {op.attr('sparse_block_size')} is not one of 16, 32, 64, 128")
    past, _ = _past(op, hk, b, e)
    lens = require_rank(op.tensor(8).shape, 1, "key_total_sequence_lengths")
    b = agree(op, past[0], dim_at(lens, 0), "the batch and the length of key_total_sequence_lengths")
    _check_positions(op, 9, known_value(op.tensor(7)))
    e = agree(op, e, past[3], "the head sizes of query and past_key")
    b, s, p, e = fill(op, (b, s, past[2], e), UNKNOWN)
    return [(b, s, hq * e), (b, hk, p, e), (b, hk, p, e)]


@contrib(
    rules, "PagedAttention",
    "query:T key?:T value?:T key_cache:C value_cache?:C cumulative_sequence_length:int32 past_seqlens:int32 "
    "block_table:int32 cos_cache?:T sin_cache?:T slot_mapping?:int32 head_sink?:T q_norm_weight?:T k_norm_weight?:T "
    "k_scale?:float32 v_scale?:float32 attention_metadata?:int32 -> output:T key_cache_out?:C value_cache_out?:C",
    GROUPED + " is_causal:int k_cache_dtype:string k_quant_type:string kv_cache_layout:string local_window_size:int "
    "qk_norm_epsilon:float rotary_offset:int softcap:float v_cache_dtype:string v_head_size:int v_quant_type:string",
    T=frozenset({DType.FLOAT16, DType.BFLOAT16}),
    C=frozenset({DType.FLOAT16, DType.BFLOAT16}) | QUANTIZED_CACHE,
)  # fmt: skip
def paged_attention(op: OpCall) -> Inferred:
    """Attention over a paged cache, with Hq query heads, Hk key-value heads and head size E.

    query   [tokens, Hq*E], or without key and value [tokens, (Hq + 2*Hk)*E]
    caches  [blocks, block size, Hk, E], updated in place
    output  [tokens, Hq*E]; if kv_cache_layout is LATENT, [tokens, Hq*v_head_size]: the key cache also holds the values
    """
    hq, hk = _heads(op)
    latent = op.attr("kv_cache_layout", "SEPARATE") == "LATENT"
    if latent:
        query = require_rank(op.tensor(0).shape, 2, "query")
        tokens, e = (None, None) if query is None else (query[0], per_head(op, query[1], hq, "the last dim of query"))
        e = op.attr("v_head_size", 0) or e
    else:
        (tokens,), e = _grouped_query(op, hq, hk, 2)
    tokens, e = fill(op, (tokens, e), UNKNOWN)
    return [(tokens, hq * e), require_rank(op.tensor(3).shape, 4, "key_cache"), shape_of(op.optional_tensor(4))]


PACKED = "num_heads:int! scale:float"


@contrib(
    rules, "PackedAttention",
    "input:T weights:T bias:T token_offset:int32 cumulative_sequence_length:int32 attention_bias?:T -> output:T",
    PACKED + " qkv_hidden_sizes:ints", T=HALF_OR_SINGLE,
)  # fmt: skip
def packed_attention(op: OpCall) -> Inferred:
    """input [tokens, I], weights [I, D + D + Dv] -> output [tokens, Dv]

    D is the hidden size of query and of key, Dv the hidden size of value.
    """
    x, weights = require_rank(op.tensor(0).shape, 2, "input"), require_rank(op.tensor(1).shape, 2, "weights")
    bias = require_rank(op.tensor(2).shape, 1, "bias")
    _check_packing(op, 3)
    columns = agree(op, dim_at(weights, 1), dim_at(bias, 0), "the columns of weights and the length of bias")
    sizes = op.attr("qkv_hidden_sizes", ())
    if sizes and len(sizes) != 3:
        raise SpecViolation(f"qkv_hidden_sizes must have 3 elements, has {len(sizes)}")
    width = sizes[2] if sizes else per_head(op, columns, 3, "the columns of weights")
    if x is None:
        return [None]
    agree(op, x[1], dim_at(weights, 0), "the last dim of input and the rows of weights")
    return [fill(op, (x[0], width), UNKNOWN)]


@contrib(
    rules, "PackedMultiHeadAttention",
    "query:T key?:T value?:T bias?:T token_offset:int32 cumulative_sequence_length:int32 attention_bias?:T -> output:T",
    PACKED + " mask_filter_value:float", T=HALF_OR_SINGLE,
)  # fmt: skip
def packed_multi_head_attention(op: OpCall) -> Inferred:
    """query [tokens, D], key [tokens, D], value [tokens, Dv] -> output [tokens, Dv]

    Without key and value: query [tokens, N, 3, E], which holds all three, for N heads -> output [tokens, N*E].
    """
    heads = size_attribute(op, "num_heads")
    query = op.tensor(0).shape
    _check_packing(op, 4)
    if require_pair(op, 1, 2, "key and value"):
        query = require_rank(query, 2, "query")
        value = require_rank(op.tensor(2).shape, 2, "value")
        tokens = agree(op, dim_at(query, 0), dim_at(value, 0), "the tokens of query and value")
        return [fill(op, (tokens, dim_at(value, 1)), UNKNOWN)]
    query = require_rank(query, 4, "query without key")
    if query is None:
        return [fill(op, (None, None), UNKNOWN)]
    op.require_equal(query[1], heads, "dim 1 of query and num_heads")
    op.require_equal(query[2], 3, "dim 2 of query and 3")
    return [(query[0], heads * query[3])]


def _check_packing(op: OpCall, first: int) -> None:
    """Check token_offset [B, S], input `first`, and cumulative_sequence_length [B + 1], the input after it.

    Raises SpecViolation when a rank is wrong or the two lengths can never agree.
    """
    offsets = require_rank(op.tensor(first).shape, 2, "token_offset")
    ends: Shape | None = require_rank(op.tensor(first + 1).shape, 1, "cumulative_sequence_length")
    if offsets is not None and ends is not None:
        op.require_equal(ends[0], offsets[0] + 1, "the length of cumulative_sequence_length and the batch + 1")


@contrib(
    rules, "LinearAttention", "query:T key:T value:T past_state?:S decay?:T beta?:T -> output:T present_state:S",
    "chunk_size:int kv_num_heads:int! q_num_heads:int! scale:float state_window:int update_rule:string",
    T=MODEL_FLOATS, S=MODEL_FLOATS,
)  # fmt: skip
def linear_attention_microsoft(op: OpCall) -> Inferred:
    """Linear attention with a recurrent state: a matrix [E, Ev] for each key-value head.

    query   [B, S, Hq*E]
    key     [B, S, Hk*E]
    value   [B, S, Hk*Ev]
    states  past_state and present_state, [B, Hk, E, Ev]; a positive state_window adds a leading axis of that length
    output  [B, S, max(Hq, Hk)*Ev]

    Hq is the number of query heads, Hk the number of key-value heads.
    """
    hq, hk = size_attribute(op, "q_num_heads"), size_attribute(op, "kv_num_heads")
    require_divisible(op, max(hq, hk), min(hq, hk), "the larger number of heads")
    known: PartialShape = (None, None)
    sizes: list[Dim | None] = []
    for index, (name, heads) in enumerate((("query", hq), ("key", hk), ("value", hk))):
        shape = require_rank(op.tensor(index).shape, 3, name)
        known = merge_shape(op, shape and shape[:2], known, name)
        refuse_empty(op, *(shape or ())[2:])
        sizes.append(per_head(op, dim_at(shape, 2), heads, f"the last dim of {name}"))
    e = agree(op, sizes[0], sizes[1], "the head sizes of query and key")
    window = op.attr("state_window", 0)
    state: PartialShape = (*((window,) if window else ()), known[0], hk, e, sizes[2])
    past = op.optional_tensor(3)
    full = fill(op, merge_shape(op, shape_of(past), state, "past_state"), UNKNOWN)
    b, s = fill(op, (full[-4], known[1]), UNKNOWN)
    dtype = (op.tensor(0) if past is None else past).dtype
    return [(b, s, max(hq, hk) * full[-1]), SymbolicTensor(dtype, full)]
