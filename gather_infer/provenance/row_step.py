"""A node in the analysis of rows: its facts, the states of its inputs, and the checks that transfer functions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto

from gather_infer.inference.inferred_graphs import InferredNode
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.model.attributes import decoded
from gather_infer.node_facts import NodeFacts
from gather_infer.provenance.states import (
    ComponentsFirst,
    Kind,
    Lost,
    RowNumber,
    Rows,
    RowsLost,
    State,
    lost_of,
    rows_of,
)
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols
from gather_infer.tensor import Ratio, Shape, SymbolicTensor, Value

MAX_CONSTANT: Final = 1 << 20
"""Maximal number of elements of a constant that is read to compare its rows."""


@dataclass(frozen=True, slots=True)
class RowBatch:
    """The batch: its size `rows`, a symbol or a number of at least 2, and the symbols that depend on no row.

    axes    the axis of the rows of each input that has them
    fixed   generated symbols that are equal in all runs that differ in rows alone
    """

    rows: Dim
    axes: dict[str, int]
    fixed: set[str]
    causes: Any
    scope: Scope

    def counts_rows(self, dim: Dim) -> bool:
        """Whether a dim depends on the number of rows; False for a fixed number of rows, which no dim depends on."""
        return isinstance(self.rows, Expr) and not free_symbols(dim).isdisjoint(self.rows.symbols)

    def is_fixed(self, dim: Dim) -> bool:
        """Whether a dim depends on no element of a row. It may depend on the number of rows."""
        return all(self._is_fixed(name) for name in free_symbols(dim))

    def _is_fixed(self, name: str) -> bool:
        cause = self.causes.get(name)
        if cause is None or name in self.fixed:
            return True
        # a function of dims; it must not hide the number of rows
        if cause.data_dependent or not cause.operands:
            return False
        if isinstance(self.rows, Expr) and not self.rows.symbols.isdisjoint(cause.operands):
            return False
        return all(self._is_fixed(operand) for operand in cause.operands)


@dataclass(frozen=True, slots=True, eq=False)
class RowStep(NodeFacts):
    """One node, with the states of its inputs; None for an omitted input."""

    place: InferredNode
    op: ResolvedOp
    batch: RowBatch
    states: Sequence[State | None]
    load: Callable[[str], npt.NDArray[Any] | None]

    def with_states(self, states: Sequence[State | None]) -> RowStep:
        return replace(self, states=states)

    @property
    def op_type(self) -> str:
        return self.place.node.op_type

    @property
    def version(self) -> int:
        return self.op.version

    @property
    def inputs(self) -> range:
        return range(len(self.states))

    @property
    def outputs(self) -> range:
        return range(len(self.place.node.output))

    def attr(self, name: str, default: Any = None) -> Any:
        for attribute in self.place.node.attribute:
            if attribute.name == name:
                found: AttributeProto | None = attribute
                if attribute.ref_attr_name:
                    found = self.place.graph.attributes.get(attribute.ref_attr_name)
                return default if found is None else decoded(found)
        return default

    def value(self, index: int) -> Value | None:
        names = self.place.node.input
        if index >= len(names) or not names[index]:
            return None
        return self.place.graph.fact(names[index])

    def array(self, index: int) -> npt.NDArray[Any] | None:
        fact = self.fact(index)
        if fact.dtype is None or not fact.dtype.is_integer:
            return None
        return self.constant(index)

    def constant(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of a constant input; None for a large one, or for another type than integers and float32."""
        size = self.fact(index).size
        if size is None or size > MAX_CONSTANT:
            return None
        return self.load(self.place.node.input[index])

    def result(self, output: int) -> SymbolicTensor:
        """The fact about an output; an unknown one if the output is not a dense tensor."""
        name = self.place.node.output[output]
        fact = self.place.graph.values.get(name) if name else None
        return fact if isinstance(fact, SymbolicTensor) else SymbolicTensor()

    def result_shape(self, output: int = 0) -> Shape:
        """The shape of an output. Raises RowsLost if its rank is unknown."""
        shape = self.result(output).shape
        if shape is None:
            raise self.not_understood("its rank is unknown")
        return shape

    def input_shape(self, index: int) -> Shape:
        """The shape of an input. Raises RowsLost if its rank is unknown."""
        shape = self.shape(index)
        if shape is None:
            raise self.not_understood(f"the rank of input {index} is unknown")
        return shape

    def rows(self, index: int) -> Rows:
        """The state of an input. Raises RowsLost if it is mixed or unknown."""
        state = self.states[index] if index < len(self.states) else None
        if state is None:
            raise self.unknown(f"input {index} is missing")
        return rows_of(state)

    def blocked(self, kind: Kind, reason: str) -> RowsLost:
        return RowsLost(Lost(kind, self.place.path, self.op_type, reason))

    def mixed(self, reason: str) -> RowsLost:
        return self.blocked(Kind.ROWS, reason)

    def unknown(self, reason: str) -> RowsLost:
        return self.blocked(Kind.UNKNOWN, reason)

    def not_understood(self, reason: str) -> RowsLost:
        """The state of an input that blocks, a mixed one first; else that of this node."""
        blocked = [lost for state in self.states if state is not None and (lost := lost_of(state)) is not None]
        return RowsLost(min(blocked, key=lambda state: not state.mixes)) if blocked else self.unknown(reason)

    def require_parameter(self, index: int) -> None:
        """Raise RowsLost unless the elements of an optional input are equal for every row, and number, of rows."""
        if index >= len(self.states) or self.states[index] is None:
            return
        fact = self.fact(index)
        if fact.values is not None and all(is_constant(element, self.batch) for element in fact.values.flat):
            return
        state = self.rows(index)
        if not state.constant or state.has_numbers:
            raise self.unknown(f"input {index} depends on rows")
        if not all(self.batch.is_fixed(dim) for dim in fact.shape or ()):
            raise self.unknown(f"the size of input {index} depends on elements")
        if state.counted is not None:
            raise self.blocked(Kind.COUNT, f"input {index} depends on the number of rows")
        if state.digit is not None and state.digit.axis not in state.flat:
            raise self.unknown(f"input {index} has rows")

    def number_of(self, index: int) -> RowNumber:
        """The elements of an input as a row number; of coefficient 0 and with the bounds of its facts if it has none.

        Raises RowsLost if the columns differ.
        """
        state = self.rows(index)
        if state.columns is not None:
            raise self.blocked(Kind.NUMBER, "it computes with the numbers of rows")
        if state.number is not None:
            return state.number
        known = self.fact(index)
        element = known.only_integer
        if element is not None:
            return RowNumber(0, element, element)
        found = None if known.values is None else _between(known.values.ravel().tolist())
        bounds = known.value_range
        return found or (RowNumber(0) if bounds is None else RowNumber(0, bounds.lo, bounds.hi))

    def number_in_column(self, index: int, column: int, width: int, axis: int) -> RowNumber:
        """As `number_of`, of the elements with one index of `axis`, the last one or the first one, which has `width`.

        Raises RowsLost if that axis of the input is neither that one nor of size 1.
        """
        state, shape, rank = self.states[index], self.input_shape(index), len(self.result_shape())
        place = axis - (rank - len(shape))
        if isinstance(state, ComponentsFirst):
            if axis != 0 or len(shape) != rank or state.tuples.columns is None:
                raise self.blocked(Kind.NUMBER, "it computes with the numbers of rows")
            return state.tuples.columns[column] or RowNumber(0)
        if place < 0 or shape[place] == 1:
            return self.number_of(index)
        state = self.rows(index)
        if shape[place] != width:
            raise self.blocked(Kind.NUMBER, "it computes with the numbers of rows")
        if state.columns is not None:
            if axis != rank - 1:
                raise self.blocked(Kind.NUMBER, "it computes with the numbers of rows")
            return state.columns[column] or RowNumber(0)
        found = None
        if state.number is None and (elements := self._known_elements(index)) is not None:
            found = _between(np.take(elements, column, place).ravel().tolist())
        return found or self.number_of(index)

    def _known_elements(self, index: int) -> npt.NDArray[Any] | None:
        values = self.fact(index).values
        return self.array(index) if values is None else values


def _between(elements: Sequence[object]) -> RowNumber | None:
    """Integers that carry no row number; None if there are none, or if one is not known."""
    integers = [element for element in elements if type(element) is int]
    return RowNumber(0, min(integers), max(integers)) if integers and len(integers) == len(elements) else None


def is_constant(element: object, batch: RowBatch) -> bool:
    """Whether a known element depends neither on a row nor on the number of rows; False for an unknown element."""
    if isinstance(element, Ratio):
        element = element.num
    if isinstance(element, Expr):
        return batch.is_fixed(element) and not batch.counts_rows(element)
    return element is not None
