"""Operation counts: the work of a node, estimated from shapes before it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final, TypeAlias

from onnx import AttributeProto, NodeProto

Shapes: TypeAlias = "Sequence[tuple[int, ...] | None]"


def operations(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    """An estimate of the operations of a node of ai.onnx, from above.

    inputs, outputs   a shape for each; None for one that is left out

    An operator that combines elements of two inputs counts as if it combined each with all others, unless the number is
    known.
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
    """MatMul: the length of the last axis of the first operand."""
    return (_shape(inputs, 0) or (1,))[-1]


def _gemm(node: NodeProto, inputs: Shapes) -> int:
    """Gemm: the length of the last axis of the first operand, or of its first axis if the operand is transposed."""
    turned = any(a.name == "transA" and a.i for a in node.attribute)
    return (_shape(inputs, 0) or (1,))[0 if turned else -1]


def _filter(node: NodeProto, inputs: Shapes) -> int:
    """Conv: the elements of one filter."""
    return prod(_shape(inputs, 1)[1:])


def _filters(node: NodeProto, inputs: Shapes) -> int:
    """ConvTranspose: at most all filters contribute to an element."""
    return prod(_shape(inputs, 1))


def _window(node: NodeProto, inputs: Shapes) -> int:
    """Pools: the elements of a window."""
    return next((prod(a.ints) for a in node.attribute if a.name == "kernel_shape"), 1)


def _nearby(node: NodeProto, inputs: Shapes) -> int:
    """Resize and GridSample: at most 4 elements along each axis contribute to an element (cubic modes), or all with
    antialiasing.
    """
    rank = len(_shape(inputs, 0))
    is_antialiased = any(a.name == "antialias" and a.i and a.type == AttributeProto.INT for a in node.attribute)
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
"""Operations for each element of the result."""

_ALL: Final = frozenset(
    {
        "Attention", "CausalConvWithState", "DFT", "DeformConv", "Det", "Einsum", "GRU", "LRN", "LSTM",
        "LinearAttention", "MaxRoiPool", "NonMaxSuppression", "RNN", "RoiAlign", "STFT", "TfIdfVectorizer", "Unique",
    }
)  # fmt: skip
"""Operators of which one element of a result may depend on all inputs."""
