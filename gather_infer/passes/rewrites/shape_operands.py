"""Shape operands: the equivalent elements of targets of Reshape and Expand, and of ends of Slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from gather_infer.passes.match import Match
from gather_infer.symbolic import Dim
from gather_infer.tensor import INTEGER_RANGE, DType

Choices: TypeAlias = "tuple[tuple[Dim, ...], ...]"
"""For each element of a shape operand its alternatives; every combination of them gives the same result."""

SIZES: Final = {"Reshape": 1, "Expand": 1, "Slice": 2}
"""Operator of ai.onnx -> the index of its shape operand."""


def choices(node: Match) -> list[Choices]:
    """The alternative shape operands of a node, each with a choice of elements; empty if too little is known."""
    if node.domain or node.op_type not in SIZES or node.has_attribute_reference:
        return []
    match node.op_type:
        case "Reshape" if node.version >= 5:
            return reshape_choices(node, allowzero=node.integer("allowzero", 0) != 0)
        case "Expand":
            return _expand_choices(node)
        case "Slice" if node.version >= 10:
            return _slice_choices(node)
    return []


def constant_choice(ways: Sequence[Choices]) -> list[int] | None:
    """The elements of the first alternative in `ways` in which every element can be a number; None if there is none."""
    for way in ways:
        numbers = [next((c for c in each if isinstance(c, int)), None) for each in way]
        found = [number for number in numbers if number is not None]
        if len(found) == len(numbers):
            return found
    return None


def reshape_choices(match: Match, *, allowzero: bool) -> list[Choices]:
    """The alternative targets of a Reshape, with or without `allowzero`; those without -1 come first.

    An entry is the dim of the result, 0 where the data has the same dim, or the present entry of a computed target. One
    entry may be -1 if all other dims are at least 1: runtimes reject a -1 if another dim is 0, even a copied one.
    """
    data, result, target = match.shape(0) or (), match.result().shape, match.elements(1)
    if result is None:
        return []
    if target is not None and (len(target) != len(result) or (match.integer("allowzero", 0) != 0) != allowzero):
        target = None  # with the other `allowzero` an entry of 0 has another meaning
    entries: list[list[Dim]] = []
    for at, dim in enumerate(result):
        copies = at < len(data) and match.equal(data[at], dim)
        found: list[Dim] = []
        if isinstance(dim, int):
            found += [dim] if dim or allowzero else []
        elif allowzero or copies or match.at_most(1, dim):
            found.append(dim)
        if copies and not allowzero:
            found.append(0)
        if target is not None and target[at] != -1 and target[at] not in found:
            found.append(target[at])
        entries.append(found)
    ways = []
    if all(entries):
        ways.append(tuple(map(tuple, entries)))
    for at, each in enumerate(entries):
        others = [*result[:at], *result[at + 1 :]]
        if any(isinstance(entry, int) for entry in each) or not all(match.at_most(1, dim) for dim in others):
            continue
        # A computed entry that is not the dim itself may be -1 at run time.
        safe = [
            [e for e in other if isinstance(e, int) or e is dim] for other, dim in zip(entries, result, strict=True)
        ]
        if all(safe[:at]) and all(safe[at + 1 :]):
            ways.append(tuple((-1,) if i == at else tuple(other) for i, other in enumerate(safe)))
    return ways


def _expand_choices(match: Match) -> list[Choices]:
    """The alternative targets of an Expand: the dims of the result, or 1 where the data has the dim already."""
    data, result = match.shape(0), match.result().shape
    target, shape = match.elements(1), match.shape(1)
    if data is None or result is None or shape is None or len(shape) != 1 or not isinstance(shape[0], int):
        return []
    way: list[tuple[Dim, ...]] = []
    for back in range(shape[0], 0, -1):  # axes are aligned at the last one
        dim = result[-back]
        found: list[Dim] = [1] if back <= len(data) and match.equal(data[-back], dim) else []
        if dim not in found:
            found.append(dim)
        if target is not None and target[-back] not in found:
            found.append(target[-back])
        way.append(tuple(found))
    return [tuple(way)]


def _slice_choices(match: Match) -> list[Choices]:
    """The alternative ends of a Slice: an end not before the end of its axis may be the largest number of its type."""
    data, ends, dtype = match.shape(0), match.elements(2), match.fact(2).dtype
    if data is None or ends is None or dtype not in (DType.INT32, DType.INT64):
        return []
    axes: tuple[int, ...] | None = match.integers_of(3) if match.input(3) else tuple(range(len(ends)))
    steps: tuple[int, ...] | None = match.integers_of(4) if match.input(4) else (1,) * len(ends)
    if axes is None or steps is None or not len(axes) == len(steps) == len(ends):
        return []
    way: list[tuple[Dim, ...]] = []
    for end, axis, step in zip(ends, axes, steps, strict=True):
        if not isinstance(end, int) and step > 0 and -len(data) <= axis < len(data) and match.at_most(data[axis], end):
            way.append((INTEGER_RANGE[dtype][1], end))
        else:
            way.append((end,))
    return [tuple(way)]
