"""Root-cause analysis: attributes unknown types and symbols to the errors and warnings that cause them.

A report prints the cause once, instead of its consequences at each node downstream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity, has_errors_or_warnings
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, InferredNode, position_of
from gather_infer.inference.result import Inference
from gather_infer.node_ids import MAIN, GraphPath, NodePath
from gather_infer.symbolic import free_symbols
from gather_infer.tensor import SequenceType, SymbolicTensor, Value, holds_values, static_dims
from gather_infer.trail import Assumption

_ScopedName: TypeAlias = "tuple[GraphPath, str]"
"""A value: the path of the graph that defines it, and its name."""
_Seen: TypeAlias = "dict[_ScopedName, None]"


@dataclass(frozen=True, slots=True)
class RootCauses:
    """The unknown facts of a run that its errors and warnings cause.

    diagnostics      the root causes: the first finding about each node or value whose result is unknown because of it
    unknown_tensors  number of tensors that have no element type, no rank or a generated dim as a consequence
    symbols          generated symbols at nodes downstream of a root cause
    assumptions      assumptions about `symbols`
    nodes            nodes that read a tensor which is unknown because of a root cause
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    unknown_tensors: int = 0
    symbols: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...] = ()
    nodes: frozenset[NodePath] = field(default=frozenset(), repr=False)


def root_causes(inference: Inference) -> RootCauses:
    """The consequences of a run's errors and warnings, by forward propagation over the def-use chains.

    The result is a total: it does not assign a tensor downstream of two root causes to either of them.
    """
    search = _UnknownPropagation(inference)
    blamed = dict[_ScopedName, Diagnostic]()
    for finding in inference.diagnostics if has_errors_or_warnings(inference.diagnostics) else ():
        for place in search.outputs_of(finding):
            blamed.setdefault(place, finding)
    if not blamed:
        return RootCauses()
    # First pass: every symbol generated downstream of a finding. Second pass: spread only through unknown values, so
    # that a downstream node whose result is known ends the chain.
    producers = {d.location.node for d in blamed.values()}
    _, downstream = search.propagate(blamed, lambda _: True)
    new_symbols = {
        name for name, cause in inference.causes.items() if cause.node in downstream or cause.node in producers
    }
    unknown = {place: d for place, d in blamed.items() if _is_root(search.fact(place), d, new_symbols)}
    values, nodes = search.propagate(unknown, lambda value: _is_unknown(value, new_symbols) or _lacks_elements(value))
    symbols = frozenset(name for name in new_symbols if inference.causes[name].node in nodes | producers)
    number = sum(_is_unknown(inference.scopes[path].get(name), symbols) for path, name in values)
    if not number:
        return RootCauses()
    return RootCauses(
        tuple(dict.fromkeys(unknown.values())),
        number,
        symbols,
        tuple(a for a in inference.assumptions if not symbols.isdisjoint(free_symbols(a.dim))),
        frozenset(nodes),
    )


class _UnknownPropagation:
    def __init__(self, inference: Inference) -> None:
        self.bodies = InferredGraphs(inference)

    def outputs_of(self, finding: Diagnostic) -> Iterator[_ScopedName]:
        """Yield the values that a finding may have made unknown: the outputs of its node, or the value it is about."""
        where = finding.location
        if finding.severity is Severity.NOTE:
            return
        if where.node is not None:
            place = self.bodies.node(where.node)
            if place is not None:
                yield from ((place.graph.path, name) for name in place.node.output if name)
        elif where.value in self.bodies.main.values and not where.graph:
            yield MAIN, where.value

    def fact(self, place: _ScopedName) -> Value | None:
        body = self.bodies.at(place[0])
        return None if body is None else body.fact(place[1])

    def propagate(
        self, values: Iterable[_ScopedName], is_propagated: Callable[[Value | None], bool]
    ) -> tuple[_Seen, set[NodePath]]:
        """The values reachable from `values` along def-use chains, and the nodes that read these values.

        A chain continues only through values whose facts satisfy `is_propagated`.
        """
        seen: _Seen = {}
        nodes: set[NodePath] = set()
        pending: list[tuple[InferredGraph, str]] = []

        def add(body: InferredGraph, names: Iterable[str]) -> None:
            for name in names:
                if name and (body.path, name) not in seen and is_propagated(body.fact(name)):
                    seen[body.path, name] = None
                    pending.append((body, name))

        for path, name in values:
            body = self.bodies.at(path)
            assert body is not None, "the values are those of bodies"
            add(body, [name])
        while pending:
            body, name = pending.pop()
            for node in sorted(body.graph.users(name), key=lambda user: user.order_key):
                place = InferredNode(body, position_of(node))
                nodes.add(place.path)
                add(body, place.node.output)
                for _, inner in self.bodies.bodies(place):
                    add(inner, inner.inputs)
                    if inner.defining_graph(name) is body.defining_graph(name):  # not a call, no definition inside
                        add(inner, [name])
            if body.caller is not None and name in body.outputs:
                nodes.add(body.caller.path)
                add(body.caller.graph, body.caller.node.output)
        return {key: None for key in seen if key[1] in self._names_of(key[0])}, nodes

    def _names_of(self, path: GraphPath) -> Iterable[str]:
        body = self.bodies.at(path)
        return () if body is None else body.values


def _is_root(value: Value | None, finding: Diagnostic, new_symbols: Iterable[str]) -> bool:
    """Whether `value`, which `finding` is about, is unknown.

    If `finding` reports missing external data (GI112), unknown elements are enough.
    """
    return _is_unknown(value, new_symbols) or (finding.code == "GI112" and _lacks_elements(value))


def _is_unknown(value: Value | None, new_symbols: Iterable[str]) -> bool:
    """Whether the element type or the rank is unknown, or a dim contains one of `new_symbols`."""
    if isinstance(value, SequenceType):
        return _is_unknown(value.element, new_symbols)
    if value is None:
        return True
    if not isinstance(value, SymbolicTensor):
        return False
    if value.dtype is None or value.shape is None:
        return True
    return any(not free_symbols(dim).isdisjoint(new_symbols) for dim in value.shape)


def _lacks_elements(value: Value | None) -> bool:
    """Whether a small integer scalar or vector has unknown elements, which may be sizes of a shape downstream."""
    if not isinstance(value, SymbolicTensor) or value.dtype is None or not value.dtype.is_integer:
        return False
    sizes = static_dims(value.shape)
    if sizes is None or len(sizes) > 1:
        return False
    return holds_values(sizes) and (value.values is None or None in value.values.flat)
