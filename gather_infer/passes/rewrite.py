"""A rewrite as a value: the law that it follows, what takes the place of what, and what it costs; tables of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx import NodeProto

from gather_infer.passes.evaluate.constant import Constant
from gather_infer.symbolic import Dim
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.passes.draft import Graph, Node
    from gather_infer.passes.engine import Engine
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
    nodes      new ones, in order; they stand right before the node
    constants  new ones, by name
    is_exact   the new value is known bit for bit; False where runtimes may differ in the last places
    """

    law: str
    values: Mapping[str, str]
    nodes: tuple[NodeProto, ...] = ()
    constants: Mapping[str, Constant] = field(default_factory=dict)
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Nodes of a graph that read other values than they did, all at once: each alone would not be worth it.

    law        as that of a `Rewrite`
    name       of the first value that another one takes the place of
    cost       that of all of it
    nodes      new ones, in order, each with the node before which it stands and what is known of its outputs
    constants  new ones, by name
    inputs     a node, which of its inputs, and the value that it reads there
    renamed    a value of the model or a new one -> the output of the graph whose place and name it takes
    """

    law: str
    name: str
    cost: Cost
    nodes: tuple[tuple[NodeProto, Node, tuple[Value, ...]], ...]
    constants: Mapping[str, Constant]
    inputs: tuple[tuple[Node, int, str], ...]
    renamed: Mapping[str, str]


Arranging: TypeAlias = "Callable[[Engine, Graph], Arrangement | None]"
"""What may be arranged anew in a graph on which no rule has anything more to say."""

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

    def arranges(self, function: Arranging) -> Arranging:
        """Decorator: the function is asked about each graph once no rule has anything to say of a node."""
        self._steps.append(Step(function.__name__.strip("_").replace("_", "-"), function))
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
