"""The view of a node from which its outputs are translated to tensors of terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from gather_infer.equality.frames import Frame
from gather_infer.equality.pieces import rearranged
from gather_infer.equality.pool import TermPool
from gather_infer.equality.terms import Operand, Tensor, Term
from gather_infer.ir.graph import Node
from gather_infer.node_facts import NodeFacts
from gather_infer.tensor import DType, Shape, SymbolicTensor, Value


@dataclass(frozen=True, slots=True)
class TermView(NodeFacts):
    """A node with its operands as tensors of terms.

    operands    per input; None for an input that is left out
    results     types and shapes of the outputs, in the symbols of the proof
    attributes  with the defaults of the operator
    read        position of an input -> the fact about it, in the symbols of the proof
    load        position of an input -> its elements if it is an integer constant
    """

    node: Node
    pool: TermPool
    operands: Sequence[Operand]
    results: Sequence[SymbolicTensor]
    attributes: Mapping[str, Any]
    read: Callable[[int], Value | None]
    load: Callable[[int], npt.NDArray[Any] | None]

    @property
    def version(self) -> int:
        return self.node.version

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def value(self, index: int) -> Value | None:
        return self.read(index) if index < len(self.node.inputs) and self.node.inputs[index] else None

    def array(self, index: int) -> npt.NDArray[Any] | None:
        return self.load(index) if index < len(self.operands) else None

    def operand(self, index: int) -> Tensor | None:
        """Input `index` as a tensor of known rank, else None."""
        found = self.operands[index] if index < len(self.operands) else None
        return found if isinstance(found, Tensor) else None

    @property
    def dtype(self) -> DType | None:
        """The element type of the first output."""
        return self.results[0].dtype

    @property
    def result_shape(self) -> Shape:
        """The shape of the first output, whose rank is known."""
        shape = self.results[0].shape
        assert shape is not None, "an operator of unknown rank is a call"
        return shape

    @property
    def frame(self) -> Frame:
        """The frame of the first output."""
        return self.pool.frame(self.result_shape)

    def result(self, term: Term) -> Tensor:
        """The first output, with one term for all elements."""
        return self.pool.tensor(self.dtype, self.result_shape, term)

    def moved(self, data: Tensor, index: Sequence[Any]) -> Tensor:
        """The first output, whose elements are those of `data` at `index`."""
        return rearranged(self.pool, data, self.dtype, self.result_shape, index)
