"""Provenance of loop states: origins that hold before every iteration, by induction.

The first hypothesis is the provenance of the states before the loop. The interpreter runs the body under it. Origins
that the body adds to a state join the hypothesis, and an input that grows by the same amount each time becomes
`x + i*step`. The hypothesis is a fixed point when the origins of each new state are those that it gives for the next
iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gather_infer import value_ranges
from gather_infer.context import Context
from gather_infer.inference.bodies.induction import is_invariant
from gather_infer.inference.environment import Environment
from gather_infer.inference.lineage.trace import Part, Trace, part_of
from gather_infer.inference.lineage.visit import MAX_PARTS, sharpen
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_le, substitute
from gather_infer.tensor import SymbolicTensor, Value, ValueRange


@dataclass(slots=True)
class Carried:
    """The provenance of the states of one loop during the induction.

    names             the names of the states in the body
    results           the names of the next states in the body
    first             provenance before the loop, None where it is unknown
    hypothesis        provenance before each iteration
    body_environment  of the last trial
    is_first          the first trial has not been revised yet
    growing           states tried as linear in the iteration
    not_growing       states for which that failed
    """

    names: Sequence[str]
    results: Sequence[str]
    first: list[Trace | None]
    iteration: Expr
    context: Context
    now: list[Trace | None] = field(init=False)
    inner: Environment | None = None
    is_first: bool = True
    growing: set[int] = field(default_factory=set)
    other: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.now = list(self.first)

    @staticmethod
    def of(
        names: Sequence[str], results: Sequence[str], given: Sequence[str], states: Sequence[Value], iteration: Expr,
        context: Context, frame: Environment,
    ) -> Carried:  # fmt: skip
        """The provenance of states that a node passes under these names."""
        first = [_trace(name, state, frame, context.scope) for name, state in zip(given, states, strict=False)]
        first += [None] * (len(states) - len(first))  # states that are left out
        return Carried(names, results, first, iteration, context)

    def bind(self, inner: Environment) -> None:
        """Give the next trial of the body the provenance of the states, and the bounds that follow from it.

        The first trial uses only provenance from inputs: bounds that grow by 1 with each trial never reach a fixed
        point.
        """
        self.inner = inner
        for k, (name, trace) in enumerate(zip(self.names, self.now, strict=True)):
            value = inner.values.get(name)
            if trace is None or not isinstance(value, SymbolicTensor) or not _is_followed(value):
                self.now[k] = None
            elif self.is_first:
                if any(part.input for part in trace.parts):
                    inner.provenance[name] = trace
            else:
                inner.provenance[name] = trace
                sharpen(name, value_ranges.hull(*(part.span for part in trace.parts), scope=self.context.scope), inner)

    def restart(self) -> None:
        """Return to the first hypothesis: the last trial used states that do not hold."""
        self.now, self.is_first = list(self.first), True
        self.growing, self.other = set(), set()

    def forget(self) -> None:
        """Drop the provenance of all states."""
        self.first = [None for _ in self.first]
        self.now = list(self.first)

    def revise(self) -> bool:
        """True when the last trial confirmed the hypothesis; else it is replaced by a weaker one."""
        inner = self.inner
        assert inner is not None, "the body was interpreted under the hypothesis"
        revised = [self._next(k, trace, inner) for k, trace in enumerate(self.now)]
        was_told = not self.is_first or all(t is None or any(p.input for p in t.parts) for t in revised)
        stands = was_told and revised == self.now
        self.now, self.is_first = revised, False
        return stands

    def after(self, trips: Dim) -> list[Trace | None]:
        """The provenance after the loop."""
        at = {self.iteration.name: trips}
        found: list[Trace | None] = []
        for trace in self.now:
            parts = () if trace is None else tuple(map(_without_far, (p.dropped.substituted(at) for p in trace.parts)))
            if len(parts) > 1:
                parts = tuple(replace(part, is_sure=False) for part in parts)
            found.append(Trace(parts) if parts else None)
        return found

    def _next(self, number: int, trace: Trace | None, inner: Environment) -> Trace | None:
        """The next hypothesis of one state, or the present one where the body confirms it."""
        made, first = inner.find(self.results[number]), self.first[number]
        if trace is None or first is None or not isinstance(made, SymbolicTensor):
            return None
        found = _trace(self.results[number], made, inner, self.context.scope)
        if found is None or (found == trace and all(self._is_steady(part) for part in found.parts)):
            return found
        parts = list(trace.parts)
        for part in found.parts:
            if any(self._leads_to(now, part) for now in parts):
                continue
            if number in self.growing:
                self.growing.discard(number)
                self.other.add(number)
                return first
            grown = None if len(parts) > 1 or number in self.other else self._growing(parts[0], part)
            if grown is not None:
                self.growing.add(number)
                parts = [grown]
                continue
            later = self._later(part)
            if later is None:
                return None
            parts.append(replace(later, is_sure=False))
        if len(parts) > 1:
            parts = [replace(part.dropped, needs=None, exact=False) for part in parts]
        return Trace(tuple(parts), trace.axis if len(parts) == 1 else None) if len(parts) <= MAX_PARTS else None

    def _leads_to(self, now: Part, after: Part) -> bool:
        """Whether an origin after an iteration is the one that the hypothesis gives for the next iteration."""
        step = {self.iteration.name: self.iteration + 1}
        wanted, found = _alike(now).substituted(step), _alike(after)
        return replace(wanted, span=found.span) == found and _is_within(found.span, wanted.span, self.context.scope)

    def _growing(self, now: Part, after: Part) -> Part | None:
        """`x + i*step` for an x to which the iteration has added a step; None where it did something else."""
        growth = after.offset - now.offset
        like = replace(after, offset=now.offset, span=now.span, wraps=now.wraps, exact=now.exact, direct=now.direct)
        if not now.input or now.limits or growth == 0 or like != now:
            return None
        steady = (growth, *now.dims)
        if not all(is_invariant(dim, self.context, self.iteration) for dim in steady):
            return None
        offset = now.offset + self.iteration * growth
        if not value_ranges.cannot_wrap(offset):
            return None
        return replace(after, offset=offset, span=value_ranges.ANY, exact=False)

    def _later(self, part: Part) -> Part | None:
        """An origin that an iteration made, as the next one sees it; None where it depends on values of one iteration
        only.
        """
        part = part.substituted({self.iteration.name: self.iteration - 1})
        if not all(map(self._is_kept, part.dims)):
            return None
        lo, hi = (end if end is None or self._is_kept(end) else None for end in (part.span.lo, part.span.hi))
        return replace(part, span=ValueRange(lo, hi))

    def _is_kept(self, dim: Dim) -> bool:
        """Whether a dim is a function of the iteration number and loop-invariant symbols."""
        rest = substitute(dim, {self.iteration.name: 0})
        return is_invariant(rest, self.context, self.iteration)

    def _is_steady(self, part: Part) -> bool:
        """Whether all dims of an origin are loop-invariant."""
        dims = (*part.dims, *(end for end in (part.span.lo, part.span.hi) if end is not None))
        return all(is_invariant(dim, self.context, self.iteration) for dim in dims)


def _without_far(part: Part) -> Part:
    """The origin; where the sum of its offsets may overflow int64, one without bounds."""
    ends = [end for end in (part.span.lo, part.span.hi) if end is not None]
    return part if all(map(value_ranges.cannot_wrap, (*part.dims, *ends))) else Part(value_ranges.ANY, needs=part.needs)


def _alike(part: Part) -> Part:
    """The origin without the fields that describe how many of its elements there are."""
    return replace(part.dropped, needs=None, exact=False, is_sure=True)


def sliced(trace: Trace | None, iteration: str) -> Trace | None:
    """The provenance of a scan input's slices; each slice occurs in an iteration of its own."""
    if trace is None:
        return None
    alone = len(trace.parts) == 1
    each = iteration if alone and trace.parts[0].whole else ""
    return Trace(tuple(replace(p.dropped, needs=() if alone else None, each=each) for p in trace.parts))


