"""Tables of rewriting rules: how a rule is written down and found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gather_infer.passes.draft import Graph
from gather_infer.passes.rewrite import Arrangement, Rewrite
from gather_infer.passes.site import Site
from gather_infer.passes.view import Surroundings

ANY = ""
"""The operator of a rule that is asked about every node."""

Rule: TypeAlias = Callable[[Site], "Rewrite | None"]
"""What may take the place of a node; None where the rule has nothing to say."""


Arranging: TypeAlias = Callable[[Surroundings, Graph], "Arrangement | None"]
"""What may be arranged anew in a graph on which no rule has anything more to say."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A rule in a table.

    name      as `--passes` and `--skip` have it
    since     the opset version of the operator from which on it is asked
    """

    name: str
    op_type: str
    since: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Step:
    """What is asked about whole graphs, once no rule has anything more to say of a node."""

    name: str
    arranging: Arranging


class RewriteSet:
    """Rules that rewrite operators of one domain, in the order in which they are asked.

    A rule sees one node as a `Site` and returns a `Rewrite` or None. The engine drops a rewrite that would add nodes or
    bytes that are read and written in a run; see `engine`.
    """

    def __init__(self, domain: str = "") -> None:
        self.domain = domain
        self._rules: dict[str, list[Listed]] = {}
        self._steps: list[Step] = []

    def rewrites(self, *op_types: str, since: int = 1, name: str = "") -> Callable[[Rule], Rule]:
        """Decorator: the function is asked about nodes of these operators; without any, about every node.

        since   opset version from which on it is asked
        name    of the rule, that of the function unless it is given
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
        """Decorator: the function is asked about each graph once no rule has anything to say of a node."""
        self._steps.append(Step(name or function.__name__.strip("_").replace("_", "-"), function))
        return function

    def listed(self) -> Iterable[Listed | Step]:
        """Every rule, then every step."""
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
    """The rules of several sets, found by domain and operator."""

    def __init__(self, sets: Iterable[RewriteSet], is_wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._sets = tuple(sets)
        self._is_wanted = is_wanted
        self._found: dict[tuple[str, str, int], tuple[Listed, ...]] = {}

    @property
    def steps(self) -> tuple[Step, ...]:
        """What to ask about whole graphs, in order."""
        return tuple(step for rules in self._sets for step in rules.steps if self._is_wanted(step.name))

    def find(self, domain: str, op_type: str, version: int) -> tuple[Listed, ...]:
        """The rules to ask about a node, in order."""
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
