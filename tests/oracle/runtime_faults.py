"""Known errors of onnxruntime 1.31: a run in which one occurs is no evidence about the inference."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

Arrays = Sequence[Any]
Fault = Callable[[NodeProto, Arrays, Arrays], bool]


def _attribute(node: NodeProto, name: str, default: Any) -> Any:
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def _empty_reduction(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """A Reduce of an empty tensor along a negative axis leaves the axis as it is."""
    given = inputs[1] if len(inputs) > 1 else _attribute(node, "axes", None)
    return inputs[0].size == 0 and given is not None and bool((np.asarray(given) < 0).any())


def _empty_arg_reduction(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """ArgMax and ArgMin do the same; along an axis >= 0 of no elements they fail, as they should."""
    return inputs[0].size == 0 and _attribute(node, "axis", 0) < 0


def _no_inner_dim(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """A MatMul with an inner dim of 0 drops the batch dims that only the second operand has."""
    return inputs[0].ndim > 0 and inputs[0].shape[-1] == 0


def _zero_with_minus_one(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """With allowzero a target that holds both 0 and -1 is accepted."""
    return _attribute(node, "allowzero", 0) == 1 and 0 in inputs[1] and -1 in inputs[1]


def _empty_tuples(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """GatherND accepts tuples of no elements, a batch_dims that leaves none of the axes of indices, any tuple when the
    slices are empty, and batch dims of data that are not those of indices."""
    batch_dims = _attribute(node, "batch_dims", 0)
    is_empty = inputs[0].size == 0 and inputs[1].size > 0
    differs = inputs[0].shape[:batch_dims] != inputs[1].shape[:batch_dims]
    return is_empty or differs or inputs[1].shape[-1] == 0 or batch_dims >= min(inputs[0].ndim, inputs[1].ndim)


def _empty_operand(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """Concat does not compare the other dims of an operand that is empty."""
    at = _attribute(node, "axis", 0) % inputs[0].ndim
    shapes = {tuple(d for k, d in enumerate(a.shape) if k != at) for a in inputs if a is not None}
    return len(shapes) > 1


def _empty_member(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """ConcatFromSequence does not compare the ranks and dims of a member that is empty."""
    return any(member.size == 0 for member in inputs[0]) and len({member.shape for member in inputs[0]}) > 1


ABORTS_ON_EMPTY = frozenset(
    {
        "AveragePool",
        "Conv",
        "ConvTranspose",
        "Einsum",
        "GRU",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "LSTM",
        "LpPool",
        "MaxPool",
        "Scan",
    }
)
"""Operators that end the process, or never end, on some empty inputs."""


def aborts_on_empty(node: NodeProto) -> bool:
    return node.op_type in ABORTS_ON_EMPTY or (
        node.op_type == "Unique" and any(a.name == "axis" for a in node.attribute)
    )


def has_aborting_node(nodes: Iterable[NodeProto]) -> bool:
    """Whether such an operator is among the nodes or in their subgraphs."""
    return any(
        aborts_on_empty(node) or any(has_aborting_node(a.g.node) for a in node.attribute if a.HasField("g"))
        for node in nodes
    )


def _wide_slope(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """PRelu accepts a slope that X has to be broadcast to."""
    return outputs[0].shape != inputs[0].shape


def _no_iteration(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """A Loop that never runs gives a scan output of which the body declares no rank the shape [0]."""
    body = _attribute(node, "body", None)
    scans = len(body.output) - len(body.input) + 1
    return any(
        a is not None and not proto.type.tensor_type.HasField("shape") and a.shape == (0,)
        for a, proto in zip(outputs[-scans:] if scans else (), body.output[-scans:], strict=scans > 0)
    )


def _backwards_to_the_largest(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """Slice takes the largest number as an end for "all the rest" where the step is negative, too."""
    if len(inputs) < 5 or inputs[4] is None:
        return False
    return bool(((inputs[4] < 0) & np.isin(inputs[2], (2**31 - 1, 2**63 - 1))).any())


def _low_halves(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """Clip, Max and Min compare int64 numbers of equal high halves by the low ones, which they take for signed."""
    given = [np.asarray(a) for a in inputs if a is not None]
    return given[0].dtype == np.int64 and any(
        bool(((a >> 32 == b >> 32) & ((a ^ b) >> 31 & 1 == 1)).any()) for a, b in itertools.combinations(given, 2)
    )


def _through_double(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    """A Reduce adds and multiplies int64 numbers as doubles, which do not hold those beyond 2^53."""
    return _is_beyond_double(inputs[0]) or _is_beyond_double(outputs[0])


def _is_beyond_double(value: Any) -> bool:
    """Whether an array has an int64 number that a double need not hold."""
    if not isinstance(value, np.ndarray) or value.dtype != np.int64:
        return False
    return bool(((value >= 2**53) | (value <= -(2**53))).any())


def _faulty_reduction(node: NodeProto, inputs: Arrays, outputs: Arrays) -> bool:
    return _empty_reduction(node, inputs, outputs) or _through_double(node, inputs, outputs)


FAULTS: dict[str, Fault] = {
    **dict.fromkeys(("Clip", "Max", "Min"), _low_halves),
    **{
        f"Reduce{kind}": _faulty_reduction
        for kind in ("Max", "Min", "Sum", "Mean", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    },
    "ArgMax": _empty_arg_reduction,
    "ArgMin": _empty_arg_reduction,
    "PRelu": _wide_slope,
    "Slice": _backwards_to_the_largest,
    "MatMul": _no_inner_dim,
    "Reshape": _zero_with_minus_one,
    "Loop": _no_iteration,
    "GatherND": _empty_tuples,
    "Concat": _empty_operand,
    "ConcatFromSequence": _empty_member,
}


def faulty_node(model: ModelProto, values: Mapping[str, Any], faults: Mapping[str, Fault] = FAULTS) -> str | None:
    """The operator of a node of the main graph whose known fault shows in a run."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        fault = faults.get(node.op_type)
        if fault is None or node.domain:
            continue
        inputs = [values.get(n, constants.get(n)) if n else None for n in node.input]
        outputs = [values.get(n) for n in node.output]
        if (node.op_type == "Loop" or isinstance(inputs[0], (np.ndarray, list))) and fault(node, inputs, outputs):
            return node.op_type
    return None


