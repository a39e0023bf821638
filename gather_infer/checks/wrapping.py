"""Integer overflow in index computations: an index that wraps around reads the wrong row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.checks.places import Places
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference import Access, Inference
from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import Dim, DimTooLarge, Expr, Interval, Scope, substitute, symbol
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value, ValueRange

NARROW: Final = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT4, DType.UINT4})
"""Types that ordinary sizes and ids overflow."""

_SUMS: Final = {"Add": value_ranges.add, "Sub": value_ranges.sub, "Mul": value_ranges.mul}


def wrapping_findings(inference: Inference, places: Places) -> Iterator[Diagnostic]:
    """A finding for each Cast, Add, Sub or Mul that contributes to an index and whose result may overflow."""
    by_graph: dict[GraphPath, list[Access]] = {}
    for access in inference.accesses:
        by_graph.setdefault(access.node.graph, []).append(access)
    for path, accesses in by_graph.items():
        facts = inference.scopes.get(path)
        if facts is not None:
            yield from _of_graph(path, accesses, facts, inference, places)


def _of_graph(
    path: GraphPath, accesses: Sequence[Access], facts: Mapping[str, Value], inference: Inference, places: Places
) -> Iterator[Diagnostic]:
    nodes = places.nodes(path)
    producers = {name: position for position, node in enumerate(nodes) for name in node.output if name}
    seen: set[int] = set()
    for access in sorted(accesses, key=_rows, reverse=True):  # the longest axis first: it allows the largest index
        pending = [access.indices]
        # backward slice of the index through integer tensors; each node is judged once
        while pending:
            position = producers.get(pending.pop())
            if position is None or position in seen:
                continue
            seen.add(position)
            node = nodes[position]
            integers = [name for name in node.input if _is_integer(facts.get(name))]
            pending += integers
            found = _wrapping(node, facts, inference.declared, _rows(access))
            if found is not None:
                message, severity = found
                where = places.node(path, position, f"output {node.output[0]}")
                reader = f"the index of {access.node} ({access.op_type}) is computed from it"
                yield diagnostic("GI321", message, where, detail=(reader,), severity=severity)


def _wrapping(node: NodeProto, facts: Mapping[str, Value], declared: Scope, rows: int) -> tuple[str, Severity] | None:
    """The message for a result that may overflow: a warning if it is proved or likely, else a note."""
    if plain_domain(node.domain) or not node.output:
        return None
    result = facts.get(node.output[0])
    if not isinstance(result, SymbolicTensor) or result.dtype not in INTEGER_RANGE:
        return None
    least, most = INTEGER_RANGE[result.dtype]
    operands = [facts.get(name) for name in node.input]
    if node.op_type == "Cast":
        span = _known_span(operands[0])
    elif node.op_type in _SUMS and len(operands) == 2:
        left, right = map(_known_span, operands)
        span = None if left is None or right is None else _SUMS[node.op_type](left, right, declared)
    else:
        return None
    found = None if span is None else _numbers(span, declared)
    if found is not None and found.lo is not None and found.hi is not None:
        if least <= found.lo and found.hi <= most:
            return None
        end = found.hi if found.hi > most else found.lo
        return (
            f"{end} is outside the range of {result.dtype}, [{least}, {most}], and wraps around",
            Severity.WARNING,
        )
    passed = None if span is None else _reached(span, declared)
    if passed is not None and passed > most:
        return (
            f"{passed} is outside the range of {result.dtype}, [{least}, {most}], and wraps around",
            Severity.WARNING,
        )
    if result.dtype not in NARROW or node.op_type != "Cast" or _fits(operands[0], least, most):
        return None
    past = f"the range of {result.dtype} is [{least}, {most}], other values wrap around"
    if rows > most + 1:
        return f"{past}; the indexed axis has {rows} rows", Severity.WARNING
    return past, Severity.NOTE


def _known_span(value: Value | None) -> ValueRange | None:
    """The value range of a tensor; None if only the element type bounds it."""
    if not isinstance(value, SymbolicTensor) or value.dtype not in INTEGER_RANGE:
        return None
    if value.values is None and value.value_range is None:
        return None
    return value_ranges.range_of(value)


def _numbers(span: ValueRange, declared: Scope) -> Interval:
    """The numeric bounds of a value range under the declared bounds of the symbols."""

    def ends(dim: Dim | None) -> Interval:
        return Interval(None, None) if dim is None else declared.bounds(dim)

    return Interval(ends(span.lo).lo, ends(span.hi).hi)


def _reached(span: ValueRange, declared: Scope) -> int | None:
    """A lower bound of the range's upper end if all symbols with a declared maximum are at their maximum."""
    if not isinstance(span.hi, Expr):
        return span.hi
    largest = {name: most for name in span.hi.symbols if (most := declared.bounds(symbol(name)).hi) is not None}
    if not largest:
        return None
    try:
        return declared.bounds(substitute(span.hi, largest)).lo
    except (ZeroDivisionError, DimTooLarge):
        return None


def _fits(value: Value | None, least: int, most: int) -> bool:
    """Whether the element type alone guarantees that all elements are in the range."""
    if not isinstance(value, SymbolicTensor) or value.dtype is None:
        return False
    if value.dtype not in INTEGER_RANGE:
        return value.dtype is DType.BOOL
    low, high = INTEGER_RANGE[value.dtype]
    return least <= low and high <= most


def _is_integer(value: Value | None) -> bool:
    return isinstance(value, SymbolicTensor) and value.dtype in INTEGER_RANGE


def _rows(access: Access) -> int:
    """The length of the indexed axis, 0 if it is symbolic or unknown."""
    size = None if access.addressing is None else access.addressing.size
    return size if isinstance(size, int) else 0
