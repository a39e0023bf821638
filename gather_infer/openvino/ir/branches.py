"""If as ONNX's If, whose branches hold nodes of the dialect and capture outer values by name.

https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/condition/if-8.html
"""

from __future__ import annotations

from onnx import AttributeProto, NodeProto

from gather_infer.openvino.ir.elements import onnx_type
from gather_infer.openvino.ir.graph import Draft, annotate, declare
from gather_infer.openvino.ir.layers import Layer, Port
from gather_infer.openvino.ir.portmap import Body, body_of


def add_branches(draft: Draft, layer: Layer) -> list[Draft]:
    """Add the If of a layer; returns the builders of its branches, still to be written."""
    inputs = draft.inputs(layer)
    if not inputs:
        raise layer.fault("an If needs a condition")
    node = control_node(draft, layer, "If")
    node.input.append(inputs[0])
    values = {port.id: value for port, value in zip(layer.inputs, inputs, strict=True)}
    branches = []
    for prefix, name in (("then_", "then_branch"), ("else_", "else_branch")):
        body = body_of(layer, prefix)
        attribute = node.attribute.add(name=name, type=AttributeProto.GRAPH)
        attribute.g.name = f"{layer.name}/{name}"
        inner = Draft(draft.book, attribute.g, body.network)
        for entry in body.inputs:
            if entry.port is None:
                raise layer.fault(f"{prefix}port_map: an input without a port")
            inner.values[end_of(entry.inner)] = values[entry.port]
        sources = _by_port(layer, body, prefix)

        def finish(done: Draft, sources: list[tuple[Port, Layer]] = sources) -> None:
            for port, result in sources:
                value = done.fresh_output(done.result(result), f"{layer.name}.out")
                declare(done.graph.output, value, _element(port, done, result))

        inner.finish = finish
        branches.append(inner)
    node.output.extend(draft.define(layer, port) for port in layer.outputs)
    draft.produced.update(node.output)
    return branches


def _by_port(layer: Layer, body: Body, prefix: str) -> list[tuple[Port, Layer]]:
    """The Result of a branch for each output of the layer."""
    results = {entry.port: entry.inner for entry in body.outputs}
    missing = [port.id for port in layer.outputs if port.id not in results]
    if missing:
        raise layer.fault(f"{prefix}port_map has nothing for output port {missing[0]}")
    return [(port, results[port.id]) for port in layer.outputs]


def control_node(draft: Draft, layer: Layer, op_type: str) -> NodeProto:
    """Add the ONNX node of a layer with bodies, without inputs and outputs yet."""
    node: NodeProto = draft.graph.node.add(op_type=op_type, name=layer.name)
    annotate(node, layer)
    return node


def end_of(layer: Layer) -> tuple[str, str]:
    """The output port of a Parameter."""
    return layer.id, layer.only("output").id


def _element(port: Port, done: Draft, result: Layer) -> str:
    inner = done.element(result, result.only("input"))
    return port.element if onnx_type(inner) is None else inner
