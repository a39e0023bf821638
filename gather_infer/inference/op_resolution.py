"""Op resolution: finds the rule, function body or schema of an operator under a set of opset imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import onnx
from onnx import FunctionProto

from gather_infer.dialect import Builder, Dialect
from gather_infer.domains import canonical_domain, plain_domain, version_in, versions_of
from gather_infer.inference.proto.releases import NEWEST_OPSET
from gather_infer.inference.proto.schema import Schema, schema_of
from gather_infer.inference.provenance.transfer import OpTransfer, op_transfer_of
from gather_infer.ops import standard_rule, standard_rules
from gather_infer.rules import NO_TRAITS, Rule, RuleSet, Traits
from gather_infer.tensor import DType

CONTROL_FLOW = frozenset({"If", "Loop", "Scan", "SequenceMap"})


@dataclass(slots=True, eq=False)
class ResolvedOp:
    """An operator resolved under one set of imports.

    domain            canonical name of the domain
    version           the opset version in force, 0 when the model does not import the domain
    function          function of the model with this name; `rule` is then None
    traits            traits that the rule declares; the defaults without a rule
    is_user_rule      whether the caller supplied the rule
    provenance        transfer function for provenance; None when the operator's elements are not tracked
    overridden_op     the operator of the same name if `function` shares its name with one; else None
    builder           builds the function body of a dialect's node without a rule; None for other operators
    legal_types       tuples of input element types that passed the check
    is_control_flow   whether it is If, Loop, Scan or SequenceMap of ai.onnx, which hold subgraphs
    """

    op_type: str
    domain: str
    version: int
    rule: Rule | None
    schema: Schema | None
    function: FunctionProto | None
    is_control_flow: bool
    traits: Traits
    is_user_rule: bool
    provenance: OpTransfer | None
    overridden_op: ResolvedOp | None = None
    builder: Builder | None = None
    legal_types: set[tuple[DType | None, ...]] = field(default_factory=set)


class Opsets:
    """The opset imports of a model or function, with the operators resolved under them."""

    def __init__(
        self,
        imports: Iterable[onnx.OperatorSetIdProto],
        rule_sets: Sequence[Mapping[str, RuleSet]],
        functions: Mapping[tuple[str, str, str], FunctionProto],
        dialects: Sequence[Dialect] = (),
    ) -> None:
        self.versions = versions_of(imports)
        self._rule_sets = rule_sets
        self._functions = functions
        self._dialects = {dialect.domain: dialect for dialect in dialects}
        self._resolved: dict[tuple[str, str, str], ResolvedOp] = {}

    def resolve(self, domain: str, op_type: str, overload: str) -> ResolvedOp:
        """The resolved operator; cached after the first call."""
        key = (domain, op_type, overload)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = self._resolve_call(domain, op_type, overload)
        return found

    def version_of(self, domain: str) -> int:
        """The version in force for a domain as written in the node; 0 when the domain is not imported."""
        return version_in(self.versions, domain)

    def _resolve_call(self, domain: str, op_type: str, overload: str) -> ResolvedOp:
        function = self._functions.get((plain_domain(domain), op_type, overload))
        if function is not None and not overload:
            operator = self._resolve_op(domain, op_type, None)
            if operator.rule is not None or operator.schema is not None:
                return replace(self._resolve_op(domain, op_type, function), overridden_op=operator)
        return self._resolve_op(domain, op_type, function)

    def _resolve_op(self, domain: str, op_type: str, function: FunctionProto | None) -> ResolvedOp:
        version, dialect = self.version_of(domain), self._dialects.get(canonical_domain(domain))
        is_plain = len(self._rule_sets) == 1 and self._rule_sets[0] is standard_rules()
        found = _standard_op(domain, op_type, version) if is_plain and function is None else None
        return found or _resolve(domain, op_type, version, self._rule_sets, function, dialect)


@lru_cache(maxsize=1024)
def _standard_op(domain: str, op_type: str, version: int) -> ResolvedOp | None:
    """The resolved operator if a built-in rule infers it, shared by all models; None for any other operator.

    Operators without a rule are not shared, since schemas may be registered and removed while a program runs.
    """
    found = _resolve(domain, op_type, version, [standard_rules()], None, None)
    return found if found.rule is not None else None


def _resolve(
    domain: str,
    op_type: str,
    version: int,
    rule_sets: Sequence[Mapping[str, RuleSet]],
    function: FunctionProto | None,
    dialect: Dialect | None,
) -> ResolvedOp:
    name = canonical_domain(domain)
    found, custom = None, False
    for sets in rule_sets:
        rules = sets.get(domain) or sets.get(name)
        found = rules.lookup(op_type, version) if rules is not None and version else None
        if found is not None:
            custom = sets is not rule_sets[-1]  # built-in rules come last
            break
    lookup = min(version, NEWEST_OPSET if name == "" else 2**31 - 1)
    schema = schema_of(op_type, lookup, name) if function is None and version > 0 else None
    # A function of the model hides rule and traits of an operator with its name; `Opsets` keeps that operator too.
    traits = NO_TRAITS
    if function is None and found is not None:
        known = standard_rule(name, op_type, version) if custom else None
        traits = found.traits if known is None else _merged_traits(found.traits, known.traits)
    if function is not None or found is not None:
        dialect = None
    if dialect is not None and (addresses := dialect.addresses(op_type, version)):
        traits = Traits(addresses=addresses)
    return ResolvedOp(
        op_type,
        name,
        version,
        None if function is not None or found is None else found.rule,
        schema,
        function,
        is_control_flow=name == "" and op_type in CONTROL_FLOW and function is None and schema is not None,
        traits=traits,
        is_user_rule=custom,
        provenance=None if function is not None or found is None else op_transfer_of(name, op_type, traits),
        builder=None if dialect is None else dialect.find(op_type, version),
    )


def _merged_traits(user: Traits, standard: Traits) -> Traits:
    """The traits of a built-in operator for which the caller has a rule.

    Most traits describe the operator, whichever rule infers it. Addressing and type checks depend on the caller's rule.
    """
    moves = standard if user.moves is None else user
    return replace(
        standard, addresses=user.addresses, checks_types=user.checks_types, gathers=user.gathers,
        moves=moves.moves, permutes=moves.permutes, deterministic=user.deterministic and standard.deterministic,
    )  # fmt: skip
