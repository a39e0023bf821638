"""Gathers with iota or meshgrid indices, all positions in order: exporters emit them for masks and flat lookups."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.indexing import axes_of, pick_of, picked
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import DType, Shape

rewrites = RewriteSet()

_MAX_DEPTH: Final = 24
"""Maximum number of nodes between indices and the Range or constant that they come from."""

_MAX_AXES: Final = 8


class AffineGrid(NamedTuple):
    """An integer tensor whose element at position p is `base + steps[0]*p[0] + steps[1]*p[1] + ...`.

    The step of an axis of length 1 is 0.
    """

    shape: Shape
    base: Dim
    steps: tuple[Dim, ...]


@rewrites.rewrites("Gather")
def gather_of_grid(match: Match) -> Rewrite | None:
    """Gather(x, i, axis) == Reshape(x), where i in row-major order counts all positions of the axis from 0.

    `Range(0, n)` counts n positions; so does `Range(0, b)[:, None] * s + Range(0, s)` for n == b*s. The result has the
    elements of x in their order, and is built from x by adding or removing axes of length 1.
    """
    pick = pick_of(match)
    if pick is None:
        return None
    grid = grid_of(match, match.input(1))
    if grid is None or not _is_full_range(match, grid, pick.length):
        return None
    return _reshaped(match, pick.result, "Gather of all positions in order is its data, with other axes")


@rewrites.rewrites("Gather", since=11)
def gather_of_run(match: Match) -> Rewrite | None:
    """Gather(x, Range(s, e) + k, axis) == Slice(x, s + k, e + k, axis), where s + k >= 0 and e + k >= 0.

    k has one element. With a negative bound the two would differ: a Slice shifts its bounds, but a Gather each negative
    index. A Gather with an index past the end fails. Axes of length 1 that were added to the Range are added to the
    Slice.
    """
    pick = pick_of(match)
    run = None if pick is None else _range_of(match, match.input(1), pick.shape)
    if pick is None or run is None:
        return None
    at, offsets = run
    counted, start, end = at.result().shape, at.elements(0), at.elements(1)
    moved: Dim = 0
    for name in offsets:
        moved = moved + match.fact_of(name).only_element
    if counted is None or not start or not end or not all(match.at_most(0, v[0] + moved) for v in (start, end)):
        return None
    added = _ones_added(match, counted, pick.shape)
    if added is None:
        return None
    bounds: list[str] = []
    for at_input in (0, 1):
        terms = [name for name in (at.input(at_input), *offsets) if match.fact_of(name).only_element != 0]
        vectors = [_as_vector(match, name) for name in terms or [at.input(at_input)]]
        found = [vector for vector in vectors if vector is not None]
        if len(found) < len(vectors):
            return None
        total = found[0]
        for vector in found[1:]:
            total = match.new("Add", [total, vector])
        bounds.append(total)
    made = match.new("Slice", [match.input(0), *bounds, match.vector([pick.axis])])
    law = "Gather of the positions from s to e is a Slice"
    return match.replace_with(law, match.unsqueeze(made, [pick.axis + a for a in added]) if added else made)


def _range_of(match: Match, name: str, shape: Shape) -> tuple[Match, list[str]] | None:
    """The Range with step 1 from which the indices `name` come, and the names of the single integers added to it.

    None if the indices do not come from such a Range. `shape` is the shape of the indices.
    """
    length = [d for d in shape if not match.equal(d, 1)]
    offsets: list[str] = []
    for _ in range(_MAX_DEPTH):
        at = match.producer_of(name, "Range", "Unsqueeze", "Squeeze", "Reshape", "Add")
        if at is None:
            return None
        if at.op_type == "Range":
            is_run = at.elements(2) == (1,) and at.result().dtype is DType.INT64
            return (at, offsets) if is_run else None
        name = at.input(0)
        if at.op_type == "Add":
            others = [n for n in at.inputs if isinstance(match.fact_of(n).only_element, (int, Expr))]
            if len(others) != 1 or match.fact_of(others[0]).shape not in ((), (1,)):
                return None
            offsets += others
            name = at.input(1) if others[0] == name else name
        inner = match.fact_of(name).shape
        if inner is None or [d for d in inner if not match.equal(d, 1)] != length:
            return None
    return None


def _as_vector(match: Match, name: str, depth: int = 0) -> str | None:
    """A value of shape [1] with the integer that `name` holds, without a new Unsqueeze; None if there is none."""
    fact = match.fact_of(name)
    if fact.shape == (1,):
        return name
    if fact.shape != () or depth > 4:
        return None
    constant = match.context.constants.load(match.graph, name)
    if constant is not None:
        return match.add_constant(Constant(constant.data_type, constant.bits.reshape(1)))
    for reader in match.readers_of(name):
        if reader.op_type == "Unsqueeze" and not reader.domain and reader.input(0) == name:
            wide = reader.result().shape
            if wide is not None and len(wide) == 1:
                return reader.output()
    writer = match.producer_of(name, "Squeeze", "Add", "Sub", "Gather")
    if writer is None:
        return None
    if writer.op_type == "Squeeze":
        return writer.input(0) if writer.rank(0) == 1 else None
    if writer.op_type == "Gather":
        pick = pick_of(writer)
        if pick is None or pick.indices is None or len(pick.data) != 1:
            return None
        return picked(match, writer.input(0), pick.indices, (1,), 0)
    left, right = _as_vector(match, writer.input(0), depth + 1), _as_vector(match, writer.input(1), depth + 1)
    return None if left is None or right is None else match.new(writer.op_type, [left, right])


@rewrites.rewrites("GatherND")
def gather_nd_of_grid(match: Match) -> Rewrite | None:
    """GatherND(x, Concat(i, j, ...)) == Reshape(x), where the index tuples count all positions of x in order.

    The flat index of a tuple, such as i*dim + j, counts from 0 as for `gather_of_grid`. No component is negative, so
    that the flat index identifies the tuple. There are no batch dims.
    """
    data, shape = match.shape(0), match.shape(1)
    joined = match.producer(1, "Concat")
    if data is None or not shape or joined is None or match.is_faulty or match.integer("batch_dims", 0):
        return None
    k = len(joined.inputs)
    if joined.integer("axis", 0) not in (-1, len(shape) - 1) or shape[-1] != k or k > len(data):
        return None
    total: Dim = 1
    base: Dim = 0
    steps: list[Dim] = [0] * (len(shape) - 1)
    for at in reversed(range(k)):
        part = grid_of(match, joined.input(at))
        if part is None or part.shape[-1] != 1 or not all(match.at_most(0, c) for c in (part.base, *part.steps)):
            return None
        base = base + part.base * total
        steps = [a + b * total for a, b in zip(steps, part.steps[:-1], strict=True)]
        total = total * data[at]
    if not _is_full_range(match, AffineGrid(shape[:-1], base, tuple(steps)), total):
        return None
    return _reshaped(match, shape[:-1] + data[k:], "GatherND of all tuples in order is its data, with other axes")


def _is_full_range(match: Match, grid: AffineGrid, length: Dim) -> bool:
    """Whether the elements of `grid`, in row-major order, are 0, 1, ..., `length` - 1 in every run."""
    total: Dim = 1
    for dim, step in zip(reversed(grid.shape), reversed(grid.steps), strict=True):
        if match.equal(dim, 1):
            continue
        if not match.equal(step, total):
            return False
        total = total * dim
    return match.equal(grid.base, 0) and match.equal(total, length)


def _reshaped(match: Match, shape: Shape, law: str) -> Rewrite | None:
    """The rewrite of a node to its data in another `shape`, or to a value from which the data was reshaped.

    None unless adding or removing axes of length 1 gives the shape.
    """
    at: Match | None = match
    name, found = match.input(0), match.shape(0)
    while at is not None and found is not None:
        if match.same_shape(found, shape):
            return match.replace_with(law, name)
        axes = _ones_added(match, found, shape)
        if axes is not None:
            return match.replace_with(law, match.unsqueeze(name, axes))
        axes = _ones_added(match, shape, found)
        if axes is not None:
            return match.replace_with(law, match.squeeze(name, axes))
        at = at.producer(0, "Reshape", "Flatten", "Squeeze", "Unsqueeze")
        if at is not None:
            name, found = at.input(0), at.shape(0)
    return None


def _ones_added(match: Match, narrow: Shape, wide: Shape) -> list[int] | None:
    """The axes of length 1 of `wide` whose removal gives `narrow`; None if the shapes differ in more than such axes."""
    axes: list[int] = []
    at = 0
    for axis, dim in enumerate(wide):
        if at < len(narrow) and match.equal(dim, narrow[at]):
            at += 1
        elif match.equal(dim, 1):
            axes.append(axis)
        else:
            return None
    return axes if at == len(narrow) else None


def grid_of(match: Match, name: str, depth: int = 0) -> AffineGrid | None:
    """The grid that equals the value `name` in every run; None if none is known.

    depth   the number of nodes between `name` and the indices that are analysed
    """
    fact = match.fact_of(name)
    shape = fact.shape
    if shape is None or fact.dtype is not DType.INT64 or len(shape) > _MAX_AXES or depth > _MAX_DEPTH:
        return None
    only = fact.only_element
    if only is not None:
        return AffineGrid(shape, only, (0,) * len(shape))
    writer = match.producer_of(name)
    if writer is None or writer.domain or writer.node.is_constant:
        return _constant_grid(match, name)
    found = _grid_of_node(match, writer, shape, depth + 1)
    if found is None:
        return None
    base, steps = found
    return AffineGrid(shape, base, tuple(0 if match.equal(d, 1) else s for d, s in zip(shape, steps, strict=True)))


def _grid_of_node(match: Match, writer: Match, shape: Shape, depth: int) -> tuple[Dim, tuple[Dim, ...]] | None:
    """The base and the steps of the grid that `writer` outputs, from the grids of its inputs; None if unknown.

    shape   the shape of the output
    """
    match writer.op_type:
        case "Range":
            start, delta = writer.elements(0), writer.elements(2)
            return None if not start or not delta else (start[0], (delta[0],))
        case "Add" | "Sub" | "Mul":
            return _arithmetic(match, writer, shape, depth)
        case "Unsqueeze" | "Squeeze" | "Reshape" | "Flatten" | "Expand" | "Transpose" | "Cast" | "Identity":
            data = grid_of(match, writer.input(0), depth)
            steps = None if data is None else _moved_steps(match, writer, data, shape)
            return None if data is None or steps is None else (data.base, steps)
    return None


def _moved_steps(match: Match, writer: Match, data: AffineGrid, shape: Shape) -> tuple[Dim, ...] | None:
    """The steps of the grid `data` after the node `writer` has moved its elements into `shape`; None if unknown."""
    match writer.op_type:
        case "Cast" | "Identity":
            return data.steps  # both are int64
        case "Expand":
            return _broadcast(match, data, shape)
        case "Transpose":
            perm = writer.integers("perm") or tuple(range(len(shape)))[::-1]
            return tuple(data.steps[p] for p in perm) if sorted(perm) == list(range(len(shape))) else None
        case "Unsqueeze":
            axes = axes_of(writer, len(shape))
            if axes is None:
                return None
            left = iter(data.steps)
            return tuple(0 if a in axes else next(left) for a in range(len(shape)))
    # Only axes of length 1 are added or removed: the others are the same, in order.
    dims = [(d, s) for d, s in zip(data.shape, data.steps, strict=True) if not match.equal(d, 1)]
    wide = [a for a, d in enumerate(shape) if not match.equal(d, 1)]
    if len(dims) != len(wide) or not all(match.equal(d, shape[a]) for (d, _), a in zip(dims, wide, strict=True)):
        return None
    steps: list[Dim] = [0] * len(shape)
    for (_, step), a in zip(dims, wide, strict=True):
        steps[a] = step
    return tuple(steps)


def _broadcast(match: Match, data: AffineGrid, shape: Shape) -> tuple[Dim, ...] | None:
    """The steps of the grid `data` when it is broadcast to `shape`; None if it is not known to broadcast."""
    added = len(shape) - len(data.shape)
    if added < 0:
        return None
    for dim, wide in zip(data.shape, shape[added:], strict=True):
        if not match.equal(dim, 1) and not match.equal(dim, wide):
            return None
    return (0,) * added + data.steps


def _arithmetic(match: Match, writer: Match, shape: Shape, depth: int) -> tuple[Dim, tuple[Dim, ...]] | None:
    left, right = grid_of(match, writer.input(0), depth), grid_of(match, writer.input(1), depth)
    if left is None or right is None:
        return None
    steps, others = _broadcast(match, left, shape), _broadcast(match, right, shape)
    if steps is None or others is None:
        return None
    if writer.op_type == "Mul":
        if any(s != 0 for s in steps):
            left, right, steps, others = right, left, others, steps
        if any(s != 0 for s in steps):
            return None
        return left.base * right.base, tuple(left.base * s for s in others)
    sign = 1 if writer.op_type == "Add" else -1
    return left.base + right.base * sign, tuple(a + b * sign for a, b in zip(steps, others, strict=True))


def _constant_grid(match: Match, name: str) -> AffineGrid | None:
    """The grid that equals the constant `name`; None if there is none, or the constant has over 65 536 elements."""
    constant = match.context.constants.load(match.graph, name)
    numbers = None if constant is None or constant.bits.size > 1 << 16 else constant.to_indices()
    if numbers is None or not numbers.size:
        return None
    base = int(numbers.reshape(-1)[0])
    steps: list[int] = []
    wanted = np.full((), base, np.int64)
    for axis, length in enumerate(numbers.shape):
        second = tuple(1 if a == axis else 0 for a in range(numbers.ndim))
        steps.append(int(numbers[second]) - base if length > 1 else 0)
        wanted = wanted[..., None] + np.arange(length) * steps[-1]
    return AffineGrid(numbers.shape, base, tuple(steps)) if np.array_equal(wanted, numbers) else None
