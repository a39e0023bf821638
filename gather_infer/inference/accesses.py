"""Records the accesses of a node: the axes that its rule addresses by index, with the facts known before."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.access import Addressing
from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.inference.result import Access, FactsBeforeAccess
from gather_infer.symbolic import Scope
from gather_infer.tensor import UNKNOWN, Value


def record_accesses(
    state: InterpreterState,
    op: ResolvedOp,
    names: Sequence[str],
    inputs: Sequence[Value | None],
    result: str,
    environment: Environment,
    before: Scope,
) -> None:
    """Record an access for each axis that the node addresses; without an axis if the rule could not determine any.

    result   name of the node's first output
    before   facts known before the node was interpreted
    """
    context = state.context
    for index_input, data_input in op.traits.addresses.items():
        if index_input >= len(inputs) or not names[index_input]:
            continue
        data = inputs[data_input] if data_input < len(inputs) else None
        indices = inputs[index_input] or UNKNOWN
        addressed: list[Addressing | None] = [a for a in context.addressed if a.input == index_input]
        for axis in addressed or [None]:
            state.trail.add(
                Access(
                    context.node, op.op_type, op.domain, op.version, index_input,
                    names[data_input] if data_input < len(names) else "", names[index_input], result, axis,
                    data or UNKNOWN, indices, environment.values.get(result, UNKNOWN),
                    FactsBeforeAccess(
                        before, indices, environment.provenance_of(names[index_input]), context.causes,
                        environment.all_symbol_origins(),
                    ),
                )
            )  # fmt: skip
