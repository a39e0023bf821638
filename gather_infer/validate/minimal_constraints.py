"""Minimal set of constraints on sizes: those that the nodes require, in canonical form and without redundancy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gather_infer.contract import Relation
from gather_infer.contract.lines import is_remainder
from gather_infer.diagnostic import Diagnostic
from gather_infer.inference import Inference
from gather_infer.model.paths import graph_at
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Scope,
    canonical_lower_bound,
    canonical_relation,
    divisors,
    free_symbols,
    is_total,
    known_le,
)
from gather_infer.symbolic.normal_form import Extremum, Min
from gather_infer.validate.canonical_clauses import canonical_clauses
from gather_infer.validate.condition import Condition, Elements, nonnegative_conditions
from gather_infer.validate.verdict import Outside, Verdict, VerdictKind, verdict_diagnostics

MAX_OPERANDS: Final = 2
"""Maximum number of inputs of a node that the reason of a constraint shows."""

UNENFORCED: Final = "the specification requires it, onnxruntime may run anyway"
"""Reason of a constraint that is not tight because runtimes do not enforce it."""

MAX_PROOFS: Final = 4000
"""Maximum number of implication proofs between constraints; a set that needs more is left as it is."""


@dataclass(frozen=True, slots=True)
class SizeConstraint:
    """A constraint on sizes: a disjunction of relations.

    tight    necessary: the model fails where no relation holds
    nodes    the nodes that require the constraint
    """

    relations: tuple[Relation, ...]
    tight: bool
    nodes: tuple[str, ...]
    reason: str = ""

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*(relation.symbols for relation in self.relations))

    @property
    def only(self) -> Relation | None:
        """The relation of the constraint if there is exactly one, else None."""
        return self.relations[0] if len(self.relations) == 1 else None

    @property
    def unless(self) -> tuple[Relation, ...]:
        """The relations that hold for empty tensors, as in DimsLine; empty if there are no other relations."""
        empty = tuple(relation for relation in self.relations if relation.is_zero_product)
        return empty if len(empty) < len(self.relations) else ()

    @property
    def where_nonempty(self) -> SizeConstraint:
        """The constraint for nonempty tensors: without the relations of `unless`."""
        unless = self.unless
        return replace(self, relations=tuple(r for r in self.relations if r not in unless)) if unless else self

    def __str__(self) -> str:
        return " or ".join(map(str, self.relations))


def is_always_reached(verdict: Verdict) -> bool:
    """Whether every run reaches the node, and fails there when an index is out of bounds."""
    access = verdict.access
    inside = any(step.attribute is not None for step in access.node.graph.steps)
    facts_before = access.facts_before
    return (
        not inside and verdict.outside is Outside.FAILS and facts_before is not None and facts_before.is_always_reached
    )


NodeConstraint: TypeAlias = "tuple[NodePath, SizeConstraint]"
"""A constraint with the node that requires it."""


def size_constraints_of(
    inference: Inference, found: Sequence[Verdict], symbols: frozenset[str], further: Iterable[NodeConstraint] = ()
) -> list[SizeConstraint]:
    """All constraints on the sizes of inputs, in the order of the nodes, and the `further` ones, in canonical form.

    found     the verdicts on the accesses of the model
    symbols   the symbols in the shapes of the inputs
    """
    claims = sorted(_raw_constraints(inference, found), key=lambda pair: _order(pair[0]))
    return canonical_constraints((*claims, *further), inference, symbols, ends=_element_bounds(found))


def canonical_constraints(
    constraints: Iterable[NodeConstraint],
    inference: Inference,
    symbols: frozenset[str],
    *,
    ends: Iterable[SizeConstraint] = (),
) -> list[SizeConstraint]:
    """The constraints on `symbols` in canonical form, and constraints by which their divisors are not 0.

    ends   further constraints whose divisors must not be 0
    """
    split = ((node, part) for node, claim in constraints for part in _split(claim, inference.declared))
    of_inputs = ((node, claim) for node, claim in split if claim.symbols and claim.symbols <= symbols)
    stated = [_weakened_by_assumptions(claim, node, inference, symbols) for node, claim in of_inputs]
    defined = [part for claim in (*stated, *ends) for part in _nonzero_divisors(claim, inference.declared)]
    defined = [claim for claim in defined if claim.symbols <= symbols]
    return merged_constraints((*stated, *defined))


def _element_bounds(found: Iterable[Verdict]) -> Iterator[SizeConstraint]:
    """Trivial constraints `bound <= bound` for the bounds of elements: their divisors have to be nonzero too."""
    for verdict in found:
        for condition in verdict.conditions if verdict.kind is VerdictKind.CONDITIONAL else ():
            if isinstance(condition.left, Elements):
                end = Relation(condition.right, "<=", condition.right)
                yield SizeConstraint((end,), False, (str(verdict.access.node),), f"{condition}")


def _nonzero_divisors(constraint: SizeConstraint, scope: Scope) -> Iterator[SizeConstraint]:
    """Constraints that keep the divisors in `constraint` nonzero: at 0 the constraint is undefined."""
    for size in _divisors(constraint):
        if known_le(1, size, scope) is not True:
            reason = f"division by {size} is undefined where it is 0"
            yield SizeConstraint((Relation(size, ">=", 1),), False, constraint.nodes, reason)


def _weakened_by_assumptions(
    constraint: SizeConstraint, node: NodePath, inference: Inference, names: frozenset[str]
) -> SizeConstraint:
    """The constraint, weakened by assumptions: where an assumption does not hold, the model may still run.

    A tight constraint then also admits the sizes that break the assumption. An assumption that a size is not 0 counts
    only if `node` or a node before it makes the assumption: empty tensors need no constraint.

    names   the symbols in the shapes of the inputs
    """
    outside: list[Relation] = []
    for assumption in inference.assumptions if constraint.tight else ():
        dim, least = assumption.dim, assumption.lower or 0
        is_behind = least == 1 and _order(assumption.node) > _order(node)
        if least < 1 or is_behind or constraint.symbols.isdisjoint(free_symbols(dim)):
            continue
        broken, kept = inference.declared.child(), inference.declared.child()
        broken.add_fact(least - 1 - dim)
        kept.add_fact(dim - least)
        if broken.is_contradictory or is_true(constraint, broken):
            continue
        if is_true(constraint, kept) or not free_symbols(dim) <= names:
            return replace(constraint, tight=False)
        outside = [relation for relation in outside if relation.known(kept) is not False]
        outside.append(Relation(dim, "==", 0) if least == 1 else Relation(dim, "<=", least - 1))
    return replace(constraint, relations=(*constraint.relations, *outside)) if outside else constraint


def scopes_without_assumptions(inference: Inference, symbols: frozenset[str]) -> Iterator[Scope]:
    """One scope for each assumption about `symbols` that may be false, with the facts that hold if it is false.

    Assumptions that a size is not 0 are left out, since empty tensors need no constraint.
    """
    for assumption in inference.assumptions:
        least = assumption.lower or 0
        if least > 1 and not symbols.isdisjoint(free_symbols(assumption.dim)):
            scope = inference.declared.child()
            scope.add_fact(least - 1 - assumption.dim)
            if not scope.is_contradictory:
                yield scope


def _raw_constraints(inference: Inference, found: Sequence[Verdict]) -> Iterator[tuple[NodePath, SizeConstraint]]:
    """All constraints before canonicalization, each with its node."""
    for verdict in found:
        node = verdict.access.node
        for condition in verdict.conditions if verdict.kind is VerdictKind.CONDITIONAL else ():
            if not isinstance(condition.left, Elements):
                tight = condition.tight and is_always_reached(verdict)
                yield node, SizeConstraint(_relations(condition), tight, (str(node),), verdict.reason)
    for constraint in inference.constraints:
        relation = _number_on_right(constraint.left, constraint.relation, constraint.right)
        reason = operands_text(inference, constraint.node)
        if not constraint.is_enforced:
            reason = f"{UNENFORCED}: {reason}"
        yield constraint.node, SizeConstraint((relation,), constraint.is_enforced, (str(constraint.node),), reason)
    for demand in inference.implied_constraints:
        relations = tuple(_number_on_right(*relation) for relation in demand.any_of)
        reason = operands_text(inference, demand.node)
        if demand.runtime:
            reason = f"{demand.runtime} refuses other sizes: {reason}"
        elif not demand.is_enforced:
            reason = f"{UNENFORCED}: {reason}"
        tight = demand.is_enforced and not demand.runtime
        yield demand.node, SizeConstraint(relations, tight, (str(demand.node),), reason)
    yield from _avoidable_failure_constraints(inference, found)
    for assumption in inference.assumptions:
        for symbol, end in ((">=", assumption.lower), ("<=", assumption.upper)):
            if end is not None:
                stated = (Relation(assumption.dim, symbol, end),)
                yield assumption.node, SizeConstraint(stated, False, (str(assumption.node),), assumption.reason)


def avoidable_failures(inference: Inference, found: Iterable[Verdict]) -> Iterator[Diagnostic]:
    """Failures in bodies that not every run enters: failing nodes, and accesses out of bounds."""
    yield from (d for d in inference.diagnostics if d.conditional_bodies)
    violated = (verdict for verdict in found if verdict.kind is VerdictKind.VIOLATED)
    yield from (d for d in verdict_diagnostics(violated, inference) if d.conditional_bodies)


def _avoidable_failure_constraints(
    inference: Inference, found: Iterable[Verdict]
) -> Iterator[tuple[NodePath, SizeConstraint]]:
    """Constraints that avoid a failure inside bodies, by requiring that one of the enclosing bodies does not run."""
    for finding in avoidable_failures(inference, found):
        conditions = [inference.conditions[body] for body in finding.conditional_bodies]
        dims = [c.sign_predicate for c in conditions if c.sign_predicate is not None and c.input_predicate is None]
        if len(dims) == len(conditions) and finding.location.node is not None:
            relations = tuple(relation for dim in dims for relation in nonnegative_relations(dim, inference.declared))
            yield finding.location.node, SizeConstraint(relations, True, (str(finding.location.node),), finding.message)


def nonnegative_relations(dim: Dim, scope: Scope) -> tuple[Relation, ...]:
    """The condition `dim >= 0` as relations of which one must hold, in canonical form where there is one."""
    cases = _cases(dim)
    if len(cases) > 1:
        return tuple(relation for case in cases for relation in nonnegative_relations(case, scope))
    stated = list(nonnegative_conditions(dim, scope))
    if len(stated) != 1 or stated[0].either or not isinstance(stated[0].left, Expr):
        return (Relation(dim, ">=", 0),)
    return (_number_on_right(stated[0].left, stated[0].relation, stated[0].right),)


def _cases(dim: Dim) -> tuple[Dim, ...]:
    """Dims of which at least one is >= 0 exactly where `dim` is.

    For k*max(a, b) + rest with k > 0 these are k*a + rest and k*b + rest, else `dim` alone.
    """
    for monomial, coefficient in dim.terms if isinstance(dim, Expr) else ():
        extremum = monomial[0] if len(monomial) == 1 else None
        if isinstance(extremum, Extremum) and isinstance(extremum, Min) == (coefficient < 0):
            rest = dim - extremum * coefficient
            return tuple(operand * coefficient + rest for operand in extremum.args)
    return (dim,)


def _relations(condition: Condition) -> tuple[Relation, ...]:
    """The relations of which one must hold for a condition on sizes to hold."""
    stated = condition.either or (condition,)
    return tuple(_number_on_right(c.left, c.relation, c.right) for c in stated if not isinstance(c.left, Elements))


def operands_text(inference: Inference, node: NodePath) -> str:
    """The operator of a node and the types of its first inputs, as text; empty for a node in the body of a schema.

    An example is `Add of float32[batch, seq, 64] and float32[1, min(64, seq), 64]`.
    """
    facts = inference.scopes.get(node.graph, {})
    try:
        proto = graph_at(inference.model.proto, node.graph).node[node.position]
    except LookupError:
        return ""
    shown = " and ".join(str(facts[name]) for name in proto.input[:MAX_OPERANDS] if name in facts)
    return f"{proto.op_type} of {shown}" if shown else proto.op_type


def _order(node: NodePath) -> tuple[int, ...]:
    return (*(step.node for step in node.graph.steps), node.position)


def _number_on_right(left: Dim, relation: str, right: Dim) -> Relation:
    """The relation with `<` replaced by `<=`, and a number moved to the right."""
    if relation == "<":
        left, relation = left + 1, "<="
    if isinstance(left, int) and not isinstance(right, int) and relation == "<=":
        return Relation(right, ">=", left)
    return Relation(left, relation, right)


def gap(relation: Relation) -> Dim:
    """The dim that is >= 0 exactly where an inequality holds. Raises DimTooLarge when the dim exceeds a cap."""
    return relation.left - relation.right if relation.relation == ">=" else relation.right - relation.left


def _split(constraint: SizeConstraint, scope: Scope) -> Iterator[SizeConstraint]:
    """Canonical constraints whose conjunction is equivalent to `constraint`."""
    if constraint.only is None:
        clauses = [(relation, canonical_clauses(relation, scope)) for relation in constraint.relations]
        simpler = (found[0] if len(found) == 1 else (relation,) for relation, found in clauses)
        yield replace(constraint, relations=tuple(dict.fromkeys(relation for clause in simpler for relation in clause)))
        return
    for clause in canonical_clauses(constraint.only, scope):
        yield from _split_clause(replace(constraint, relations=clause), scope)


def _split_clause(constraint: SizeConstraint, scope: Scope) -> Iterator[SizeConstraint]:
    only = constraint.only
    if only is None or only.relation == "==" or is_remainder(only.left):
        yield constraint
        return
    try:
        conditions = list(nonnegative_conditions(gap(only), scope))
    except DimTooLarge:
        yield constraint
        return
    for condition in conditions:
        if isinstance(condition.left, (Elements, int)):
            yield constraint  # no sizes satisfy it
            continue
        if condition.either:
            yield replace(constraint, relations=_relations(condition))
            continue
        for relation in _factors(_number_on_right(condition.left, condition.relation, condition.right), scope):
            yield replace(constraint, relations=(relation,))


def _factors(relation: Relation, scope: Scope) -> Iterator[Relation]:
    """`batch >= 1` and `seq >= 1` for `batch*seq >= 1`; else the relation alone, a lower bound in canonical form."""
    if relation.relation != ">=":
        yield relation
        return
    assert isinstance(relation.left, Expr) and isinstance(relation.right, int), "numbers are on the right"
    dim, least = canonical_lower_bound(relation.left, relation.right)
    monomial = dim.terms[0][0] if len(dim.terms) == 1 and dim.terms[0][1] == 1 else ()
    if least == 1 and len(monomial) > 1 and all(known_le(0, atom, scope) is True for atom in monomial):
        for atom in dict.fromkeys(monomial):
            yield from _factors(Relation(atom, ">=", 1), scope)
    else:
        yield Relation(dim, ">=", least)


def merged_constraints(constraints: Iterable[SizeConstraint]) -> list[SizeConstraint]:
    """The constraints with equal ones merged, and their nodes with them.

    If some of the equal constraints are tight, only the nodes of these are kept.
    """
    found: dict[tuple[object, ...], SizeConstraint] = {}
    for claim in constraints:
        key = tuple(_canonical(relation) for relation in claim.relations)
        before = found.get(key)
        if before is None or (claim.tight and not before.tight):
            found[key] = claim
        elif claim.tight == before.tight:
            nodes = tuple(dict.fromkeys((*before.nodes, *claim.nodes)))
            found[key] = replace(before, nodes=nodes, reason=before.reason or claim.reason)
    return list(found.values())


def _canonical(relation: Relation) -> object:
    """A key that equivalent relations share: the sides of an equation; for an inequality `d >= 0`, the dim `d`."""
    if relation.relation == "==":
        return frozenset(canonical_relation(relation.left, "==", relation.right))
    try:
        return gap(relation)
    except DimTooLarge:
        return relation


def scope_with(scope: Scope, constraints: Iterable[SizeConstraint]) -> Scope:
    """A child scope in which the constraints hold too; disjunctions add no facts."""
    where = scope.child()
    for claim in constraints:
        if claim.only is not None:
            claim.only.add_to(where)
    return where


def minimal_constraint_set(constraints: Iterable[SizeConstraint], scope: Scope) -> list[SizeConstraint]:
    """The constraints without those that the scope and other constraints imply.

    Each step leaves the conjunction unchanged. A tight constraint is dropped only where tight ones imply it.
    """
    open_ = [narrowed for claim in constraints if (narrowed := _without_false_relations(claim, scope)) is not None]
    left = _without_implied(merged_constraints(open_), scope)
    singles = [claim for claim in left if claim.only is not None]
    narrower: list[SizeConstraint] = []
    for claim in left:
        where = scope if claim.only is not None else scope_with(scope, _support(claim, singles))
        found = _without_false_relations(claim, where)
        narrower += [] if found is None else [found]
    return left if narrower == left else _without_implied(merged_constraints(narrower), scope)


def _support(constraint: SizeConstraint, others: Sequence[SizeConstraint]) -> list[SizeConstraint]:
    """The constraints that may be used to imply `constraint`, excluding those that divide by a size that `constraint`
    bounds.
    """
    able = (other for other in others if other is not constraint and (other.tight or not constraint.tight))
    if constraint.only is None or constraint.only.relation != ">=":
        return list(able)
    return [other for other in able if not any(free_symbols(size) & constraint.symbols for size in _divisors(other))]


def _divisors(constraint: SizeConstraint) -> list[Expr]:
    return divisors(dim for relation in constraint.relations for dim in (relation.left, relation.right))


def _without_false_relations(constraint: SizeConstraint, scope: Scope) -> SizeConstraint | None:
    """The constraint without the relations that never hold; None when one relation always holds."""
    answers = [relation.known(scope) for relation in constraint.relations]
    if True in answers:
        return None
    kept = tuple(r for r, answer in zip(constraint.relations, answers, strict=True) if answer is None)
    return replace(constraint, relations=kept) if kept else constraint


def _without_implied(constraints: Sequence[SizeConstraint], scope: Scope) -> list[SizeConstraint]:
    """The constraints without those that the others imply, directly or by cases."""
    left = list(constraints)
    if len(left) * len(left) > MAX_PROOFS:
        return left
    for claim in sorted(left, key=lambda c: (c.tight, -len(c.relations), -len(str(c)))):
        support = _support(claim, left)
        where = scope_with(scope, support)
        if not where.is_contradictory and (is_true(claim, where) or is_true_by_cases(claim, support, where)):
            left = [other for other in left if other is not claim]
    return left


def is_true(constraint: SizeConstraint, scope: Scope) -> bool:
    """Whether a constraint is proved: one of its relations holds, or holds where the others do not."""
    if any(relation.known(scope) is True for relation in constraint.relations):
        return True
    return len(constraint.relations) > 1 and any(
        relation.known(_where_false(scope, (r for r in constraint.relations if r is not relation))) is True
        for relation in constraint.relations
    )


def _where_false(scope: Scope, relations: Iterable[Relation]) -> Scope:
    """A child scope in which none of the relations holds; equations and partial dims add no facts."""
    where = scope.child()
    for relation in relations:
        if relation.relation != "==" and is_total(relation.left) and is_total(relation.right):
            with suppress(DimTooLarge):
                where.add_fact(-1 - gap(relation))
    return where


def is_true_by_cases(constraint: SizeConstraint, others: Iterable[SizeConstraint], scope: Scope) -> bool:
    """Whether a disjunction in `others` implies `constraint` by cases: `B == 1 or B == 3` implies `B <= 3`."""
    for other in others:
        if other.only is None and not constraint.symbols.isdisjoint(other.symbols):
            cases = [scope.child() for _ in other.relations]
            for case, relation in zip(cases, other.relations, strict=True):
                relation.add_to(case)
            if all(case.is_contradictory or is_true(constraint, case) for case in cases):
                return True
    return False


def only_excludes_empty(constraint: SizeConstraint) -> bool:
    """Whether a constraint only requires that a dim is not 0, apart from relations for empty tensors."""
    stated = [relation for relation in constraint.relations if not relation.is_zero_product]
    only = stated[0] if len(stated) == 1 else None
    if only is None or only.relation != ">=" or only.right != 1 or not isinstance(only.left, Expr):
        return False
    return all(coefficient >= 1 and monomial for monomial, coefficient in only.left.terms)
