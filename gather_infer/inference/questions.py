"""The fixed point of iterating over a model: whether another iteration can decide questions that this one left open."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gather_infer.context import Context
from gather_infer.inference.join import symbols_of
from gather_infer.inference.state import State
from gather_infer.record import Constraint, Demand
from gather_infer.symbolic import DimTooLarge, Scope, free_symbols, known_eq, known_le, simplify


def is_open(constraint: Constraint, scope: Scope) -> bool:
    """Whether the scope knows more about the sides of a constraint than its node did, without proving it."""
    return _since(constraint, scope) is False


def _is_proved_since(constraint: Constraint, scope: Scope) -> bool:
    """Whether facts learned after its node prove a constraint."""
    return _since(constraint, scope) is True


def _since(constraint: Constraint, scope: Scope) -> bool | None:
    """Whether a constraint is known to hold; None where the scope knows no more about its sides than the node did."""
    left, right = simplify(constraint.left, scope), simplify(constraint.right, scope)
    if (left, right) == (constraint.left, constraint.right):
        return None
    return (known_eq if constraint.relation == "==" else known_le)(left, right, scope) is True


def unproved(context: Context, declared: Scope, demands: Iterable[Demand]) -> list[Constraint]:
    """The constraints that declared and implied facts do not prove.

    The interpreter also knows facts about data-dependent sizes that the result does not list: a constraint that only
    they prove stays.
    """
    proved = {constraint for constraint in context.constraints if _is_proved_since(constraint, context.scope)}
    if proved:
        listed = declared.child()
        listed.efforts = context.scope.efforts
        for left, relation, right in (demand.any_of[0] for demand in demands if len(demand.any_of) == 1):
            with suppress(DimTooLarge):
                listed.require(right - left)
                if relation == "==":
                    listed.require(left - right)
        proved = {constraint for constraint in proved if _is_proved_since(constraint, listed)}
    return [constraint for constraint in context.constraints if constraint not in proved]


def has_open_sizes(state: State) -> bool:
    """Whether a fact has a generated symbol that more facts about dims could resolve; rolled back trials leave some."""
    better = {name for name, cause in state.context.causes.items() if not cause.data_dependent}
    if not better:
        return False
    facts = (value for values in state.scopes.values() for value in values.values())
    return any(not better.isdisjoint(symbols_of(value)) for value in facts) or any(
        not better.isdisjoint(free_symbols(dim)) for c in state.context.constraints for dim in (c.left, c.right)
    )
