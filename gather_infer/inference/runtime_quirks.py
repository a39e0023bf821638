"""Runtime quirks: cases in which onnxruntime and onnx's shape inference infer different sizes.

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
from gather_infer.model.attributes import integer_attribute
from gather_infer.model.paths import bodies

_Array: TypeAlias = npt.NDArray[Any]

_LARGEST: Final = (2**31 - 1, 2**63 - 1)
"""Ends of a Slice that onnxruntime treats as unbounded, for forward and backward steps."""


def misinferred_slices(proto: ModelProto) -> Iterator[NodeProto]:
    """The Slices for which onnxruntime infers another size than it computes, so that it refuses to load the model.

    For a backward Slice whose end is the largest integer, the kernel returns all elements down to the first one, but
    onnx infers an empty result.
    https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/providers/cpu/tensor/slice_helper.h
    """
    for _, body in bodies(proto):
        if not isinstance(body, GraphProto):
            continue
        numbers = _numbers(body)
        sized = {v.name for v in (*body.value_info, *body.output) if any(_is_empty(d) for d in dims_of(v.type))}
        for node in body.node:
            if is_stepped_slice(node) and node.output[0] in sized:
                ends, steps = (_integers(numbers.get(node.input[at])) for at in (2, 4))
                if any(step < 0 and end in _LARGEST for end, step in zip(ends, steps, strict=False)):
                    yield node


def is_if(node: NodeProto) -> bool:
    return _is_standard(node, "If")


def is_stepped_slice(node: NodeProto) -> bool:
    """Whether a node is a Slice with the input `steps`, so that a step may be negative."""
    return _is_standard(node, "Slice") and len(node.input) == 5


_SIZE_TYPES: Final = (TensorProto.INT64, TensorProto.INT32)


def fold_sizes(proto: ModelProto) -> bool:
    """Replace nodes by Constants where onnxruntime's data propagation knows the result; returns whether there were any.

    onnxruntime passes such sizes to the shape inference of all operators as if they were constants: a TopK with
    k = Shape(w) is refused if the axis is shorter. onnx's own propagation reaches few operators.

    proto   after onnx's shape inference, with `value_info` for the values; nodes in topological order
    """
    is_changed = False
    for _, body in bodies(proto):
        if not isinstance(body, GraphProto):
            continue
        types = {v.name: v.type for v in (*body.input, *body.value_info, *body.output)}
        known = {name: to_array(held) for name, held in _numbers(body).items() if held.data_type in _SIZE_TYPES}
        for node in body.node:
            found = _sizes(node, types, known)
            if found is not None:
                is_changed = True
                known[node.output[0]] = found
                node.CopyFrom(make_node("Constant", [], list(node.output), node.name, value=from_array(found)))
    return is_changed


def _sizes(node: NodeProto, types: Mapping[str, TypeProto], known: Mapping[str, _Array]) -> _Array | None:
    """The elements of the output of a node that onnxruntime propagates, a scalar or a vector; None if unknown.

    types   of the values of the graph
    known   integer value -> its elements
    """
    if plain_domain(node.domain) or len(node.output) != 1 or not node.output[0]:
        return None
    if node.op_type == "Shape":
        return _static_dims(node, types.get(node.input[0]))
    operands = [known[name] for name in node.input if name in known]
    if not operands or len(operands) < len(node.input):
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
        case "Cast" if integer_attribute(node, "to") == TensorProto.INT64:
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


def fuse_reshape_targets(proto: ModelProto) -> None:
    """Replace the target shape of Reshapes as onnxruntime's optimizer does: -1 for the only size that is computed.

    If a dim is 0, onnx rejects the fused target but accepts the original one.
    https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/optimizer/reshape_fusion.cc
    """
    for _, body in bodies(proto):
        if not isinstance(body, GraphProto):
            continue
        numbers = _numbers(body)
        single = {
            v.name
            for v in (*body.input, *body.value_info, *body.output)
            if [d.dim_value for d in v.type.tensor_type.shape.dim] == [1]
        }
        joined = {node.output[0]: node for node in body.node if _is_standard(node, "Concat") and node.output}
        for node in body.node:
            if not _is_standard(node, "Reshape") or integer_attribute(node, "allowzero"):
                continue
            target = joined.get(node.input[1]) if len(node.input) > 1 else None
            sizes = None if target is None else _fused(target, numbers, single)
            if sizes is not None:
                body.initializer.append(from_array(np.array(sizes, np.int64), f"{node.input[1]} of {node.name}"))
                node.input[1] = body.initializer[-1].name


def _fused(target: NodeProto, numbers: Mapping[str, TensorProto], single: Set[str]) -> list[int] | None:
    """The elements of the Concat `target`, with -1 for its only unknown element; None when more are unknown."""
    found: list[int] = []
    unknown = 0
    for name in target.input:
        part = numbers.get(name)
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
    is_read = tensor is not None and tensor.data_location != TensorProto.EXTERNAL
    return [int(n) for n in to_array(tensor).ravel()] if tensor is not None and is_read else []


def _numbers(body: GraphProto) -> dict[str, TensorProto]:
    """The constants of a graph by name."""
    given = {v.name for v in body.input}
    numbers = {t.name: t for t in body.initializer if t.name not in given}
    return numbers | {node.output[0]: node.attribute[0].t for node in body.node if is_constant(node)}


def is_constant(node: NodeProto) -> bool:
    """Whether a node is a Constant that holds a tensor."""
    return (
        node.op_type == "Constant"
        and not plain_domain(node.domain)
        and len(node.attribute) == len(node.output) == 1
        and node.attribute[0].HasField("t")
    )


def _is_standard(node: NodeProto, op_type: str) -> bool:
    return node.op_type == op_type and not plain_domain(node.domain)
