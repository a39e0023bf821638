"""Multidirectional broadcasting of shapes with symbolic dims.

Spec: https://github.com/onnx/onnx/blob/main/docs/Broadcasting.md

In a legal run, the two dims at an axis are equal or one of them is 1. All results hold in every legal run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from gather_infer.errors import SpecViolation
from gather_infer.rules import OpCall
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    free_symbols,
    known_eq,
    known_le,
    maximum,
    minimum,
    product,
    substitute,
    symbol,
)
from gather_infer.tensor import Shape, format_shape

_ANY = symbol("any size >= 0")
"""Represents an arbitrary number >= 0 in substitutions; no scope has facts about it."""

MAX_PARTS: Final = 32
"""Maximum number of dims that one broadcast symbol represents; the order of broadcasting does not affect the symbol."""

MAX_WRITTEN_PARTS: Final = 8
"""Maximum number of dims for which a broadcast symbol also gets a closed expression; longer ones are unreadable."""


def broadcast(op: OpCall, *shapes: Shape | None) -> Shape | None:
    """The shape to which `shapes` broadcast; None when one of them is unranked.

    Raises SpecViolation (GI212) when two dims of an axis can never be equal and neither can be 1.
    """
    ranked = [shape for shape in shapes if shape is not None]
    if len(ranked) < len(shapes):
        return None
    return broadcast_shapes(op, ranked)


def broadcast_shapes(op: OpCall, shapes: list[Shape]) -> Shape:
    """As `broadcast`, for shapes whose ranks are all known."""
    rank = max(map(len, shapes), default=0)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        dims = dict.fromkeys([shape[axis] for shape in shapes if len(shape) >= -axis])
        dim: Dim = 1
        for other in sorted(dims, key=lambda d: isinstance(d, Expr)):  # numbers first: they decide most cases
            if dim == 1:
                dim = other
                continue
            dim = broadcast_dim(op, dim, other, otherwise=partial(_clash, shapes, axis, dim, other))
        result.append(dim)
    return tuple(result)


def _clash(shapes: list[Shape], axis: int, a: Dim, b: Dim) -> str:
    listed = " and ".join(format_shape(shape) for shape in shapes)
    return f"shapes {listed} do not broadcast: dim {a} and dim {b} at axis {axis}"


def broadcast_dim(op: OpCall, a: Dim, b: Dim, *, otherwise: str | Callable[[], str]) -> Dim:
    """The dim to which `a` and `b` broadcast; records the constraint that every legal run satisfies.

    dims    condition               result
    a, a                            a
    a, 1                            a
    a, b    a is not 1              a, since b is 1 or a
    a, b    a = 1 implies b = 1     a, since b is 1 or a; as for b = min(a, c) with c >= 1, and for b = min(1, c) with
                                    a <= 2*c
    a, b    a is a broadcast of b   a
            and other dims
    a, b    both >= 1               max(a, b)
    a, b    otherwise               a symbol, the same for every broadcast of these dims; it equals min(max(a, b), a*b)

    The constraint is `b == a`, `b <= a`, `a <= c` for b = min(a, c), or a disjunction such as `b == 1 or b == a`.

    Raises SpecViolation (GI212) with the message `otherwise` when, in every run, the dims differ and neither is 1.
    """
    scope = op.scope
    if all(known_eq(x, y, scope) is False for x, y in ((a, b), (a, 1), (b, 1))):
        raise SpecViolation(otherwise if isinstance(otherwise, str) else otherwise(), "GI212")
    if known_eq(a, b, scope) is True:
        return a if isinstance(a, int) else b if isinstance(b, int) else a
    for x, y in ((a, b), (b, a)):
        if known_eq(y, 1, scope) is True:
            return x
    for x, y in ((a, b), (b, a)):
        if known_eq(x, 1, scope) is False:
            _constrain(op, x, y)
            return x
    for x, y in ((a, b), (b, a)):
        if _implies_one(op, x, y):
            if _implies_not_one(op, x, y):
                _constrain_equal(op, x, y)
            else:
                op.add_implied_constraint((y, "==", 1), (y, "==", x))
            return x
    parts = {*_parts(op, a), *_parts(op, b)}
    for x in (a, b):
        if len(_parts(op, x)) == len(parts):
            return x
    op.add_implied_constraint((a, "==", b), (a, "==", 1), (b, "==", 1))
    if len(parts) > MAX_PARTS:
        parts = {a, b}
    if known_le(1, a, scope) is True and known_le(1, b, scope) is True:
        return maximum(a, b, scope=scope)
    return _symbol(op, parts)


def require_broadcast(op: OpCall, a: Dim, b: Dim, *, otherwise: str | Callable[[], str]) -> None:
    """Require that `a` and `b` are equal or one of them is 1.

    Raises SpecViolation (GI212) with the message `otherwise` when this never holds.
    """
    op.require((a, "==", b), (a, "==", 1), (b, "==", 1), otherwise=otherwise, code="GI212")


def _symbol(op: OpCall, dims: Iterable[Dim]) -> Expr:
    """The symbol for the broadcast of `dims`, the same for every order of `dims`."""
    parts = sorted(dict.fromkeys(dims), key=str)
    equals: Dim | None = None
    if len(parts) <= MAX_WRITTEN_PARTS:
        # legal dims are all n or 1: the result is the max, except for n = 0, where it is the product
        with suppress(DimTooLarge):
            equals = minimum(maximum(*parts), product(parts))
    reason = f"{' broadcast with '.join(map(str, parts))}: which of them is 1?"
    return op.derived("broadcast", *parts, reason=reason, equals=equals)


def _parts(op: OpCall, dim: Dim) -> tuple[Dim, ...]:
    """The dims whose broadcast the symbol `dim` represents; `dim` alone when it is not a broadcast symbol."""
    if isinstance(dim, Expr) and dim.is_symbol:
        operation, *dims = op.derivation(dim.name) or (None,)
        if operation == "broadcast":
            return tuple(dims)
    return (dim,)


def _constrain(op: OpCall, a: Dim, b: Dim) -> None:
    """Add the constraint `b == 1 or b == a`, simplified, for an `a` that is known not to be 1."""
    if known_eq(b, 1, op.scope) is False:
        op.add_constraint(b, "==", a)
    elif a == 0:
        op.add_constraint(b, "<=", 1)
    elif known_le(2, a, op.scope) is True:
        op.add_implied_fact(b - 1)  # 0 broadcasts only with 0 and 1
        if known_le(b, a, op.scope) is not True:
            op.add_constraint(b, "<=", a)
        op.add_implied_constraint((b, "==", 1), (b, "==", a))
    else:
        op.add_implied_constraint((b, "==", 1), (b, "==", a))


def _constrain_equal(op: OpCall, a: Dim, b: Dim) -> None:
    """Add the constraint `a == b`, written as `a <= c` when b is min(a, c)."""
    for limit in (op.scope.bounds(b).hi, *(symbol(name) for name in sorted(free_symbols(b)))):
        if limit is not None and limit != a and minimum(a, limit) == b:
            op.add_constraint(a, "<=", limit)
            return
    op.add_constraint(a, "==", b)


# Implications of `a = n` are decided by solving this equation for a symbol of `a` and substituting the solution in `b`.


def _implies_one(op: OpCall, a: Dim, b: Dim) -> bool:
    """Whether a = 1 is known to imply b = 1, by substitution or by facts: n <= 2*c and n = 1 imply min(1, c) = 1."""
    at_one = _at_value(a, 1, b)
    if at_one is not None and known_eq(at_one, 1, op.scope) is True:
        return True
    if isinstance(a, int) or isinstance(b, int):
        return False
    if all(a.symbols.isdisjoint(fact.symbols) for fact in op.scope.relevant_facts(b)):
        return False
    where = op.scope.child()
    where.add_fact(a - 1)
    where.add_fact(1 - a)
    return known_eq(b, 1, where) is True


def _implies_not_one(op: OpCall, a: Dim, b: Dim) -> bool:
    """Whether a != 1 is known to imply b != 1."""
    none, many = _at_value(a, 0, b), _at_value(a, _ANY + 2, b)
    if none is None or many is None:
        return False
    return known_eq(none, 1, op.scope) is False and known_le(2, many, op.scope) is True


def _at_value(a: Dim, value: Dim, b: Dim) -> Dim | None:
    """`b` after the equation `a = value` is solved for a symbol and the solution is substituted.

    None when `b` is undefined there, too large, or shares with `a` no symbol for which the equation can be solved.
    """
    for name in sorted(free_symbols(a) & free_symbols(b)):
        solution = symbol(name) - a + value  # a == name + rest  =>  name == value - rest
        if name in free_symbols(solution):
            continue
        try:
            return substitute(b, {name: solution})
        except (ZeroDivisionError, DimTooLarge):
            continue  # b is undefined under a = value, or exceeds the size limit
    return None
