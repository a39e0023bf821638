"""Evaluators of operators: their interface, and the tables in which they are looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from onnx import NodeProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.model.attributes import attribute_of
from gather_infer.node_facts import NodeAttributes


@dataclass(frozen=True, slots=True)
class Evaluation(NodeAttributes):
    """The argument of an evaluator: a node and its constant inputs.

    inputs   a constant per input; None for an input that is left out
    version  the opset version of the domain of the node
    """

    node: NodeProto
    inputs: Sequence[Constant | None]
    version: int

    def data_and_indices(self) -> tuple[Constant, Constant]:
        """The inputs `data` and `indices`. Raises SpecViolation unless the node has exactly two inputs."""
        if len(self.inputs) != 2 or self.inputs[0] is None or self.inputs[1] is None:
            raise SpecViolation(f"{self.node.op_type} takes 2 inputs, has {len(self.inputs)}", "GI107")
        return self.inputs[0], self.inputs[1]

    def input(self, index: int) -> Constant:
        """The required input `index`. Raises SpecViolation if the node leaves it out."""
        found = self.constant(index)
        if found is None:
            raise SpecViolation(f"input {index} of {self.node.op_type} is missing", "GI107")
        return found

    def constant(self, index: int) -> Constant | None:
        """Input `index`; None if the node leaves it out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def attr(self, name: str, default: Any = None) -> Any:
        return attribute_of(self.node, name, default)


Evaluator: TypeAlias = Callable[[Evaluation], list[Constant] | None]
"""Returns the outputs of a node, in order; None if they are not known exactly, or runtimes disagree on them.

Raises SpecViolation if the node fails in every run.
"""


class EvaluatorSet:
    """The evaluators of one operator domain. An operator has one for each version that changes its behaviour."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self._evaluators: dict[str, list[tuple[int, Evaluator]]] = {}

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the operators that have an evaluator for at least one version."""
        return tuple(self._evaluators)

    def evaluates(self, op_type: str, *, since: int = 1) -> Callable[[Evaluator], Evaluator]:
        """Decorator: registers the evaluator of `op_type` from version `since` on."""

        def add(function: Evaluator) -> Evaluator:
            versions = self._evaluators.setdefault(op_type, [])
            if any(s == since for s, _ in versions):
                raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two evaluators since {since}")
            versions.append((since, function))
            versions.sort(key=lambda entry: -entry[0])
            return function

        return add

    def find(self, op_type: str, version: int) -> Evaluator | None:
        """The evaluator of `op_type` with the largest `since <= version`; None if there is none."""
        return next((e for since, e in self._evaluators.get(op_type, ()) if since <= version), None)
