"""Constraints in bodies that not every run enters: contract lines under a condition where there is one, else open
points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gather_infer.contract import Body, DimsLine, InputSpec, Open, Relation, When
from gather_infer.inference import Inference
from gather_infer.inference.failures import ConditionalBodies, conditional_bodies
from gather_infer.symbolic import Scope, free_symbols
from gather_infer.trail import PathCondition, Unchecked
from gather_infer.validate.claims import (
    Claim,
    Stated,
    is_true,
    is_true_by_cases,
    minimal_claims,
    not_negative,
    operands,
    scope_with,
    worded_claims,
)


@dataclass(frozen=True, slots=True)
class _Place:
    """When a node runs.

    where     the elements that decide
    unless    one of these relations holds in the runs that do not reach it
    is_exact  whether it runs in all other runs
    """

    where: frozenset[When]
    unless: tuple[Relation, ...]
    known: bool


class _Known:
    """A scope and constraints together; constraints that contradict each other are dropped."""

    def __init__(self, scope: Scope, claims: Sequence[Claim]) -> None:
        together = scope_with(scope, claims)
        self.claims = () if together.is_contradictory else claims
        self.scope = scope if together.is_contradictory else together

    def implies(self, claim: Claim) -> bool:
        return is_true(claim, self.scope) or is_true_by_cases(claim, self.claims, self.scope)


class InBodies:
    """Constraints of nodes in bodies.

    lines        those under a condition on sizes or on elements of inputs
    open         the others
    constraints  of all runs, where the condition is on sizes alone
    """

    def __init__(self, inference: Inference, inputs: Sequence[InputSpec], symbols: frozenset[str]) -> None:
        """`symbols` are those of the inputs."""
        self.inference = inference
        self.symbols = symbols
        self.deciding = frozenset(spec.name for spec in inputs if not spec.optional)
        self.claims: list[Stated] = []
        self._of_elements: dict[frozenset[When], list[Stated]] = {}
        self._open: dict[ConditionalBodies, list[Unchecked]] = {}
        for unchecked in inference.unchecked:
            self._sort(unchecked)

    def _sort(self, unchecked: Unchecked) -> None:
        around = conditional_bodies(unchecked.node.graph, self.inference.conditions)
        place = self._place(around)
        claim = self._claim(unchecked, place.unless)
        if not (unchecked.any_of and around and place.known and claim.symbols <= self.symbols):
            self._open.setdefault(around, []).append(unchecked)
        elif place.where:
            self._of_elements.setdefault(place.where, []).append((unchecked.node, claim))
        else:
            self.claims.append((unchecked.node, claim))

    def _claim(self, unchecked: Unchecked, unless: Iterable[Relation] = ()) -> Claim:
        relations = (*unless, *(Relation(*stated) for stated in unchecked.any_of))
        reason = operands(self.inference, unchecked.node)
        return Claim(relations, unchecked.tight, (str(unchecked.node),), reason)

    def _place(self, around: ConditionalBodies) -> _Place:
        where: list[When] = []
        unless: list[Relation] = []
        is_known = True
        for body in around:
            condition = self.inference.conditions[body]
            choice, negative = condition.input_predicate, condition.sign_predicate
            if choice is not None and choice.input in self.deciding:
                where.append(When(choice.input, choice.relation, choice.number, choice.is_bool))
            elif choice is None and negative is not None and free_symbols(negative) <= self.symbols:
                unless += not_negative(negative, self.inference.declared)
            else:
                is_known = False
        return _Place(frozenset(where), tuple(unless), is_known)

    def lines(self, claims: Sequence[Claim]) -> Iterator[DimsLine]:
        """The lines under a condition that `constraints`, which hold for all runs, do not imply."""
        surely, declared = [claim for claim in claims if claim.tight], self.inference.declared
        found: dict[frozenset[When], list[Claim]] = {}
        for where in sorted(self._of_elements, key=len):
            wider = [claim for other, stated in found.items() if other <= where for claim in stated]
            tight = _Known(declared, [*surely, *(claim for claim in wider if claim.tight)])
            all_ = _Known(declared, [*claims, *wider])
            worded = worded_claims(self._of_elements[where], self.inference, self.symbols)
            left = [claim for claim in worded if not (tight if claim.tight else all_).implies(claim)]
            found[where] = minimal_claims(left, tight.scope)
        for where, stated in found.items():
            conditions = tuple(sorted(where, key=str))
            for claim in stated:
                yield DimsLine(claim.relations, claim.tight, claim.nodes, claim.reason, conditions)

    def open(self, claims: Sequence[Claim]) -> Iterator[Open]:
        """Open points: clauses that are not decided, and constraints in bodies without a known condition.

        Those that `constraints`, or constraints of an enclosing body, imply are left out.
        """
        found: dict[ConditionalBodies, list[Claim]] = {}
        for around in sorted(self._open, key=len):
            shown = bodies_of(self.inference, around)
            yield from (Open(str(u.node), u.reason, shown) for u in self._open[around] if not u.any_of)
            outer = [claim for bodies, stated in found.items() if bodies == around[: len(bodies)] for claim in stated]
            known = _Known(self._within(around), [*claims, *outer])
            stated = [(unchecked.node, self._claim(unchecked)) for unchecked in self._open[around] if unchecked.any_of]
            symbols = frozenset[str]().union(*(claim.symbols for _, claim in stated))
            worded = worded_claims(stated, self.inference, symbols)
            found[around] = minimal_claims(
                [replace(claim, tight=False) for claim in worded if not known.implies(claim)], known.scope
            )
            for claim in found[around]:
                yield from (Open(node, str(claim), shown) for node in claim.nodes)

    def _within(self, around: ConditionalBodies) -> Scope:
        """The facts about sizes in runs that enter a body."""
        where = self.inference.declared.child()
        for body in around:
            negative = self.inference.conditions[body].sign_predicate
            if negative is not None:
                where.require(-negative - 1)
        return where


def bodies_of(inference: Inference, around: ConditionalBodies) -> tuple[Body, ...]:
    """The bodies in the form of a contract."""
    return tuple(_body(inference.conditions[body]) for body in around)


def _body(condition: PathCondition) -> Body:
    return Body(str(condition.node), condition.name, condition.condition)


__all__ = ["InBodies", "bodies_of"]
