"""Rules of normalizations of com.microsoft, and of two that ONNX Runtime adds to the default domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.elementwise import with_bias
from gather_infer.ops.microsoft.signature import FLOATS, HALF_OR_SINGLE, MODEL_FLOATS, Inferred, contrib
from gather_infer.ops.semantics.elementwise import same_shape
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.preconditions import (
    normalize_axis,
    refuse_empty,
    require_broadcast_to,
    require_divisible,
    require_min_rank,
    require_rank,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import floordiv, known_eq
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("com.microsoft")
default_rules = RuleSet("")
"""Rules for operators that ONNX Runtime adds to ai.onnx; the onnx package lacks them, or has them from opset 17 on."""

STASH = "axis:int epsilon:float stash_type:int"


def _statistics(op: OpCall, shape: Shape | None) -> SymbolicTensor:
    """The type of the means or the inverse standard deviations of the normalized rows of X, whose shape is `shape`.

    Shape [d0, ..., daxis-1, 1, ..., 1], element type from attribute stash_type.
    """
    stash = op.attr("stash_type", 1)
    dtype = DType(stash) if stash in DType.__members__.values() else None
    if shape is None:
        return SymbolicTensor(dtype)
    axis = normalize_axis(op.attr("axis", -1), len(shape))
    return SymbolicTensor(dtype, shape[:axis] + (1,) * (len(shape) - axis))


def _normalized(op: OpCall, *vectors: str) -> Shape | None:
    """The shape of X, to which the inputs named `vectors` must broadcast; None when X is unranked.

    vectors   names of inputs 1, 2, ..., in order

    Raises SpecViolation when X is a scalar, attribute `axis` is out of range, or a vector can never broadcast to X.
    """
    shape = op.tensor(0).shape
    if shape is None:
        return None
    require_min_rank(shape, 1, "X")
    refuse_empty(op, *shape[normalize_axis(op.attr("axis", -1), len(shape)) :])
    for index, name in enumerate(vectors, 1):
        if op.has(index):
            shape = require_broadcast_to(op, op.tensor(index).shape, shape, name)
    return shape


@contrib(default_rules, "LayerNormalization", "X:T Scale:V B?:V -> Y:V Mean?:* InvStdDev?:*", STASH, T=FLOATS, V=FLOATS)
def layer_normalization_1(op: OpCall) -> Inferred:
    """LayerNormalization of ai.onnx 17, which models of older opsets also use; Y has the element type of Scale."""
    shape = _normalized(op, "Scale", "B")
    statistics = _statistics(op, shape)
    return [shape, statistics, statistics]


@contrib(default_rules, "SimplifiedLayerNormalization", "X:T scale:V -> Y:V inv_std_var?:*", STASH, T=FLOATS, V=FLOATS)
@contrib(rules, "SimplifiedLayerNormalization", "X:T scale:V -> Y:V inv_std_var?:*", STASH, T=FLOATS, V=FLOATS)
def simplified_layer_normalization(op: OpCall) -> Inferred:
    """RMS normalization: X [..., H], scale [H] -> shape of X, element type of scale"""
    shape = _normalized(op, "scale")
    return [shape, _statistics(op, shape)]


@contrib(
    rules, "SkipLayerNormalization",
    "input:T skip:T gamma:T beta?:T bias?:T -> output:T mean?:float32 inv_std_var?:float32 input_skip_bias_sum?:T",
    "epsilon:float", T=MODEL_FLOATS,
)  # fmt: skip
def skip_layer_normalization(op: OpCall) -> Inferred:
    """Layer normalization of input + skip + bias.

    input                        [B, S, H], or [tokens, H]
    skip                         shape of input, [1, S, H] or [S, H]
    gamma, beta, bias            [H]
    output, input_skip_bias_sum  shape of input
    mean, inv_std_var            [B, S, 1], or [tokens, 1]
    """
    return _skipped(op, ("gamma", "beta", "bias"))


@contrib(
    rules, "SkipSimplifiedLayerNormalization",
    "input:T skip:T gamma:T bias?:T -> output:T mean?:float32 inv_std_var?:float32 input_skip_bias_sum?:T",
    "epsilon:float", T=MODEL_FLOATS,
)  # fmt: skip
def skip_simplified_layer_normalization(op: OpCall) -> Inferred:
    """As SkipLayerNormalization, with RMS normalization and without beta."""
    return _skipped(op, ("gamma", "bias"))


def _skipped(op: OpCall, vectors: tuple[str, ...]) -> Inferred:
    shape = op.tensor(0).shape
    require_rank(shape, (2, 3), "input")
    skip = op.tensor(1).shape
    refuse_empty(op, *(shape or ())[-1:])
    if shape is not None and skip is not None:
        shape = _with_skip(op, shape, skip)
    for index, name in enumerate(vectors, 2):
        shape = with_bias(op, shape, op.optional_tensor(index), name)
    statistics = None if shape is None else (*shape[:-1], 1)
    return [shape, statistics, statistics, shape]


def _with_skip(op: OpCall, shape: Shape, skip: Shape) -> Shape:
    """`shape`, the shape of input, with the static dims of `skip` in place of symbolic ones.

    skip   [B, S, H], [1, S, H] or [S, H] for an input [B, S, H]; [tokens, H] for an input [tokens, H]

    Raises SpecViolation when the ranks do not fit or two dims can never be equal.
    """
    require_rank(skip, tuple(sorted({2, len(shape)})), "skip")
    if len(skip) < len(shape):
        return (shape[0], *_same(op, shape[1:], skip))
    if (
        len(shape) == 3
        and known_eq(skip[0], shape[0], op.scope) is not True
        and known_eq(skip[0], 1, op.scope) is not False
    ):
        op.add_runtime_constraint((skip[0], "==", 1), (skip[0], "==", shape[0]))
        return (shape[0], *_same(op, shape[1:], skip[1:]))  # a batch of 1 broadcasts
    return _same(op, shape, skip)


def _same(op: OpCall, shape: Shape, skip: Shape) -> Shape:
    return tuple(
        op.require_equal(dim, other, f"dims {axis - len(shape)} of input and skip")
        for axis, (dim, other) in enumerate(zip(shape, skip, strict=True))
    )


NORMALIZED_GROUPS = "activation:int! channels_last:int epsilon:float groups:int!"


@contrib(rules, "GroupNorm", "X:T gamma:M beta:M -> Y:T", NORMALIZED_GROUPS, T=HALF_OR_SINGLE, M=HALF_OR_SINGLE)
def group_norm(op: OpCall) -> Inferred:
    """X [N, H, W, C], or [N, C, H, W] with channels_last = 0; gamma, beta [C], C a multiple of groups -> shape of X"""
    return [_grouped(op)]


@contrib(
    rules, "SkipGroupNorm", "X:T gamma:M beta:M skip:T bias?:T -> Y:T S?:T", NORMALIZED_GROUPS,
    T=HALF_OR_SINGLE, M=HALF_OR_SINGLE,
)  # fmt: skip
def skip_group_norm(op: OpCall) -> Inferred:
    """GroupNorm of X + skip + bias, and the sum itself.

    skip  shape of X, [N, 1, 1, C] or [N, C]
    bias  [C]
    """
    shape = _grouped(op, "bias")
    skip = op.tensor(3).shape
    if shape is not None and skip is not None:
        require_rank(skip, (2, 4), "skip")
        wide = (skip[0], 1, 1, skip[1]) if len(skip) == 2 else skip
        if op.attr("channels_last", 1):
            shape = require_broadcast_to(op, wide, shape, "skip")
    return [shape, shape]


def _grouped(op: OpCall, bias: str = "") -> Shape | None:
    groups = op.attr("groups")
    if groups < 1:
        raise SpecViolation(f"groups must be 1 or more, is {groups}")
    shape = require_rank(op.tensor(0).shape, 4, "X")
    if shape is None:
        return None
    axis = 3 if op.attr("channels_last", 1) else 1
    moved: Shape | None = (*shape[:axis], *shape[axis + 1 :], shape[axis])
    moved = with_bias(op, with_bias(op, moved, op.tensor(1), "gamma"), op.tensor(2), "beta")
    if bias:
        moved = with_bias(op, moved, op.optional_tensor(4), bias)
    assert moved is not None, "X has a shape"
    require_divisible(op, moved[-1], groups, "the channels of X")
    return (*moved[:axis], moved[-1], *moved[axis:-1])


@contrib(rules, "GatedRMSNorm", "X:T scale:T gate:T -> Y:T", "activation:string epsilon:float", T=MODEL_FLOATS)
def gated_rms_norm(op: OpCall) -> Inferred:
    """X and gate [..., a multiple of C], scale [C] -> shape of X"""
    shape = same_shape(op, op.tensor(0).shape, op.tensor(2).shape)
    scale = require_rank(op.tensor(1).shape, 1, "scale")
    require_min_rank(shape, 1, "X")
    if shape and scale is not None and scale[0] != 0:
        message = f"the last dim of X must be a multiple of {scale[0]}, is {shape[-1]}"
        times = floordiv(shape[-1], scale[0], op.scope)
        op.require((shape[-1], "==", times * scale[0]), otherwise=message, code="GI212")
    return [shape]


@contrib(
    rules, "BranchwiseRMSNorm", "X:T scale?:M -> Y:T", "epsilon:float num_branches:int",
    T=MODEL_FLOATS, M=MODEL_FLOATS, unchecked_sizes=(0, 1)
)  # fmt: skip
def branchwise_rms_norm(op: OpCall) -> Inferred:
    """X [..., C, H], or [..., C * H] with num_branches = C -> shape of X"""
    return [op.tensor(0).shape]


EMBEDDED = (
    "input_ids:int32 segment_ids?:int32 word_embedding:T position_embedding:T segment_embedding?:T gamma:T beta:T"
)


EMBEDDINGS: Final = {0: 2, 1: 4}
"""Positions of inputs with ids, each with the position of the embedding table whose rows the ids index."""


@contrib(
    rules, "EmbedLayerNormalization",
    EMBEDDED + " mask?:int32 position_ids?:int32 -> output:T mask_index?:int32 embedding_sum?:T",
    "epsilon:float mask_index_type:int", addresses={**EMBEDDINGS, 8: 3}, T=HALF_OR_SINGLE, unchecked_sizes=(7, 8)
)  # fmt: skip
def embed_layer_normalization(op: OpCall) -> Inferred:
    """The normalized sum of word, position and segment embeddings.

    input_ids, segment_ids, mask                          [B, S]
    position_ids                                          [B, S], or [1, S]
    word_embedding, position_embedding, segment_embedding [rows, H], each with its own number of rows
    gamma, beta                                           [H]
    output, embedding_sum                                 [B, S, H]
    mask_index                                            [B]

    Every id is the index of a row of its embedding, counted from 0.
    """
    _look_up(op, {**EMBEDDINGS, 8: 3})
    shape = _embedded(op, (2, 3, 4), (5, 6))
    return [shape, None if shape is None else shape[:1], shape]


@contrib(
    rules, "QEmbedLayerNormalization",
    "input_ids:int32 segment_ids?:int32 word_embedding_quant:Q position_embedding_quant:Q segment_embedding?:Q "
    "gamma_quant:Q beta_quant:Q mask?:int32 word_embedding_scale:float32 position_embedding_scale:float32 "
    "segment_embedding_scale?:float32 gamma_scale:float32 beta_scale:float32 word_embedding_zero_point:Q "
    "position_embedding_zero_point:Q segment_embedding_zero_point?:Q gamma_zero_point:Q beta_zero_point:Q "
    "-> layernorm_out:float32 mask_index_out:int32",
    "epsilon:float", addresses=EMBEDDINGS, Q=frozenset({DType.INT8, DType.UINT8}),
)  # fmt: skip
def quantized_embed_layer_normalization(op: OpCall) -> Inferred:
    """As EmbedLayerNormalization, with quantized embeddings."""
    _look_up(op, EMBEDDINGS)
    shape = _embedded(op, (2, 3, 4), (5, 6))
    return [shape, None if shape is None else shape[:1]]


def _look_up(op: OpCall, tables: Mapping[int, int]) -> None:
    """Check that ids are in bounds.

    tables   maps the position of an input with ids to the position of the embedding table whose rows the ids index
    """
    for ids, position in tables.items():
        table = op.optional_tensor(position)
        if not op.has(ids) or table is None or not table.shape:
            continue
        check_bounds(
            op, op.tensor(ids), known_numbers(op, ids), table.shape[0], Indexing(from_end=False),
            axis=0, data=describe(table, "embedding"), position=ids,
        )  # fmt: skip


def _embedded(op: OpCall, tables: tuple[int, ...], vectors: tuple[int, ...]) -> Shape | None:
    ids = require_rank(op.tensor(0).shape, 2, "input_ids")
    for index, name in ((1, "segment_ids"), (7, "mask")):
        if op.has(index):
            ids = same_shape(op, ids, require_rank(op.tensor(index).shape, 2, name))
    width = None
    for index in tables + vectors:
        found = op.optional_tensor(index)
        if found is None or found.shape is None:
            continue
        rank = 2 if index in tables else 1
        shape = require_rank(found.shape, rank, f"input {index}, {'an embedding' if rank == 2 else 'gamma or beta'},")
        assert shape is not None, "it is known"
        width = shape[-1] if width is None else op.require_equal(width, shape[-1], "the widths of embeddings and gamma")
    if ids is None and width is None:
        return None
    if ids is None:
        ids = (op.fresh("input_ids has no known shape"), op.fresh("input_ids has no known shape"))
    return (*ids, op.fresh("no embedding has a known width") if width is None else width)
