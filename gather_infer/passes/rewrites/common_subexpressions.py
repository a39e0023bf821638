"""Duplicate constants and common subexpression elimination."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Node
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet

rewrites = RewriteSet()

QUANTIZATION: Final = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
"""Operators in whose patterns runtimes expect separate constants."""

_LAW: Final = "a == b, constants of the same type, shape and bits"


@rewrites.rewrites(name="common-constants")
def common_constants(match: Match) -> Rewrite | None:
    """a == b, where a and b are constants of the same type, shape and bits, b in the same or an enclosing graph"""
    if match.is_trained:
        return None
    node = match.node
    if node.is_constant:
        duplicate = _duplicate(match, match.output())
        return None if duplicate is None else match.replace_with(_LAW, duplicate)
    for name in dict.fromkeys(node.inputs):
        if name and name not in node.graph.producers and match.is_droppable(name):
            duplicate = _duplicate(match, name)
            if duplicate is not None:
                return Rewrite(law=_LAW, merged={name: duplicate})
    return None


def _duplicate(match: Match, name: str) -> str | None:
    duplicate = match.equal_constant(name)
    return (
        None
        if duplicate is None or _feeds_quantization(match, name) or _feeds_quantization(match, duplicate)
        else duplicate
    )


def _feeds_quantization(match: Match, name: str) -> bool:
    """Whether a quantization operator reads a constant; cached, because no rewrite changes the answer."""
    known = match.context.duplicate_constants.feeds_quantization
    key = match.graph.defining_graph(name), name
    if key not in known:
        known[key] = match.feeds(name, *QUANTIZATION)
    return known[key]


@rewrites.rewrites(name="common-subexpressions", is_first=True)
def common_subexpressions(match: Match) -> Rewrite | None:
    """op(x) == op(x), where the operator is deterministic, for two nodes in one graph, or one in an enclosing graph

    Inputs are equal if they are the same value, or small constants of the same type, shape and bits.
    """
    if match.traits is None or not match.traits.deterministic:
        return None
    for other in match.equivalent_nodes():
        if _comes_first(other.node, match.node):
            return match.replace_with("op(x) == op(x), both read the same", *other.outputs)
        other.enqueue()
    return None


def _comes_first(other: Node, node: Node) -> bool:
    """Whether `other` replaces the equivalent `node`: it is in an enclosing graph, or first in the same graph."""
    if other.graph is node.graph:
        return other.order_key < node.order_key
    return other.graph in node.graph.scope_chain()
