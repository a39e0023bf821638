"""Integers on their way to an index that do not fit their element type: they wrap around, and read the wrong row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from onnx import NodeProto

from gather_infer import spans
from gather_infer.checks.places import Places
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference import Access, Inference
from gather_infer.places import GraphPath
from gather_infer.symbolic import Dim, DimTooLarge, Expr, Interval, Scope, substitute, symbol
from gather_infer.tensor import INTEGER_RANGE, DType, Span, SymbolicTensor, Value

NARROW: Final = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT4, DType.UINT4})
"""Types that ordinary sizes and ids pass the end of."""

_SUMS: Final = {"Add": spans.add, "Sub": spans.sub, "Mul": spans.mul}


def wrapping_findings(inference: Inference, places: Places) -> Iterator[Diagnostic]:
    """A finding for each Cast or sum whose result may pass the end of its type on its way to an index."""
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
    for access in sorted(
        accesses, key=_rows, reverse=True
    ):  # the longest axis says most of what an index may have to be
        pending = [access.indices]
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
                reader = f"the index of {access.node} ({access.op_type}) is made of it"
                yield diagnostic("GI321", message, where, detail=(reader,), severity=severity)


def _wrapping(node: NodeProto, facts: Mapping[str, Value], declared: Scope, rows: int) -> tuple[str, Severity] | None:
    """What may not fit, and whether it surely does not (a warning) or nobody knows (a note)."""
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
            f"{end} does not fit {result.dtype}, which goes from {least} to {most}: it wraps around",
            Severity.WARNING,
        )
    passed = None if span is None else _reached(span, declared)
    if passed is not None and passed > most:
        return (
            f"{passed} does not fit {result.dtype}, which goes from {least} to {most}: it wraps around",
            Severity.WARNING,
        )
    if result.dtype not in NARROW or node.op_type != "Cast" or _fits(operands[0], least, most):
        return None
    past = f"{result.dtype} goes from {least} to {most}, what is beyond wraps around"
    if rows > most + 1:
        return f"{past}; the axis that is addressed has {rows} rows", Severity.WARNING
    return past, Severity.NOTE


def _known_span(value: Value | None) -> Span | None:
    """The bounds of the elements where something is known of them; None for those of a type alone."""
    if not isinstance(value, SymbolicTensor) or value.dtype not in INTEGER_RANGE:
        return None
    if value.values is None and value.span is None:
        return None
    return spans.span_of(value)


def _numbers(span: Span, declared: Scope) -> Interval:
    """The least and the greatest number that the bounds allow for sizes as they are declared."""

    def ends(dim: Dim | None) -> Interval:
        return Interval(None, None) if dim is None else declared.bounds(dim)

    return Interval(ends(span.lo).lo, ends(span.hi).hi)


def _reached(span: Span, declared: Scope) -> int | None:
    """What the upper bound is at least when the sizes of which something is said are as large as they may be."""
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
    """Whether all elements fit by their type alone."""
    if not isinstance(value, SymbolicTensor) or value.dtype is None:
        return False
    if value.dtype not in INTEGER_RANGE:
        return value.dtype is DType.BOOL
    low, high = INTEGER_RANGE[value.dtype]
    return least <= low and high <= most


def _is_integer(value: Value | None) -> bool:
    return isinstance(value, SymbolicTensor) and value.dtype in INTEGER_RANGE


def _rows(access: Access) -> int:
    """The length of the addressed axis, 0 where it is no number."""
    size = None if access.addressing is None else access.addressing.size
    return size if isinstance(size, int) else 0
