"""A model with the inputs and outputs of another one, so that both run on the same feeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onnx import ValueInfoProto, helper
from onnx.compose import add_prefix

from gather_infer.model import ModelFile

_PREFIX = "second/"


def with_interface(model: ModelFile, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> ModelFile:
    """The model with other names of inputs and outputs, in another order; Identity nodes connect them.

    inputs   new name -> name in the model
    outputs  new name -> name in the model; the same may occur twice
    """
    proto = add_prefix(model.proto, _PREFIX, rename_functions=False)
    graph = proto.graph
    given = {value.name: value for value in graph.input}
    returned = {value.name: value for value in graph.output}
    others = [value for value in graph.input if value.name.removeprefix(_PREFIX) not in inputs.values()]
    graph.ClearField("input")
    graph.ClearField("output")
    for number, (name, held) in enumerate(inputs.items()):
        graph.input.append(_called(given[_PREFIX + held], name))
        graph.node.insert(number, helper.make_node("Identity", [name], [_PREFIX + held]))
    graph.input.extend(others)
    for name, held in outputs.items():
        graph.node.append(helper.make_node("Identity", [_PREFIX + held], [name]))
        graph.output.append(_called(returned[_PREFIX + held], name))
    return replace(model, proto=proto)


def _called(value: ValueInfoProto, name: str) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy
