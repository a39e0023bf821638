"""A rewrite as a value: the law that it follows, what takes the place of what, and what it costs; tables of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx import NodeProto

from gather_infer.passes.evaluate.constant import Constant
from gather_infer.symbolic import Dim

if TYPE_CHECKING:
    from gather_infer.passes.draft import Graph
    from gather_infer.passes.site import Site

ANY = ""
"""The operator of a rule that is asked about every node."""


class Cost(NamedTuple):
    """What a rewrite adds to a model; negative where it takes away.

    nodes           Constants not counted
    run_bytes       read and written by nodes in each run, constants of up to 64 elements not counted; None where that
                    is not known
    constant_bytes  of initializers and Constants
    """

    nodes: int = 0
    run_bytes: Dim | None = 0
    constant_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Values in the place of others, that hold the same in every run in which the model does not fail.

    law        the equation behind it, in words
    values     output of the node -> the value that takes its place: one of the model, of `nodes` or of `constants`
    merged     initializer that the node reads -> a constant that takes its place for all who read it
    body       graph of the node whose nodes take its place: `values` and `nodes` know what it defines by its own names
    bound      input of that graph -> the value that takes its place
    nodes      new ones, in order; they stand right before the node
    constants  new ones, by name
    is_exact   the new value is known bit for bit; False where runtimes may differ in the last places
    """

    law: str
    values: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    body: Graph | None = None
    bound: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[NodeProto, ...] = ()
    constants: Mapping[str, Constant] = field(default_factory=dict)
    is_exact: bool = True


Rule: TypeAlias = "Callable[[Site], Rewrite | None]"
"""What may take the place of a node; None where the rule has nothing to say."""


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


class RewriteSet:
    """Rules that rewrite operators of one domain, in the order in which they are asked.

    A rule sees one node as a `Site` and returns a `Rewrite` or None. The engine drops a rewrite that would add nodes or
    bytes that are read and written in a run; see `engine`.
    """

    def __init__(self, domain: str = "") -> None:
        self.domain = domain
        self._rules: dict[str, list[Listed]] = {}

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

    def listed(self) -> Iterable[Listed]:
        """Every rule."""
        for rules in self._rules.values():
            yield from rules

    def of(self, op_type: str) -> Sequence[Listed]:
        """The rules for an operator."""
        return self._rules.get(op_type, ())


class Table:
    """The rules of several sets, found by domain and operator."""

    def __init__(self, sets: Iterable[RewriteSet], is_wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._sets = tuple(sets)
        self._is_wanted = is_wanted
        self._found: dict[tuple[str, str, int], tuple[Listed, ...]] = {}

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
