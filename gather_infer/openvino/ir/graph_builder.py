"""Graph builders of the reader, which write names, nodes and constants of one graph, and their shared context."""

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
)

from gather_infer.model.elements import from_array
from gather_infer.model.names import Names
from gather_infer.openvino.ir.constant_reader import ConstantReader
from gather_infer.openvino.ir.ir_element_types import DYNAMIC, lacks_onnx_type, onnx_type
from gather_infer.openvino.ir.layers import IRLayer, Port
from gather_infer.openvino.ir.network import Network, PortRef, topologically_sorted

RT_INFO: Final = "openvino.rt_info."
READER_DOMAIN: Final = "openvino.opset1"
"""Domain of the node types `Const` and `ConcatParts`, which only the reader produces."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INTEGERS = re.compile(r"(?:0|-?[1-9][0-9]{0,18})(?:,(?:0|-?[1-9][0-9]{0,18}))+")


@dataclass(frozen=True, slots=True)
class PortType:
    """The type that the file declares for a value: a hint, used only where inference finds no type.

    element   OpenVINO's name of the element type, `dynamic` if unknown
    dims      a size per axis, None for an unknown size; None without any `<dim>`, for a scalar or an unknown rank
    """

    element: str
    dims: tuple[int | None, ...] | None


def type_of(port: PortType) -> TypeProto:
    """`port` as a tensor type of ONNX; the element type is UNDEFINED if ONNX lacks it."""
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

    main              the main graph
    constants         reader of the Const layers
    names             value names in use
    symbols           symbols in use for dims of inputs
    ports             value -> its type in the file
    layers            (type, version) of layers -> their number
    domains           domain -> version, for the opset imports
    sinks             outputs of Assign layers
    pending           builders of graphs whose layers are not yet written
    shared_constants  (numpy dtype, shape, bytes) -> name of the constant that the reader added
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
        """Name of an initializer of the main graph that holds `value`; equal values share one initializer."""
        array: npt.NDArray[Any] = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        name = self.shared_constants.get(key)
        if name is None:
            name = self.shared_constants[key] = self.names.fresh("const")
            self.main.initializer.append(from_array(array, name))
        return name

    def domain(self, layer: IRLayer) -> str:
        """The domain of the node for `layer`, such as `openvino.opset8`; adds the domain to the opset imports."""
        name = f"openvino.{layer.version}" if layer.opset is None else f"openvino.opset{layer.opset}"
        self.domains[name] = layer.opset or 1
        return name


@dataclass(slots=True)
class GraphBuilder:
    """Builder of one graph from a network.

    values        output port -> value, for the ports known so far; the ports of Parameters are bound first
    preset_names  output port -> required name of its value
    finish        called with the builder after the nodes of the graph are written
    produced      values that nodes of the graph compute, without values that are graph outputs already
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
        """The value that `layer`, a Result, returns."""
        return self.values[self.network.source(layer)]

    def inputs(self, layer: IRLayer) -> list[str]:
        """The values that `layer` reads, in the order of its input ports."""
        sources = self.network.sources
        return [self.values[sources[layer.id, port.id]] for port in layer.inputs]

    def element(self, layer: IRLayer, port: Port) -> str:
        """The element type of the input `port` of `layer`, taken from the output port that it reads if known there."""
        source = self.network.outputs[self.network.sources[layer.id, port.id]].element
        return port.element if source == DYNAMIC else source

    def define(self, layer: IRLayer, port: Port) -> str:
        """Create the value for the output `port` of `layer`, record it with its type, and return its name."""
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
        """Add a node of ai.onnx with one output; returns the name of the output, which begins with `stem`."""
        return self.named_node(op_type, inputs, self.context.names.fresh(stem), "", **attributes)

    def named_node(self, op_type: str, inputs: Iterable[str], output: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output; `output`, which is returned, is the name of both node and output."""
        made = helper.make_node(op_type, list(inputs), [output], output, domain=domain, **attributes)
        if domain:
            self.context.domains.setdefault(domain, 1)
        self.graph.node.append(made)
        self.produced.add(output)
        return output

    def fresh_output(self, value: str, stem: str) -> str:
        """The name to return from the graph for `value`, valid for one graph output only.

        The name is `value` if a node of the graph computes it and it is not an output yet. Otherwise it is the name of
        a copy, which begins with `stem`.
        """
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
    """Add the input or output `name` to `values`, the list of inputs or outputs of a graph; returns the new entry.

    element   OpenVINO's name of the element type; the entry has no type if `type_of` returns None for it
    dims      sizes, None for an unknown rank
    """
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
    """Add the node of the dialect for `layer`, with the attributes of the layer.

    If ONNX lacks an element type, `input_types` and `output_types` hold OpenVINO's names of the types.
    """
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
    """Add the `rt_info` of `layer` and of its ports to the metadata of `holder`, a node, an input or an output."""
    for key, value in layer.rt_info:
        holder.metadata_props.add(key=RT_INFO + key, value=value)
    for kind, ports in (("input", layer.inputs), ("output", layer.outputs)):
        for position, port in enumerate(ports):
            for key, value in port.rt_info:
                holder.metadata_props.add(key=f"{RT_INFO}{kind}.{position}.{key}", value=value)


def _attribute(name: str, text: str) -> AttributeProto:
    """The attribute `name` of `<data>`: an int or ints if `text` is their canonical decimal form, else a string."""
    if _INTEGER.fullmatch(text) and _fits(int(text)):
        return AttributeProto(name=name, type=AttributeProto.INT, i=int(text))
    if _INTEGERS.fullmatch(text) and all(map(_fits, numbers := [int(part) for part in text.split(",")])):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=numbers)
    return AttributeProto(name=name, type=AttributeProto.STRING, s=text.encode())


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**63


def strings(name: str, texts: Iterable[str]) -> AttributeProto:
    return AttributeProto(name=name, type=AttributeProto.STRINGS, strings=[text.encode() for text in texts])
