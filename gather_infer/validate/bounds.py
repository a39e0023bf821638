"""Whether every access by index stays in bounds, judged by facts and spans alone.

An index learns from itself: after a Gather by the constant 5 every legal run has an axis of 6 or more. A verdict
must not rest on that, nor on what nodes imply that come later, which may have learnt the same. So it rests on the
evidence that the first pass had when it came to the node: what is declared, and what the nodes before imply. In a run
that fails, the first node to fail is then never one whose access is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gather_infer.access import Addressing, Indexing
from gather_infer.inference import Access, Inference
from gather_infer.inference.lineage.trace import Part
from gather_infer.inference.result import Evidence
from gather_infer.spans import span_of
from gather_infer.symbolic import Dim, DimTooLarge, Expr, Scope, free_symbols, known_le, known_lt, simplify
from gather_infer.tensor import Span, SymbolicTensor
from gather_infer.validate.condition import Condition, Elements, at_least_zero, counterexample
from gather_infer.validate.verdict import Kind, Outside, Verdict


def verdicts(inference: Inference) -> tuple[Verdict, ...]:
    """A verdict for every access by index, in the order of `inference.accesses`.

    They hold under the assumptions that the inference lists.
    """
    return tuple(verdict(access) for access in inference.accesses)


def verdict(access: Access, *, allow_negative: bool = True) -> Verdict:
    """The verdict of one access.

    allow_negative   False takes a negative index for out of bounds, whatever the operator makes of it
    """
    evidence = access.evidence
    if evidence is None:
        return Verdict(access, Kind.UNDECIDED, reason="the node was not reached at first")
    axis = access.addressing
    outside = Outside.FAILS if axis is None else _outside(axis.indexing)
    indices = evidence.indices
    if isinstance(indices, SymbolicTensor) and indices.shape is not None and 0 in indices.shape:
        return Verdict(access, Kind.PROVED, reason="the index is empty", outside=outside)
    evidence = _where_nonempty(evidence)
    if evidence.scope.is_contradictory:
        return Verdict(access, Kind.PROVED, reason="no legal run reaches the node with an index", outside=outside)
    if axis is None:
        return Verdict(access, Kind.UNDECIDED, reason=_why_nothing_is_addressed(access), outside=outside)
    try:
        judged = axis if allow_negative else replace(axis, indexing=_from_front(axis.indexing))
        found = [_Judge(evidence, judged, part).run() for part in _parts(evidence, axis)]
    except DimTooLarge:
        return Verdict(access, Kind.UNDECIDED, reason="a size grew past the size limit", outside=outside)
    return replace(_combined(access, found, evidence), outside=outside)


def combined(found: Sequence[Verdict]) -> Verdict:
    """One verdict for all accesses of a node: a certain failure decides, then what is not known, then conditions."""
    order = (Kind.VIOLATED, Kind.UNDECIDED, Kind.CONDITIONAL, Kind.PROVED)
    worst = min(found, key=lambda each: order.index(each.kind))
    if worst.kind is not Kind.CONDITIONAL:
        return worst
    conditions = tuple(dict.fromkeys(c for each in found for c in each.conditions))
    return replace(worst, conditions=conditions)


def _where_nonempty(evidence: Evidence) -> Evidence:
    """The evidence in the runs where the index has an element: one without elements is in bounds."""
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


def _from_front(indexing: Indexing) -> Indexing:
    return replace(indexing, from_end=False, negative_note="")


def _outside(indexing: Indexing) -> Outside:
    if indexing.strict:
        return Outside.FAILS
    return Outside.UNDEFINED if indexing.fill is None else Outside.ZERO


def _why_nothing_is_addressed(access: Access) -> str:
    data = access.data_type
    if access.op_type == "GatherTree":
        return "GatherTree follows indices that its inputs hold"
    if not isinstance(data, SymbolicTensor) or data.shape is None:
        return "the rank of data is not known"
    return "the axes that are addressed are not known, or the node breaks its specification"


def _parts(evidence: Evidence, axis: Addressing) -> Iterator[Part]:
    """What the elements of the index that address this axis are."""
    for element in axis.elements:
        yield Part(Span(element, element), exact=True)
    if axis.complete:
        return
    indices, trace = evidence.indices, evidence.trace
    assert isinstance(indices, SymbolicTensor), "rules address by tensors only"
    if trace is None:
        yield Part(span_of(indices, evidence.scope), certain=not axis.elements)
        return
    if axis.column is not None and trace.axis is not None and trace.axis + 1 == indices.rank:
        yield trace.parts[axis.column]
        return
    alone = axis.columns == 1
    for part in trace.parts:
        if alone or not part.input or part.direct:
            yield part if alone or not part.exact else replace(part, exact=False, certain=False)
        else:  # which elements of the input address which axis is not known
            yield Part(part.span, certain=False)


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one part of an index does on one axis."""

    kind: Kind
    conditions: tuple[Condition, ...] = ()
    reason: str = ""
    index: Dim | None = None


