"""Decision of `==`, `<=` and `<`: True when it holds for every binding in scope, False when for none, else None.

Only bindings count that satisfy the scope and for which both sides are defined, that is, no divisor in them is 0.

The steps, cheapest first: refute the claim with sample bindings, compare bounds with 0, then split cases over the
arguments of each min or max. `Fuel` limits the Fourier-Motzkin eliminations of one query.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from gather_infer.symbolic.evaluate import evaluate
from gather_infer.symbolic.normal_form import Atom, Dim, DimTooLarge, Expr, Extremum, FloorDiv, Max, constant_term
from gather_infer.symbolic.sampling import SampleBinding, candidate_counterexample
from gather_infer.symbolic.scope import DEFAULT, Fuel, Scope
from gather_infer.symbolic.substitution import normalized, replace_atom

__all__ = ["known_eq", "known_le", "known_lt"]

_MAX_CASES = 32
_MAX_ELIMINATIONS = 100  # of one query; real models need up to 25


def known_eq(a: Dim, b: Dim, scope: Scope | None = None) -> bool | None:
    """True if a == b for every binding in scope, False if for none; None if only for some, or undecided."""
    if a is b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if scope is None:
        scope = DEFAULT
    try:
        difference = a - b
    except DimTooLarge:
        return None
    if isinstance(difference, int):
        return difference == 0
    key = ("==", difference)
    results = scope.results
    if key not in results:
        try:
            results[key] = _is_zero(difference, scope)
        except DimTooLarge:
            results[key] = None
    found = results[key]
    return None if found is None else found == 1


def _is_zero(difference: Expr, scope: Scope) -> bool | None:
    # g*x + k is never 0 when g does not divide k.
    """Whether the difference is 0: both the difference and its negation are nonnegative; None when undecided."""
    k = constant_term(difference)
    if k % gcd(*[coefficient for monomial, coefficient in difference.terms if monomial]):
        return False
    if _is_nonnegative(difference, scope):
        if _is_nonnegative(-difference, scope):
            return True
        return False if _is_nonnegative(difference - 1, scope) else None
    return False if _is_nonnegative(-difference - 1, scope) else None


def known_le(a: Dim, b: Dim, scope: Scope | None = None) -> bool | None:
    """True if a <= b for every binding in scope, False if for none; None if only for some, or undecided."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    if a is b:
        return True
    if scope is None:
        scope = DEFAULT
    try:
        if _is_nonnegative(b - a, scope):
            return True
        return False if _is_nonnegative(a - b - 1, scope) else None
    except DimTooLarge:
        return None


def known_lt(a: Dim, b: Dim, scope: Scope | None = None) -> bool | None:
    """True if a < b for every binding in scope, False if for none; None if only for some, or undecided."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    try:
        return known_le(a + 1, b, scope)
    except DimTooLarge:
        return None


def _is_nonnegative(dim: Dim, scope: Scope) -> bool:
    """Whether dim >= 0 is proved; False when it is refuted or undecided."""
    if isinstance(dim, int):
        return dim >= 0
    key = (">=", dim)
    results = scope.results
    if key not in results:
        results[key] = _sign(dim, scope)
    return results[key] == 1


def _sign(dim: Expr, scope: Scope) -> bool:
    """Whether dim >= 0 is proved, without the memo."""
    samples = scope.samples
    if _is_refuted(dim, scope, samples[:2]):
        return False
    bounds = scope.bounds(dim)
    if bounds.lo is not None and bounds.lo >= 0:
        return True
    if bounds.hi is not None and bounds.hi < 0:
        return False
    if scope.is_exhausted or (dim.depth == 1 and all(fact.depth == 1 for fact in scope.relevant_facts(dim))):
        return False  # no atom to split on, or the budget is spent
    if _is_refuted(dim, scope, samples[2:]):
        return False
    try:
        return _by_cases(dim, scope.where_defined(), [_MAX_CASES], Fuel(_MAX_ELIMINATIONS))
    except DimTooLarge:
        return False


def _is_refuted(dim: Expr, scope: Scope, samples: Iterable[SampleBinding]) -> bool:
    """Whether the dim is negative for a sample binding, or one close to a sample, that satisfies the relevant facts."""
    for sample in samples:
        if _is_below(dim, sample):
            found = candidate_counterexample(sample, scope.relevant_facts(dim))
            if found is sample or (found is not None and _is_below(dim, found)):
                return True
    return False


def _is_below(dim: Expr, sample: SampleBinding) -> bool:
    """Whether the dim is < 0 for a sample; False where it is undefined."""
    try:
        return evaluate(dim, sample) < 0
    except ZeroDivisionError:
        return False


def _by_cases(
    dim: Dim, scope: Scope, budget: list[int], fuel: Fuel, split_atoms: frozenset[Extremum] = frozenset()
) -> bool:
    """Prove dim >= 0 by a case split: substitute each argument of a min or max, under the facts that make that argument
    the extremum.

    budget  a list of one number, the cases left, which the calls decrease
    fuel    the Fourier-Motzkin eliminations left
    split_atoms   atoms that the enclosing calls have split
    """
    try:
        dim = normalized(dim, scope)
    except ZeroDivisionError:
        return True  # defined for no binding in scope
    if isinstance(dim, int):
        return dim >= 0
    lo = scope.bounds(dim).lo
    if lo is not None and lo >= 0:
        return True
    atom, facts = _split_candidate(dim, scope, split_atoms)
    if atom is None:
        return False
    budget[0] -= len(atom.args)
    if budget[0] < 0 or fuel.is_spent:
        return False
    for chosen in atom.args:
        case = scope.child()
        if fuel not in case.fuels:
            case.fuels = (*case.fuels, fuel)
        for other in atom.args:
            if other is not chosen:
                case.add_fact(chosen - other if isinstance(atom, Max) else other - chosen)
        try:
            for fact in facts:
                case.add_fact(replace_atom(fact, atom, chosen, case))
            if case.is_contradictory:
                continue
            if not _by_cases(replace_atom(dim, atom, chosen, case), case, budget, fuel, split_atoms | {atom}):
                return False
        except ZeroDivisionError:
            continue  # defined for no binding in this case
    return True


def _split_candidate(dim: Expr, scope: Scope, split_atoms: frozenset[Extremum]) -> tuple[Extremum | None, list[Expr]]:
    """A min or max in the dim or in a relevant fact, with the facts whose innermost extremum it is; (None, []) if none
    is left.
    """
    relevant = scope.relevant_facts(dim)
    for holder in (dim, *relevant):
        atom = _innermost_extremum(holder)
        if atom is not None and atom not in split_atoms:
            return atom, [fact for fact in relevant if _innermost_extremum(fact) is atom]
    return None, []


def _innermost_extremum(dim: Dim) -> Extremum | None:
    """The first min or max in the dim whose arguments contain no other min or max; None if there is none."""
    if isinstance(dim, int):
        return None
    for monomial, _ in dim.terms:
        for atom in monomial:
            found = _within(atom)
            if found is not None:
                return found
    return None


def _within(atom: Atom) -> Extremum | None:
    parts = (atom.num, atom.den) if isinstance(atom, FloorDiv) else atom.args if isinstance(atom, Extremum) else ()
    for part in parts:
        found = _innermost_extremum(part)
        if found is not None:
            return found
    return atom if isinstance(atom, Extremum) else None
