"""Decompositions of a dim into an operator and two simpler dims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from gather_infer.symbolic import Dim, Expr, Scope, floordiv, known_le, maximum, minimum
from gather_infer.symbolic.normal_form import Atom, Extremum, FloorDiv, Min, from_terms

Decomposition = tuple[str, Dim, Dim]


def decompositions(dim: Expr, near: Sequence[Expr], scope: Scope, opset: int) -> Iterator[Decomposition]:
    """Operators of ai.onnx on int64 that compute the dim, each with its operands: numbers or smaller dims.

    near    dims that can be read off shapes

    Sums and products hold modulo 2**64, in any order. Only sums of sizes are divided: they do not overflow, and the
    truncation of ONNX equals the floor for them.
    """
    if isinstance(dim, FloorDiv):
        if known_le(0, dim.num, scope) is True and known_le(1, dim.den, scope) is True and _is_linear(dim.num):
            yield "Div", dim.num, dim.den
        return
    if isinstance(dim, Extremum):
        if opset >= 12:  # before, Min and Max take floats only
            first, *others = dim.args
            if isinstance(dim, Min):
                yield "Min", first, minimum(*others, scope=scope)
            else:
                yield "Max", first, maximum(*others, scope=scope)
        return
    atoms = _atoms(dim)
    for known in near:
        if known is dim:
            continue
        rest = dim - known
        if isinstance(rest, int) or rest.size < dim.size:
            yield _sum(known, rest)
        quotient = _quotient(dim, known, scope)
        if quotient is not None and _atoms(quotient) <= atoms:
            yield "Mul", known, quotient
    common = gcd(*(coefficient for _, coefficient in dim.terms))
    if all(coefficient < 0 for _, coefficient in dim.terms):
        common = -common
    if common != 1:
        yield "Mul", from_terms({monomial: coefficient // common for monomial, coefficient in dim.terms}), common
    elif len(dim.terms) > 1:
        monomial, coefficient = dim.terms[-1]
        yield _sum(from_terms(dict(dim.terms[:-1])), from_terms({monomial: coefficient}))
    elif len(dim.terms[0][0]) > 1:
        factors = dim.terms[0][0]
        yield "Mul", factors[0], from_terms({factors[1:]: 1})


def _quotient(dim: Expr, factor: Expr, scope: Scope) -> Dim | None:
    """The factor q with q * factor == dim, None if there is none."""
    if isinstance(factor, Atom):
        if not all(factor in monomial for monomial, _ in dim.terms):
            return None
        rest = {}
        for monomial, coefficient in dim.terms:
            at = monomial.index(factor)
            rest[monomial[:at] + monomial[at + 1 :]] = coefficient
        return from_terms(rest)
    if len(dim.terms) % len(factor.terms) or dim.size < factor.size:
        return None
    nonzero = scope.child()
    nonzero.add_fact(factor - 1)
    quotient = floordiv(dim, factor, nonzero)
    return quotient if quotient * factor == dim else None


def _sum(left: Dim, right: Dim) -> Decomposition:
    if _is_negative(right):
        return "Sub", left, -right
    if _is_negative(left):
        return "Sub", right, -left
    return "Add", left, right


def _is_negative(dim: Dim) -> bool:
    return isinstance(dim, Expr) and all(coefficient < 0 for _, coefficient in dim.terms)


def _is_linear(dim: Dim) -> bool:
    """Whether the dim is a sum of symbols and a number, with small coefficients."""
    return isinstance(dim, int) or all(
        len(monomial) <= 1 and all(atom.is_symbol for atom in monomial) and abs(coefficient) < 1 << 20
        for monomial, coefficient in dim.terms
    )


def _atoms(dim: Dim) -> set[Atom]:
    return set() if isinstance(dim, int) else {atom for monomial, _ in dim.terms for atom in monomial}
