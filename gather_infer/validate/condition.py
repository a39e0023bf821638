"""Conditions on the inputs of a model: on sizes, and on the elements of integer inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Final

from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Scope,
    evaluate,
    free_symbols,
    known_le,
    known_lt,
    simplify,
    substitute,
    symbol,
)
from gather_infer.symbolic.normal_form import Extremum, Min

MAX_TRIALS: Final = 64
"""Number of sizes that are tried for a symbol on which a condition does not depend linearly."""


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of an integer graph input.

    column   the index along the last axis at which they are; None for all elements
    whole    False if the model may read only some of them, and it is unknown which
    """

    input: str
    column: int | None = None
    whole: bool = True

    def __str__(self) -> str:
        return self.input if self.column is None else f"{self.input}[..., {self.column}]"


@dataclass(frozen=True, slots=True)
class Condition:
    """`left relation right`, where the relation is `<=`, `>=` or `<`.

    A condition on elements must hold for each element that is read.

    tight   True if the condition is necessary and sufficient: an access is out of bounds wherever it does not hold.
            False if it is only sufficient
    either  an equivalent disjunction of simpler conditions; empty if there is none
    """

    left: Dim | Elements
    relation: str
    right: Dim
    tight: bool = True
    either: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        if self.either:
            return " or ".join(map(str, self.either))
        return f"{self.left} {self.relation} {self.right}"


NEVER: Final = Condition(0, ">=", 1)
"""The unsatisfiable condition."""


def joined(conditions: Sequence[Condition]) -> str:
    """The conjunction of `conditions` as one line of text; two bounds of the same elements become `-9 <= ids < 9`."""
    texts: list[str] = []
    waiting = list(conditions)
    while waiting:
        first = waiting.pop(0)
        other = next((c for c in waiting if c.left == first.left and {c.relation, first.relation} == {">=", "<"}), None)
        if isinstance(first.left, Elements) and other is not None:
            waiting.remove(other)
            low, high = (first, other) if first.relation == ">=" else (other, first)
            texts.append(f"{low.right} <= {first.left} < {high.right}")
        else:
            texts.append(f"({first})" if first.either and len(conditions) > 1 else str(first))
    return " and ".join(texts)


def nonnegative_conditions(dim: Dim, scope: Scope) -> Iterator[Condition]:
    """Canonical conditions whose conjunction is equivalent to `dim >= 0`: `seq <= 512` for `512 - seq`.

    Yields nothing if `dim >= 0` always holds, and `NEVER` if it never holds.
    """
    simpler = simplify(dim, scope)
    if known_lt(simpler, 0, scope) is True:
        yield NEVER
        return
    if known_le(0, simpler, scope) is True or isinstance(simpler, int):
        return
    threshold = _threshold(simpler, scope)
    if threshold is not None:
        yield threshold
        return
    for monomial, coefficient in simpler.terms:
        if len(monomial) == 1 and isinstance(monomial[0], Extremum):
            extremum = monomial[0]
            # k*min(a, b) + rest >= 0  is  k*a + rest >= 0 and k*b + rest >= 0           k > 0
            if isinstance(extremum, Min) == (coefficient > 0):
                rest = simpler - extremum * coefficient
                for operand in extremum.args:
                    yield from nonnegative_conditions(operand * coefficient + rest, scope)
                return
    factors = _factors(simpler)
    if factors is not None:
        for one, other in (factors, factors[::-1]):
            if known_lt(0, one, scope) is True:  # one*other >= 0  is  other >= 0              one > 0
                yield from nonnegative_conditions(other, scope)
                return
            if known_lt(one, 0, scope) is True:
                yield from nonnegative_conditions(-other, scope)
                return
        for one, other in (factors, factors[::-1]):
            if known_le(0, one, scope) is True:  # the product is also >= 0 where this factor is 0
                yield replace(
                    _plain(simpler),
                    either=(*nonnegative_conditions(-one, scope), *nonnegative_conditions(other, scope)),
                )
                return
    yield _plain(simpler)


