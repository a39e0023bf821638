"""Rules of multi-head attention of com.microsoft, with equally many heads for query, key and value.

Letters: B is the batch size, N the number of heads, S the query length, L the length of key and value, P the length of
the past, T the total length after the step, E the head size of query and key, Ev the head size of value; D = N*E is the
hidden size of query and key, Dv = N*Ev the hidden size of value.
"""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.matmul import size_attribute
from gather_infer.ops.microsoft.signature import HALF_OR_SINGLE, INT8_TYPES, MODEL_FLOATS, Inferred, contrib
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
from gather_infer.symbolic import Dim, floordiv, known_le
from gather_infer.tensor import Shape, SymbolicTensor, format_shape

rules = RuleSet("com.microsoft")

UNKNOWN = "the shape of an input is not known"


def shape_of(tensor: SymbolicTensor | None) -> Shape | None:
    """The shape of an optional input; None when the input is absent or its rank is unknown."""
    return None if tensor is None else tensor.shape


def dim_at(shape: Shape | None, axis: int) -> Dim | None:
    """The dim at `axis`; None for an unknown shape."""
    return None if shape is None else shape[axis]


def agree(op: OpCall, a: Dim | None, b: Dim | None, what: str) -> Dim | None:
    """The common value of `a` and `b`, dims that must be equal; None, as an argument or a result, is an unknown dim.

    what   describes both dims in the message

    Raises SpecViolation when `a` and `b` can never be equal.
    """
    if a is None or b is None:
        return b if a is None else a
    return op.require_equal(a, b, what)


def require_at_most(op: OpCall, dim: Dim | None, upper: Dim | None, what: str) -> None:
    """Require `dim <= upper`, unless either is None. Raises SpecViolation (GI212) when it never holds.

    what   describes `dim` in the message
    """
    if dim is None or upper is None:
        return
    match known_le(dim, upper, op.scope):
        case False:
            raise SpecViolation(f"{what} must be {upper} or less, is {dim}", "GI212")
        case None:
            op.add_constraint(dim, "<=", upper)


def per_head(op: OpCall, hidden: Dim | None, heads: int, what: str) -> Dim | None:
    """The head size, `hidden / heads`; None when `hidden` is None.

    what   describes `hidden` in the message

    Raises SpecViolation when `heads` can never divide `hidden`.
    """
    if hidden is None:
        return None
    require_divisible(op, hidden, heads, what)
    return floordiv(hidden, heads, op.scope)


def require_pair(op: OpCall, first: int, second: int, names: str) -> bool:
    """True when inputs `first` and `second` are both present, False when both are absent.

    names   the names of both inputs for the message

    Raises SpecViolation when only one of the two is present.
    """
    if op.has(first) != op.has(second):
        raise SpecViolation(f"{names} must be given together", "GI107")
    return op.has(first)


def _projection(op: OpCall, weights: Shape | None, bias: Shape | None) -> tuple[Dim | None, Dim | None]:
    """The hidden sizes D of query and key, and Dv of value; None where unknown.

    weights  [I, D + D + Dv], the merged projections
    bias     [D + D + Dv]

    Raises SpecViolation when a rank is wrong, or the lengths or attribute qkv_hidden_sizes can never agree.
    """
    require_rank(weights, 2, "weights")
    require_rank(bias, 1, "bias")
    merged = agree(op, dim_at(weights, 1), dim_at(bias, 0), "the columns of weights and the length of bias")
    sizes = op.attr("qkv_hidden_sizes", ())
    if not sizes:
        if merged is None:
            return None, None
        require_divisible(op, merged, 3, "the columns of weights")
        hidden = floordiv(merged, 3, op.scope)
        return hidden, hidden
    if len(sizes) != 3:
        raise SpecViolation(f"qkv_hidden_sizes must have 3 elements, has {len(sizes)}")
    if sizes[0] != sizes[1]:
        raise SpecViolation(f"qkv_hidden_sizes must start with two equal sizes, are {list(sizes)}")
    agree(op, merged, sum(sizes), "the columns of weights and the sum of qkv_hidden_sizes")
    return sizes[0], sizes[2]