@dataclass(frozen=True, slots=True)
class _Judge:
    evidence: Evidence
    axis: Addressing
    part: Part

    def run(self) -> _Finding:
        size, part = self.axis.size, self.part
        scope, indexing = self.evidence.scope, self.axis.indexing
        least = indexing.least(size)  # below it the index is out of bounds
        defined = -size if indexing.from_end and not indexing.negative_note else 0  # and from here on it is in bounds
        lo, hi = part.span.lo, part.span.hi
        is_above = lo is not None and known_le(defined, lo, scope) is True
        is_below = hi is not None and known_lt(hi, size, scope) is True
        if is_above and is_below:
            return _Finding(Kind.PROVED)
        if self.is_out(least):
            return _Finding(Kind.VIOLATED, reason=self.violation(), index=lo if lo == hi else None)
        if part.input:
            return self.of_input(defined, is_above, is_below)
        if part.exact and lo is not None and hi is not None:
            if indexing.negative_note and known_lt(lo, 0, scope) is True:
                return _Finding(Kind.UNDECIDED, reason=f"index {lo} is negative, {indexing.negative_note}")
            return self.of_sizes(defined, is_above, is_below)
        return _Finding(Kind.UNDECIDED, reason=self.open_reason(defined, is_above, is_below))

    def is_out(self, least: Dim) -> bool:
        """True when every run that has such an element goes out of bounds, and every run has one."""
        size, scope, (lo, hi) = self.axis.size, self.evidence.scope, (self.part.span.lo, self.part.span.hi)
        if not self.part.certain:
            return False
        if size == 0:
            return True
        below = lo if self.part.exact else hi
        above = hi if self.part.exact else lo
        return (below is not None and known_lt(below, least, scope) is True) or (
            above is not None and known_le(size, above, scope) is True
        )

    def violation(self) -> str:
        size, (lo, hi) = self.axis.size, (self.part.span.lo, self.part.span.hi)
        if size == 0:
            return "indices is not empty, the axis it addresses has length 0"
        allowed = f"[{-size if self.axis.indexing.from_end else 0}, {size - 1}]"
        if lo is not None and lo == hi:
            return f"index {lo} is outside {allowed}"
        return f"indices in {_shown(self.part.span)} are outside {allowed}"

    def of_input(self, defined: Dim, is_above: bool, is_below: bool) -> _Finding:
        """The condition on the input's elements x, for indices that are a monotone function of x."""
        part, size, scope = self.part, self.axis.size, self.evidence.scope
        # max(x, low) < s is x < s and low < s; but min(x, high) < s is x < s or high < s, so that must be settled.
        gaps: list[Dim] = [size - 1 - low for low in part.lows if known_lt(low, size, scope) is not True]
        gaps += [high - defined for high in part.highs if known_le(defined, high, scope) is not True]
        tight = is_below or all(known_le(size - 1, high, scope) is True for high in part.highs)
        tight &= is_above or all(known_le(low, defined, scope) is True for low in part.lows)
        if part.wrap is not None:  # x + wrap for x < 0 must not pass the end, or x is limited on both sides of 0
            tight &= known_le(part.wrap, size, scope) is True and known_le(0, part.wrap, scope) is True
        if not tight:
            return _Finding(Kind.UNDECIDED, reason=self.open_reason(defined, is_above, is_below))
        elements = Elements(part.input, self.axis.column if part.direct else None, part.whole)
        conditions = list(_sizes(gaps, scope))
        if not is_above:
            first = defined - part.offset - (0 if part.wrap is None else part.wrap)
            conditions.append(Condition(elements, ">=", simplify(first, scope)))
        if not is_below:
            conditions.append(Condition(elements, "<", simplify(size - part.offset, scope)))
        shown = "its elements are the indices" if part.whole else "those of its elements that are read are indices"
        return _Finding(Kind.CONDITIONAL, tuple(conditions), f"{shown}, {self.rows()}")

    def of_sizes(self, defined: Dim, is_above: bool, is_below: bool) -> _Finding:
        """The condition on sizes, for ends that are elements of the index."""
        conditions = self.sufficient(defined, is_above, is_below)
        unknown = [self.evidence.causes[n] for n in _symbols(conditions) if n in self.evidence.causes]
        if unknown:
            reason = f"it depends on sizes that are not known: {unknown[0].reason} (node {unknown[0].node})"
            return _Finding(Kind.UNDECIDED, reason=f"{reason}; {self.facts()}")
        return _Finding(Kind.CONDITIONAL, tuple(conditions), self.facts())

    def sufficient(self, defined: Dim, is_above: bool, is_below: bool) -> list[Condition]:
        """What makes both ends of the span be in bounds."""
        lo, hi, scope = self.part.span.lo, self.part.span.hi, self.evidence.scope
        assert lo is not None and hi is not None, "asked for closed spans only"
        gaps: list[Dim] = []
        if not is_above:
            gaps.append(lo - defined)
        if not is_below:
            gaps.append(self.axis.size - 1 - hi)
        return list(_sizes(gaps, scope))

    def open_reason(self, defined: Dim, is_above: bool, is_below: bool) -> str:
        reason = f"indices are computed from data; {self.facts()}"
        if self.part.span.lo is None or self.part.span.hi is None:
            return reason
        conditions = self.sufficient(defined, is_above, is_below)
        if conditions and not any(n in self.evidence.causes for n in _symbols(conditions)):
            return f"{reason}; surely in bounds for {' and '.join(map(str, conditions))}"
        return reason

    def facts(self) -> str:
        lo, hi = self.part.span.lo, self.part.span.hi
        shown = f"index {lo}" if lo is not None and lo == hi else f"indices in {_shown(self.part.span)}"
        return f"{shown}, {self.rows()}"

    def rows(self) -> str:
        return f"the axis has {self.axis.size} {'row' if self.axis.size == 1 else 'rows'}"


