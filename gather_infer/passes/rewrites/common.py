"""Duplicate constants and common subexpression elimination."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.draft import Node
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.site import Site
from gather_infer.passes.table import RewriteSet

rewrites = RewriteSet()

QUANTIZATION: Final = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
"""Operators in whose patterns runtimes expect separate nodes and constants."""

_LAW: Final = "a == b, constants of the same type, shape and bits"


@rewrites.rewrites(name="common-constants")
def common_constants(site: Site) -> Rewrite | None:
    """a == b, constants of the same type, shape and bits, in one graph or b in an enclosing one"""
    if site.rests_on_training:
        return None
    node = site.node
    if node.is_constant:
        twin = _twin(site, site.output())
        return None if twin is None else site.keeps(_LAW, twin)
    for name in dict.fromkeys(node.inputs):
        if name and name not in node.graph.producers and site.is_droppable(name):
            twin = _twin(site, name)
            if twin is not None:
                return Rewrite(law=_LAW, merged={name: twin})
    return None


def _twin(site: Site, name: str) -> str | None:
    twin = site.twin(name)
    return None if twin is None or _is_apart(site, name) or _is_apart(site, twin) else twin


def _is_apart(site: Site, name: str) -> bool:
    """Whether a quantization operator reads a constant. No rewrite changes this, and many nodes may read it."""
    memory = site.engine.twins.apart
    key = site.graph.home(name), name
    if key not in memory:
        memory[key] = site.feeds(name, *QUANTIZATION)
    return memory[key]


@rewrites.rewrites(name="common-subexpressions")
def common_subexpressions(site: Site) -> Rewrite | None:
    """op(x) == op(x), where the operator is deterministic, in one graph or one node in an enclosing graph"""
    if site.op_type in QUANTIZATION or site.traits is None or not site.traits.deterministic:
        return None
    for other in site.repeats():
        if list(map(bool, other.outputs)) == list(map(bool, site.outputs)):
            if _stays(other.node, site.node):
                return site.keeps("op(x) == op(x), both read the same", *other.outputs)
            other.ask_again()
    return None


def _stays(other: Node, node: Node) -> bool:
    """Whether `other` remains of two equivalent nodes: it is in an enclosing graph, or comes first."""
    if other.graph is node.graph:
        return other.place < node.place
    return other.graph in node.graph.around()
