"""IR reader: a model in OpenVINO's dialect, with a node per layer, a domain per opset, and weights left in the .bin."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from onnx import AttributeProto, GraphProto, ModelProto, helper

from gather_infer.errors import ModelReadError, shortened
from gather_infer.inference.constraints.persisted import KEY, DimConstraint, text_of
from gather_infer.model.file import ModelFile
from gather_infer.openvino.ir.branches import add_branches
from gather_infer.openvino.ir.constant_reader import ConstantReader, WeightsFile
from gather_infer.openvino.ir.document import Element, read_document
from gather_infer.openvino.ir.graph_builder import (
    READER_DOMAIN,
    RT_INFO,
    ConverterContext,
    GraphBuilder,
    PortType,
    annotate,
    declare,
    dialect_node,
    strings,
    type_of,
)
from gather_infer.openvino.ir.ir_element_types import input_type, lacks_onnx_type
from gather_infer.openvino.ir.layers import ELEMENT_CONVERTERS, IRLayer, flattened
from gather_infer.openvino.ir.loops import add_loop
from gather_infer.openvino.ir.network import Network, PortRef, network_of
from gather_infer.openvino.ir.shape_syntax import partial_shape
from gather_infer.symbolic import DimSyntaxError, Expr, Interval, parse_dim, symbol

OPSET: Final = 21
IR_VERSION: Final = 10
VERSIONS: Final = (10, 11)
"""Supported versions of the IR format."""
MAX_MESSAGE: Final = 1000
"""Largest length of a message in characters: names in a broken file may be megabytes long."""


@dataclass(frozen=True, slots=True, eq=False)
class IR:
    """A model that OpenVINO wrote.

    model     the model in OpenVINO's dialect; its external tensors are in the .bin
    ports     value -> type and dims that the file declares: hints that are not in `model`
    version   version of the IR format
    layers    (type, version) of layers -> their number, including layers of bodies
    bin       the file of the weights, None if it does not exist
    sinks     outputs of Assign layers, which dead code elimination has to keep although no layer reads them
    """

    model: ModelFile
    ports: Mapping[str, PortType]
    version: int
    layers: Mapping[tuple[str, str], int]
    bin: Path | None
    sinks: tuple[str, ...]


def read_ir(path: str | os.PathLike[str]) -> IR:
    """The model in the `.xml` at `path`, whose weights are in the `.bin` of the same name in the same directory.

    Only constants of up to 1 KiB, integers of up to 64 KiB and strings are read from the `.bin`.

    Raises ModelReadError, with the file and the layer, for a file that is not an IR of version 10 or 11, or is broken.
    """
    path = Path(path)
    if "\0" in str(path):
        raise ModelReadError(f"{str(path)!r}: a path has no NUL")
    try:
        root = read_document(path, ELEMENT_CONVERTERS)
        version = _version(root)
        with WeightsFile(path.with_suffix(".bin")) as weights:
            return _read(path, root, version, weights)
    except ModelReadError as error:
        raise ModelReadError(f"{path}: {shortened(str(error), MAX_MESSAGE)}") from error
    except OSError as error:
        raise ModelReadError(f"{error.filename or path}: {error.strerror}") from error


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """The model in the `.xml` at `path`, with the types of ports as `hints`. Raises ModelReadError as `read_ir`."""
    ir = read_ir(path)
    return replace(ir.model, hints={name: type_of(port) for name, port in ir.ports.items()})


def _version(root: Element) -> int:
    if root.tag != "net":
        raise ModelReadError(f"the root element of an IR is <net>, found <{root.tag}>")
    text = root.require("version")
    if text not in map(str, VERSIONS):
        raise ModelReadError(f"the IR version must be {VERSIONS[0]} or {VERSIONS[-1]}, found {text!r}")
    return int(text)


def _read(path: Path, root: Element, version: int, weights: WeightsFile) -> IR:
    proto = ModelProto(ir_version=IR_VERSION, producer_name="openvino")
    proto.graph.name = root.attributes.get("name", "") or path.stem.encode(errors="replace").decode()
    network = network_of(root)
    held = root.first("rt_info")
    for key, value in flattened(held) if held is not None else ():
        proto.metadata_props.add(key=RT_INFO + key, value=value)
    root.children.clear()
    context = ConverterContext(proto.graph, ConstantReader(weights))
    _write_main(context, proto, network)
    while context.pending:
        builder = context.pending.pop()
        _write(builder)
        if builder.finish is not None:
            builder.finish(builder)
    proto.opset_import.append(helper.make_opsetid("", OPSET))
    proto.opset_import.extend(helper.make_opsetid(domain, number) for domain, number in sorted(context.domains.items()))
    return IR(
        ModelFile(proto, base_dir=path.parent, label=str(path), foreign_format=f"OpenVINO IR v{version}"),
        context.ports,
        version,
        dict(context.layers),
        weights.path if weights.nbytes is not None else None,
        tuple(context.sinks),
    )


def _write_main(context: ConverterContext, proto: ModelProto, network: Network) -> None:
    builder = GraphBuilder(context, proto.graph, network)
    bounds = [bound for layer in network.of_type("Parameter") for bound in _add_input(builder, layer)]
    if bounds:
        proto.metadata_props.add(key=KEY, value=text_of(bounds))
    results = network.of_type("Result")
    outputs = _output_names(context, network, results)
    preset: dict[PortRef, str] = {}
    for layer, name in zip(results, outputs, strict=True):
        source = network.source(layer)
        if network.layers[source[0]].type not in ("Parameter", "Const"):
            preset.setdefault(source, name)
    builder.preset_names = preset

    def finish(done: GraphBuilder) -> None:
        for layer, name in zip(results, outputs, strict=True):
            source = network.source(layer)
            if done.values[source] != name:
                done.named_node("Identity", [done.values[source]], name)
            value = declare(proto.graph.output, name, done.element(layer, layer.single_port("input")))
            context.ports.setdefault(name, context.ports[done.values[source]])
            annotate(value, layer)

    builder.finish = finish
    context.pending.append(builder)


def _add_input(builder: GraphBuilder, layer: IRLayer) -> Iterator[DimConstraint]:
    """Declare the graph input of `layer`, a Parameter; yield bounds of its dims, which ONNX types cannot express."""
    port = layer.single_port("output")
    layer.attribute("element_type")
    with layer.error_context():
        shape = partial_shape(layer.attribute("shape"))
    name = builder.define(layer, port)
    value = declare(builder.graph.input, name, port.element, None if shape is None else (), type_of=input_type)
    annotate(value, layer)
    for axis, size in enumerate(shape or ()):
        if input_type(port.element) is None:
            return
        dim = value.type.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
            continue
        dim.dim_param = builder.context.symbols.fresh(_symbol_text(f"{name}.{axis}"))
        if size != Interval(0, None):
            of = symbol(dim.dim_param)
            assert isinstance(of, Expr), "a symbol is an expression"
            yield DimConstraint(of, size)


def _symbol_text(text: str) -> str:
    """`text`, unless it parses as an expression of other symbols: `2*n.0` becomes `2_n.0`."""
    try:
        is_symbol = parse_dim(text) == symbol(text)
    except DimSyntaxError:
        return text
    return text if is_symbol else re.sub(r"[^\w.]", "_", text)


def _output_names(context: ConverterContext, network: Network, results: list[IRLayer]) -> list[str]:
    """Names of the graph outputs, in the order of `results`.

    Each is the first unused name among the output names of the Result, the names of the port that it reads, and its
    layer name.
    """
    names = []
    for layer in results:
        port = network.outputs[network.source(layer)]
        wanted = (*layer.names, *port.names, layer.name)
        free = next((name for name in wanted if name not in context.names), wanted[0])
        names.append(context.names.fresh(free))
    return names


def _write(builder: GraphBuilder) -> None:
    """Write the layers of `builder` into its graph; builders of subgraphs are added to `pending` of the context."""
    context = builder.context
    for layer in builder.ordered():
        context.layers[layer.type, layer.version] += 1
        if layer.type in ("Parameter", "Const") and layer.inputs:
            raise layer.error(f"a {layer.type} has no inputs")
        if layer.type == "Result" and layer.outputs:
            raise layer.error("a Result has no outputs")
        match layer.type:
            case "Parameter":
                if (layer.id, layer.single_port("output").id) not in builder.values:
                    raise layer.error("nothing is bound to this Parameter of a body")
            case "Result":
                layer.single_port("input")
            case "Const":
                _add_constant(builder, layer)
            case "If":
                context.pending += reversed(add_branches(builder, layer))
            case "Loop" | "TensorIterator":
                context.pending.append(add_loop(builder, layer))
            case _:
                node = dialect_node(builder, layer)
                if layer.type == "Assign":
                    context.sinks.append(_sink(builder, layer, list(node.output)))


def _sink(builder: GraphBuilder, layer: IRLayer, outputs: list[str]) -> str:
    """The output of the node just written for `layer`, an Assign; an output is added if `outputs` is empty."""
    if not outputs:
        outputs = [builder.context.names.fresh(layer.name)]
        builder.graph.node[-1].output.extend(outputs)
    return outputs[0]


def _add_constant(builder: GraphBuilder, layer: IRLayer) -> None:
    constants = builder.context.constants
    constant = constants.describe(layer)
    port = layer.single_port("output")
    graph: GraphProto = builder.graph
    name = builder.define(layer, port)
    if not lacks_onnx_type(constant.element):
        graph.initializer.append(constants.tensor(layer, constant, name))
        return
    packed = builder.context.names.fresh(f"{name}.bytes")
    graph.initializer.append(constants.tensor(layer, constant, packed))
    builder.named_node("Const", [packed], name, READER_DOMAIN, element_type=constant.element)
    node = graph.node[-1]
    node.attribute.append(AttributeProto(name="shape", type=AttributeProto.INTS, ints=constant.shape))
    node.attribute.append(strings("output_types", [constant.element]))