def _merged_attention(op: OpCall, bias: int, past: int, mask: int) -> Inferred:
    """The outputs of attention with merged projections; `bias`, `past` and `mask` are positions of inputs.

    input    [B, S, I]
    weights  [I, D + D + Dv]
    past     [2, B, N, P, E]
    output   [B, S, Dv]
    present  [2, B, N, P + S, E]; the shape of past when past and present share a buffer

    Letters: see the docstring of the module; I is the input size.
    """
    heads = size_attribute(op, "num_heads")
    x, weights = require_rank(op.tensor(0).shape, 3, "input"), op.tensor(1).shape
    hidden, width = _projection(op, weights, shape_of(op.optional_tensor(bias)))
    b, s, i = x or (None, None, None)
    agree(op, i, dim_at(weights, 0), "the last dim of input and the rows of weights")
    e = per_head(op, hidden, heads, "the hidden size of query and key")
    per_head(op, width, heads, "the hidden size of value")
    state: PartialShape = (2, b, heads, None if op.has(past) else 0, e)
    if op.has(past):
        state = merge_shape(op, op.tensor(past).shape, state, "past")
        b = state[1]
    b, s, width, p, e = fill(op, (b, s, width, state[3], state[4]), UNKNOWN)
    shared = op.has(past) and op.attr("past_present_share_buffer", 0)
    refuse_empty(op, b, s, width, e, *(() if i is None else (i,)))
    _check_mask(op, shape_of(op.optional_tensor(mask)), b, s, None if shared else p + s)
    return [(b, s, width), (2, b, heads, p if shared else p + s, e)]


def _check_mask(op: OpCall, mask: Shape | None, b: Dim, s: Dim, total: Dim | None) -> None:
    """Check mask_index: [B, P + S] or [B, S, P + S]; or sequence ends, [B], [2*B] or [3*B + 2].

    mask, b, s   the shape of mask_index, B and S
    total        P + S; None when past and present share a buffer

    A mask of rank 4, or of rank 2 or 3 without `total`, is recorded as unchecked.
    """
    require_rank(mask, (1, 2, 3, 4), "mask_index")
    if mask is None:
        return
    if len(mask) == 1:
        message = f"mask_index must have {b}, {2 * b} or {3 * b + 2} elements, has {mask[0]}"
        lengths = (b, 2 * b, 3 * b + 2)
        op.require(*((mask[0], "==", length) for length in lengths), otherwise=message, code="GI212")
        op.add_unchecked("the ends of sequences are known only at run time: no element of mask_index is negative")
    elif len(mask) == 4 or total is None:
        op.add_unchecked(f"the sizes that mask_index of {format_shape(mask)} requires are not known")
    else:
        for dim, wanted in zip(mask, (b, total) if len(mask) == 2 else (b, s, total), strict=True):
            op.add_runtime_constraint((wanted, "==", dim))  # runtimes ignore a mask of one element


COMMON = "num_heads:int! scale:float mask_filter_value:float"
SELF = COMMON + " do_rotary:int past_present_share_buffer:int"


@contrib(
    rules, "Attention",
    "input:T weights:T bias?:T mask_index?:int32 past?:T attention_bias?:T past_sequence_length?:int32 "
    "-> output:T present?:T",
    SELF + " qkv_hidden_sizes:ints rotary_embedding_dim:int unidirectional:int", T=MODEL_FLOATS,
    unchecked_sizes=(5,), operands={6: "a length that the past holds"}
)  # fmt: skip
def attention_microsoft(op: OpCall) -> Inferred:
    """Attention with merged projections for query, key and value.

    input [B, S, I], past [2, B, N, P, E] -> output [B, S, Dv], present [2, B, N, P + S, E]

    B is the batch size, S the length of the input, N the number of heads, P the length of the past, E the head size of
    query and key, Dv the hidden size of value.
    """
    return _merged_attention(op, bias=2, past=4, mask=3)


@contrib(
    rules, "QAttention",
    "input:T1 weight:T2 bias:T3 input_scale:T3 weight_scale:T3 mask_index?:int32 input_zero_point?:T1 "
    "weight_zero_point?:T2 past?:T3 -> output:T3 present?:T3",
    SELF + " unidirectional:int", T1=INT8_TYPES, T2=INT8_TYPES, T3=HALF_OR_SINGLE, unchecked_sizes=(5, 6, 7)
)  # fmt: skip
def quantized_attention(op: OpCall) -> Inferred:
    """As Attention, with quantized input and weights."""
    return _merged_attention(op, bias=2, past=8, mask=5)


