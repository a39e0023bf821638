"""Checks around user rewrite rules: the exceptions that they may raise and the results that they may return."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps

from onnx import NodeProto

from gather_infer.extensions import call_extension
from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.node_view import RewriteContext
from gather_infer.passes.rewrite import REFUSALS, GraphRewrite, Rewrite
from gather_infer.passes.rule_table import ANY, GraphPass, GraphPassFunction, RewriteSet, Rule, RuleEntry


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
    @wraps(entry.rule)
    def rule(site: Match) -> Rewrite | None:
        return call_extension(
            entry.rule, lambda: entry.title(site.context.model.label(site.node)), _fault, REFUSALS, site
        )

    return rule


def _checked_graph_pass(graph_pass: GraphPass) -> GraphPassFunction:
    def fault(found: object, graph: Graph) -> str:
        if found is None:
            return ""
        if not isinstance(found, GraphRewrite):
            return f"must return a GraphRewrite or None, returns {type(found).__name__}"
        return "" if found.name in graph.producers else f"names {found.name}, which no node of the graph writes"

    @wraps(graph_pass.function)
    def arranging(engine: RewriteContext, graph: Graph) -> GraphRewrite | None:
        title = f"rewrite {graph_pass.name}"
        return call_extension(
            graph_pass.function, lambda: title, lambda found: fault(found, graph), REFUSALS, engine, graph
        )

    return arranging


def _fault(found: object) -> str:
    """The fault in the result of a user's rewrite; "" if it is well-formed."""
    if found is None:
        return ""
    if not isinstance(found, Rewrite):
        return f"must return a Rewrite or None, returns {type(found).__name__}"
    for what, values in (("values", found.values), ("merged", found.merged), ("bound", found.bound)):
        if not isinstance(values, Mapping) or not all(
            isinstance(name, str) for pair in values.items() for name in pair
        ):
            return f"must map names to names in {what}, has {values!r}"
    if not isinstance(found.siblings, (set, frozenset)):
        return f"must have a set of names in siblings, has {found.siblings!r}"
    if not isinstance(found.body, (Graph, type(None))):
        return f"must have a Graph or None in body, has {found.body!r}"
    if not isinstance(found.nodes, (tuple, list)) or not all(isinstance(node, NodeProto) for node in found.nodes):
        return f"must have NodeProtos in nodes, has {found.nodes!r}"
    if not isinstance(found.constants, Mapping) or not all(
        isinstance(constant, Constant) for constant in found.constants.values()
    ):
        return f"must have Constants in constants, has {found.constants!r}"
    return ""
