"""Canonical relations between two dims: common terms and factors removed, the shortest form chosen."""

from __future__ import annotations

from math import gcd

from gather_infer.symbolic.normal_form import Dim, DimTooLarge, Expr, FloorDiv, constant_term, from_terms

__all__ = ["canonical_lower_bound", "canonical_relation"]


def canonical_relation(left: Dim, relation: str, right: Dim) -> tuple[Dim, Dim]:
    """Two sides, without common terms and factors, between which `relation` (`==` or `<=`) is equivalent to `left
    relation right`.

    The shortest of several equivalent forms is returned: `N % 2` and 0 for `6*N == 12*(N//2)`.
    """
    try:
        gap = left - right
    except DimTooLarge:
        return left, right
    if isinstance(gap, int):
        return left, right
    constant = constant_term(gap)
    divisor = gcd(*(coefficient for monomial, coefficient in gap.terms if monomial))
    if relation == "==" and constant % divisor:
        return left, right  # never equal: the original sides show why, the reduced ones would not
    # g*x + k <= 0  is  x + ceil(k/g) <= 0 for an integer x.
    terms = {monomial: coefficient // divisor for monomial, coefficient in gap.terms} | {(): -(-constant // divisor)}
    above = from_terms({monomial: c for monomial, c in terms.items() if c > 0})
    below = from_terms({monomial: -c for monomial, c in terms.items() if c < 0})
    zero: Dim = 0
    if relation == "==":
        # A number goes to the right, and sides that are already the shortest keep their places.
        if isinstance(above, int) or (left, right) == (below, above):
            above, below = below, above
        forms = [(above, below), (above - below, zero), (below - above, zero), (left, right)]
    else:
        forms = [(above, below), (above - below, zero), (left, right)]
    return min(forms, key=lambda sides: sum(len(str(side)) for side in sides))


def canonical_lower_bound(dim: Expr, lower_bound: int) -> tuple[Expr, int]:
    """The two sides of the simplest relation `x >= number` equivalent to `dim >= lower_bound`: `N` and 1 for `(3*N +
    4)//5 >= 1`.
    """
    while True:
        # g*x + k >= n  is  x >= ceil((n - k)/g)                                            g > 0
        divisor = gcd(*(coefficient for monomial, coefficient in dim.terms if monomial))
        lower_bound = -((constant_term(dim) - lower_bound) // divisor)
        rest = from_terms({monomial: coefficient // divisor for monomial, coefficient in dim.terms if monomial})
        assert isinstance(rest, Expr), "a dim that is no number has a symbol"
        # x//d >= q  is  x >= q*d                                                           d > 0
        if not (isinstance(rest, FloorDiv) and isinstance(rest.den, int) and isinstance(rest.num, Expr)):
            return rest, lower_bound
        dim, lower_bound = rest.num, lower_bound * rest.den
