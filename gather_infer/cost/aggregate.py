"""Aggregated cost of a graph: sums over its nodes, candidates for the peak, contributions left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onnx import NodeProto

from gather_infer.cost.loops import LoopIterations
from gather_infer.cost.pareto import ParetoSet, ProgramPoint
from gather_infer.cost.result import NodeCost, UnknownContribution
from gather_infer.cost.work import CostUnknown
from gather_infer.domains import qualified
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim, DimTooLarge, Scope, maximum, total

SUMS: Final = ("macs", "reads", "writes")
QUANTITIES: Final = (*SUMS, "peak")
TOO_LARGE: Final = "the expression grows past the size limit"
NOT_INFERRED: Final = "its subgraph was not inferred"


@dataclass(slots=True)
class Aggregate:
    """Cost of a graph, its subgraphs included.

    peaks    program points that may be the peak; their live bytes exclude tensors outside the graph
    nodes    cost of each node that runs an operator; constants and nodes that only run graphs are left out
    unknown  contributions that the sums and peaks leave out
    sums     addends of macs, reads and writes with their multiplicity: repeated layers share one addend
    """

    peaks: ParetoSet
    nodes: list[NodeCost] = field(default_factory=list)
    unknown: list[UnknownContribution] = field(default_factory=list)
    sums: dict[str, Counter[Dim]] = field(default_factory=dict)

    def evaluate(
        self, path: NodePath | None, node: NodeProto | None, quantity: str, function: Callable[..., Dim], *args: Any
    ) -> Dim | None:
        """The result of `function(*args)`; None if it raises CostUnknown or DimTooLarge.

        An exception adds an unknown contribution to `quantity`, by `node` at `path`; both are None for the model.
        """
        try:
            return function(*args)
        except CostUnknown as unknown:
            self.add_unknown(path, node, str(unknown), quantity)
        except DimTooLarge:
            self.add_unknown(path, node, TOO_LARGE, quantity)
        return None

    def add_unknown(self, path: NodePath | None, node: NodeProto | None, reason: str, *quantities: str) -> None:
        op_type = "" if node is None else qualified(node.domain, node.op_type)
        self.unknown += [UnknownContribution(path, op_type, quantity, reason) for quantity in quantities]

    def count(self, cost: NodeCost) -> None:
        """Add the cost of a node to `nodes` and to the sums."""
        self.nodes.append(cost)
        self.add_sums(macs=cost.macs, reads=cost.reads, writes=cost.writes)

    def total(self, quantity: str) -> Dim:
        """The sum for `quantity`, one of SUMS. Raises DimTooLarge if the expression exceeds the size limit."""
        return total(dim * number for dim, number in self.sums.get(quantity, {}).items())

    def add_sums(self, number: int = 1, /, **sums: Dim | None) -> None:
        """Add the known values of macs, reads and writes, each `number` times."""
        for quantity, value in sums.items():
            if value is not None and value != 0:
                self.sums.setdefault(quantity, Counter())[value] += number

    def add(self, inner: Aggregate | None, path: NodePath, node: NodeProto, base: Dim) -> None:
        """Add the cost of a graph that a node runs once, with `base` bytes live outside the graph.

        `inner` is None if the graph was not inferred.
        """
        if inner is None:
            self.add_unknown(path, node, NOT_INFERRED, *QUANTITIES)
            return
        for quantity in SUMS:
            self.add_sums(**{quantity: self.evaluate(path, node, quantity, inner.total, quantity)})
        self._include(inner, base)

    def add_larger(
        self, inner: Sequence[Aggregate | None], path: NodePath, node: NodeProto, base: Dim, scope: Scope
    ) -> None:
        """Add the maximum of each sum over the graphs `inner`; the node runs one of them, but it is not known which."""
        for one in inner:
            if one is None:
                self.add_unknown(path, node, NOT_INFERRED, *QUANTITIES)
            else:
                self._include(one, base)
        known = [one for one in inner if one is not None]
        if known:
            for quantity in SUMS:
                self.add_sums(**{quantity: self.evaluate(path, node, quantity, _largest, quantity, known, scope)})

    def add_loop(
        self, inner: Aggregate, iterations: LoopIterations, path: NodePath, node: NodeProto, base: Dim, scope: Scope
    ) -> None:
        """Add the cost of a loop body, summed over `iterations`; `base` bytes are live outside the body."""
        for quantity in SUMS:
            for each, number in inner.sums.get(quantity, {}).items():
                self.add_sums(number, **{quantity: self.evaluate(path, node, quantity, iterations.sum_over, each)})
        for point in inner.peaks.points:
            largest = self.evaluate(path, node, "peak", iterations.max_over, point.live, scope)
            if largest is not None:
                self.peaks.add(ProgramPoint(largest + base, point.node or path))
        self.unknown += inner.unknown
        for cost in inner.nodes:
            self.nodes.append(_repeated(cost, iterations, scope, base))

    def _include(self, inner: Aggregate, base: Dim) -> None:
        """Add program points, nodes and unknown contributions of a nested graph; `base` bytes are live outside it."""
        self.peaks.extend([ProgramPoint(point.live + base, point.node) for point in inner.peaks.points])
        self.nodes += [replace(cost, live=cost.live + base) for cost in inner.nodes] if base != 0 else inner.nodes
        self.unknown += inner.unknown


def _largest(quantity: str, aggregates: Sequence[Aggregate], scope: Scope) -> Dim:
    """The maximum over `aggregates` of their sums for `quantity`. Raises DimTooLarge."""
    return maximum(*(tally.total(quantity) for tally in aggregates), scope=scope)


def _repeated(cost: NodeCost, iterations: LoopIterations, scope: Scope, base: Dim) -> NodeCost:
    """The cost of a node in a loop body, summed over the iterations; unknown sums are None.

    Its `live` is the maximum over the iterations plus `base`, the bytes live outside the body.
    """

    def summed(dim: Dim | None) -> Dim | None:
        try:
            return None if dim is None else iterations.sum_over(dim)
        except CostUnknown:
            return None  # the loop itself is listed as the unknown contribution

    try:
        largest = iterations.max_over(cost.live, scope) + base
    except CostUnknown:
        largest = base
    return replace(cost, macs=summed(cost.macs), reads=summed(cost.reads), writes=summed(cost.writes), live=largest)
