"""Values with a length that are repeated as often as the length was: by a number of the network, or by the length.

Pairs of all positions are made so: each position is repeated for each other one. Where the repeated axis meets another
one later, that one tells. Where it is only summed or returned, nothing does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnx import NodeProto

from gather_infer.inference.topology import captured
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.constants.coinciding_numbers import SMALLEST_INTEGER
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk


def repeated_by_length(walk: UnfreezingWalk) -> Blocked | None:
    """The first node of a walk that repeats a length by a number that may be one; None if none does."""
    lengths = {name: size for name, size in walk.freed.items() if name not in walk.row_symbols}
    if walk.counterpart is not None or not any(size >= SMALLEST_INTEGER for size in lengths.values()):
        return None
    for node in _read(walk):
        if node.op_type not in ("Expand", "Tile") or node.domain not in ("", "ai.onnx"):
            continue
        fact = walk.environment.values.get(node.input[0])
        shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
        if not any(is_free(dim, lengths) for dim in shape):
            continue
        for count in _counts(walk, node, len(shape)):
            if count >= SMALLEST_INTEGER and count in lengths.values():
                return Blocked(walk.label(node), f"repeats a length {count} times, which may follow it")
    return None


def _counts(walk: UnfreezingWalk, node: NodeProto, rank: int) -> Iterator[int]:
    """The constant numbers by which a Tile, or an Expand to new axes and those of 1, repeats its data."""
    if node.op_type == "Tile":
        repeats = walk.array(node.input[1])
        yield from () if repeats is None else map(int, repeats.ravel())
        return
    data, made = (walk.environment.values.get(name) for name in (node.input[0], node.output[0]))
    if not isinstance(data, SymbolicTensor) or not isinstance(made, SymbolicTensor):
        return
    before, after = data.shape or (), made.shape or ()
    padded = (*[1] * (len(after) - rank), *before)
    yield from (dim for was, dim in zip(padded, after, strict=True) if was == 1 and isinstance(dim, int))


def _read(walk: UnfreezingWalk) -> list[NodeProto]:
    """The nodes of the result that an output depends on, in order."""
    wanted = {value.name for value in walk.model.proto.graph.output}
    found = []
    for placed in reversed(walk.placed):
        if not wanted.isdisjoint(placed.node.output):
            wanted |= {*placed.node.input, *captured(placed.node)}
            found.append(placed.node)
    return found[::-1]
