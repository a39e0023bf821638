"""Traces through Where, and the tests that it chooses by.

They also sharpen the span of `Where(x < 0, x + n, x)`, which a rule cannot: it sees three tensors and not that they are
about the same one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gather_infer import spans
from gather_infer.inference.lineage import growth
from gather_infer.inference.lineage.trace import Part, Test, Trace
from gather_infer.inference.lineage.visit import Visit, fitting, ranked, sharpen
from gather_infer.tensor import Span, SymbolicTensor

_TESTS: Final = {
    # x < d and the like, for a tensor x and a number d: (the number is added to d, negated)
    "Less": (0, False),
    "LessOrEqual": (1, False),
    "Greater": (1, True),
    "GreaterOrEqual": (0, True),
}

_MIRRORED: Final = {
    "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
    "Greater": "Less",
    "GreaterOrEqual": "LessOrEqual",
}

TESTING: Final = _TESTS.keys() | {"Not"}


def noted(visit: Visit) -> None:
    node, out = visit.node, visit.node.output[0]
    if node.op_type == "Not":
        found = visit.frame.tests.get(node.input[0])
        if found is not None:
            visit.frame.tests[out] = replace(found, negated=not found.negated)
        return
    for x, d, op_type in ((0, 1, node.op_type), (1, 0, _MIRRORED[node.op_type])):
        number = visit.number(d)
        dtype = visit.tensor(x).dtype
        if number is not None and dtype is not None and dtype.is_integer:
            more, negated = _TESTS[op_type]
            visit.frame.tests[out] = Test(node.input[x], number + more, negated)
            return


def chosen(visit: Visit) -> Trace | None:
    """Where: the parts of both branches; under a test of the same tensor each sees the half that it is used for."""
    node, frame, scope = visit.node, visit.frame, visit.scope
    test = frame.tests.get(node.input[0])
    used: dict[int, Span] = {}
    whole: set[int] = set()
    if test is not None:
        base = frame.find(test.base)
        assert isinstance(base, SymbolicTensor), "tests are of tensors"
        span = spans.span_of(base, scope)
        below, above = (2, 1) if test.negated else (1, 2)
        halves = {
            below: Span(span.lo, spans.least(span, Span(test.limit - 1, test.limit - 1), scope).hi),
            above: Span(spans.most(span, Span(test.limit, test.limit), scope).lo, span.hi),
        }
        used = {branch: _half(visit, branch, test.base, half) for branch, half in halves.items()}
        whole = {branch for branch, half in halves.items() if _fits(visit, branch, test.base, half)}
        sharpen(node.output[0], fitting(visit, spans.hull(*used.values(), scope=scope)), frame)
        wrapped = _wrapped(visit, test, below, above)
        if wrapped is not None:
            return wrapped
    parts: list[Part] = []
    for branch in (1, 2):
        own = visit.parts(branch)
        for part in own:
            narrow = used.get(branch, part.span) if len(own) == 1 else part.span
            wraps = None if branch in whole else part.wraps
            parts.append(replace(part, span=narrow, needs=None, whole=False, direct=False, wraps=wraps))
    return Trace(tuple(parts))


def _fits(visit: Visit, branch: int, base: str, half: Span) -> bool:
    """Whether a branch is a shifted `base` that, where this is in `half`, never passes the ends of its type."""
    offset, trace = visit.shift(visit.node.input[branch], base), visit.frame.trace(base)
    if offset is None or trace is None or any(part.wraps is not None for part in trace.parts):
        return False
    moved = spans.add(half, Span(offset, offset), visit.scope)
    return fitting(visit, moved) == moved


def _half(visit: Visit, branch: int, base: str, half: Span) -> Span:
    """The span of a branch where `base` is in `half`."""
    name, known = visit.node.input[branch], spans.span_of(visit.tensor(branch), visit.scope)
    if name == base:
        return half
    offset = visit.shift(name, base)
    if offset is not None:
        moved = spans.add(half, Span(offset, offset), visit.scope)
        return moved if fitting(visit, moved) == moved else known
    total = _total(visit, name, base, half)
    if total is not None:
        return total
    function, value = visit.frame.growth.get(name), visit.frame.find(base)
    if function is None or function.base != base:
        return known
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "what grows does so with an integer tensor"
    grown = growth.grown(function, half, value.dtype, visit.scope)
    return Span(spans.most(grown, known, visit.scope).lo, spans.least(grown, known, visit.scope).hi)


def _total(visit: Visit, name: str, base: str, half: Span) -> Span | None:
    """The span of a sum or difference of `base` and another tensor where `base` is in `half`; None if it is open."""
    op_type, *operands = visit.frame.sums.get(name, ("",))
    if base not in operands:
        return None
    given: list[Span] = []
    for operand in operands:
        value = visit.frame.find(operand)
        known = spans.span_of(value, visit.scope) if isinstance(value, SymbolicTensor) else spans.ANY
        given.append(half if operand == base else known)
    found = (spans.add if op_type == "Add" else spans.sub)(given[0], given[1], visit.scope)
    return None if found.lo is None or found.hi is None or fitting(visit, found) != found else found


def _wrapped(visit: Visit, test: Test, below: int, above: int) -> Trace | None:
    """The trace of `Where(x < 0, x + n, x)` for an input x as it is."""
    names = visit.node.input
    offset, trace = visit.shift(names[below], test.base), visit.frame.trace(test.base)
    if test.limit != 0 or names[above] != test.base or offset is None or trace is None or len(trace.parts) != 1:
        return None
    part = trace.parts[0]
    if not part.input or part.offset != 0 or part.limits or part.wrap is not None or part.wraps is not None:
        return None
    result = visit.frame.values[visit.node.output[0]]
    assert isinstance(result, SymbolicTensor), "only tensors are followed"
    wrapped = Trace((replace(part, wrap=offset, span=spans.span_of(result, visit.scope)),))
    return ranked(visit, wrapped, visit.tensor(above))