def note_traces(traces: Sequence[Trace | None], outputs: Sequence[str], local: set[str], frame: Environment) -> None:
    """Record the provenance of final states where it has a meaning outside the body."""
    for name, trace in zip(outputs, traces, strict=True):
        if trace is None or not name or all(part.input == "" for part in trace.parts):
            continue
        dims = [dim for part in trace.parts for dim in (*part.dims, part.span.lo, part.span.hi) if dim is not None]
        if all(local.isdisjoint(free_symbols(dim)) for dim in dims):
            frame.provenance[name] = trace


def _is_followed(value: SymbolicTensor) -> bool:
    """True for integers that are not all known."""
    if value.dtype is None or not value.dtype.is_integer:
        return False
    return value.values is None or not value.values.size or None in value.values.flat


def _trace(name: str, value: Value, frame: Environment, scope: Scope) -> Trace | None:
    """The provenance of an integer tensor; where it is not tracked, the origin that its facts give."""
    if not isinstance(value, SymbolicTensor) or value.dtype is None or not value.dtype.is_integer:
        return None
    return frame.provenance_of(name) or Trace((part_of(value, scope),))


def _is_within(inner: ValueRange, outer: ValueRange, scope: Scope) -> bool:
    """Whether one value range is known to contain another one."""
    low = outer.lo is None or (inner.lo is not None and known_le(outer.lo, inner.lo, scope) is True)
    high = outer.hi is None or (inner.hi is not None and known_le(inner.hi, outer.hi, scope) is True)
    return low and high
