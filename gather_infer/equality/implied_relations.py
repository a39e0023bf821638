"""Relations of sizes that hold in every run in which a model succeeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gather_infer.inference import Inference
from gather_infer.symbolic import Dim, DimTooLarge, Scope, free_symbols, known_eq, known_le, substitute
from gather_infer.symbolic.normal_form import Symbol

Relation: TypeAlias = tuple[Dim, str, Dim]
"""left, `==` or `<=`, right"""


def relations_of(inference: Inference) -> Iterator[Relation]:
    """The constraints of a model, and the one alternative of a requirement that all others are cases of."""
    for constraint in inference.constraints:
        yield constraint.left, constraint.relation, constraint.right
    for implied in inference.implied_constraints:
        if len(implied.any_of) > 1 and not implied.runtime:
            left = [*implied.any_of]
            for one in implied.any_of:
                others = [each for each in left if each is not one]
                if others and any(_implies(one, other, inference.known) for other in others):
                    left = others
            if len(left) == 1:
                yield left[0]


def holds(relation: Relation, facts: Scope) -> bool | None:
    """Whether a relation is known to hold, or known not to."""
    left, kind, right = relation
    return known_eq(left, right, facts) if kind == "==" else known_le(left, right, facts)


def _implies(one: Relation, other: Relation, facts: Scope) -> bool:
    """Whether the size that an equation gives to a symbol makes another relation true."""
    for size, dim in (one[::2], one[::-2]):
        if one[1] != "==" or not isinstance(size, Symbol) or size.name in free_symbols(dim):
            continue
        try:
            left, right = (substitute(each, {size.name: dim}) for each in other[::2])
        except (ZeroDivisionError, DimTooLarge):
            continue
        if holds((left, other[1], right), facts) is True:
            return True
    return False
