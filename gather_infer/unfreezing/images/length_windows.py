"""The windows that a length is cut into behind a Pad that fills it up to a multiple of them.

One Reshape of 8 positions to `[2, 4]` does not tell whether 4 is the size of the windows, or 2 is their number. Two do
that cut axes of two sizes into windows of one, such as 8 positions, and 12 behind another Pad by numbers: their numbers
differ. The targets have to infer the numbers, too, as in `[-1, 4]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_PASSING: Final = BROADCASTING | {"Cast", "Identity", "Relu", "Gelu", "Sigmoid", "Tanh", "Sqrt", "Erf",
                                  "LayerNormalization", "MatMul", "Pad", "Split", "Transpose"}  # fmt: skip
"""Operators whose outputs have the axes of their data but the last one, in an order that is known."""
_FEWEST_SIZES: Final = 2


def window_of_length(walk: UnfreezingWalk, name: str, axis: int) -> int | None:
    """The size of the windows that readers of a value cut an axis into; None if the file does not tell."""
    size = _sizes(walk, name)[axis]
    windows: dict[int, int] = {}
    pending, seen = [(name, axis)], {(name, axis)}
    while pending:
        value, at = pending.pop()
        for reader in walk.readers.get(value, ()):
            places = [*_places(walk, reader, value, at)]
            if reader.op_type == "Reshape" and len(places) == 2:
                (_, count), (_, window) = places
                target = walk.array(reader.input[1])
                whole, part = _sizes(walk, value)[at], _sizes(walk, reader.output[0])[window]
                if target is None or target[count] != -1 or windows.setdefault(whole, part) != part:
                    return None
                continue
            new = [place for place in places if place not in seen]
            seen.update(new)
            pending += new
    is_told = size in windows and len(windows) >= _FEWEST_SIZES and len({*windows.values()}) == 1
    return windows[size] if is_told else None


def _places(walk: UnfreezingWalk, node: NodeProto, value: str, axis: int) -> Iterator[tuple[str, int]]:
    """The axes of the outputs of a node that hold an axis of a value: of a Reshape those without sizes of 1."""
    mine = _sizes(walk, value)
    if node.op_type == "Reshape" and value == node.input[0]:
        its = _sizes(walk, node.output[0])
        outside, held = prod(mine[:axis]), mine[axis]
        first = next((at for at in range(len(its)) if prod(its[:at]) == outside), len(its))
        last = next((at for at in range(first, len(its)) if prod(its[first : at + 1]) >= held), first)
        if held > 1 and prod(its[first : last + 1]) == held:
            yield from ((node.output[0], at) for at in range(first, last + 1) if its[at] != 1)
        return
    is_data = node.op_type not in ("MatMul", "Pad") or value == node.input[0]
    if node.op_type not in _PASSING or not is_data or node.domain not in ("", "ai.onnx"):
        return
    if axis == len(mine) - 1 and node.op_type in ("LayerNormalization", "MatMul"):
        return
    for name in node.output:
        its = _sizes(walk, name)
        place = axis
        if node.op_type == "Transpose":
            order = next((list(a.ints) for a in node.attribute if a.name == "perm"), [*range(len(mine))][::-1])
            place = order.index(axis)
        if len(its) == len(mine) and (node.op_type == "Pad" or its[place] == mine[axis]):
            yield name, place


def _sizes(walk: UnfreezingWalk, name: str) -> list[int]:
    """The old sizes of a value; none if some are not known."""
    fact = walk.static.get(name)
    shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
    sizes = [dim for dim in shape if isinstance(dim, int)]
    return sizes if len(sizes) == len(shape) else []
