"""Constant folding of Reshape, Unsqueeze and Squeeze of narrow constants: the bytes stay, only the dims change.

Narrow constants have at most 8 bits per element. onnxruntime has no Reshape of 4-bit elements, and the matcher of
compressed weights expects constants without layers that reshape them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, TypeAlias

from onnx import AttributeProto, NodeProto, TensorProto, numpy_helper

from gather_infer.ir import Graph, Model, Node
from gather_infer.model.attributes import attribute_of
from gather_infer.openvino.dialect_nodes import is_openvino

_NARROW: Final = frozenset(
    {TensorProto.UINT4, TensorProto.INT4, TensorProto.UINT8, TensorProto.INT8, TensorProto.FLOAT8E4M3FN,
     TensorProto.FLOAT8E5M2}
)  # fmt: skip
_RESHAPES: Final = frozenset({"Reshape", "Unsqueeze", "Squeeze"})
_WHY: Final = "a reshaped constant"
_Constant: TypeAlias = "TensorProto | NodeProto"
"""An initializer, or a `Const` node for a constant whose element type ONNX lacks."""


def fold_constant_reshapes(model: Model) -> None:
    """Replace the layers of a model in the dialect that reshape narrow constants by reshaped constants."""
    for graph in model.graphs.values():
        for node in list(graph.nodes):  # in topological order
            if not _is_reshape(node) or graph.is_fixed(node.outputs[0]):
                continue
            constant = _constant(graph, node.inputs[0])
            dims = None if constant is None else _dims_of(constant)
            shape = None if dims is None else _result_shape(node, dims)
            if constant is None or shape is None:
                continue
            made = _with_dims(constant, node.outputs[0], shape)
            model.replace(node, [made] if isinstance(made, NodeProto) else [], _WHY)
            if isinstance(made, TensorProto):
                model.add_constant(graph, made.name, made, None, _WHY)


def _is_reshape(node: Node) -> bool:
    return (
        node.op_type in _RESHAPES and is_openvino(node.proto) and len(node.outputs) == 1 and len(node.inputs) in (1, 2)
    )


def _constant(graph: Graph, name: str) -> _Constant | None:
    """The constant that `name` refers to in a graph; None for another value."""
    value = graph.value(name)
    if value is None:
        return None
    node = value.producer
    if node is None:
        return value.graph.tensor(name)
    return node.proto if node.op_type == "Const" and is_openvino(node.proto) and len(node.outputs) == 1 else None


def _dims_of(constant: _Constant) -> tuple[int, ...] | None:
    """The dims of a narrow constant; None for a constant with wider elements."""
    if isinstance(constant, TensorProto):
        return tuple(constant.dims) if constant.data_type in _NARROW else None
    shape = attribute_of(constant, "shape", ())
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _with_dims(constant: _Constant, name: str, shape: Sequence[int]) -> _Constant:
    """A copy of `constant` with `name` and dims `shape`; external data is not moved."""
    if isinstance(constant, TensorProto):
        tensor = TensorProto()
        tensor.CopyFrom(constant)
        tensor.name = name
        del tensor.dims[:]
        tensor.dims.extend(shape)
        return tensor
    node = NodeProto()
    node.CopyFrom(constant)
    node.name = node.output[0] = name
    for attribute in node.attribute:
        if attribute.name == "shape":
            attribute.CopyFrom(AttributeProto(name="shape", type=AttributeProto.INTS, ints=shape))
    return node


def _result_shape(node: Node, dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dims of the output of the reshaping `node` for an input of `dims`.

    None if its second input is not an initializer, or does not fit `dims`.
    """
    second = _constant(node.graph, node.inputs[1]) if len(node.inputs) == 2 else None
    given = integers_of(second) if isinstance(second, TensorProto) else None if len(node.inputs) == 2 else []
    if given is None:
        return None
    if node.op_type == "Reshape":
        return _reshape_target(node, dims, given)
    rank = len(dims) + (len(given) if node.op_type == "Unsqueeze" else 0)
    if any(not -rank <= axis < rank for axis in given):
        return None
    axes = {axis % rank for axis in given}
    if node.op_type == "Unsqueeze":
        rest = iter(dims)
        return tuple(1 if axis in axes else next(rest) for axis in range(rank)) if len(axes) == len(given) else None
    return tuple(size for axis, size in enumerate(dims) if size != 1 or (given and axis not in axes))


def _reshape_target(node: Node, dims: tuple[int, ...], pattern: list[int]) -> tuple[int, ...] | None:
    """The result dims of the Reshape `node` for input `dims`; None if `pattern` does not fit them.

    In `pattern`, -1 is the remaining dim, and with `special_zero`, 0 copies the dim at that axis.
    """
    if str(attribute_of(node.proto, "special_zero", "false")).lower() in ("true", "1"):
        if any(size == 0 and axis >= len(dims) for axis, size in enumerate(pattern)):
            return None
        pattern = [dims[axis] if size == 0 else size for axis, size in enumerate(pattern)]
    rest = prod(size for size in pattern if size != -1)
    if pattern.count(-1) == 1 and rest > 0:
        pattern = [prod(dims) // rest if size == -1 else size for size in pattern]
    is_shape = all(size >= 0 for size in pattern) and prod(pattern) == prod(dims)
    return tuple(pattern) if is_shape else None


def integers_of(tensor: TensorProto) -> list[int] | None:
    """The elements of `tensor`, of int64 or int32; None for another type, and for external data."""
    if tensor.data_type not in (TensorProto.INT64, TensorProto.INT32) or tensor.external_data:
        return None
    return [int(element) for element in numpy_helper.to_array(tensor).reshape(-1)]
