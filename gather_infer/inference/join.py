"""Operations of the fact lattice: join of two facts, contradictions, and projecting out local symbols of a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gather_infer.context import Context
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq
from gather_infer.tensor import (
    DType,
    MapType,
    OptionalType,
    Ratio,
    SequenceType,
    Shape,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    make_values,
)
from gather_infer.value_ranges import hull, range_of, type_range

FreshDim: TypeAlias = Callable[[], Dim]


def fresh_dim(context: Context, reason: str) -> FreshDim:
    """A function that generates a new symbol at each call, with the cause `reason`."""
    return lambda: context.fresh(reason)


def join(a: Value, b: Value, fresh: FreshDim) -> Value:
    """The lattice join: facts about a value that is either `a` or `b`; `fresh()` replaces dims that differ."""
    match a, b:
        case SymbolicTensor(), SymbolicTensor():
            dtype = a.dtype if a.dtype == b.dtype else None
            shape = join_shapes(a.shape, b.shape, fresh)
            values = None
            if a.values is not None and b.values is not None and a.values.shape == b.values.shape:
                flat = [x if _same(x, y) else None for x, y in zip(a.values.flat, b.values.flat, strict=True)]
                if any(x is not None for x in flat) or not flat:
                    values = make_values(flat, a.values.shape)
            return SymbolicTensor(dtype, shape, values, _joined_range(a, b))
        case SparseTensor(), SparseTensor():
            return SparseTensor(a.dtype if a.dtype == b.dtype else None, join_shapes(a.shape, b.shape, fresh))
        case SequenceType(), SequenceType():
            length = a.length if a.length is not None and a.length == b.length else None
            return SequenceType(_join_inner(a.element, b.element, a.length == 0, b.length == 0, fresh), length)
        case OptionalType(), OptionalType():
            present = a.present if a.present == b.present else None
            absent = a.present is False, b.present is False
            return OptionalType(_join_inner(a.element, b.element, *absent, fresh), present)
        case MapType(), MapType():
            key = a.key if a.key == b.key else None
            return MapType(key, None if a.value is None or b.value is None else join(a.value, b.value, fresh))
    return SymbolicTensor()


def _join_inner(a: Value | None, b: Value | None, a_is_empty: bool, b_is_empty: bool, fresh: FreshDim) -> Value | None:
    """The join of the member facts of two containers; None is unknown. An empty container does not weaken the join."""
    if a is None and a_is_empty:
        return b
    if b is None and b_is_empty:
        return a
    return None if a is None or b is None else join(a, b, fresh)


def join_shapes(a: Shape | None, b: Shape | None, fresh: FreshDim) -> Shape | None:
    """The join of two shapes; None when the ranks differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else fresh() for x, y in zip(a, b, strict=True))


def _same(x: object, y: object) -> bool:
    return type(x) is type(y) and (repr(x) == repr(y) if isinstance(x, float) else x == y)


def _joined_range(a: SymbolicTensor, b: SymbolicTensor) -> ValueRange | None:
    if a.dtype is None or not a.dtype.is_integer or a.dtype != b.dtype:
        return None
    span = hull(range_of(a), range_of(b))
    return None if span == type_range(a.dtype) else span


def contradiction(declared: Value, inferred: Value, scope: Scope) -> bool:
    """True when no value can satisfy both facts: they differ in kind, element type or rank, or in a dim in all runs."""
    match declared, inferred:
        case SymbolicTensor(dtype=a, shape=s), SymbolicTensor(dtype=b, shape=t):
            return _differ(a, b) or _shapes_differ(s, t, scope)
        case SparseTensor(dtype=a, shape=s), SparseTensor(dtype=b, shape=t):
            return _differ(a, b) or _shapes_differ(s, t, scope)
        case SequenceType(element=x), SequenceType(element=y):
            return _inner_differ(x, y, scope)
        case OptionalType(element=x), OptionalType(element=y):
            return _inner_differ(x, y, scope)
        case MapType(key=a, value=x), MapType(key=b, value=y):
            return _differ(a, b) or _inner_differ(x, y, scope)
    return inferred != SymbolicTensor()


def _inner_differ(declared: Value | None, inferred: Value | None, scope: Scope) -> bool:
    return declared is not None and inferred is not None and contradiction(declared, inferred, scope)


def _differ(a: DType | None, b: DType | None) -> bool:
    return a is not None and b is not None and a != b


def _shapes_differ(a: Shape | None, b: Shape | None, scope: Scope) -> bool:
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(never_equal(x, y, scope) for x, y in zip(a, b, strict=True))


def never_equal(a: Dim, b: Dim, scope: Scope) -> bool:
    """Whether two dims are known to differ in every run.

    Two expressions count as different only if their difference is a nonzero number: full proofs would be too slow.
    """
    if isinstance(a, int) or isinstance(b, int):
        return known_eq(a, b, scope) is False
    return isinstance(a - b, int) and a != b


def symbols_of(value: Value | None) -> set[str]:
    """The names of the symbols in the shape, elements and value range of a value and of its members."""
    return {name for dim in dims_of(value) if isinstance(dim, Expr) for name in dim.symbols}


def dims_of(value: Value | None) -> list[object]:
    """The dims, elements and bounds of a value and of its members, including None and numbers."""
    match value:
        case SymbolicTensor(shape=shape, values=values, value_range=span):
            dims: list[object] = [] if shape is None else [*shape]
            if values is not None:
                dims += [element.num if isinstance(element, Ratio) else element for element in values.flat]
            if span is not None:
                dims += (span.lo, span.hi)
            return dims
        case SparseTensor(shape=shape):
            return [] if shape is None else [*shape]
        case SequenceType(element=element, length=length):
            return [*dims_of(element), length]
        case OptionalType(element=element) | MapType(value=element):
            return dims_of(element)
    return []


def project_out(value: Value, local: set[str], fresh: FreshDim) -> Value:
    """Project out the symbols in `local`, for the fact of a body's value outside the body.

    Dims that mention a local symbol become fresh; such elements and bounds become unknown.
    """

    def is_local(element: object) -> bool:
        dim = element.num if isinstance(element, Ratio) else element
        return isinstance(dim, Expr) and not local.isdisjoint(free_symbols(dim))

    def outside(shape: Shape | None) -> Shape | None:
        return None if shape is None else tuple(fresh() if is_local(d) else d for d in shape)

    match value:
        case SymbolicTensor():
            values = value.values
            if values is not None and any(map(is_local, values.flat)):
                kept = [None if is_local(v) else v for v in values.flat]
                values = make_values(kept, values.shape) if any(v is not None for v in kept) else None
            span = value.value_range
            if span is not None and (is_local(span.lo) or is_local(span.hi)):
                span = ValueRange(None if is_local(span.lo) else span.lo, None if is_local(span.hi) else span.hi)
            return SymbolicTensor(value.dtype, outside(value.shape), values, span)
        case SparseTensor():
            return SparseTensor(value.dtype, outside(value.shape))
        case SequenceType(element=element, length=length):
            inner = None if element is None else project_out(element, local, fresh)
            return SequenceType(inner, None if is_local(length) else length)
        case OptionalType(element=element, present=present):
            return OptionalType(None if element is None else project_out(element, local, fresh), present)
    return value
