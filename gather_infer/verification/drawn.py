"""Outputs of a conversion that depend on random numbers: others than those of the original, so nothing to compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onnx import GraphProto, ModelProto, NodeProto

from gather_infer.domains import plain_domain

DRAWN: Final = "it depends on random numbers, which a conversion draws otherwise"
_DRAWING: Final = frozenset({"RandomUniform", "RandomUniformLike", "Multinomial"})
"""Operators of ONNX that a conversion draws with."""


def drawn_outputs(proto: ModelProto) -> frozenset[str]:
    """The outputs of the graph that a draw may reach; nodes are in order."""
    reached: set[str] = set()
    for node in proto.graph.node:
        if any(_draws(one) or not reached.isdisjoint(one.input) for one in _within(node)):
            reached.update(node.output)
    return frozenset(value.name for value in proto.graph.output if value.name in reached)


def _draws(node: NodeProto) -> bool:
    return node.op_type in _DRAWING and not plain_domain(node.domain)


def _within(node: NodeProto) -> Iterator[NodeProto]:
    """A node and those in its bodies, whose outputs may come from around."""
    pending: list[NodeProto | GraphProto] = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, GraphProto):
            pending.extend(found.node)
            yield NodeProto(input=[value.name for value in found.output])
            continue
        yield found
        pending.extend(attribute.g for attribute in found.attribute if attribute.HasField("g"))
