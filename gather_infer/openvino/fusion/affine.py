"""Affine fusion: constant scales and biases of lowered layers become inputs of the operators that they follow.

OpenVINO has separate layers for the bias of a convolution or a matrix product, and for scale and bias of a
normalization; ONNX's Conv, Gemm, LayerNormalization and InstanceNormalization have inputs for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from onnx import TensorProto

from gather_infer.ir import Graph, Node
from gather_infer.ir.constant import Constant
from gather_infer.model.attributes import attribute_of, integer_attribute
from gather_infer.openvino.fusion.fused_nodes import Fusion, dims_of, fuse_into_one, sole_use
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.tensor import DType, Shape, SymbolicTensor, static_dims

_WHY: Final = "a constant scale or bias is an input of the operator"


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """The constant operand of `reader`, a Mul or an Add; nothing but it reads the other operand."""

    reader: Node
    name: str
    payload: Constant | TensorProto

    @property
    def dims(self) -> tuple[int, ...]:
        return dims_of(self.payload)


def _fuse_convolution(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Add(Conv(x, w), b) becomes Conv(x, w, b), b with one element for each channel; ConvTranspose alike."""
    operand = constant_operand(node, "Add")
    bias = None if operand is None or len(node.inputs) != 2 else as_vector(model, node, operand, 1, 1)
    if operand is not None and bias is not None:
        made.append(_fused(model, node, operand, node.op_type, [*node.inputs, bias]))


