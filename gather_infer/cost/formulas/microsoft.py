"""Formulas of com.microsoft: fused and quantized products, attention, mixtures of experts."""

from __future__ import annotations

from gather_infer.cost.formulas.onnx import (
    ELIMINATED,
    conv,
    conv_transpose,
    inner,
    inverse,
    matmul,
    qlinear_conv,
    transposed_inner,
)
from gather_infer.cost.formulas.zero_cost import ZERO_COST
from gather_infer.cost.work import CostUnknown, Formulas, Work, last
from gather_infer.symbolic import Dim, floordiv, product, total
from gather_infer.tensor import Shape

formulas = Formulas("com.microsoft", ZERO_COST["com.microsoft"])

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


@formulas.counts(
    "CausalConvWithState", "VarlenCausalConvWithState", text="elements of the output * the elements of the kernel"
)
def causal_conv(work: Work) -> Dim:
    return work.output_elements() * last(work.shape(1, 3))


@formulas.counts("FusedMatMul", "FusedMatMulActivation", "TransposeMatMul", text=PRODUCT)
def fused_matmul(work: Work) -> Dim:
    """Elements of Y times K, which is the last axis of A; with transA it is axis -2, or axis 0 with transBatchA."""
    a = work.shape(0)
    if not work.integer("transA") or len(a) < 2:
        return work.output_elements() * last(a)
    return work.output_elements() * a[0 if work.integer("transBatchA") else -2]


@formulas.counts("FusedGemm", "GemmFloat8", text="M * N * K")
def fused_gemm(work: Work) -> Dim:
    return work.output_elements() * transposed_inner(work, 0, 1)


@formulas.counts("QGemm", text="M * N * K")
def quantized_gemm(work: Work) -> Dim:
    return work.output_elements() * transposed_inner(work, 0, 3)


@formulas.counts("QOrderedMatMul", text=PRODUCT)
def ordered_matmul(work: Work) -> Dim:
    return work.output_elements() * inner(work, 0, 2)


@formulas.counts(
    "MatMulNBits", "MatMulBnb4", "MatMulFpQ4", "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight",
    text=PRODUCT,
)  # fmt: skip
def packed_matmul(work: Work) -> Dim:
    """Multiply-adds of A [..., K] with a packed matrix [K, N]."""
    return work.output_elements() * last(work.shape(0))


@formulas.counts("MatMulNBitsMlp", text="rows of A * K * 2 * N: the gate and up projections")
def packed_mlp(work: Work) -> Dim:
    return product(work.shape(0)) * (2 * work.integer("N"))


@formulas.counts("MatMulNBitsQkv", text="rows of A * K * (Nq + 2 * Nkv)")
def packed_qkv(work: Work) -> Dim:
    return product(work.shape(0)) * (work.integer("Nq") + 2 * work.integer("Nkv"))


@formulas.counts("CDist", text="elements of C * the columns of A")
def cdist(work: Work) -> Dim:
    return work.output_elements() * last(work.shape(0))


@formulas.counts("Attention", text="B * S * I * (2 * D + Dv) + B * S * (P + S) * (D + Dv)")
def merged_attention(work: Work) -> Dim:
    return _merged(work, 4)


@formulas.counts("QAttention", text="B * S * I * (2 * D + Dv) + B * S * (P + S) * (D + Dv)")
def merged_quantized_attention(work: Work) -> Dim:
    return _merged(work, 8)


@formulas.counts("QOrderedAttention", text="B * S * I * (2 * D + Dv) + B * S * (P + S) * (D + Dv)")
def ordered_attention(work: Work) -> Dim:
    """Multiply-adds for input [B, S, I], weights [I, D], [I, D] and [I, Dv], and past [2, B, N, P, E]."""
    b, s, i = work.shape(0, 3)
    query, key, value = (last(work.shape(index, 2)) for index in (5, 6, 7))
    length = s + (work.shape(18, 5)[3] if work.has(18) else 0)
    return b * s * i * (query + key + value) + b * s * length * (query + value)


@formulas.counts("DecoderMaskedSelfAttention", text="B * I * (2 * D + Dv) + B * (P + 1) * (D + Dv), P the past length")
def masked_self_attention(work: Work) -> Dim:
    """Multiply-adds of one decoding step: input [B, 1, I], weights [I, D + D + Dv], past length P in input 6."""
    (b, _, i), columns, value = work.shape(0, 3), last(work.shape(1, 2)), last(work.result(0, 3))
    return b * i * columns + b * (work.only_element(6) + 1) * (floordiv(columns - value, 2) + value)


