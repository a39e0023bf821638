"""Provenance of loop states: origins that hold before every iteration, by induction.

The first hypothesis is the provenance of the states before the loop. The interpreter infers the body under the
hypothesis. Origins that the body adds to a state are added to it, and an origin x that grows by the same amount in each
iteration becomes `x + i*step`. The hypothesis is a fixed point when the body maps the origins of iteration `i` to those
that the hypothesis gives for `i + 1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gather_infer import value_ranges
from gather_infer.context import Context
from gather_infer.inference.bodies.induction import is_invariant
from gather_infer.inference.environment import Environment
from gather_infer.inference.provenance.origin import Origin, Provenance, origin_of_facts
from gather_infer.inference.provenance.transfer_context import MAX_ORIGINS, refine_range
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_le, substitute
from gather_infer.tensor import SymbolicTensor, Value, ValueRange


@dataclass(slots=True)
class LoopCarriedProvenance:
    """The provenance of the states of one loop during the induction.

    names             names of the body's inputs that hold the states
    results           names of the body's outputs that hold the next states
    first             provenance of each state before the loop, None where it is unknown
    iteration         symbol of the iteration number
    hypothesis        provenance of each state before each iteration, None where it is unknown
    body_environment  environment of the body in the last trial
    is_first          whether the first hypothesis has not been revised yet
    growing           positions of states whose hypothesis is linear in the iteration number
    not_growing       positions of states for which a linear hypothesis failed
    """

    names: Sequence[str]
    results: Sequence[str]
    first: list[Provenance | None]
    iteration: Expr
    context: Context
    hypothesis: list[Provenance | None] = field(init=False)
    body_environment: Environment | None = None
    is_first: bool = True
    growing: set[int] = field(default_factory=set)
    not_growing: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.hypothesis = list(self.first)

    @staticmethod
    def of(
        names: Sequence[str], results: Sequence[str], arguments: Sequence[str], states: Sequence[Value],
        iteration: Expr, context: Context, environment: Environment,
    ) -> LoopCarriedProvenance:  # fmt: skip
        """The first hypothesis for a loop whose node passes the initial `states` under the names `arguments`."""
        first = [
            _provenance_of(name, state, environment, context.scope)
            for name, state in zip(arguments, states, strict=False)
        ]
        first += [None] * (len(states) - len(first))  # states that are left out
        return LoopCarriedProvenance(names, results, first, iteration, context)

    def bind(self, body_environment: Environment) -> None:
        """Bind the hypothesis, and the value ranges that follow from it, in the environment of the next trial.

        The first trial binds only provenance from inputs: bounds that grow by 1 with each trial never reach a fixed
        point.
        """
        self.body_environment = body_environment
        for k, (name, trace) in enumerate(zip(self.names, self.hypothesis, strict=True)):
            value = body_environment.values.get(name)
            if trace is None or not isinstance(value, SymbolicTensor) or not _is_tracked(value):
                self.hypothesis[k] = None
            elif self.is_first:
                if any(part.input for part in trace.origins):
                    body_environment.provenance[name] = trace
            else:
                body_environment.provenance[name] = trace
                refine_range(
                    name,
                    value_ranges.hull(*(part.value_range for part in trace.origins), scope=self.context.scope),
                    body_environment,
                )

    def restart(self) -> None:
        """Return to the first hypothesis, since the last trial refuted the hypothesis about the states."""
        self.hypothesis, self.is_first = list(self.first), True
        self.growing, self.not_growing = set(), set()

    def forget(self) -> None:
        """Drop the provenance of all states."""
        self.first = [None for _ in self.first]
        self.hypothesis = list(self.first)

    def revise(self) -> bool:
        """Return True when the last trial confirmed the hypothesis; else replace it by a weaker one."""
        inner = self.body_environment
        assert inner is not None, "the body was interpreted under the hypothesis"
        revised = [self._next(k, trace, inner) for k, trace in enumerate(self.hypothesis)]
        was_told = not self.is_first or all(t is None or any(p.input for p in t.origins) for t in revised)
        stands = was_told and revised == self.hypothesis
        self.hypothesis, self.is_first = revised, False
        return stands

    def after(self, trip_count: Dim) -> list[Provenance | None]:
        """The provenance of each state after the loop: the hypothesis at iteration number `trip_count`."""
        at = {self.iteration.name: trip_count}
        found: list[Provenance | None] = []
        for trace in self.hypothesis:
            parts = (
                ()
                if trace is None
                else tuple(map(_without_overflow, (p.subset.substituted(at) for p in trace.origins)))
            )
            if len(parts) > 1:
                parts = tuple(part._replace(is_definite=False) for part in parts)
            found.append(Provenance(parts) if parts else None)
        return found

    def _next(self, number: int, provenance: Provenance | None, body_environment: Environment) -> Provenance | None:
        """The next hypothesis about the state at position `number`, equal to `provenance` if the body confirms it."""
        made, first = body_environment.find(self.results[number]), self.first[number]
        if provenance is None or first is None or not isinstance(made, SymbolicTensor):
            return None
        found = _provenance_of(self.results[number], made, body_environment, self.context.scope)
        if found is None or (found == provenance and all(self._is_steady(part) for part in found.origins)):
            return found
        parts = list(provenance.origins)
        for part in found.origins:
            if any(self._leads_to(now, part) for now in parts):
                continue
            if number in self.growing:
                self.growing.discard(number)
                self.not_growing.add(number)
                return first
            grown = None if len(parts) > 1 or number in self.not_growing else self._growing(parts[0], part)
            if grown is not None:
                self.growing.add(number)
                parts = [grown]
                continue
            later = self._later(part)
            if later is None:
                return None
            parts.append(later._replace(is_definite=False))
        if len(parts) > 1:
            parts = [part.subset._replace(nonempty_if=None, exact=False) for part in parts]
        return (
            Provenance(tuple(parts), provenance.axis if len(parts) == 1 else None)
            if len(parts) <= MAX_ORIGINS
            else None
        )

    def _leads_to(self, now: Origin, after: Origin) -> bool:
        """Whether `after`, an origin after an iteration, is the origin `now` taken at the next iteration number."""
        step = {self.iteration.name: self.iteration + 1}
        wanted, found = _without_cardinality(now).substituted(step), _without_cardinality(after)
        return wanted._replace(value_range=found.value_range) == found and _is_within(
            found.value_range, wanted.value_range, self.context.scope
        )

    def _growing(self, now: Origin, after: Origin) -> Origin | None:
        """The origin `now + i*step` if `after` is `now` plus a loop-invariant step; None otherwise."""
        growth = after.offset - now.offset
        like = after._replace(
            offset=now.offset,
            value_range=now.value_range,
            overflow_dtype=now.overflow_dtype,
            exact=now.exact,
            direct=now.direct,
        )
        if not now.input or now.clamps or growth == 0 or like != now:
            return None
        steady = (growth, *now.dims)
        if not all(is_invariant(dim, self.context, self.iteration) for dim in steady):
            return None
        offset = now.offset + self.iteration * growth
        if not value_ranges.cannot_wrap(offset):
            return None
        return after._replace(offset=offset, value_range=value_ranges.ANY, exact=False)

    def _later(self, origin: Origin) -> Origin | None:
        """An origin made by iteration i - 1, in terms of i; None if it depends on symbols generated in the body."""
        origin = origin.substituted({self.iteration.name: self.iteration - 1})
        if not all(map(self._is_function_of_iteration, origin.dims)):
            return None
        lo, hi = (
            end if end is None or self._is_function_of_iteration(end) else None
            for end in (origin.value_range.lo, origin.value_range.hi)
        )
        return origin._replace(value_range=ValueRange(lo, hi))

    def _is_function_of_iteration(self, dim: Dim) -> bool:
        """Whether a dim is a function of the iteration number and loop-invariant symbols."""
        rest = substitute(dim, {self.iteration.name: 0})
        return is_invariant(rest, self.context, self.iteration)

    def _is_steady(self, origin: Origin) -> bool:
        """Whether all dims of an origin are loop-invariant."""
        dims = (*origin.dims, *(end for end in (origin.value_range.lo, origin.value_range.hi) if end is not None))
        return all(is_invariant(dim, self.context, self.iteration) for dim in dims)


def _without_overflow(origin: Origin) -> Origin:
    """`origin`, or an origin without bounds if its dims or bounds may overflow int64."""
    ends = [end for end in (origin.value_range.lo, origin.value_range.hi) if end is not None]
    return (
        origin
        if all(map(value_ranges.cannot_wrap, (*origin.dims, *ends)))
        else Origin(value_ranges.ANY, nonempty_if=origin.nonempty_if)
    )


def _without_cardinality(origin: Origin) -> Origin:
    """`origin` without the fields that describe how many elements have it."""
    return origin.subset._replace(nonempty_if=None, exact=False, is_definite=True)


def sliced_per_iteration(provenance: Provenance | None, iteration: str) -> Provenance | None:
    """The provenance of the slices of a scan input, of which each iteration reads a different one.

    iteration   name of the symbol for the iteration number
    """
    if provenance is None:
        return None
    alone = len(provenance.origins) == 1
    each = iteration if alone and provenance.origins[0].whole else ""
    return Provenance(
        tuple(p.subset._replace(nonempty_if=() if alone else None, slice_symbol=each) for p in provenance.origins)
    )


def record_provenance(
    provenances: Sequence[Provenance | None], outputs: Sequence[str], local: set[str], environment: Environment
) -> None:
    """Record the provenance of final states, except where it has symbols in `local` or no origin in an input."""
    for name, trace in zip(outputs, provenances, strict=True):
        if trace is None or not name or all(part.input == "" for part in trace.origins):
            continue
        dims = [
            dim
            for part in trace.origins
            for dim in (*part.dims, part.value_range.lo, part.value_range.hi)
            if dim is not None
        ]
        if all(local.isdisjoint(free_symbols(dim)) for dim in dims):
            environment.provenance[name] = trace


def _is_tracked(value: SymbolicTensor) -> bool:
    """True for an integer tensor whose elements are not all known."""
    if value.dtype is None or not value.dtype.is_integer:
        return False
    return value.values is None or not value.values.size or None in value.values.flat


def _provenance_of(name: str, value: Value, environment: Environment, scope: Scope) -> Provenance | None:
    """The recorded provenance of an integer tensor, else an origin with the bounds of its facts; None for others."""
    if not isinstance(value, SymbolicTensor) or value.dtype is None or not value.dtype.is_integer:
        return None
    return environment.provenance_of(name) or Provenance((origin_of_facts(value, scope),))


def _is_within(inner: ValueRange, outer: ValueRange, scope: Scope) -> bool:
    """Whether `outer` is known to contain `inner`."""
    low = outer.lo is None or (inner.lo is not None and known_le(outer.lo, inner.lo, scope) is True)
    high = outer.hi is None or (inner.hi is not None and known_le(inner.hi, outer.hi, scope) is True)
    return low and high
