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
from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Graph, Node
from gather_infer.node_facts import NodeFacts
from gather_infer.tensor import DType, Shape, Value


@dataclass(slots=True, eq=False)
class TermView(NodeFacts):
    """A node with its operands as tensors of terms. Not `frozen`, as terms are not.

    operands    per input; None for an input that is left out
    dtype       the element type of the first output
    shapes      of the outputs, in the symbols of the proof
    attributes  with the defaults of the operator
    known       graph and name of a value -> the fact about it, in the symbols of the proof
    constant    graph and name of a value -> its elements if they are constant
    """

    node: Node
    pool: TermPool
    operands: Sequence[Operand]
    dtype: DType | None
    shapes: Sequence[Shape | None]
    attributes: Mapping[str, Any]
    known: Callable[[Graph, str], Value | None]
    constant: Callable[[Graph, str], Constant | None]

    @property
    def version(self) -> int:
        return self.node.version

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def value(self, index: int) -> Value | None:
        name = self.node.inputs[index] if index < len(self.node.inputs) else ""
        return self.known(self.node.graph, name) if name else None

    def array(self, index: int) -> npt.NDArray[Any] | None:
        name = self.node.inputs[index] if index < len(self.operands) else ""
        home = self.node.graph.defining_graph(name) if name else None
        constant = None if home is None else self.constant(home, name)
        return None if constant is None else constant.to_indices()

    def operand(self, index: int) -> Tensor | None:
        """Input `index` as a tensor of known rank, else None."""
        found = self.operands[index] if index < len(self.operands) else None
        return found if isinstance(found, Tensor) else None

    @property
    def result_shape(self) -> Shape:
        """The shape of the first output, whose rank is known."""
        shape = self.shapes[0]
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
