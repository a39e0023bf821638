"""Canonicalization of relations between sizes: `height % 4 == 0` for `16*(height//4)*(width//4) == height*width`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from itertools import product as cartesian
from math import gcd, lcm
from typing import Final, TypeAlias

from gather_infer.contract import Relation
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Scope,
    evaluate,
    is_total,
    known_le,
    product,
    substitute,
    symbol,
)
from gather_infer.symbolic.normal_form import Atom, Extremum, FloorDiv, Min, Monomial, from_terms

MAX_PERIOD: Final = 4096
"""Maximum period of a relation; it is evaluated at each size of a period."""

MAX_SPLITS: Final = 64
"""Maximum number of ways that are tried to split two coefficients into factors."""

Clause: TypeAlias = "tuple[Relation, ...]"
"""A disjunction of relations."""


def canonical_clauses(relation: Relation, scope: Scope) -> tuple[Clause, ...]:
    """Clauses whose conjunction is equivalent to the relation for sizes >= 0; the relation itself if no simpler form is
    found.
    """
    try:
        return tuple(_canonical_clauses(relation, scope))
    except DimTooLarge:
        return ((relation,),)


def _canonical_clauses(relation: Relation, scope: Scope) -> Iterator[Clause]:
    gap = relation.left - relation.right
    if isinstance(gap, int):
        yield (relation,)
        return
    residues = _residues(relation, gap)
    if residues is not None:
        yield from residues
        return
    if relation.relation != "==":
        yield (relation,)
        return
    shared = _common_factor(gap)
    if shared:  # x*a == x*b  is  x == 0 or a == b
        rest = from_terms({_without(monomial, shared): coefficient for monomial, coefficient in gap.terms})
        empty = tuple(Relation(atom, "==", 0) for atom in dict.fromkeys(shared))
        for clause in canonical_clauses(_sides(rest, relation), scope):
            yield (*clause, *(each for each in empty if each not in clause))
        return
    bounded = _bounded_by(gap)
    if bounded is not None:
        yield from bounded
        return
    factors = _factors(gap, scope)
    if factors is None:
        yield (relation,)
        return
    # P*Q == p*q  is  (P == p or Q == 0) and (Q == q or P == 0)                            P >= p >= 0, Q >= q >= 0
    for large, small in factors:
        empty = tuple(Relation(other, "==", 0) for other, _ in factors if other is not large)
        for clause in canonical_clauses(Relation(large, "==", small), scope):
            yield (*clause, *(Relation(atom, "==", 0) for each in empty for atom in _atoms_of(each.left)))


def _atoms_of(dim: Dim) -> Iterator[Atom]:
    """The atoms of a product, each once: where the product is 0, one of the atoms is."""
    assert isinstance(dim, Expr) and len(dim.terms) == 1, "factors are products of atoms"
    yield from dict.fromkeys(dim.terms[0][0])


def _sides(gap: Dim, relation: Relation) -> Relation:
    """`gap == 0`, with the negative terms on the other side."""
    if isinstance(gap, int):
        return Relation(gap, relation.relation, 0)
    above = from_terms({monomial: c for monomial, c in gap.terms if c > 0})
    below = from_terms({monomial: -c for monomial, c in gap.terms if c < 0})
    return Relation(below, "==", above) if isinstance(above, int) else Relation(above, "==", below)


# periodic relations


def _residues(relation: Relation, gap: Expr) -> list[Clause] | None:
    """Clauses on a remainder for a periodic relation: `height % 8 <= 3` for `(height + 4)//8 == height//8`.

    gap   the left side of the relation minus the right one

    None if the gap is not periodic in a single symbol, or the legal remainders are not one interval.
    """
    if len(gap.symbols) != 1 or not is_total(gap):
        return None
    (name,) = gap.symbols
    period = _period(gap)
    if period is None or not 1 < period <= MAX_PERIOD:
        return None
    try:
        if substitute(gap, {name: symbol(name) + period}) - gap != 0:
            return None
    except DimTooLarge:
        return None
    holds = [_is_met(evaluate(gap, {name: size}), relation.relation) for size in range(period)]
    for shorter in range(1, period):
        if period % shorter == 0 and holds[shorter:] == holds[:-shorter]:
            holds = holds[:shorter]
            break
    legal = [size for size, is_legal in enumerate(holds) if is_legal]
    if not legal or legal[-1] - legal[0] >= len(legal):
        return None
    if len(legal) == len(holds):
        return []
    remainder = symbol(name) % len(holds)
    if len(legal) == 1:
        return [(Relation(remainder, "==", legal[0]),)]
    clauses: list[Clause] = []
    if legal[0] > 0:
        clauses.append((Relation(remainder, ">=", legal[0]),))
    if legal[-1] + 1 < len(holds):
        clauses.append((Relation(remainder, "<=", legal[-1]),))
    return clauses


def _is_met(gap: int, relation: str) -> bool:
    return gap == 0 if relation == "==" else gap <= 0 if relation == "<=" else gap >= 0


def _period(dim: Dim) -> int | None:
    """A period of all quotients in a dim; None where there is none, or it is unknown."""
    if isinstance(dim, int):
        return 1
    period = 1
    for monomial, _ in dim.terms:
        for atom in monomial:
            if isinstance(atom, Extremum):
                return None
            if isinstance(atom, FloorDiv):
                inner = _period(atom.num)
                if inner is None or not isinstance(atom.den, int):
                    return None
                period = lcm(period, inner * abs(atom.den))
    return period


# minima and maxima


def _bounded_by(gap: Expr) -> list[Clause] | None:
    """The clause `a <= b` for a gap of `a == min(a, b)`, and `a >= b` for `max`; None for any other gap."""
    for monomial, coefficient in gap.terms:
        if len(monomial) == 1 and isinstance(monomial[0], Extremum) and abs(coefficient) == 1:
            extremum = monomial[0]
            rest = -(gap - extremum * coefficient) * coefficient  # extremum == rest
            if rest in extremum.args:
                relation = "<=" if isinstance(extremum, Min) else ">="
                return [(_plain(rest, relation, other),) for other in extremum.args if other != rest]
    return None


def _plain(left: Dim, relation: str, right: Dim) -> Relation:
    """The relation with a number on the right."""
    if isinstance(left, int):
        return Relation(right, ">=" if relation == "<=" else "<=", left)
    return Relation(left, relation, right)


# products


def _factors(gap: Expr, scope: Scope) -> tuple[tuple[Expr, Dim], ...] | None:
    """Pairs (P, p) of dims with P >= p, such that the gap is 0 exactly if the products of all P and of all p are equal.

    None if none are found.
    """
    if len(gap.terms) != 2 or gap.terms[0][1] * gap.terms[1][1] >= 0:
        return None
    divisor = gcd(*(coefficient for _, coefficient in gap.terms))
    for (many, a), (few, b) in (gap.terms, gap.terms[::-1]):
        groups = _groups(many, few)
        if len(groups) < 2:
            return None
        found = _dominating_groups(groups, abs(a) // divisor, abs(b) // divisor, scope)
        if found is not None:
            return found
    return None


def _groups(one: Monomial, other: Monomial) -> list[tuple[Dim, Dim]]:
    """The factors of two products, grouped so that groups share no symbols.

    Each group is the product of its factors in `one`, and the product of its factors in `other`.
    """
    groups: list[tuple[frozenset[str], list[Atom], list[Atom]]] = []
    for position, atom in [*((0, atom) for atom in one), *((1, atom) for atom in other)]:
        names = atom.symbols
        sides: tuple[list[Atom], list[Atom]] = ([], [])
        sides[position].append(atom)
        apart = []
        for group in groups:
            if group[0].isdisjoint(names):
                apart.append(group)
            else:
                names, sides = names | group[0], (group[1] + sides[0], group[2] + sides[1])
        groups = [*apart, (names, *sides)]
    return [(product(left), product(right)) for _, left, right in groups]


def _dominating_groups(
    groups: Sequence[tuple[Dim, Dim]], a: int, b: int, scope: Scope
) -> tuple[tuple[Expr, Dim], ...] | None:
    """The groups, the left dims multiplied by factors of `a`, the right ones by factors of `b`, so that left >= right.

    None if no such factors are found.
    """
    (left, right), rest = groups[0], groups[1:]
    for x, y in islice(cartesian(_divisors(a), _divisors(b)), MAX_SPLITS) if rest else [(a, b)]:
        large, small = left * x, right * y
        if isinstance(large, Expr) and _is_between(small, large, scope):
            others = _dominating_groups(rest, a // x, b // y, scope) if rest else ()
            if others is not None:
                return ((large, small), *others)
    return None


def _divisors(number: int) -> list[int]:
    """The divisors of a number; of a large one only 1 and itself."""
    return [x for x in range(1, number + 1) if number % x == 0] if number <= MAX_PERIOD else [1, number]


def _is_between(small: Dim, large: Expr, scope: Scope) -> bool:
    return known_le(0, small, scope) is True and known_le(small, large, scope) is True


# common factors


def _common_factor(dim: Expr) -> Monomial:
    """The atoms that divide all terms, with multiplicity; they are >= 0."""
    if len(dim.terms) < 2:
        return ()
    first, *others = (monomial for monomial, _ in dim.terms)
    found: list[Atom] = []
    for atom in dict.fromkeys(first):
        found += [atom] * min(monomial.count(atom) for monomial in (first, *others))
    return tuple(found)


def _without(monomial: Monomial, shared: Monomial) -> Monomial:
    left = list(monomial)
    for atom in shared:
        left.remove(atom)
    return tuple(left)


__all__ = ["Clause", "canonical_clauses"]
