"""The accessors that all views of a node share: attributes, and facts about inputs.

The views are `OpCall` (of rules), `Work` (cost formulas), `TransferContext` (provenance), `NodeView` (rewrites),
`LayerView` (lowerings), `TermView` (proofs of equality), `RowStep` (independence of rows) and `Evaluation` (constant
folding). A view that requires a fact overrides its accessor with one that raises an exception of its own where the fact
is unknown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy.typing as npt

from gather_infer.errors import SpecViolation
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import UNKNOWN, Shape, SymbolicTensor, Value

T = TypeVar("T")


class NodeAttributes(ABC):
    """A node with its attributes."""

    __slots__ = ()

    @abstractmethod
    def attr(self, name: str, default: Any = None) -> Any:
        """The value of attribute `name` (int, float, str, or a tuple of these); `default` if it is absent."""

    def typed_attr(self, name: str, kind: type[T]) -> T | None:
        """The value of attribute `name`, an instance of `kind`; None if it is absent or of another type."""
        value = self.attr(name)
        return value if isinstance(value, kind) else None

    def integer(self, name: str, default: int = 0) -> int:
        """The integer attribute `name`; `default` if it is absent or of another type."""
        value = self.attr(name)
        return value if isinstance(value, int) else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The elements of attribute `name`, a list of integers; None if it is absent or of another type."""
        value = self.attr(name)
        return value if isinstance(value, tuple) and all(isinstance(element, int) for element in value) else None

    def text(self, name: str, default: str = "") -> str:
        """The string attribute `name`; `default` if it is absent or of another type."""
        value = self.attr(name)
        return value if isinstance(value, str) else default


class NodeFacts(NodeAttributes):
    """A node with its attributes and the facts about its inputs."""

    __slots__ = ()

    @abstractmethod
    def value(self, index: int) -> Value | None:
        """The fact about input `index`, of any kind; None if the input is omitted."""

    def array(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of input `index` if it is an integer constant of the model, read from the file; else None."""
        return None

    def has(self, index: int) -> bool:
        """Whether input `index` is present, that is, not omitted."""
        return self.value(index) is not None

    def fact(self, index: int) -> SymbolicTensor:
        """The fact about input `index`; an unknown one if the input is omitted or is not a dense tensor."""
        value = self.value(index)
        return value if isinstance(value, SymbolicTensor) else UNKNOWN

    def tensor(self, index: int) -> SymbolicTensor:
        """Input `index` as a dense tensor.

        Raises SpecViolation when the input is missing or is a sequence, an optional, a map or sparse.
        """
        value = self.value(index)
        if value is None:
            raise SpecViolation(f"input {index} is missing", "GI107")
        if not isinstance(value, SymbolicTensor):
            raise SpecViolation(f"input {index} must be a tensor, is {value}", "GI211")
        return value

    def optional_tensor(self, index: int) -> SymbolicTensor | None:
        """As `tensor`, but None when the input is omitted."""
        return self.tensor(index) if self.has(index) else None

    def shape(self, index: int) -> Shape | None:
        """The shape of input `index`; None if its rank is unknown."""
        return self.fact(index).shape

    def rank(self, index: int) -> int | None:
        """The rank of input `index`; None if it is unknown."""
        return self.fact(index).rank

    def only_element(self, index: int) -> Dim | None:
        """The element of a one-element integer input; None when it is unknown, or for any other input."""
        return self.fact(index).only_integer

    def elements(self, index: int) -> tuple[Dim, ...] | None:
        """All elements of integer input `index` in row-major order, as numbers or dims; None if one is unknown."""
        fact = self.fact(index)
        if fact.dtype is None or not fact.dtype.is_integer:
            return None
        known = self.array(index) if fact.values is None else fact.values
        if known is None:
            return None
        found = tuple(known.ravel().tolist())
        return found if all(isinstance(element, (int, Expr)) for element in found) else None

    def integers_of(self, index: int) -> tuple[int, ...] | None:
        """As `elements`, but None unless all elements are numbers."""
        found = self.elements(index)
        if found is None:
            return None
        numbers = tuple(element for element in found if isinstance(element, int))
        return numbers if len(numbers) == len(found) else None

    def axis(self, rank: int | None, default: int = 0) -> int | None:
        """The attribute `axis`, counted from the first of `rank` axes.

        None when it is out of range, or negative for an unknown rank.
        """
        axis = self.integer("axis", default)
        if rank is None:
            return axis if axis >= 0 else None
        return axis % rank if -rank <= axis < rank else None
