"""What a walk leaves open, and what it has answered since: another walk is worth its time only for the first."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gather_infer.context import Context
from gather_infer.inference.join import symbols_of
from gather_infer.inference.state import State
from gather_infer.record import Constraint, Demand
from gather_infer.symbolic import DimTooLarge, Scope, free_symbols, known_eq, known_le, simplify


def is_open(constraint: Constraint, scope: Scope) -> bool:
    """Whether more has been learnt of the sides of a constraint, and they are not known to satisfy it."""
    return _since(constraint, scope) is False


def _is_proved_since(constraint: Constraint, scope: Scope) -> bool:
    """Whether what has been learnt of the sides of a constraint proves it: the node did not know yet."""
    return _since(constraint, scope) is True


def _since(constraint: Constraint, scope: Scope) -> bool | None:
    """Whether a constraint is known to hold; None where the scope knows no more of its sides than the node did."""
    left, right = simplify(constraint.left, scope), simplify(constraint.right, scope)
    if (left, right) == (constraint.left, constraint.right):
        return None
    return (known_eq if constraint.relation == "==" else known_le)(left, right, scope) is True


def unproved(context: Context, declared: Scope, demands: Iterable[Demand]) -> list[Constraint]:
    """The constraints that have not been proved since, by what is declared and demanded.

    A walk learns more, of sizes that depend on data: there a constraint may rest on what only it says.
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
    """Whether a fact has a symbol for a size that more knowledge may tell: a trial that was taken back leaves some."""
    better = {name for name, cause in state.context.causes.items() if not cause.data_dependent}
    if not better:
        return False
    facts = (value for values in state.scopes.values() for value in values.values())
    return any(not better.isdisjoint(symbols_of(value)) for value in facts) or any(
        not better.isdisjoint(free_symbols(dim)) for c in state.context.constraints for dim in (c.left, c.right)
    )
