"""Rules of com.microsoft for rotary embeddings, position biases and packing of sequences.

Letters: B is the batch size, N the number of heads, S the sequence length, E the head size.
"""

from __future__ import annotations

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.attention import agree, dim_at, require_at_most, shape_of
from gather_infer.ops.microsoft.matmul import size_attribute
from gather_infer.ops.microsoft.signature import HALF_OR_SINGLE, MODEL_FLOATS, Inferred, contrib
from gather_infer.ops.onnx.attention import split_heads
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.operands import element_dim
from gather_infer.ops.semantics.preconditions import (
    fill,
    known_value,
    merge_shape,
    require_divisible,
    require_rank,
    require_shape,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, product
from gather_infer.tensor import DType, Shape

rules = RuleSet("com.microsoft")

ROTARY = "interleaved:int is_packed_batching:int num_heads:int rotary_embedding_dim:int scale:float"
TABLES = "input:T position_ids:int64 cos_cache:T sin_cache:T -> output:T"


@contrib(rules, "RotaryEmbedding", TABLES, ROTARY, addresses={1: 2}, T=MODEL_FLOATS)
def rotary_embedding_microsoft(op: OpCall) -> Inferred:
    """The result has the shape of input.

    input                 [B, S, N*E], or [B, N, S, E], for N heads of size E
    position_ids          [B, S], or [1] with the first position only; every position is the index of a row of cos_cache
    cos_cache, sin_cache  [P, E/2], or [P, rotary_embedding_dim/2]; P >= S unless is_packed_batching is set
    """
    x = _rotated(op)
    positions = op.tensor(1).shape
    if positions is not None and len(positions) not in (0, 1, 2):
        raise SpecViolation(f"position_ids must have a rank of 0 to 2, has rank {len(positions)}")
    if x is None or positions is None or len(positions) < 2:
        if x is not None and positions == (1,):
            _address(op, x[-2])
        return [x]
    _address(op, 1)
    at = len(x) - 2
    b, s = require_shape(op, positions, (x[0], x[at]), "position_ids")
    return [(b, *x[1:at], s, *x[at + 1 :])]


@contrib(
    rules, "MRotaryEmbedding", TABLES, ROTARY + " mrope_layout:int mrope_section:ints!", addresses={1: 2},
    T=MODEL_FLOATS,
)  # fmt: skip
def multimodal_rotary_embedding(op: OpCall) -> Inferred:
    """As RotaryEmbedding, with three positions for each of the B*S elements: position_ids [3, B, S]"""
    x = _rotated(op)
    if len(op.attr("mrope_section")) != 3:
        raise SpecViolation(f"mrope_section must have 3 elements, has {len(op.attr('mrope_section'))}")
    width = dim_at(op.tensor(2).shape, 1)
    if width is not None:
        op.add_runtime_constraint((width, "==", sum(op.attr("mrope_section"))))
    positions = require_rank(op.tensor(1).shape, 3, "position_ids")
    _address(op, 1)
    if x is None or positions is None:
        return [x]
    at = len(x) - 2
    _, b, s = require_shape(op, positions, (3, x[0], x[at]), "position_ids")
    return [(b, *x[1:at], s, *x[at + 1 :])]


def _rotated(op: OpCall) -> Shape | None:
    x = op.tensor(0).shape
    require_rank(x, (3, 4), "input")
    width: Dim | None = None
    rows: Dim | None = None
    for index, name in ((2, "cos_cache"), (3, "sin_cache")):
        table = require_rank(op.tensor(index).shape, 2, name)
        width = agree(op, width, dim_at(table, 1), "the widths of cos_cache and sin_cache")
        rows = agree(op, rows, dim_at(table, 0), "the rows of cos_cache and sin_cache")
    if x is None:
        return None
    if not op.attr("is_packed_batching", 0):
        require_at_most(op, x[-2], rows, "the length of input, for the rows of cos_cache,")
    partial, heads = op.attr("rotary_embedding_dim", 0), op.attr("num_heads", 0)
    if partial and len(x) == 3 and not heads:
        raise SpecViolation("num_heads must be given with rotary_embedding_dim", "GI106")
    if partial:
        op.add_runtime_constraint((partial * (heads if len(x) == 3 else 1), "<=", x[-1]))
    rotated: Dim | None = partial or None
    if not partial and (len(x) == 4 or heads):
        rotated = split_heads(op, x, "num_heads", "input")[3]
    if rotated is not None and width is not None:
        op.require_equal(width * 2, rotated, "twice the width of cos_cache and the rotated size")
    return x


def _address(op: OpCall, length: Dim) -> None:
    """Check that cos_cache has a row for each position and for the `length - 1` positions after it."""
    cache = op.tensor(2)
    if cache.shape is not None:
        check_bounds(
            op, op.tensor(1), known_numbers(op, 1), cache.shape[0] - length + 1, Indexing(from_end=False),
            axis=0, data=describe(cache, "cos_cache"),
        )  # fmt: skip


@contrib(
    rules, "GemmaRotaryEmbedding", "emb:U q:T q_rot:T k:T k_rot:T -> output1:T output2:T",
    U=frozenset({DType.FLOAT32}), T=frozenset({DType.FLOAT16}),
)  # fmt: skip
def gemma_rotary_embedding(op: OpCall) -> Inferred:
    """emb [B, S, E], q and q_rot [B, N, S, E], k and k_rot [B, Nk, S, E] -> shapes of q and of k"""
    emb = require_rank(op.tensor(0).shape, 3, "emb")
    found: list[Shape | None] = []
    for first, name in ((1, "q"), (3, "k")):
        shape = require_rank(op.tensor(first).shape, 4, name)
        turned = require_rank(op.tensor(first + 1).shape, 4, f"{name}_rot")
        if shape is not None and turned is not None:
            shape = require_shape(op, turned, shape, f"{name}_rot")
        if shape is not None and emb is not None:
            b, s, e = require_shape(op, emb, (shape[0], *shape[2:]), "emb")
            shape = (b, shape[1], s, e)
        found.append(shape)
    return found


@contrib(
    rules, "RelativePositionBias", "bias_table:T query_length:int64 key_length:int64 -> output:T",
    "is_bidirectional:int max_distance:int!", T=HALF_OR_SINGLE,
)  # fmt: skip
def relative_position_bias(op: OpCall) -> Inferred:
    """bias_table [buckets, N], scalars query_length and key_length -> [1, N, query_length, key_length]"""
    table = require_rank(op.tensor(0).shape, 2, "bias_table")
    heads: Dim = op.fresh("the shape of bias_table is not known") if table is None else table[1]
    q, k = (element_dim(op, known_value(op.tensor(i)), name) for i, name in ((1, "query_length"), (2, "key_length")))
    return [(1, heads, q, k)]


@contrib(
    rules, "GatedRelativePositionBias",
    "query_layer:T query_bias:T rel_pos:T weight:T bias:T eco_a:T token_offset?:int32 -> output:T", "num_heads:int!",
    T=HALF_OR_SINGLE,
)  # fmt: skip
def gated_relative_position_bias(op: OpCall) -> Inferred:
    """query_layer [B, S, N*E], or [tokens, N*E] with token_offset [B, S]; rel_pos [1, N, S, S] -> [B, N, S, S]"""
    heads = size_attribute(op, "num_heads")
    offsets = require_rank(shape_of(op.optional_tensor(6)), 2, "token_offset")
    query = op.tensor(0).shape
    if op.has(6):
        require_rank(query, 2, "query_layer with token_offset")
        lead = offsets
    else:
        lead = require_rank(query, 3, "query_layer")
    if query is not None:
        require_divisible(op, query[-1], heads, "the last dim of query_layer")
    b, s = (None, None) if lead is None else lead[:2]
    _, _, s, s2 = merge_shape(op, op.tensor(2).shape, (1, heads, s, s), "rel_pos")
    s = agree(op, s, s2, "the last two dims of rel_pos")
    b, s = fill(op, (b, s), "the shape of query_layer is not known")
    return [(b, heads, s, s)]


@contrib(
    rules, "RemovePadding",
    "input:T sequence_token_count:int32 -> output:T token_offset:int32 cumulated_seq_len:int32 max_seq_len:int32",
    T=HALF_OR_SINGLE,
)  # fmt: skip
def remove_padding(op: OpCall) -> Inferred:
    """Drop the padding of B sequences of length S.

    input                 [B, S, D]
    sequence_token_count  [B]
    output                [tokens, D], tokens <= B*S
    token_offset          [B, S]
    cumulated_seq_len     [B + 1]
    max_seq_len           [1]
    """
    x = require_rank(op.tensor(0).shape, 3, "input")
    counts = require_rank(op.tensor(1).shape, 1, "sequence_token_count")
    b = agree(op, dim_at(x, 0), dim_at(counts, 0), "the batch of input and the length of sequence_token_count")
    b, s, width = fill(op, (b, dim_at(x, 1), dim_at(x, 2)), "the shape of input is not known")
    tokens = op.fresh("the number of tokens that are no padding depends on the data")
    op.add_implied_fact(product((b, s)) - tokens)
    return [(tokens, width), (b, s), (b + 1,), (1,)]


@contrib(rules, "RestorePadding", "input:T token_offset:int32 -> output:T", T=HALF_OR_SINGLE)
def restore_padding(op: OpCall) -> Inferred:
    """input [tokens, D], token_offset [B, S] -> output [B, S, D]"""
    x, offsets = require_rank(op.tensor(0).shape, 2, "input"), require_rank(op.tensor(1).shape, 2, "token_offset")
    return [fill(op, (dim_at(offsets, 0), dim_at(offsets, 1), dim_at(x, 1)), "the shape of an input is not known")]
