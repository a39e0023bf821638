"""Fixed point of the inference: whether another iteration over the model can improve facts or prove constraints."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gather_infer.context import Context
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.join import symbols_of
from gather_infer.symbolic import DimTooLarge, Scope, free_symbols, known_eq, known_le, simplify
from gather_infer.trail import Constraint, ImpliedConstraint


def is_undecided(constraint: Constraint, scope: Scope) -> bool:
    """Whether `scope` simplifies the sides of a constraint but does not prove it: another iteration may decide it."""
    return _newly_decided(constraint, scope) is False


def _is_newly_proved(constraint: Constraint, scope: Scope) -> bool:
    """Whether facts that were added to `scope` after the constraint was recorded prove it."""
    return _newly_decided(constraint, scope) is True


def _newly_decided(constraint: Constraint, scope: Scope) -> bool | None:
    """Whether `scope` proves a constraint whose sides it simplifies; None if both sides stay as they are."""
    left, right = simplify(constraint.left, scope), simplify(constraint.right, scope)
    if (left, right) == (constraint.left, constraint.right):
        return None
    return (known_eq if constraint.relation == "==" else known_le)(left, right, scope) is True


def unproved(context: Context, declared: Scope, implied_constraints: Iterable[ImpliedConstraint]) -> list[Constraint]:
    """The constraints to list in the result: those that `declared` and the implied constraints do not prove.

    The interpreter also knows facts about data-dependent sizes that the result does not list. A constraint that only
    such facts prove stays listed.
    """
    proved = {constraint for constraint in context.constraints if _is_newly_proved(constraint, context.scope)}
    if proved:
        listed = declared.child()
        listed.fuels = context.scope.fuels
        for left, relation, right in (demand.any_of[0] for demand in implied_constraints if len(demand.any_of) == 1):
            with suppress(DimTooLarge):
                listed.add_fact(right - left)
                if relation == "==":
                    listed.add_fact(left - right)
        proved = {constraint for constraint in proved if _is_newly_proved(constraint, listed)}
    return [constraint for constraint in context.constraints if constraint not in proved]


def has_improvable_sizes(state: InterpreterState) -> bool:
    """Whether a fact or constraint has a generated symbol that does not depend on data.

    Another iteration, which knows more facts about dims, may express such a size by the symbols of the inputs.
    """
    better = {name for name, cause in state.context.causes.items() if not cause.data_dependent}
    if not better:
        return False
    facts = (value for values in state.scopes.values() for value in values.values())
    return any(not better.isdisjoint(symbols_of(value)) for value in facts) or any(
        not better.isdisjoint(free_symbols(dim)) for c in state.context.constraints for dim in (c.left, c.right)
    )
