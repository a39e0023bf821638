"""Provenance through Where (select), and the branch predicates that it selects by.

Predicates also refine the value range of `Where(x < 0, x + n, x)`. A rule cannot do that: it sees three tensors and not
that they all depend on x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gather_infer import value_ranges
from gather_infer.inference.lineage import growth
from gather_infer.inference.lineage.trace import Part, Test, Trace
from gather_infer.inference.lineage.visit import Visit, fitting, ranked, sharpen
from gather_infer.tensor import SymbolicTensor, ValueRange

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
    node, tests = visit.node, visit.frame.element_predicates
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
                test = Test(ValueRange(None, limit - 1), ValueRange(limit, None))
                if op_type == "Equal":
                    test = Test(ValueRange(number, number), value_ranges.ANY)
                found = {node.input[x]: test.negated if negated else test}
                break
    if found and len(found) <= MAX_TESTED:
        tests[node.output[0]] = found


def _joined(visit: Visit, a: Mapping[str, Test], b: Mapping[str, Test]) -> dict[str, Test]:
    """The conjunction of two predicates; Or is the negated conjunction of the negated ones (De Morgan)."""
    is_or = visit.node.op_type == "Or"
    nothing = Test(value_ranges.ANY, value_ranges.ANY)
    found: dict[str, Test] = {}
    for base in a.keys() | b.keys():
        one, other = a.get(base, nothing), b.get(base, nothing)
        one, other = (one.negated, other.negated) if is_or else (one, other)
        yes = value_ranges.meet(one.yes, other.yes, visit.scope)
        test = Test(yes, value_ranges.hull(one.no, other.no, scope=visit.scope))
        found[base] = test.negated if is_or else test
    return found


def chosen(visit: Visit) -> Trace | None:
    """Where: the origins of both branches. Under a predicate on the same tensor each branch has the range that it is
    used for.
    """
    node, frame, scope = visit.node, visit.frame, visit.scope
    tests = frame.element_predicates.get(node.input[0], {})
    always = visit.tensor(0).value_range
    branches = {ValueRange(0, 0): (2,), ValueRange(1, 1): (1,)}.get(always or value_ranges.ANY, (1, 2))
    used: dict[int, ValueRange] = {}
    whole: set[int] = set()
    for base, test in tests.items():
        value = frame.find(base)
        assert isinstance(value, SymbolicTensor), "predicates bound tensors"
        span = value_ranges.range_of(value, scope)
        for branch, given in ((1, test.yes), (2, test.no)):
            if branch not in branches:
                continue
            half = value_ranges.meet(span, given, scope)
            narrow = _half(visit, branch, base, half)
            used[branch] = value_ranges.meet(used[branch], narrow, scope) if branch in used else narrow
            whole |= {branch} if _fits(visit, branch, base, half) else set()
    if used:
        sharpen(node.output[0], fitting(visit, value_ranges.hull(*used.values(), scope=scope)), frame)
        wrapped = _wrapped(visit, tests)
        if wrapped is not None:
            return wrapped
    parts: list[Part] = []
    for branch in branches:
        own = visit.parts(branch)
        for part in own:
            narrow = used.get(branch, part.span)
            narrow = narrow if len(own) == 1 else value_ranges.meet(part.span, narrow, scope)
            wraps = None if branch in whole else part.wraps
            parts.append(replace(part.dropped, span=narrow, needs=None, exact=part.exact, wraps=wraps))
    return Trace(tuple(parts))


def _fits(visit: Visit, branch: int, base: str, half: ValueRange) -> bool:
    """Whether a branch is `base` plus an offset that cannot overflow where `base` is in `domain`."""
    offset, trace = visit.shift(visit.node.input[branch], base), visit.frame.provenance_of(base)
    if offset is None or trace is None or any(part.wraps is not None for part in trace.parts):
        return False
    moved = value_ranges.add(half, ValueRange(offset, offset), visit.scope)
    return fitting(visit, moved) == moved


def _half(visit: Visit, branch: int, base: str, half: ValueRange) -> ValueRange:
    """The value range of a branch where `base` is in `domain`."""
    name, known = visit.node.input[branch], value_ranges.range_of(visit.tensor(branch), visit.scope)
    if name == base:
        return half
    offset = visit.shift(name, base)
    if offset is not None:
        moved = value_ranges.add(half, ValueRange(offset, offset), visit.scope)
        return moved if fitting(visit, moved) == moved else known
    total = _total(visit, name, base, half)
    if total is not None:
        return total
    function, value = visit.frame.monotonicity.get(name), visit.frame.find(base)
    if function is None or function.base != base:
        return known
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "monotone functions have an integer base"
    grown = growth.grown(function, half, value.dtype, visit.scope)
    return ValueRange(
        value_ranges.max_of(grown, known, visit.scope).lo, value_ranges.min_of(grown, known, visit.scope).hi
    )


def _total(visit: Visit, name: str, base: str, half: ValueRange) -> ValueRange | None:
    """The value range of `base` plus or minus another tensor where `base` is in `domain`; None if it is open."""
    op_type, *operands = visit.frame.sums.get(name, ("",))
    if base not in operands:
        return None
    given: list[ValueRange] = []
    for operand in operands:
        value = visit.frame.find(operand)
        known = value_ranges.range_of(value, visit.scope) if isinstance(value, SymbolicTensor) else value_ranges.ANY
        given.append(half if operand == base else known)
    found = (value_ranges.add if op_type == "Add" else value_ranges.sub)(given[0], given[1], visit.scope)
    return None if found.lo is None or found.hi is None or fitting(visit, found) != found else found


def _wrapped(visit: Visit, tests: Mapping[str, Test]) -> Trace | None:
    """The provenance of `Where(x < 0, x + n, x)` for an unmodified input x."""
    below_zero, others = ValueRange(None, -1), ValueRange(0, None)
    for base, test in tests.items():
        for below, above, told in ((1, 2, test), (2, 1, test.negated)):
            if told != Test(below_zero, others) or visit.node.input[above] != base:
                continue
            offset, trace = visit.shift(visit.node.input[below], base), visit.frame.provenance_of(base)
            if offset is None or trace is None or any(not part.input or part.is_changed for part in trace.parts):
                continue
            result = visit.frame.values[visit.node.output[0]]
            assert isinstance(result, SymbolicTensor), "only tensors are tracked"
            span = value_ranges.range_of(result, visit.scope)
            wrapped = Trace(tuple(replace(part, wrap=offset, span=span) for part in trace.parts), trace.axis)
            return ranked(visit, wrapped, visit.tensor(above))
    return None
