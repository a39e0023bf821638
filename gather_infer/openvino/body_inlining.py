"""Inlining: the nodes of a built function get names of the model that contains the lowered layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from onnx import NodeProto, TensorProto

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder


@dataclass(frozen=True, slots=True)
class InlinedBody:
    """The nodes and constants of an inlined function, with their names in the model.

    constants          new constants of the main graph that the nodes read
    constant_outputs   constants with the names of outputs of the lowered layer
    """

    nodes: tuple[NodeProto, ...]
    constants: tuple[TensorProto, ...]
    constant_outputs: tuple[TensorProto, ...] = ()


class Inliner:
    """Renames the values of built functions to names of one model; functions share equal constants.

    fresh   returns a name derived from its argument that the model does not use
    """

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self._fresh = fresh
        self._shared: dict[tuple[int, tuple[int, ...], bytes], str] = {}

    def inline(
        self, builder: FunctionBuilder, layer_name: str, inputs: Mapping[str, str], results: Mapping[str, str]
    ) -> InlinedBody:
        """The nodes and constants of the function in `builder`, renamed in place.

        layer_name  prefix for the names of new nodes and values
        inputs      input of the function -> name in the model
        results     value that the function returns, a node output or a constant -> name in the model
        """
        held = builder.constants
        names = {**inputs, **{local: name for local, name in results.items() if local not in held}}
        constants: list[TensorProto] = []
        for local in _read_names(builder.nodes):
            tensor = builder.constants.get(local)
            if tensor is None:
                continue
            key = tensor.data_type, tuple(tensor.dims), tensor.raw_data or tensor.SerializeToString()
            if key not in self._shared:
                self._shared[key] = self._fresh(f"{layer_name}/const" if layer_name else "const")
                constants.append(_renamed_tensor(tensor, self._shared[key]))
            names[local] = self._shared[key]
        for node in builder.nodes:
            self._name(node, layer_name, names)
        given = (_renamed_tensor(held[local], name) for local, name in results.items() if local in held)
        return InlinedBody(tuple(builder.nodes), tuple(constants), tuple(given))

    def _name(self, node: NodeProto, layer: str, names: dict[str, str]) -> None:
        node.name = self._fresh(f"{layer}/{node.op_type}" if layer else node.op_type)
        for values in (node.input, node.output):
            for position, local in enumerate(values):
                if local and local not in names:
                    names[local] = self._fresh(f"{layer}/{local}" if layer else local)
                values[position] = names[local] if local else ""
        for attribute in node.attribute:
            if attribute.HasField("g"):
                graph = attribute.g
                for value in (*graph.input, *graph.output):
                    if value.name not in names:
                        names[value.name] = self._fresh(f"{layer}/{value.name}" if layer else value.name)
                    value.name = names[value.name]
                for inner in graph.node:
                    self._name(inner, layer, names)


def _renamed_tensor(tensor: TensorProto, name: str) -> TensorProto:
    made = TensorProto()
    made.CopyFrom(tensor)
    made.name = name
    return made


def _read_names(nodes: Sequence[NodeProto]) -> list[str]:
    """The names that `nodes` and the nodes in their bodies read, each once."""
    found: dict[str, None] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        found.update(dict.fromkeys(node.input))
        for attribute in node.attribute:
            if attribute.HasField("g"):
                pending += attribute.g.node
    return list(found)
