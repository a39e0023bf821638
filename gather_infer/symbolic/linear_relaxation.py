"""Linear relaxation of dims: ranges tighter than interval arithmetic gives.

Each monomial becomes one variable. The following rows relate the variables:

    num - q*den >= 0,  q*den + den - 1 - num >= 0        q = num // den, den > 0
    arg - m >= 0                                         m = min(..., arg, ...), and m - arg >= 0 for max
    (x - lo)*(y - lo') >= 0, ...                         a monomial x*y with the bounds of x and y (McCormick)
    (x - k)*(x - k - 1) >= 0                             a monomial x*x, any integer k
    the facts of the scope, and their products with an atom that is >= 0

Fourier-Motzkin elimination gives the range of the dim under the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from gather_infer.symbolic.fourier_motzkin import Row, range_of
from gather_infer.symbolic.interval import Interval
from gather_infer.symbolic.normal_form import Atom, Dim, Expr, Extremum, FloorDiv, Max, Monomial, terms_of

__all__ = ["range_by_relations"]

_MAX_MONOMIALS = 16
_MAX_SEED_ROWS = 64
_MAX_DEGREE = 6  # of a monomial that is looked into


def range_by_relations(
    dim: Expr, bounds: Callable[[Dim], Interval], facts: Iterable[Expr], product_bounds: Callable[[Monomial], Interval]
) -> Interval | None:
    """The range of the dim; None when the facts contradict each other.

    `bounds` returns the range of an atom or divisor, `product_bounds` that of a monomial.
    """
    closure = _LinearRelaxation(bounds, product_bounds)
    closure.add(dim)
    facts = list(facts)
    for fact in facts:
        closure.add_fact(fact)
    closure.add_atom_rows()
    closure.add_tangents(dim)
    closure.add_products()
    return closure.solve(dim)


class _LinearRelaxation:
    """The rows for a dim, its monomials, and the monomials that their rows introduce.

    variables    monomial -> number of its variable
    pending      monomials whose rows are still missing
    relations    dims that are >= 0
    remainders   n % d and d - 1 - n % d, where d > 0
    """

    def __init__(self, bounds: Callable[[Dim], Interval], product_bounds: Callable[[Monomial], Interval]) -> None:
        self.bounds = bounds
        self.product_bounds = product_bounds
        self.variables: dict[Monomial, int] = {}
        self.pending: list[Monomial] = []
        self.atoms: dict[Atom, None] = {}
        self.relations: list[Dim] = []  # each is >= 0
        self.remainders: list[tuple[FloorDiv, Dim]] = []  # n % d and d - 1 - n % d, where d > 0
        self.rows: list[Row] = []

    def add(self, dim: Dim) -> bool:
        """Number the new monomials of the dim as variables; False, adding none, when they would exceed
        `_MAX_MONOMIALS`.
        """
        fresh = [monomial for monomial, _ in terms_of(dim) if monomial and monomial not in self.variables]
        if len(self.variables) + len(fresh) > _MAX_MONOMIALS:
            return False
        for monomial in fresh:
            self.variables[monomial] = len(self.variables)
            self.pending.append(monomial)
        return True

    def add_relation(self, relation: Dim) -> None:
        """Add a row for a dim that is >= 0, unless a cap on rows or monomials would be exceeded."""
        if isinstance(relation, int) or len(self.rows) >= _MAX_SEED_ROWS or not self.add(relation):
            return
        self.relations.append(relation)
        self.rows.append(self.row(relation))

    def add_fact(self, fact: Expr) -> None:
        self.add_relation(fact)

    def row(self, dim: Dim) -> Row:
        constant = 0
        coefficients: dict[int, int] = {}
        for monomial, coefficient in terms_of(dim):
            if monomial:
                coefficients[self.variables[monomial]] = coefficient
            else:
                constant = coefficient
        return coefficients, constant

    def add_atom_rows(self) -> None:
        """Add the rows of atoms, bounds and products for all pending monomials, including those that the rows
        introduce.
        """
        while self.pending:
            monomial = self.pending.pop(0)
            for atom in monomial:
                if atom not in self.atoms:
                    self.atoms[atom] = None
                    self.relate(atom)
            interval = self.product_bounds(monomial)
            variable = self.variables[monomial]
            if interval.lo is not None:
                self.rows.append(({variable: 1}, -interval.lo))
            if interval.hi is not None:
                self.rows.append(({variable: -1}, interval.hi))
            if 1 < len(monomial) <= _MAX_DEGREE:
                self.add_mccormick_rows(monomial)

    def relate(self, atom: Atom) -> None:
        """Add the rows that relate a quotient, minimum or maximum to its operands."""
        if isinstance(atom, FloorDiv):
            num, den = atom.num, atom.den
            sign = self.bounds(den)
            if sign.lo is not None and sign.lo >= 0:
                remainder = num - den * atom
                for relation in (remainder, den - 1 - remainder):
                    self.add_relation(relation)
                    self.remainders.append((atom, relation))
                if not isinstance(den, int):
                    self.add_relation(den - 1)  # defined only where the divisor is not 0
            elif sign.hi is not None and sign.hi <= 0:
                remainder = num - den * atom
                self.add_relation(-remainder)
                self.add_relation(remainder - den - 1)
                if not isinstance(den, int):
                    self.add_relation(-den - 1)
        elif isinstance(atom, Extremum):
            for arg in atom.args:
                self.add_relation(atom - arg if isinstance(atom, Max) else arg - atom)

    def add_mccormick_rows(self, monomial: Monomial) -> None:
        """Add the McCormick rows of a monomial with two or more factors, splitting off each factor in turn."""
        for atom in dict.fromkeys(monomial):
            at = monomial.index(atom)
            rest = monomial[:at] + monomial[at + 1 :]
            x, y = self.bounds(atom), self.product_bounds(rest)
            cofactor: Dim = 1
            for factor in rest:
                cofactor = cofactor * factor
            corners = [
                [] if interval.lo is None else [side - interval.lo] for side, interval in ((atom, x), (cofactor, y))
            ]
            others = [
                [] if interval.hi is None else [interval.hi - side] for side, interval in ((atom, x), (cofactor, y))
            ]
            for left in corners[0] + others[0]:
                for right in corners[1] + others[1]:
                    self.add_relation(left * right)
            if len(monomial) == 2 and monomial[0] is monomial[1]:
                lo = x.lo if x.lo is not None else 0
                self.add_relation((atom - lo) * (atom - lo - 1))

    def add_tangents(self, dim: Expr) -> None:
        """Add (x - k)*(x - k - 1) >= 0 at the vertex of a*x*x + b*x, where it is tight for integers."""
        coefficients = dict(dim.terms)
        for monomial, a in dim.terms:
            if len(monomial) == 2 and monomial[0] is monomial[1]:
                x = monomial[0]
                b = coefficients.get((x,), 0)
                k = -b // (2 * a)
                self.add_relation((x - k) * (x - k - 1))
                self.add_relation((x - k) * (x - k + 1))

    def add_products(self) -> None:
        """Add the products of two remainders, or of a relation and an atom >= 0, that contain no new monomial."""
        for (left, relation), (right, other) in combinations(self.remainders, 2):
            # Only useful where the dim multiplies the two quotients.
            if left is not right and ((left, right) in self.variables or (right, left) in self.variables):
                self.add_relation_if_closed(relation * other)
        factors = dict.fromkeys(atom for monomial in self.variables if len(monomial) > 1 for atom in monomial)
        relations = list(self.relations)
        for atom in factors:
            lo = self.bounds(atom).lo
            if lo is None or lo < 0:
                continue
            for relation in relations:
                self.add_relation_if_closed(relation * atom)

    def add_relation_if_closed(self, relation: Dim) -> None:
        if all(not monomial or monomial in self.variables for monomial, _ in terms_of(relation)):
            self.add_relation(relation)

    def solve(self, dim: Expr) -> Interval | None:
        coefficients, constant = {}, 0
        for monomial, coefficient in dim.terms:
            if not monomial:
                constant = coefficient
            elif monomial in self.variables:
                coefficients[self.variables[monomial]] = coefficient
            else:
                return Interval(None, None)
        return range_of(coefficients, constant, self.rows)
