"""Rules of matrix products of com.microsoft: fused, with quantized weights, and mixtures of experts."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.elementwise import with_bias
from gather_infer.ops.microsoft.signature import (
    FLOATS,
    HALF_OR_SINGLE,
    IEEE_FLOATS,
    INT8_TYPES,
    MODEL_FLOATS,
    Inferred,
    contrib,
)
from gather_infer.ops.onnx.matmul import gemm_shape, matmul_shape
from gather_infer.ops.semantics.elementwise import same_shape
from gather_infer.ops.semantics.operands import element_dim, elements_of
from gather_infer.ops.semantics.preconditions import require_broadcast_to, require_min_rank, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, Shape, SparseTensor, SymbolicTensor

rules = RuleSet("com.microsoft")

TRANSPOSED = "alpha:float transA:int transB:int"
BATCHES = TRANSPOSED + " transBatchA:int transBatchB:int"
ACTIVATION = (
    "activation:string! activation_alpha:float activation_axis:int activation_beta:float activation_gamma:float"
)


def transposed_operand(shape: Shape | None, *, transposed: bool, batch_transposed: bool) -> Shape | None:
    """The shape of an operand of FusedMatMul after transposition; None when `shape` is None.

    [M, B1, ..., Bn, K] -> [B1, ..., Bn, M, K]    batch_transposed: the first axis becomes the second to last
    [..., M, K] -> [..., K, M]                    transposed, after batch_transposed
    [K] -> [K]                                    a vector or scalar is unchanged
    """
    if shape is None or len(shape) < 2:
        return shape
    if batch_transposed:
        shape = (*shape[1:-1], shape[0], shape[-1])
    return (*shape[:-2], shape[-1], shape[-2]) if transposed else shape


@contrib(rules, "FusedMatMul", "A:T B:T -> Y:T", BATCHES, T=FLOATS)
@contrib(rules, "FusedMatMulActivation", "A:T B:T -> Y:T", f"{BATCHES} {ACTIVATION}", T=FLOATS)
@contrib(rules, "TransposeMatMul", "A:T B:T -> Y:T", TRANSPOSED, T=FLOATS)
def fused_matmul(op: OpCall) -> Inferred:
    """The shape of numpy.matmul(A', B').

    A' and B' are A and B transposed as attributes transA, transB, transBatchA and transBatchB demand.
    """
    a, b = (
        transposed_operand(
            op.tensor(index).shape,
            transposed=bool(op.attr(f"trans{name}", 0)),
            batch_transposed=bool(op.attr(f"transBatch{name}", 0)),
        )
        for index, name in enumerate("AB")
    )
    return [matmul_shape(op, a, b)]


@contrib(rules, "SparseToDenseMatMul", "A:* B:* -> Y:*", TRANSPOSED)
def sparse_to_dense_matmul(op: OpCall) -> Inferred:
    """A' @ B' for a sparse A and a dense B, each transposed when transA or transB is set; the result is dense."""
    sparse, b = op.value(0), op.tensor(1)
    if not isinstance(sparse, (SparseTensor, SymbolicTensor)):
        raise SpecViolation(f"A must be a sparse tensor, is {sparse}", "GI211")
    left = transposed_operand(sparse.shape, transposed=bool(op.attr("transA", 0)), batch_transposed=False)
    right = transposed_operand(b.shape, transposed=bool(op.attr("transB", 0)), batch_transposed=False)
    return [SymbolicTensor(b.dtype, matmul_shape(op, left, right))]


GEMM_FLOATS = IEEE_FLOATS | {DType.INT32, DType.INT64, DType.UINT32, DType.UINT64}
FLOAT8 = frozenset({DType.FLOAT8E4M3FN, DType.FLOAT8E5M2})


@contrib(
    rules, "FusedGemm", "A:T B:T C?:T -> Y:T",
    f"{TRANSPOSED} beta:float activation:string activation_alpha:float activation_beta:float activation_gamma:float",
    T=GEMM_FLOATS,
)  # fmt: skip
def fused_gemm(op: OpCall) -> Inferred:
    """Gemm of ai.onnx with an activation: A [M, K], B [K, N], C that broadcasts to [M, N] -> Y [M, N]"""
    return [_gemm(op, op.tensor(0).shape, op.tensor(1).shape, op.optional_tensor(2))]


@contrib(
    rules, "GemmFloat8", "A:TA B:TB C?:TC scaleA?:float32 scaleB?:float32 scaleY?:float32 -> Y:*",
    f"{TRANSPOSED} beta:float activation:string dtype:int",
    TA=FLOAT8 | MODEL_FLOATS, TB=FLOAT8 | MODEL_FLOATS, TC=MODEL_FLOATS,
)  # fmt: skip
def gemm_float8(op: OpCall) -> Inferred:
    """As Gemm; attribute `dtype` is the TensorProto.DataType number of the element type of Y, float32 by default."""
    number = op.attr("dtype", DType.FLOAT32)
    if number not in DType.__members__.values():
        raise SpecViolation(f"dtype = {number} is no element type", "GI211")
    return [SymbolicTensor(DType(number), _gemm(op, op.tensor(0).shape, op.tensor(1).shape, op.optional_tensor(2)))]


@contrib(
    rules, "QGemm",
    "A:TA a_scale:float32 a_zero_point:TA B:TB b_scale:float32 b_zero_point:TB C?:int32 y_scale?:float32 "
    "y_zero_point?:TY -> Y:*",
    "alpha:float transA:int transB:int", TA=INT8_TYPES, TB=INT8_TYPES, TY=INT8_TYPES,
)  # fmt: skip
def quantized_gemm(op: OpCall) -> Inferred:
    """Gemm of quantized matrices; Y has the element type of y_zero_point, or float32 without y_zero_point."""
    zero_point = op.optional_tensor(8)
    dtype = DType.FLOAT32 if zero_point is None else zero_point.dtype
    return [SymbolicTensor(dtype, _gemm(op, op.tensor(0).shape, op.tensor(3).shape, op.optional_tensor(6)))]


def _gemm(op: OpCall, a: Shape | None, b: Shape | None, c: SymbolicTensor | None) -> Shape:
    m, n = gemm_shape(op, a, b)
    shape = tuple(op.fresh("the shape of A or B is not known") if dim is None else dim for dim in (m, n))
    return shape if c is None or m is None or n is None else require_broadcast_to(op, c.shape, shape, "C")


@contrib(rules, "GemmFastGelu", "X:T W:T bias?:T -> Y:T", T=MODEL_FLOATS)
def gemm_fast_gelu(op: OpCall) -> Inferred:
    """FastGelu(X @ W + bias)"""
    return [with_bias(op, matmul_shape(op, op.tensor(0).shape, op.tensor(1).shape), op.optional_tensor(2))]


def projected(op: OpCall, a: Shape | None, k: Dim, n: Dim, what: str = "K") -> Shape | None:
    """The shape [..., N] of a tensor of shape `a` [..., K] times a matrix [K, N]; None when `a` is None.

    what   name of `k` for messages

    Raises SpecViolation when `a` is a scalar or its last dim can never be `k`.
    """
    require_min_rank(a, 1, "A")
    if a is None:
        return None
    op.require_equal(a[-1], k, f"the last dim of A and {what}")
    return (*a[:-1], n)


def size_attribute(op: OpCall, name: str) -> int:
    """The value of the required integer attribute `name`, a size.

    Raises SpecViolation when the value is below 1.
    """
    size: int = op.attr(name)
    if size < 1:
        raise SpecViolation(f"{name} must be 1 or more, is {size}")
    return size


def _block_size(op: OpCall, lower: int = 16) -> int:
    block = size_attribute(op, "block_size")
    if block < lower or block & (block - 1):
        raise SpecViolation(f"block_size must be a power of 2 and >= {lower}, is {block}")
    return block


@contrib(
    rules, "MatMulNBits", "A:T1 B:uint8 scales:T1 zero_points?:T3 g_idx?:int32 bias?:T1 -> Y:T1",
    "K:int! N:int! accuracy_level:int bits:int block_size:int! weight_prepacked:int",
    T1=MODEL_FLOATS, T3=MODEL_FLOATS | {DType.UINT8}, unchecked_sizes=(1, 2, 3, 4)
)  # fmt: skip
def matmul_n_bits(op: OpCall) -> Inferred:
    """Product of A and a weight matrix with elements of 2 to 8 bits, quantized in blocks.

    A       [..., K]
    B       [N, ceil(K / block_size), block_size * bits / 8]
    scales  [N, ceil(K / block_size)], or flattened
    bias    [N]
    Y       [..., N]
    """
    k, n, block = size_attribute(op, "K"), size_attribute(op, "N"), _block_size(op)
    bits = op.attr("bits", 4)
    if not 2 <= bits <= 8:
        raise SpecViolation(f"bits = {bits} is outside [2, 8]")
    _check_blocks(op, op.tensor(1).shape, n, -(-k // block), block * bits // 8)
    return [with_bias(op, projected(op, op.tensor(0).shape, k, n), op.optional_tensor(5))]


def _check_blocks(op: OpCall, b: Shape | None, n: int, blocks: int, blob: int) -> None:
    """Check that packed weights of shape `b` and rank 3 are [n, blocks, blob].

    Weights of another rank are not checked: the operator has accepted flat weights since its first release.
    """
    if b is None or len(b) != 3 or op.attr("weight_prepacked", 0):
        return
    for axis, (dim, wanted) in enumerate(zip(b, (n, blocks, blob), strict=True)):
        op.require_equal(dim, wanted, f"dim {axis} of B and that implied by N, K, bits and block_size")


@contrib(
    rules, "MatMulBnb4", "A:T1 B:uint8 absmax:T1 -> Y:T1",
    "K:int! N:int! block_size:int! quant_type:int! training_mode:int transB:int", T1=MODEL_FLOATS,
    unchecked_sizes=(1, 2),
)  # fmt: skip
def matmul_bnb4(op: OpCall) -> Inferred:
    """A [..., K] times the transpose of quantized weights [N, K] -> Y [..., N]

    With transB = 0: A [..., N] times quantized weights [N, K] -> Y [..., K].
    """
    k, n, _ = size_attribute(op, "K"), size_attribute(op, "N"), _block_size(op)
    if op.attr("quant_type") not in (0, 1):
        raise SpecViolation(f"quant_type = {op.attr('quant_type')} is not 0 (FP4) or 1 (NF4)")
    a = op.tensor(0).shape
    return [projected(op, a, k, n) if op.attr("transB", 1) else projected(op, a, n, k, "N")]


@contrib(rules, "MatMulFpQ4", "A:float32 B:uint8 B_shape:int64 -> Y:float32", "blk_quant_type:int")
def matmul_fp_q4(op: OpCall) -> Inferred:
    """A [..., K] @ B -> Y [..., N]; B is packed in bytes, and input B_shape holds its unpacked shape [K, N]."""
    a = require_min_rank(op.tensor(0).shape, 1, "A")
    elements = elements_of(op.tensor(2), "B_shape")
    if elements is not None and len(elements) != 2:
        raise SpecViolation(f"B_shape must have 2 elements, has {len(elements)}")
    k, n = (None, None) if elements is None else elements
    if a is None:
        return [None]
    if k is not None:
        op.require_equal(a[-1], k, "the last dim of A and B_shape[0]")
    return [(*a[:-1], element_dim(op, n, "B_shape[1]"))]


@contrib(
    rules, "MatMulBlockQuantizedFp4Weight",
    "A:T B:uint8 weight_scale:uint8 weight_scale_2:float32 input_scale?:float32 bias?:T -> Y:T", "block_size:int",
    T=frozenset({DType.FLOAT16, DType.BFLOAT16}),
)  # fmt: skip
def matmul_fp4(op: OpCall) -> Inferred:
    """A [..., K], B [N, K/2] with two elements per byte, bias [N] -> Y [..., N]"""
    return [_with_rows(op, op.tensor(1).shape, 2, 5)]


@contrib(
    rules, "MatMulBlockQuantizedFp8Weight", "A:T B:float8e4m3fn b_scale:float32 a_scale?:float32 bias?:T -> Y:T",
    "block_size:int", T=frozenset({DType.FLOAT16, DType.BFLOAT16}),
)  # fmt: skip
def matmul_fp8(op: OpCall) -> Inferred:
    """A [..., K], B [N, K], bias [N] -> Y [..., N]"""
    return [_with_rows(op, op.tensor(1).shape, 1, 4)]


def _with_rows(op: OpCall, b: Shape | None, packed: int, bias: int) -> Shape | None:
    a, rows = require_min_rank(op.tensor(0).shape, 1, "A"), require_rank(b, 2, "B")
    if a is None:
        return None
    if rows is None:
        shape: Shape | None = (*a[:-1], op.fresh("the shape of B is not known"))
    else:
        shape = projected(op, a, rows[1] * packed, rows[0], "the columns of B")
    return with_bias(op, shape, op.optional_tensor(bias))


@contrib(
    rules, "MatMulNBitsMlp",
    "A:T1 skip?:T1 norm_scale?:T1 gate_B:uint8 gate_scales:T1 gate_bias?:T1 up_B:uint8 up_scales:T1 up_bias?:T1 "
    "-> Y:T1 input_skip_bias_sum?:T1",
    "K:int! N:int! accuracy_level:int activation:string! bits:int block_size:int! epsilon:float", T1=MODEL_FLOATS,
)  # fmt: skip
def matmul_n_bits_mlp(op: OpCall) -> Inferred:
    """A, skip [..., K] -> Y [..., N], input_skip_bias_sum [..., K]"""
    a, k = _summed(op), size_attribute(op, "K")
    return [projected(op, a, k, size_attribute(op, "N")), projected(op, a, k, k)]


@contrib(
    rules, "MatMulNBitsQkv",
    "A:T1 skip?:T1 norm_scale:T1 q_B:uint8 q_scales:T1 q_bias?:T1 k_B:uint8 k_scales:T1 k_bias?:T1 v_B:uint8 "
    "v_scales:T1 v_bias?:T1 -> Q:T1 K:T1 V:T1 input_skip_bias_sum?:T1",
    "K:int! Nkv:int! Nq:int! accuracy_level:int bits:int block_size:int! epsilon:float", T1=MODEL_FLOATS,
)  # fmt: skip
def matmul_n_bits_qkv(op: OpCall) -> Inferred:
    """A, skip [..., K] -> Q [..., Nq], K and V [..., Nkv], input_skip_bias_sum [..., K]"""
    a, k = _summed(op), size_attribute(op, "K")
    nq, nkv = size_attribute(op, "Nq"), size_attribute(op, "Nkv")
    return [projected(op, a, k, size) for size in (nq, nkv, nkv, k)]


def _summed(op: OpCall) -> Shape | None:
    skip = op.optional_tensor(1)
    a = op.tensor(0).shape
    return a if skip is None else same_shape(op, a, skip.shape)


INT16_TYPES = frozenset({DType.INT16, DType.UINT16})


@contrib(rules, "MatMulInteger16", "A:T1 B:T2 -> Y:*", T1=INT16_TYPES, T2=INT16_TYPES)
def matmul_integer_16(op: OpCall) -> Inferred:
    """A @ B in int32, or in uint32 when both are unsigned; the element type is unknown when it may be either."""
    a, b = op.tensor(0), op.tensor(1)
    dtype: DType | None = DType.INT32
    if None in (a.dtype, b.dtype) and DType.INT16 not in (a.dtype, b.dtype):
        dtype = None
    elif a.dtype is b.dtype is DType.UINT16:
        dtype = DType.UINT32
    return [SymbolicTensor(dtype, matmul_shape(op, a.shape, b.shape))]


@contrib(
    rules, "MatMulIntegerToFloat",
    "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point?:T1 b_zero_point?:T2 bias?:T3 -> Y:T3",
    T1=INT8_TYPES, T2=INT8_TYPES, T3=HALF_OR_SINGLE,
)  # fmt: skip
def matmul_integer_to_float(op: OpCall) -> Inferred:
    """A @ B of quantized matrices, dequantized by a_scale and b_scale, plus a bias [N]."""
    return [with_bias(op, matmul_shape(op, op.tensor(0).shape, op.tensor(1).shape), op.optional_tensor(6))]


@contrib(
    rules, "DynamicQuantizeMatMul", "A:T1 B:T2 b_scale:T1 b_zero_point?:T2 bias?:T1 -> Y:T1",
    T1=frozenset({DType.FLOAT32}), T2=INT8_TYPES,
)  # fmt: skip
def dynamic_quantize_matmul(op: OpCall) -> Inferred:
    """A @ B plus a bias [N]; B is quantized, A is float32."""
    return [with_bias(op, matmul_shape(op, op.tensor(0).shape, op.tensor(1).shape), op.optional_tensor(4))]


EXPERTS = (
    "activation_alpha:float activation_beta:float activation_type:string k:int normalize_routing_weights:int "
    "swiglu_fusion:int swiglu_limit:float swiglu_limit_after_activation:int use_sparse_mixer:int"
)


@contrib(
    rules, "MoE",
    "input:T router_probs:T fc1_experts_weights:T fc1_experts_bias?:T fc2_experts_weights:T fc2_experts_bias?:T "
    "fc3_experts_weights?:T fc3_experts_bias?:T -> output:T", EXPERTS, T=MODEL_FLOATS, unchecked_sizes=range(2, 8)
)  # fmt: skip
def mixture_of_experts(op: OpCall) -> Inferred:
    """A mixture of experts.

    input         [tokens, hidden], or [B, S, hidden]
    router_probs  [tokens, experts], tokens = B * S
    output        shape of input
    """
    return [_mixed(op, 1)]


@contrib(
    rules, "QMoE",
    "input:T router_probs:T fc1_experts_weights:W fc1_scales?:S fc1_experts_bias?:T fc2_experts_weights:W "
    "fc2_scales?:S2 fc2_experts_bias?:T fc3_experts_weights?:W fc3_scales?:S3 fc3_experts_bias?:T "
    "fc1_zero_points?:W fc2_zero_points?:W fc3_zero_points?:W router_weights?:T fc1_global_scale?:float32 "
    "fc2_global_scale?:float32 fc1_act_scale?:float32 fc2_act_scale?:float32 fc1_act_block_scale?:* "
    "fc2_act_block_scale?:* -> output:T",
    EXPERTS + " accuracy_level:int block_size:int expert_weight_bits:int fc1_expert_weight_bits:int "
    "fc2_expert_weight_bits:int fc3_expert_weight_bits:int quant_type:string weights_prepacked:int",
    T=MODEL_FLOATS, W=frozenset({DType.UINT8, DType.FLOAT8E4M3FN}),
    S=MODEL_FLOATS | {DType.FLOAT8E8M0, DType.FLOAT8E4M3FN},
    S2=MODEL_FLOATS | {DType.FLOAT8E8M0, DType.FLOAT8E4M3FN},
    S3=MODEL_FLOATS | {DType.FLOAT8E8M0, DType.FLOAT8E4M3FN}, unchecked_sizes=range(2, 14)
)  # fmt: skip
def quantized_mixture_of_experts(op: OpCall) -> Inferred:
    """As MoE, with quantized weights."""
    return [_mixed(op, 1)]


def _mixed(op: OpCall, router: int) -> Shape | None:
    shape = op.tensor(0).shape
    require_rank(shape, (2, 3), "input")
    probs = require_rank(op.tensor(router).shape, 2, "router_probs")
    if shape is None or probs is None:
        return shape
    tokens = shape[0] if len(shape) == 2 else shape[0] * shape[1]
    op.require_equal(probs[0], tokens, "the rows of router_probs and the tokens of input")
    return shape
