"""Dead code elimination after conversion: nodes and initializers that the converted model no longer reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from gather_infer.model.paths import bodies
from gather_infer.openvino.dialect_nodes import is_opaque


def eliminate_dead_nodes(proto: ModelProto) -> None:
    """Remove from `proto` the ONNX nodes and initializers whose values are neither read nor returned.

    Nodes must be in topological order. Nodes in OpenVINO's domains stay: they may have side effects.
    """
    graphs = sorted((body for body in bodies(proto)), key=lambda found: -len(found[0].steps))
    reads = Counter(name for _, graph in graphs for node in graph.node for name in node.input)
    reads.update(value.name for _, graph in graphs for value in graph.output)
    for _, graph in graphs:  # innermost graphs first
        unread = set()
        for position in range(len(graph.node) - 1, -1, -1):
            node = graph.node[position]
            if not is_opaque(node) and not any(reads[name] for name in node.output):
                unread.add(position)
                reads.subtract(_read_names(node))
        if unread:
            kept = [node for position, node in enumerate(graph.node) if position not in unread]
            nodes = [NodeProto.FromString(node.SerializeToString()) for node in kept]
            del graph.node[:]
            graph.node.extend(nodes)
        inputs = {value.name for value in graph.input}
        held = [tensor for tensor in graph.initializer if reads[tensor.name] or tensor.name in inputs]
        if len(held) < len(graph.initializer):
            tensors = [TensorProto.FromString(tensor.SerializeToString()) for tensor in held]
            del graph.initializer[:]
            graph.initializer.extend(tensors)


def _read_names(node: NodeProto) -> Iterator[str]:
    """The names that `node` reads, and that its subgraphs read or return; with repetitions."""
    waiting: list[NodeProto | GraphProto] = [node]
    while waiting:
        found = waiting.pop()
        if isinstance(found, GraphProto):
            yield from (value.name for value in found.output)
            waiting.extend(found.node)
        else:
            yield from found.input
            waiting.extend(attribute.g for attribute in found.attribute if attribute.HasField("g"))
