"""Provenance through Where (select), and the predicates on elements in its condition.

Predicates also refine the value range of `Where(x < 0, x + n, x)`. A rule cannot do that: it receives facts of three
tensors and does not know that all of them depend on x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gather_infer import value_ranges
from gather_infer.inference.provenance import monotonicity
from gather_infer.inference.provenance.origin import ElementPredicate, Origin, Provenance
from gather_infer.inference.provenance.transfer_context import (
    TransferContext,
    at_result_rank,
    refine_range,
    without_overflow,
)
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

PREDICATES: Final = _COMPARING.keys() | _JOINING | {"Not"}

MAX_PREDICATES: Final = 4
"""Maximal number of tensors for which a bool tensor records predicates."""


def record_predicates(context: TransferContext) -> None:
    """Record the bounds that the elements of a node's bool output imply for the elements of its operands."""
    node, tests = context.node, context.environment.element_predicates
    found: dict[str, ElementPredicate] = {}
    if node.op_type == "Not":
        found = {base: test.negated for base, test in tests.get(node.input[0], {}).items()}
    elif node.op_type in _JOINING:
        found = _joined_predicates(context, *(tests.get(name, {}) for name in node.input))
    else:
        for x, d, op_type in ((0, 1, node.op_type), (1, 0, _MIRRORED[node.op_type])):
            number, dtype = context.only_element(d), context.fact(x).dtype
            if number is not None and dtype is not None and dtype.is_integer:
                more, negated = _COMPARING[op_type]
                limit = number + more
                test = ElementPredicate(ValueRange(None, limit - 1), ValueRange(limit, None))
                if op_type == "Equal":
                    test = ElementPredicate(ValueRange(number, number), value_ranges.ANY)
                found = {node.input[x]: test.negated if negated else test}
                break
    if found and len(found) <= MAX_PREDICATES:
        tests[node.output[0]] = found


def _joined_predicates(
    context: TransferContext, a: Mapping[str, ElementPredicate], b: Mapping[str, ElementPredicate]
) -> dict[str, ElementPredicate]:
    """The predicates of And or Or, by bounded tensor, from the predicates `a` and `b` of its inputs.

    Or is the negated conjunction of the negated predicates (De Morgan).
    """
    is_or = context.node.op_type == "Or"
    nothing = ElementPredicate(value_ranges.ANY, value_ranges.ANY)
    found: dict[str, ElementPredicate] = {}
    for base in a.keys() | b.keys():
        one, other = a.get(base, nothing), b.get(base, nothing)
        one, other = (one.negated, other.negated) if is_or else (one, other)
        yes = value_ranges.meet(one.when_true, other.when_true, context.scope)
        test = ElementPredicate(yes, value_ranges.hull(one.when_false, other.when_false, scope=context.scope))
        found[base] = test.negated if is_or else test
    return found


def selected(context: TransferContext) -> Provenance | None:
    """Where: the origins of both branches.

    If the condition bounds a tensor from which a branch is computed, the value range of the branch is narrowed to the
    elements that the condition selects.
    """
    node, frame, scope = context.node, context.environment, context.scope
    tests = frame.element_predicates.get(node.input[0], {})
    always = context.fact(0).value_range
    branches = {ValueRange(0, 0): (2,), ValueRange(1, 1): (1,)}.get(always or value_ranges.ANY, (1, 2))
    used: dict[int, ValueRange] = {}
    whole: set[int] = set()
    for base, test in tests.items():
        value = frame.find(base)
        assert isinstance(value, SymbolicTensor), "predicates bound tensors"
        span = value_ranges.range_of(value, scope)
        for branch, given in ((1, test.when_true), (2, test.when_false)):
            if branch not in branches:
                continue
            half = value_ranges.meet(span, given, scope)
            narrow = _branch_range(context, branch, base, half)
            used[branch] = value_ranges.meet(used[branch], narrow, scope) if branch in used else narrow
            whole |= {branch} if _is_without_overflow(context, branch, base, half) else set()
    if used:
        refine_range(node.output[0], without_overflow(context, value_ranges.hull(*used.values(), scope=scope)), frame)
        wrapped = _wrapped_index(context, tests)
        if wrapped is not None:
            return wrapped
    parts: list[Origin] = []
    for branch in branches:
        own = context.origins(branch)
        for part in own:
            narrow = used.get(branch, part.value_range)
            narrow = narrow if len(own) == 1 else value_ranges.meet(part.value_range, narrow, scope)
            wraps = None if branch in whole else part.overflow_dtype
            parts.append(
                part.subset._replace(value_range=narrow, nonempty_if=None, exact=part.exact, overflow_dtype=wraps)
            )
    return Provenance(tuple(parts))


