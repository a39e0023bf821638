"""Tensors in several pieces along one axis: joined, cut, permuted, and combined piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from gather_infer.equality.arrays import constant_axes, grid_of
from gather_infer.equality.frames import Frame, axes_of
from gather_infer.equality.pointwise import applied_again
from gather_infer.equality.pool import MAX_GRID, TermPool
from gather_infer.equality.terms import Apply, Integer, Select, Tensor, Term
from gather_infer.symbolic import Dim, Expr, Scope, known_eq, known_le
from gather_infer.symbolic.normal_form import Extremum
from gather_infer.tensor import DType, Shape, static_dims

MAX_PIECES = 64


def piece_shape(shape: Shape, axis: int, length: Dim) -> Shape:
    return (*shape[:axis], length, *shape[axis + 1 :]) if shape else shape


def concatenated(
    pool: TermPool, dtype: DType | None, shape: Shape, axis: int, parts: Sequence[Tensor]
) -> Tensor | None:
    """The parts one after the other; pieces that continue each other become one."""
    pieces: list[tuple[Dim, Term]] = []
    for part in parts:
        if part.shape[axis] == 0:
            continue
        if part.term is None and part.axis == axis:
            pieces += part.pieces
        else:
            pieces.append((part.shape[axis], pool.term_of(part)))
    if not pieces:
        return parts[0] if parts else None
    joined = [pieces[0]]
    for piece in pieces[1:]:
        one = _continued(pool, shape, axis, joined[-1], piece) or _constant(pool, dtype, shape, axis, joined[-1], piece)
        if one is None:
            joined.append(piece)
        else:
            joined[-1] = one
    if len(joined) == 1:
        return pool.tensor(dtype, shape, joined[0][1])
    return pool.pieced(dtype, shape, axis, joined) if len(joined) <= MAX_PIECES else None


def _continued(
    pool: TermPool, shape: Shape, axis: int, first: tuple[Dim, Term], second: tuple[Dim, Term]
) -> tuple[Dim, Term] | None:
    """Two pieces as one if the term of the second is that of the first, further on."""
    if not _depends_on(pool, first[1], axis) and not _depends_on(pool, second[1], axis) and first[1] is not second[1]:
        return _stepped(pool, shape, axis, first, second)
    if first[0] == 1:
        return _preceded(pool, shape, axis, first, second)
    begin = _length_before(first[0], pool.frame(piece_shape(shape, axis, second[0])))
    if pool.move(first[1], *_further(pool, shape, axis, second[0], begin)) is second[1]:
        return first[0] + second[0], first[1]
    return None


def _length_before(length: Dim, frame: Frame) -> Dim:
    """The length of a piece before one that has an element: `min(k, n)` is `k` where more than k elements exist."""
    if isinstance(length, Extremum):
        return next((each for each in length.args if known_eq(each, length, frame.scope) is True), length)
    return length


def _further(pool: TermPool, shape: Shape, axis: int, length: Dim, begin: Dim) -> tuple[tuple[Dim, ...], Frame]:
    """The index variables of a piece, of which that of `axis` begins at a position; and their frame."""
    frame = pool.frame(piece_shape(shape, axis, length))
    index = list(frame.variables)
    index[axis] = begin + index[axis]
    return tuple(index), frame


def _preceded(
    pool: TermPool, shape: Shape, axis: int, first: tuple[Dim, Term], second: tuple[Dim, Term]
) -> tuple[Dim, Term] | None:
    """Two pieces as one if the term of the first, of one position, is that of the second at the position before."""
    if not _is_plain(second[1]):
        return None
    total = first[0] + second[0]
    joined = pool.move(second[1], *_further(pool, shape, axis, total, -1), piece_shape(shape, axis, second[0]))
    is_same = _is_at(pool, shape, axis, total, joined, 0, first) and _is_at(pool, shape, axis, total, joined, 1, second)
    return (total, joined) if is_same else None


def _is_at(
    pool: TermPool, shape: Shape, axis: int, total: Dim, joined: Term, begin: Dim, piece: tuple[Dim, Term]
) -> bool:
    """Whether a piece is a part of a term from a position on."""
    moved = pool.move(joined, *_further(pool, shape, axis, piece[0], begin), piece_shape(shape, axis, total))
    return moved is piece[1]


def _stepped(
    pool: TermPool, shape: Shape, axis: int, first: tuple[Dim, Term], second: tuple[Dim, Term]
) -> tuple[Dim, Term] | None:
    """Two pieces of one position each as one if they read positions of the same sources."""
    if first[0] != 1 or second[0] != 1:
        return None
    frame = pool.frame(piece_shape(shape, axis, 2))
    joined = _between(pool, first[1], second[1], frame.variables[axis], frame)
    if joined is None or not all(
        _is_at(pool, shape, axis, 2, joined, begin, piece) for begin, piece in enumerate((first, second))
    ):
        return None
    return 2, joined


def _between(pool: TermPool, one: Term, other: Term, variable: Dim, frame: Frame) -> Term | None:
    """The term that is `one` where a variable is 0, and `other` where it is 1; None if they are too different."""
    if one is other:
        return one
    if isinstance(one, Select) and isinstance(other, Select) and one.source is other.source:
        index = [a + (b - a) * variable for a, b in zip(one.index, other.index, strict=True)]
        return pool.select(one.source, index, frame)
    elements = [pool.element_of(each) for each in (one, other)]
    if elements[0] is not None and elements[1] is not None:
        return _between(pool, elements[0], elements[1], variable, frame)
    if isinstance(one, Integer) and isinstance(other, Integer) and one.dtype is other.dtype:
        return pool.integer(one.dtype, one.dim + (other.dim - one.dim) * variable)
    if not isinstance(one, Apply) or not isinstance(other, Apply):
        return None
    if (one.operator, one.attributes, one.dtype) != (other.operator, other.attributes, other.dtype):
        return None
    operands = [_between(pool, a, b, variable, frame) for a, b in zip(one.operands, other.operands, strict=True)]
    held = tuple(each for each in operands if each is not None)
    return applied_again(pool, one, held, frame) if len(held) == len(operands) else None


def _is_plain(term: Term) -> bool:
    """Whether positions in a term are sums of index variables and sizes, without elements of other terms."""
    if isinstance(term, Select):
        source = term.source
        return source.bounds is None and source.pieces is None and not any(map(_has_term, term.index))
    if isinstance(term, Apply):
        return all(map(_is_plain, term.operands))
    return not isinstance(term, Integer) or not _has_term(term.dim)


def _constant(
    pool: TermPool, dtype: DType | None, shape: Shape, axis: int, first: tuple[Dim, Term], second: tuple[Dim, Term]
) -> tuple[Dim, Term] | None:
    """Two pieces as one if both are constant."""
    frames = [pool.frame(piece_shape(shape, axis, length)) for length, _ in (first, second)]
    held = [constant_axes(term, frame) for (_, term), frame in zip((first, second), frames, strict=True)]
    if dtype is None or held[0] is None or held[1] is None:
        return None
    axes = sorted({axis, *held[0], *held[1]})
    sizes = [static_dims(tuple(frame.extents[each] for each in axes)) for frame in frames]
    if sizes[0] is None or sizes[1] is None or prod(sizes[0]) + prod(sizes[1]) > MAX_GRID:
        return None
    grids = []
    for (_, term), frame, dims in zip((first, second), frames, sizes, strict=True):
        grid = grid_of(term, axes, frame)
        if grid is None or dims is None:
            return None
        grids.append(np.broadcast_to(grid, dims))
    return first[0] + second[0], pool.from_grid(dtype, np.concatenate(grids, axes.index(axis)), axes)


def _depends_on(pool: TermPool, term: Term, axis: int) -> bool:
    """Whether a term reads the index variable of an axis itself."""
    if isinstance(term, Apply):
        return any(_depends_on(pool, operand, axis) for operand in term.operands)
    if isinstance(term, Select):
        return any(axis in axes_of(dim) for dim in term.index)
    element = pool.element_of(term)
    if element is not None:
        return _depends_on(pool, element, axis)
    return isinstance(term, Integer) and axis in axes_of(term.dim)


def cut(
    pool: TermPool, data: Tensor, dtype: DType | None, shape: Shape, begin: Dim, index: Sequence[Dim]
) -> Tensor | None:
    """The slice of pieces from `begin` on, along their axis; None if it is not known which pieces it meets.

    shape  of the slice
    index  the position in `data` of the element at the index variables
    """
    axis = data.axis
    end = begin + shape[axis]
    facts = pool.facts
    found: list[tuple[Dim, Term]] = []
    start: Dim = 0
    for length, term in data.pieces:
        stop = start + length
        if known_le(stop, begin, facts) is True or known_le(end, start, facts) is True:
            start = stop
            continue
        low, high = _larger(begin, start, facts), _larger(-stop, -end, facts)
        high = None if high is None else -high
        if low is None or high is None or (known_le(low, high, facts) is not True):
            return None
        frame = pool.frame(piece_shape(shape, axis, high - low))
        place = list(index)
        place[axis] = low - start + frame.variables[axis]
        for other, variable in enumerate(frame.variables):
            if other != axis and index[other] == variable:
                place[other] = variable
        found.append((high - low, pool.move(term, tuple(place), frame, piece_shape(data.shape, axis, length))))
        start = stop
    if not found:
        return None
    return pool.tensor(dtype, shape, found[0][1]) if len(found) == 1 else pool.pieced(dtype, shape, axis, found)


def _larger(a: Dim, b: Dim, facts: Scope) -> Dim | None:
    """The larger of two dims; None if it is not known which that is."""
    if known_le(a, b, facts) is True:
        return b
    return a if known_le(b, a, facts) is True else None


def rearranged(pool: TermPool, data: Tensor, dtype: DType | None, shape: Shape, index: Sequence[Dim]) -> Tensor:
    """The tensor of `shape` whose elements are those of `data` at `index`, in dims of its index variables.

    Several pieces stay several pieces, or become so again, if an index variable ranges over their axis.
    """
    frame = pool.frame(shape)
    if data.term is None:
        axis = next((k for k, variable in enumerate(frame.variables) if variable is index[data.axis]), None)
        others = (*index[: data.axis], *index[data.axis + 1 :])
        if (
            axis is not None
            and shape[axis] == data.shape[data.axis]
            and not any(axis in axes_of(dim) or _has_term(dim) for dim in others)
        ):
            pieces = []
            for length, term in data.pieces:
                part = pool.frame(piece_shape(shape, axis, length))
                place = list(index)
                place[data.axis] = part.variables[axis]
                pieces.append((length, pool.move(term, tuple(place), part)))
            return pool.pieced(dtype, shape, axis, pieces)
    term = pool.at(data, index, frame)
    inner = term.source.pieces if isinstance(term, Select) else None
    if isinstance(term, Select) and inner is not None and inner is not data:
        return rearranged(pool, inner, dtype, shape, term.index)
    return pool.tensor(dtype, shape, term)


def _has_term(dim: Dim) -> bool:
    """Whether a symbol in a dim stands for a term, which may have index variables."""
    return isinstance(dim, Expr) and any(name[:1] == "\1" for name in dim.symbols)


def combined(
    pool: TermPool,
    dtype: DType | None,
    shape: Shape,
    operands: Sequence[Tensor],
    apply: Callable[[Shape, Sequence[Tensor]], Term | None],
) -> Tensor | None:
    """A pointwise operator on operands of which some have several pieces along one axis of the result.

    apply  the term for a shape, and operands of one piece each
    """
    axes = {len(shape) - each.rank + each.axis for each in operands if each.term is None}
    if len(axes) != 1:
        closed = [pool.tensor(each.dtype, each.shape, pool.term_of(each)) for each in operands]
        term = apply(shape, closed)
        return None if term is None else pool.tensor(dtype, shape, term)
    axis = axes.pop()
    lengths = _common_lengths(pool, [each.pieces for each in operands if each.term is None])
    if lengths is None:
        closed = [pool.tensor(each.dtype, each.shape, pool.term_of(each)) for each in operands]
        term = apply(shape, closed)
        return None if term is None else pool.tensor(dtype, shape, term)
    pieces = []
    begin: Dim = 0
    for length in lengths:
        part_shape = piece_shape(shape, axis, length)
        parts = []
        for operand in operands:
            own = axis - (len(shape) - operand.rank)
            if own < 0 or operand.shape[own] == 1:
                parts.append(operand)
                continue
            if known_eq(operand.shape[own], shape[axis], pool.facts) is not True:
                return None  # it may be 1, and be repeated
            held = piece_shape(operand.shape, own, length)
            frame = pool.frame(held)
            index = list(frame.variables)
            index[own] = begin + index[own]
            if operand.term is not None:
                parts.append(pool.tensor(operand.dtype, held, pool.at(operand, tuple(index), frame)))
                continue
            found = cut(pool, operand, operand.dtype, held, begin, index)
            if found is None or found.term is None:
                return None
            parts.append(found)
        term = apply(part_shape, parts)
        if term is None:
            return None
        pieces.append((length, term))
        begin = begin + length
    return pool.pieced(dtype, shape, axis, pieces)


def _common_lengths(pool: TermPool, partitions: Sequence[Sequence[tuple[Dim, Term]]]) -> list[Dim] | None:
    """The lengths of the pieces if all partitions have the same."""
    first = [length for length, _ in partitions[0]]
    for partition in partitions[1:]:
        if len(partition) != len(first):
            return None
        for (length, _), wanted in zip(partition, first, strict=True):
            if length != wanted and known_eq(length, wanted, pool.facts) is not True:
                return None
    return first
