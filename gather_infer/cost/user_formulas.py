"""Formulas from rule sets of the user: lookup, and evaluation with a check of the result."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.cost.work import CostUnknown, Work
from gather_infer.domains import canonical_domain, qualified
from gather_infer.errors import SpecViolation
from gather_infer.extensions import guarded
from gather_infer.node_ids import NodePath
from gather_infer.rules import MacsFormula, RegisteredRule, RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, Expr


def user_formula(rules: Sequence[RuleSet], domain: str, op_type: str) -> MacsFormula | None:
    """The first formula in `rules` for an operator; None if there is none. `domain` is spelt as in the node."""
    found = (each.macs_formula(op_type) for each in _rule_sets_of(rules, domain))
    return next(filter(None, found), None)


def user_rule(rules: Sequence[RuleSet], domain: str, op_type: str, version: int) -> RegisteredRule | None:
    """The first rule in `rules` for an operator at opset `version`, with its traits; None if there is none."""
    found = (each.lookup(op_type, version) for each in _rule_sets_of(rules, domain))
    return next(filter(None, found), None)


def _rule_sets_of(rules: Sequence[RuleSet], domain: str) -> list[RuleSet]:
    return [each for each in rules if each.domain in (domain, canonical_domain(domain))]


def evaluate_user_formula(formula: MacsFormula, work: Work, domain: str, path: NodePath) -> Dim:
    """The multiply-adds of the node at `path` by a formula of the user.

    Raises CostUnknown if the formula raises CostUnknown or SpecViolation, and DimTooLarge if the formula does. Raises
    UsageError if the formula raises another exception or returns neither a number >= 0 nor an expression.
    """
    title = f"the formula of {qualified(domain, work.op_type)} at node {path}"
    try:
        return guarded(formula.macs, lambda _: title, _fault, (CostUnknown, SpecViolation, DimTooLarge))(work)
    except SpecViolation as error:
        raise CostUnknown(str(error)) from error


def _fault(found: object, work: Work) -> str:
    is_dim = isinstance(found, Expr) or (type(found) is int and found >= 0)
    return "" if is_dim else f"must return a number >= 0 or an expression, returns {found!r}"
