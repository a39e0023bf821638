"""Bounds checks: whether every access by index stays in bounds, from facts and value ranges alone.

An access implies facts about itself: in each run that passes a Gather by the index 5 the axis has length 6 or more. A
verdict must not use those facts, nor facts that later nodes imply, since the nodes may depend on the access. So it uses
only the facts before the access in the first pass: declarations, and facts that earlier nodes imply. By induction over
the nodes, the first node that fails in a run is never one whose access is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gather_infer.access import Addressing, Indexing
from gather_infer.inference import Access
from gather_infer.inference.provenance.origin import Origin, RangeEnd
from gather_infer.inference.result import FactsBeforeAccess, IterationRange
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Scope,
    floordiv,
    free_symbols,
    known_le,
    known_lt,
    simplify,
    substitute,
    symbol,
)
from gather_infer.tensor import INTEGER_RANGE, DType, SequenceType, SymbolicTensor, ValueRange
from gather_infer.validate.condition import (
    NEVER,
    Condition,
    Elements,
    counterexample,
    is_unsatisfiable,
    minimal,
    nonnegative_conditions,
)
from gather_infer.validate.element_preimage import element_preimage
from gather_infer.validate.verdict import Outside, Verdict, VerdictKind
from gather_infer.value_ranges import cannot_wrap, range_of

MAX_SUBSTITUTIONS: Final = 8
"""Maximum number of times that generated symbols are replaced by expressions, which may contain further ones."""


def verdict(access: Access, *, allow_negative: bool = True) -> Verdict:
    """The verdict on one access.

    allow_negative   False treats every negative index as out of bounds, whatever the operator does with it
    """
    facts_before = access.facts_before
    if facts_before is None:
        return Verdict(access, VerdictKind.UNDECIDED, reason="the first pass did not reach the node")
    axis = access.addressing
    outside = Outside.FAILS if axis is None else _outside(axis.indexing)
    indices = facts_before.indices
    if isinstance(indices, SymbolicTensor) and indices.shape is not None and 0 in indices.shape:
        return Verdict(access, VerdictKind.PROVED, reason="the index is empty", outside=outside)
    given, facts_before = facts_before, _where_nonempty(facts_before)
    may_be_empty = given is not facts_before
    if facts_before.scope.is_contradictory:
        return Verdict(
            access, VerdictKind.PROVED, reason="no legal run reaches the node with a nonempty index", outside=outside
        )
    if axis is None:
        return Verdict(access, VerdictKind.UNDECIDED, reason=_why_not_addressed(access), outside=outside)
    try:
        used = axis if allow_negative else axis._replace(indexing=_without_negative_indices(axis.indexing))
        varies = may_be_empty and _may_vary_in_size(given)
        swept = (
            _over_iterations(part, axis.size, facts_before, varies=varies) for part in _origins(facts_before, axis)
        )
        judges = [_BoundsCheck(facts_before, used, part, may_be_empty) for parts in swept for part in parts]
        # where every element of every origin is out of bounds, it does not matter which origins have elements
        is_hopeless = not axis.may_skip and all(judge.is_all_out() and not judge.may_ignore() for judge in judges)
        found = [judge.violated() if is_hopeless else judge.run() for judge in judges]
    except DimTooLarge:
        return Verdict(access, VerdictKind.UNDECIDED, reason="a size grew past the size limit", outside=outside)
    made = replace(_combined(access, found, facts_before), outside=outside)
    return replace(made, empty_reason=_why_empty(given)) if made.kind is VerdictKind.VIOLATED else made


def combined(found: Sequence[Verdict]) -> Verdict:
    """One verdict for all accesses of a node: the worst of `found`; a conditional one has the conditions of all."""
    order = (VerdictKind.VIOLATED, VerdictKind.UNDECIDED, VerdictKind.CONDITIONAL, VerdictKind.PROVED)
    worst = min(found, key=lambda each: order.index(each.kind))
    if worst.kind is not VerdictKind.CONDITIONAL:
        return worst
    scopes = {each.access.facts_before.scope for each in found if each.access.facts_before is not None}
    scope = scopes.pop() if len(scopes) == 1 else Scope()
    return replace(worst, conditions=minimal((c for each in found for c in each.conditions), scope))


def _where_nonempty(facts_before: FactsBeforeAccess) -> FactsBeforeAccess:
    """The facts before the access in the runs where the index has elements; `facts_before` itself if it always has."""
    indices, scope = facts_before.indices, facts_before.scope
    if not isinstance(indices, SymbolicTensor) or indices.shape is None:
        return facts_before
    open_dims = [dim for dim in indices.shape if known_le(1, dim, scope) is not True]
    if not open_dims:
        return facts_before
    scope = scope.child()
    for dim in open_dims:
        scope.add_fact(dim - 1)
    return replace(facts_before, scope=scope)


def _why_empty(facts_before: FactsBeforeAccess) -> str:
    """Why the index may be empty although no input is empty; "" if it cannot be."""
    indices, scope = facts_before.indices, facts_before.scope
    if not isinstance(indices, SymbolicTensor) or indices.shape is None:
        return ""
    names = [name for dim in indices.shape for name in free_symbols(dim)]
    made = [name for name in names if name in facts_before.causes]
    where = scope.child()
    for name in frozenset(names).difference(made):
        where.add_fact(symbol(name) - 1)
    for dim in indices.shape:
        if known_le(1, dim, where) is not True:
            reasons = (facts_before.causes[name].reason for name in made if name in free_symbols(dim))
            return next(reasons, "")
    return ""


def _without_negative_indices(indexing: Indexing) -> Indexing:
    """The indexing changed to treat every negative index as out of bounds."""
    return indexing._replace(from_end=False, negative_note="")


def _outside(indexing: Indexing) -> Outside:
    """The effect that an index out of bounds has on the node."""
    if indexing.strict:
        return Outside.FAILS
    return Outside.UNDEFINED if indexing.fill is None else Outside.ZERO


def _why_not_addressed(access: Access) -> str:
    """Why the addressed axis is unknown."""
    data = access.data_type
    if isinstance(data, SequenceType):
        return "the length of the sequence is not known"
    if not isinstance(data, SymbolicTensor) or data.shape is None:
        return "the rank of data is not known"
    return "the addressed axes are not known, or the node violates its specification"


def _origins(facts_before: FactsBeforeAccess, axis: Addressing) -> Iterator[Origin]:
    """The origins of the index elements that address the axis; those of a subset if the operator may skip elements."""
    for part in _all_origins(facts_before, axis):
        yield part.subset._replace(exact=part.exact, nonempty_if=None) if axis.may_skip else part


def _all_origins(facts_before: FactsBeforeAccess, axis: Addressing) -> Iterator[Origin]:
    """As `_origins`, for an operator that uses all elements of the index."""
    for element in axis.elements:
        if element != axis.indexing.ignored:
            yield Origin(ValueRange(element, element), exact=True)
    if axis.is_complete:
        return
    indices, trace = facts_before.indices, facts_before.provenance
    assert isinstance(indices, SymbolicTensor), "rules index by tensors only"
    if trace is None:
        yield Origin(range_of(indices, facts_before.scope), nonempty_if=None if axis.elements else ())
        return
    if axis.column is not None and trace.axis is not None and trace.axis + 1 == indices.rank:
        yield trace.origins[axis.column]
        return
    alone = axis.columns == 1
    for part in trace.origins:
        if alone:
            yield part
        elif part.input and not part.direct:  # it is unknown which elements of the input address which axis
            yield Origin(part.value_range, nonempty_if=None)
        else:
            is_certain = part.is_nonempty and not part.exact and len(trace.origins) == 1
            yield part._replace(nonempty_if=() if is_certain else None)


def _may_vary_in_size(facts_before: FactsBeforeAccess) -> bool:
    """Whether the index may be empty in some iterations of the loops around the node and nonempty in others."""
    indices = facts_before.indices
    assert isinstance(indices, SymbolicTensor) and indices.shape is not None, "the caller requires nonempty indices"
    open_dims = [dim for dim in indices.shape if known_le(1, dim, facts_before.scope) is not True]
    return bool(facts_before.iterations) and any(
        name in facts_before.causes for dim in open_dims for name in free_symbols(dim)
    )


def _over_iterations(origin: Origin, size: Dim, facts_before: FactsBeforeAccess, *, varies: bool) -> list[Origin]:
    """The origins for all iterations of the enclosing loops, up to the first loop over which a bound cannot be
    computed.

    varies   whether the index may be empty in some iterations, even in those that attain the bounds
    """
    parts = [origin]
    for sweep in facts_before.iterations:
        if sweep.symbol in free_symbols(size):
            break
        moved = [_over_loop(each, sweep, facts_before.scope) for each in parts]
        if any(found is None for found in moved):
            break
        parts = [each for found in moved if found is not None for each in found]
    return [_possibly_empty(each) for each in parts] if varies and facts_before.iterations else parts


def _possibly_empty(origin: Origin) -> Origin:
    """The origin, changed to no longer assert that an index attains its bounds."""
    end = None if origin.end is None else origin.end._replace(is_attained=False)
    return origin._replace(exact=False, end=end)


def _over_loop(origin: Origin, iteration_range: IterationRange, scope: Scope) -> list[Origin] | None:
    """The origins for all iterations of one loop; None where the bounds over the loop cannot be computed."""
    if origin.slice_symbol == iteration_range.symbol:
        origin = origin._replace(whole=iteration_range.is_all, slice_symbol="")
    lo, hi = origin.value_range.lo, origin.value_range.hi
    least, most = _bounds_over_loop(lo, iteration_range, scope), _bounds_over_loop(hi, iteration_range, scope)
    if (lo is not None and least is None) or (hi is not None and most is None):
        return None
    is_exact = origin.exact and iteration_range.is_all
    span = ValueRange(None if least is None else least[0], None if most is None else most[1])
    moving = [dim for dim in origin.dims if iteration_range.symbol in free_symbols(dim)]
    if not origin.input or not moving:
        is_still = span == origin.value_range
        return [origin if is_still else origin._replace(value_range=span, exact=is_exact)]
    ends = _bounds_over_loop(moving[0], iteration_range, scope)
    if len(moving) > 1 or ends is None or origin.negative_offset is not None:
        return None
    # Only one offset depends on the iteration and every step is monotone, so the first and the last iteration have the
    # extreme indices.
    at_first = origin.substituted({iteration_range.symbol: 0})
    at_last = origin.substituted({iteration_range.symbol: iteration_range.end - 1})
    if not origin.is_offset(moving[0]) or not all(map(cannot_wrap, (*at_first.dims, *at_last.dims))):
        return None
    is_rising = known_le(
        substitute(moving[0], {iteration_range.symbol: 0}), substitute(moving[0], {iteration_range.symbol: 1}), scope
    )
    if is_rising is None:
        return None
    lower, upper = (at_first, at_last) if is_rising is origin.is_increasing_in(moving[0]) else (at_last, at_first)
    found = []
    for each, is_low in ((lower, True), (upper, False)):
        if origin.end is None or origin.end.is_lower is is_low:
            is_there = iteration_range.is_all and (origin.end is None or origin.end.is_attained)
            found.append(each._replace(value_range=span, exact=False, end=RangeEnd(is_low, is_there)))
    return found


def _bounds_over_loop(dim: Dim | None, iteration_range: IterationRange, scope: Scope) -> tuple[Dim, Dim] | None:
    """The smallest and the largest value of a dim over all iterations; None unless it is linear in the iteration."""
    if dim is None:
        return None
    name = iteration_range.symbol
    step = substitute(dim, {name: symbol(name) + 1}) - dim
    if name in free_symbols(step):
        return None
    first, last = substitute(dim, {name: 0}), substitute(dim, {name: iteration_range.end - 1})
    if known_le(0, step, scope) is True:
        return first, last
    return (last, first) if known_le(step, 0, scope) is True else None


@dataclass(frozen=True, slots=True)
class _OriginVerdict:
    """The verdict on one origin of an index on one axis.

    conditions  sufficient for the origin to be in bounds, and necessary where tight; None when undecided
    """

    kind: VerdictKind
    conditions: tuple[Condition, ...] | None = ()
    reason: str = ""
    index: Dim | None = None


@dataclass(frozen=True, slots=True)
class _ExtentConditions:
    """Sufficient conditions on the input elements from which a size is computed; necessary too if `is_exact`."""

    conditions: list[Condition]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _BoundsCheck:
    """The bounds check of one origin against one axis."""

    facts_before: FactsBeforeAccess
    axis: Addressing
    origin: Origin
    may_be_empty: bool

    def run(self) -> _OriginVerdict:
        """The verdict: proved or violated by value ranges, else conditions on elements or sizes."""
        size, part = self.axis.size, self.origin
        scope, indexing = self.facts_before.scope, self.axis.indexing
        defined = 0 if indexing.negative_note else indexing.first_defined(size)  # the first index in bounds
        lo, hi = part.value_range.lo, part.value_range.hi
        is_above = lo is not None and known_le(defined, lo, scope) is True
        is_below = known_lt(INTEGER_RANGE[DType.INT64][1] if hi is None else hi, size, scope) is True
        if is_above and is_below:
            return _OriginVerdict(VerdictKind.PROVED)
        if part.is_nonempty and self.is_out() and not self.may_ignore():
            return self.violated()
        if part.input:
            return self.of_input(defined, is_above, is_below)
        if part.exact and indexing.negative_note and lo is not None and known_lt(lo, 0, scope) is True:
            return _OriginVerdict(VerdictKind.UNDECIDED, None, f"index {lo} is negative, {indexing.negative_note}")
        return self.of_sizes(defined, is_above, is_below)

    def may_ignore(self) -> bool:
        """Whether an element of the origin may be the out-of-bounds value at which the operator does nothing."""
        ignored, scope, size = self.axis.indexing.ignored, self.facts_before.scope, self.axis.size
        if ignored is None:
            return False
        lo, hi = self.origin.value_range.lo, self.origin.value_range.hi
        is_past = (lo is not None and known_lt(ignored, lo, scope) is True) or (
            hi is not None and known_lt(hi, ignored, scope) is True
        )
        first = self.axis.indexing.first_defined(size)
        return not is_past and not (known_le(first, ignored, scope) is True and known_lt(ignored, size, scope) is True)

    def is_out(self) -> bool:
        """True when some element of the origin is out of bounds in every run in which the origin has elements."""
        lo, hi = self.origin.value_range.lo, self.origin.value_range.hi
        return self._is_past(*((lo, hi) if self.origin.exact else (hi, lo)))

    def is_all_out(self) -> bool:
        """True when every element of the origin is out of bounds in every run."""
        return self._is_past(self.origin.value_range.hi, self.origin.value_range.lo)

    def _is_past(self, low: Dim | None, high: Dim | None) -> bool:
        """True when `low` is below the first index in bounds, or `high` above the last."""
        size, scope = self.axis.size, self.facts_before.scope
        least = self.axis.indexing.lower_bound(size)
        return (
            size == 0
            or (low is not None and known_lt(low, least, scope) is True)
            or (high is not None and known_le(size, high, scope) is True)
        )

    def violated(self) -> _OriginVerdict:
        lo, hi = self.origin.value_range.lo, self.origin.value_range.hi
        return _OriginVerdict(VerdictKind.VIOLATED, reason=self.violation(), index=lo if lo == hi else None)

    def violation(self) -> str:
        """The reason of a violated verdict, as text."""
        size, (lo, hi) = self.axis.size, (self.origin.value_range.lo, self.origin.value_range.hi)
        if size == 0:
            if self.may_be_empty:
                return "every index is out of bounds where indices is not empty: the axis it addresses has length 0"
            return "indices is not empty, the axis it addresses has length 0"
        allowed = f"[{self.axis.indexing.first_defined(size)}, {size - 1}]"
        if lo is not None and lo == hi:
            return f"index {lo} is outside {allowed}"
        return f"indices in {_shown(self.origin.value_range)} are outside {allowed}"

    def of_input(self, defined: Dim, is_above: bool, is_below: bool) -> _OriginVerdict:
        """The verdict on indices that are a monotone function of input elements, as conditions on these elements.

        defined    the first index in bounds
        is_above   the indices are known to be >= `defined`
        is_below   the indices are known to be less than the length of the axis
        """
        part, scope = self.origin, self.facts_before.scope
        needed = element_preimage(part, defined, self.axis.size - 1, scope, is_above=is_above, is_below=is_below)
        if needed is None:
            return _OriginVerdict(VerdictKind.UNDECIDED, None, self.open_reason())
        if part.end is not None:
            needed = needed.of_low_end() if part.end.is_lower else needed.of_high_end()
        column = self.axis.column if part.direct else part.column
        elements = Elements(part.input, column, part.whole)
        conditions = list(_sizes(map(self.in_input_symbols, needed.gaps), scope))
        if needed.first is not None:
            is_wrong = not self.axis.indexing.negative_note  # else it is unspecified, and may be in bounds
            conditions.append(Condition(elements, ">=", simplify(needed.first, scope), is_wrong))
        if needed.last is not None:
            conditions.append(Condition(elements, "<", simplify(needed.last + 1, scope)))
        shown = "its elements are the indices" if part.whole else "those of its elements that are read are indices"
        gaps = [self.in_input_symbols(gap) for gap in needed.gaps]
        is_low_exact = is_above or not gaps or not self.axis.indexing.negative_note
        is_exact = needed.is_exact and is_low_exact and self.is_needed(gaps) and not self.may_ignore()
        is_exact &= part.is_definite and (part.end is None or (part.end.is_attained and part.is_nonempty))
        return self.verdict_of(conditions, f"{shown}, {self.axis_text()}", is_exact=is_exact)

    def of_sizes(self, defined: Dim, is_above: bool, is_below: bool) -> _OriginVerdict:
        """The verdict as conditions on sizes under which both bounds of the value range are in bounds.

        The parameters are those of `of_input`.
        """
        lo, hi = self.origin.value_range.lo, self.origin.value_range.hi
        gaps: list[Dim] = []
        if not is_above:
            if lo is None:
                return _OriginVerdict(VerdictKind.UNDECIDED, None, self.open_reason())
            gaps.append(self.in_input_symbols(lo - defined))
        if not is_below:
            if hi is None:
                return _OriginVerdict(VerdictKind.UNDECIDED, None, self.open_reason())
            gaps.append(self.in_input_symbols(self.axis.size - 1 - hi))
        is_low_exact = is_above or not self.axis.indexing.negative_note
        is_exact = self.origin.exact and is_low_exact and self.is_needed(gaps) and not self.may_ignore()
        is_exact = is_exact or all(self.is_axis_empty(gap) for gap in gaps)
        conditions: list[Condition] = []
        for gap in gaps:
            counted = self.extent_conditions(gap)
            if counted is None:
                conditions += _sizes([gap], self.facts_before.scope)
            else:
                conditions += counted.conditions
                is_exact &= counted.is_exact
        return self.verdict_of(conditions, self.facts_text(), is_exact=is_exact)

    def is_axis_empty(self, gap: Dim) -> bool:
        """Whether the axis is empty where `gap` is negative: then every index is out of bounds, whatever its value.

        False where the index may be empty: index and axis are often empty together, which is legal.
        """
        if self.may_be_empty or self.axis.may_skip or self.axis.indexing.inserts or self.may_ignore():
            return False
        negative = self.facts_before.scope.child()
        negative.add_fact(-1 - gap)
        return known_le(self.axis.size, 0, negative) is True

    def extent_conditions(self, gap: Dim) -> _ExtentConditions | None:
        """The conditions on input elements under which `gap` is not negative.

        max(0, x) <= n  is  x <= n and 0 <= n

        None unless the only generated symbol in `gap` is a size that input elements x determine.
        """
        meanings, scope = self.facts_before.symbol_origins, self.facts_before.scope
        names = [name for name in free_symbols(gap) if name in self.facts_before.causes]
        if len(names) != 1 or names[0] not in meanings:
            return None
        (name,) = names
        part = meanings[name]
        rest = substitute(gap, {name: 0})
        factor = rest - substitute(gap, {name: 1})
        if not isinstance(factor, int) or factor < 1 or gap != rest - factor * symbol(name):
            return None
        most = floordiv(rest, factor, scope)
        needed = element_preimage(part, 0, most, scope, is_above=True, is_below=False)
        if needed is None:
            return None
        gaps = [g for g in (most, *needed.gaps) if known_le(0, g, scope) is not True]
        elements = Elements(part.input, part.column, part.whole)
        conditions = list(_sizes(map(self.in_input_symbols, gaps), scope))
        if needed.first is not None:
            conditions.append(Condition(elements, ">=", simplify(needed.first, scope)))
        if needed.last is not None:
            conditions.append(Condition(elements, "<", simplify(needed.last + 1, scope)))
        return _ExtentConditions(conditions, needed.is_exact and part.whole)

    def in_input_symbols(self, dim: Dim) -> Dim:
        """The dim with generated symbols replaced by equal expressions: a verdict is stated in the symbols of the
        inputs.
        """
        causes = self.facts_before.causes
        for _ in range(MAX_SUBSTITUTIONS):
            found = ((name, causes[name].equals) for name in free_symbols(dim) if name in causes)
            meanings = {name: equal for name, equal in found if equal is not None}
            if not meanings:
                break
            try:
                dim = substitute(dim, meanings)
            except ZeroDivisionError:
                break
        return dim

    def is_needed(self, gaps: Iterable[Dim]) -> bool:
        """Whether all gaps are >= 0 in runs where the origin has no elements.

        Then a condition that they are >= 0 excludes no legal run.
        """
        needs, scope = self.origin.nonempty_if, self.facts_before.scope
        if needs is None:
            return not list(gaps)
        for dim in needs:
            empty = scope.child()
            empty.add_fact(-dim)
            if not all(known_le(0, gap, empty) is True for gap in gaps):
                return False
        return True

    def verdict_of(self, conditions: list[Condition], reason: str, *, is_exact: bool) -> _OriginVerdict:
        """The verdict for `conditions`, which are sufficient, and if `is_exact` also necessary."""
        if NEVER in conditions:
            if is_exact and self.origin.is_nonempty:
                return self.violated()
            return _OriginVerdict(VerdictKind.UNDECIDED, None, self.open_reason())
        unknown = [self.facts_before.causes[n] for n in _symbols(conditions) if n in self.facts_before.causes]
        if unknown and is_exact:
            because = f"it depends on sizes that are not known: {unknown[0].reason} (node {unknown[0].node})"
            return _OriginVerdict(VerdictKind.UNDECIDED, None, f"{because}; {self.facts_text()}")
        if unknown:
            return _OriginVerdict(VerdictKind.UNDECIDED, None, self.open_reason())
        if not conditions:
            return _OriginVerdict(VerdictKind.PROVED)
        if is_exact:
            return _OriginVerdict(VerdictKind.CONDITIONAL, tuple(conditions), reason)
        loose = tuple(replace(condition, tight=False) for condition in conditions)
        return _OriginVerdict(VerdictKind.CONDITIONAL, loose, self.open_reason())

    def open_reason(self) -> str:
        """The reason of an undecided verdict, or of a verdict whose conditions are sufficient only."""
        return f"indices are computed from data; {self.facts_text()}"

    def facts_text(self) -> str:
        """The value range of the index and the length of the axis, as text."""
        lo, hi = self.origin.value_range.lo, self.origin.value_range.hi
        shown = f"index {lo}" if lo is not None and lo == hi else f"indices in {_shown(self.origin.value_range)}"
        whole = [str(dtype) for dtype in (DType.INT32, DType.INT64) if INTEGER_RANGE[dtype] == (lo, hi)]
        shown = f"indices are any {whole[0]}" if whole else shown
        return f"{shown}, {self.axis_text()}"

    def axis_text(self) -> str:
        if self.axis.indexing.inserts:
            return f"up to {self.axis.size - 1} is in bounds"
        return f"the axis has {self.axis.size} {'row' if self.axis.size == 1 else 'rows'}"


def _sizes(gaps: Iterable[Dim], scope: Scope) -> Iterator[Condition]:
    """The conditions under which all gaps are >= 0."""
    for gap in gaps:
        yield from nonnegative_conditions(gap, scope)


def _shown(value_range: ValueRange) -> str:
    lo, hi = ("..." if bound is None else bound for bound in (value_range.lo, value_range.hi))
    return f"[{lo}, {hi}]"


def _symbols(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        if not isinstance(condition.left, Elements):
            yield from sorted(free_symbols(condition.left))
        yield from sorted(free_symbols(condition.right))


def _combined(access: Access, found: list[_OriginVerdict], facts_before: FactsBeforeAccess) -> Verdict:
    """One verdict for all origins of an index: violated if one is, else undecided if one is, else all conditions."""
    for finding in found:
        if finding.kind is VerdictKind.VIOLATED:
            witness = () if finding.index is None else (("index", finding.index),)
            return Verdict(access, VerdictKind.VIOLATED, witness=witness, reason=finding.reason)
    conditions: list[Condition] = []
    for finding in found:
        if finding.kind is VerdictKind.UNDECIDED:
            return Verdict(access, VerdictKind.UNDECIDED, reason=finding.reason)
        assert finding.conditions is not None, "only undecided origins lack conditions"
        conditions += finding.conditions
    stated = minimal(conditions, facts_before.scope)
    if not stated:
        return Verdict(access, VerdictKind.PROVED)
    if not all(condition.tight for condition in stated) and is_unsatisfiable(stated, facts_before.scope):
        return Verdict(access, VerdictKind.UNDECIDED, reason=next(f.reason for f in found if f.conditions))
    loose = next((f.reason for f in found if f.conditions and not all(c.tight for c in f.conditions)), "")
    reason = loose or next(f.reason for f in found if f.conditions)
    return Verdict(access, VerdictKind.CONDITIONAL, stated, counterexample(stated, facts_before.scope), reason)
