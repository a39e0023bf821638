"""Formulas of OpenVINO layers, by the names that IR files use."""

from __future__ import annotations

from gather_infer.cost.formulas.einsum import points
from gather_infer.cost.formulas.onnx import ELIMINATED, either, inverse
from gather_infer.cost.formulas.zero_cost import ZERO_COST
from gather_infer.cost.work import CostUnknown, Formulas, Work, last
from gather_infer.symbolic import Dim, floordiv, product, total

formulas = Formulas("openvino", ZERO_COST["openvino"])


@formulas.counts("MatMul", text="[..., M, K] @ [..., K, N], either transposed: elements of the result * K")
def matmul(work: Work) -> Dim:
    a, b = work.shape(0), work.shape(1)
    rows = -2 if _is_true(work, "transpose_a") and len(a) > 1 else -1
    columns = -1 if _is_true(work, "transpose_b") or len(b) < 2 else -2
    return work.output_elements() * either(last(a, rows), last(b, columns))


def _is_true(work: Work, name: str) -> bool:
    return str(work.attr(name, "false")).lower() in ("true", "1")


@formulas.counts(
    "Convolution", "BinaryConvolution", "DeformableConvolution",
    text="elements of the result * input channels of a filter * the elements of the kernel",
)  # fmt: skip
def convolution(work: Work) -> Dim:
    """Multiply-adds for filters [C_OUT, C_IN, kernel], which are input 1, or input 2 of a DeformableConvolution."""
    return work.output_elements() * product(work.shape(2 if work.op_type == "DeformableConvolution" else 1)[1:])


@formulas.counts("GroupConvolution", text="elements of the result * C_IN/groups * the elements of the kernel")
def group_convolution(work: Work) -> Dim:
    """Multiply-adds for filters [GROUPS, C_OUT, C_IN, kernel] in input 1."""
    return work.output_elements() * product(work.shape(1)[2:])


@formulas.counts("ConvolutionBackpropData", text="elements of the input * C_OUT * the elements of the kernel")
def backprop(work: Work) -> Dim:
    """Multiply-adds of a transposed convolution with filters [C_IN, C_OUT, kernel] in input 1."""
    return product(work.shape(0)) * product(work.shape(1)[1:])


@formulas.counts(
    "GroupConvolutionBackpropData", text="elements of the input * C_OUT/groups * the elements of the kernel"
)
def group_backprop(work: Work) -> Dim:
    """Multiply-adds of a transposed convolution with filters [GROUPS, C_IN, C_OUT, kernel] in input 1."""
    return product(work.shape(0)) * product(work.shape(1)[2:])


@formulas.counts("Einsum", text="(operands - 1) * the product of the sizes of all letters")
def einsum(work: Work) -> Dim:
    shapes = [work.shape(index) for index in range(len(work.inputs))]
    return points(str(work.attr("equation", "")), shapes) * (len(shapes) - 1)


@formulas.counts("ScaledDotProductAttention", text="batch * L * S * (E + Ev), masked scores too")
def scaled_dot_product_attention(work: Work) -> Dim:
    """Multiply-adds for query [..., L, E], key [..., S, E] and value [..., S, Ev]."""
    return (product(work.shape(0)) + work.output_elements()) * last(work.shape(1), -2)


formulas.counts("Inverse", text=ELIMINATED)(inverse)


@formulas.counts("GroupedMatMul", text="elements of the result * K")
def grouped_matmul(work: Work) -> Dim:
    """Elements of the result times K; input 0 is [groups, M, K], or [rows, K] with a matrix for each group of rows."""
    return work.output_elements() * last(work.shape(0))


@formulas.counts(
    "DFT", "IDFT",
    text="by definition: elements of the result * 2 * the sum of the sizes that are transformed; an FFT takes less",
)  # fmt: skip
def dft(work: Work) -> Dim:
    """Multiply-adds by definition, summed over the transformed axes.

    Along an axis of length n, each element of the result is a sum of n complex products.
    """
    result = work.result()
    return work.output_elements() * 2 * total(result[axis] for axis in _axes(work, len(result) - 1))


@formulas.counts(
    "RDFT", text="by definition: elements of the result * (points of the last axis + 2 * the sizes of the others)"
)
def rdft(work: Work) -> Dim:
    """Multiply-adds by definition, summed over the transformed axes.

    The last axis is transformed first, with real input; the transforms along the other axes are complex.
    """
    result = work.result()
    *others, along = _axes(work, len(result) - 1)
    points = _points(work, last(work.shape(0), along))
    return work.output_elements() * (points + 2 * total(result[axis] for axis in others))


@formulas.counts(
    "IRDFT",
    text="by definition: elements of the result * 2 * bins, and those of the half that is there * 4 * the other sizes",
)
def irdft(work: Work) -> Dim:
    """Multiply-adds by definition, summed over the transformed axes.

    The last axis, with n real results, is transformed last. Each of its results is a sum over the real and imaginary
    parts of n // 2 + 1 bins.
    """
    result = work.result()
    *others, along = _axes(work, len(result))
    bins = floordiv(result[along], 2) + 1
    half = product(dim for axis, dim in enumerate(result) if axis != along) * bins
    return work.output_elements() * 2 * bins + half * 4 * total(result[axis] for axis in others)


@formulas.counts("STFT", text="by definition: elements of the result * frame_size")
def stft(work: Work) -> Dim:
    return work.output_elements() * work.only_element(2)


@formulas.counts("ISTFT", text="by definition: elements of data * frame_size")
def istft(work: Work) -> Dim:
    """Multiply-adds by definition for data [batch, bins, frames, 2].

    Each element of a frame is a sum over the real and imaginary parts of all bins.
    """
    return product(work.shape(0)) * work.only_element(2)


def _axes(work: Work, rank: int) -> list[int]:
    """The transformed axes in input 1, each in [0, rank). Raises CostUnknown if they are unknown or out of range."""
    axes = work.integers_of(1)
    if not axes or not all(-rank <= axis < rank for axis in axes):
        raise CostUnknown(f"the axes {list(axes)} do not fit the rank")
    return [axis % rank for axis in axes]


def _points(work: Work, size: Dim) -> Dim:
    """The length of the transform along its last axis: the last element of input 2, or `size` if it is -1 or absent."""
    sizes = work.integers_of(2) if work.has(2) else ()
    return sizes[-1] if sizes and sizes[-1] != -1 else size
