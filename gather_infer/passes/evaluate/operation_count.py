"""Operation counts: the work of a node, estimated from shapes before it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final, TypeAlias

from onnx import NodeProto

from gather_infer.model.attributes import attribute_of, integer_attribute

Shapes: TypeAlias = "Sequence[tuple[int, ...] | None]"


def operations(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    """An upper estimate of the number of operations of an ai.onnx node.

    inputs, outputs   a shape for each input or output; None for one that is left out

    Each element that is read counts once. Each element that is written counts once, or, for an operator that combines
    elements such as MatMul, once for each combined element.
    """
    read = sum(prod(shape) for shape in inputs if shape is not None)
    written = sum(prod(shape) for shape in outputs if shape is not None)
    each = _EACH.get(node.op_type)
    if each is not None:
        return read + written * each(node, inputs)
    return read + written * read if node.op_type in _ALL else read + written


def _shape(inputs: Shapes, at: int) -> tuple[int, ...]:
    found = inputs[at] if at < len(inputs) else None
    return found if found is not None else ()


def _inner(node: NodeProto, inputs: Shapes) -> int:
    """Operations per result element of MatMul: the length of the last axis of the first operand."""
    return (_shape(inputs, 0) or (1,))[-1]


def _gemm(node: NodeProto, inputs: Shapes) -> int:
    """Operations per result element of Gemm: the length of the axis of the first operand that is summed over."""
    turned = integer_attribute(node, "transA")
    return (_shape(inputs, 0) or (1,))[0 if turned else -1]


def _filter(node: NodeProto, inputs: Shapes) -> int:
    """Operations per result element of Conv: the elements of one filter."""
    return prod(_shape(inputs, 1)[1:])


def _filters(node: NodeProto, inputs: Shapes) -> int:
    """Operations per result element of ConvTranspose: at most the elements of all filters."""
    return prod(_shape(inputs, 1))


def _window(node: NodeProto, inputs: Shapes) -> int:
    """Operations per result element of a pooling operator: the elements of the window."""
    return prod(attribute_of(node, "kernel_shape", ()))


def _nearby(node: NodeProto, inputs: Shapes) -> int:
    """Operations per result element of Resize, Upsample and GridSample.

    At most 4 input elements along each axis contribute to a result element (cubic modes), or all with antialiasing.
    """
    rank = len(_shape(inputs, 0))
    is_antialiased = integer_attribute(node, "antialias")
    return prod(_shape(inputs, 0)) if is_antialiased else min(4**rank, 1 << 12)


_EACH: Final[Mapping[str, Callable[[NodeProto, Shapes], int]]] = {
    "AveragePool": _window,
    "Conv": _filter,
    "ConvTranspose": _filters,
    "Gemm": _gemm,
    "GridSample": _nearby,
    "LpPool": _window,
    "MatMul": _inner,
    "MaxPool": _window,
    "Resize": _nearby,
    "Upsample": _nearby,
}
"""Operator -> the function that returns its operations per element of the result."""

_ALL: Final = frozenset(
    {
        "Attention", "CausalConvWithState", "DFT", "DeformConv", "Det", "Einsum", "GRU", "LRN", "LSTM",
        "LinearAttention", "MaxRoiPool", "NonMaxSuppression", "RNN", "RoiAlign", "STFT", "TfIdfVectorizer", "Unique",
    }
)  # fmt: skip
"""Operators of which each element of a result may depend on all elements of all inputs."""
