"""GatherND and GatherElements that are equivalent to a Gather; Gathers of one tensor that are equivalent to a Split."""

from __future__ import annotations

import numpy as np

from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.indexing import axes_of, pick_of, slices_of
from gather_infer.passes.rule_table import RewriteSet

rewrites = RewriteSet()


@rewrites.rewrites("GatherND")
def gather_nd_of_rows(match: Match) -> Rewrite | None:
    """GatherND(x, Unsqueeze(i, -1)) == Gather(x, i, axis=0): index tuples of length 1.

    The indices are constant, or come from an Unsqueeze without other uses that added their last axis. If all b batch
    dims have length 1: GatherND(x, i, batch_dims=b) == Gather(x, i without its first b axes, axis=b).

    The rows of x are known to have elements, or i to be in range: runtimes need not check indices of empty rows.
    """
    data, shape = match.shape(0), match.shape(1)
    if data is None or not shape or match.is_faulty:
        return None
    b = match.integer("batch_dims", 0)
    if not 0 <= b < min(len(data), len(shape)) or shape[-1] != 1:
        return None
    if not all(match.equal(d, 1) for d in (*data[:b], *shape[:b])):
        return None
    if not all(match.at_most(1, d) for d in data[b + 1 :]) and not match.is_within(1, -data[b], data[b] - 1):
        return None
    law = "GatherND by tuples of one index is a Gather"
    indices: str
    constant = match.constant(1)
    if constant is not None:
        indices = match.add_constant(Constant(constant.data_type, constant.bits.reshape(constant.bits.shape[b:-1])))
    else:
        added = match.producer(1, "Unsqueeze")
        axes = None if added is None else axes_of(added, len(shape))
        if added is None or axes is None or not match.is_only_reader(1):
            return None
        wanted = [*range(b), len(shape) - 1]
        if not set(wanted) <= set(axes):
            return None
        left = [a - b for a in axes if a not in wanted]
        indices = match.unsqueeze(added.input(0), left) if left else added.input(0)
    return match.replace_with(law, match.new("Gather", [match.input(0), indices], axis=b))


@rewrites.rewrites("GatherElements", since=11)
def gather_elements_of_slices(match: Match) -> Rewrite | None:
    """GatherElements(x, Expand(i), axis) == Gather(x, i, axis), where i is a vector along the axis.

    Along all other axes the indices are as long as x, and equal at each position. They are constant, or an Expand or
    Tile of i with axes of length 1 added.

    The other dims of x are known to be >= 1, or i to be in range: else runtimes need not check i.
    """
    data, shape = match.shape(0), match.shape(1)
    if data is None or shape is None or len(data) != len(shape) or match.is_faulty:
        return None
    axis = match.axis(len(data))
    if axis is None or not all(
        match.equal(a, b) for at, (a, b) in enumerate(zip(data, shape, strict=True)) if at != axis
    ):
        return None
    law = "GatherElements by indices that are the same for each row is a Gather"
    constant = match.constant(1)
    if constant is not None and not constant.bits.size:
        return None
    if constant is not None:
        line = np.moveaxis(constant.bits, axis, 0).reshape(constant.bits.shape[axis], -1)
        if (line != line[:, :1]).any():
            return None
        indices = match.add_constant(Constant(constant.data_type, np.ascontiguousarray(line[:, 0])))
        return match.replace_with(law, match.new("Gather", [match.input(0), indices], axis=axis))
    wide = match.producer(1, "Expand", "Tile")
    narrow = None if wide is None else wide.shape(0)
    if wide is None or narrow is None:
        return None
    length, others = data[axis], data[:axis] + data[axis + 1 :]
    if not all(match.at_most(1, dim) for dim in others) and not wide.is_within(0, -length, length - 1):
        return None
    at = axis - (len(shape) - len(narrow))
    if at < 0 or not match.equal(narrow[at], shape[axis]):
        return None
    if not all(match.equal(d, 1) for k, d in enumerate(narrow) if k != at):
        return None
    if len(narrow) == 1:
        return match.replace_with(law, match.new("Gather", [match.input(0), wide.input(0)], axis=axis))
    added = wide.producer(0, "Unsqueeze", "Reshape")
    if added is None or added.rank(0) != 1:
        return None
    return match.replace_with(law, match.new("Gather", [match.input(0), added.input(0)], axis=axis))


@rewrites.rewrites("Gather", "Slice")
def parts_to_split(match: Match) -> Rewrite | None:
    """Slice(x, 0, k, axis), Slice(x, k, n, axis) == the outputs of Split(x, axis) into lengths k and n - k.

    Likewise for more Slices. Together they read every position of the axis once and in order; the length n is a number.
    A Gather with the indices [k] counts as a Slice of one position; a scalar k would need a Squeeze. Other readers of x
    stay as they are.
    """
    first = _part_of(match)
    if first is None or match.producer(0, "Shape") is not None:
        return None
    axis, _, _, length = first
    parts: dict[int, tuple[int, Match]] = {}
    for reader in match.siblings(0):
        found = _part_of(reader) if reader.input(0) == match.input(0) else None
        if found is not None and found[0] == axis:
            if found[1] in parts:
                return None
            parts[found[1]] = found[2], reader
    sizes: list[int] = []
    outputs: list[str] = []
    at = 0
    while at in parts and at < length:
        end, reader = parts[at]
        sizes.append(end - at)
        outputs.append(reader.output())
        at = end
    if at != length or match.output() not in outputs or len(outputs) < 2:
        return None
    if match.opset < 13:
        made = match.new_outputs("Split", [match.input(0)], len(sizes), axis=axis, split=sizes)
    else:
        made = match.new_outputs("Split", [match.input(0), match.vector(sizes)], len(sizes), axis=axis)
    replaced = dict(zip(outputs, made, strict=True))
    return match.replace_values("neighbouring parts that are all of an axis are a Split", replaced)


def _part_of(match: Match) -> tuple[int, int, int, int] | None:
    """`(axis, start, end, length)` of a Gather or Slice that reads positions [start, end) of an axis of that length.

    None for any other node, for no position, and if the length is not a number.
    """
    data = match.shape(0)
    if match.domain or data is None or match.is_faulty or not match.is_operator:
        return None
    if match.op_type == "Gather":
        pick = pick_of(match)
        if pick is None or pick.shape != (1,) or not pick.positions or not isinstance(pick.length, int):
            return None
        start = pick.positions[0]
        return pick.axis, start, start + 1, pick.length
    slices = slices_of(match, len(data)) if match.op_type == "Slice" else None
    if slices is None or len(slices) != 1 or slices[0][3] != 1:
        return None
    axis, start, end, _ = slices[0]
    length = data[axis]
    if not isinstance(length, int):
        return None
    start, end, _ = slice(start, end).indices(length)
    return (axis, start, end, length) if start < end else None