def _is_without_overflow(context: TransferContext, branch: int, base: str, domain: ValueRange) -> bool:
    """Whether the input `branch` is `base` plus an offset and cannot overflow for elements of `base` in `domain`."""
    offset, trace = context.offset_from(context.node.input[branch], base), context.environment.provenance_of(base)
    if offset is None or trace is None or any(part.overflow_dtype is not None for part in trace.origins):
        return False
    moved = value_ranges.add(domain, ValueRange(offset, offset), context.scope)
    return without_overflow(context, moved) == moved


def _branch_range(context: TransferContext, branch: int, base: str, domain: ValueRange) -> ValueRange:
    """The value range of the input `branch` at the positions where the element of `base` is in `domain`."""
    name, known = context.node.input[branch], value_ranges.range_of(context.fact(branch), context.scope)
    if name == base:
        return domain
    offset = context.offset_from(name, base)
    if offset is not None:
        moved = value_ranges.add(domain, ValueRange(offset, offset), context.scope)
        return moved if without_overflow(context, moved) == moved else known
    total = _sum_range(context, name, base, domain)
    if total is not None:
        return total
    function, value = context.environment.monotonicity.get(name), context.environment.find(base)
    if function is None or function.base != base:
        return known
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "monotone functions have an integer base"
    grown = monotonicity.image(function, domain, value.dtype, context.scope)
    return ValueRange(
        value_ranges.max_of(grown, known, context.scope).lo, value_ranges.min_of(grown, known, context.scope).hi
    )


def _sum_range(context: TransferContext, name: str, base: str, domain: ValueRange) -> ValueRange | None:
    """The value range of a sum or difference `name` of `base` and another tensor for elements of `base` in `domain`.

    None when `name` is no such sum, a bound is unknown, or the sum may overflow.
    """
    op_type, *operands = context.environment.sums.get(name, ("",))
    if base not in operands:
        return None
    given: list[ValueRange] = []
    for operand in operands:
        value = context.environment.find(operand)
        known = value_ranges.range_of(value, context.scope) if isinstance(value, SymbolicTensor) else value_ranges.ANY
        given.append(domain if operand == base else known)
    found = (value_ranges.add if op_type == "Add" else value_ranges.sub)(given[0], given[1], context.scope)
    return None if found.lo is None or found.hi is None or without_overflow(context, found) != found else found


def _wrapped_index(context: TransferContext, predicates: Mapping[str, ElementPredicate]) -> Provenance | None:
    """The provenance of `Where(x < 0, x + n, x)` for unmodified elements x of a graph input; None for other nodes."""
    below_zero, others = ValueRange(None, -1), ValueRange(0, None)
    for base, test in predicates.items():
        for below, above, told in ((1, 2, test), (2, 1, test.negated)):
            if told != ElementPredicate(below_zero, others) or context.node.input[above] != base:
                continue
            offset, trace = (
                context.offset_from(context.node.input[below], base),
                context.environment.provenance_of(base),
            )
            if offset is None or trace is None or any(not part.input or part.is_changed for part in trace.origins):
                continue
            result = context.environment.values[context.node.output[0]]
            assert isinstance(result, SymbolicTensor), "only tensors are tracked"
            span = value_ranges.range_of(result, context.scope)
            wrapped = Provenance(
                tuple(part._replace(negative_offset=offset, value_range=span) for part in trace.origins), trace.axis
            )
            return at_result_rank(context, wrapped, context.fact(above))
    return None
