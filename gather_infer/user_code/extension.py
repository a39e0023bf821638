"""Extensions: rules, rewrites, lowerings, checks and costs that a package offers under one name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gather_infer.checks.check_set import CheckSet
from gather_infer.domains import qualified
from gather_infer.errors import UsageError
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.passes import RewriteSet
from gather_infer.rules import RuleSet


@dataclass(frozen=True, slots=True)
class Extension:
    """Sets of functions that extend the package; any of them may be empty.

    rules      rule sets, as for `infer(rules=...)`: types of operators
    rewrites   rewrite sets, as for `optimize(rewrites=...)`
    lowerings  lowering tables, as for `with_lowerings`: layers of OpenVINO as functions of ONNX operators
    checks     check sets, as for `check(checks=...)`
    costs      rule sets with formulas of multiply-adds only

    A package offers an Extension as an entry point of the group `gather_infer.extensions`; see docs/custom-rules.md.
    """

    rules: Sequence[RuleSet] = ()
    rewrites: Sequence[RewriteSet] = ()
    lowerings: Sequence[LoweringTable] = ()
    checks: Sequence[CheckSet] = ()
    costs: Sequence[RuleSet] = ()

    @property
    def rule_sets(self) -> tuple[RuleSet, ...]:
        """The rule sets and the cost sets: both are arguments `rules` of `infer` and others."""
        return (*self.rules, *self.costs)


_KINDS: Mapping[str, type] = {
    "rules": RuleSet,
    "rewrites": RewriteSet,
    "lowerings": LoweringTable,
    "checks": CheckSet,
    "costs": RuleSet,
}


def require_extension(value: object, title: str) -> Extension:
    """`value`, if it is an Extension that holds sets of the right kinds; `title` names it in messages.

    Raises UsageError for another object.
    """
    if not isinstance(value, Extension):
        raise UsageError(f"{title} must be a gather_infer.Extension, is of class {type(value).__name__}")
    for name, kind in _KINDS.items():
        found = getattr(value, name)
        if not isinstance(found, Sequence) or not all(isinstance(each, kind) for each in found):
            raise UsageError(f"{title}: {name} must be a list with objects of class {kind.__name__}")
    return value


def merged(extensions: Mapping[str, Extension]) -> Extension:
    """One extension with the sets of several, by name.

    Raises UsageError if two of them register the same: a rule, a formula or a lowering of an operator since the same
    version, or a rewrite or a check with the same name.
    """
    owners: dict[str, str] = {}
    for name, extension in extensions.items():
        for entry in dict.fromkeys(_entries(extension)):
            owner = owners.setdefault(entry, name)
            if owner != name:
                raise UsageError(f"the extensions {owner!r} and {name!r} both have {entry}: name only one of them")
    members: dict[str, Any] = {
        f.name: tuple(each for extension in extensions.values() for each in getattr(extension, f.name))
        for f in fields(Extension)
    }
    return Extension(**members)


def _entries(extension: Extension) -> Iterator[str]:
    """A text for each function of an extension, which no other extension may have."""
    for rules in extension.rule_sets:
        for op_type, since, _ in rules.entries():
            yield f"a rule of {qualified(rules.domain, op_type)} since version {since}"
        for op_type in rules.formula_op_types:
            yield f"a cost formula of {qualified(rules.domain, op_type)}"
    for rewrites in extension.rewrites:
        for entry in rewrites.entries():
            yield f"a rewrite {entry.name}"
    for table in extension.lowerings:
        for op_type in table.op_types:
            for lowering in table.versions(op_type):
                yield f"a lowering of {qualified(table.domain, op_type)} since version {lowering.since}"
    for checks in extension.checks:
        for check in checks.entries:
            yield f"a check {check.name}"
