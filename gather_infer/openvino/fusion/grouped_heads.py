"""Grouped heads: keys and values of which each head is repeated become inputs of Attention without the copies.

OpenVINO's ScaledDotProductAttention has as many heads of keys and values as of queries, so a model with fewer repeats
each. ONNX's Attention takes them as they are, and its query head i reads the key head i // (repeats).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gather_infer.ir import Graph, Node
from gather_infer.openvino.fusion.fused_nodes import Fusion, fuse_into_one, new_producer, sole_use
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.tensor import Shape, SymbolicTensor

_WHY: Final = "Attention repeats the heads of keys and values itself"
_KEY, _VALUE = 1, 2


class _Repetition(NamedTuple):
    """A tensor [N, H, S, E] that the nodes make of `source` [N, G, S, E], each of whose G heads they repeat."""

    source: str
    nodes: tuple[Node, ...]
    groups: int


def fuse_grouped_heads(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Give `node`, a new Attention, keys and values whose heads are not repeated, if both are repeated as often."""
    key, value = (_repetition(node.graph, name) for name in node.inputs[_KEY : _VALUE + 1])
    if key is None or value is None or key.groups != value.groups:
        return
    inputs = [node.inputs[0], key.source, value.source, *node.inputs[_VALUE + 1 :]]
    others = [*key.nodes, *value.nodes]
    made.append(Fusion(node, tuple(others), fuse_into_one(model, node, node, others, "Attention", inputs, {}, _WHY)))


def _repetition(graph: Graph, name: str) -> _Repetition | None:
    """Reshape(Expand(Unsqueeze(source))), or with Tile for Expand, that only Attention reads; None for another value.

    The dims tell what the nodes do: an axis of length 1 is added behind the heads, repeated, and merged with the heads.
    As many elements remain as without further copies, so no other axis is repeated.
    """
    merged = new_producer(graph, name, "Reshape")
    spread = None if merged is None else _repeating(graph, merged.inputs[0])
    single = None if spread is None else new_producer(graph, spread.inputs[0], "Unsqueeze")
    if merged is None or spread is None or single is None or sole_use(merged, "Attention") is None:
        return None
    if sole_use(spread, "Reshape") is None or sole_use(single, spread.op_type) is None:
        return None
    source, copies = _shape(graph, single.inputs[0]), _shape(graph, spread.outputs[0])
    if source is None or copies is None or len(source) != 4 or len(copies) != 5:
        return None
    (batch, groups, *rest), times = source, copies[2]
    if not isinstance(groups, int) or not isinstance(times, int):
        return None
    expected = (batch, groups, 1, *rest), (batch, groups * times, *rest)
    if (_shape(graph, single.outputs[0]), _shape(graph, name)) != expected:
        return None
    return _Repetition(single.inputs[0], (single, spread, merged), groups)


def _repeating(graph: Graph, name: str) -> Node | None:
    return new_producer(graph, name, "Expand") or new_producer(graph, name, "Tile")


def _shape(graph: Graph, name: str) -> Shape | None:
    fact = graph.fact(name)
    return fact.shape if isinstance(fact, SymbolicTensor) else None
