"""Checks around user rewrite rules: the exceptions that they may raise and the results that they may return."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import NodeProto

from gather_infer.errors import UsageError, file_of, user_code
from gather_infer.passes.draft import Graph
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.rewrite import Arrangement, Rewrite, Unavailable
from gather_infer.passes.site import Site
from gather_infer.passes.table import ANY, Arranging, Listed, RewriteSet, Rule, Step
from gather_infer.passes.view import Surroundings
from gather_infer.symbolic import DimTooLarge


def guarded(rules: RewriteSet) -> RewriteSet:
    """The same rules, wrapped to raise UsageError for an unexpected exception or a malformed result."""
    made = RewriteSet(rules.domain)
    for listed in rules.listed():
        if isinstance(listed, Step):
            made.arranges(_guarded_step(listed), name=listed.name)
        else:
            op_types = () if listed.op_type == ANY else (listed.op_type,)
            made.rewrites(*op_types, since=listed.since, name=listed.name)(_guarded_rule(listed))
    return made


def _guarded_rule(listed: Listed) -> Rule:
    file = file_of(listed.rule)

    def rule(site: Site) -> Rewrite | None:
        what = f"rewrite {listed.name} of {site.engine.draft.label(site.node)}"
        with user_code(file, what, Unavailable, DimTooLarge):
            found = listed.rule(site)
        fault = _fault(found)
        if fault:
            raise UsageError(f"{file}: {what} {fault}" if file else f"{what} {fault}")
        return found

    return rule


def _guarded_step(step: Step) -> Arranging:
    def arranging(engine: Surroundings, graph: Graph) -> Arrangement | None:
        with user_code(file_of(step.arranging), f"rewrite {step.name}", Unavailable, DimTooLarge):
            return step.arranging(engine, graph)

    return arranging


def _fault(found: object) -> str:
    """The error in the result of a rule; empty if it is well-formed."""
    if found is None:
        return ""
    if not isinstance(found, Rewrite):
        return f"must return a Rewrite or None, returns {type(found).__name__}"
    for what, values in (("values", found.values), ("merged", found.merged), ("bound", found.bound)):
        if not isinstance(values, Mapping) or not all(
            isinstance(name, str) for pair in values.items() for name in pair
        ):
            return f"must map names to names in {what}, has {values!r}"
    if not all(isinstance(node, NodeProto) for node in found.nodes):
        return f"must have NodeProtos in nodes, has {found.nodes!r}"
    if not all(isinstance(constant, Constant) for constant in found.constants.values()):
        return f"must have Constants in constants, has {found.constants!r}"
    return ""
