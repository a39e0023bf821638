"""The layers of a network or body with their edges, in topological order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir.document import Element
from gather_infer.openvino.ir.layers import Edge, IRLayer, Port

PortRef: TypeAlias = "tuple[str, str]"
"""A port: the id of its layer and the id of the port."""


@dataclass(frozen=True, slots=True)
class Network:
    """The layers of a main network or a body, and their connections.

    layers    layer id -> layer, in file order
    sources   input port -> the output port that it reads
    outputs   every output port by its reference
    """

    layers: Mapping[str, IRLayer]
    sources: Mapping[PortRef, PortRef]
    outputs: Mapping[PortRef, Port]

    def source(self, layer: IRLayer) -> PortRef:
        """The output port that the single input of `layer` reads."""
        return self.sources[layer.id, layer.single_port("input").id]

    def of_type(self, kind: str) -> list[IRLayer]:
        return [layer for layer in self.layers.values() if layer.type == kind]


def network_of(element: Element) -> Network:
    """The network in `element`, a `<net>` or a body.

    Raises ModelReadError for a duplicate id, an edge from or to an unknown port, and an input port that no edge or more
    than one edge leads to.
    """
    held = element.first("layers")
    if held is None:
        raise ModelReadError(f"line {element.line}: <{element.tag}> has no <layers>")
    layers: dict[str, IRLayer] = {}
    for layer in held.children:
        if not isinstance(layer, IRLayer):
            continue
        if layer.id in layers:
            raise layer.error(f"{layers[layer.id].label} has the same id")
        layers[layer.id] = layer
    outputs = {(layer.id, port.id): port for layer in layers.values() for port in layer.outputs}
    inputs = {(layer.id, port.id) for layer in layers.values() for port in layer.inputs}
    sources: dict[PortRef, PortRef] = {}
    edges = element.first("edges")
    for edge in edges.children if edges is not None else ():
        if isinstance(edge, Edge):
            _connect(edge, layers, inputs, outputs, sources)
    for layer in layers.values():
        for port in layer.inputs:
            if (layer.id, port.id) not in sources:
                raise layer.error(f"no edge leads to input port {port.id}")
    return Network(layers, sources, outputs)


def _connect(
    edge: Edge,
    layers: Mapping[str, IRLayer],
    inputs: set[PortRef],
    outputs: Mapping[PortRef, Port],
    sources: dict[PortRef, PortRef],
) -> None:
    for (layer_id, port), kind, known in ((edge.source, "output", outputs), (edge.target, "input", inputs)):
        layer = layers.get(layer_id)
        if layer is None:
            raise ModelReadError(
                f"an edge from {_port_label(edge.source)} to {_port_label(edge.target)}: no layer {layer_id}"
            )
        if (layer_id, port) not in known:
            raise layer.error(f"an edge leads to {kind} port {port}, which it does not have")
    if edge.target in sources:
        raise layers[edge.target[0]].error(f"two edges lead to input port {edge.target[1]}")
    sources[edge.target] = edge.source


def _port_label(end: PortRef) -> str:
    return f"layer {end[0]} port {end[1]}"


def topologically_sorted(network: Network) -> list[IRLayer]:
    """The layers in topological order, with ties in file order. Raises ModelReadError when there is a cycle."""
    done: set[str] = set()
    open_: set[str] = set()
    order: list[IRLayer] = []
    for root in network.layers.values():
        pending = [(root, 0)]
        while pending:
            layer, position = pending.pop()
            if layer.id in done:
                continue
            if position == 0:
                open_.add(layer.id)
            if position == len(layer.inputs):
                done.add(layer.id)
                order.append(layer)
                continue
            pending.append((layer, position + 1))
            source = network.layers[network.sources[layer.id, layer.inputs[position].id][0]]
            if source.id in done:
                continue
            if source.id in open_:
                raise source.error("its input depends on its output")
            pending.append((source, 0))
    return order
