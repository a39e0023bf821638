"""OpenVINO's layers, as its files name them."""

from __future__ import annotations

from gather_infer.cost.formulas.einsum import points
from gather_infer.cost.formulas.nothing import NOTHING
from gather_infer.cost.formulas.onnx import either
from gather_infer.cost.work import Formulas, Work, last
from gather_infer.symbolic import Dim, product

formulas = Formulas("openvino", NOTHING["openvino"])


@formulas.counts("MatMul", text="[..., M, K] @ [..., K, N], either transposed: elements of the result * K")
def matmul(work: Work) -> Dim:
    a, b = work.shape(0), work.shape(1)
    rows = -2 if _is_true(work, "transpose_a") and len(a) > 1 else -1
    columns = -1 if _is_true(work, "transpose_b") or len(b) < 2 else -2
    return work.written() * either(last(a, rows), last(b, columns))


def _is_true(work: Work, name: str) -> bool:
    return str(work.attr(name, "false")).lower() in ("true", "1")


@formulas.counts(
    "Convolution", "BinaryConvolution", "DeformableConvolution",
    text="elements of the result * input channels of a filter * the elements of the kernel",
)  # fmt: skip
def convolution(work: Work) -> Dim:
    """Filters [C_OUT, C_IN, kernel]; those of a DeformableConvolution stand behind the offsets."""
    return work.written() * product(work.shape(2 if work.op_type == "DeformableConvolution" else 1)[1:])


@formulas.counts("GroupConvolution", text="elements of the result * C_IN/groups * the elements of the kernel")
def group_convolution(work: Work) -> Dim:
    """Filters [GROUPS, C_OUT, C_IN, kernel]."""
    return work.written() * product(work.shape(1)[2:])


@formulas.counts("ConvolutionBackpropData", text="elements of the input * C_OUT * the elements of the kernel")
def backprop(work: Work) -> Dim:
    """Filters [C_IN, C_OUT, kernel]."""
    return product(work.shape(0)) * product(work.shape(1)[1:])


@formulas.counts(
    "GroupConvolutionBackpropData", text="elements of the input * C_OUT/groups * the elements of the kernel"
)
def group_backprop(work: Work) -> Dim:
    """Filters [GROUPS, C_IN, C_OUT, kernel]."""
    return product(work.shape(0)) * product(work.shape(1)[2:])


@formulas.counts("Einsum", text="(operands - 1) * the product of the sizes of all letters")
def einsum(work: Work) -> Dim:
    shapes = [work.shape(index) for index in range(len(work.inputs))]
    return points(str(work.attr("equation", "")), shapes) * (len(shapes) - 1)


@formulas.counts("ScaledDotProductAttention", text="batch * L * S * (E + Ev), masked scores too")
def scaled_dot_product_attention(work: Work) -> Dim:
    """query [..., L, E], key [..., S, E], value [..., S, Ev]"""
    return (product(work.shape(0)) + work.written()) * last(work.shape(1), -2)
