"""Signatures of nodes: the operator and its attributes in the form of keys. Nodes of the same attributes share one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gather_infer.equality.canonical_calls import call_attributes, is_windowed
from gather_infer.equality.operators import (
    AXIS_OF_FIRST,
    attributes_of_node,
    operator_of,
    with_positive_axis,
    without_defaults,
)
from gather_infer.equality.terms import Attributes, Operand, Operator, Tensor
from gather_infer.ir.graph import Node
from gather_infer.ops import standard_rule


@dataclass(slots=True, eq=False)
class NodeSignature:
    """The operator and the attributes of a node.

    attributes        with the defaults of the operator, and an axis that counts from the front
    key               the attributes without those that have their default
    call_key          the attributes as the key of a call; None if it depends on the operands
    is_deterministic  whether the operator draws no random numbers
    """

    operator: Operator
    attributes: Mapping[str, Any]
    key: Attributes
    call_key: Attributes | None
    is_deterministic: bool

    def call_attributes(self, node: Node, operands: Sequence[Operand]) -> Attributes:
        """The attributes as the key of a call on `operands`."""
        return self.call_key if self.call_key is not None else call_attributes(node, self.attributes, operands)


class NodeSignatures:
    """The signatures of the nodes of both models, each computed once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, NodeSignature] = {}

    def of(self, node: Node, operands: Sequence[Operand]) -> NodeSignature:
        """The signature of a node on `operands`."""
        first = operands[0] if operands and node.op_type in AXIS_OF_FIRST else None
        rank = first.rank if isinstance(first, Tensor) else None
        if node.bodies:
            return _signature(node, rank)
        held = node.proto.attribute
        given = tuple([each.SerializeToString() for each in held]) if held else ()
        key = node.domain, node.op_type, node.version, rank, len(node.outputs), given
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _signature(node, rank)
        return found


def _signature(node: Node, rank: int | None) -> NodeSignature:
    operator = operator_of(node)
    attributes = with_positive_axis(operator, attributes_of_node(node), rank)
    entry = standard_rule(node.domain, node.op_type, node.version)
    return NodeSignature(
        operator,
        attributes,
        without_defaults(node, attributes),
        None if is_windowed(node) else call_attributes(node, attributes, ()),
        entry is None or entry.traits.deterministic,
    )
