"""What a run may spend, so that its work stays linear in the model: the size of a fact, the walks of bodies, proofs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from gather_infer.context import Context
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.errors import SpecViolation
from gather_infer.inference.options import MAX_SIZE
from gather_infer.symbolic import Dim, Effort, Expr, Scope
from gather_infer.tensor import MAX_VALUES_RANK, UNKNOWN, Span, SymbolicTensor, Value, is_nested_too_deep, make_values

MAX_DIM_SIZE: Final = 160
"""Nodes of a dim's expression; past it the dim becomes a symbol."""

BODY_NODES: Final = 50_000
BODY_NODES_PER_NODE: Final = 20
"""Nodes of bodies that one walk visits, whatever the size of the model, and for each of its nodes.

Deep models that keep their layers as functions visit some 20 000. Calls that call twice what they call, and loops in
loops whose states change, would visit 2^40."""

LISTED_VALUES: Final = 40_000
LISTED_VALUES_PER_NODE: Final = 100
"""Values of function bodies that one walk lists again for calls that it has not walked again."""

RETRIES: Final = 60
RETRIES_PER_NODE: Final = 2
"""Walks of bodies of loops under a weaker hypothesis, after the first, in one pass: whatever the size of the model, and
for each of its nodes. Loops in loops multiply them."""

ELIMINATIONS: Final = 600
ELIMINATIONS_PER_NODE: Final = 2
"""What proofs may cost in one walk, a few milliseconds each at worst; real models take one or two for each node."""

VISITS_PER_BODY: Final = 5
"""Nodes that are as much work as it takes to begin and end a body."""

NAMES_PER_VISIT: Final = 8
"""Names that are as much work as a node."""


class Budget:
    """What is left of the work that one walk may do beyond visiting each node once."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._visits = 0
        self._listed = 0
        self._is_spent = False

    def spend(self, nodes: Sequence[NodeProto], names: int) -> None:
        """Account for a walk of a body with these nodes, and as many names in its interface.

        Raises SpecViolation when that is more than is left.
        """
        names += sum(len(node.input) + len(node.output) for node in nodes)
        cost = VISITS_PER_BODY + len(nodes) + names // NAMES_PER_VISIT
        if not self._fits(self._visits + cost, BODY_NODES, BODY_NODES_PER_NODE):
            self._is_spent = True
            raise SpecViolation("the run has spent its budget of work on bodies", "GI214")
        self._visits += cost

    @property
    def is_spent(self) -> bool:
        """True when a body has been refused."""
        return self._is_spent

    def may_list(self, values: int) -> bool:
        """Account for values that are listed once more; False when that is more than is left."""
        if not self._fits(self._listed + values, LISTED_VALUES, LISTED_VALUES_PER_NODE):
            return False
        self._listed += values
        return True

    @property
    def retries(self) -> int:
        """How often bodies of loops may be walked again."""
        return RETRIES + RETRIES_PER_NODE * self._nodes

    def _fits(self, amount: int, base: int, per_node: int) -> bool:
        return amount <= base or amount <= base + per_node * self._nodes

    @cached_property
    def _nodes(self) -> int:
        """Those of the whole model; counted only when it matters."""
        return _nodes_in((self._model.graph, *self._model.functions))


def effort_of(model: ModelProto) -> Effort:
    """What the proofs of one walk may cost."""
    nodes = len(model.graph.node) + sum(len(function.node) for function in model.functions)
    return Effort(ELIMINATIONS + ELIMINATIONS_PER_NODE * nodes)


def spent_on_proofs(scope: Scope) -> list[Diagnostic]:
    """The finding that says why questions about sizes stay open; none when the effort of the walk was enough."""
    if not scope.is_exhausted:
        return []
    return [diagnostic("GI214", "the run has spent its budget of work on proofs: later questions of sizes stay open")]


def _nodes_in(graphs: Iterable[GraphProto | FunctionProto]) -> int:
    """Nodes in graphs and in all below them."""
    found = 0
    pending = list(graphs)  # a loop, since subgraphs may nest very deep
    while pending:
        graph = pending.pop()
        found += len(graph.node)
        for node in graph.node:
            for attribute in node.attribute:
                pending += [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs
    return found


def limited(value: Value, context: Context) -> Value:
    """`value` with a symbol for every dim that is too long, and without such elements and ends of the span.

    Raises SpecViolation for a size that no tensor can have.
    """
    if not isinstance(value, SymbolicTensor):
        return UNKNOWN if is_nested_too_deep(value) else value
    shape, values, span = value.shape, value.values, value.span
    if values is not None and values.ndim > MAX_VALUES_RANK:
        value, values = value.with_(values=None), None
    if shape is not None:
        is_long = False
        for dim in shape:
            if isinstance(dim, Expr):
                is_long |= _is_long(dim)
            elif dim > MAX_SIZE:
                raise SpecViolation(f"a size must be <= 2^63 - 1, is {dim}: it overflows int64")
        if is_long:
            value = value.with_(shape=tuple(_capped(d, context) for d in shape))
    if values is not None and any(map(_is_long, values.flat)):
        value = value.with_(values=make_values([None if _is_long(e) else e for e in values.flat], values.shape))
    if span is not None and (_is_long(span.lo) or _is_long(span.hi)):
        value = value.with_(span=Span(*(None if _is_long(end) else end for end in (span.lo, span.hi))))
    return value


def _is_long(element: object) -> bool:
    return isinstance(element, Expr) and element.size > MAX_DIM_SIZE


def _capped(dim: Dim, context: Context) -> Dim:
    """The dim, or the one symbol that stands for it when its expression is too long."""
    return context.derived("dim", dim, reason="its expression grew past the size limit") if _is_long(dim) else dim
