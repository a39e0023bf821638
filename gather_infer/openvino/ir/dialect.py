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
from gather_infer.openvino.ir.constants import ConstantReader, Weights
from gather_infer.openvino.ir.document import Element, read_document
from gather_infer.openvino.ir.elements import input_type, is_foreign
from gather_infer.openvino.ir.graph import (
    OWN_DOMAIN,
    RT_INFO,
    Book,
    Draft,
    PortType,
    annotate,
    declare,
    dialect_node,
    strings,
    type_of,
)
from gather_infer.openvino.ir.layers import COMPACT, Layer, flattened
from gather_infer.openvino.ir.loops import add_loop
from gather_infer.openvino.ir.network import End, Network, network_of
from gather_infer.openvino.ir.shapes import partial_shape
from gather_infer.symbolic import DimSyntaxError, Expr, Interval, parse_dim, symbol

OPSET: Final = 21
IR_VERSION: Final = 10
VERSIONS: Final = (10, 11)
"""Supported IR versions."""
MAX_MESSAGE: Final = 1000
"""Characters of a message: names of layers, attributes and types in a broken file may be megabytes long."""


@dataclass(frozen=True, slots=True, eq=False)
class IR:
    """A model that OpenVINO wrote.

    model     the model in OpenVINO's dialect; its external tensors are in the .bin
    ports     type and dims that the file states, by value: hints, which the model does not hold
    version   of the format
    layers    number of layers by type and opset, including those of bodies
    bin       the file of the weights, None when there is none
    sinks     values of Assign layers: no layer reads them, and dead code elimination has to keep them
    """

    model: ModelFile
    ports: Mapping[str, PortType]
    version: int
    layers: Mapping[tuple[str, str], int]
    bin: Path | None
    sinks: tuple[str, ...]


def read_ir(path: str | os.PathLike[str]) -> IR:
    """The model in an `.xml`, whose weights are in the `.bin` of the same name beside it.

    Weights are not read; constants of up to 1 KiB, integers of up to 64 KiB, and strings are.

    Raises ModelReadError, with the file and the layer, for a file that is not an IR of version 10 or 11, or is broken.
    """
    path = Path(path)
    if "\0" in str(path):
        raise ModelReadError(f"{str(path)!r}: a path has no NUL")
    try:
        root = read_document(path, COMPACT)
        version = _version(root)
        with Weights(path.with_suffix(".bin")) as weights:
            return _read(path, root, version, weights)
    except ModelReadError as error:
        raise ModelReadError(f"{path}: {shortened(str(error), MAX_MESSAGE)}") from error
    except OSError as error:
        raise ModelReadError(f"{error.filename or path}: {error.strerror}") from error


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """The model of an IR, with the types of its ports as hints. Raises ModelReadError as `read_ir`."""
    ir = read_ir(path)
    return replace(ir.model, hints={name: type_of(port) for name, port in ir.ports.items()})


def _version(root: Element) -> int:
    if root.tag != "net":
        raise ModelReadError(f"the root element of an IR is <net>, found <{root.tag}>")
    text = root.require("version")
    if text not in map(str, VERSIONS):
        raise ModelReadError(f"the IR version must be {VERSIONS[0]} or {VERSIONS[-1]}, found {text!r}")
    return int(text)


def _read(path: Path, root: Element, version: int, weights: Weights) -> IR:
    proto = ModelProto(ir_version=IR_VERSION, producer_name="openvino")
    proto.graph.name = root.attributes.get("name", "") or path.stem.encode(errors="replace").decode()
    network = network_of(root)
    held = root.first("rt_info")
    for key, value in flattened(held) if held is not None else ():
        proto.metadata_props.add(key=RT_INFO + key, value=value)
    root.children.clear()
    book = Book(proto.graph, ConstantReader(weights))
    _write_main(book, proto, network)
    while book.pending:
        draft = book.pending.pop()
        _write(draft)
        if draft.finish is not None:
            draft.finish(draft)
    proto.opset_import.append(helper.make_opsetid("", OPSET))
    proto.opset_import.extend(helper.make_opsetid(domain, number) for domain, number in sorted(book.domains.items()))
    return IR(
        ModelFile(proto, base_dir=path.parent, label=str(path), foreign=f"OpenVINO IR v{version}"),
        book.ports,
        version,
        dict(book.layers),
        weights.path if weights.nbytes is not None else None,
        tuple(book.sinks),
    )


def _write_main(book: Book, proto: ModelProto, network: Network) -> None:
    draft = Draft(book, proto.graph, network)
    bounds = [bound for layer in network.of_type("Parameter") for bound in _add_input(draft, layer)]
    if bounds:
        proto.metadata_props.add(key=KEY, value=text_of(bounds))
    results = network.of_type("Result")
    outputs = _output_names(book, network, results)
    preset: dict[End, str] = {}
    for layer, name in zip(results, outputs, strict=True):
        source = network.source(layer)
        if network.layers[source[0]].type not in ("Parameter", "Const"):
            preset.setdefault(source, name)
    draft.preset = preset

    def finish(done: Draft) -> None:
        for layer, name in zip(results, outputs, strict=True):
            source = network.source(layer)
            if done.values[source] != name:
                done.own_node("Identity", [done.values[source]], name)
            value = declare(proto.graph.output, name, done.element(layer, layer.only("input")))
            book.ports.setdefault(name, book.ports[done.values[source]])
            annotate(value, layer)

    draft.finish = finish
    book.pending.append(draft)


def _add_input(draft: Draft, layer: Layer) -> Iterator[DimConstraint]:
    """Declare the input of a Parameter; yield the bounds of its dims, which its type cannot express."""
    port = layer.only("output")
    layer.attribute("element_type")
    with layer.named():
        shape = partial_shape(layer.attribute("shape"))
    name = draft.define(layer, port)
    value = declare(draft.graph.input, name, port.element, None if shape is None else (), type_of=input_type)
    annotate(value, layer)
    for axis, size in enumerate(shape or ()):
        if input_type(port.element) is None:
            return
        dim = value.type.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
            continue
        dim.dim_param = draft.book.symbols.fresh(_symbol_text(f"{name}.{axis}"))
        if size != Interval(0, None):
            of = symbol(dim.dim_param)
            assert isinstance(of, Expr), "a symbol is an expression"
            yield DimConstraint(of, size)


def _symbol_text(text: str) -> str:
    """`text`, made a plain symbol where it would parse as an expression of other symbols, as `2*n.0` of `n.0`."""
    try:
        is_symbol = parse_dim(text) == symbol(text)
    except DimSyntaxError:
        return text
    return text if is_symbol else re.sub(r"[^\w.]", "_", text)


def _output_names(book: Book, network: Network, results: list[Layer]) -> list[str]:
    """Names of the outputs: that of the Result, else of the port that it reads, else of the layer."""
    names = []
    for layer in results:
        port = network.outputs[network.source(layer)]
        wanted = (*layer.names, *port.names, layer.name)
        free = next((name for name in wanted if name not in book.names), wanted[0])
        names.append(book.names.fresh(free))
    return names


def _write(draft: Draft) -> None:
    """Write the layers of a network into its graph; subgraphs are queued."""
    book = draft.book
    for layer in draft.ordered():
        book.layers[layer.type, layer.version] += 1
        if layer.type in ("Parameter", "Const") and layer.inputs:
            raise layer.fault(f"a {layer.type} has no inputs")
        if layer.type == "Result" and layer.outputs:
            raise layer.fault("a Result has no outputs")
        match layer.type:
            case "Parameter":
                if (layer.id, layer.only("output").id) not in draft.values:
                    raise layer.fault("nothing is bound to this Parameter of a body")
            case "Result":
                layer.only("input")
            case "Const":
                _add_constant(draft, layer)
            case "If":
                book.pending += reversed(add_branches(draft, layer))
            case "Loop" | "TensorIterator":
                book.pending.append(add_loop(draft, layer))
            case _:
                node = dialect_node(draft, layer)
                if layer.type == "Assign":
                    book.sinks.append(_sink(draft, layer, list(node.output)))


def _sink(draft: Draft, layer: Layer, outputs: list[str]) -> str:
    """The output of an Assign, added where the file has none."""
    if not outputs:
        outputs = [draft.book.names.fresh(layer.name)]
        draft.graph.node[-1].output.extend(outputs)
    return outputs[0]


def _add_constant(draft: Draft, layer: Layer) -> None:
    constants = draft.book.constants
    constant = constants.described(layer)
    port = layer.only("output")
    graph: GraphProto = draft.graph
    name = draft.define(layer, port)
    if not is_foreign(constant.element):
        graph.initializer.append(constants.tensor(layer, constant, name))
        return
    packed = draft.book.names.fresh(f"{name}.bytes")
    graph.initializer.append(constants.tensor(layer, constant, packed))
    draft.own_node("Const", [packed], name, OWN_DOMAIN, element_type=constant.element)
    node = graph.node[-1]
    node.attribute.append(AttributeProto(name="shape", type=AttributeProto.INTS, ints=constant.shape))
    node.attribute.append(strings("output_types", [constant.element]))
