"""Runtime quirks: cases in which onnxruntime and onnx's shape inference infer different sizes, or onnx crashes.

A written file has to load with both, so it must not declare a size on which they disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, TypeProto
from onnx.helper import make_node
from onnx.numpy_helper import from_array, to_array

from gather_infer.domains import plain_domain
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.ir import Graph, Model, Node
from gather_infer.model.attributes import integer_attribute
from gather_infer.model.paths import bodies

_Array: TypeAlias = npt.NDArray[Any]

_NO_RANK: Final = 2**31
"""More than the rank of any tensor."""

_LARGEST: Final = (2**31 - 1, 2**63 - 1)
"""Ends of a Slice that onnxruntime treats as unbounded, for forward and backward steps."""


def refused_without_crash(node: NodeProto) -> NodeProto:
    """The node; if onnx's shape inference would end the process there, a copy that it refuses with an error instead.

    GatherND   a negative batch_dims: onnx reads a dim before the first one. A number above all ranks is refused
    Split      more outputs than num_outputs: onnx writes past a vector. Without the number the node is refused
    """
    if plain_domain(node.domain):
        return node
    edited = NodeProto()
    if node.op_type == "GatherND" and integer_attribute(node, "batch_dims", 0) < 0:
        edited.CopyFrom(node)
        next(attribute for attribute in edited.attribute if attribute.name == "batch_dims").i = _NO_RANK
        return edited
    if node.op_type == "Split" and integer_attribute(node, "num_outputs", len(node.output)) < len(node.output):
        edited.CopyFrom(node)
        del edited.attribute[:]
        edited.attribute.extend(attribute for attribute in node.attribute if attribute.name != "num_outputs")
        return edited
    return node


def misinferred_slices(model: Model, inferred: ModelProto) -> Iterator[Node]:
    """The Slices for which onnxruntime infers another size than it computes, so that it refuses to load the model.

    For a backward Slice whose end is the largest integer, the kernel returns all elements down to the first one, but
    onnx infers an empty result.
    https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/providers/cpu/tensor/slice_helper.h

    inferred   the model after onnx's shape inference, with `value_info` for the values
    """
    for graph, body in _graphs(model, inferred):
        slices = [node for node in graph.file_nodes if is_stepped_slice(node)]
        declared = (*body.value_info, *body.output) if slices else ()
        empty = {v.name for v in declared if any(_is_empty(d) for d in dims_of(v.type))}
        for node in slices:
            if node.outputs[0] in empty:
                ends, steps = (_integers(_constant(graph, node.inputs[at])) for at in (2, 4))
                if any(step < 0 and end in _LARGEST for end, step in zip(ends, steps, strict=False)):
                    yield node


def is_if(node: Node) -> bool:
    return _is_standard(node, "If")


def is_stepped_slice(node: Node) -> bool:
    """Whether a node is a Slice with the input `steps`, so that a step may be negative."""
    return _is_standard(node, "Slice") and len(node.inputs) == 5


_SIZE_TYPES: Final = (TensorProto.INT64, TensorProto.INT32)
_PROPAGATED: Final = frozenset({"Shape", "Gather", "Unsqueeze", "Squeeze", "Cast", "Concat"})
"""Operators of ai.onnx whose results onnxruntime propagates."""
_EXAMINED: Final = _PROPAGATED | {"Reshape", "Slice"}


def has_quirks(model: Model) -> bool:
    """Whether a function of this module may change or find anything in the model."""
    return any(not node.domain and node.op_type in _EXAMINED for node in model.nodes)


def fold_sizes(model: Model, inferred: ModelProto) -> bool:
    """Replace nodes by Constants where onnxruntime's data propagation knows the result; returns whether there were any.

    onnxruntime passes such sizes to the shape inference of all operators as if they were constants: a TopK with
    k = Shape(w) is refused if the axis is shorter. onnx's own propagation reaches few operators.

    model      nodes in topological order
    inferred   the model after onnx's shape inference, with `value_info` for the values
    """
    is_changed = False
    for graph, body in _graphs(model, inferred):
        nodes = [node for node in graph.file_nodes if node.op_type in _PROPAGATED and not node.domain]
        has_shapes = any(node.op_type == "Shape" for node in nodes)
        types = {v.name: v.type for v in (*body.input, *body.value_info, *body.output)} if has_shapes else {}
        folded: dict[str, _Array] = {}
        for node in nodes:
            found = _sizes(node, types, folded)
            if found is not None:
                is_changed = True
                folded[node.outputs[0]] = found
                constant = make_node("Constant", [], node.outputs, node.proto.name, value=from_array(found))
                node.proto.CopyFrom(constant)
    return is_changed


def _sizes(node: Node, types: Mapping[str, TypeProto], folded: Mapping[str, _Array]) -> _Array | None:
    """The elements of the output of a node that onnxruntime propagates, a scalar or a vector; None if unknown.

    types    of the values of the graph
    folded   the elements of the values that were replaced
    """
    if len(node.outputs) != 1 or not node.outputs[0]:
        return None
    if node.op_type == "Shape":
        return _static_dims(node.proto, types.get(node.inputs[0]))
    operands: list[_Array] = []
    for name in node.inputs:
        elements = folded[name] if name in folded else _elements(_constant(node.graph, name))
        if elements is None:
            return None
        operands.append(elements)
    if not operands:
        return None
    first = operands[0]
    match node.op_type:
        case "Gather" if first.ndim == 1 and operands[1].size:
            at = operands[1]
            return np.take(first, at) if -len(first) <= at.min() and at.max() < len(first) else None
        case "Unsqueeze" if first.ndim == 0 and (len(operands) == 1 or operands[1].size == 1):
            return first.reshape(1)
        case "Squeeze" if first.shape == (1,):
            return first.reshape(())
        case "Cast" if integer_attribute(node.proto, "to") == TensorProto.INT64:
            return first.astype(np.int64)
        case "Concat" if all(operand.ndim == 1 and operand.dtype == first.dtype for operand in operands):
            return np.concatenate(operands)
    return None


def _static_dims(shape: NodeProto, source: TypeProto | None) -> _Array | None:
    """The result of a Shape node, if its input of type `source` has numbers for all dims that it returns."""
    if source is None or not source.tensor_type.HasField("shape"):
        return None
    ends = {attribute.name: attribute.i for attribute in shape.attribute}
    dims = list(source.tensor_type.shape.dim)[ends.get("start") : ends.get("end")]
    if not dims or any(not dim.HasField("dim_value") for dim in dims):
        return None
    return np.array([dim.dim_value for dim in dims], np.int64)


def fuse_reshape_targets(model: Model) -> None:
    """Replace the target shape of Reshapes as onnxruntime's optimizer does: -1 for the only size that is computed.

    If a dim is 0, onnx rejects the fused target but accepts the original one.
    https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/optimizer/reshape_fusion.cc
    """
    for graph, body in _graphs(model, model.proto):
        reshapes = [node for node in graph.file_nodes if _is_standard(node, "Reshape") and len(node.inputs) > 1]
        declared = (*body.input, *body.value_info, *body.output) if reshapes else ()
        single = {v.name for v in declared if [d.dim_value for d in v.type.tensor_type.shape.dim] == [1]}
        for node in reshapes:
            target = graph.producers.get(node.inputs[1])
            if target is None or not _is_standard(target[0], "Concat"):
                continue
            sizes = _fused(target[0], single)
            if sizes is not None and not any(a.name == "allowzero" and a.i for a in node.proto.attribute):
                name = f"{node.inputs[1]} of {node.proto.name}"
                body.initializer.append(from_array(np.array(sizes, np.int64), name))
                node.proto.input[1] = name


def _fused(target: Node, single: Set[str]) -> list[int] | None:
    """The elements of the Concat `target`, with -1 for its only unknown element; None when more are unknown."""
    found: list[int] = []
    unknown = 0
    for name in target.inputs:
        part = _constant(target.graph, name)
        if part is not None and part.data_type == TensorProto.INT64 and part.data_location != TensorProto.EXTERNAL:
            found += to_array(part).ravel().tolist()
        elif name in single:
            found.append(-1)
            unknown += 1
        else:
            return None
    return found if unknown == found.count(-1) == 1 else None


def _is_empty(dim: TensorShapeProto.Dimension) -> bool:
    return dim.HasField("dim_value") and dim.dim_value == 0


def _integers(tensor: TensorProto | None) -> list[int]:
    elements = None if tensor is None else _elements(tensor)
    return [] if elements is None else [int(n) for n in elements.ravel()]


def _elements(tensor: TensorProto | None) -> _Array | None:
    """The elements of a constant of sizes; None for any other tensor, and if the payload is missing."""
    if tensor is None or tensor.data_type not in _SIZE_TYPES or tensor.data_location == TensorProto.EXTERNAL:
        return None
    return to_array(tensor)


def _constant(graph: Graph, name: str) -> TensorProto | None:
    """The tensor of a constant that the graph itself defines; None for any other value."""
    found = graph.producers.get(name)
    if found is not None:
        return constant_tensor(found[0].proto)
    return None if name in graph.input_set else graph.initializers.get(name)


def constant_tensor(node: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node; None for another node, and if the Constant holds none."""
    if node.op_type != "Constant" or plain_domain(node.domain) or not len(node.attribute) == len(node.output) == 1:
        return None
    return node.attribute[0].t if node.attribute[0].HasField("t") else None


def _graphs(model: Model, proto: ModelProto) -> Iterator[tuple[Graph, GraphProto]]:
    """The graphs of a model without the bodies of its functions, each with its message in `proto`."""
    for path, body in bodies(proto):
        if isinstance(body, GraphProto):
            yield model[path], body


def _is_standard(node: Node, op_type: str) -> bool:
    return node.op_type == op_type and not node.domain
