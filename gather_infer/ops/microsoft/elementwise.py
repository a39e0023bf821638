"""Rules of elementwise operators of com.microsoft: activations, biases, dropouts, hashes and gates."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.signature import (
    FLOATS,
    HALF_OR_SINGLE,
    IEEE_FLOATS,
    MODEL_FLOATS,
    NUMBERS,
    Inferred,
    contrib,
)
from gather_infer.ops.onnx.movement import trilu
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.elementwise import same_shape
from gather_infer.ops.semantics.preconditions import (
    known_value,
    merge_shape,
    normalize_axis,
    refuse_empty,
    require_broadcast_to,
    require_divisible,
    require_min_rank,
    require_rank,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, ceildiv, floordiv, product
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("com.microsoft")


def with_bias(op: OpCall, x: Shape | None, bias: SymbolicTensor | None, name: str = "bias") -> Shape | None:
    """The shape of a tensor of shape `x` [..., C] plus `bias` [C]; `x` itself without a bias, None when `x` is None.

    name   name of the bias for messages

    Raises SpecViolation when `x` is a scalar, the bias does not have rank 1, or the two lengths can never be equal.
    """
    if bias is None:
        return x
    vector = require_rank(bias.shape, 1, name)
    shape = require_min_rank(x, 1, "the biased input")
    if shape is None or vector is None:
        return shape
    return (*shape[:-1], op.require_equal(shape[-1], vector[0], f"the last dim of the input and the length of {name}"))


@contrib(rules, "Gelu", "X:T -> Y:T", T=FLOATS)
@contrib(rules, "QuickGelu", "X:T -> Y:T", "alpha:float", T=FLOATS)
@contrib(rules, "ScaledSiLU", "X:T scale?:M -> Y:T", "alpha:float", T=MODEL_FLOATS, M=MODEL_FLOATS)
@contrib(
    rules, "SampleOp", "X:T -> Y:T",
    T=IEEE_FLOATS | {DType.UINT32, DType.UINT64, DType.INT32, DType.INT64},
)  # fmt: skip
def unchanged(op: OpCall) -> Inferred:
    """The result has the shape of X."""
    return [op.tensor(0).shape]


@contrib(rules, "FastGelu", "X:T bias?:T -> Y:T", T=FLOATS)
@contrib(rules, "BiasGelu", "A:T B:T -> C:T", T=FLOATS)
def biased(op: OpCall) -> Inferred:
    """Input [..., C], optional bias [C] -> [..., C]"""
    return [with_bias(op, op.tensor(0).shape, op.optional_tensor(1))]


@contrib(rules, "BiasAdd", "X:T bias:T skip:T -> Y:T", T=HALF_OR_SINGLE)
def bias_add(op: OpCall) -> Inferred:
    """X, skip [N, S, C], bias [C] -> [N, S, C]"""
    x = require_rank(op.tensor(0).shape, 3, "X")
    skip = require_rank(op.tensor(2).shape, 3, "skip")
    return [with_bias(op, same_shape(op, x, skip), op.tensor(1))]


@contrib(rules, "BiasSplitGelu", "X:T bias:T -> Y:T", T=HALF_OR_SINGLE)
def bias_split_gelu(op: OpCall) -> Inferred:
    """X [N, S, D], bias [D] -> [N, S, D/2]"""
    shape = with_bias(op, require_rank(op.tensor(0).shape, 3, "X"), op.tensor(1))
    if shape is None:
        return [None]
    require_divisible(op, shape[2], 2, "the last dim of X")
    return [(*shape[:2], floordiv(shape[2], 2, op.scope))]


@contrib(rules, "BiasSoftmax", "data:T bias:T -> output:T", "axis:int is_inner_broadcast:int!", T=IEEE_FLOATS)
def bias_softmax(op: OpCall) -> Inferred:
    """The result has the shape of data; the shape of bias is not checked."""
    shape = op.tensor(0).shape
    if shape is not None:
        normalize_axis(op.attr("axis", 1), len(shape))
    return [shape]


@contrib(rules, "GatedAdd", "X:T Y:T gate:T gate_weight?:T -> output:T", T=MODEL_FLOATS)
def gated_add(op: OpCall) -> Inferred:
    """X, Y [..., C], gate [..., 1], or [..., K] with a gate_weight [K, 1] -> [..., C]"""
    shape = same_shape(op, op.tensor(0).shape, op.tensor(1).shape)
    refuse_empty(op, *(shape or ())[-1:])
    gate = op.tensor(2).shape
    require_min_rank(shape, 1, "X")
    width: Dim | None = 1
    if op.has(3):
        weight = require_rank(op.tensor(3).shape, 2, "gate_weight")
        width = None if weight is None else weight[0]
    if shape is not None:
        lead = merge_shape(op, gate, (*shape[:-1], width), "gate")[:-1]
        shape = (*(d for d in lead if d is not None), shape[-1])
    return [shape]


@contrib(rules, "ComplexMul", "A:T B:T -> C:T", T=IEEE_FLOATS)
@contrib(rules, "ComplexMulConj", "A:T B:T -> C:T", T=IEEE_FLOATS)
def complex_mul(op: OpCall) -> Inferred:
    """A, B [..., 2] hold real and imaginary parts on the last axis; the other axes broadcast."""
    a, b = op.tensor(0).shape, op.tensor(1).shape
    for name, shape in (("A", a), ("B", b)):
        if require_min_rank(shape, 1, name):
            assert shape is not None
            op.require_equal(shape[-1], 2, f"the last dim of {name} and 2")
    found = broadcast(op, a, b)
    return [None if found is None else (*found[:-1], 2)]


@contrib(
    rules, "MulInteger", "A:T A_zero_point?:T B:T B_zero_point?:T -> C:int32", T=frozenset({DType.UINT8, DType.INT8})
)
def mul_integer(op: OpCall) -> Inferred:
    """(A - A_zero_point) * (B - B_zero_point) in int32; A and B broadcast."""
    return [broadcast(op, op.tensor(0).shape, op.tensor(2).shape)]


@contrib(
    rules, "BiasDropout", "data:T bias:T residual?:T ratio?:T1 training_mode?:bool -> output:T mask?:bool", "seed:int",
    deterministic=False, T=FLOATS, T1=FLOATS,
)  # fmt: skip
def bias_dropout(op: OpCall) -> Inferred:
    """dropout(data + bias) + residual; output and mask have the shape of data."""
    shape = _biased_residual(op)
    return [shape, shape]


@contrib(
    rules, "BitmaskBiasDropout", "data:T bias:T residual?:T ratio?:T1 training_mode?:bool -> output:T mask?:uint32",
    "seed:int", deterministic=False, T=FLOATS, T1=FLOATS,
)  # fmt: skip
def bitmask_bias_dropout(op: OpCall) -> Inferred:
    """As BiasDropout, with a packed mask: a vector of uint32 words, one bit per element of data."""
    shape = _biased_residual(op)
    return [shape, _packed_mask(op, shape)]


@contrib(
    rules, "BitmaskDropout", "data:T ratio?:T1 training_mode?:bool -> output:T mask?:uint32", "seed:int",
    deterministic=False, T=FLOATS, T1=FLOATS,
)  # fmt: skip
def bitmask_dropout(op: OpCall) -> Inferred:
    """As Dropout of ai.onnx, with a packed mask: a vector of uint32 words, one bit per element of data."""
    shape = op.tensor(0).shape
    return [shape, _packed_mask(op, shape)]


def _biased_residual(op: OpCall) -> Shape | None:
    shape = op.tensor(0).shape
    residual = op.optional_tensor(2)
    if residual is not None:
        shape = same_shape(op, shape, residual.shape)
    bias = op.tensor(1).shape
    if shape is not None and bias is not None:
        shape = require_broadcast_to(op, bias, shape, "bias")
    return shape


def _packed_mask(op: OpCall, shape: Shape | None) -> Shape:
    if shape is None:
        return (op.fresh("the shape of data is not known"),)
    try:
        return (ceildiv(product(shape), 32, op.scope),)
    except DimTooLarge:
        return (op.derived("words", *shape, reason="the number of elements is too long an expression"),)


@contrib(
    rules, "MurmurHash3", "X:T -> Y:U", "positive:int seed:int",
    T=frozenset(
        {DType.UINT32, DType.INT32, DType.UINT64, DType.INT64, DType.FLOAT32, DType.FLOAT64, DType.STRING}
    ),
    U=frozenset({DType.UINT32, DType.INT32}),
)  # fmt: skip
def murmur_hash(op: OpCall) -> Inferred:
    """One hash per element of X: uint32 when attribute `positive` is set, which is the default, else int32."""
    dtype = DType.UINT32 if op.attr("positive", 1) else DType.INT32
    return [SymbolicTensor(dtype, op.tensor(0).shape)]


@contrib(rules, "Trilu", "X:T k?:int64 -> Y:T", "upper:int", T=NUMBERS | {DType.BOOL})
def trilu_microsoft(op: OpCall) -> Inferred:
    """As Trilu of ai.onnx."""
    k = known_value(op.tensor(1)) if op.has(1) else 0
    return [trilu(op, op.tensor(0), k, is_upper=op.attr("upper", 1) != 0)]


@contrib(rules, "Inverse", "X:T -> Y:T", T=IEEE_FLOATS)
def inverse(op: OpCall) -> Inferred:
    """The inverse of each matrix: X [..., M, M] -> Y [..., M, M]"""
    shape = require_min_rank(op.tensor(0).shape, 2, "X")
    if shape is None:
        return [None]
    with op.unenforced():  # onnxruntime checks only the first matrix
        m = op.require_equal(shape[-2], shape[-1], "the last two dims of X")
    return [(*shape[:-2], m, m)]


@contrib(rules, "IsAllFinite", "input*:V -> output:bool", "isinf_only:int isnan_only:int", V=FLOATS)
def is_all_finite(op: OpCall) -> Inferred:
    """One scalar bool: whether all elements of all inputs are finite.

    Attribute isinf_only restricts the test to infinities, isnan_only to NaN. Raises SpecViolation when both are set.
    """
    if op.attr("isinf_only", 0) and op.attr("isnan_only", 0):
        raise SpecViolation("isinf_only and isnan_only must not both be set")
    return [()]


@contrib(
    rules, "LinearAttentionGate", "a:T dt_bias:TF decay_scale:TF b?:T -> decay:T beta?:T",
    T=MODEL_FLOATS, TF=frozenset({DType.FLOAT32}),
)  # fmt: skip
def linear_attention_gate(op: OpCall) -> Inferred:
    """a, b [B, T, H], dt_bias, decay_scale [H] -> decay, beta [B, T, H]"""
    shape = require_rank(op.tensor(0).shape, 3, "a")
    refuse_empty(op, *(shape or ())[-1:])
    if op.has(3):
        shape = same_shape(op, shape, require_rank(op.tensor(3).shape, 3, "b"))
    shape = with_bias(op, shape, op.tensor(1), "dt_bias")
    shape = with_bias(op, shape, op.tensor(2), "decay_scale")
    return [shape, shape]
