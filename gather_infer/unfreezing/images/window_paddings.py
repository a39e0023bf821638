"""Paddings that fill an image up to a multiple of the windows that it is cut into behind them.

`Pad(x)` at the end of an axis, then `Reshape([n, 3, 4, c])`: windows of 4 fit at all sizes if the padding is what they
lack, and at the sizes at which they fit behind a padding by numbers this is the same padding. If there may be 3 windows
of any size instead, another walk fills the image up to a multiple of 3: the file has to tell which of the two it is. A
network that fills may also fill the image up to patches at the begin: strides have to divide it.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.images.length_windows import window_of_length
from gather_infer.unfreezing.images.windows import paddings
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_PASSING: Final = BROADCASTING | {"Cast", "Concat", "Identity", "Slice"}
"""Operators whose outputs have the axes of their data."""


def with_window_paddings(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node, with paddings that follow the size, if windows behind it tell what they fill the image up to."""
    is_pad = node.op_type == "Pad" and node.domain in ("", "ai.onnx") and len(node.input) > 1
    is_pad = is_pad and walk.counterpart is None  # a second model tells
    fact, was = (walk.environment.values.get(node.input[0]), walk.static.get(node.input[0])) if is_pad else (None, None)
    if not isinstance(fact, SymbolicTensor) or not isinstance(was, SymbolicTensor):
        return node
    numbers, axes = paddings(walk, node)
    ends: list[Dim] = list(numbers[len(axes) :])
    filled: dict[Dim, tuple[Dim, int]] = {}
    for at, axis in enumerate(axes):
        dim, size = (fact.shape or ())[axis], (was.shape or ())[axis]
        before, after = numbers[at], numbers[at + len(axes)]
        if not isinstance(dim, Expr) or not is_free(dim, walk.freed) or dim.symbols <= walk.row_symbols:
            continue
        if before == after == 0:
            continue  # the file does not tell where an axis that needs no padding is cut to its size
        if not dim.symbols <= walk.image_symbols and isinstance(size, int):
            found = window_of_length(walk, node.output[0], axis) if dim.symbols.isdisjoint(walk.row_symbols) else None
            if found is None or before or -size % found != after:
                return node
            ends[at] = -dim % found
            filled[dim + ends[at]] = dim, found
            continue
        cuts = _cuts(walk, node.output[0], axis)
        if not isinstance(size, int) or before or cuts is None or len(cuts) != 1:
            return node
        [(count, window)] = cuts
        number = count if walk.fills_up_to_counts else window
        if -size % number != after or count * window != size + after:
            return node
        ends[at] = -dim % number
        filled[dim + ends[at]] = dim, number
    if not filled:
        return node
    walk.filled = {**filled, **walk.filled}  # what is filled up already keeps its image
    walk.leaves_out_sizes = True  # such a network may fill the image up to patches, too
    return walk.with_inputs(node, {1: walk.sizes.of_shape([*numbers[: len(axes)], *ends])})


def other_windows(walk: UnfreezingWalk) -> Blocked | None:
    """Why an image that is filled up to windows may be cut into others; None if it is not."""
    for filled, (dim, window) in walk.filled.items():
        if (filled, window) not in walk.divided:
            why = f"{dim} is filled up to a multiple of {window}, and may be cut into a number of windows"
            return Blocked(f"an axis of {filled}", why)
    return None


def _cuts(walk: UnfreezingWalk, name: str, axis: int) -> set[tuple[int, int]] | None:
    """The number and the size of windows into which the readers of a value cut an axis; None if some do otherwise."""
    found: set[tuple[int, int]] = set()
    pending, seen = [(name, axis)], {(name, axis)}
    while pending:
        value, at = pending.pop()
        for reader in walk.readers.get(value, ()):
            if reader.op_type == "Reshape":
                cut = _cut(walk.static.get(value), walk.static.get(reader.output[0]), at)
                if cut is None:
                    return None
                found.add(cut)
                continue
            place = _place(walk, reader, value, at)
            if place is None:
                return None
            if (reader.output[0], place) not in seen:
                seen.add((reader.output[0], place))
                pending.append((reader.output[0], place))
    return found


def _place(walk: UnfreezingWalk, reader: NodeProto, value: str, axis: int) -> int | None:
    """The axis of the output of a node that holds an axis of its data; None if there may be none."""
    mine, its = walk.static.get(value), walk.static.get(reader.output[0])
    if not isinstance(mine, SymbolicTensor) or not isinstance(its, SymbolicTensor) or not mine.shape or not its.shape:
        return None
    if reader.op_type == "Transpose":
        order = next((list(a.ints) for a in reader.attribute if a.name == "perm"), [*range(len(mine.shape))][::-1])
        return order.index(axis)
    return axis if reader.op_type in _PASSING and len(mine.shape) == len(its.shape) else None


def _cut(data: object, result: object, axis: int) -> tuple[int, int] | None:
    """The number and the size of windows into which a Reshape cuts an axis; None if it keeps it, or does otherwise."""
    if not isinstance(data, SymbolicTensor) or not isinstance(result, SymbolicTensor):
        return None
    before = [dim for dim in data.shape or () if isinstance(dim, int)]
    after = [dim for dim in result.shape or () if isinstance(dim, int)]
    if len(before) != len(data.shape or ()) or len(after) != len(result.shape or ()) or prod(before) == 0:
        return None
    outside = prod(before[:axis])
    firsts = [1, *accumulate(after, mul)]
    found = {
        (after[at], after[at + 1])
        for at in range(len(after) - 1)
        if firsts[at] == outside and after[at] * after[at + 1] == before[axis] and after[at + 1] > 1
    }
    return found.pop() if len(found) == 1 else None
