"""If layers as If nodes of ONNX, whose branches hold nodes of the dialect and capture outer values by name.

https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/condition/if-8.html
"""

from __future__ import annotations

from onnx import AttributeProto, NodeProto

from gather_infer.openvino.ir.graph_builder import GraphBuilder, annotate, declare
from gather_infer.openvino.ir.ir_element_types import onnx_type
from gather_infer.openvino.ir.layers import IRLayer, Port
from gather_infer.openvino.ir.port_map import LayerBody, read_body


def add_branches(builder: GraphBuilder, layer: IRLayer) -> list[GraphBuilder]:
    """Add the If node for an If `layer`; returns the builders of its two branches, whose layers are not yet written."""
    inputs = builder.inputs(layer)
    if not inputs:
        raise layer.error("an If needs a condition")
    node = control_node(builder, layer, "If")
    node.input.append(inputs[0])
    values = {port.id: value for port, value in zip(layer.inputs, inputs, strict=True)}
    branches = []
    for prefix, name in (("then_", "then_branch"), ("else_", "else_branch")):
        body = read_body(layer, prefix)
        attribute = node.attribute.add(name=name, type=AttributeProto.GRAPH)
        attribute.g.name = f"{layer.name}/{name}"
        inner = GraphBuilder(builder.context, attribute.g, body.network)
        for entry in body.inputs:
            if entry.port is None:
                raise layer.error(f"{prefix}port_map: an input without a port")
            inner.values[output_port(entry.inner)] = values[entry.port]
        sources = _results_by_port(layer, body, prefix)

        def finish(done: GraphBuilder, sources: list[tuple[Port, IRLayer]] = sources) -> None:
            for port, result in sources:
                value = done.fresh_output(done.result(result), f"{layer.name}.out")
                declare(done.graph.output, value, _element(port, done, result))

        inner.finish = finish
        branches.append(inner)
    node.output.extend(builder.define(layer, port) for port in layer.outputs)
    builder.produced.update(node.output)
    return branches


def _results_by_port(layer: IRLayer, body: LayerBody, prefix: str) -> list[tuple[Port, IRLayer]]:
    """Each output port of the If `layer`, with the Result of the branch `body` that computes it.

    `prefix` is `then_` or `else_`. Raises ModelReadError for an output without a Result.
    """
    results = {entry.port: entry.inner for entry in body.outputs}
    missing = [port.id for port in layer.outputs if port.id not in results]
    if missing:
        raise layer.error(f"{prefix}port_map has nothing for output port {missing[0]}")
    return [(port, results[port.id]) for port in layer.outputs]


def control_node(builder: GraphBuilder, layer: IRLayer, op_type: str) -> NodeProto:
    """Add the ONNX node for a `layer` with bodies; the caller adds its inputs, outputs and attributes."""
    node: NodeProto = builder.graph.node.add(op_type=op_type, name=layer.name)
    annotate(node, layer)
    return node


def output_port(layer: IRLayer) -> tuple[str, str]:
    """The output port of `layer`, a Parameter, as (layer id, port id)."""
    return layer.id, layer.single_port("output").id


def _element(port: Port, builder: GraphBuilder, result: IRLayer) -> str:
    inner = builder.element(result, result.single_port("input"))
    return port.element if onnx_type(inner) is None else inner
