"""Images that are rolled along an axis: `Concat(x[3:], x[:3])`, and back, `Concat(x[-3:], x[:-3])`.

The number is that of positions by which windows are shifted: less than half of a window, and there are two windows at
least. So it is at most a quarter of the axis. A roll by another number, such as half of the axis, may stand for the old
size. Which end of the axis the number is counted from follows from it: it is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onnx import NodeProto

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_QUARTER: Final = 4
_END: Final = 2**31 - 1


def rolled(walk: UnfreezingWalk, node: NodeProto, axis: int, old: int) -> tuple[int, int] | None:
    """Start and end of a Slice that is half of a roll, for any size of the axis; None if it is no such Slice."""
    mine = _range(walk, node, axis, old)
    readers = walk.readers.get(node.output[0], ())
    if mine is None or len(readers) != 1 or readers[0].op_type != "Concat" or len(readers[0].input) != 2:
        return None
    joined = next((a.i for a in readers[0].attribute if a.name == "axis"), 0)
    rank = len(walk.factors[node.input[0]])
    parts = [walk.in_file.get(name) for name in readers[0].input]
    if joined % rank != axis or any(part is None or part.op_type != "Slice" for part in parts):
        return None
    ranges = [_range(walk, part, axis, old) for part in parts if part is not None and part.input[0] == node.input[0]]
    if len(ranges) != len(parts) or ranges[0] is None or ranges[1] is None:
        return None
    (begin, end), (zero, last) = ranges[0], ranges[1]
    if (zero, end) != (0, old) or begin != last or not 0 < begin < old:
        return None
    steps = begin if begin * _QUARTER <= old else begin - old if (old - begin) * _QUARTER <= old else None
    if steps is None:
        return None
    return (steps, _END) if mine[1] == old else (0, steps)


def _range(walk: UnfreezingWalk, node: NodeProto, axis: int, old: int) -> tuple[int, int] | None:
    """The positions that a Slice takes out of one axis alone."""
    operands = [walk.array(name) for name in node.input[1:]]
    rank = len(walk.factors.get(node.input[0], ()))
    if len(operands) < 3 or any(each is None or each.size != 1 for each in operands) or not rank:
        return None
    start, end, cut, *step = (int(each.flat[0]) for each in operands if each is not None)
    if cut % rank != axis or (step and step[0] != 1):
        return None
    found = slice(start, end).indices(old)
    return found[0], found[1]
