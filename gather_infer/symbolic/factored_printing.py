"""Factored printing: `128*batch*seq*(seq + 96)` in place of the expanded sum."""

from __future__ import annotations

from math import gcd

from gather_infer.symbolic.normal_form import Atom, Dim, Expr, Extremum, Min, Monomial, from_terms
from gather_infer.symbolic.printing import to_text

__all__ = ["factored"]


def factored(dim: Dim) -> str:
    """The text of a dim with common factors in front; `parse_dim` reads it as the same dim.

    g*x*a + g*x*b is written g*x*(a + b), also inside the arguments of min and max.
    """
    if isinstance(dim, int):
        return str(dim)
    if isinstance(dim, Extremum):
        return ("min(" if isinstance(dim, Min) else "max(") + ", ".join(map(factored, dim.args)) + ")"
    number = gcd(*(coefficient for _, coefficient in dim.terms))
    if dim.terms[0][1] < 0 and all(coefficient < 0 for _, coefficient in dim.terms):
        number = -number
    shared = _shared(dim)
    if len(dim.terms) == 1:
        return _product(number, shared, "")
    rest = from_terms({_without(monomial, shared): value // number for monomial, value in dim.terms})
    assert isinstance(rest, Expr), "two terms are left of two"
    if number == 1 and not shared:
        return _sum(rest)
    return _product(number, shared, f"({_sum(rest)})")


def _shared(dim: Expr) -> Monomial:
    """The atoms that divide all terms of the dim; an atom that divides them k times is listed k times."""
    first, *others = (monomial for monomial, _ in dim.terms)
    found = list(first)
    for monomial in others:
        left = list(monomial)
        kept = []
        for atom in found:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        found = kept
    return tuple(found)


def _without(monomial: Monomial, shared: Monomial) -> Monomial:
    left = list(monomial)
    for atom in shared:
        left.remove(atom)
    return tuple(left)


def _product(number: int, atoms: Monomial, tail: str) -> str:
    is_alone = len(atoms) == 1 and abs(number) == 1 and not tail
    factors = [to_text(atom) if is_alone and not isinstance(atom, Extremum) else _factor(atom) for atom in atoms]
    if tail:
        factors.append(tail)
    if abs(number) != 1 or not factors:
        factors.insert(0, str(abs(number)))
    text = "*".join(factors)
    if number > 0:
        return text
    return f"-({text})" if "//" in text or "%" in text else f"-{text}"


def _factor(atom: Atom) -> str:
    if isinstance(atom, Extremum):
        return factored(atom)
    return to_text(atom) if atom.is_symbol else f"({to_text(atom)})"


def _sum(dim: Expr) -> str:
    """The text of a sum without a common factor. If it contains a min or max, each term is printed separately, to
    factor the arguments of the extremum.
    """
    if not any(isinstance(atom, Extremum) for monomial, _ in dim.terms for atom in monomial):
        return to_text(dim)
    # a positive term leads if there is one
    terms = sorted(dim.terms, key=lambda term: term[1] < 0)
    text = ""
    for monomial, coefficient in terms:
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        piece = _product(abs(coefficient), monomial, "")
        if sign == "-" and ("//" in piece or "%" in piece):
            piece = f"({piece})"
        text += sign + piece
    return text
