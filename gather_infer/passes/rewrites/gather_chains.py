"""Rewrites of a Gather whose data another node has only moved: the Gather reads the input of that node instead."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.indexing import (
    FAR,
    axes_of,
    gathered_constant,
    given_axes,
    is_smaller,
    pick_of,
    picked,
    slices_of,
)
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import Shape, static_dims

rewrites = RewriteSet()


@rewrites.rewrites("Gather")
def gather_of_gather(match: Match) -> Rewrite | None:
    """Gather(Gather(x, i, axis=a), j, axis=b) == Gather(x, Gather(i, j, axis=b-a), axis=a), a <= b < a + rank(i).

    Axis b of the inner result is axis b-a of i, so j has the same meaning for both, negative indices included. If i and
    j are constant, Gather(i, j) becomes a constant.
    """
    pick, inner = pick_of(match), match.producer(0, "Gather")
    first = None if inner is None else pick_of(inner)
    if pick is None or inner is None or first is None or not first.axis <= pick.axis < first.axis + len(first.shape):
        return None
    at = pick.axis - first.axis
    shape = first.shape[:at] + pick.shape + first.shape[at + 1 :]
    law = "Gather of a Gather takes the indices that the inner one is asked for"
    if inner.is_constant(1) and pick.indices is not None and all(isinstance(d, int) for d in shape):
        taken = gathered_constant(match, inner.input(1), pick.indices, pick.shape, at)
        if taken is None:
            return None
        return match.replace_with(law, match.new("Gather", [inner.input(0), taken], axis=first.axis))
    indices = match.new("Gather", [inner.input(1), match.input(1)], axis=at)
    return match.replace_with(law, match.new("Gather", [inner.input(0), indices], axis=first.axis))


@rewrites.rewrites("Gather")
def gather_of_concat(match: Match) -> Rewrite | None:
    """Gather(Concat(x, y), i) == Gather(y, i - dim(x)), where i is constant and each index refers to an element of y.

    Likewise for any other input of the Concat, and for negative indices. If the indices cover whole inputs of the
    Concat, one after the other, the Gather becomes a Concat of these inputs.
    """
    pick, concat = pick_of(match), match.producer(0, "Concat")
    if pick is None or concat is None or not pick.indices or concat.axis(len(pick.data)) != pick.axis:
        return None
    lengths: list[Dim] = []
    for at in range(len(concat.inputs)):
        shape = concat.shape(at)
        if shape is None or len(shape) != len(pick.data):
            return None
        lengths.append(shape[pick.axis])
    found = [_part(match, lengths, index) for index in pick.indices]
    places = [place for place in found if place is not None]
    if len(places) != len(found):
        return None
    parts = {part for part, _ in places}
    if len(parts) == 1:
        (part,) = parts
        made = picked(match, concat.input(part), [index for _, index in places], pick.shape, pick.axis)
        return match.replace_with("Gather of a Concat takes from the part that the indices are in", made)
    if len(pick.shape) != 1:
        return None
    whole = _whole_parts(lengths, places)
    if whole is None:
        return None
    made = match.new("Concat", [concat.input(part) for part in whole], axis=pick.axis)
    return match.replace_with("Gather of whole parts of a Concat is a Concat of these", made)


def _part(match: Match, lengths: Sequence[Dim], index: int) -> tuple[int, int] | None:
    """The position of the input of a Concat to which `index` refers, and the index within that input.

    lengths   the lengths of the inputs along the axis

    A negative index counts from the end, and stays negative. None if unknown lengths leave the input undecided.
    """
    order = range(len(lengths)) if index >= 0 else range(len(lengths) - 1, -1, -1)
    for part in order:
        length = lengths[part]
        reaches = index + 1 if index >= 0 else -index
        if part == order[-1] or match.at_most(reaches, length):
            return part, index
        if not isinstance(length, int):
            return None
        index += -length if index >= 0 else length
    return None


def _whole_parts(lengths: Sequence[Dim], places: Sequence[tuple[int, int]]) -> list[int] | None:
    """The inputs of a Concat that the indices read completely, in order; None if the indices read anything else.

    places   for each index the position of its input, and the index within that input
    """
    parts: list[int] = []
    at = 0
    while at < len(places):
        part, _ = places[at]
        length = lengths[part]
        if not isinstance(length, int) or length < 1:
            return None
        taken = [(p, i % length) for p, i in places[at : at + length]]
        if taken != [(part, i) for i in range(length)]:
            return None
        parts.append(part)
        at += length
    return parts


@rewrites.rewrites("Gather")
def gather_of_split(match: Match) -> Rewrite | None:
    """Gather(Split(x)[k], i) == Gather(x, i + n), where n is the total length of the outputs before output k.

    i is constant. A negative index is first counted from the start, which needs a known length of output k.
    """
    pick, split = pick_of(match), match.producer(0, "Split")
    if pick is None or split is None or not pick.positions or split.axis(len(pick.data)) != pick.axis:
        return None
    offset = 0
    for name in split.outputs[: split.position_of(match.input(0))]:
        shape = split.fact_of(name).shape
        length = None if shape is None else shape[pick.axis]
        if not isinstance(length, int):
            return None
        offset += length
    made = picked(match, split.input(0), [i + offset for i in pick.positions], pick.shape, pick.axis)
    return match.replace_with("Gather of a part of a Split takes from the whole", made)


@rewrites.rewrites("Gather")
def gather_of_slice(match: Match) -> Rewrite | None:
    """Gather(Slice(x, s, e, axis, d), i, axis) == Gather(x, s + d*i, axis), where the Slice cuts no other axis.

    s, d and i are constant, and s is a position of x in every run, so that Slice does not clamp it. If s == 0 and
    d == 1, the indices need not be constant, only >= 0.
    """
    pick, cut = pick_of(match), match.producer(0, "Slice")
    slices = None if pick is None or cut is None else slices_of(cut, len(pick.data))
    data = None if cut is None else cut.shape(0)
    if pick is None or cut is None or data is None or slices is None or len(slices) != 1 or slices[0][0] != pick.axis:
        return None
    _, start, end, step = slices[0]
    if pick.indices is None:
        if start != 0 or step != 1 or not match.is_at_least(1, 0):
            return None
        made = match.new("Gather", [cut.input(0), match.input(1)], axis=pick.axis)
        return match.replace_with("Gather of the first rows takes from all rows", made)
    counted = [_before_slice(match, data[pick.axis], start, end, step, i) for i in pick.indices]
    indices = [i for i in counted if i is not None]
    if len(indices) != len(counted) or (match.version < 11 and any(i < 0 for i in indices)):
        return None
    made = picked(match, cut.input(0), indices, pick.shape, pick.axis)
    return match.replace_with("Gather of a Slice counts from where that starts", made)


def _before_slice(match: Match, length: Dim, start: int, end: int, step: int, index: int) -> int | None:
    """The index in x of element `index` of `x[start:end:step]`, in every run that does not fail; None if unknown.

    length   the length of x along the axis
    """
    if index < 0:
        if step != 1:
            return None
        if end < 0:  # both count from the end of x
            return end + index
        if end >= FAR or match.at_most(length, end):
            return index
        return end + index if match.at_most(end, length) and end + index >= 0 else None
    if start < 0:
        found = start + step * index
        return found if found < 0 and (start == -1 or match.at_most(-start, length)) else None
    if step > 0:
        return start + step * index
    if start >= FAR or match.at_most(length, start + 1):  # clamped to the last element
        return -1 + step * index
    found = start + step * index
    return found if found >= 0 and match.at_most(start + 1, length) else None


@rewrites.rewrites("Gather")
def gather_of_unsqueeze(match: Match) -> Rewrite | None:
    """Gather(Unsqueeze(x, axes), i, axis) == Unsqueeze(Gather(x, i, axis'), axes'), where axis is not one of `axes`.

    axis' is the position of the axis in x, and axes' the positions of the added axes in the result. Squeeze likewise.
    The rewrite is applied only if the Gather returns fewer elements than its data has.

    If the Unsqueeze has added axis, a scalar i removes it again: the result is x, unsqueezed by the other axes.
    """
    pick, made_by = pick_of(match), match.producer(0, "Unsqueeze", "Squeeze")
    if pick is None or made_by is None:
        return None
    before = made_by.rank(0)
    rank = len(pick.data)
    if before is None:
        return None
    is_added = made_by.op_type == "Unsqueeze"
    axes = axes_of(made_by, rank if is_added else before)
    if axes is None or before != rank + (-len(axes) if is_added else len(axes)):
        return None
    law = f"Gather of {made_by.op_type} takes from before it"
    if is_added and pick.axis in axes:
        if pick.shape != ():
            return None
        left = [a if a < pick.axis else a - 1 for a in axes if a != pick.axis]
        return match.replace_with(law, match.unsqueeze(made_by.input(0), left) if left else made_by.input(0))
    if not is_smaller(match, pick):
        return None
    wide = rank if is_added else before  # of the tensor that has the axes
    kept = [a for a in range(wide) if a not in axes]
    axis = pick.axis - sum(a < pick.axis for a in axes) if is_added else kept[pick.axis]
    grown = len(pick.shape) - 1
    wide_axis = pick.axis if is_added else axis
    moved = [a if a < wide_axis else a + grown for a in axes]
    taken = match.new("Gather", [made_by.input(0), match.input(1)], axis=axis)
    return match.replace_with(law, match.unsqueeze(taken, moved) if is_added else match.squeeze(taken, moved))


@rewrites.rewrites("Gather")
def gather_of_transpose(match: Match) -> Rewrite | None:
    """Gather(Transpose(x, perm), i, axis) == Transpose(Gather(x, i, perm[axis]), perm').

    perm' is perm with perm[axis] replaced by the axes of i. If perm' is the identity, no Transpose remains. Otherwise
    the rewrite is applied only if the Gather returns fewer elements than its data has.
    """
    pick, turned = pick_of(match), match.producer(0, "Transpose")
    if pick is None or turned is None:
        return None
    rank, q = len(pick.data), len(pick.shape)
    perm = turned.integers("perm") or tuple(range(rank))[::-1]
    if sorted(perm) != list(range(rank)):
        return None
    source = perm[pick.axis]

    def place(axis: int) -> int:
        return axis if axis < source else axis - 1 + q

    order = [place(a) for a in perm[: pick.axis]] + list(range(source, source + q))
    order += [place(a) for a in perm[pick.axis + 1 :]]
    is_in_place = order == sorted(order)
    if not is_in_place and not is_smaller(match, pick):
        return None
    made = match.new("Gather", [turned.input(0), match.input(1)], axis=source)
    law = "Gather of a Transpose takes along the axis that it comes from"
    return match.replace_with(law, made if is_in_place else match.new("Transpose", [made], perm=order))


@rewrites.rewrites("Gather")
def gather_of_expand(match: Match) -> Rewrite | None:
    """Gather(Expand(x, s), i, axis) == Expand(x, s'), where x is repeated along the axis: all indices read the same.

    Where x is not repeated along the axis: Gather(Expand(x, s), i, axis) == Expand(Gather(x, i), s'). s' is the shape
    of the result; its dims are numbers above 0. The Expand is left out if its data has the shape s' already.
    """
    pick, wide = pick_of(match), match.producer(0, "Expand")
    shape = None if wide is None else wide.shape(0)
    if pick is None or wide is None or shape is None:
        return None
    axis = pick.axis - (len(pick.data) - len(shape))
    law = "Gather of an Expand takes from what it repeats"
    name = wide.input(0)
    if axis >= 0:
        if match.equal(shape[axis], pick.length) and not match.equal(shape[axis], 1):
            name = match.new("Gather", [name, match.input(1)], axis=axis)
            shape = shape[:axis] + pick.shape + shape[axis + 1 :]
        elif not match.equal(shape[axis], 1):
            return None
        elif pick.shape == ():
            name = match.squeeze(name, [axis])
            shape = shape[:axis] + shape[axis + 1 :]
        elif len(pick.shape) > 1:
            return None
    result = pick.result
    if match.same_shape(shape, result):
        return match.replace_with(law, name)
    numbers = static_dims(result)
    if numbers is None or 0 in numbers:
        return None  # for an empty Expand onnxruntime may infer two sizes, and then refuses the file
    return match.replace_with(law, match.new("Expand", [name, match.vector(numbers)]))


@rewrites.rewrites("Squeeze")
def squeeze_of_gather(match: Match) -> Rewrite | None:
    """Squeeze(Gather(x, [k], axis), axis) == Gather(x, k, axis), where [k] is constant or an Unsqueeze of k.

    Likewise for several axes of length 1, if all of them are axes of the indices.
    """
    gather = match.producer(0, "Gather")
    pick = None if gather is None else pick_of(gather)
    if gather is None or pick is None or not match.is_only_reader(0):
        return None
    axes = axes_of(match, len(pick.result))
    if axes is None or not all(pick.axis <= a < pick.axis + len(pick.shape) for a in axes):
        return None
    inner = [a - pick.axis for a in axes]
    law = "Squeeze of an axis of the indices of a Gather squeezes them"
    if pick.indices is not None and all(pick.shape[a] == 1 for a in inner):
        shape = tuple(d for a, d in enumerate(pick.shape) if a not in inner)
        return match.replace_with(law, picked(match, gather.input(0), pick.indices, shape, pick.axis))
    added = gather.producer(1, "Unsqueeze")
    if added is None or axes_of(added, len(pick.shape)) != inner:
        return None
    return match.replace_with(law, match.new("Gather", [gather.input(0), added.input(0)], axis=pick.axis))


@rewrites.rewrites("Unsqueeze")
def unsqueeze_of_gather(match: Match) -> Rewrite | None:
    """Unsqueeze(Gather(x, k, axis), axis) == Gather(x, [k], axis), where k is a constant scalar.

    Likewise for constant indices of any rank, if all new axes are between or next to the axes of the indices.
    """
    gather = match.producer(0, "Gather")
    pick = None if gather is None else pick_of(gather)
    if gather is None or pick is None or pick.indices is None or not match.is_only_reader(0):
        return None
    given = given_axes(match)
    axes = None if given is None else axes_of(match, len(pick.result) + len(given))
    if axes is None:
        return None
    # The new axes have to be among those of the indices, or at their ends.
    kept = [a for a in range(len(pick.result) + len(axes)) if a not in axes]
    inside = [a for a in axes if pick.axis <= sum(k < a for k in kept) <= pick.axis + len(pick.shape)]
    if inside != axes:
        return None
    dims = list(pick.shape)
    for a in axes:
        dims.insert(a - pick.axis, 1)
    law = "Unsqueeze beside the indices of a Gather unsqueezes them"
    return match.replace_with(law, picked(match, gather.input(0), pick.indices, tuple(dims), pick.axis))


@rewrites.rewrites("Reshape")
def reshape_of_gather(match: Match) -> Rewrite | None:
    """Reshape(Gather(x, Reshape(i), axis)) == Gather(x, i, axis), if both sides have the same shape.

    They read the same elements of x in the same order. The inner Reshape may also be a Flatten, Squeeze or Unsqueeze.
    """
    gather = match.producer(0, "Gather")
    pick = None if gather is None else pick_of(gather)
    flat = None if gather is None else gather.producer(1, "Reshape", "Flatten", "Squeeze", "Unsqueeze")
    if gather is None or pick is None or flat is None:
        return None
    indices = flat.shape(0)
    if indices is None:
        return None
    shape: Shape = pick.data[: pick.axis] + indices + pick.data[pick.axis + 1 :]
    if not match.same_shape(shape, match.result().shape):
        return None
    made = match.new("Gather", [gather.input(0), flat.input(0)], axis=pick.axis)
    return match.replace_with("Gather by reshaped indices, reshaped back, is a Gather by the indices", made)
