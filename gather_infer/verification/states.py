"""State of OpenVINO's models: what variables hold in the first run, and where a conversion gives what is assigned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from gather_infer.domains import canonical_domain
from gather_infer.inference import Inference
from gather_infer.symbolic import evaluate, free_symbols
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.verification.data import Limits


def added_inputs(before: ModelProto, after: ModelProto) -> list[ValueInfoProto]:
    """The inputs without a default that a conversion has added: the state of the model."""
    known = {value.name for value in before.graph.input} | {tensor.name for tensor in after.graph.initializer}
    return [value for value in after.graph.input if value.name not in known]


def states_of(inference: Inference, proto: ModelProto) -> Iterator[tuple[str, Shape, Shape]]:
    """Of each variable that begins with a value the name under which it is read, its dims, and those of the value."""
    for node in proto.graph.node:
        if not _is(node, "ReadValue") or not node.input:
            continue
        held, first = (inference.get(name) for name in (node.output[0], node.input[0]))
        if isinstance(held, SymbolicTensor) and isinstance(first, SymbolicTensor):
            dims = held.shape, first.shape
            if dims[0] is not None and dims[1] is not None and len(dims[0]) == len(dims[1]):
                yield node.output[0], dims[0], dims[1]


def rows_of_states(inference: Inference, states: Iterable[tuple[str, Shape, Shape]]) -> Iterator[tuple[str, Limits]]:
    """What inputs may hold that index an axis of a variable: a conversion takes them for in bounds."""
    symbols = {name for _, dims, _ in states for dim in dims for name in free_symbols(dim)}
    for access in inference.accesses:
        trace = None if access.evidence is None else access.evidence.trace
        if access.addressing is None or trace is None or not free_symbols(access.addressing.size) & symbols:
            continue
        size = access.addressing.size
        for part in trace.parts:
            if part.input and part.direct:
                yield part.input, Limits(None, 0, size - 1)


def first_sizes(
    states: Iterable[tuple[str, Shape, Shape]], binding: Mapping[str, int]
) -> tuple[dict[str, list[int]], dict[str, int]]:
    """The sizes of variables in the first run, by the name under which they are read and by symbols of their dims."""
    held: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    for name, dims, first in states:
        if not all(free_symbols(dim) <= binding.keys() for dim in first):
            continue
        held[name] = [evaluate(dim, binding) for dim in first]
        sizes |= {str(dim): size for dim, size in zip(dims, held[name], strict=True) if not isinstance(dim, int)}
    return held, sizes


def first_state(value: ValueInfoProto, binding: Mapping[str, int], sizes: Sequence[int] | None) -> npt.NDArray[Any]:
    """What an input for state holds in the first run: True for the one that begins anew, else zeros.

    sizes   those of the value that the variable begins with, where they are known
    """
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else binding.get(dim.dim_param, 0) for dim in tensor.shape.dim]
    is_reset = tensor.elem_type == TensorProto.BOOL and value.name.startswith("reset_state")
    fill = np.ones if is_reset else np.zeros
    return fill(dims if sizes is None else sizes, helper.tensor_dtype_to_np_dtype(tensor.elem_type))


def assigned(before: ModelProto, after: ModelProto) -> list[str]:
    """The outputs of a conversion that stand for what is assigned, in the order of the names of the variables.

    "" for each where it cannot be told which they are.
    """
    ids: dict[str, list[str]] = {
        kind: [_variable_id(node) for node in before.graph.node if _is(node, kind)] for kind in ("ReadValue", "Assign")
    }
    names = [name for name in dict.fromkeys((*ids["ReadValue"], *ids["Assign"])) if name in ids["Assign"]]
    outputs = [value.name for value in after.graph.output[len(before.graph.output) :]]
    found = dict(zip(names, outputs, strict=True)) if len(names) == len(outputs) else {}
    return [found.get(name, "") for name in sorted(names)]


def _is(node: NodeProto, kind: str) -> bool:
    return bool(node.op_type == kind and canonical_domain(node.domain) == "openvino")


def _variable_id(node: NodeProto) -> str:
    """What the variable is called: the reader takes `1` for a number and `1,2` for a list."""
    held = next((helper.get_attribute_value(one) for one in node.attribute if one.name == "variable_id"), b"")
    if isinstance(held, bytes):
        return held.decode("utf-8", "replace")
    return ",".join(map(str, held)) if isinstance(held, list) else str(held)
