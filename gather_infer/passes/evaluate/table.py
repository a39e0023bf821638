"""How an operator is evaluated and how its evaluator is found: a table, like that of the shape rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onnx import AttributeProto, NodeProto

from gather_infer.errors import SpecViolation
from gather_infer.passes.evaluate.constant import Constant


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One node with the constants that it is given.

    inputs  a constant per input; None for one that is left out
    """

    node: NodeProto
    inputs: Sequence[Constant | None]

    def two(self) -> tuple[Constant, Constant]:
        """Data and indices. Raises SpecViolation unless there are just these."""
        if len(self.inputs) != 2 or self.inputs[0] is None or self.inputs[1] is None:
            raise SpecViolation(f"{self.node.op_type} takes 2 inputs, has {len(self.inputs)}", "GI107")
        return self.inputs[0], self.inputs[1]

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = (int(a.i) for a in self.node.attribute if a.name == name and a.type == AttributeProto.INT)
        return next(found, default)


Evaluator: TypeAlias = Callable[[Evaluation], list[Constant]]
"""The results of a node, in order. Raises SpecViolation when the node fails in every run."""


class EvaluatorSet:
    """The evaluators of one domain; one per change of behaviour, found by the newest `since <= version`."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self._evaluators: dict[str, list[tuple[int, Evaluator]]] = {}

    def evaluates(self, op_type: str, *, since: int = 1) -> Callable[[Evaluator], Evaluator]:
        """Decorator: the function evaluates `op_type` from version `since` on."""

        def add(function: Evaluator) -> Evaluator:
            versions = self._evaluators.setdefault(op_type, [])
            if any(s == since for s, _ in versions):
                raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two evaluators since {since}")
            versions.append((since, function))
            versions.sort(key=lambda entry: -entry[0])
            return function

        return add

    def find(self, op_type: str, version: int) -> Evaluator | None:
        """The evaluator in force at `version`, or None."""
        return next((e for since, e in self._evaluators.get(op_type, ()) if since <= version), None)
