"""Fusion of pairs of nodes: inverse pairs cancel, views and other chains become one node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
from onnx import TensorProto

from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.identity_elimination import preserves_order
from gather_infer.passes.rewrites.indexing import axes_of
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.symbolic import Dim, Expr, free_symbols, known_eq, known_lt, product, symbol
from gather_infer.symbolic.normal_form import Symbol
from gather_infer.tensor import DType, Shape

rewrites = RewriteSet()

VIEWS: Final = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
"""Operators that keep the elements in their order."""

_FAR: Final = (1 << 63) - 1

MOST_ZEROS: Final = 4
"""Maximum number of sizes that may be 0 in a Reshape with `allowzero`: each subset of them is a case."""


@rewrites.rewrites("Transpose")
def transpose_of_transpose(match: Match) -> Rewrite | None:
    """Transpose(Transpose(x, p), q) == Transpose(x, s), where s = [p[a] for a in q]; == x, where s is 0..r-1"""
    inner = match.producer(0, "Transpose")
    if inner is None:
        return None
    first, second = inner.integers("perm"), match.integers("perm")
    rank = match.rank(0)
    for perm in (first, second):
        rank = rank if perm is None else len(perm)
    if rank is None:  # neither Transpose has a perm
        return match.replace_with("Transpose(Transpose(x)) == x", inner.input(0))
    backwards = tuple(reversed(range(rank)))
    first, second = first or backwards, second or backwards
    if len(first) != len(second) or sorted(second) != list(range(rank)):
        return None
    perm = tuple(first[axis] for axis in second)
    if perm == tuple(range(rank)):
        return match.replace_with("Transpose(Transpose(x, p), q) == x, q undoes p", inner.input(0))
    law = "Transpose(Transpose(x, p), q) == Transpose(x, [p[a] for a in q])"
    return match.replace_with(law, match.new("Transpose", [inner.input(0)], perm=list(perm)))


@rewrites.rewrites("Unsqueeze")
def unsqueeze_of_unsqueeze(match: Match) -> Rewrite | None:
    """Unsqueeze(Unsqueeze(x, a), b) == Unsqueeze(x, c), where c are b and the positions of the axes a in the result

    All readers of the inner Unsqueeze are of the same operator, so that it is dead once all of them are rewritten.
    """
    inner = match.producer(0, "Unsqueeze")
    if inner is None or not _has_only_like_readers(match, inner):
        return None
    first, second = axes_of(inner, inner.result().rank), axes_of(match, match.result().rank)
    if first is None or second is None:
        return None
    law = "Unsqueeze(Unsqueeze(x, a), b) == Unsqueeze(x, b and where a has come to be)"
    return match.replace_with(law, match.unsqueeze(inner.input(0), sorted(_both(second, first))))


@rewrites.rewrites("Squeeze")
def squeeze_of_squeeze(match: Match) -> Rewrite | None:
    """Squeeze(Squeeze(x, a), b) == Squeeze(x, c), where c are a and the positions of the axes b in x

    All readers of the inner Squeeze are of the same operator, so that it is dead once all of them are rewritten.
    """
    inner = match.producer(0, "Squeeze")
    if inner is None or not _has_only_like_readers(match, inner):
        return None
    first, second = axes_of(inner, inner.rank(0)), axes_of(match, match.rank(0))
    if first is None or second is None:
        return None
    law = "Squeeze(Squeeze(x, a), b) == Squeeze(x, a and where b has been)"
    return match.replace_with(law, match.squeeze(inner.input(0), sorted(_both(first, second))))


def _has_only_like_readers(match: Match, inner: Match) -> bool:
    """Whether all readers of `inner` have the operator of the matched node, so that `inner` is dead once all are
    rewritten.
    """
    if inner.is_graph_output():
        return False
    return all(other.op_type == match.op_type and other.domain == match.domain for other in inner.readers())


@rewrites.rewrites("Squeeze", "Unsqueeze")
def squeeze_of_unsqueeze(match: Match) -> Rewrite | None:
    """Squeeze(Unsqueeze(x, a), a) == Unsqueeze(Squeeze(x, a), a) == x"""
    inner = match.producer(0, "Unsqueeze" if match.op_type == "Squeeze" else "Squeeze")
    if inner is None:
        return None
    one, other = (
        (inner.result().rank, match.rank(0)) if match.op_type == "Squeeze" else (inner.rank(0), match.result().rank)
    )
    first, second = axes_of(inner, one), axes_of(match, other)
    if first is None or second is None or set(first) != set(second):
        return None
    return match.replace_with("Squeeze(Unsqueeze(x, a), a) == Unsqueeze(Squeeze(x, a), a) == x", inner.input(0))


def _both(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    """The axes `outer` of a tensor, then those that `inner` refers to, which counts only the axes not in `outer`."""
    rest = [axis for axis in range(len(outer) + max(inner, default=0) + 1) if axis not in outer]
    return [*outer, *(rest[axis] for axis in inner)]


@rewrites.rewrites("Reshape", since=5)
def reshape_of_view(match: Match) -> Rewrite | None:
    """Reshape(view(x), t) == Reshape(x, t), where each entry of t that may be 0 copies the same dim of x and view(x)

    With `allowzero`, where a 0 next to a -1 gives the same size before the view. A Transpose that moves only axes of
    size 1 is a view as well.
    """
    inner = match.producer(0, *VIEWS, "Transpose")
    if inner is None or not _is_view(inner) or not match.input(1):
        return None
    is_same = _infers_the_same if match.integer("allowzero", 0) else _copies_the_same
    if not is_same(match, inner):
        return None
    new = match.copy(match, [inner.input(0), match.input(1)])
    return match.replace_with("Reshape(view(x), t) == Reshape(x, t), a 0 in t copies the same dim of both", *new)


def _infers_the_same(match: Match, inner: Match) -> bool:
    """Whether a -1 in the target, with `allowzero`, is the same size before the inner view as after it.

    Next to a 0, onnxruntime divides the product of the sizes of the data that are not 0, which a view may change, by
    that of the target, and fails if it does not divide it.
    """
    target, data, view = match.elements(1), inner.shape(0), match.shape(0)
    if target is not None and all(match.at_most(0, entry) for entry in target):
        return True
    if target is None or data is None or view is None:
        return False
    sizes = [entry for entry in target if entry != -1]
    dims = {*data, *view, *sizes}
    uncertain = {dim for dim in dims if not match.at_most(1, dim)}
    names = sorted({name for dim in uncertain for name in free_symbols(dim)})
    if len(names) > MOST_ZEROS or not all(_is_product(dim) and match.at_most(0, dim) for dim in uncertain):
        return False
    if not all(free_symbols(dim).isdisjoint(names) for dim in dims - uncertain):
        return False
    for count in range(1, len(names) + 1):
        for zeros in combinations(names, count):
            scope = match.scope.child()
            for name in names:
                if name not in zeros:
                    scope.add_fact(symbol(name) - 1)
            held = [[dim for dim in dims if free_symbols(dim).isdisjoint(zeros)] for dims in (data, view, sizes)]
            if len(held[2]) == len(sizes):
                continue
            before, after, divisor = map(product, held)
            if known_eq(before, after, scope) is not True and known_lt(after, divisor, scope) is not True:
                return False
    return True


def _is_product(dim: Dim) -> bool:
    """Whether a dim is a product of symbols and a number, so that it is 0 where one of them is."""
    return isinstance(dim, Expr) and len(dim.terms) == 1 and all(isinstance(atom, Symbol) for atom in dim.terms[0][0])


def _copies_the_same(match: Match, inner: Match) -> bool:
    """Whether each entry of the target that may be 0 copies the same dim before the inner view as after it."""
    target, data, view = match.elements(1), inner.shape(0), match.shape(0)
    if target is None:
        return False
    for at, entry in enumerate(target):
        if entry == -1 or match.at_most(1, entry):
            continue
        if data is None or view is None or at >= min(len(data), len(view)) or not match.equal(data[at], view[at]):
            return False
    return True


@rewrites.rewrites(*VIEWS, "Transpose")
def view_of_view(match: Match) -> Rewrite | None:
    """view(view(x)) == x, where the result has the shape of x; else == Reshape(x, t), with a constant target t"""
    inner = match.producer(0, *VIEWS, "Transpose")
    if inner is None or inner.op_type == match.op_type == "Transpose" or not _is_view(inner) or not _is_view(match):
        return None
    data, shape = inner.shape(0), match.result().shape
    if data is None or shape is None:
        return None
    if match.same_shape(data, shape):
        return match.replace_with("view(view(x)) == x, the shape of x is the result's", inner.input(0))
    target = target_of(match, data, shape)
    if target is None or not match.is_only_reader(0):
        return None
    return match.replace_with("view(view(x)) == Reshape(x, t)", match.reshape(inner.input(0), target))


def _is_view(match: Match) -> bool:
    """Whether a view or Transpose keeps the order of the elements; a Transpose does if only axes of size 1 move."""
    return match.op_type != "Transpose" or preserves_order(match)


def target_of(match: Match, data: Shape, shape: Shape) -> list[int] | None:
    """A constant target of a Reshape from the shape `data` to `shape`, valid even if a dim is 0; None if there is none.

    A 0 copies the dim at its position; next to a copied dim that may be 0 no entry can be -1.
    """
    target: list[int] = []
    for at, dim in enumerate(shape):
        if isinstance(dim, int) and dim > 0:
            target.append(dim)
        elif at < len(data) and match.equal(dim, data[at]):
            target.append(0)
        else:
            target.append(-1)
    if target.count(-1) > 1:
        return None
    if -1 in target:
        copied = [shape[at] for at, entry in enumerate(target) if entry == 0]
        if shape[target.index(-1)] == 0 or not all(match.at_most(1, dim) for dim in copied):
            return None
    return target


_INTEGER_BITS: Final = {
    # integer type: (bits, is signed)
    DType.INT8: (8, True), DType.INT16: (16, True), DType.INT32: (32, True), DType.INT64: (64, True),
    DType.UINT8: (8, False), DType.UINT16: (16, False), DType.UINT32: (32, False), DType.UINT64: (64, False),
}  # fmt: skip
_FLOAT_BITS: Final = {DType.FLOAT32: 24, DType.FLOAT64: 53}
"""Float type -> bits of the integers that it represents exactly."""


def can_represent(by: DType, dtype: DType) -> bool:
    """Whether the type `by` represents each value of `dtype`, an integer or bool type, exactly."""
    if dtype is DType.BOOL:
        return by in _INTEGER_BITS or by in _FLOAT_BITS
    if dtype not in _INTEGER_BITS:
        return False
    bits, signed = _INTEGER_BITS[dtype]
    if by in _FLOAT_BITS:
        return bits <= _FLOAT_BITS[by]
    if by not in _INTEGER_BITS:
        return False
    room, negative = _INTEGER_BITS[by]
    return (bits <= room and signed == negative) or (bits < room and negative)


@rewrites.rewrites("Cast", since=6)
def cast_of_cast(match: Match) -> Rewrite | None:
    """Cast(Cast(x, B), C) == Cast(x, C), where x is integer or bool and the type B represents each value of its type

    A float x is left alone: the inner Cast may change the payload of a NaN.
    """
    inner = match.producer(0, "Cast")
    if inner is None:
        return None
    dtype, middle = inner.fact(0).dtype, match.fact(0).dtype
    to = match.integer("to", TensorProto.UNDEFINED)
    if dtype is None or middle is None or not can_represent(middle, dtype):
        return None
    law = "Cast(Cast(x, B), C) == Cast(x, C), B holds each number of the type of x"
    if to == dtype.value:
        return match.replace_with(law, inner.input(0))
    last = next((each for each in (*_INTEGER_BITS, *_FLOAT_BITS, DType.BOOL) if each.value == to), None)
    if last is None or (middle in _FLOAT_BITS and last in _INTEGER_BITS and not can_represent(last, dtype)):
        return None  # a Cast of a float that is out of range of the integer type is undefined
    return match.replace_with(law, match.new("Cast", [inner.input(0)], to=to))


@rewrites.rewrites("Slice")
def slice_of_slice(match: Match) -> Rewrite | None:
    """Slice(Slice(x)) == Slice(x), where the axes differ, or steps are 1 and the bounds add up

    x[a:b][c:d] == x[a+c : min(b, a+d)], a, b, c, d >= 0
    x[a:][c:-d] == x[a+c : -d], a, c >= 0, d > 0

    All readers of the inner Slice are Slices. Otherwise it stays, and the Slices that read it may become a Split.
    """
    inner = match.producer(0, "Slice")
    if inner is None or not _has_only_like_readers(match, inner):
        return None
    law = "Slice(Slice(x)) == Slice(x)"
    others = [] if inner.is_graph_output() else inner.readers()
    if len(others) < 2 or not all(_slices(other, inner) for other in others):
        others = [match]
    made: dict[str, str] = {}  # the Slices are rewritten together: each rewrite alone would read more bytes
    for other in others:
        cuts = _cut_again(inner, other)
        if cuts is None:
            return None
        starts, ends, steps = ([cut[at] for cut in cuts.values()] for at in range(3))
        made[other.output()] = match.slice(inner.input(0), starts, ends, [*cuts], steps)
    return match.replace_values(law, made)


def _slices(match: Match, inner: Match) -> bool:
    """Whether the node is a Slice of the result of `inner`, a node of the same graph."""
    is_slice = match.op_type == "Slice" and not match.domain and match.is_operator and not match.is_faulty
    return is_slice and match.graph is inner.graph and match.input(0) == inner.output()


def _cut_again(inner: Match, match: Match) -> dict[int, tuple[int, int, int]] | None:
    """The bounds, as from `_cuts`, of the one Slice that equals `match`, a Slice of `inner`; None if there is none."""
    rank = match.rank(0)
    first, second = _cuts(inner, rank), _cuts(match, rank)
    if first is None or second is None:
        return None
    shape = inner.shape(0)
    for axis, (start, end, step) in second.items():
        if axis not in first:
            first[axis] = start, end, step
            continue
        start0, end0, step0 = first[axis]
        is_whole = end0 == _FAR or (shape is not None and match.at_most(shape[axis], end0))
        if step != 1 or step0 != 1 or start0 < 0 or start < 0 or end0 < 0:
            return None
        if end >= 0:
            first[axis] = min(start0 + start, _FAR), min(end0, start0 + end), 1
        elif is_whole:
            first[axis] = min(start0 + start, _FAR), end, 1
        else:
            return None
    return dict(sorted(first.items()))


def _cuts(match: Match, rank: int | None) -> dict[int, tuple[int, int, int]] | None:
    """Axis -> start, end, step of a Slice with constant bounds; None if a bound is not constant, or an axis repeats."""
    if match.version < 10:
        starts, ends, axes, steps = (*(match.integers(name) for name in ("starts", "ends", "axes")), None)
    else:
        starts, ends, axes, steps = (match.integers_of(at) for at in (1, 2, 3, 4))
        if (axes is None and match.input(3)) or (steps is None and match.input(4)):
            return None
    if starts is None or ends is None:
        return None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    if any(axis < 0 for axis in axes):
        if rank is None:
            return None
        axes = tuple(axis + rank if axis < 0 else axis for axis in axes)
    if len(set(axes)) < len(axes):
        return None
    return {axis: (s, e, d) for axis, s, e, d in zip(axes, starts, ends, steps, strict=True)}


@rewrites.rewrites("Concat", since=4)
def concat_of_concat(match: Match) -> Rewrite | None:
    """Concat(..., Concat(y, z), ...) == Concat(..., y, z, ...), along one axis"""
    parts: list[str] = []
    for at, name in enumerate(match.inputs):
        inner = match.producer(at, "Concat")
        is_joined = inner is not None and match.is_only_reader(at) and _same_axis(match, inner)
        parts += inner.inputs if inner is not None and is_joined else (name,)
    if len(parts) == len(match.inputs) and tuple(parts) == match.inputs:
        return None
    law = "Concat(..., Concat(y, z), ...) == Concat(..., y, z, ...), along one axis"
    return match.replace_with(law, *match.copy(match, parts))


def _same_axis(match: Match, inner: Match) -> bool:
    one, other = match.integer("axis", 0), inner.integer("axis", 0)
    rank = match.result().rank
    return one == other if rank is None else one % max(rank, 1) == other % max(rank, 1)


@rewrites.rewrites("Expand", since=8)
def expand_of_expand(match: Match) -> Rewrite | None:
    """Expand(Expand(x, s), t) == Expand(x, t), where t is the shape of the result"""
    inner = match.producer(0, "Expand")
    if inner is None or not match.same_shape(match.elements(1), match.result().shape):
        return None
    law = "Expand(Expand(x, s), t) == Expand(x, t), t is the shape of the result"
    return match.replace_with(law, *match.copy(match, [inner.input(0), match.input(1)]))


_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


@rewrites.rewrites("Unsqueeze")
def unsqueeze_of_reduction(match: Match) -> Rewrite | None:
    """Unsqueeze(Reduce(x, a, keepdims=0), a) == Reduce(x, a, keepdims=1)"""
    reduction = match.producer(0, *_REDUCTIONS)
    rank = None if reduction is None else reduction.rank(0)
    if reduction is None or rank is None or not match.is_only_reader(0) or reduction.integer("keepdims", 1) != 0:
        return None
    is_attribute = reduction.version < (13 if reduction.op_type == "ReduceSum" else 18)
    axes = reduction.integers("axes") if is_attribute else reduction.integers_of(1)
    added = axes_of(match, rank)
    if not axes or not all(-rank <= axis < rank for axis in axes) or added != sorted({axis % rank for axis in axes}):
        return None
    given = list(axes) if is_attribute else None
    made = match.new(reduction.op_type, reduction.inputs, axes=given, keepdims=1)
    return match.replace_with("Unsqueeze(Reduce(x, a, keepdims=0), a) == Reduce(x, a, keepdims=1)", made)


_FLOATS: Final = {DType.FLOAT32.value: np.float32, DType.FLOAT64.value: np.float64}

_MAX_READ: Final = 1 << 16
"""Maximum number of elements of a constant that a rewrite multiplies."""


@rewrites.rewrites("Mul", since=7)
def mul_of_mul(match: Match) -> Rewrite | None:
    """Mul(Mul(x, a), b) == Mul(x, a*b), where |a| is 1, 2, 4, .., |b| >= 1, and a*b is finite

    The product x*a, of type float32 or float64, is exact unless it overflows, and then x * (a*b) overflows as well. The
    scalar a and b are constant.
    """
    for at in (0, 1):
        inner, factors = match.producer(at, "Mul"), match.constant(1 - at)
        if inner is None or factors is None or not match.is_only_reader(at):
            continue
        for x in (0, 1):
            scale = None if inner.is_constant(x) else inner.constant(1 - x)
            product = None if scale is None else _scaled(factors, scale)
            if product is not None:
                law = "Mul(Mul(x, a), b) == Mul(x, a*b), a is a power of two"
                return match.replace_with(law, match.new("Mul", [inner.input(x), match.add_constant(product)]))
    return None


def _scaled(factors: Constant, scale: Constant) -> Constant | None:
    """`factors` times the scalar `scale`, both float32 or float64.

    None unless all factors are >= 1 in magnitude, the scale is 1, 2, 4, .. in magnitude, and the product is finite.
    """
    dtype = _FLOATS.get(factors.data_type)
    if dtype is None or scale.bits.shape != () or factors.bits.size > _MAX_READ:
        return None
    numbers, factor = factors.plain.view(dtype), float(scale.plain.view(dtype))
    if abs(math.frexp(factor)[0]) != 0.5 or abs(factor) < 1 or not (np.abs(numbers) >= 1).all():
        return None
    with np.errstate(over="ignore"):
        product = np.asarray(numbers * dtype(factor))
    return Constant(factors.data_type, product.view(factors.plain.dtype)) if np.isfinite(product).all() else None