HIDDEN = frozenset({"Concat", "ConcatFromSequence", "GatherND", "MatMul"})
"""Their faults need an empty operand; inside a subgraph or function nobody sees whether there was one."""


def may_hide_a_fault(model: ModelProto, values: Mapping[str, Any]) -> bool:
    """Whether a subgraph or function has such an operator, in a run with empty tensors or large numbers, or a PRelu."""
    graphs = list(_subgraphs(model))
    inner = [n for f in (*model.functions, *graphs) for n in f.node]
    if any(n.op_type == "PRelu" for n in inner):
        return True  # nobody sees whether its slope is the larger one
    tensors = [t for g in (model.graph, *graphs) for t in g.initializer]
    tensors += [a.t for n in (*inner, *model.graph.node) for a in n.attribute if a.HasField("t")]
    arrays = [*map(numpy_helper.to_array, tensors), *values.values()]
    is_empty = any(isinstance(v, np.ndarray) and v.size == 0 for v in arrays)
    if is_empty and any(n.op_type in HIDDEN for n in inner):
        return True
    is_large = any(map(_is_beyond_double, arrays))
    return is_large and any(n.op_type.startswith("Reduce") for n in inner)


def _subgraphs(model: ModelProto) -> Iterator[GraphProto]:
    """The graphs in nodes of the main graph and of functions, however deep."""
    pending: list[GraphProto | FunctionProto] = [model.graph, *model.functions]
    while pending:
        found = [a.g for n in pending.pop().node for a in n.attribute if a.HasField("g")]
        yield from found
        pending += found
