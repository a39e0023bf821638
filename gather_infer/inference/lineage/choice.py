"""Provenance through Where (select), and the branch predicates that it selects by.

Predicates also refine the value range of `Where(x < 0, x + n, x)`. A rule cannot do that: it sees three tensors and not
that they all depend on x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gather_infer import spans
from gather_infer.inference.lineage import growth
from gather_infer.inference.lineage.trace import Part, Test, Trace
from gather_infer.inference.lineage.visit import Visit, fitting, ranked, sharpen
from gather_infer.tensor import Span, SymbolicTensor

_COMPARING: Final = {
    # comparison of a tensor x with a number d, as a negated or plain x < d + more: (more, is negated)
    "Less": (0, False),
    "LessOrEqual": (1, False),
    "Greater": (1, True),
    "GreaterOrEqual": (0, True),
    "Equal": (0, False),
}

_MIRRORED: Final = {
    "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
    "Greater": "Less",
    "GreaterOrEqual": "LessOrEqual",
    "Equal": "Equal",
}

_JOINING: Final = frozenset({"And", "Or"})

TESTING: Final = _COMPARING.keys() | _JOINING | {"Not"}

MAX_TESTED: Final = 4
"""Tensors that one bool may bound."""


def noted(visit: Visit) -> None:
    """Record the bounds that a bool implies for its operands."""
    node, tests = visit.node, visit.frame.tests
    found: dict[str, Test] = {}
    if node.op_type == "Not":
        found = {base: test.negated for base, test in tests.get(node.input[0], {}).items()}
    elif node.op_type in _JOINING:
        found = _joined(visit, *(tests.get(name, {}) for name in node.input))
    else:
        for x, d, op_type in ((0, 1, node.op_type), (1, 0, _MIRRORED[node.op_type])):
            number, dtype = visit.number(d), visit.tensor(x).dtype
            if number is not None and dtype is not None and dtype.is_integer:
                more, negated = _COMPARING[op_type]
                limit = number + more
                test = Test(Span(None, limit - 1), Span(limit, None))
                if op_type == "Equal":
                    test = Test(Span(number, number), spans.ANY)
                found = {node.input[x]: test.negated if negated else test}
                break
    if found and len(found) <= MAX_TESTED:
        tests[node.output[0]] = found


def _joined(visit: Visit, a: Mapping[str, Test], b: Mapping[str, Test]) -> dict[str, Test]:
    """The conjunction of two predicates; Or is the negated conjunction of the negated ones (De Morgan)."""
    is_or = visit.node.op_type == "Or"
    nothing = Test(spans.ANY, spans.ANY)
    found: dict[str, Test] = {}
    for base in a.keys() | b.keys():
        one, other = a.get(base, nothing), b.get(base, nothing)
        one, other = (one.negated, other.negated) if is_or else (one, other)
        yes = spans.both(one.yes, other.yes, visit.scope)
        test = Test(yes, spans.hull(one.no, other.no, scope=visit.scope))
        found[base] = test.negated if is_or else test
    return found


def chosen(visit: Visit) -> Trace | None:
    """Where: the origins of both branches. Under a predicate on the same tensor each branch has the range that it is
    used for.
    """
    node, frame, scope = visit.node, visit.frame, visit.scope
    tests = frame.tests.get(node.input[0], {})
    always = visit.tensor(0).span
    branches = {Span(0, 0): (2,), Span(1, 1): (1,)}.get(always or spans.ANY, (1, 2))
    used: dict[int, Span] = {}
    whole: set[int] = set()
    for base, test in tests.items():
        value = frame.find(base)
        assert isinstance(value, SymbolicTensor), "predicates bound tensors"
        span = spans.span_of(value, scope)
        for branch, given in ((1, test.yes), (2, test.no)):
            if branch not in branches:
                continue
            half = spans.both(span, given, scope)
            narrow = _half(visit, branch, base, half)
            used[branch] = spans.both(used[branch], narrow, scope) if branch in used else narrow
            whole |= {branch} if _fits(visit, branch, base, half) else set()
    if used:
        sharpen(node.output[0], fitting(visit, spans.hull(*used.values(), scope=scope)), frame)
        wrapped = _wrapped(visit, tests)
        if wrapped is not None:
            return wrapped
    parts: list[Part] = []
    for branch in branches:
        own = visit.parts(branch)
        for part in own:
            narrow = used.get(branch, part.span)
            narrow = narrow if len(own) == 1 else spans.both(part.span, narrow, scope)
            wraps = None if branch in whole else part.wraps
            parts.append(replace(part.dropped, span=narrow, needs=None, exact=part.exact, wraps=wraps))
    return Trace(tuple(parts))


def _fits(visit: Visit, branch: int, base: str, half: Span) -> bool:
    """Whether a branch is `base` plus an offset that cannot overflow where `base` is in `domain`."""
    offset, trace = visit.shift(visit.node.input[branch], base), visit.frame.trace(base)
    if offset is None or trace is None or any(part.wraps is not None for part in trace.parts):
        return False
    moved = spans.add(half, Span(offset, offset), visit.scope)
    return fitting(visit, moved) == moved


def _half(visit: Visit, branch: int, base: str, half: Span) -> Span:
    """The value range of a branch where `base` is in `domain`."""
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
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "monotone functions have an integer base"
    grown = growth.grown(function, half, value.dtype, visit.scope)
    return Span(spans.most(grown, known, visit.scope).lo, spans.least(grown, known, visit.scope).hi)


def _total(visit: Visit, name: str, base: str, half: Span) -> Span | None:
    """The value range of `base` plus or minus another tensor where `base` is in `domain`; None if it is open."""
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


def _wrapped(visit: Visit, tests: Mapping[str, Test]) -> Trace | None:
    """The provenance of `Where(x < 0, x + n, x)` for an unmodified input x."""
    below_zero, others = Span(None, -1), Span(0, None)
    for base, test in tests.items():
        for below, above, told in ((1, 2, test), (2, 1, test.negated)):
            if told != Test(below_zero, others) or visit.node.input[above] != base:
                continue
            offset, trace = visit.shift(visit.node.input[below], base), visit.frame.trace(base)
            if offset is None or trace is None or any(not part.input or part.is_changed for part in trace.parts):
                continue
            result = visit.frame.values[visit.node.output[0]]
            assert isinstance(result, SymbolicTensor), "only tensors are tracked"
            span = spans.span_of(result, visit.scope)
            wrapped = Trace(tuple(replace(part, wrap=offset, span=span) for part in trace.parts), trace.axis)
            return ranked(visit, wrapped, visit.tensor(above))
    return None
