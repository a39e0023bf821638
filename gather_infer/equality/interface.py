"""A model with other inputs and outputs: those of another one, so that both run on the same feeds, or fewer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from onnx import ModelProto, ValueInfoProto, helper
from onnx.compose import add_prefix

from gather_infer.errors import UsageError
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


def without_outputs(model: ModelFile, names: Collection[str]) -> ModelFile:
    """The model with all its nodes, and without these outputs.

    Raises UsageError for a name that is no output, or if no output is left.
    """
    known = [value.name for value in model.proto.graph.output]
    for name in names:
        if name not in known:
            raise UsageError(f"{name!r} is no output of the first model; it has {', '.join(known)}")
    left = [value for value in model.proto.graph.output if value.name not in names]
    if not left:
        raise UsageError("no output is left to compare")
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    del proto.graph.output[:]
    proto.graph.output.extend(left)
    return replace(model, proto=proto, path=None, original=None, label=model.name)


def _called(value: ValueInfoProto, name: str) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy
