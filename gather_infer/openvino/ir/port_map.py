"""Port maps and back edges: the binding of layer ports to Parameters and Results of a body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir.document import Element
from gather_infer.openvino.ir.layers import IRLayer, Port
from gather_infer.openvino.ir.network import Network, network_of

_SIGNED = re.compile(r"-?[0-9]{1,18}")
_NO_PORT = "-1"
_LOOP_PURPOSES = ("current_iteration", "execution_condition")
"""Values of the attribute `purpose` for values that a Loop exchanges with its body without a port."""


@dataclass(frozen=True, slots=True)
class PortMapEntry:
    """An entry of a port map.

    port      id of the port of the layer; None if the value has no port
    inner     the Parameter or Result in the body
    axis      axis along which an input is sliced into parts, or the parts are concatenated to an output; None if the
              value is passed whole
    start, end, stride, part   a part of `part` elements begins every `stride` elements, from `start` to before `end`;
                               in `start` and `end`, -1 is the position after the last element, -2 the last element
    """

    port: str | None
    inner: IRLayer
    axis: int | None
    start: int
    end: int
    stride: int
    part: int


@dataclass(frozen=True, slots=True)
class LayerBody:
    """A body of a layer, and the entries of its port map in file order.

    back   id of a Parameter -> the Result that computes its value for the next iteration
    """

    network: Network
    inputs: tuple[PortMapEntry, ...]
    outputs: tuple[PortMapEntry, ...]
    back: dict[str, IRLayer]


def read_body(layer: IRLayer, prefix: str = "") -> LayerBody:
    """The body of `layer`; `prefix` of the tags of its elements is `then_` or `else_` for an If, else "".

    Raises ModelReadError for a missing element, and for an unknown or duplicate reference to a port or layer.
    """
    held = layer.control.get(f"{prefix}body")
    if held is None:
        raise layer.error(f"{layer.type} has no <{prefix}body>")
    try:
        network = network_of(held)
        entries = layer.control.get(f"{prefix}port_map")
        found = _entries(entries, network, layer.inputs, "input", "Parameter") if entries is not None else ()
        inputs = tuple(found)
        found = _entries(entries, network, layer.outputs, "output", "Result") if entries is not None else ()
        outputs = tuple(found)
        _check_unique([entry.inner.id for entry in inputs], "two inputs are bound to internal layer")
        _check_unique([entry.port for entry in outputs if entry.port], "two results go to output port")
        return LayerBody(network, inputs, outputs, _back_edges(layer.control.get("back_edges"), network))
    except ModelReadError as error:
        raise layer.error(f"{prefix}body: {error}") from error


def _entries(
    port_map: Element, network: Network, ports: tuple[Port, ...], tag: str, kind: str
) -> Iterator[PortMapEntry]:
    known = {port.id for port in ports}
    for element in port_map.all(tag):
        port = element.require("external_port_id")
        if port not in known and port != _NO_PORT:
            raise ModelReadError(f"line {element.line}: the layer has no {tag} port {port}")
        axis, purpose = element.attributes.get("axis"), element.attributes.get("purpose", "")
        stride = _integer(element, "stride", 1)
        part = _integer(element, "part_size", 1)
        if axis is not None and (stride == 0 or part < 1):
            raise ModelReadError(f"line {element.line}: stride {stride} with part_size {part}")
        yield PortMapEntry(
            None if port == _NO_PORT or purpose in _LOOP_PURPOSES else port,
            _inner(element, network, element.require("internal_layer_id"), kind),
            None if axis is None else _integer(element, "axis", 0),
            _integer(element, "start", 0),
            _integer(element, "end", -1),
            stride,
            part,
        )


def _inner(element: Element, network: Network, layer_id: str, kind: str) -> IRLayer:
    layer = network.layers.get(layer_id)
    if layer is None:
        raise ModelReadError(f"line {element.line}: the body has no layer {layer_id}")
    if layer.type != kind:
        raise ModelReadError(f"line {element.line}: {layer.label} must be a {kind}, is a {layer.type}")
    layer.single_port("output" if kind == "Parameter" else "input")
    return layer


def _integer(element: Element, name: str, default: int) -> int:
    text = element.attributes.get(name)
    if text is None:
        return default
    if not _SIGNED.fullmatch(text):
        raise ModelReadError(f"line {element.line}: {name} must be an integer, found {text[:80]!r}")
    return int(text)


def _check_unique(found: list[str], problem: str) -> None:
    seen: set[str] = set()
    for name in found:
        if name in seen:
            raise ModelReadError(f"{problem} {name}")
        seen.add(name)


def _back_edges(edges: Element | None, network: Network) -> dict[str, IRLayer]:
    back: dict[str, IRLayer] = {}
    for edge in edges.all("edge") if edges is not None else ():
        target = _inner(edge, network, edge.require("to-layer"), "Parameter")
        if target.id in back:
            raise ModelReadError(f"line {edge.line}: two back edges lead to {target.label}")
        back[target.id] = _inner(edge, network, edge.require("from-layer"), "Result")
    return back