def _plain(simpler: Expr) -> Condition:
    """The condition `simpler >= 0`, with the negative terms on the other side and without a common divisor."""
    constant = 0
    coefficients: list[tuple[Dim, int]] = []
    for monomial, coefficient in simpler.terms:
        if monomial:
            factor: Dim = 1
            for atom in monomial:
                factor = factor * atom
            coefficients.append((factor, coefficient))
        else:
            constant = coefficient
    divisor = gcd(*(c for _, c in coefficients))
    # g*x + k >= 0 is x + k//g >= 0 for an integer x.
    constant //= divisor
    left: Dim = 0
    right: Dim = 0
    for factor, coefficient in coefficients:
        left = left + factor * (max(-coefficient, 0) // divisor)
        right = right + factor * (max(coefficient, 0) // divisor)
    if left == 0:
        return Condition(right, ">=", -constant)
    return Condition(left, "<=", right + constant)


def _factors(dim: Expr) -> tuple[Dim, Dim] | None:
    """Two dims whose product has the sign of `dim`, if `dim` is a*x*y + b*x + c*y + d with a*d == b*c; else None."""
    products = [(monomial, a) for monomial, a in dim.terms if len(monomial) == 2]
    if len(products) != 1 or any(len(monomial) > 2 for monomial, _ in dim.terms):
        return None
    ((first, second), a) = products[0]
    alone = {monomial: coefficient for monomial, coefficient in dim.terms if len(monomial) < 2}
    b, c, d = (alone.pop(key, 0) for key in ((first,), (second,), ()))
    if alone or first == second or a * d != b * c:
        return None
    x, y = first * a + c, second * a + b
    return (x, y) if a > 0 else (-x, y)


def _threshold(dim: Expr, scope: Scope) -> Condition | None:
    """`seq <= 62` or `seq >= 3` for `dim >= 0`, if `dim` is nonlinear in one symbol and changes its sign once; else
    None.

    A bisection over sample sizes finds the threshold, then both sides are proved.
    """
    names = sorted(dim.symbols)
    if len(names) != 1 or all(monomial in ((), (symbol(names[0]),)) for monomial, _ in dim.terms):
        return None
    name = names[0]
    bounds = scope.bounds(symbol(name))
    least = bounds.lo or 0
    tried = [least + step for step in (*range(4), *(2**power for power in range(2, 24)))]
    tried = [x for x in tried if bounds.hi is None or x <= bounds.hi]
    holds = [_holds(dim, name, x) for x in tried]
    if holds[0] == holds[-1]:
        return None
    at = holds.index(holds[-1])
    before, after = tried[at - 1], tried[at]
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if _holds(dim, name, middle) == holds[0] else (before, middle)
    below, above = scope.child(), scope.child()
    below.add_fact(before - symbol(name))
    above.add_fact(symbol(name) - after)
    inside, outside = (below, above) if holds[0] else (above, below)
    if known_le(0, dim, inside) is not True or known_lt(dim, 0, outside) is not True:
        return None
    return Condition(symbol(name), "<=", before) if holds[0] else Condition(symbol(name), ">=", after)


def _holds(dim: Expr, name: str, size: int) -> bool | None:
    try:
        return evaluate(dim, {name: size}) >= 0
    except ZeroDivisionError:
        return None


def minimal(conditions: Iterable[Condition], scope: Scope, tight_scope: Scope | None = None) -> tuple[Condition, ...]:
    """The conditions without those that the scope and the others imply: of `seq <= 64` and `seq <= 191`, only `seq <=
    64`.

    A tight condition is dropped only if other tight conditions imply it: the remaining ones still imply all tight ones.

    tight_scope   the facts that may imply a tight condition; None for those of the scope
    """
    given = dict.fromkeys(conditions)
    groups: dict[object, list[Condition]] = {}
    for condition in given:
        groups.setdefault(_group(condition), []).append(condition)
    for group in groups.values():
        left = group
        for condition in sorted(group, key=lambda c: c.tight):
            others = [c for c in left if c is not condition and (c.tight or not condition.tight)]
            if follows(condition, others, scope if tight_scope is None or not condition.tight else tight_scope):
                left = [c for c in left if c is not condition]
                del given[condition]
    return tuple(given)


def _group(condition: Condition) -> object:
    """A key that conditions share if one may follow from the other: those on sizes, or on the elements of one input."""
    return (condition.left.input, condition.relation) if isinstance(condition.left, Elements) else None


def follows(condition: Condition, others: Iterable[Condition], scope: Scope) -> bool:
    """Whether the scope and the conditions in `others` imply `condition`."""
    try:
        if isinstance(condition.left, Elements):
            return any(_covers(other, condition, scope) for other in others)
        where = scope.child()
        for other in others:
            if not isinstance(other.left, Elements):
                where.add_fact(difference(other))
        return known_le(0, difference(condition), where) is True
    except DimTooLarge:
        return False


def _covers(other: Condition, condition: Condition, scope: Scope) -> bool:
    """Whether a condition on elements implies `condition`, on the same elements or a subset."""
    a, b = other.left, condition.left
    if not (isinstance(a, Elements) and isinstance(b, Elements)) or other.relation != condition.relation:
        return False
    is_same = a.input == b.input and a.column in (None, b.column) and (a.whole or not b.whole)
    low, high = (condition, other) if condition.relation == ">=" else (other, condition)
    return is_same and known_le(low.right, high.right, scope) is True


def is_unsatisfiable(conditions: Sequence[Condition], scope: Scope) -> bool:
    """Whether two of the conditions, on the same elements, are known to contradict each other."""
    below: dict[Elements, list[Dim]] = {}
    for condition in conditions:
        if isinstance(condition.left, Elements) and condition.relation == "<":
            below.setdefault(condition.left, []).append(condition.right)
    return any(
        known_le(high, low.right, scope) is True
        for low in conditions
        if isinstance(low.left, Elements) and low.relation == ">="
        for high in below.get(low.left, ())
    )


def difference(condition: Condition) -> Dim:
    """The dim that is >= 0 exactly when a condition on sizes holds."""
    assert not isinstance(condition.left, Elements), "elements are not sizes"
    gap = condition.right - condition.left
    return -gap if condition.relation == ">=" else gap - 1 if condition.relation == "<" else gap


def counterexample(conditions: Iterable[Condition], scope: Scope) -> tuple[tuple[str, Dim], ...]:
    """Sizes, or an input element, that the scope allows and that just violate one of the conditions.

    They are pairs of a name and its value; empty if none is found.
    """
    # an index past the end is a better example than a negative one
    for condition in sorted(conditions, key=lambda c: c.relation == ">="):
        if isinstance(condition.left, Elements):
            past = condition.right - 1 if condition.relation == ">=" else condition.right
            return ((str(condition.left), past),)
        dim = difference(condition)
        for name in sorted(free_symbols(dim)):
            found = _breaking_sizes(dim, name, scope)
            if found:
                return found
    return ()


def _breaking_sizes(dim: Dim, name: str, scope: Scope) -> tuple[tuple[str, Dim], ...]:
    """Sizes that make `dim` negative, with all symbols except `name` at their smallest values, 1 rather than 0; empty
    if none are found.
    """
    if not isinstance(dim, Expr):
        return ()
    others = {n: _small(n, scope) for n in dim.symbols if n != name}
    try:
        alone = substitute(dim, dict(others))
    except ZeroDivisionError:
        return ()  # a divisor is 0 at the smallest values
    slope = substitute(alone, {name: symbol(name) + 1}) - alone
    if isinstance(slope, int) and slope != 0:
        base = evaluate(substitute(alone, {name: 0}), {})
        # base + slope*x < 0
        tried: Iterable[int] = [base // -slope + 1] if slope < 0 else [-(base // slope) - 1]
    else:
        broken = [x for x in range(MAX_TRIALS) if _is_negative(dim, {**others, name: x})]
        # prefer a size next to one that holds
        tried = sorted(broken, key=lambda x: (x == 0 or x - 1 in broken) and x + 1 in broken)
    for size in tried:
        binding = {**others, name: size}
        if size >= 0 and _is_negative(dim, binding) and _is_allowed(binding, scope):
            return tuple((n, binding[n]) for n in (name, *sorted(others)))
    return ()


def _is_negative(dim: Expr, binding: dict[str, int]) -> bool:
    try:
        return evaluate(dim, binding) < 0
    except ZeroDivisionError:
        return False


def _small(name: str, scope: Scope) -> int:
    """The smallest value of a symbol, 1 rather than 0 where that is possible."""
    bounds = scope.bounds(symbol(name))
    least = bounds.lo or 0
    return least if bounds.hi is not None and bounds.hi < 1 else max(1, least)


def _is_allowed(binding: dict[str, int], scope: Scope) -> bool:
    """Whether the sizes satisfy the intervals and those facts of the scope that contain no other symbols."""
    if any(size not in scope.symbol_bounds(name) for name, size in binding.items()):
        return False
    return not any(f.symbols <= binding.keys() and _is_negative(f, binding) for f in scope.facts)


__all__ = [
    "NEVER",
    "Condition",
    "Elements",
    "counterexample",
    "difference",
    "follows",
    "is_unsatisfiable",
    "joined",
    "minimal",
    "nonnegative_conditions",
]
