"""The tensor table: all tensors of a run, each with its producer and the reason for anything unknown."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from gather_infer.domains import canonical_domain
from gather_infer.errors import UnknownName, UsageError
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, InferredNode
from gather_infer.inference.result import Inference, TensorRow
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import free_symbols
from gather_infer.tensor import SymbolicTensor, Value
from gather_infer.trail import Cause

_GIVE_UP_CODES: Final = ("GI105", "GI213", "GI214")  # warnings that leave the outputs of their node unknown


def tensor_rows(inference: Inference, pattern: str, op: str | None, unknown: bool) -> tuple[TensorRow, ...]:
    """See Inference.tensors."""
    rows = tuple(_TableBuilder(inference).rows())
    if op is not None:
        known = dict.fromkeys(text for row in rows for text in (row.op_type, row.operator) if row.op_type)
        if op not in known:
            raise UnknownName("operator", op, known)
        rows = tuple(row for row in rows if op in (row.op_type, row.operator))
    if pattern:
        rows = _matching(pattern, rows, (*inference.outputs, *inference.inputs))
    return tuple(row for row in rows if not (unknown and row.is_known))


def is_glob(text: str) -> bool:
    return any(char in text for char in "*?[")


def _matching(pattern: str, rows: tuple[TensorRow, ...], first: tuple[str, ...]) -> tuple[TensorRow, ...]:
    """The rows whose title is `pattern` or matches it as a glob.

    Raises UsageError when no row matches; for a plain name it suggests a close one, preferably from `first`.
    """
    exact = tuple(row for row in rows if row.title == pattern)
    found = exact or tuple(row for row in rows if fnmatchcase(row.title, pattern))
    if found:
        return found
    if is_glob(pattern):
        raise UsageError(f"no tensor matches {pattern!r}")
    titles = [row.title for row in rows]
    raise UnknownName("tensor", pattern, dict.fromkeys([*(name for name in first if name in titles), *titles]))


def unknown_rank_cause(place: InferredNode) -> Cause:
    """Why a node with inputs of known rank has an output of unknown rank."""
    op_type = place.node.op_type if place.op.domain == "" else ""
    values = [place.graph.fact(name) for name in place.node.input if name]
    reason = "the rank of its result depends on unknown facts about its inputs"
    first = values[0] if values else None
    if op_type == "Squeeze" and len(values) == 1 and isinstance(first, SymbolicTensor):
        open_dims = " and ".join(str(d) for d in first.shape or () if not isinstance(d, int))
        reason = f"without axes it removes the dims that are 1, which {open_dims} may be"
    elif op_type == "If":
        reason = "its branches may give different ranks"
    elif op_type in ("Loop", "Scan"):
        reason = "the rank may change from iteration to iteration"
    return Cause(place.path, place.node.op_type, reason, False)


def is_typed(value: Value | None) -> bool:
    """True when the element type and rank of a tensor are known, and for every other kind of value."""
    return not isinstance(value, SymbolicTensor) or (value.shape is not None and value.dtype is not None)


class _TableBuilder:
    """Builds the rows of the tensor table, graph by graph in the order of interpretation."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.bodies = InferredGraphs(inference)
        self.failures: dict[NodePath, str] = {}
        for finding in inference.diagnostics:
            node = finding.location.node
            if node is not None and (finding.is_failure or finding.code in _GIVE_UP_CODES):
                self.failures.setdefault(node, f"{finding.code}: {finding.message}")

    def rows(self) -> Iterator[TensorRow]:
        for path, values in self.inference.scopes.items():
            body = self.bodies.at(path)
            for name, value in values.items():
                yield self._row(self.inference.labels[path], body, name, value)

    def _row(self, scope: str, body: InferredGraph | None, name: str, value: Value) -> TensorRow:
        made = None if body is None else body.producer(name)
        if made is None:
            return TensorRow(scope, name, value, self._origin(body, name), cause=self._cause(value, None))
        place, _ = made
        domain = canonical_domain(place.node.domain)
        cause = self._cause(value, place)
        return TensorRow(scope, name, value, "node", place.path, place.node.op_type, domain, cause)

    def _origin(self, body: InferredGraph | None, name: str) -> str:
        if body is None or body.caller is None:
            return "input" if name in self.inference.inputs else "constant"
        return "body input" if name in body.inputs else "constant"

    def _cause(self, value: Value, place: InferredNode | None) -> str:
        """Why the element type, the rank or a dim of a value is unknown; empty when all are known."""
        if not isinstance(value, SymbolicTensor):
            return ""
        if not is_typed(value):
            return self._unknown_reason(place)
        causes = self.inference.causes
        symbols = {name: None for dim in value.shape or () for name in sorted(free_symbols(dim)) if name in causes}
        return "; ".join(self._symbol_reason(name, causes[name], place) for name in symbols)

    def _symbol_reason(self, name: str, cause: Cause, place: InferredNode | None) -> str:
        """Why a generated symbol exists, if the node at `place` generated it; else the label of the node that did."""
        is_here = place is not None and cause.node == place.path
        return f"{name}: {cause.reason}" if is_here else f"{name}, from {cause.node}"

    def _unknown_reason(self, place: InferredNode | None) -> str:
        """Why the element type or the rank of an output of `place` is unknown; `place` is None for an input."""
        if place is None:
            return "the file does not declare it"
        if place.path in self.failures:
            return self.failures[place.path]
        unknown = next((name for name in place.node.input if name and not is_typed(place.graph.fact(name))), None)
        return (
            unknown_rank_cause(place).reason
            if unknown is None
            else f"the element type or rank of {unknown} is not known"
        )
