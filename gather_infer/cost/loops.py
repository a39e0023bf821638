"""Costs of loop bodies: sums and maxima of expressions over the iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from gather_infer.cost.work import CostUnknown
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.symbolic import Dim, Scope, floordiv, free_symbols, maximum, substitute, symbol
from gather_infer.symbolic.normal_form import Monomial, from_terms, terms_of
from gather_infer.trail import Cause


@dataclass(frozen=True, slots=True)
class LoopIterations:
    """The iterations of a loop body.

    trip_count    number of iterations
    counter       symbol of the iteration number in the types of the body; None if they do not contain it
    loop_variant  symbols whose value may differ between iterations
    """

    trip_count: Dim
    counter: str | None
    loop_variant: frozenset[str]

    def sum_over(self, dim: Dim) -> Dim:
        """The sum of `dim` over all iterations; `dim` must be a polynomial of degree <= 2 in the counter.

        sum(1) == n, sum(i) == n*(n - 1)/2, sum(i*i) == (n - 1)*n*(2*n - 1)/6    for i in 0 .. n - 1

        Raises CostUnknown for any other expression and for one with loop-variant symbols.
        """
        self._require_invariant(dim)
        n = self.trip_count
        sums = ((n, 1), (n * (n - 1), 2), ((n - 1) * n * (2 * n - 1), 6))
        found: Dim = 0
        for power, factor in self._powers(dim).items():
            if power >= len(sums):
                raise CostUnknown("it grows faster than the square of the iteration number")
            found = found + _quotient(factor, *sums[power])
        return found

    def max_over(self, dim: Dim, scope: Scope) -> Dim:
        """The maximum of `dim` over all iterations; the value at iteration 0 if there are none.

        Raises CostUnknown if `dim` has loop-variant symbols or is not known to be monotone in the counter.
        """
        self._require_invariant(dim)
        if self.counter is None or self.counter not in free_symbols(dim):
            return dim
        # Symbols and counter are >= 0: coefficients of one sign make the polynomial monotone in the counter.
        changes = [value for power, factor in self._powers(dim).items() if power for _, value in terms_of(factor)]
        if all(value > 0 for value in changes):
            return substitute(dim, {self.counter: maximum(self.trip_count - 1, 0, scope=scope)})
        if all(value < 0 for value in changes):
            return substitute(dim, {self.counter: 0})
        raise CostUnknown("it is not monotone in the iteration number")

    def _require_invariant(self, dim: Dim) -> None:
        if not self.loop_variant.isdisjoint(free_symbols(dim)):
            names = ", ".join(sorted(self.loop_variant & free_symbols(dim)))
            raise CostUnknown(f"{names} may differ from iteration to iteration")

    def _powers(self, dim: Dim) -> dict[int, Dim]:
        """The coefficients of `dim` as a polynomial in the counter, by power. Raises CostUnknown if it is not one."""
        if self.counter is None:
            return {0: dim}
        at = symbol(self.counter)
        parts: dict[int, dict[Monomial, int]] = {}
        for monomial, value in terms_of(dim):
            rest = tuple(atom for atom in monomial if atom is not at)
            if any(self.counter in atom.symbols for atom in rest):
                raise CostUnknown("it is no polynomial in the iteration number")
            parts.setdefault(len(monomial) - len(rest), {})[rest] = value
        return {power: from_terms(terms) for power, terms in parts.items()}


def _quotient(factor: Dim, dividend: Dim, divisor: int) -> Dim:
    """factor * dividend / divisor, where `divisor` divides `dividend`; cancels common factors first."""
    shared = gcd(divisor, *(value for _, value in terms_of(factor)))
    smaller = from_terms({monomial: value // shared for monomial, value in terms_of(factor)})
    return smaller * floordiv(dividend, divisor // shared)


def loop_variant_symbols(
    causes: Mapping[str, Cause], node: NodePath, body: GraphPath, counter: str | None, trip_count: Dim
) -> frozenset[str]:
    """Symbols that a loop node or its body introduces and that are not functions of loop-invariant symbols."""
    found: set[str] = set()
    for name, cause in causes.items():  # operands precede the symbols derived from them
        is_inside = body.contains(cause.node.graph) or cause.node == node
        if name == counter or name in free_symbols(trip_count):
            continue
        is_derived = not cause.data_dependent and counter not in cause.operands and found.isdisjoint(cause.operands)
        if is_inside and not is_derived:
            found.add(name)
    return frozenset(found)