@contrib(
    rules, "DecoderMaskedSelfAttention",
    "input:T weights:T bias:T mask_index?:int32 past:T attention_bias?:T past_sequence_length:int32 "
    "beam_width?:int32 cache_indirection?:int32 -> output:T present:T", SELF, T=HALF_OR_SINGLE,
    unchecked_sizes=(3, 4, 5, 6, 8), operands={6: "a length that the past holds"}
)  # fmt: skip
def decoder_masked_self_attention(op: OpCall) -> Inferred:
    """As Attention, for one step: input [B, 1, I]"""
    x = require_rank(op.tensor(0).shape, 3, "input")
    if x is not None:
        op.require_equal(x[1], 1, "the length of input and 1")
    return _merged_attention(op, bias=2, past=4, mask=3)


@contrib(
    rules, "MultiHeadAttention",
    "query:T key?:T value?:T bias?:T key_padding_mask?:int32 attention_bias?:T past_key?:T past_value?:T "
    "past_sequence_length?:int32 cache_indirection?:int32 -> output:T present_key?:T present_value?:T qk?:*",
    COMMON + " unidirectional:int", T=MODEL_FLOATS, unchecked_sizes=(4, 5, 9),
    operands={8: "a length that the past holds"},
)  # fmt: skip
def multi_head_attention(op: OpCall) -> Inferred:
    """Attention on projected query, key and value.

    query           [B, S, D]; or [B, S, N, 3, E], which also holds key and value
    key             [B, L, D], or [B, N, L, E]; or [B, L, N, 2, E], which also holds value
    value           [B, L, Dv], or [B, N, L, Ev]
    bias            [D + D + Dv]
    past_key        [B, N, P, E]
    past_value      [B, N, P, Ev]
    output          [B, S, Dv]
    present_key     [B, N, P + L, E]; with past_sequence_length the shape of past_key, because the two share a buffer
    present_value   [B, N, P + L, Ev]; with past_sequence_length the shape of past_value
    qk              [B, N, S, P + L]

    B is the batch size, N the number of heads, S, L and P the lengths of query, key and past. E and Ev are the head
    sizes, D = N*E and Dv = N*Ev the hidden sizes.
    """
    return _heads(op, past=6, length=8, shared=op.has(8), bias=3, packed=False)


@contrib(
    rules, "DecoderMaskedMultiHeadAttention",
    "query:T key?:T value?:T mask_index?:int32 attention_bias?:T past_key?:T past_value?:T "
    "past_sequence_length?:int32 beam_width?:int32 cache_indirection?:int32 bias?:T "
    "-> output:T present_key?:T present_value?:T qk?:*",
    COMMON + " output_qk:int past_present_share_buffer:int", T=HALF_OR_SINGLE,
    unchecked_sizes=(3, 4, 5, 6, 7, 9), operands={7: "a length that the past holds"}
)  # fmt: skip
def decoder_masked_multi_head_attention(op: OpCall) -> Inferred:
    """As MultiHeadAttention, for one step: query [B, 1, D], or [B, 1, 3*D], which also holds key and value"""
    query = op.tensor(0).shape
    if query is not None and len(query) > 1:
        op.require_equal(query[1], 1, "the length of query and 1")
    shared = bool(op.attr("past_present_share_buffer", 0))
    return _heads(op, past=5, length=7, shared=shared, bias=10, packed=not op.has(1))


def _heads(op: OpCall, *, past: int, length: int, shared: bool, bias: int, packed: bool) -> Inferred:
    """The outputs of `multi_head_attention`, for an operator whose inputs have other positions.

    past, length, bias   positions of past_key, which past_value follows, of past_sequence_length and of bias
    shared               past and present share a buffer
    packed               the query is [B, S, 3*D] and also holds key and value
    """
    heads = size_attribute(op, "num_heads")
    has_past = require_pair(op, past, past + 1, "past_key and past_value")
    b, s, hidden = _query(op, heads, packed)
    e = per_head(op, hidden, heads, "the hidden size of query")
    b, new, e = _key(op, heads, (b, s, e))
    b, new, ev = _value(op, heads, (b, new, e))
    key_state: PartialShape = (b, heads, None if has_past else 0, e)
    value_state: PartialShape = (b, heads, None if has_past else 0, ev)
    if has_past:
        key_state = merge_shape(op, op.tensor(past).shape, key_state, "past_key")
        value_state = merge_shape(
            op, op.tensor(past + 1).shape, (key_state[0], *value_state[1:2], key_state[2], None), "past_value"
        )
        with op.unenforced():
            value_state = merge_shape(op, value_state, (None, None, None, ev), "past_value")
        key_state = (*key_state[:2], value_state[2], key_state[3])
    vector = require_rank(shape_of(op.optional_tensor(bias)), 1, "bias")
    if vector is not None and key_state[3] is not None and value_state[3] is not None:
        op.require_equal(vector[0], heads * (2 * key_state[3] + value_state[3]), "the length of bias and D + D + Dv")
    offset = known_value(op.optional_tensor(length)) if shared and has_past else key_state[2]
    total = None if new is None or offset is None else offset + new
    present = key_state[2] if shared and has_past else total
    b, s, p, t, e, ev = fill(op, (value_state[0], s, present, total, key_state[3], value_state[3]), UNKNOWN)
    refuse_empty(op, b, s, e, ev)
    if not (shared and has_past):
        p = t
    scores = SymbolicTensor(op.tensor(0).dtype, (b, heads, s, t))
    return [(b, s, heads * ev), (b, heads, p, e), (b, heads, p, ev), scores]