def _fuse_product(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Add(MatMul(a, b), c) becomes Gemm(a, b, c) for matrices a [m, k] and b [k, n], k >= 1, and c [n], [1, n] or [1].

    A Transpose of a matrix becomes an attribute.
    """
    operand, graph = constant_operand(node, "Add"), node.graph
    (a, trans_a), (b, trans_b) = (_untransposed(graph, name) for name in node.inputs)
    left, right = _matrix(graph, a), _matrix(graph, b)
    if operand is None or left is None or right is None:
        return
    inner, columns = reversed(right) if trans_b else right
    if not isinstance(inner, int) or inner < 1 or not isinstance(columns, int):
        return
    rows, width = (1, 1, *operand.dims)[-2:]
    if len(operand.dims) > 2 or rows != 1 or width not in (1, columns):
        return
    turned = {"transA": int(trans_a), "transB": int(trans_b)}
    fusion = _fused(model, node, operand, "Gemm", [a, b, operand.name], **turned)
    unread = {
        found[0]: None
        for name in set(node.inputs) - {a, b}
        if (found := graph.producers.get(name)) is not None and not model.is_needed(graph, name)
    }
    for transpose in unread:
        model.remove(transpose, _WHY)
    made.append(replace(fusion, unread=tuple(unread)))


def _untransposed(graph: Graph, name: str) -> tuple[str, bool]:
    """The input of the new Transpose of a matrix that writes the value `name`, else `name`; whether there is one."""
    found = graph.producers.get(name)
    if found is None or found[0].op_type != "Transpose" or found[0].domain or found[0].source is not None:
        return name, False
    is_matrix = tuple(attribute_of(found[0].proto, "perm", ())) == (1, 0)
    return (found[0].inputs[0], True) if is_matrix else (name, False)


def _matrix(graph: Graph, name: str) -> Shape | None:
    """The two dims of a float32 matrix; None for any other value."""
    fact = graph.fact(name)
    is_matrix = isinstance(fact, SymbolicTensor) and fact.dtype is DType.FLOAT32 and fact.rank == 2
    return fact.shape if isinstance(fact, SymbolicTensor) and is_matrix else None


def _fuse_layer_norm(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Add(Mul(LayerNormalization(x, ones), s), b) becomes LayerNormalization(x, s, b); Mul or Add may be missing."""
    axis = integer_attribute(node.proto, "axis", -1)
    _fuse_affine(model, node, made, axis, -axis)


def _fuse_instance_norm(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Add(Mul(InstanceNormalization(x, ones, zeros), s), b) becomes InstanceNormalization(x, s, b)."""
    _fuse_affine(model, node, made, 1, 1)


def _fuse_affine(model: MutableModel, node: Node, made: list[Fusion], axis: int, count: int) -> None:
    """Fuse a Mul by a scale, then an Add of a bias, into a new normalization: its scale is 1, its bias 0 or missing.

    axis, count   the scale has the dims of the output from `axis` on, `count` of them
    """
    for op_type, at in (("Mul", 1), ("Add", 2)):
        operand = constant_operand(node, op_type)
        vector = None if operand is None else as_vector(model, node, operand, axis, count)
        if operand is not None and vector is not None:
            inputs = [*node.inputs[:at], vector, *node.inputs[at + 1 :]]
            made.append(_fused(model, node, operand, node.op_type, inputs))
            node = made[-1].fused


AFFINE: Final[Mapping[str, Callable[[MutableModel, Node, list[Fusion]], None]]] = {
    "Conv": _fuse_convolution,
    "ConvTranspose": _fuse_convolution,
    "MatMul": _fuse_product,
    "LayerNormalization": _fuse_layer_norm,
    "InstanceNormalization": _fuse_instance_norm,
}
"""The fusion of each operator that has inputs for a scale or a bias."""


def constant_operand(node: Node, op_type: str) -> ConstantOperand | None:
    """The constant operand of the new `op_type` that reads the output of `node`; None if anything else reads it too."""
    use = sole_use(node, op_type)
    if use is None:
        return None
    name = use.node.inputs[1 - use.index]
    payload = node.graph.constant_payload(name)
    return ConstantOperand(use.node, name, payload) if isinstance(payload, (Constant, TensorProto)) else None


def as_vector(model: MutableModel, node: Node, operand: ConstantOperand, axis: int, count: int) -> str | None:
    """The operand as a constant with `count` dims, those of the output of `node` from `axis` on.

    None if one of these is not a number, or if the operand has several elements along another axis.
    """
    fact, dims = node.graph.fact(node.outputs[0]), operand.dims
    shape = fact.shape if isinstance(fact, SymbolicTensor) else None
    if shape is None or len(dims) > len(shape):
        return None
    first = axis % len(shape)
    sizes = static_dims(shape[first : first + count])
    aligned = (1,) * (len(shape) - len(dims)) + dims
    held = aligned[first : first + count]
    if sizes is None or held not in (sizes, (1,) * count) or any(size != 1 for size in aligned[:first]):
        return None
    if any(size != 1 for size in aligned[first + count :]):
        return None
    if dims == sizes:
        return operand.name
    made = _with_dims(model, operand, held, sizes)
    if made is None:
        return None
    made.name = model.fresh(operand.name)
    model.add_constant(model.main, made.name, made, None, _WHY)
    return made.name


def _with_dims(
    model: MutableModel, operand: ConstantOperand, dims: tuple[int, ...], sizes: tuple[int, ...]
) -> TensorProto | None:
    """The elements of the operand, seen as `dims`, broadcast to `sizes`; data in a file stays there if it is no copy.

    None if the elements cannot be read.
    """
    if isinstance(operand.payload, TensorProto) and dims == sizes:
        tensor = TensorProto()
        tensor.CopyFrom(operand.payload)
        del tensor.dims[:]
        tensor.dims.extend(sizes)
        return tensor
    held = model.pass_input.read(operand.payload)
    if held is None:
        return None
    bits = np.ascontiguousarray(np.broadcast_to(held.plain.reshape(dims), sizes))
    return Constant(held.data_type, bits).to_tensor(operand.name)


def _fused(
    model: MutableModel, node: Node, operand: ConstantOperand, op_type: str, inputs: Sequence[str], **attributes: int
) -> Fusion:
    """Replace `node` and the reader of the operand by one node in the place of the reader.

    attributes   added to those of `node` where they are not 0
    """
    given = {name: value for name, value in attributes.items() if value}
    fused = fuse_into_one(model, node, operand.reader, [node], op_type, inputs, given, _WHY)
    return Fusion(node, (operand.reader,), fused)
