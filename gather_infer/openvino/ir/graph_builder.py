"""Graph builders of the reader: names, nodes and constants of each graph, and the context of the whole file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from gather_infer.model.names import Names
from gather_infer.openvino.ir.constant_reader import ConstantReader
from gather_infer.openvino.ir.ir_element_types import DYNAMIC, lacks_onnx_type, onnx_type
from gather_infer.openvino.ir.layers import IRLayer, Port
from gather_infer.openvino.ir.network import Network, PortRef, topologically_sorted

RT_INFO: Final = "openvino.rt_info."
READER_DOMAIN: Final = "openvino.opset1"
"""Domain of nodes that the reader adds without a layer: `Const`, `ConcatParts`."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INTEGERS = re.compile(r"(?:0|-?[1-9][0-9]{0,18})(?:,(?:0|-?[1-9][0-9]{0,18}))+")


@dataclass(frozen=True, slots=True)
class PortType:
    """The type that the file states for a value: a hint, used only where inference finds no type.

    element   OpenVINO's name of the element type, `dynamic` when unknown
    dims      a size per axis, None for an unknown one; None when there is no `<dim>`: a scalar, or unknown rank
    """

    element: str
    dims: tuple[int | None, ...] | None


def type_of(port: PortType) -> TypeProto:
    """The type of a port as a type of ONNX, with the element type undefined where ONNX lacks it."""
    made = TypeProto()
    tensor = made.tensor_type
    tensor.elem_type = onnx_type(port.element) or TensorProto.UNDEFINED
    for size in () if port.dims is None else port.dims:
        dim = tensor.shape.dim.add()
        if size is not None:
            dim.dim_value = size
    return made


@dataclass(slots=True)
class ConverterContext:
    """Converter context: the state that all graphs of a file share.

    names             of its values
    symbols           names of the dims of its inputs
    shared_constants  constants that the reader adds, by type, shape and bytes
    pending           graphs still to be written
    """

    main: GraphProto
    constants: ConstantReader
    names: Names = field(default_factory=lambda: Names(ModelProto()))
    symbols: Names = field(default_factory=lambda: Names(ModelProto()))
    ports: dict[str, PortType] = field(default_factory=dict)
    layers: Counter[tuple[str, str]] = field(default_factory=Counter)
    domains: dict[str, int] = field(default_factory=dict)
    sinks: list[str] = field(default_factory=list)
    pending: list[GraphBuilder] = field(default_factory=list)
    shared_constants: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def constant(self, value: npt.ArrayLike, dtype: type = np.int64) -> str:
        """An initializer of the main graph, visible in all bodies; equal values share one."""
        array: npt.NDArray[Any] = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        name = self.shared_constants.get(key)
        if name is None:
            name = self.shared_constants[key] = self.names.fresh("const")
            self.main.initializer.append(numpy_helper.from_array(array, name))
        return name

    def domain(self, layer: IRLayer) -> str:
        """The domain of the layer's node; adds it to the opset imports of the model."""
        name = f"openvino.{layer.version}" if layer.opset is None else f"openvino.opset{layer.opset}"
        self.domains[name] = layer.opset or 1
        return name