def _query(op: OpCall, heads: int, packed: bool) -> PartialShape:
    """(B, S, D) of the query; None for each unknown dim.

    packed   the query is [B, S, 3*D]
    """
    shape = op.tensor(0).shape
    if shape is None:
        return None, None, None
    if len(shape) == 5:
        if op.has(1):
            raise SpecViolation(f"query must have rank 3 when key is given, has rank 5: {format_shape(shape)}", "GI305")
        op.require_equal(shape[2], heads, "dim 2 of query and num_heads")
        op.require_equal(shape[3], 3, "dim 3 of query and 3")
        return shape[0], shape[1], shape[4] * heads
    require_rank(shape, (3, 5), "query")
    if packed:
        require_divisible(op, shape[2], 3, "the last dim of query")
        return shape[0], shape[1], floordiv(shape[2], 3, op.scope)
    return shape


def _key(op: OpCall, heads: int, known: PartialShape) -> PartialShape:
    """(B, L, E) of the key, where `known` is (B, S, E) of the query; `known` itself without a key."""
    b, s, e = known
    key = op.optional_tensor(1)
    if key is None:
        return b, s, e
    shape = key.shape
    if shape is None:
        return b, None, e
    require_rank(shape, (3, 4, 5), "key")
    b = agree(op, b, shape[0], "the batch of query and key")
    if len(shape) == 3:
        return (
            b,
            shape[1],
            agree(op, e, per_head(op, shape[2], heads, "the hidden size of key"), "the head sizes of query and key"),
        )
    at, length = (1, shape[2]) if len(shape) == 4 else (2, shape[1])
    op.require_equal(shape[at], heads, f"dim {at} of key and num_heads")
    if len(shape) == 5:
        op.require_equal(shape[3], 2, "dim 3 of key and 2")
        if op.has(2):
            raise SpecViolation("value must not be given with a key of rank 5, which holds it")
    return b, length, agree(op, e, shape[-1], "the head sizes of query and key")


def _value(op: OpCall, heads: int, known: PartialShape) -> PartialShape:
    """(B, L, Ev) of the value, where `known` is (B, L, E) of the key; `known` itself without a value."""
    b, length, e = known
    value = op.optional_tensor(2)
    if value is None:
        key = shape_of(op.optional_tensor(1))
        if key is not None and len(key) < 5:
            raise SpecViolation(f"value must be given with a key of rank {len(key)}", "GI107")
        return b, length, e
    shape = value.shape
    if shape is None:
        return b, length, None
    require_rank(shape, (3, 4), "value")
    b = agree(op, b, shape[0], "the batch of query and value")
    if len(shape) == 3:
        length = agree(op, length, shape[1], "the lengths of key and value")
        return b, length, per_head(op, shape[2], heads, "the hidden size of value")
    op.require_equal(shape[1], heads, "dim 1 of value and num_heads")
    if e is not None:
        op.add_runtime_constraint((shape[3], "==", e))
    return b, agree(op, length, shape[2], "the lengths of key and value"), shape[3]


