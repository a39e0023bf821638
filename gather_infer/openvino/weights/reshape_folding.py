"""Constant folding of Reshape, Unsqueeze and Squeeze of narrow constants: the bytes stay, only the dims change.

Narrow constants have at most 8 bits per element. onnxruntime has no Reshape of 4-bit elements, and the matcher of
compressed weights expects constants without layers that reshape them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from gather_infer.model import ModelFile
from gather_infer.model.attributes import attribute_of
from gather_infer.model.paths import bodies
from gather_infer.openvino.dialect_nodes import is_openvino

_NARROW: Final = frozenset(
    {TensorProto.UINT4, TensorProto.INT4, TensorProto.UINT8, TensorProto.INT8, TensorProto.FLOAT8E4M3FN,
     TensorProto.FLOAT8E5M2}
)  # fmt: skip
_RESHAPES: Final = frozenset({"Reshape", "Unsqueeze", "Squeeze"})
_Constant: TypeAlias = "TensorProto | NodeProto"
"""An initializer, or a `Const` node for a constant whose element type ONNX lacks."""


def fold_constant_reshapes(model: ModelFile) -> ModelFile:
    """`model`, in the dialect, with reshaped narrow constants instead of the layers that reshape such constants.

    Returns `model` itself if there are none.
    """
    if not any(_is_reshape(node) for _, graph in bodies(model.proto) for node in graph.node):
        return model
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    graphs = [graph for _, graph in bodies(proto) if isinstance(graph, GraphProto)]
    known: dict[str, _Constant] = {tensor.name: tensor for graph in graphs for tensor in graph.initializer}
    known |= {node.output[0]: node for graph in graphs for node in graph.node if _is_const(node)}
    found = [_reshaped(graph, known) for graph in graphs]
    for graph, made in zip(reversed(graphs), reversed(found), strict=True):  # bodies before the nodes that hold them
        _replace(graph, made)
    return replace(model, proto=proto) if any(found) else model


def _is_reshape(node: NodeProto) -> bool:
    return node.op_type in _RESHAPES and is_openvino(node) and len(node.output) == 1 and len(node.input) in (1, 2)


def _is_const(node: NodeProto) -> bool:
    return node.op_type == "Const" and is_openvino(node) and len(node.output) == 1


def _reshaped(graph: GraphProto, known: dict[str, _Constant]) -> dict[int, _Constant]:
    """Position in `graph` of each reshaping node that folds -> the constant that replaces it.

    known   name -> constant; the new constants are added

    Nodes of `graph` must be in topological order.
    """
    outputs = {value.name for value in graph.output}
    found: dict[int, _Constant] = {}
    for position, node in enumerate(graph.node):
        if not _is_reshape(node) or node.output[0] in outputs:
            continue
        constant = known.get(node.input[0])
        dims = None if constant is None else _dims_of(constant)
        shape = None if dims is None else _result_shape(node, dims, known)
        if constant is not None and shape is not None:
            found[position] = known[node.output[0]] = _with_dims(constant, node.output[0], shape)
    return found


def _replace(graph: GraphProto, made: dict[int, _Constant]) -> None:
    """Replace the nodes at the positions in `made` by the constants there."""
    if not made:
        return
    graph.initializer.extend(one for one in made.values() if isinstance(one, TensorProto))
    kept = [made.get(position, node) for position, node in enumerate(graph.node)]
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in kept if isinstance(node, NodeProto)]
    del graph.node[:]
    graph.node.extend(nodes)


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


def _result_shape(node: NodeProto, dims: tuple[int, ...], known: dict[str, _Constant]) -> tuple[int, ...] | None:
    """The dims of the output of the reshaping `node` for an input of `dims`.

    None if its second input is not a constant in `known`, or does not fit `dims`.
    """
    second = known.get(node.input[1]) if len(node.input) == 2 else None
    given = integers_of(second) if isinstance(second, TensorProto) else None if len(node.input) == 2 else []
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


def _reshape_target(node: NodeProto, dims: tuple[int, ...], pattern: list[int]) -> tuple[int, ...] | None:
    """The result dims of the Reshape `node` for input `dims`; None if `pattern` does not fit them.

    In `pattern`, -1 is the remaining dim, and with `special_zero`, 0 copies the dim at that axis.
    """
    if str(attribute_of(node, "special_zero", "false")).lower() in ("true", "1"):
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