@dataclass(slots=True)
class GraphBuilder:
    """Builder of one graph from a network.

    values        the value of each known output; those of a body's Parameters are bound before it is written
    preset_names  required names of outputs
    finish        called once the nodes of the graph are written
    """

    context: ConverterContext
    graph: GraphProto
    network: Network
    values: dict[PortRef, str] = field(default_factory=dict)
    preset_names: Mapping[PortRef, str] = field(default_factory=dict)
    finish: Callable[[GraphBuilder], None] | None = None
    produced: set[str] = field(default_factory=set)

    def ordered(self) -> list[IRLayer]:
        return topologically_sorted(self.network)

    def result(self, layer: IRLayer) -> str:
        """The value that a Result layer returns."""
        return self.values[self.network.source(layer)]

    def inputs(self, layer: IRLayer) -> list[str]:
        """The values that a layer reads, by input port."""
        sources = self.network.sources
        return [self.values[sources[layer.id, port.id]] for port in layer.inputs]

    def element(self, layer: IRLayer, port: Port) -> str:
        """The element type of an input: that of the output which it reads."""
        source = self.network.outputs[self.network.sources[layer.id, port.id]].element
        return port.element if source == DYNAMIC else source

    def define(self, layer: IRLayer, port: Port) -> str:
        """A new value for an output port."""
        end = (layer.id, port.id)
        name = self.preset_names.get(end)
        if name is None:
            several = len(layer.outputs) > 1
            own = f"{layer.name}.{layer.outputs.index(port)}" if several else layer.name
            name = self.context.names.fresh(layer.name if layer.name in port.names else (*port.names, own)[0])
        self.values[end] = name
        self.context.ports[name] = PortType(port.element, port.dims)
        return name

    def node(self, op_type: str, inputs: Iterable[str], stem: str, **attributes: Any) -> str:
        """Add a node of ai.onnx with one output, whose name begins with `stem`."""
        return self.named_node(op_type, inputs, self.context.names.fresh(stem), "", **attributes)

    def named_node(self, op_type: str, inputs: Iterable[str], output: str, domain: str = "", **attributes: Any) -> str:
        """Add a node without a layer, named like its one output."""
        made = helper.make_node(op_type, list(inputs), [output], output, domain=domain, **attributes)
        if domain:
            self.context.domains.setdefault(domain, 1)
        self.graph.node.append(made)
        self.produced.add(output)
        return output

    def fresh_output(self, value: str, stem: str) -> str:
        """A value to return from the graph: `value` itself if one of its nodes made it and it is no output yet."""
        if value in self.produced:
            self.produced.remove(value)
            return value
        return self.node("Identity", [value], stem)


def declare(
    values: Any,
    name: str,
    element: str,
    dims: Sequence[int] | None = None,
    type_of: Callable[[str], int | None] = onnx_type,
) -> ValueInfoProto:
    """Add an input or output to the graph's list `values`, without a type where ONNX lacks the element type."""
    made: ValueInfoProto = values.add(name=name)
    number = type_of(element)
    if number is not None:
        made.type.tensor_type.elem_type = number
        if dims is not None:
            made.type.tensor_type.shape.SetInParent()
            for size in dims:
                made.type.tensor_type.shape.dim.add(dim_value=size)
    return made


def dialect_node(builder: GraphBuilder, layer: IRLayer) -> NodeProto:
    """Add the dialect node of a layer, with attributes unchanged."""
    node: NodeProto = builder.graph.node.add(op_type=layer.type, name=layer.name, domain=builder.context.domain(layer))
    node.input.extend(builder.inputs(layer))
    node.attribute.extend(_attribute(name, text) for name, text in layer.data.items())
    input_types = [builder.element(layer, port) for port in layer.inputs]
    output_types = [port.element for port in layer.outputs]
    if any(map(lacks_onnx_type, (*input_types, *output_types))):
        if not layer.data.keys().isdisjoint(("input_types", "output_types")):
            raise layer.error("attributes 'input_types' and 'output_types' are reserved for the reader")
        node.attribute.append(strings("input_types", input_types))
        node.attribute.append(strings("output_types", output_types))
    node.output.extend(builder.define(layer, port) for port in layer.outputs)
    builder.produced.update(node.output)
    annotate(node, layer)
    return node


def annotate(holder: Any, layer: IRLayer) -> None:
    """Add the `rt_info` of a layer and of its ports to the metadata of a node, an input or an output."""
    for key, value in layer.rt_info:
        holder.metadata_props.add(key=RT_INFO + key, value=value)
    for kind, ports in (("input", layer.inputs), ("output", layer.outputs)):
        for position, port in enumerate(ports):
            for key, value in port.rt_info:
                holder.metadata_props.add(key=f"{RT_INFO}{kind}.{position}.{key}", value=value)


def _attribute(name: str, text: str) -> AttributeProto:
    """An attribute of `<data>`: an integer or list of integers for text in their canonical form, else a string."""
    if _INTEGER.fullmatch(text) and _fits(int(text)):
        return AttributeProto(name=name, type=AttributeProto.INT, i=int(text))
    if _INTEGERS.fullmatch(text) and all(map(_fits, numbers := [int(part) for part in text.split(",")])):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=numbers)
    return AttributeProto(name=name, type=AttributeProto.STRING, s=text.encode())


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**63


def strings(name: str, texts: Iterable[str]) -> AttributeProto:
    return AttributeProto(name=name, type=AttributeProto.STRINGS, strings=[text.encode() for text in texts])
