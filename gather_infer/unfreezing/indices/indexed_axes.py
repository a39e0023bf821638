"""Inputs of the model whose elements are positions in an axis of a freed size, such as the edges of a graph.

An index out of such an input addresses an axis of this size elsewhere, too. Rows of the old size into which a Scatter
writes at these positions follow it: no later node needs to contradict, if other positions read the rows again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import Factors, dim_of, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_MOVING: Final = frozenset({"Cast", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze",
                            "Tile", "Transpose", "Unsqueeze"})  # fmt: skip
_SMALLEST: Final = 2


class IndexedAxes:
    """The axes that elements of inputs are positions in.

    free    input -> old size -> the factors of an axis of a freed size
    fixed   input -> the nodes that read an axis of no freed size at its positions: the size, the label, and a
            result, which is "" in a subgraph
    """

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self.inputs = {value.name for value in walk.model.proto.graph.input}
        self.free: dict[str, dict[int, Factors]] = {}
        self.fixed: dict[str, list[tuple[int, str, str]]] = {}

    def of(self, index: str, size: object) -> Factors | None:
        """The factors of an axis of an old size that the inputs of an index address."""
        found = (self.free.get(name, {}).get(size) for name in self._inputs(index) if isinstance(size, int))
        return next((factors for factors in found if factors is not None), None)

    def note(self, node: NodeProto, axes: Iterator[int]) -> None:
        """Record the axes that a node addresses."""
        walk = self.walk
        lengths = {name: size for name, size in walk.freed.items() if name not in walk.row_symbols}
        held = walk.factors.get(node.input[0])
        fact = walk.environment.values.get(node.input[0])
        shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
        is_weight = walk.is_constant(node.input[0]) and not node.op_type.startswith("Scatter")
        for axis in axes:
            factors = held[axis] if held is not None else ()
            is_free_axis = any(is_free(factor, lengths) for factor in factors)
            size = next(values_of([dim_of(factors)], walk.samples.old)) if is_free_axis else shape[axis]
            if not isinstance(size, int) or size < _SMALLEST or (is_weight and not is_free_axis):
                continue
            for name in self._inputs(node.input[1]):
                if is_free_axis:
                    self.free.setdefault(name, {}).setdefault(size, factors)
                else:
                    result = "" if walk.path.steps else node.output[0]
                    self.fixed.setdefault(name, []).append((size, walk.label(node), result))

    def check(self, live: Collection[str]) -> None:
        """Raise Blocked if positions in one input address a freed size, and the old one in a node that is left.

        live  the values of the main graph that outputs of the model are computed from
        """
        for name, nodes in self.fixed.items():
            for size, label, result in nodes:
                factors = self.free.get(name, {}).get(size)
                if factors is not None and (not result or result in live):
                    why = f"reads {size} rows at positions in {name}, which are those of an axis of {dim_of(factors)}"
                    raise Blocked(label, why)

    def _inputs(self, index: str) -> Iterator[str]:
        """The inputs of the model that hold the elements of an index."""
        pending = [index]
        while pending:
            name = pending.pop()
            producer = self.walk.producer(name)
            if producer is None:
                if name in self.inputs and not self.walk.is_constant(name):
                    yield name
            elif producer.op_type == "Concat":
                pending += producer.input
            elif producer.op_type in _MOVING and not producer.domain:
                pending.append(producer.input[0])
