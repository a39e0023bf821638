"""Repeated blocks: runs of the same sequence of operators, such as the layers of a transformer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

MAX_PERIOD: Final = 2048
"""Maximum number of nodes of a repeated block."""

_MIN_SAVED: Final = 6  # nodes that a repetition hides, at least
_SHARE: Final = 40  # or this part of all nodes
_MAX_PARTS: Final = 60

_NUMBERED = re.compile(r".*?\d+")


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive nodes: `count` repetitions of `period` nodes, from the position `start` on."""

    start: int
    period: int
    count: int = 1

    @property
    def end(self) -> int:
        return self.start + self.period * self.count


def repeated_blocks(operators: Sequence[str], labels: Sequence[str]) -> list[Block]:
    """The nodes in order as blocks; those without repetition between two repeated blocks are one block.

    operators, labels   the operator and the label of each node. Where a repetition may begin at several nodes, it
                        begins where the first number in the labels changes
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(operators))}
    codes = np.array([numbers[name] for name in operators], dtype=np.int32)
    smallest = max(_MIN_SAVED, len(operators) // _SHARE)
    found: list[Block] = []
    pending = [(0, len(operators))]
    while pending:
        start, end = pending.pop()
        block = _best(codes, labels, start, end, smallest) if len(found) < _MAX_PARTS else None
        if block is not None:
            found.append(block)
            pending += [(start, block.start), (block.end, end)]
    result: list[Block] = []
    position = 0
    for block in sorted(found, key=lambda each: each.start):
        if block.start > position:
            result.append(Block(position, block.start - position))
        result.append(block)
        position = block.end
    if position < len(operators):
        result.append(Block(position, len(operators) - position))
    return result


def _best(codes: npt.NDArray[np.int32], labels: Sequence[str], start: int, end: int, smallest: int) -> Block | None:
    """The repetition between two positions that hides the most nodes, `smallest` or more; the shortest of several."""
    part = codes[start:end]
    best: tuple[int, Block, int] | None = None
    for period in range(1, min(len(part) // 2, MAX_PERIOD) + 1):
        run, at = _longest_run(part[period:] == part[:-period])
        count = run // period + 1
        saved = (count - 1) * period
        if saved >= smallest and (best is None or saved > best[0]):
            best = saved, Block(start + at, period, count), run % period
    if best is None:
        return None
    _, block, slack = best
    shifted = [Block(block.start + shift, block.period, block.count) for shift in range(slack + 1)]
    return max(shifted, key=lambda each: (_boundaries(each, labels), -each.start))


def _longest_run(matches: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Length and start of the first longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], matches, [False])).astype(np.int8)))
    if not len(edges):
        return 0, 0
    lengths = edges[1::2] - edges[::2]
    longest = int(np.argmax(lengths))
    return int(lengths[longest]), int(edges[2 * longest])


def _boundaries(block: Block, labels: Sequence[str]) -> int:
    """The number of repetitions that begin where the first number in the labels changes."""
    starts = range(block.start, block.end, block.period)
    return sum(at > 0 and _numbered(labels[at]) != _numbered(labels[at - 1]) for at in starts)


def _numbered(label: str) -> str:
    """The label up to its first number: `/encoder/layer.3`."""
    match = _NUMBERED.match(label[:200])
    return "" if match is None else match[0]
