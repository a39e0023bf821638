"""Work limits that keep a run linear in the model: sizes of facts, interpretation of bodies, proofs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from onnx import ModelProto, NodeProto

from gather_infer.context import Context
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.errors import SpecViolation
from gather_infer.inference.constraints.parse import MAX_SIZE
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root
from gather_infer.symbolic import Dim, Expr, Fuel, Scope
from gather_infer.tensor import (
    MAX_VALUES_RANK,
    UNKNOWN,
    SymbolicTensor,
    Value,
    ValueRange,
    is_nested_too_deep,
    make_values,
)

MAX_DIM_SIZE: Final = 160
"""Maximal number of nodes in the expression of a dim; a symbol replaces a larger one."""

BODY_NODES: Final = 50_000
BODY_NODES_PER_NODE: Final = 20
"""Number of nodes in bodies that one iteration may visit: a constant, plus a number per node of the model.

Deep models with functions for layers visit about 20 000. Chains of functions that each call the next twice, and nested
loops whose states change, would visit 2^40.
"""

LISTED_VALUES: Final = 40_000
LISTED_VALUES_PER_NODE: Final = 100
"""Number of values that one iteration may copy from memoized function bodies to further calls: a constant, plus a
number per node of the model.
"""

RETRIES: Final = 60
RETRIES_PER_NODE: Final = 2
"""Number of times that one iteration may interpret a loop body again under a weaker hypothesis: a constant, plus a
number per node of the model. Nested loops multiply the retries.
"""

ELIMINATIONS: Final = 600
ELIMINATIONS_PER_NODE: Final = 2
"""Number of Fourier-Motzkin eliminations in one iteration: a constant, plus a number per node of the model.

Each takes at most a few milliseconds; real models use one or two per node.
"""

VISITS_PER_BODY: Final = 5
"""Cost of entering and leaving a body, in visited nodes."""

NAMES_PER_VISIT: Final = 8
"""Number of names that cost as much as visiting a node."""


class WorkBudget:
    """Remaining work of one iteration, beyond a single visit of each node."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._visits = 0
        self._listed = 0
        self._is_spent = False

    def spend(self, nodes: Sequence[NodeProto], names: int) -> None:
        """Charge the interpretation of a body with the given nodes, and with `names` names in its interface.

        Raises SpecViolation when the budget does not suffice.
        """
        names += sum(len(node.input) + len(node.output) for node in nodes)
        cost = VISITS_PER_BODY + len(nodes) + names // NAMES_PER_VISIT
        if not self._fits(self._visits + cost, BODY_NODES, BODY_NODES_PER_NODE):
            self._is_spent = True
            raise SpecViolation("the run has spent its work budget on bodies", "GI214")
        self._visits += cost

    @property
    def is_spent(self) -> bool:
        """True when the budget did not suffice for some body."""
        return self._is_spent

    def may_list(self, values: int) -> bool:
        """Charge `values` values copied from a memoized function body; False when the budget does not suffice."""
        if not self._fits(self._listed + values, LISTED_VALUES, LISTED_VALUES_PER_NODE):
            return False
        self._listed += values
        return True

    @property
    def retries(self) -> int:
        """Number of times that loop bodies may be interpreted again under a weaker hypothesis."""
        return RETRIES + RETRIES_PER_NODE * self._nodes

    def _fits(self, amount: int, base: int, per_node: int) -> bool:
        return amount <= base or amount <= base + per_node * self._nodes

    @cached_property
    def _nodes(self) -> int:
        """Number of nodes of the whole model, including subgraphs and functions."""
        return sum(len(body.node) for path, body in bodies(self._model) if path.root in (Root.GRAPH, Root.FUNCTION))


def proof_fuel(model: ModelProto) -> Fuel:
    """The proof budget of one iteration."""
    # Eliminations are steps of Fourier-Motzkin, the expensive part of a proof.
    nodes = len(model.graph.node) + sum(len(function.node) for function in model.functions)
    return Fuel(ELIMINATIONS + ELIMINATIONS_PER_NODE * nodes)


def proof_fuel_findings(scope: Scope) -> list[Diagnostic]:
    """A finding when the proof budget was exhausted, since later comparisons of sizes stay undecided; else none."""
    if not scope.is_exhausted:
        return []
    return [diagnostic("GI214", "the run has spent its work budget on proofs: later size comparisons stay undecided")]


def limited(value: Value, context: Context) -> Value:
    """`value` with a symbol for each dim larger than MAX_DIM_SIZE, and without elements and bounds of that size.

    A value that exceeds a limit on rank or nesting loses its elements or its type. Raises SpecViolation for a dim that
    overflows int64.
    """
    if not isinstance(value, SymbolicTensor):
        return UNKNOWN if is_nested_too_deep(value) else value
    shape, values, span = value.shape, value.values, value.value_range
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
        value = value.with_(value_range=ValueRange(*(None if _is_long(end) else end for end in (span.lo, span.hi))))
    return value


def _is_long(element: object) -> bool:
    return isinstance(element, Expr) and element.size > MAX_DIM_SIZE


def _capped(dim: Dim, context: Context) -> Dim:
    """The dim, or a derived symbol for it when its expression is too long."""
    return context.derived("dim", dim, reason="its expression grew past the size limit") if _is_long(dim) else dim
