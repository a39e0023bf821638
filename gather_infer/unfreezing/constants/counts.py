"""Counts and sums along a length, and constants that they meet: a number there may be the old size, or follow it.

A mean is a sum divided by the number of positions. The capacity of an expert, with which the places of its tokens are
compared, is the number of tokens, or a part of it. Exporters write such numbers as constants, which no shape
contradicts at another length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import product
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.constants.coinciding_numbers import is_one_of, number_of, numbers_of
from gather_infer.unfreezing.factors.axis_factors import Factors, is_free
from gather_infer.unfreezing.factors.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_MOVING: Final = frozenset(
    {"Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose", "Expand", "Slice", "Split",
     "Gather", "GatherElements", "GatherND", "Tile", "Concat", "Where"}
)  # fmt: skip
_COUNTING: Final = _MOVING | {"Add", "Sub", "Mul", "Neg", "Abs", "Max", "Min", "Clip", "ReduceMax", "ReduceSum"}
_SUMMING: Final = _MOVING | {"Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt", "Reciprocal", "Log", "Exp", "Relu"}
_REDUCING: Final = frozenset(
    {"ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean"}
)
_SCALING: Final = frozenset({"Mul", "Div", "Mod"})
_SHIFTING: Final = frozenset({"Add", "Sub"})
_COMPARING: Final = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Min", "Max", "Clip"})
_MOST_PRODUCTS: Final = 32
_TAKING: Final = frozenset({"Gather", "GatherElements", "GatherND", "Slice", "Split", "Expand", "Reshape", "Tile",
                            "Squeeze", "Unsqueeze"})  # fmt: skip
"""Operators whose first input alone has the elements of the result."""


class Counts:
    """Values that are counted or summed along a length, each with the old numbers of positions."""

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._counts: dict[str, frozenset[int]] = {}
        self._sums: dict[str, frozenset[int]] = {}
        self._elements: dict[str, frozenset[int]] = {}

    def forget(self, names: Collection[str]) -> None:
        """Forget the values of a subgraph, whose names another one may have."""
        for name in names:
            self._counts.pop(name, None)
            self._sums.pop(name, None)
            self._elements.pop(name, None)

    def note(self, node: NodeProto) -> None:
        """Record what the outputs of a node count or sum."""
        if node.domain not in ("", "ai.onnx") or not node.input:
            return
        sizes = frozenset(self._summed(node))
        kind = self.walk.environment.values.get(node.input[0])
        is_integer = isinstance(kind, SymbolicTensor) and kind.dtype is not None and kind.dtype.is_integer
        read = node.input[:1] if node.op_type in _TAKING else node.input
        for known, operators, is_source in (
            (self._counts, _COUNTING, is_integer and node.op_type != "MatMul"),
            (self._sums, _SUMMING, node.op_type != "CumSum"),
            (self._elements, _SUMMING, node.op_type in ("MatMul", "Einsum")),
        ):
            made = frozenset(self._of_all_elements(node)) if is_source and known is self._elements else sizes
            found = made if is_source else frozenset[int]()
            if node.op_type in operators:
                found = found.union(*(known.get(name, frozenset()) for name in read))
            if found:
                known.update((name, found) for name in node.output if name)

    def _summed(self, node: NodeProto) -> Iterator[int]:
        """The old sizes of the axes that a node sums over, of which one is a length; and their product."""
        axes = self.walk.factors.get(node.input[0])
        if axes is None:
            return
        if node.op_type == "CumSum":
            given = self.walk.array(node.input[1])
            over = range(len(axes)) if given is None else [int(given.ravel()[0]) % len(axes)]
        elif node.op_type in _REDUCING:
            listed = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
            given = self.walk.array(node.input[1]) if len(node.input) > 1 and node.input[1] else None
            numbers = listed if given is None else given.ravel().tolist()
            over = range(len(axes)) if numbers is None else [int(axis) % len(axes) for axis in numbers]
        elif node.op_type == "MatMul":
            over = [len(axes) - 1]
        elif node.op_type in ("GlobalAveragePool", "GlobalLpPool"):
            over = range(2, len(axes))
        elif node.op_type in ("Softmax", "LogSoftmax", "LpNormalization"):
            over = [next((a.i for a in node.attribute if a.name == "axis"), -1) % len(axes)]
        elif node.op_type == "Einsum":
            over = self._contracted(node, len(axes))
        else:
            return
        held = [axes[axis] for axis in over]
        if any(self._has_length(factors) for factors in held):
            factors = [factor for each in held for factor in each]
            for dim in (*factors, product(factors)):
                if dim == product(factors) or self._has_length((dim,)):
                    yield from (size for size in values_of([dim], self.walk.samples.old) if size is not None)

    def _contracted(self, node: NodeProto, rank: int) -> list[int]:
        """The axes of the first operand of an Einsum that the result does not have."""
        equation = next((a.s.decode() for a in node.attribute if a.name == "equation"), "").replace(" ", "")
        operands, arrow, result = equation.partition("->")
        first = operands.split(",")[0]
        if not arrow or "." in equation or len(first) != rank:
            return list(range(rank))
        return [axis for axis, label in enumerate(first) if label not in result]

    def _of_all_elements(self, node: NodeProto) -> Iterator[int]:
        """The numbers of elements that a mean over positions and other axes divides by, such as `channels*height`."""
        for size in self._summed(node):
            others = {1}
            for name in node.input:
                fact = self.walk.environment.values.get(name)
                for dim in (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ():
                    old = next(values_of([dim], self.walk.samples.old))
                    if old is not None and 1 < old != size and len(others) < _MOST_PRODUCTS:
                        others |= {old * each for each in others}
            yield from (size * other for other in others - {1})

    def _has_length(self, factors: Factors) -> bool:
        lengths = {name: size for name, size in self.walk.freed.items() if name not in self.walk.row_symbols}
        return any(is_free(factor, lengths) for factor in factors)

    def problem(self, node: NodeProto) -> str:
        """Why a constant of a node may follow a length; "" if none does, or at smaller lengths without effect."""
        if self.walk.counterpart is not None:
            return ""
        if node.domain not in ("", "ai.onnx"):
            return self._problem_of_lengths(node)
        for position, name in enumerate(node.input):
            others = [self._number(other) for at, other in enumerate(node.input) if at != position]
            constants = [abs(each) for each in others if each is not None]
            scaled = self._sums.get(name) or self._counts.get(name)
            if scaled and node.op_type in _SCALING:
                found = next((each for each in constants if any(_tells(each, size) for size in scaled)), None)
                of_all = [float(number) for size in self._elements.get(name, ()) for number in (size, 1 / size)]
                found = next((each for each in constants if is_one_of(each, of_all)), None) if found is None else found
                if found is not None:
                    return f"scales a sum over {max(scaled)} positions by {found:g}, which may follow their number"
            if scaled and node.op_type in _SHIFTING:
                logarithms = [float(np.log(size)) for size in scaled if size > 1]
                found = next((each for each in constants if is_one_of(each, logarithms)), None)
                if found is not None:
                    return f"adds {found:g} to a sum over {max(scaled)} positions, which may follow their number"
            if name in self._counts and node.op_type in _COMPARING:
                largest = max(self._counts[name])
                for each in constants:
                    if 1 < each <= largest:
                        return f"compares a count of up to {largest} positions with {each:g}, which may follow it"
                    if each > largest:  # no count reaches it, up to the old length
                        self.walk.limit_lengths()
        return ""

    def _problem_of_lengths(self, node: NodeProto) -> str:
        """Why an operator of another domain may read a constant number of positions; "" if it does not.

        Of the operators of ONNX that do so the rules require it: a sequence of an LSTM has at least as many.
        """
        lengths = {name: size for name, size in self.walk.freed.items() if name not in self.walk.row_symbols}
        told = {number for size in lengths.values() for number in (size, size - 1) if number > 1}
        if not any(self._has_length(axes) for name in node.input for axes in self.walk.factors.get(name, ())):
            return ""
        for name in filter(None, node.input):
            array = self.walk.array(name)
            if array is not None and array.dtype.kind in "iu" and not told.isdisjoint(array.ravel().tolist()):
                return f"reads {array.ravel()[0]} positions, which may be the old size of {', '.join(lengths)}"
        return ""

    def _number(self, name: str) -> float | None:
        """The one number that a constant holds, which is compared with each count."""
        return number_of(self.walk.array(name)) if name else None


def _tells(number: float, size: int) -> bool:
    """Whether a number is made of a size, as the factors of a mean and of a variance are."""
    told = [*numbers_of(size), 2 / size]
    if size > 2:
        told += [*numbers_of(size - 1), size / (size - 1), (size - 1) / size, float(np.sqrt(size / (size - 1)))]
    return size > 1 and is_one_of(number, (each for each in told if each != 1))
