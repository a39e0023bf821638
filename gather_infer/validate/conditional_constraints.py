"""Constraints in bodies that not every run enters: contract lines where the condition is known, else open points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gather_infer.contract import ConditionalBody, ContractInput, DimsLine, InputCondition, Open, Relation
from gather_infer.inference import Inference
from gather_infer.inference.failures import ConditionalBodies, conditional_bodies
from gather_infer.symbolic import Scope, free_symbols
from gather_infer.trail import PathCondition, Unchecked
from gather_infer.validate.minimal_constraints import (
    NodeConstraint,
    SizeConstraint,
    canonical_constraints,
    is_true,
    is_true_by_cases,
    minimal_constraint_set,
    nonnegative_relations,
    operands_text,
    scope_with,
)


@dataclass(frozen=True, slots=True)
class _ExecutionCondition:
    """The condition under which a run reaches a node.

    where     conditions on elements of inputs, which all hold if the node is reached
    unless    relations between sizes, of which none holds if the node is reached
    is_exact  whether the node is reached in every run in which all of `where` and none of `unless` hold
    """

    where: frozenset[InputCondition]
    unless: tuple[Relation, ...]
    is_exact: bool


class _KnownConstraints:
    """A scope in which constraints hold too; if they contradict it or each other, all of them are dropped."""

    def __init__(self, scope: Scope, constraints: Sequence[SizeConstraint]) -> None:
        together = scope_with(scope, constraints)
        self.constraints = () if together.is_contradictory else constraints
        self.scope = scope if together.is_contradictory else together

    def implies(self, constraint: SizeConstraint) -> bool:
        return is_true(constraint, self.scope) or is_true_by_cases(constraint, self.constraints, self.scope)


class ConditionalConstraints:
    """The constraints that nodes in bodies require, sorted by the conditions under which runs enter the bodies.

    `lines` returns those under a condition on elements of inputs, `open` those without a known condition.

    constraints  those under a condition on sizes alone, as constraints on all runs
    """

    def __init__(self, inference: Inference, inputs: Sequence[ContractInput], symbols: frozenset[str]) -> None:
        """`symbols` are the symbols in the shapes of `inputs`."""
        self.inference = inference
        self.symbols = symbols
        self.deciding_inputs = frozenset(spec.name for spec in inputs if not spec.optional)
        self.constraints: list[NodeConstraint] = []
        self._of_elements: dict[frozenset[InputCondition], list[NodeConstraint]] = {}
        self._open: dict[ConditionalBodies, list[Unchecked]] = {}
        for unchecked in inference.unchecked:
            self._sort(unchecked)

    def _sort(self, unchecked: Unchecked) -> None:
        around = conditional_bodies(unchecked.node.graph, self.inference.conditions)
        place = self._execution_condition(around)
        claim = self._constraint(unchecked, place.unless)
        if not (unchecked.any_of and around and place.is_exact and claim.symbols <= self.symbols):
            self._open.setdefault(around, []).append(unchecked)
        elif place.where:
            self._of_elements.setdefault(place.where, []).append((unchecked.node, claim))
        else:
            self.constraints.append((unchecked.node, claim))

    def _constraint(self, unchecked: Unchecked, unless: Iterable[Relation] = ()) -> SizeConstraint:
        relations = (*unless, *(Relation(*stated) for stated in unchecked.any_of))
        reason = operands_text(self.inference, unchecked.node)
        return SizeConstraint(relations, unchecked.tight, (str(unchecked.node),), reason)

    def _execution_condition(self, around: ConditionalBodies) -> _ExecutionCondition:
        where: list[InputCondition] = []
        unless: list[Relation] = []
        is_known = True
        for body in around:
            condition = self.inference.conditions[body]
            choice, negative = condition.input_predicate, condition.sign_predicate
            if choice is not None and choice.input in self.deciding_inputs:
                where.append(InputCondition(choice.input, choice.relation, choice.number, choice.is_bool))
            elif choice is None and negative is not None and free_symbols(negative) <= self.symbols:
                unless += nonnegative_relations(negative, self.inference.declared)
            else:
                is_known = False
        return _ExecutionCondition(frozenset(where), tuple(unless), is_known)

    def lines(self, constraints: Sequence[SizeConstraint]) -> Iterator[DimsLine]:
        """Contract lines under a condition on elements, without those that `constraints`, true in all runs, imply."""
        surely, declared = [claim for claim in constraints if claim.tight], self.inference.declared
        found: dict[frozenset[InputCondition], list[SizeConstraint]] = {}
        for where in sorted(self._of_elements, key=len):
            wider = [claim for other, stated in found.items() if other <= where for claim in stated]
            tight = _KnownConstraints(declared, [*surely, *(claim for claim in wider if claim.tight)])
            all_ = _KnownConstraints(declared, [*constraints, *wider])
            worded = canonical_constraints(self._of_elements[where], self.inference, self.symbols)
            left = [claim for claim in worded if not (tight if claim.tight else all_).implies(claim)]
            found[where] = minimal_constraint_set(left, tight.scope)
        for where, stated in found.items():
            conditions = tuple(sorted(where, key=str))
            for claim in stated:
                yield DimsLine(claim.relations, claim.tight, claim.nodes, claim.reason, conditions)

    def open(self, constraints: Sequence[SizeConstraint]) -> Iterator[Open]:
        """Open points: clauses that are not decided, and constraints in bodies without a known condition.

        Constraints that `constraints`, or those of an enclosing body, imply are left out.
        """
        found: dict[ConditionalBodies, list[SizeConstraint]] = {}
        for around in sorted(self._open, key=len):
            shown = bodies_of(self.inference, around)
            yield from (Open(str(u.node), u.reason, shown) for u in self._open[around] if not u.any_of)
            outer = [claim for bodies, stated in found.items() if bodies == around[: len(bodies)] for claim in stated]
            known = _KnownConstraints(self._within(around), [*constraints, *outer])
            stated = [
                (unchecked.node, self._constraint(unchecked)) for unchecked in self._open[around] if unchecked.any_of
            ]
            symbols = frozenset[str]().union(*(claim.symbols for _, claim in stated))
            worded = canonical_constraints(stated, self.inference, symbols)
            found[around] = minimal_constraint_set(
                [replace(claim, tight=False) for claim in worded if not known.implies(claim)], known.scope
            )
            for claim in found[around]:
                yield from (Open(node, str(claim), shown) for node in claim.nodes)

    def _within(self, around: ConditionalBodies) -> Scope:
        """A scope with the facts about sizes in runs that enter all bodies in `around`."""
        where = self.inference.declared.child()
        for body in around:
            negative = self.inference.conditions[body].sign_predicate
            if negative is not None:
                where.add_fact(-negative - 1)
        return where


def bodies_of(inference: Inference, around: ConditionalBodies) -> tuple[ConditionalBody, ...]:
    """The bodies in `around` as a contract lists them."""
    return tuple(_body(inference.conditions[body]) for body in around)


def _body(condition: PathCondition) -> ConditionalBody:
    return ConditionalBody(str(condition.node), condition.name, condition.condition)


__all__ = ["ConditionalConstraints", "bodies_of"]
