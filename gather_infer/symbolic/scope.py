"""Scopes: an interval for each symbol, and facts of the form `dim >= 0`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from gather_infer.symbolic.interval import EVERYTHING, NONNEGATIVE, Interval
from gather_infer.symbolic.linear_relaxation import range_by_relations
from gather_infer.symbolic.normal_form import (
    Atom,
    Dim,
    DimTooLarge,
    Expr,
    Extremum,
    FloorDiv,
    Max,
    Min,
    Monomial,
    Symbol,
    from_terms,
    terms_of,
)
from gather_infer.symbolic.sampling import SAMPLES, SampleBinding

__all__ = ["DEFAULT", "Fuel", "Scope"]

_MEMO_CAPACITY = 1 << 16
_RANGES_CAPACITY = 1 << 12
_MAX_FACTS_USED = 16
_MAX_FACTS = 64  # of one scope: each query scans all of them


class Fuel:
    """A budget of Fourier-Motzkin eliminations: a count rather than a time limit, so results are reproducible."""

    __slots__ = ("left",)

    def __init__(self, eliminations: int) -> None:
        self.left = eliminations

    @property
    def is_spent(self) -> bool:
        return self.left <= 0


class Scope:
    """Intervals of symbols, and facts about them. A symbol that is not declared is in [0, inf).

    A scope is consistent if some binding satisfies it. In a contradictory scope every relation holds vacuously.

    divisors_are_nonzero  True while a relation is decided, which must hold only where both sides are defined
    fuels                 budgets for bounds beyond interval arithmetic; children share them
    """

    __slots__ = (
        "_contradictory",
        "_defined",
        "_facts",
        "_inner",
        "_intervals",
        "_memo",
        "_memo_version",
        "_parent",
        "_results",
        "_samples",
        "_snapshot",
        "_version",
        "divisors_are_nonzero",
        "fuels",
    )

    def __init__(self, *, parent: Scope | None = None, divisors_are_nonzero: bool = False) -> None:
        self._parent = parent
        self._intervals: dict[str, Interval] = {}
        self._facts: dict[Expr, None] = {}
        self._version = 0
        self._memo: dict[Dim, Interval] = {}
        self._inner: dict[Dim, Interval] = {}
        self._samples: list[SampleBinding] = []
        self._memo_version = 0
        self._results: dict[tuple[object, ...], Dim | None] = {}
        self._defined: Scope | None = None
        self._snapshot: tuple[int, Scope] | None = None
        self._contradictory = False
        self.divisors_are_nonzero: bool = divisors_are_nonzero or (parent is not None and parent.divisors_are_nonzero)
        self.fuels: tuple[Fuel, ...] = () if parent is None else parent.fuels

    def child(self) -> Scope:
        """A scope that has the facts of this scope, present and future; facts added to the child do not affect this
        scope.
        """
        return Scope(parent=self)

    def restricted_to(self, names: Collection[str]) -> Scope:
        """A new scope with the intervals of the symbols in `names`, and the facts in which only these symbols occur."""
        found = Scope()
        scope: Scope | None = self
        while scope is not None:
            for name, interval in scope._intervals.items():
                if name in names:
                    found.declare(name, interval)
            scope = scope._parent
        for fact in self.facts:
            if fact.symbols <= set(names):
                found.add_fact(fact)
        return found

    def snapshot(self) -> Scope:
        """A copy of this scope with its present facts only; the same object until a fact is added."""
        if self._snapshot is None or self._snapshot[0] != self.version:
            found = Scope(divisors_are_nonzero=self.divisors_are_nonzero)
            found._contradictory = self.is_contradictory
            scope: Scope | None = self
            while scope is not None:
                for name, interval in scope._intervals.items():
                    present = found._intervals.get(name)
                    found._intervals[name] = interval if present is None else present & interval
                scope = scope._parent
            found._facts = dict.fromkeys(self.facts)
            found.fuels = self.fuels
            self._snapshot = self.version, found
        return self._snapshot[1]

    def has_same_facts_as(self, other: Scope) -> bool:
        """Whether both scopes hold the same intervals and the same facts; those of their parents are not compared."""
        return self._intervals == other._intervals and self._facts.keys() == other._facts.keys()

    def where_defined(self) -> Scope:
        """A child scope in which no divisor is 0."""
        if self._defined is None:
            self._defined = Scope(parent=self, divisors_are_nonzero=True)
        return self._defined

    @property
    def version(self) -> int:
        """A counter that changes whenever a fact is added, here or in a parent."""
        if self._parent is None:
            return self._version
        return self._version + self._parent.version

    @property
    def is_contradictory(self) -> bool:
        """Whether the facts were found to exclude every binding; False does not prove that they are consistent."""
        return self._contradictory or (self._parent is not None and self._parent.is_contradictory)

    @property
    def is_exhausted(self) -> bool:
        """Whether one of the budgets is spent, so that bounds come from interval arithmetic alone."""
        return any([effort.left <= 0 for effort in self.fuels])  # noqa: C419 - evaluated for each query

    @property
    def facts(self) -> Iterator[Expr]:
        """The dims that are known to be >= 0, those of the parents first."""
        if self._parent is not None:
            yield from self._parent.facts
        yield from self._facts

    def declare(self, name: str, interval: Interval) -> None:
        """Intersect the interval of a symbol with another one."""
        present = self.symbol_bounds(name)
        narrowed = present & interval
        if narrowed != present:
            self._intervals[name] = narrowed
            self._contradictory |= narrowed.is_empty
            self._version += 1

    def add_fact(self, dim: Dim) -> None:
        """Add the fact dim >= 0: `scope.add_fact(n - 1)` declares n >= 1. Facts beyond `_MAX_FACTS` only narrow
        intervals.
        """
        before = self._version
        self._add_fact(dim)
        if self._version != before:
            # An older fact s*x >= 0 may simplify to x >= 0 by now.
            for fact in list(self.facts):
                if len(fact.terms) == 2 and fact.terms[1][0]:
                    for simpler in self._without_factor(fact) or ():
                        self._add_fact(simpler)

    def _add_fact(self, dim: Dim) -> None:
        """Decompose a fact into simpler ones, with a worklist of at most 64 steps, and store the facts that remain."""
        todo = [dim]
        for _ in range(64):
            if not todo:
                return
            fact = todo.pop()
            if isinstance(fact, int):
                self._contradictory |= fact < 0
                continue
            if fact in self._facts:
                continue
            simpler = self._decomposed(fact)
            if simpler is None:
                self._store_fact(fact)
            else:
                todo.extend(simpler)
        for fact in todo:
            if isinstance(fact, Expr):
                self._store_fact(fact)

    def bounds(self, dim: Dim) -> Interval:
        """An interval that contains the dim for every binding in this scope for which it is defined."""
        if isinstance(dim, int):
            return Interval(dim, dim)
        if self._memo_version != self.version or len(self._memo) >= _MEMO_CAPACITY:
            self._forget()
        found = self._memo.get(dim)
        if found is None:
            found = self._memo[dim] = self._bounds(dim)
        return found

    @property
    def results(self) -> dict[tuple[object, ...], Dim | None]:
        """Memo of decisions and results in this scope, by (operation, operands); cleared when a fact is added."""
        if self._memo_version != self.version or len(self._results) >= _MEMO_CAPACITY:
            self._forget()
        return self._results

    def _forget(self) -> None:
        self._memo = {}
        self._inner = {}
        self._samples = []
        self._results = {}
        self._memo_version = self.version

    @property
    def samples(self) -> Sequence[SampleBinding]:
        """The sample bindings, one for each entry of `SAMPLES`: each symbol is in its interval, but the facts may not
        hold.
        """
        if self._memo_version != self.version:
            self._forget()
        if not self._samples:
            self._samples = [SampleBinding(number, self.symbol_bounds) for number in range(len(SAMPLES))]
        return self._samples

    def symbol_bounds(self, name: str) -> Interval:
        """The interval of a symbol: the intersection of those declared in this scope and its parents."""
        scope: Scope | None = self
        own: Interval | None = None
        while scope is not None:
            found = scope._intervals.get(name)
            if found is not None:
                own = found if own is None else own & found
            scope = scope._parent
        return NONNEGATIVE if own is None else own

    def _bounds(self, dim: Expr) -> Interval:
        """The bounds by interval arithmetic, refined by linear relaxation where terms depend on each other and fuel is
        left.
        """
        interval = self._of_parts(dim, self.bounds)
        if interval.is_empty or interval.is_point:
            return interval
        if self.is_exhausted:
            return interval
        facts = self.relevant_facts(dim)
        if not facts and _has_independent_terms(dim):
            return interval
        if isinstance(dim, Symbol):
            # Breaks the recursion: while its facts are evaluated, the symbol has its declared interval.
            self._memo[dim] = interval
        for effort in self.fuels:
            effort.left -= 1
        related = self._range_by_relations(dim, facts)
        narrowed = interval & related
        return interval if narrowed.is_empty else narrowed

    def _range_by_relations(self, dim: Expr, facts: list[Expr]) -> Interval:
        """The range of the dim by linear relaxation. The range depends on facts and declared intervals only, so all
        scopes share one memo.
        """
        names = dim.symbols.union(*(fact.symbols for fact in facts))
        key = (dim, tuple(facts), tuple(map(self.symbol_bounds, sorted(names))))
        found = _RANGES.get(key)
        if found is None:
            try:
                found = range_by_relations(dim, self._atom_bounds, facts, self._product_bounds)
            except DimTooLarge:
                found = None
            if found is None:  # the facts contradict each other, so any range is sound
                found = EVERYTHING
            if len(_RANGES) >= _RANGES_CAPACITY:
                _RANGES.clear()
            _RANGES[key] = found
        return found

    def _atom_bounds(self, dim: Dim) -> Interval:
        """Bounds of a part of a dim by interval arithmetic alone; the linear relaxation of the whole dim applies the
        facts. The memo is valid only until a fact is added.
        """
        if isinstance(dim, int):
            return Interval(dim, dim)
        found = self._inner.get(dim)
        if found is not None:
            return found
        found = self._inner[dim] = self._of_parts(dim, self._atom_bounds)
        return found

    def _of_parts(self, dim: Expr, bounds: Callable[[Dim], Interval]) -> Interval:
        """The range of the dim by interval arithmetic over its parts."""
        if isinstance(dim, Symbol):
            return self.symbol_bounds(dim.name)
        if isinstance(dim, FloorDiv):
            return bounds(dim.num) // bounds(dim.den)
        if isinstance(dim, Min):
            return Interval.minimum(map(bounds, dim.args))
        if isinstance(dim, Max):
            return Interval.maximum(map(bounds, dim.args))
        return self._sum_of_terms(dim, bounds)

    def _bounds_now(self, atom: Atom) -> Interval:
        """As `_atom_bounds`, after clearing the memo if facts were added."""
        if self._memo_version != self.version:
            self._forget()
        return self._atom_bounds(atom)

    def _sum_of_terms(self, dim: Expr, bounds: Callable[[Atom], Interval], *, but: Monomial | None = None) -> Interval:
        """The sum of the intervals of the terms, except that of the monomial `but`."""
        lo: int | None = 0
        hi: int | None = 0
        for monomial, coefficient in dim.terms:
            if monomial == but:
                continue
            if not monomial:
                least: int | None = 1
                most: int | None = 1
            else:
                term = _monomial_bounds(monomial, bounds)
                least, most = term.lo, term.hi
            if coefficient < 0:
                least, most = most, least
            lo = None if lo is None or least is None else lo + least * coefficient
            hi = None if hi is None or most is None else hi + most * coefficient
        return Interval(lo, hi)

    def _product_bounds(self, monomial: Monomial) -> Interval:
        return _monomial_bounds(monomial, self._atom_bounds)

    def relevant_facts(self, dim: Expr) -> list[Expr]:
        """At most `_MAX_FACTS_USED` facts that share a symbol with the dim, directly or through other facts, nearest
        first.
        """
        waiting = list(self.facts)
        reached = set(dim.symbols)
        chosen: list[Expr] = []
        while waiting and len(chosen) < _MAX_FACTS_USED:
            near = [fact for fact in waiting if not reached.isdisjoint(fact.symbols)]
            if not near:
                break
            chosen += near
            waiting = [fact for fact in waiting if reached.isdisjoint(fact.symbols)]
            for fact in near:
                reached |= fact.symbols
        return chosen[:_MAX_FACTS_USED]

    def _store_fact(self, fact: Expr) -> None:
        """Store a fact unless the scope already implies it, and narrow the intervals of its symbols."""
        known = self.bounds(fact).lo
        if known is not None and known >= 0:
            return
        if len(self._facts) < _MAX_FACTS:
            self._facts[fact] = None
            self._version += 1
        # k*x + rest >= 0 bounds x when rest is bounded.
        for monomial, coefficient in fact.terms:
            if len(monomial) != 1 or not isinstance(monomial[0], Symbol):
                continue
            name = monomial[0].name
            highest = self._sum_of_terms(fact, self._bounds_now, but=monomial).hi
            if highest is None:
                continue
            if coefficient > 0:
                self.declare(name, Interval(-(highest // coefficient), None))
            else:
                self.declare(name, Interval(None, highest // -coefficient))

    def _decomposed(self, fact: Expr) -> list[Dim] | None:
        """Simpler facts whose conjunction is equivalent to `fact` in this scope; None when there are none."""
        try:
            return self._parts(fact)
        except DimTooLarge:
            return None

    def _parts(self, fact: Expr) -> list[Dim] | None:
        for monomial, coefficient in fact.terms:
            if len(monomial) == 1 and isinstance(monomial[0], Extremum):
                extremum = monomial[0]
                # k*min(a, b) + rest >= 0  is  k*a + rest >= 0 and k*b + rest >= 0           k > 0
                if isinstance(extremum, Min) == (coefficient > 0):
                    rest = fact - extremum * coefficient
                    return [arg * coefficient + rest for arg in extremum.args]
        if len(fact.terms) > 2:
            return None
        (monomial, coefficient), *others = fact.terms
        constant = 0
        if others:
            if others[0][0]:
                return self._without_factor(fact)
            constant = others[0][1]
        if len(monomial) == 1:
            return self._single(monomial[0], coefficient, constant)
        if coefficient > 0 and constant < 0 and all(self._is_nonnegative(atom) for atom in monomial):
            # k*a*b - c >= 0  makes a >= 1 and b >= 1                                      k, c > 0; a, b >= 0
            for atom in monomial:
                self._add_fact(atom - 1)
        return None

    def _single(self, atom: Atom, coefficient: int, constant: int) -> list[Dim] | None:
        # k*x + c >= 0  is  x >= ceil(-c/k), and  -k*x + c >= 0  is  x <= floor(c/k)         k > 0
        limit = -(constant // coefficient) if coefficient > 0 else constant // -coefficient
        if isinstance(atom, Symbol):
            self.declare(atom.name, Interval(limit, None) if coefficient > 0 else Interval(None, limit))
            return []
        if isinstance(atom, FloorDiv) and isinstance(atom.den, int):
            # x//d >= q  is  x >= q*d, and  x//d <= q  is  x <= q*d + d - 1                 d > 0
            d = atom.den
            return [atom.num - limit * d] if coefficient > 0 else [limit * d + d - 1 - atom.num]
        return None if abs(coefficient) == 1 else [atom - limit if coefficient > 0 else limit - atom]

    def _without_factor(self, fact: Expr) -> list[Dim] | None:
        # s*x >= 0  is  x >= 0                                                              s >= 1
        for atom in dict.fromkeys(fact.terms[0][0]):
            lo = self._bounds_now(atom).lo
            if lo is not None and lo >= 1 and all(atom in monomial for monomial, _ in fact.terms):
                reduced: dict[Monomial, int] = {}
                for monomial, coefficient in terms_of(fact):
                    at = monomial.index(atom)
                    reduced[monomial[:at] + monomial[at + 1 :]] = coefficient
                return [from_terms(reduced)]
        return None

    def _is_nonnegative(self, atom: Atom) -> bool:
        lo = self.bounds(atom).lo
        return lo is not None and lo >= 0


def _monomial_bounds(monomial: Monomial, bounds: Callable[[Atom], Interval]) -> Interval:
    """The product of the intervals of the atoms, with exact powers."""
    if len(monomial) == 1:
        return bounds(monomial[0])
    result = Interval(1, 1)
    for atom in dict.fromkeys(monomial):
        result = result * bounds(atom).power(monomial.count(atom))
    return result


def _has_independent_terms(dim: Expr) -> bool:
    """Whether interval arithmetic is exact, because no symbol occurs in two terms or inside another atom."""
    if len(dim.terms) == 1:
        monomial = dim.terms[0][0]
        return len(monomial) == 1 or all(isinstance(atom, Symbol) for atom in monomial)
    seen: set[Atom] = set()
    for monomial, _ in dim.terms:
        for atom in set(monomial):
            if not isinstance(atom, Symbol) or atom in seen:
                return False
            seen.add(atom)
    return True


_RANGES: dict[tuple[Expr, tuple[Expr, ...], tuple[Interval, ...]], Interval] = {}
"""Memo of ranges by linear relaxation, shared by all scopes: each case of a proof repeats queries in a new scope.
"""

DEFAULT = Scope()
