"""Tables of rewrite rules: registration and lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.node_view import RewriteContext
from gather_infer.passes.rewrite import GraphRewrite, Rewrite
from gather_infer.versioned import valid_at

ANY = ""
"""The operator of a rule that applies to every node."""

Rule: TypeAlias = Callable[[Match], "Rewrite | None"]
"""A rewrite rule: the replacement of a matched node, or None if the rule does not match."""


GraphPassFunction: TypeAlias = Callable[[RewriteContext, Graph], "GraphRewrite | None"]
"""A graph-level pass: returns a rewrite of a graph in which no rule matches, or None."""


class RuleEntry(NamedTuple):
    """A rule in a table.

    name      as given to `--passes` and `--skip`
    op_type   the operator, or `ANY`
    since     the first opset version of the domain to which the rule applies
    is_first  the rule runs on every node before other rules do
    """

    name: str
    op_type: str
    since: int
    rule: Rule
    is_first: bool = False


class GraphPass(NamedTuple):
    """A named graph-level pass; it runs when no rule matches any node."""

    name: str
    function: GraphPassFunction


class RewriteSet:
    """Rewrite rules for the operators of one domain, in order of precedence.

    A rule examines one node, a `Match`, and returns a `Rewrite` or None. The driver applies a rewrite only if it adds
    no nodes and no bytes that a run reads or writes; see `greedy_driver`.
    """

    def __init__(self, domain: str = "") -> None:
        self.domain = domain
        self._rules: dict[str, list[RuleEntry]] = {}
        self._graph_passes: list[GraphPass] = []

    def rewrites(
        self, *op_types: str, since: int = 1, name: str = "", is_first: bool = False
    ) -> Callable[[Rule], Rule]:
        """Decorator: registers a rule for nodes of the operators in `op_types`; if none are given, for every node.

        since      the first opset version of the domain to which the rule applies
        name       the name of the rule, by default that of the function
        is_first   the rule runs on every node before other rules do
        """

        def add(function: Rule) -> Rule:
            title = name or function.__name__.strip("_").replace("_", "-")
            for op_type in op_types or (ANY,):
                if any(known.name == title for known in self._rules.get(op_type, ())):
                    raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two rewrites called {title}")
                self._rules.setdefault(op_type, []).append(RuleEntry(title, op_type, since, function, is_first))
            return function

        return add

    def graph_pass(self, function: GraphPassFunction, *, name: str = "") -> GraphPassFunction:
        """Decorator: registers a graph-level pass, which runs on each graph when no rule matches any node."""
        self._graph_passes.append(GraphPass(name or function.__name__.strip("_").replace("_", "-"), function))
        return function

    def entries(self) -> Iterable[RuleEntry | GraphPass]:
        """Every rule, then every graph-level pass."""
        for rules in self._rules.values():
            yield from rules
        yield from self._graph_passes

    @property
    def graph_passes(self) -> Sequence[GraphPass]:
        return self._graph_passes

    def rules_for(self, op_type: str) -> Sequence[RuleEntry]:
        """The rules for an operator, in order of precedence; `ANY` has rules of its own."""
        return self._rules.get(op_type, ())


class RuleTable:
    """The rules of several sets, looked up by domain and operator."""

    def __init__(self, sets: Iterable[RewriteSet], is_wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._sets = tuple(sets)
        self._is_wanted = is_wanted
        self._found: dict[tuple[str, str, int], tuple[RuleEntry, ...]] = {}

    @property
    def graph_passes(self) -> tuple[GraphPass, ...]:
        """The graph-level passes, in order."""
        return tuple(
            graph_pass for rules in self._sets for graph_pass in rules.graph_passes if self._is_wanted(graph_pass.name)
        )

    def find(self, domain: str, op_type: str, version: int) -> tuple[RuleEntry, ...]:
        """The wanted rules for a node with this operator and opset version, in order of precedence."""
        key = (domain, op_type, version)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(
                entry
                for rules in self._sets
                for applicable in (rules.rules_for(op_type) if rules.domain == domain else (), rules.rules_for(ANY))
                for entry in valid_at(version, applicable)
                if self._is_wanted(entry.name)
            )
        return found
