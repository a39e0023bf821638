"""Beam-index elimination: removal of inputs that only reorder the rows of state, such as `beam_idx` in beam search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from onnx import NodeProto, TensorProto, TypeProto, helper, numpy_helper

from gather_infer.ir import Model, Node, Value
from gather_infer.model.attributes import attribute_of
from gather_infer.openvino.dialect_nodes import is_openvino

_WHY: Final = "rows of the state keep their order"


@dataclass(frozen=True, slots=True)
class BeamIndex:
    """An input that only selects which rows of the state are read.

    input     name of the input
    gathers   the Gathers along axis 0 whose indices are the input
    converts  the Converts between the input and the Gathers in `gathers`
    """

    input: str
    gathers: tuple[Node, ...]
    converts: tuple[Node, ...]


def find_beam_indices(model: Model) -> tuple[BeamIndex, ...]:
    """The beam-index inputs of a model in OpenVINO's dialect: integer vectors that only index rows of the state."""
    finder = _BeamIndexFinder(model)
    found = (finder.find(value.name) for value in model.proto.graph.input if _is_vector(value.type.tensor_type))
    return tuple(one for one in found if one is not None)


def eliminate_beam_indices(model: Model) -> tuple[str, ...]:
    """Remove the beam-index inputs, so that rows of the state keep their order; returns their names."""
    found = find_beam_indices(model)
    for one in found:
        for gather in one.gathers:
            identity = helper.make_node("Identity", gather.inputs[:1], gather.outputs, gather.name)
            model.replace(gather, [identity], _WHY)
        for convert in one.converts:
            model.remove(convert, _WHY)
        model.remove_input(model.main, one.input, _WHY)
    return tuple(one.input for one in found)


class _BeamIndexFinder:
    """Decides whether an input is a beam index, by following its value to every reader."""

    def __init__(self, model: Model) -> None:
        self.graph = model.main

    def find(self, name: str) -> BeamIndex | None:
        if name in self.graph.initializers:
            return None
        gathers: list[Node] = []
        converts: list[Node] = []
        pending = [name]
        while pending:
            value = Value(self.graph, pending.pop())
            if value.is_output:
                return None
            for use in value.uses():
                node = use.node
                if node.graph is not self.graph or not is_openvino(node.proto):
                    return None
                if node.op_type == "Convert":
                    converts.append(node)
                    pending.append(node.outputs[0])
                elif node.op_type == "Gather" and use.index == 1 and self.gathers_state(node.proto):
                    gathers.append(node)
                else:
                    return None
        return BeamIndex(name, tuple(gathers), tuple(converts)) if gathers else None

    def gathers_state(self, gather: NodeProto) -> bool:
        """Whether the node `gather` selects rows, along axis 0, of a state variable."""
        if len(gather.input) != 3 or self.elements(gather.input[2]) != [0]:
            return False
        if str(attribute_of(gather, "batch_dims", 0)) != "0":
            return False
        return any(node.op_type == "ReadValue" for node in self.row_preserving_producers(gather.input[0]))

    def row_preserving_producers(self, name: str) -> Iterator[NodeProto]:
        """The producer of the value `name`, then the producer of its first input, and so on up.

        Ends with the first node that does not keep rows (axis 0) whole, such as a ReadValue.
        """
        while (found := self.graph.producers.get(name)) is not None and is_openvino(found[0].proto):
            node = found[0].proto
            yield node
            preserves_rows = node.op_type in ("Convert", "ConvertLike")
            if node.op_type == "Transpose":
                preserves_rows = (self.elements(node.input[1]) or [1])[0] == 0
            if not preserves_rows:
                return
            name = node.input[0]

    def elements(self, name: str) -> list[int] | None:
        """The elements of the integer initializer `name`; None for any other value, and for external data."""
        tensor = self.graph.initializers.get(name)
        if tensor is None or tensor.external_data or tensor.data_type not in (TensorProto.INT64, TensorProto.INT32):
            return None
        return [int(element) for element in numpy_helper.to_array(tensor).reshape(-1)]


def _is_vector(tensor: TypeProto.Tensor) -> bool:
    """Whether `tensor` is the type of a vector of int32 or int64."""
    return tensor.elem_type in (TensorProto.INT64, TensorProto.INT32) and len(tensor.shape.dim) == 1
