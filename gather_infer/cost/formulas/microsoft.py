"""com.microsoft: fused and quantized products, attention, mixtures of experts."""

from __future__ import annotations

from gather_infer.cost.formulas.nothing import NOTHING
from gather_infer.cost.formulas.onnx import conv, conv_transpose, inner, matmul, qlinear_conv, transposed_inner
from gather_infer.cost.work import Formulas, Untold, Work, last
from gather_infer.symbolic import Dim, product

formulas = Formulas("com.microsoft", NOTHING["com.microsoft"])

PRODUCT = "elements of Y * K"
KERNEL = "elements of Y * C/group * the elements of the kernel"

formulas.counts("GemmFastGelu", "MatMulInteger16", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", text=PRODUCT)(
    matmul
)
formulas.counts("FusedConv", text=KERNEL)(conv)
formulas.counts("QLinearConv", text=f"{KERNEL}; channels_last alike")(qlinear_conv)
formulas.counts("NhwcConv", "NhwcFusedConv", text=KERNEL)(conv)
formulas.counts("ConvTransposeWithDynamicPads", text="elements of X * M/group * the elements of the kernel")(
    conv_transpose
)


@formulas.counts("GatedAdd", text="elements of the gate, where it is projected")
def gated_add(work: Work) -> Dim:
    return product(work.shape(2)) if work.has(3) else 0


@formulas.counts("CausalConvWithState", text="elements of the output * the elements of the kernel")
def causal_conv(work: Work) -> Dim:
    return work.written() * last(work.shape(1, 3))


@formulas.counts("FusedMatMul", "FusedMatMulActivation", "TransposeMatMul", text=PRODUCT)
def fused_matmul(work: Work) -> Dim:
    """K is the last axis of A as it is multiplied: transBatchA takes the first axis for that of the rows."""
    a = work.shape(0)
    if not work.integer("transA") or len(a) < 2:
        return work.written() * last(a)
    return work.written() * a[0 if work.integer("transBatchA") else -2]


@formulas.counts("FusedGemm", "GemmFloat8", text="M * N * K")
def fused_gemm(work: Work) -> Dim:
    return work.written() * transposed_inner(work, 0, 1)


@formulas.counts("QGemm", text="M * N * K")
def quantized_gemm(work: Work) -> Dim:
    return work.written() * transposed_inner(work, 0, 3)


@formulas.counts("QOrderedMatMul", text=PRODUCT)
def ordered_matmul(work: Work) -> Dim:
    return work.written() * inner(work, 0, 2)


@formulas.counts(
    "MatMulNBits", "MatMulBnb4", "MatMulFpQ4", "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight",
    text=PRODUCT,
)  # fmt: skip
def packed_matmul(work: Work) -> Dim:
    """A [..., K] with a matrix whose elements share bytes."""
    return work.written() * last(work.shape(0))


@formulas.counts("MatMulNBitsMlp", text="rows of A * K * 2 * N: a gate and what it lets through")
def packed_mlp(work: Work) -> Dim:
    return product(work.shape(0)) * (2 * work.integer("N"))


@formulas.counts("MatMulNBitsQkv", text="rows of A * K * (Nq + 2 * Nkv)")
def packed_qkv(work: Work) -> Dim:
    return product(work.shape(0)) * (work.integer("Nq") + 2 * work.integer("Nkv"))


@formulas.counts("CDist", text="elements of C * the columns of A")
def cdist(work: Work) -> Dim:
    return work.written() * last(work.shape(0))


@formulas.counts("Attention", text="B * S * I * (2 * D + Dv) + B * S * (P + S) * (D + Dv)")
def merged_attention(work: Work) -> Dim:
    return _merged(work, 4)


@formulas.counts("QAttention", text="B * S * I * (2 * D + Dv) + B * S * (P + S) * (D + Dv)")
def merged_quantized_attention(work: Work) -> Dim:
    return _merged(work, 8)


def _merged(work: Work, past: int) -> Dim:
    """Projections by weights [I, D + D + Dv], scores, and their product with the values.

    past   the position of the input [2, B, N, P, E]
    """
    (b, s, i), columns, value = work.shape(0, 3), last(work.shape(1, 2)), last(work.result(0, 3))
    total = s + (work.shape(past, 5)[3] if work.has(past) else 0)
    if work.has(past) and work.integer("past_present_share_buffer"):
        raise Untold("the length of the past is an input")
    key = (columns - value) // 2
    return b * s * i * columns + b * s * total * (key + value)


@formulas.counts("MultiHeadAttention", text="B * S * (P + L) * (D + Dv)")
def multi_head_attention(work: Work) -> Dim:
    if work.has(8):
        raise Untold("the length of the past is an input")
    query, (b, s, value) = work.shape(0), work.result(0, 3)
    if len(query) == 5:  # [B, S, N, 3, E]
        hidden, length = query[2] * query[4], s
    else:
        hidden, key = last(query), work.shape(1)  # [B, L, D], [B, N, L, E] or [B, L, N, 2, E]
        length = last(key, 2 if len(key) == 4 else 1)
    total = length + (work.shape(6, 4)[2] if work.has(6) else 0)
    return b * s * total * (hidden + value)


@formulas.counts("GroupQueryAttention", text="2 * B * S * T * D, T the length of present_key, which may be a buffer")
def group_query_attention(work: Work) -> Dim:
    return work.written() * last(work.result(1, 4), 2) * 2


@formulas.counts("MoE", text="rows * k * the elements of the matrices of one expert; the router is an input")
def mixture_of_experts(work: Work) -> Dim:
    """Each row of [..., hidden] is multiplied with the two or three matrices of `k` experts."""
    x = work.shape(0)
    matrices = [work.shape(index, 3) for index in (2, 4, 6) if work.has(index)]
    each: Dim = 0
    for matrix in matrices:
        each = each + matrix[1] * matrix[2]
    return product(x[:-1]) * work.integer("k", 1) * each
