"""Evaluators of operators: their interface, and the tables in which they are looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from onnx import NodeProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.model.attributes import attribute_of
from gather_infer.node_facts import NodeAttributes
from gather_infer.versioned import VersionedTable


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


class RegisteredEvaluator(NamedTuple):
    """The evaluator of an operator from opset version `since` on."""

    since: int
    evaluator: Evaluator


class EvaluatorSet(VersionedTable[RegisteredEvaluator]):
    """The evaluators of one operator domain. An operator has one for each version that changes its behaviour."""

    def __init__(self, domain: str) -> None:
        super().__init__(domain, "evaluators")

    def evaluates(self, op_type: str, *, since: int = 1) -> Callable[[Evaluator], Evaluator]:
        """Decorator: registers the evaluator of `op_type` from version `since` on."""

        def add(function: Evaluator) -> Evaluator:
            self._add(op_type, RegisteredEvaluator(since, function))
            return function

        return add
