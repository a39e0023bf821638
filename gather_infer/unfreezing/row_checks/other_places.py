"""Two walks that put a size of 1 in different axes, and whether the results have the same elements all the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.inference.topology import captured
from gather_infer.tensor import DType, Shape, SymbolicTensor

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_ORDER_PRESERVING: Final = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Cast", "Neg", "Not"})
"""Operators whose results have the elements of the input in the same row-major order."""


def has_same_elements(one: UnfreezingWalk, other: UnfreezingWalk) -> bool:
    """Whether the values whose shapes differ have the same elements in the same order, and no output is one of them.

    Each is the result of a node that keeps the order, and what reads it is such a node, too: at the latest a Reshape
    gives it one shape again.
    """
    if _new_rows(one) != _new_rows(other):
        return False
    graph = one.model.proto.graph
    differing = {name for node in graph.node for name in node.output if _shape(one, name) != _shape(other, name)}
    if not differing.isdisjoint(value.name for value in graph.output):
        return False
    touched = (n for n in graph.node if not differing.isdisjoint({*n.input, *n.output, *captured(n)}))
    return all(_has_same_order(walk, node) for node in touched for walk in (one, other))


def _new_rows(walk: UnfreezingWalk) -> Counter[tuple[str, Shape | None]]:
    """The new nodes, but for those that compute sizes: vectors of integers."""
    made = [(each.node, walk.environment.values.get(each.node.output[0])) for each in walk.placed if each.is_new]
    return Counter(
        (node.op_type, fact.shape if isinstance(fact, SymbolicTensor) else None)
        for node, fact in made
        if not isinstance(fact, SymbolicTensor) or fact.dtype is not DType.INT64 or len(fact.shape or ()) != 1
    )


def _shape(walk: UnfreezingWalk, name: str) -> Shape | None:
    fact = walk.environment.values.get(name)
    return fact.shape if isinstance(fact, SymbolicTensor) else None


def _has_same_order(walk: UnfreezingWalk, node: NodeProto) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type != "Transpose":
        return node.op_type in _ORDER_PRESERVING
    shape = _shape(walk, node.input[0])
    if shape is None:
        return False
    perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(len(shape)))[::-1])
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)
