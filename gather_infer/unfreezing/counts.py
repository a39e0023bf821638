"""Counts and sums along a length, and constants that they meet: a number there may be the old size, or follow it.

A mean is a sum divided by the number of positions. The capacity of an expert, with which the places of its tokens are
compared, is the number of tokens, or a part of it. Exporters write such numbers as constants, which no shape
contradicts at another length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import product
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.axis_factors import Factors, is_free
from gather_infer.unfreezing.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]

_MOVING: Final = frozenset(
    {"Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose", "Expand", "Slice", "Split",
     "Gather", "GatherElements", "GatherND", "Tile", "Concat", "Where"}
)  # fmt: skip
_COUNTING: Final = _MOVING | {"Add", "Sub", "Mul", "Neg", "Abs", "Max", "Min", "Clip", "ReduceMax", "ReduceSum"}
_SUMMING: Final = _MOVING | {"Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt"}
_SCALING: Final = frozenset({"Mul", "Div", "Mod"})
_COMPARING: Final = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Min", "Max", "Clip"})
_TAKING: Final = frozenset({"Gather", "GatherElements", "GatherND", "Slice", "Split", "Expand", "Reshape", "Tile",
                            "Squeeze", "Unsqueeze"})  # fmt: skip
"""Operators whose first input alone has the elements of the result."""


class Counts:
    """Values that are counted or summed along a length, each with the old numbers of positions."""

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._counts: dict[str, frozenset[int]] = {}
        self._sums: dict[str, frozenset[int]] = {}

    def forget(self, names: Collection[str]) -> None:
        """Forget the values of a subgraph, whose names another one may have."""
        for name in names:
            self._counts.pop(name, None)
            self._sums.pop(name, None)

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
        ):
            found = sizes if is_source else frozenset()
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
        elif node.op_type == "ReduceSum":
            listed = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
            given = self.walk.array(node.input[1]) if len(node.input) > 1 and node.input[1] else None
            numbers = listed if given is None else given.ravel().tolist()
            over = range(len(axes)) if numbers is None else [int(axis) % len(axes) for axis in numbers]
        elif node.op_type == "MatMul":
            over = [len(axes) - 1]
        else:
            return
        held = [axes[axis] for axis in over]
        if any(self._has_length(factors) for factors in held):
            factors = [factor for each in held for factor in each]
            for dim in (*factors, product(factors)):
                if dim == product(factors) or self._has_length((dim,)):
                    yield from (size for size in values_of([dim], self.walk.samples.old) if size is not None)

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
            others = [self._numbers(other) for at, other in enumerate(node.input) if at != position]
            constants = [abs(float(each)) for other in others if other is not None for each in other.ravel()]
            scaled = self._sums.get(name) or self._counts.get(name)
            if scaled and node.op_type in _SCALING:
                told = {number for size in scaled for number in (size, size - 1) if number > 1}
                found = next((each for each in constants if _tells(each, told)), None)
                if found is not None:
                    return f"scales a sum over {max(told)} positions by {found:g}, which may follow their number"
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

    def _numbers(self, name: str) -> Array | None:
        """A constant of few numbers, which are compared with each count."""
        array = self.walk.array(name) if name else None
        return array if array is not None and array.size == 1 and array.dtype.kind in "iuf" else None


def _tells(number: float, sizes: set[int]) -> bool:
    """Whether a number is a size, its root, or the reciprocal of one of them."""
    told = [part for size in sizes for part in (size, 1 / size, np.sqrt(size), 1 / np.sqrt(size))]
    return bool(np.isfinite(number) and np.isclose(number, told, rtol=1e-6, atol=0).any())
