"""Conditions on the inputs of a model: on sizes, and on the elements of integer inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from gather_infer.symbolic.dim import Extremum, Min

MAX_TRIALS: Final = 64
"""Sizes that are tried for a symbol on which a condition does not depend linearly."""


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of an integer graph input.

    column   only those at this index of the last axis; None for all
    whole    False when the model may read some of them only, nobody knows which
    """

    input: str
    column: int | None = None
    whole: bool = True

    def __str__(self) -> str:
        return self.input if self.column is None else f"{self.input}[..., {self.column}]"


@dataclass(frozen=True, slots=True)
class Condition:
    """`left relation right`, the relation one of `<=`, `>=` and `<`; about elements, for each that is read.

    tight   an access is out of bounds wherever it does not hold; False when it is enough, and less may be
    """

    left: Dim | Elements
    relation: str
    right: Dim
    tight: bool = True

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


NEVER: Final = Condition(0, ">=", 1)
"""The condition that nothing meets."""


def joined(conditions: Sequence[Condition]) -> str:
    """All of them in one line; the two limits of the same elements as `-9 <= ids < 9`."""
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
            texts.append(str(first))
    return " and ".join(texts)


def at_least_zero(dim: Dim, scope: Scope) -> Iterator[Condition]:
    """The conditions that say `dim >= 0` in the words of a person: `seq <= 512` for `512 - seq`.

    None where it always holds, NEVER among them where it cannot.
    """
    simpler = simplify(dim, scope)
    if known_lt(simpler, 0, scope) is True:
        yield NEVER
        return
    if known_le(0, simpler, scope) is True or isinstance(simpler, int):
        return
    for monomial, coefficient in simpler.terms:
        if len(monomial) == 1 and isinstance(monomial[0], Extremum):
            extremum = monomial[0]
            # k*min(a, b) + rest >= 0  is  k*a + rest >= 0 and k*b + rest >= 0           k > 0
            if isinstance(extremum, Min) == (coefficient > 0):
                rest = simpler - extremum * coefficient
                for operand in extremum.args:
                    yield from at_least_zero(operand * coefficient + rest, scope)
                return
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
        if coefficient < 0:
            left = left - factor * (coefficient // divisor)
        else:
            right = right + factor * (coefficient // divisor)
    if left == 0:
        yield Condition(right, ">=", -constant)
    else:
        yield Condition(left, "<=", right + constant)


def minimal(conditions: Iterable[Condition], scope: Scope) -> tuple[Condition, ...]:
    """The conditions without those that follow from the scope and the others: `seq <= 64` of that and `seq <= 191`.

    A tight one stays where it follows only together with one that is not: what is left must not claim less.
    """
    left = list(dict.fromkeys(conditions))
    for condition in sorted(left, key=lambda c: c.tight):
        others = [c for c in left if c is not condition and (c.tight or not condition.tight)]
        if follows(condition, others, scope):
            left = [c for c in left if c is not condition]
    return tuple(left)


def follows(condition: Condition, others: Iterable[Condition], scope: Scope) -> bool:
    """Whether a condition holds wherever the scope and the others do."""
    try:
        if isinstance(condition.left, Elements):
            return any(_covers(other, condition, scope) for other in others)
        where = scope.child()
        for other in others:
            if not isinstance(other.left, Elements):
                where.require(difference(other))
        return known_le(0, difference(condition), where) is True
    except DimTooLarge:
        return False


def _covers(other: Condition, condition: Condition, scope: Scope) -> bool:
    """Whether a condition on elements says of the same elements, or of more, all that `condition` says."""
    a, b = other.left, condition.left
    if not (isinstance(a, Elements) and isinstance(b, Elements)) or other.relation != condition.relation:
        return False
    is_same = a.input == b.input and a.column in (None, b.column) and (a.whole or not b.whole)
    low, high = (condition, other) if condition.relation == ">=" else (other, condition)
    return is_same and known_le(low.right, high.right, scope) is True


def difference(condition: Condition) -> Dim:
    """The dim that is >= 0 exactly when a condition on sizes holds."""
    assert not isinstance(condition.left, Elements), "elements are not sizes"
    gap = condition.right - condition.left
    return -gap if condition.relation == ">=" else gap - 1 if condition.relation == "<" else gap


def counterexample(conditions: Iterable[Condition], scope: Scope) -> tuple[tuple[str, Dim], ...]:
    """Sizes, or an element, that break one of the conditions only just and that nothing in the scope forbids.

    Empty when none was found.
    """
    for condition in sorted(conditions, key=lambda c: c.relation == ">="):  # past the end says more than before 0
        if isinstance(condition.left, Elements):
            past = condition.right - 1 if condition.relation == ">=" else condition.right
            return ((str(condition.left), past),)
        dim = difference(condition)
        for name in sorted(free_symbols(dim)):
            found = _breaking(dim, name, scope)
            if found:
                return found
    return ()


def _breaking(dim: Dim, name: str, scope: Scope) -> tuple[tuple[str, Dim], ...]:
    """Sizes that make `dim` negative, where all but one are as small as they may be; 1 rather than 0."""
    if not isinstance(dim, Expr):
        return ()
    others = {n: _small(n, scope) for n in dim.symbols if n != name}
    try:
        alone = substitute(dim, dict(others))
    except ZeroDivisionError:
        return ()  # a divisor is 0 where the others are as small as they may be
    slope = substitute(alone, {name: symbol(name) + 1}) - alone
    if isinstance(slope, int) and slope != 0:
        base = evaluate(substitute(alone, {name: 0}), {})
        # base + slope*x < 0
        tried: Iterable[int] = [base // -slope + 1] if slope < 0 else [-(base // slope) - 1]
    else:
        broken = [x for x in range(MAX_TRIALS) if _is_negative(dim, {**others, name: x})]
        tried = sorted(broken, key=lambda x: {x - 1, x + 1} <= {*broken, -1})  # next to one that holds
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
    bounds = scope.bounds(symbol(name))
    least = bounds.lo or 0
    return least if bounds.hi is not None and bounds.hi < 1 else max(1, least)


def _is_allowed(binding: dict[str, int], scope: Scope) -> bool:
    """Whether no fact about these symbols alone forbids the sizes."""
    for name, size in binding.items():
        bounds = scope.symbol_bounds(name)
        if (bounds.lo is not None and size < bounds.lo) or (bounds.hi is not None and size > bounds.hi):
            return False
    return not any(f.symbols <= binding.keys() and _is_negative(f, binding) for f in scope.facts)


__all__ = [
    "NEVER",
    "Condition",
    "Elements",
    "at_least_zero",
    "counterexample",
    "difference",
    "follows",
    "joined",
    "minimal",
]
