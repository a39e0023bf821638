"""Cost formulas: the view of a node that a formula reads, and the table of formulas of a domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gather_infer.node_facts import NodeFacts
from gather_infer.rules import MacsFormula
from gather_infer.symbolic import Dim, product
from gather_infer.tensor import Shape, SparseTensor, SymbolicTensor, Value


class CostUnknown(Exception):
    """The cost of a node is unknown, for the reason in the text; the counter catches it and lists the node."""


@dataclass(frozen=True, slots=True)
class Work(NodeFacts):
    """The view of a node that a cost formula reads.

    inputs      inferred type of each input; None if it is omitted or has no inferred type
    outputs     inferred type of each output; None likewise
    attributes  attribute values by name, without graphs
    version     imported opset version of the node's domain
    """

    op_type: str
    inputs: Sequence[Value | None]
    outputs: Sequence[Value | None]
    attributes: Mapping[str, Any]
    version: int = 0

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def value(self, index: int) -> Value | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def shape(self, index: int, rank: int | None = None) -> Shape:
        """The shape of input `index`. Raises CostUnknown if it is unknown or does not have the given rank."""
        return _shape(self.inputs, index, rank, "input")

    def result(self, index: int = 0, rank: int | None = None) -> Shape:
        """The shape of output `index`. Raises CostUnknown if it is unknown or does not have the given rank."""
        return _shape(self.outputs, index, rank, "output")

    def output_elements(self) -> Dim:
        """Number of elements of output 0. Raises CostUnknown if its shape is unknown."""
        return product(self.result())

    def only_element(self, index: int) -> Dim:
        """The only element of an integer input. Raises CostUnknown if it is unknown."""
        found = NodeFacts.only_element(self, index)
        if found is None:
            raise CostUnknown(f"the number in input {index} is not known")
        return found

    def integers_of(self, index: int) -> tuple[int, ...]:
        """The elements of an integer input. Raises CostUnknown unless all are known numbers."""
        found = NodeFacts.integers_of(self, index)
        if found is None:
            raise CostUnknown(f"the numbers in input {index} are not known")
        return found


def _shape(values: Sequence[Value | None], index: int, rank: int | None, kind: str) -> Shape:
    fact = values[index] if index < len(values) else None
    if fact is None:
        raise CostUnknown(f"{kind} {index} is left out")
    if not isinstance(fact, (SymbolicTensor, SparseTensor)) or fact.shape is None:
        raise CostUnknown(f"the shape of {kind} {index} is not known")
    if rank is not None and len(fact.shape) != rank:
        raise CostUnknown(f"{kind} {index} has rank {len(fact.shape)} instead of {rank}")
    return fact.shape


def last(shape: Shape, axis: int = -1) -> Dim:
    """The dim of `shape` at `axis`. Raises CostUnknown if the rank is too small."""
    if not -len(shape) <= axis < len(shape):
        raise CostUnknown(f"a tensor of rank {len(shape)} has no axis {axis}")
    return shape[axis]


Macs: TypeAlias = Callable[[Work], Dim]


PAGES: Final[Mapping[str, str]] = {
    "": "https://onnx.ai/onnx/operators/onnx__{}.html",
    "ai.onnx.preview": "https://onnx.ai/onnx/operators/onnx_aionnxpreview_{}.html",
    "ai.onnx.ml": "https://onnx.ai/onnx/operators/onnx_aionnxml_{}.html",
    "com.microsoft": "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.{}",
    "openvino": (
        "https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs.html#{}"
    ),
}
"""URL of an operator's page, by domain."""


class Formulas:
    """Formulas of one domain by operator; `zero_cost` lists the operators without multiply-adds."""

    def __init__(self, domain: str, zero_cost: Iterable[str] = ()) -> None:
        self.domain = domain
        self.zero_cost = frozenset(zero_cost)
        self._formulas: dict[str, MacsFormula] = {}

    def counts(self, *op_types: str, text: str) -> Callable[[Macs], Macs]:
        """A decorator that registers a function as the formula of `op_types`; `text` is the formula as text."""

        def add(function: Macs) -> Macs:
            for op_type in op_types:
                assert op_type not in self._formulas, f"{op_type} has one formula"
                assert op_type not in self.zero_cost, f"{op_type} has a formula or zero cost"
                self._formulas[op_type] = MacsFormula(text, PAGES[self.domain].format(op_type), function)
            return function

        return add

    def find(self, op_type: str) -> MacsFormula | None:
        """The formula of an operator; None if it has none."""
        return self._formulas.get(op_type)

    @property
    def op_types(self) -> Iterable[str]:
        """Operators that have a formula, sorted."""
        return sorted(self._formulas)