def _sizes(gaps: Iterable[Dim], scope: Scope) -> Iterator[Condition]:
    """The conditions that say that no gap is negative."""
    for gap in gaps:
        if isinstance(gap, Expr):
            yield from at_least_zero(gap, scope)


def _shown(span: Span) -> str:
    return f"[{'...' if span.lo is None else span.lo}, {'...' if span.hi is None else span.hi}]"


def _symbols(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        if not isinstance(condition.left, Elements):
            yield from sorted(free_symbols(condition.left))
        yield from sorted(free_symbols(condition.right))


def _combined(access: Access, found: list[_Finding], evidence: Evidence) -> Verdict:
    """One verdict for all parts of an index: a certain failure decides, then what is not known."""
    for finding in found:
        if finding.kind is Kind.VIOLATED:
            witness = () if finding.index is None else (("index", finding.index),)
            return Verdict(access, Kind.VIOLATED, witness=witness, reason=finding.reason)
    for finding in found:
        if finding.kind is Kind.UNDECIDED:
            return Verdict(access, Kind.UNDECIDED, reason=finding.reason)
    conditions = tuple(dict.fromkeys(c for finding in found for c in finding.conditions))
    if not conditions:
        return Verdict(access, Kind.PROVED)
    reason = next(f.reason for f in found if f.conditions)
    return Verdict(access, Kind.CONDITIONAL, conditions, counterexample(conditions, evidence.scope), reason)
