"""Checks around user rewrite rules: the exceptions that they may raise and the results that they may return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final

from onnx import NodeProto

from gather_infer.extensions import guarded
from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.node_view import RewriteContext
from gather_infer.passes.rewrite import REFUSALS, GraphRewrite, Rewrite
from gather_infer.passes.rule_table import ANY, GraphPass, GraphPassFunction, RewriteSet, Rule, RuleEntry


def _are(values: Iterable[object], kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)


def _maps_names(found: object) -> bool:
    return isinstance(found, Mapping) and all(_are(pair, str) for pair in found.items())


_FIELDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    # field of a Rewrite: (its contents, whether a value is correct)
    **dict.fromkeys(("values", "merged", "bound"), ("map names to names", _maps_names)),
    "siblings": ("have a set of names", lambda names: isinstance(names, Set)),
    "body": ("have a Graph or None", lambda body: body is None or isinstance(body, Graph)),
    "nodes": ("have NodeProtos", lambda nodes: isinstance(nodes, Sequence) and _are(nodes, NodeProto)),
    "constants": ("have Constants", lambda m: isinstance(m, Mapping) and _are(m.values(), Constant)),
}


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
    def title(match: Match) -> str:
        return f"rewrite {entry.name} of {match.context.model.label(match.node)}"

    return guarded(entry.rule, title, _fault, REFUSALS)


def _checked_graph_pass(graph_pass: GraphPass) -> GraphPassFunction:
    return guarded(graph_pass.function, lambda *_: f"rewrite {graph_pass.name}", _graph_fault, REFUSALS)


def _graph_fault(found: object, context: RewriteContext, graph: Graph) -> str:
    if isinstance(found, GraphRewrite):
        return "" if found.name in graph.producers else f"replaces {found.name}, which no node of the graph writes"
    return "" if found is None else f"must return a GraphRewrite or None, returns {type(found).__name__}"


def _fault(found: object, match: Match) -> str:
    """The fault in the result of a user's rewrite; "" if it is well-formed."""
    if not isinstance(found, Rewrite):
        return "" if found is None else f"must return a Rewrite or None, returns {type(found).__name__}"
    for name, (contents, is_correct) in _FIELDS.items():
        if not is_correct(value := getattr(found, name)):
            return f"must {contents} in {name}, has {value!r}"
    return ""
