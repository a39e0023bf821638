"""Bounds checks: whether every access by index stays in bounds, from facts and value ranges alone.

An access implies facts about itself: after a Gather by the constant 5 every legal run has an axis of 6 or more. A
verdict must not use that, nor what later nodes imply, since they may depend on it. So it uses only the facts
before the access in the first pass: declarations, and what earlier nodes imply. By induction over the nodes, the first
node that fails in a run is never one whose access is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gather_infer.access import Addressing, Indexing
from gather_infer.inference import Access
from gather_infer.inference.lineage.trace import End, Part
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
from gather_infer.validate.condition import NEVER, Condition, Elements, at_least_zero, counterexample, is_unmet, minimal
from gather_infer.validate.elements import demand
from gather_infer.validate.verdict import Kind, Outside, Verdict
from gather_infer.value_ranges import cannot_wrap, range_of

MAX_WRITING: Final = 8
"""Rounds of replacing generated symbols by their expressions, which may contain further ones."""


def verdict(access: Access, *, allow_negative: bool = True) -> Verdict:
    """The verdict on one access.

    allow_negative   False treats every negative index as out of bounds, whatever the operator does with it
    """
    evidence = access.facts_before
    if evidence is None:
        return Verdict(access, Kind.UNDECIDED, reason="the first pass did not reach the node")
    axis = access.addressing
    outside = Outside.FAILS if axis is None else _outside(axis.indexing)
    indices = evidence.indices
    if isinstance(indices, SymbolicTensor) and indices.shape is not None and 0 in indices.shape:
        return Verdict(access, Kind.PROVED, reason="the index is empty", outside=outside)
    given, evidence = evidence, _where_nonempty(evidence)
    may_be_empty = given is not evidence
    if evidence.scope.is_contradictory:
        return Verdict(
            access, Kind.PROVED, reason="no legal run reaches the node with a nonempty index", outside=outside
        )
    if axis is None:
        return Verdict(access, Kind.UNDECIDED, reason=_why_nothing_is_addressed(access), outside=outside)
    try:
        used = axis if allow_negative else replace(axis, indexing=_from_front(axis.indexing))
        varies = may_be_empty and _is_filled_now_and_then(given)
        swept = (_swept(part, axis.size, evidence, varies=varies) for part in _parts(evidence, axis))
        judges = [_Judge(evidence, used, part, may_be_empty) for parts in swept for part in parts]
        # where every element of every origin is out of bounds, it does not matter which origins have elements
        is_hopeless = not axis.may_skip and all(judge.is_all_out() and not judge.may_ignore() for judge in judges)
        found = [judge.violated() if is_hopeless else judge.run() for judge in judges]
    except DimTooLarge:
        return Verdict(access, Kind.UNDECIDED, reason="a size grew past the size limit", outside=outside)
    made = replace(_combined(access, found, evidence), outside=outside)
    return replace(made, empty=_why_empty(given)) if made.kind is Kind.VIOLATED else made


def combined(found: Sequence[Verdict]) -> Verdict:
    """One verdict for all accesses of a node: violated if one is, else undecided if one is, else all conditions."""
    order = (Kind.VIOLATED, Kind.UNDECIDED, Kind.CONDITIONAL, Kind.PROVED)
    worst = min(found, key=lambda each: order.index(each.kind))
    if worst.kind is not Kind.CONDITIONAL:
        return worst
    scopes = {each.access.facts_before.scope for each in found if each.access.facts_before is not None}
    scope = scopes.pop() if len(scopes) == 1 else Scope()
    return replace(worst, conditions=minimal((c for each in found for c in each.conditions), scope))


def _where_nonempty(evidence: FactsBeforeAccess) -> FactsBeforeAccess:
    """The facts before the access in the runs where the index has an element: an empty index is in bounds."""
    indices, scope = evidence.indices, evidence.scope
    if not isinstance(indices, SymbolicTensor) or indices.shape is None:
        return evidence
    open_dims = [dim for dim in indices.shape if known_le(1, dim, scope) is not True]
    if not open_dims:
        return evidence
    scope = scope.child()
    for dim in open_dims:
        scope.require(dim - 1)
    return replace(evidence, scope=scope)


def _why_empty(evidence: FactsBeforeAccess) -> str:
    """Why the index may be empty though no input is; "" where it has elements then."""
    indices, scope = evidence.indices, evidence.scope
    if not isinstance(indices, SymbolicTensor) or indices.shape is None:
        return ""
    names = [name for dim in indices.shape for name in free_symbols(dim)]
    made = [name for name in names if name in evidence.causes]
    where = scope.child()
    for name in frozenset(names).difference(made):
        where.require(symbol(name) - 1)
    for dim in indices.shape:
        if known_le(1, dim, where) is not True:
            reasons = (evidence.causes[name].reason for name in made if name in free_symbols(dim))
            return next(reasons, "")
    return ""


def _from_front(indexing: Indexing) -> Indexing:
    """The indexing without negative indices."""
    return replace(indexing, from_end=False, negative_note="")


def _outside(indexing: Indexing) -> Outside:
    """The effect of an index out of bounds."""
    if indexing.strict:
        return Outside.FAILS
    return Outside.UNDEFINED if indexing.fill is None else Outside.ZERO


def _why_nothing_is_addressed(access: Access) -> str:
    """Why the addressed axis is unknown."""
    data = access.data_type
    if isinstance(data, SequenceType):
        return "the length of the sequence is not known"
    if not isinstance(data, SymbolicTensor) or data.shape is None:
        return "the rank of data is not known"
    return "the addressed axes are not known, or the node violates its specification"


def _parts(evidence: FactsBeforeAccess, axis: Addressing) -> Iterator[Part]:
    """The origins of the index elements that address this axis."""
    for part in _all_parts(evidence, axis):
        yield replace(part.dropped, exact=part.exact, needs=None) if axis.may_skip else part


def _all_parts(evidence: FactsBeforeAccess, axis: Addressing) -> Iterator[Part]:
    """As `_origins`, when all elements of the index are used."""
    for element in axis.elements:
        if element != axis.indexing.ignored:
            yield Part(ValueRange(element, element), exact=True)
    if axis.is_complete:
        return
    indices, trace = evidence.indices, evidence.provenance
    assert isinstance(indices, SymbolicTensor), "rules index by tensors only"
    if trace is None:
        yield Part(range_of(indices, evidence.scope), needs=None if axis.elements else ())
        return
    if axis.column is not None and trace.axis is not None and trace.axis + 1 == indices.rank:
        yield trace.parts[axis.column]
        return
    alone = axis.columns == 1
    for part in trace.parts:
        if alone:
            yield part
        elif part.input and not part.direct:  # it is unknown which elements of the input address which axis
            yield Part(part.span, needs=None)
        else:
            is_certain = part.is_certain and not part.exact and len(trace.parts) == 1
            yield replace(part, needs=() if is_certain else None)


def _is_filled_now_and_then(evidence: FactsBeforeAccess) -> bool:
    """Whether the index may be empty in some iterations of the loops around the node and nonempty in others."""
    indices = evidence.indices
    assert isinstance(indices, SymbolicTensor) and indices.shape is not None, "the caller requires nonempty indices"
    open_dims = [dim for dim in indices.shape if known_le(1, dim, evidence.scope) is not True]
    return bool(evidence.iterations) and any(name in evidence.causes for dim in open_dims for name in free_symbols(dim))


def _swept(part: Part, size: Dim, evidence: FactsBeforeAccess, *, varies: bool) -> list[Part]:
    """The origin quantified over all iterations of the loops around the node, as far as their numbers are known.

    varies   some iterations may have no elements, among them those that attain the bounds
    """
    parts = [part]
    for sweep in evidence.iterations:
        if sweep.symbol in free_symbols(size):
            break
        moved = [_swept_once(each, sweep, evidence.scope) for each in parts]
        if any(found is None for found in moved):
            break
        parts = [each for found in moved if found is not None for each in found]
    return [_varying(each) for each in parts] if varies and evidence.iterations else parts


def _varying(part: Part) -> Part:
    """The origin without the claim that its bounds are attained."""
    end = None if part.end is None else replace(part.end, is_there=False)
    return replace(part, exact=False, end=end)


def _swept_once(part: Part, sweep: IterationRange, scope: Scope) -> list[Part] | None:
    """The origin quantified over the iterations of one loop; None where it is not linear in the iteration."""
    if part.each == sweep.symbol:
        part = replace(part, whole=sweep.is_all, each="")
    lo, hi = part.span.lo, part.span.hi
    least, most = _ends(lo, sweep, scope), _ends(hi, sweep, scope)
    if (lo is not None and least is None) or (hi is not None and most is None):
        return None
    is_exact = part.exact and sweep.is_all
    span = ValueRange(None if least is None else least[0], None if most is None else most[1])
    moving = [dim for dim in part.dims if sweep.symbol in free_symbols(dim)]
    if not part.input or not moving:
        is_still = span == part.span
        return [part if is_still else replace(part, span=span, exact=is_exact)]
    ends = _ends(moving[0], sweep, scope)
    if len(moving) > 1 or ends is None or part.wrap is not None:
        return None
    # Only one offset depends on the iteration and every step is monotone, so the first and the last iteration have the
    # extreme indices.
    at_first = part.substituted({sweep.symbol: 0})
    at_last = part.substituted({sweep.symbol: sweep.end - 1})
    if not part.moves_by_offset(moving[0]) or not all(map(cannot_wrap, (*at_first.dims, *at_last.dims))):
        return None
    is_rising = known_le(substitute(moving[0], {sweep.symbol: 0}), substitute(moving[0], {sweep.symbol: 1}), scope)
    if is_rising is None:
        return None
    lower, upper = (at_first, at_last) if is_rising is part.keeps_order_after(moving[0]) else (at_last, at_first)
    found = []
    for each, is_low in ((lower, True), (upper, False)):
        if part.end is None or part.end.is_low is is_low:
            is_there = sweep.is_all and (part.end is None or part.end.is_there)
            found.append(replace(each, span=span, exact=False, end=End(is_low, is_there)))
    return found


def _ends(dim: Dim | None, sweep: IterationRange, scope: Scope) -> tuple[Dim, Dim] | None:
    """The bounds of a dim over all iterations; None if it is not linear in the iteration."""
    if dim is None:
        return None
    name = sweep.symbol
    step = substitute(dim, {name: symbol(name) + 1}) - dim
    if name in free_symbols(step):
        return None
    first, last = substitute(dim, {name: 0}), substitute(dim, {name: sweep.end - 1})
    if known_le(0, step, scope) is True:
        return first, last
    return (last, first) if known_le(step, 0, scope) is True else None


@dataclass(frozen=True, slots=True)
class _Finding:
    """The verdict on one origin of an index on one axis.

    conditions  when it is in bounds, exactly then where they are tight; None when undecided
    """

    kind: Kind
    conditions: tuple[Condition, ...] | None = ()
    reason: str = ""
    index: Dim | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    """The condition on an input element that determines an extent."""

    conditions: list[Condition]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Judge:
    """The bounds check of one origin against one axis."""

    evidence: FactsBeforeAccess
    axis: Addressing
    part: Part
    may_be_empty: bool

    def run(self) -> _Finding:
        """Proved from value ranges, violated, or reduced to conditions on elements or sizes."""
        size, part = self.axis.size, self.part
        scope, indexing = self.evidence.scope, self.axis.indexing
        defined = 0 if indexing.negative_note else indexing.first_defined(size)  # the first index in bounds
        lo, hi = part.span.lo, part.span.hi
        is_above = lo is not None and known_le(defined, lo, scope) is True
        is_below = known_lt(INTEGER_RANGE[DType.INT64][1] if hi is None else hi, size, scope) is True
        if is_above and is_below:
            return _Finding(Kind.PROVED)
        if part.is_certain and self.is_out() and not self.may_ignore():
            return self.violated()
        if part.input:
            return self.of_input(defined, is_above, is_below)
        if part.exact and indexing.negative_note and lo is not None and known_lt(lo, 0, scope) is True:
            return _Finding(Kind.UNDECIDED, None, f"index {lo} is negative, {indexing.negative_note}")
        return self.of_sizes(defined, is_above, is_below)

    def may_ignore(self) -> bool:
        """Whether the origin may have the index that the operator ignores although it is out of bounds."""
        ignored, scope, size = self.axis.indexing.ignored, self.evidence.scope, self.axis.size
        if ignored is None:
            return False
        lo, hi = self.part.span.lo, self.part.span.hi
        is_past = (lo is not None and known_lt(ignored, lo, scope) is True) or (
            hi is not None and known_lt(hi, ignored, scope) is True
        )
        first = self.axis.indexing.first_defined(size)
        return not is_past and not (known_le(first, ignored, scope) is True and known_lt(ignored, size, scope) is True)

    def is_out(self) -> bool:
        """True when some element of the origin is out of bounds in every run that has one."""
        lo, hi = self.part.span.lo, self.part.span.hi
        return self._is_past(*((lo, hi) if self.part.exact else (hi, lo)))

    def is_all_out(self) -> bool:
        """True when every element of the origin is out of bounds."""
        return self._is_past(self.part.span.hi, self.part.span.lo)

    def _is_past(self, low: Dim | None, high: Dim | None) -> bool:
        """True when `low` is below the first index in bounds, or `high` above the last."""
        size, scope = self.axis.size, self.evidence.scope
        least = self.axis.indexing.lower_bound(size)
        return (
            size == 0
            or (low is not None and known_lt(low, least, scope) is True)
            or (high is not None and known_le(size, high, scope) is True)
        )

    def violated(self) -> _Finding:
        lo, hi = self.part.span.lo, self.part.span.hi
        return _Finding(Kind.VIOLATED, reason=self.violation(), index=lo if lo == hi else None)

    def violation(self) -> str:
        """The text of a violation."""
        size, (lo, hi) = self.axis.size, (self.part.span.lo, self.part.span.hi)
        if size == 0:
            if self.may_be_empty:
                return "every index is out of bounds where indices is not empty: the axis it addresses has length 0"
            return "indices is not empty, the axis it addresses has length 0"
        allowed = f"[{self.axis.indexing.first_defined(size)}, {size - 1}]"
        if lo is not None and lo == hi:
            return f"index {lo} is outside {allowed}"
        return f"indices in {_shown(self.part.span)} are outside {allowed}"

    def of_input(self, defined: Dim, is_above: bool, is_below: bool) -> _Finding:
        """The condition on the input elements x, for indices that are a monotone function of x."""
        part, scope = self.part, self.evidence.scope
        needed = demand(part, defined, self.axis.size - 1, scope, is_above=is_above, is_below=is_below)
        if needed is None:
            return _Finding(Kind.UNDECIDED, None, self.open_reason())
        if part.end is not None:
            needed = needed.of_low_end() if part.end.is_low else needed.of_high_end()
        column = self.axis.column if part.direct else part.column
        elements = Elements(part.input, column, part.whole)
        conditions = list(_sizes(map(self.written, needed.gaps), scope))
        if needed.first is not None:
            is_wrong = not self.axis.indexing.negative_note  # else it is unspecified, and may be in bounds
            conditions.append(Condition(elements, ">=", simplify(needed.first, scope), is_wrong))
        if needed.last is not None:
            conditions.append(Condition(elements, "<", simplify(needed.last + 1, scope)))
        shown = "its elements are the indices" if part.whole else "those of its elements that are read are indices"
        gaps = [self.written(gap) for gap in needed.gaps]
        is_low_exact = is_above or not gaps or not self.axis.indexing.negative_note
        is_exact = needed.is_exact and is_low_exact and self.is_needed(gaps) and not self.may_ignore()
        is_exact &= part.is_sure and (part.end is None or (part.end.is_there and part.is_certain))
        return self.finding(conditions, f"{shown}, {self.rows()}", is_exact=is_exact)

    def of_sizes(self, defined: Dim, is_above: bool, is_below: bool) -> _Finding:
        """The condition on sizes that both bounds of the value range are in bounds."""
        lo, hi = self.part.span.lo, self.part.span.hi
        gaps: list[Dim] = []
        if not is_above:
            if lo is None:
                return _Finding(Kind.UNDECIDED, None, self.open_reason())
            gaps.append(self.written(lo - defined))
        if not is_below:
            if hi is None:
                return _Finding(Kind.UNDECIDED, None, self.open_reason())
            gaps.append(self.written(self.axis.size - 1 - hi))
        is_low_exact = is_above or not self.axis.indexing.negative_note
        is_exact = self.part.exact and is_low_exact and self.is_needed(gaps) and not self.may_ignore()
        is_exact = is_exact or all(self.is_axis_empty(gap) for gap in gaps)
        conditions: list[Condition] = []
        for gap in gaps:
            counted = self.counted(gap)
            if counted is None:
                conditions += _sizes([gap], self.evidence.scope)
            else:
                conditions += counted.conditions
                is_exact &= counted.is_exact
        return self.finding(conditions, self.facts(), is_exact=is_exact)

    def is_axis_empty(self, gap: Dim) -> bool:
        """Whether the axis is empty where a gap is negative: then every index is out of bounds, whatever its value.

        Not used where the index may be empty: both are often empty together, which is legal.
        """
        if self.may_be_empty or self.axis.may_skip or self.axis.indexing.inserts or self.may_ignore():
            return False
        negative = self.evidence.scope.child()
        negative.require(-1 - gap)
        return known_le(self.axis.size, 0, negative) is True

    def counted(self, gap: Dim) -> _Counted | None:
        """The condition that a gap is not negative, as one on input elements, where its only generated symbol is an
        extent.

        max(0, x) <= n  is  x <= n and 0 <= n
        """
        meanings, scope = self.evidence.symbol_origins, self.evidence.scope
        names = [name for name in free_symbols(gap) if name in self.evidence.causes]
        if len(names) != 1 or names[0] not in meanings:
            return None
        (name,) = names
        part = meanings[name]
        rest = substitute(gap, {name: 0})
        factor = rest - substitute(gap, {name: 1})
        if not isinstance(factor, int) or factor < 1 or gap != rest - factor * symbol(name):
            return None
        most = floordiv(rest, factor, scope)
        needed = demand(part, 0, most, scope, is_above=True, is_below=False)
        if needed is None:
            return None
        gaps = [g for g in (most, *needed.gaps) if known_le(0, g, scope) is not True]
        elements = Elements(part.input, part.column, part.whole)
        conditions = list(_sizes(map(self.written, gaps), scope))
        if needed.first is not None:
            conditions.append(Condition(elements, ">=", simplify(needed.first, scope)))
        if needed.last is not None:
            conditions.append(Condition(elements, "<", simplify(needed.last + 1, scope)))
        return _Counted(conditions, needed.is_exact and part.whole)

    def written(self, dim: Dim) -> Dim:
        """The dim with generated symbols replaced by equal expressions: a verdict is stated in the symbols of the
        inputs.
        """
        causes = self.evidence.causes
        for _ in range(MAX_WRITING):
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
        """True when no gap is negative in the runs where the origin has no elements, so the condition excludes no legal
        run.
        """
        needs, scope = self.part.needs, self.evidence.scope
        if needs is None:
            return not list(gaps)
        for dim in needs:
            empty = scope.child()
            empty.require(-dim)
            if not all(known_le(0, gap, empty) is True for gap in gaps):
                return False
        return True

    def finding(self, conditions: list[Condition], reason: str, *, is_exact: bool) -> _Finding:
        """The verdict with these conditions; `is_exact` when they are necessary too."""
        if NEVER in conditions:
            if is_exact and self.part.is_certain:
                return self.violated()
            return _Finding(Kind.UNDECIDED, None, self.open_reason())
        unknown = [self.evidence.causes[n] for n in _symbols(conditions) if n in self.evidence.causes]
        if unknown and is_exact:
            because = f"it depends on sizes that are not known: {unknown[0].reason} (node {unknown[0].node})"
            return _Finding(Kind.UNDECIDED, None, f"{because}; {self.facts()}")
        if unknown:
            return _Finding(Kind.UNDECIDED, None, self.open_reason())
        if not conditions:
            return _Finding(Kind.PROVED)
        if is_exact:
            return _Finding(Kind.CONDITIONAL, tuple(conditions), reason)
        loose = tuple(replace(condition, tight=False) for condition in conditions)
        return _Finding(Kind.CONDITIONAL, loose, self.open_reason())

    def open_reason(self) -> str:
        """The reason of an undecided verdict, or of one with conditions that are only sufficient."""
        return f"indices are computed from data; {self.facts()}"

    def facts(self) -> str:
        """The value range of the index and the length of the axis, as text."""
        lo, hi = self.part.span.lo, self.part.span.hi
        shown = f"index {lo}" if lo is not None and lo == hi else f"indices in {_shown(self.part.span)}"
        whole = [str(dtype) for dtype in (DType.INT32, DType.INT64) if INTEGER_RANGE[dtype] == (lo, hi)]
        shown = f"indices are any {whole[0]}" if whole else shown
        return f"{shown}, {self.rows()}"

    def rows(self) -> str:
        if self.axis.indexing.inserts:
            return f"up to {self.axis.size - 1} is in bounds"
        return f"the axis has {self.axis.size} {'row' if self.axis.size == 1 else 'rows'}"


def _sizes(gaps: Iterable[Dim], scope: Scope) -> Iterator[Condition]:
    """The conditions for all gaps to be nonnegative."""
    for gap in gaps:
        yield from at_least_zero(gap, scope)


def _shown(span: ValueRange) -> str:
    return f"[{'...' if span.lo is None else span.lo}, {'...' if span.hi is None else span.hi}]"


def _symbols(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        if not isinstance(condition.left, Elements):
            yield from sorted(free_symbols(condition.left))
        yield from sorted(free_symbols(condition.right))


def _combined(access: Access, found: list[_Finding], evidence: FactsBeforeAccess) -> Verdict:
    """One verdict for all origins of an index: violated if one is, else undecided if one is, else all conditions."""
    for finding in found:
        if finding.kind is Kind.VIOLATED:
            witness = () if finding.index is None else (("index", finding.index),)
            return Verdict(access, Kind.VIOLATED, witness=witness, reason=finding.reason)
    conditions: list[Condition] = []
    for finding in found:
        if finding.kind is Kind.UNDECIDED:
            return Verdict(access, Kind.UNDECIDED, reason=finding.reason)
        assert finding.conditions is not None, "only undecided origins lack conditions"
        conditions += finding.conditions
    stated = minimal(conditions, evidence.scope)
    if not stated:
        return Verdict(access, Kind.PROVED)
    if not all(condition.tight for condition in stated) and is_unmet(stated, evidence.scope):
        return Verdict(access, Kind.UNDECIDED, reason=next(f.reason for f in found if f.conditions))
    loose = next((f.reason for f in found if f.conditions and not all(c.tight for c in f.conditions)), "")
    reason = loose or next(f.reason for f in found if f.conditions)
    return Verdict(access, Kind.CONDITIONAL, stated, counterexample(stated, evidence.scope), reason)
