"""Declarations of values that become inputs or outputs, from the declared and the inferred types."""

from __future__ import annotations

from onnx import ModelProto, ValueInfoProto

from gather_infer.errors import EditRefused
from gather_infer.inference import Inference
from gather_infer.inference.annotate import complete, fits, replace_type
from gather_infer.inference.dim_rendering import dim_renderer
from gather_infer.inference.interface_types import declared_dims
from gather_infer.inference.proto.types import to_type


class Declarations:
    """The declarations of values of a main graph, with inferred types for those that are no input or output yet."""

    def __init__(self, source: str, proto: ModelProto, inference: Inference) -> None:
        """source  the name of the model in messages"""
        self._source = source
        graph = proto.graph
        self._inputs: dict[str, ValueInfoProto] = {value.name: value for value in graph.input}
        self._outputs: dict[str, ValueInfoProto] = {value.name: value for value in graph.output}
        self._others: dict[str, ValueInfoProto] = {value.name: value for value in graph.value_info}
        self._inference = inference
        self._render = dim_renderer(proto, inference.scopes, inference.inputs)

    def of_input(self, name: str) -> ValueInfoProto:
        """The declaration of a value as an input. Raises EditRefused if its element type is unknown."""
        known = self._inputs.get(name)
        return known if known is not None else self._inferred(name, self._others.get(name) or self._outputs.get(name))

    def of_output(self, name: str) -> ValueInfoProto:
        """The declaration of a value as an output. Raises EditRefused if its element type is unknown."""
        known = self._outputs.get(name)
        if known is not None and declared_dims(known.type) is not None:
            return known
        return self._inferred(name, known or self._inputs.get(name) or self._others.get(name))

    def _inferred(self, name: str, known: ValueInfoProto | None) -> ValueInfoProto:
        """A declaration with the inferred type, and with doc string and metadata of the known one."""
        value = ValueInfoProto(name=name)
        if known is not None:
            value.CopyFrom(known)
        fact = self._inference.get(name)
        inferred = None if fact is None else to_type(fact, self._render)
        if inferred is not None:
            if declared_dims(inferred) is None and fits(value.type, inferred):
                complete(inferred, value.type)
            replace_type(value.type, inferred)
        if value.type.WhichOneof("value") is None:
            raise EditRefused(
                f"{self._source}: the element type of {name} is unknown, and an input or output has to declare it"
            )
        return value
