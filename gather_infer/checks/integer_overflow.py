"""Integer overflow in index computations: an index that wraps around reads the wrong row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gather_infer import value_ranges
from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.inference import Access, Inference
from gather_infer.ir import Node
from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import Dim, DimTooLarge, Expr, Interval, Scope, substitute, symbol
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value, ValueRange

NARROW: Final = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT4, DType.UINT4})
"""Integer types whose range ordinary sizes and token ids exceed."""

_ARITHMETIC: Final = {"Add": value_ranges.add, "Sub": value_ranges.sub, "Mul": value_ranges.mul}


def overflow_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each Cast, Add, Sub or Mul that contributes to an index and whose result may overflow."""
    by_graph: dict[GraphPath, list[Access]] = {}
    for access in inference.accesses:
        by_graph.setdefault(access.node.graph, []).append(access)
    for path, accesses in by_graph.items():
        facts = inference.scopes.get(path)
        if facts is not None:
            yield from _graph_findings(path, accesses, facts, inference, locations)


def _graph_findings(
    path: GraphPath,
    accesses: Sequence[Access],
    facts: Mapping[str, Value],
    inference: Inference,
    locations: NodeLocations,
) -> Iterator[Diagnostic]:
    nodes = locations.nodes(path)
    seen: set[int] = set()
    for access in sorted(
        accesses, key=_axis_length, reverse=True
    ):  # the longest axis first: it allows the largest index
        pending = [access.indices]
        # backward slice of the index through integer tensors; each node is judged once
        while pending:
            position = locations.producer(path, pending.pop())
            if position is None or position in seen:
                continue
            seen.add(position)
            node = nodes[position]
            integers = [name for name in node.inputs if _is_integer(facts.get(name))]
            pending += integers
            found = _overflow(node, facts, inference.declared, _axis_length(access))
            if found is not None:
                message, severity = found
                where = locations.location(path, position, f"output {node.outputs[0]}")
                reader = f"the index of {access.node} ({access.op_type}) is computed from it"
                yield diagnostic("GI321", message, where, detail=(reader,), severity=severity)


def _overflow(node: Node, facts: Mapping[str, Value], declared: Scope, rows: int) -> tuple[str, Severity] | None:
    """The message and severity if the result of `node` may overflow; None if it fits or the operator is another one.

    The severity is a warning if the overflow is proved or likely, else a note.

    declared   scope with the declared bounds of the symbols
    rows       length of the indexed axis; 0 if it is symbolic or unknown
    """
    if node.domain or not node.outputs:
        return None
    result = facts.get(node.outputs[0])
    if not isinstance(result, SymbolicTensor) or result.dtype not in INTEGER_RANGE:
        return None
    lower, upper = INTEGER_RANGE[result.dtype]
    operands = [facts.get(name) for name in node.inputs]
    if node.op_type == "Cast":
        value_range = _known_range(operands[0])
    elif node.op_type in _ARITHMETIC and len(operands) == 2:
        left, right = map(_known_range, operands)
        value_range = None if left is None or right is None else _ARITHMETIC[node.op_type](left, right, declared)
    else:
        return None
    found = None if value_range is None else _numeric_bounds(value_range, declared)
    if found is not None and found.lo is not None and found.hi is not None:
        if lower <= found.lo and found.hi <= upper:
            return None
        end = found.hi if found.hi > upper else found.lo
        return (
            f"{end} is outside the range of {result.dtype}, [{lower}, {upper}], and wraps around",
            Severity.WARNING,
        )
    attained = None if value_range is None else _attained_upper_bound(value_range, declared)
    if attained is not None and attained > upper:
        return (
            f"{attained} is outside the range of {result.dtype}, [{lower}, {upper}], and wraps around",
            Severity.WARNING,
        )
    if result.dtype not in NARROW or node.op_type != "Cast" or _fits(operands[0], lower, upper):
        return None
    past = f"the range of {result.dtype} is [{lower}, {upper}], other values wrap around"
    if rows > upper + 1:
        return f"{past}; the indexed axis has {rows} rows", Severity.WARNING
    return past, Severity.NOTE


def _known_range(value: Value | None) -> ValueRange | None:
    """The value range of an integer tensor; None for other values, or if only the element type bounds the elements."""
    if not isinstance(value, SymbolicTensor) or value.dtype not in INTEGER_RANGE:
        return None
    if value.values is None and value.value_range is None:
        return None
    return value_ranges.range_of(value)


def _numeric_bounds(value_range: ValueRange, declared: Scope) -> Interval:
    """The numeric bounds of a value range under the declared bounds of the symbols; None where there is no bound."""

    def ends(dim: Dim | None) -> Interval:
        return Interval(None, None) if dim is None else declared.bounds(dim)

    return Interval(ends(value_range.lo).lo, ends(value_range.hi).hi)


def _attained_upper_bound(value_range: ValueRange, declared: Scope) -> int | None:
    """A lower bound of `value_range.hi` when each symbol with a declared maximum has this maximum; None if unknown."""
    if not isinstance(value_range.hi, Expr):
        return value_range.hi
    largest = {name: most for name in value_range.hi.symbols if (most := declared.bounds(symbol(name)).hi) is not None}
    if not largest:
        return None
    try:
        return declared.bounds(substitute(value_range.hi, largest)).lo
    except (ZeroDivisionError, DimTooLarge):
        return None


def _fits(value: Value | None, lower: int, upper: int) -> bool:
    """Whether the element type of `value` alone guarantees that all elements are in [lower, upper]."""
    if not isinstance(value, SymbolicTensor) or value.dtype is None:
        return False
    if value.dtype not in INTEGER_RANGE:
        return value.dtype is DType.BOOL
    low, high = INTEGER_RANGE[value.dtype]
    return lower <= low and high <= upper


def _is_integer(value: Value | None) -> bool:
    return isinstance(value, SymbolicTensor) and value.dtype in INTEGER_RANGE


def _axis_length(access: Access) -> int:
    """The length of the indexed axis, 0 if it is symbolic or unknown."""
    size = None if access.addressing is None else access.addressing.size
    return size if isinstance(size, int) else 0
