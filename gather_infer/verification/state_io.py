"""State of OpenVINO models: initial values of variables, and the inputs and outputs of a conversion for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

from gather_infer.domains import canonical_domain
from gather_infer.inference import Inference
from gather_infer.model.attributes import attribute_text
from gather_infer.symbolic import evaluate, free_symbols
from gather_infer.tensor import DType, Shape, SymbolicTensor
from gather_infer.verification.element_sampling import ElementLimits


class StateIO:
    """State I/O of an IR and of its conversion.

    added           inputs without a default that the conversion has added
    initial_values  for each variable with an initial value: the name of the value that ReadValue returns, its dims, the
                    dims of the initial value
    assigned        outputs of the conversion that represent assigned state, sorted by variable; "" where unknown
    links           input of the conversion that represents a variable -> the output that represents its new value
    """

    def __init__(self, inference: Inference, after: ModelProto) -> None:
        before = inference.model.proto
        known = {value.name for value in before.graph.input}
        constants = {tensor.name for tensor in after.graph.initializer}
        inputs = [value for value in after.graph.input if value.name not in known]
        self.added = [value for value in inputs if value.name not in constants]
        self.initial_values = list(_initial_values(inference, before))
        reads: dict[str, list[str]] = {}
        for node in before.graph.node:
            if _is_openvino_op(node, "ReadValue"):
                reads.setdefault(attribute_text(node, "variable_id"), []).append(node.output[0])
        ids = [attribute_text(node, "variable_id") for node in before.graph.node if _is_openvino_op(node, "Assign")]
        names = [name for name in dict.fromkeys((*reads, *ids)) if name in ids]
        outputs = [value.name for value in after.graph.output[len(before.graph.output) :]]
        found = dict(zip(names, outputs, strict=True)) if len(names) == len(outputs) else {}
        self.assigned = [found.get(name, "") for name in sorted(names)]
        given = {value.name for value in inputs}
        self.links: dict[str, str] = {}
        for name, values in reads.items():
            past = next((one for value in values for one in (value, f"{value}_past") if one in given), "")
            if past and found.get(name):
                self.links[past] = found[name]
        self.count = len(reads)

    @property
    def is_linked(self) -> bool:
        """Whether the model has state, and every variable has an input and an output in the conversion."""
        return bool(self.count) and len(self.links) == self.count

    def initial_sizes(self, binding: Mapping[str, int]) -> dict[str, int]:
        """Symbol in the dims of a variable -> its size in the initial value."""
        sizes: dict[str, int] = {}
        for name, dims, _ in self.initial_values:
            held = self._initial_shape(name, binding)
            pairs = () if held is None else zip(dims, held, strict=True)
            sizes |= {str(dim): size for dim, size in pairs if not isinstance(dim, int)}
        return sizes

    def sizes_after(self, results: Mapping[str, Any]) -> dict[str, int]:
        """Symbol in the dims of a variable -> its size after a run of the conversion with the outputs `results`."""
        sizes: dict[str, int] = {}
        for name, dims, _ in self.initial_values:
            present = self.links.get(name, self.links.get(f"{name}_past", ""))
            if present:
                pairs = zip(dims, np.shape(results[present]), strict=True)
                sizes |= {str(dim): size for dim, size in pairs if not isinstance(dim, int)}
        return sizes

    def initial_feeds(self, binding: Mapping[str, int]) -> dict[str, npt.NDArray[Any]]:
        """The feeds of the added inputs in the first run: zeros, and True for the input that resets the state."""
        return {
            value.name: _initial_feed(value, binding, self._initial_shape(value.name, binding)) for value in self.added
        }

    def next_feeds(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """The feeds of the state inputs for the next run of the conversion, taken from the `results` of the previous
        one.
        """
        found = {past: results[present] for past, present in self.links.items()}
        resets = [value.name for value in self.added if value.name not in found]
        return found | {name: np.zeros((), np.bool_) for name in resets}

    def _initial_shape(self, name: str, binding: Mapping[str, int]) -> list[int] | None:
        """The shape of the initial value of a variable, whose read value is called `name`; None if it is unknown."""
        for read, _, first in self.initial_values:
            if read == name and all(free_symbols(dim) <= binding.keys() for dim in first):
                return [evaluate(dim, binding) for dim in first]
        return None


def _initial_values(inference: Inference, proto: ModelProto) -> Iterator[tuple[str, Shape, Shape]]:
    for node in proto.graph.node:
        if not _is_openvino_op(node, "ReadValue") or not node.input:
            continue
        held, first = (inference.get(name) for name in (node.output[0], node.input[0]))
        if isinstance(held, SymbolicTensor) and isinstance(first, SymbolicTensor):
            dims = held.shape, first.shape
            if dims[0] is not None and dims[1] is not None and len(dims[0]) == len(dims[1]):
                yield node.output[0], dims[0], dims[1]


def state_index_limits(
    inference: Inference, states: Iterable[tuple[str, Shape, Shape]]
) -> Iterator[tuple[str, ElementLimits]]:
    """(input, limits) of inputs that index an axis of a variable: a conversion assumes that they are in bounds."""
    symbols = {name for _, dims, _ in states for dim in dims for name in free_symbols(dim)}
    for access in inference.accesses:
        trace = None if access.facts_before is None else access.facts_before.provenance
        if access.addressing is None or trace is None or not free_symbols(access.addressing.size) & symbols:
            continue
        size = access.addressing.size
        for part in trace.origins:
            if part.input and part.direct:
                yield part.input, ElementLimits(None, 0, size - 1)


def _initial_feed(value: ValueInfoProto, binding: Mapping[str, int], sizes: Sequence[int] | None) -> npt.NDArray[Any]:
    """The feed of a state input in the first run.

    sizes   the shape of the initial value of the variable; None if it is unknown
    """
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else binding.get(dim.dim_param, 0) for dim in tensor.shape.dim]
    is_reset = tensor.elem_type == TensorProto.BOOL and value.name.startswith("reset_state")
    fill = np.ones if is_reset else np.zeros
    return fill(dims if sizes is None else sizes, DType(tensor.elem_type).dtype)


def _is_openvino_op(node: NodeProto, kind: str) -> bool:
    return bool(node.op_type == kind and canonical_domain(node.domain) == "openvino")
