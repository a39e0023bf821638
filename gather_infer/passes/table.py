"""Tables of rewrite rules: registration and lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gather_infer.passes.draft import Graph
from gather_infer.passes.rewrite import Arrangement, Rewrite
from gather_infer.passes.site import Site
from gather_infer.passes.view import Surroundings

ANY = ""
"""The operator of a rule that applies to every node."""

Rule: TypeAlias = Callable[[Site], "Rewrite | None"]
"""A rewrite rule: the replacement of a matched node, or None if the rule does not match."""


Arranging: TypeAlias = Callable[[Surroundings, Graph], "Arrangement | None"]
"""A graph-level pass: the rewrite of a graph at a fixed point of the rules, or None."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A rule in a table.

    name      as given to `--passes` and `--skip`
    since     the first opset version of the operator to which it applies
    """

    name: str
    op_type: str
    since: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Step:
    """A named graph-level pass; it runs when no rule matches any node."""

    name: str
    arranging: Arranging


class RewriteSet:
    """Rewrite rules for the operators of one domain, in order of precedence.

    A rule examines one node, a `Match`, and returns a `Rewrite` or None. The driver applies a rewrite only if it adds
    no nodes and no bytes that a run reads or writes; see `greedy_driver`.
    """

    def __init__(self, domain: str = "") -> None:
        self.domain = domain
        self._rules: dict[str, list[Listed]] = {}
        self._steps: list[Step] = []

    def rewrites(self, *op_types: str, since: int = 1, name: str = "") -> Callable[[Rule], Rule]:
        """Decorator: registers a rule for nodes of these operators; without any, for every node.

        since   the first opset version to which it applies
        name    of the rule, by default that of the function
        """

        def add(function: Rule) -> Rule:
            title = name or function.__name__.strip("_").replace("_", "-")
            for op_type in op_types or (ANY,):
                if any(known.name == title for known in self._rules.get(op_type, ())):
                    raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two rewrites called {title}")
                self._rules.setdefault(op_type, []).append(Listed(title, op_type, since, function))
            return function

        return add

    def arranges(self, function: Arranging, *, name: str = "") -> Arranging:
        """Decorator: registers a graph-level pass, which runs on each graph when no rule matches any node."""
        self._steps.append(Step(name or function.__name__.strip("_").replace("_", "-"), function))
        return function

    def listed(self) -> Iterable[Listed | Step]:
        """Every rule, then every graph-level pass."""
        for rules in self._rules.values():
            yield from rules
        yield from self._steps

    @property
    def steps(self) -> Sequence[Step]:
        return self._steps

    def of(self, op_type: str) -> Sequence[Listed]:
        """The rules for an operator."""
        return self._rules.get(op_type, ())


class Table:
    """The rules of several sets, looked up by domain and operator."""

    def __init__(self, sets: Iterable[RewriteSet], is_wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._sets = tuple(sets)
        self._is_wanted = is_wanted
        self._found: dict[tuple[str, str, int], tuple[Listed, ...]] = {}

    @property
    def steps(self) -> tuple[Step, ...]:
        """The graph-level passes, in order."""
        return tuple(step for rules in self._sets for step in rules.steps if self._is_wanted(step.name))

    def find(self, domain: str, op_type: str, version: int) -> tuple[Listed, ...]:
        """The rules for a node, in order of precedence."""
        key = (domain, op_type, version)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(
                listed
                for rules in self._sets
                for listed in (*(rules.of(op_type) if rules.domain == domain else ()), *rules.of(ANY))
                if listed.since <= version and self._is_wanted(listed.name)
            )
        return found
