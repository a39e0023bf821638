"""Aggregated cost of a graph: sums over its nodes, candidates for the peak, contributions left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onnx import NodeProto

from gather_infer.cost.front import Front, Moment
from gather_infer.cost.iterated import Rounds
from gather_infer.cost.result import Gap, NodeCost
from gather_infer.cost.work import Untold
from gather_infer.domains import qualified
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim, DimTooLarge, Scope, maximum, total

SUMS: Final = ("macs", "reads", "writes")
ALL: Final = (*SUMS, "peak")
TOO_LARGE: Final = "the expression grows past the size limit"
UNWALKED: Final = "its subgraph was not inferred"


@dataclass(slots=True)
class Tally:
    """Cost of a graph, its subgraphs included.

    peaks    program points that may be the peak; excludes bytes that are live outside the graph
    nodes    cost of every node that computes
    unknown  contributions left out
    sums     addends of macs, reads and writes with their multiplicity: repeated layers share one addend
    """

    front: Front
    nodes: list[NodeCost] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    sums: dict[str, Counter[Dim]] = field(default_factory=dict)

    def told(
        self, path: NodePath | None, node: NodeProto | None, what: str, ask: Callable[..., Dim], *given: Any
    ) -> Dim | None:
        """The result of `function(*args)`; None, with an unknown contribution recorded, when it raises CostUnknown."""
        try:
            return ask(*given)
        except Untold as untold:
            self.leave_out(path, node, str(untold), what)
        except DimTooLarge:
            self.leave_out(path, node, TOO_LARGE, what)
        return None

    def leave_out(self, path: NodePath | None, node: NodeProto | None, why: str, *whats: str) -> None:
        op_type = "" if node is None else qualified(node.domain, node.op_type)
        self.gaps += [Gap(path, op_type, what, why) for what in whats]

    def count(self, cost: NodeCost) -> None:
        """Add the cost of a node."""
        self.nodes.append(cost)
        self.grow(macs=cost.macs, reads=cost.reads, writes=cost.writes)

    def total(self, what: str) -> Dim:
        """The total of macs, reads or writes. Raises DimTooLarge."""
        return total(dim * number for dim, number in self.sums.get(what, {}).items())

    def grow(self, number: int = 1, /, **sums: Dim | None) -> None:
        """Add the known values of macs, reads and writes, each `number` times."""
        for what, value in sums.items():
            if value is not None and value != 0:
                self.sums.setdefault(what, Counter())[value] += number

    def add(self, inner: Tally | None, path: NodePath, node: NodeProto, live: Dim) -> None:
        """Add a graph that a node runs once, with `base` bytes live around it; None when it was not inferred."""
        if inner is None:
            self.leave_out(path, node, UNWALKED, *ALL)
            return
        for what in SUMS:
            self.grow(**{what: self.told(path, node, what, inner.total, what)})
        self._take(inner, live)

    def add_larger(
        self, inner: Sequence[Tally | None], path: NodePath, node: NodeProto, live: Dim, scope: Scope
    ) -> None:
        """Add one of several graphs, not known which: the maximum of each sum."""
        for one in inner:
            if one is None:
                self.leave_out(path, node, UNWALKED, *ALL)
            else:
                self._take(one, live)
        told = [one for one in inner if one is not None]
        if told:
            for what in SUMS:
                self.grow(**{what: self.told(path, node, what, _largest, what, told, scope)})

    def add_rounds(
        self, inner: Tally, rounds: Rounds, path: NodePath, node: NodeProto, live: Dim, scope: Scope
    ) -> None:
        """Add a loop body, summed over its iterations."""
        for what in SUMS:
            for each, number in inner.sums.get(what, {}).items():
                self.grow(number, **{what: self.told(path, node, what, rounds.summed, each)})
        for moment in inner.front.moments:
            most = self.told(path, node, "peak", rounds.largest, moment.live, scope)
            if most is not None:
                self.front.add(Moment(most + live, moment.node or path))
        self.gaps += inner.gaps
        for cost in inner.nodes:
            self.nodes.append(_repeated(cost, rounds, scope, live))

    def _take(self, inner: Tally, live: Dim) -> None:
        """Take over the program points, nodes and unknown contributions of a nested graph."""
        self.front.extend([Moment(moment.live + live, moment.node) for moment in inner.front.moments])
        self.nodes += [replace(cost, live=cost.live + live) for cost in inner.nodes] if live != 0 else inner.nodes
        self.gaps += inner.gaps


def _largest(what: str, tallies: Sequence[Tally], scope: Scope) -> Dim:
    """The maximum of a sum over several graphs. Raises DimTooLarge."""
    return maximum(*(tally.total(what) for tally in tallies), scope=scope)


def _repeated(cost: NodeCost, rounds: Rounds, scope: Scope, live: Dim) -> NodeCost:
    """The cost of a node in a loop body, summed over the iterations."""

    def summed(dim: Dim | None) -> Dim | None:
        try:
            return None if dim is None else rounds.summed(dim)
        except Untold:
            return None  # the loop itself is listed as the unknown contribution

    try:
        most = rounds.largest(cost.live, scope) + live
    except Untold:
        most = live
    return replace(cost, macs=summed(cost.macs), reads=summed(cost.reads), writes=summed(cost.writes), live=most)
