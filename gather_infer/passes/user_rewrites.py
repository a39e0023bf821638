"""Checks around user rewrite rules: the exceptions that they may raise and the results that they may return."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import NodeProto

from gather_infer.errors import UsageError, file_of, user_code
from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.node_view import RewriteContext
from gather_infer.passes.rewrite import GraphRewrite, Rewrite, Unavailable
from gather_infer.passes.rule_table import ANY, GraphPass, GraphPassFunction, RewriteSet, Rule, RuleEntry
from gather_infer.symbolic import DimTooLarge


def checked(rules: RewriteSet) -> RewriteSet:
    """A copy of `rules`, wrapped to raise UsageError for an unexpected exception or a malformed result."""
    made = RewriteSet(rules.domain)
    for entry in rules.entries():
        if isinstance(entry, GraphPass):
            made.graph_pass(_checked_graph_pass(entry), name=entry.name)
        else:
            op_types = () if entry.op_type == ANY else (entry.op_type,)
            made.rewrites(*op_types, since=entry.since, name=entry.name)(_checked_rule(entry))
    return made


def _checked_rule(entry: RuleEntry) -> Rule:
    file = file_of(entry.rule)

    def rule(site: Match) -> Rewrite | None:
        what = f"rewrite {entry.name} of {site.context.model.label(site.node)}"
        with user_code(file, what, Unavailable, DimTooLarge):
            found = entry.rule(site)
        fault = _result_error(found)
        if fault:
            raise UsageError(f"{file}: {what} {fault}" if file else f"{what} {fault}")
        return found

    return rule


def _checked_graph_pass(graph_pass: GraphPass) -> GraphPassFunction:
    def arranging(engine: RewriteContext, graph: Graph) -> GraphRewrite | None:
        with user_code(file_of(graph_pass.function), f"rewrite {graph_pass.name}", Unavailable, DimTooLarge):
            return graph_pass.function(engine, graph)

    return arranging


def _result_error(found: object) -> str:
    """The error in the result `found` of a caller's rewrite, for a message; empty if it is well-formed."""
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