@contrib(
    rules, "DecoderAttention",
    "query:T key:T q_weight:T kv_weight:T bias:T key_padding_mask?:bool key_cache?:T value_cache?:T static_kv:bool "
    "use_past:bool has_layer_state:bool has_key_padding_mask:bool "
    "-> output:T new_key_cache?:T new_value_cache?:T", "mask_filter_value:float num_heads:int!", T=HALF_OR_SINGLE,
)  # fmt: skip
def decoder_attention(op: OpCall) -> Inferred:
    """Attention of a decoder; boolean inputs select self or cross attention and the use of caches.

    query                          [S, B, D]
    key                            [L, B, D]
    key_cache, value_cache         [B, N, P, E]
    output                         [S, B, D]
    new_key_cache, new_value_cache [B, N, T, E]

    With caches T = P + S, or P if static_kv is true; without caches T = S, or L if static_kv is true. B is the batch
    size, N the number of heads, E the head size, D = N*E.
    """
    heads = size_attribute(op, "num_heads")
    query, key = require_rank(op.tensor(0).shape, 3, "query"), require_rank(op.tensor(1).shape, 3, "key")
    s, b, hidden = query or (None, None, None)
    length, b, hidden = merge_shape(op, key, (None, b, hidden), "key")
    state: PartialShape = (b, heads, None, per_head(op, hidden, heads, "the hidden size of query"))
    for index, name in ((6, "key_cache"), (7, "value_cache")):
        if op.has(index):
            state = merge_shape(op, op.tensor(index).shape, state, name)
    static, use_past, has_state = (_flag(op, index) for index in (8, 9, 10))
    t: Dim | None = None
    if use_past and has_state:
        t = None if static is None or state[2] is None else state[2] if static else None if s is None else state[2] + s
    elif False in (use_past, has_state):
        t = None if static is None else length if static else s
    b, heads_, t, e = fill(op, (state[0], state[1], t, state[3]), "the flags or the shape of an input are not known")
    output = None if query is None or hidden is None else (query[0], b, hidden)
    return [output, (b, heads_, t, e), (b, heads_, t, e)]


def _flag(op: OpCall, index: int) -> bool | None:
    element = op.tensor(index).only_element
    return element if isinstance(element, bool) else None


@contrib(
    rules, "LongformerAttention",
    "input:T weight:T bias:T mask:T global_weight:T global_bias:T global:int32 -> output:T",
    "num_heads:int! window:int!", T=HALF_OR_SINGLE,
)  # fmt: skip
def longformer_attention(op: OpCall) -> Inferred:
    """input [B, S, D], weights [D, 3*D], biases [3*D], mask and global [B, S] -> output [B, S, D]

    S is a multiple of 2*window.
    """
    x = require_rank(op.tensor(0).shape, 3, "input")
    if x is None:
        return [None]
    require_divisible(op, x[1], 2 * size_attribute(op, "window"), "the length of input")
    require_divisible(op, x[2], size_attribute(op, "num_heads"), "the hidden size of input")
    b, s, hidden = x
    for index, name in ((3, "mask"), (6, "global")):
        b, s = fill(op, merge_shape(op, op.tensor(index).shape, (b, s), name), UNKNOWN)
    for index, name in ((1, "weight"), (4, "global_weight")):
        merge_shape(op, op.tensor(index).shape, (hidden, 3 * hidden), name)
    return [(b, s, hidden)]


@contrib(
    rules, "QOrderedAttention",
    "input:int8 scale_input:float32 scale_Q_gemm:float32 scale_K_gemm:float32 scale_V_gemm:float32 Q_weight:int8 "
    "K_weight:int8 V_weight:int8 scale_Q_weight:float32 scale_K_weight:float32 scale_V_weight:float32 "
    "Q_bias:float32 K_bias:float32 V_bias:float32 scale_QKT_gemm?:float32 scale_QKT_softmax?:float32 "
    "scale_values_gemm:float32 mask_index?:int32 past?:int8 attention_bias?:float32 -> output:int8",
    "num_heads:int! order_input:int! order_output:int! order_weight:int! qkv_hidden_sizes:ints unidirectional:int",
)  # fmt: skip
def qordered_attention(op: OpCall) -> Inferred:
    """input [B, S, I], V_weight [I, Dv] -> [B, S, Dv]"""
    x = require_rank(op.tensor(0).shape, 3, "input")
    weight = require_rank(op.tensor(7).shape, 2, "V_weight")
    if x is None:
        return [None]
    return [(*x[:2], op.fresh("the shape of V_weight is not known") if weight is None else weight[1])]


@contrib(
    rules, "QOrderedLongformerAttention",
    "input:int8 scale_input:float32 weight:int8 scale_weight:float32 bias:float32 scale_bias:float32 "
    "scale_qkv_gemm:float32 mask:float16 global_weight:int8 scale_global_weight:float32 global_bias:float32 "
    "scale_global_gemm:float32 global:int32 scale_output:float32 -> output:int8",
    "num_heads:int! order_global_weight:int! order_input:int! order_output:int! order_weight:int! window:int!",
)  # fmt: skip
def qordered_longformer_attention(op: OpCall) -> Inferred:
    """The result has the shape of input, [B, S, D]."""
    return [require_rank(op.tensor(0).shape, 3, "input")]