@formulas.counts("DecoderMaskedMultiHeadAttention", text="B * T * (D + Dv), T the past length + 1, or that of key")
def masked_multi_head_attention(work: Work) -> Dim:
    """Multiply-adds of one decoding step: query [B, 1, D], or query, key and value packed as [B, 1, 3 * D].

    In cross attention, key is [B, N, L, E].
    """
    b, _, value = work.result(0, 3)
    query = last(work.shape(0, 3))
    if work.has(1) and len(work.shape(1)) == 4:
        return b * last(work.shape(1), 2) * (query + value)
    if not work.has(1):
        query = value  # query, key and value have one width
    held = work.shape(5, 4)[2] if work.has(5) else 0
    past = work.only_element(7) if work.integer("past_present_share_buffer") else held
    return b * (past + 1) * (query + value)


def _merged(work: Work, past: int) -> Dim:
    """Multiply-adds of the projections by weights [I, D + D + Dv], of the scores, and of scores times values.

    past   index of the input past [2, B, N, P, E]
    """
    (b, s, i), columns, value = work.shape(0, 3), last(work.shape(1, 2)), last(work.result(0, 3))
    total = s + (work.shape(past, 5)[3] if work.has(past) else 0)
    if work.has(past) and work.integer("past_present_share_buffer"):
        raise CostUnknown("the length of the past is an input")
    key = (columns - value) // 2
    return b * s * i * columns + b * s * total * (key + value)


@formulas.counts("MultiHeadAttention", text="B * S * (P + L) * (D + Dv)")
def multi_head_attention(work: Work) -> Dim:
    if work.has(8):
        raise CostUnknown("the length of the past is an input")
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
    return work.output_elements() * last(work.result(1, 4), 2) * 2


@formulas.counts("MoE", text="rows * k * the elements of the matrices of one expert; the router is an input")
def mixture_of_experts(work: Work) -> Dim:
    """Multiply-adds of each row of the input [..., hidden] with the two or three matrices of `k` experts."""
    x = work.shape(0)
    matrices = [work.shape(index, 3) for index in (2, 4, 6) if work.has(index)]
    each: Dim = 0
    for matrix in matrices:
        each = each + matrix[1] * matrix[2]
    return product(x[:-1]) * work.integer("k", 1) * each


@formulas.counts("QMoE", text="rows * k * the elements of the matrices of one expert, which share bytes")
def quantized_mixture_of_experts(work: Work) -> Dim:
    """Multiply-adds as for MoE, but each byte of a matrix holds 8 // expert_weight_bits elements."""
    names = ("fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits")
    bits = work.integer("expert_weight_bits", 4)
    if work.attr("quant_type", "int") != "int" or bits not in (2, 4, 8) or any(work.integer(name) for name in names):
        raise CostUnknown("how many elements share a byte is not known")
    matrices = [work.shape(index, 3) for index in (2, 5, 8) if work.has(index)]
    each = total(matrix[1] * matrix[2] for matrix in matrices) * (8 // bits)
    return product(work.shape(0)[:-1]) * work.integer("k", 1) * each


formulas.counts("Inverse", text=ELIMINATED)(inverse)


@formulas.counts("Rfft", text="by definition: elements of Y * points; an FFT takes less")
def rfft(work: Work) -> Dim:
    """Multiply-adds by definition for X [..., n] -> Y [..., n // 2 + 1, 2]: each element is a sum over n points."""
    return work.output_elements() * last(_transformed(work))


@formulas.counts("Irfft", text="by definition: elements of Y * 2 * bins; an FFT takes less")
def irfft(work: Work) -> Dim:
    """Multiply-adds by definition for X [..., bins, 2] -> Y [..., n].

    Each element is a sum over the real and imaginary parts of all bins.
    """
    return work.output_elements() * 2 * last(_transformed(work), -2)


def _transformed(work: Work) -> Shape:
    """The shape of X. Raises CostUnknown if more than one axis is transformed."""
    if work.integer("signal_ndim", 1) != 1:
        raise CostUnknown("more than one axis is transformed")
    return work.shape(0)


@formulas.counts(
    "LinearAttention",
    text="B * S * E * Ev * (max(Hq, Hk) + Hk), with a delta rule B * S * E * Ev * (max(Hq, Hk) + 2 * Hk)",
)
def linear_attention(work: Work) -> Dim:
    """Multiply-adds as for LinearAttention of ai.onnx, but the query may have fewer heads than key and value."""
    k, v = work.shape(1, 3), work.shape(2, 3)
    heads, kept = work.integer("q_num_heads"), work.integer("kv_num_heads")
    if not heads or not kept:
        raise CostUnknown("the heads are not known")
    state = floordiv(k[2], kept) * floordiv(v[2], kept)
    uses = max(heads, kept) + kept * (2 if "delta" in work.attr("update_rule", "gated_delta") else 1)
    return k[0] * k[1] * state * uses


@formulas.counts("GatedRelativePositionBias", text="B * S * N * E * D, D the columns of weight")
def gated_relative_position_bias(work: Work) -> Dim:
    """Multiply-adds of the query [B, S, N * E], split into N heads, with weight [E, D]; removed padding counts."""
    b, n, s, _ = work.result(0, 4)
    return b * n * s * product(work.shape(3, 2))
