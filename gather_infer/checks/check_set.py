"""Checks of the user: functions of an inference that report problems, collected in named sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Final, TypeAlias

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.extensions import guarded
from gather_infer.inference import Inference
from gather_infer.node_ids import MAIN

CODE: Final = "GI601"
"""The code of all problems that checks of the user report."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a model, as a check of the user reports it.

    message  what is wrong, what is allowed, and what was found
    node     position of the node in the main graph, `model.graph.node`; None if the problem has no node
    value    name of the value, if the problem is about one
    detail   facts that explain the problem, a line each
    """

    message: str
    node: int | None = None
    value: str = ""
    detail: tuple[str, ...] = ()


CheckFunction: TypeAlias = Callable[[Inference], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class UserCheck:
    """A check in a set; `name` includes the name of the set: `acme/no-dropout`."""

    name: str
    severity: Severity
    function: CheckFunction


class CheckSet:
    """Named checks of the user, for `check(checks=[...])`. Their findings have the code GI601; see docs/extensions.md.

    >>> checks = gather_infer.CheckSet("acme")
    >>> add = checks.check("names", severity=gather_infer.Severity.ERROR)
    >>> _ = add(lambda inference: [gather_infer.Problem(f"inputs {', '.join(inference.inputs)}")])
    >>> result = gather_infer.check("fixtures/bert-torchscript.onnx", checks=[checks])
    >>> print(result.errors[0].message)
    acme/names: inputs input_ids, attention_mask, token_type_ids
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: list[UserCheck] = []

    def check(
        self, name: str = "", *, severity: Severity = Severity.WARNING
    ) -> Callable[[CheckFunction], CheckFunction]:
        """Decorator: adds a function that receives an `Inference` and yields a `Problem` for each problem.

        name      name of the check in messages; by default that of the function, with dashes
        severity  severity of its findings
        """

        def add(function: CheckFunction) -> CheckFunction:
            title = name or function.__name__.strip("_").replace("_", "-")
            self.entries.append(UserCheck(f"{self.name}/{title}", severity, function))
            return function

        return add


def user_findings(sets: Iterable[CheckSet], inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """The findings of the user's checks.

    Raises UsageError if a check raises an exception or reports anything but a Problem of this model.
    """
    for check in (entry for each in sets for entry in each.entries):
        for problem in _problems(check, inference):
            where = Location(value=problem.value)
            if problem.node is not None:
                where = locations.location(MAIN, problem.node, problem.value)
            message = f"{check.name}: {problem.message}"
            yield diagnostic(CODE, message, where, detail=problem.detail, severity=check.severity)


def _problems(check: UserCheck, inference: Inference) -> list[Problem]:
    return guarded(_listed(check.function), lambda _: f"check {check.name}", _fault, ())(inference)


def _listed(function: CheckFunction) -> Callable[[Inference], list[Problem]]:
    """`function`, with all its problems in a list: a generator runs, and may fail, when it is iterated."""

    @wraps(function)
    def call(inference: Inference) -> list[Problem]:
        return list(function(inference))

    return call


def _fault(found: list[Problem], inference: Inference) -> str:
    number = len(inference.model.proto.graph.node)
    for each in found:
        if not isinstance(each, Problem):
            return f"must yield objects of class Problem, yields {each!r}"
        if each.node is not None and not 0 <= each.node < number:
            return f"must report nodes in [0, {number - 1}], reports node {each.node}"
    return ""
