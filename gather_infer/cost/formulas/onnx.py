"""Formulas of ai.onnx: matrix products, convolutions, attention, transforms."""

from __future__ import annotations

from typing import Final

from gather_infer.cost.formulas.einsum import points
from gather_infer.cost.formulas.zero_cost import ZERO_COST
from gather_infer.cost.work import CostUnknown, Formulas, Work, last
from gather_infer.symbolic import Dim, floordiv, product

formulas = Formulas("", ZERO_COST[""])
preview = Formulas("ai.onnx.preview")


def either(a: Dim, b: Dim) -> Dim:
    """`a` or `b`, which must be equal in every run; a number is preferred."""
    return b if isinstance(b, int) else a


@formulas.counts("MatMul", "MatMulInteger", text="[..., M, K] @ [..., K, N]: elements of Y * K")
def matmul(work: Work) -> Dim:
    return work.output_elements() * inner(work, 0, 1)


@formulas.counts("QLinearMatMul", text="[..., M, K] @ [..., K, N]: elements of Y * K")
def qlinear_matmul(work: Work) -> Dim:
    return work.output_elements() * inner(work, 0, 3)


def inner(work: Work, a: int, b: int) -> Dim:
    """K in the matrix product of inputs `a` and `b`, from a known shape. Raises CostUnknown if neither is known."""
    try:
        left = last(work.shape(a))
    except CostUnknown:
        left = None
    try:
        shape = work.shape(b)
        right = last(shape, -2 if len(shape) > 1 else -1)
    except CostUnknown:
        if left is None:
            raise
        return left
    return right if left is None else either(left, right)


@formulas.counts("Gemm", text="A' [M, K] @ B' [K, N]: M * N * K; adding C is none")
def gemm(work: Work) -> Dim:
    return work.output_elements() * transposed_inner(work, 0, 1)


def transposed_inner(work: Work, a: int, b: int) -> Dim:
    """K in the product of the matrices in inputs `a` and `b`, which transA and transB may transpose."""
    left = last(work.shape(a, 2), 0 if work.integer("transA") else 1)
    right = last(work.shape(b, 2), 1 if work.integer("transB") else 0)
    return either(left, right)


@formulas.counts("Einsum", text="(operands - 1) * the product of the sizes of all letters")
def einsum(work: Work) -> Dim:
    shapes = [work.shape(index) for index in range(len(work.inputs))]
    return points(str(work.attr("equation", "")), shapes) * (len(shapes) - 1)


@formulas.counts("Conv", "ConvInteger", text="elements of Y * C/group * the elements of the kernel")
def conv(work: Work) -> Dim:
    return work.output_elements() * product(work.shape(1)[1:])


@formulas.counts("QLinearConv", text="elements of Y * C/group * the elements of the kernel")
def qlinear_conv(work: Work) -> Dim:
    return work.output_elements() * product(work.shape(3)[1:])


@formulas.counts("ConvTranspose", text="elements of X * M/group * the elements of the kernel")
def conv_transpose(work: Work) -> Dim:
    return product(work.shape(0)) * product(work.shape(1)[1:])


@formulas.counts("DeformConv", text="elements of Y * C/group * the elements of the kernel; the interpolation is none")
def deform_conv(work: Work) -> Dim:
    return conv(work)


@formulas.counts("CausalConvWithState", text="elements of the output * the elements of the kernel")
def causal_conv(work: Work) -> Dim:
    return work.output_elements() * last(work.shape(1, 3))


@formulas.counts("Attention", text="B * Hq * S * (P + T) * (E + Ev), masked scores too")
def attention(work: Work) -> Dim:
    """Multiply-adds of Q K' and of its product with V, for each head of the query."""
    q, k, v = work.shape(0), work.shape(1), work.shape(2)
    if len(q) == 4:
        total = last(k, 2) + (last(work.shape(4, 4), 2) if work.has(4) else 0)
        return q[0] * q[1] * q[2] * total * (q[3] + last(v, 3))
    heads, kept = work.integer("q_num_heads"), work.integer("kv_num_heads")
    if len(q) != 3 or not heads or not kept:
        raise CostUnknown("the heads are not known")
    total = last(k, 1) + (last(work.shape(4, 4), 2) if work.has(4) else 0)
    return q[0] * q[1] * total * (q[2] + floordiv(last(v, 2), kept) * heads)


@preview.counts("FlexAttention", text="B * Hq * S * T * (E + Ev), masked scores too; its graphs work on scores alone")
def flex_attention(work: Work) -> Dim:
    """Multiply-adds for Q [B, Hq, S, E], K [B, Hk, T, E] and V [B, Hk, T, Ev]."""
    q, k, v = work.shape(0, 4), work.shape(1, 4), work.shape(2, 4)
    return q[0] * q[1] * q[2] * k[2] * (q[3] + v[3])


@formulas.counts(
    "LinearAttention",
    text="B * S * E * Ev * (Hq + Hk), with a delta rule B * S * E * Ev * (Hq + 2 * Hk)",
)
def linear_attention(work: Work) -> Dim:
    """Multiply-adds of linear attention over all steps and heads.

    Each step adds the product of a key and a value to a state [E, Ev], and multiplies the state with a query. With a
    delta rule, the state is also multiplied with the key.
    """
    q, k, v = work.shape(0, 3), work.shape(1, 3), work.shape(2, 3)
    heads, kept = work.integer("q_num_heads"), work.integer("kv_num_heads")
    if not heads or not kept:
        raise CostUnknown("the heads are not known")
    state = floordiv(k[2], kept) * floordiv(v[2], kept)
    uses = heads + kept * (2 if "delta" in work.attr("update_rule", "gated_delta") else 1)
    return q[0] * q[1] * state * uses


@formulas.counts("AffineGrid", text="elements of the grid * the columns of theta")
def affine_grid(work: Work) -> Dim:
    return work.output_elements() * last(work.shape(0, 3))


@formulas.counts(
    "DFT", text="by definition: elements of Y * points * 1 for real, 2 for complex input; an FFT takes less"
)
def dft(work: Work) -> Dim:
    x = work.shape(0)
    if work.has(1):
        length = work.only_element(1)
    else:
        axis: Dim = work.attr("axis", 1) if work.version < 20 else work.only_element(2) if work.has(2) else -2
        if not isinstance(axis, int):
            raise CostUnknown("the axis is not known")
        length = last(x, axis)
    return work.output_elements() * length * last(x)


@formulas.counts("STFT", text="by definition: elements of Y * frame length * 1 for real, 2 for complex input")
def stft(work: Work) -> Dim:
    x = work.shape(0)
    length = work.only_element(3) if work.has(3) else last(work.shape(2, 1), 0)
    return work.output_elements() * length * (last(x) if len(x) == 3 else 1)


ELIMINATED: Final = "matrices * n * (n - 1) * (n - 1), by elimination in place"


def inverse(work: Work) -> Dim:
    """Multiply-adds of Gauss-Jordan elimination: for each of n pivots, n - 1 rows are updated in n - 1 columns."""
    shape = work.shape(0)
    n = last(shape)
    return product(shape[:-2]) * n * (n - 1) * (n - 1)


@formulas.counts("Det", text="elements of Y * (n - 1) * n * (2*n - 1) / 6, by elimination")
def det(work: Work) -> Dim:
    n = last(work.shape(0))
    return work.output_elements() * floordiv((n - 1) * n * (2 * n - 1), 6)
