"""Sums over the nodes of a graph, with what they leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Any, Final

from onnx import NodeProto

from gather_infer.cost.front import Front, Moment
from gather_infer.cost.iterated import Rounds
from gather_infer.cost.result import Gap, NodeCost
from gather_infer.cost.work import Untold
from gather_infer.domains import qualified
from gather_infer.places import NodePath
from gather_infer.symbolic import Dim, DimTooLarge, Scope, maximum

ALL: Final = ("macs", "reads", "writes", "peak")
TOO_LARGE: Final = "the expression grows past the size limit"
UNWALKED: Final = "nothing is known of the graph in it"


@dataclass(slots=True)
class Tally:
    """What a graph costs, with what is in it.

    front   the moments when most is live, beside what is live around the graph
    nodes   every node that computes
    gaps    what is left out
    """

    front: Front
    macs: Dim = 0
    reads: Dim = 0
    writes: Dim = 0
    nodes: list[NodeCost] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def told(
        self, path: NodePath | None, node: NodeProto | None, what: str, ask: Callable[..., Dim], *given: Any
    ) -> Dim | None:
        """What `ask(*given)` tells; None, with a gap, where that is not known."""
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

    def count(self, cost: NodeCost, node: NodeProto) -> None:
        """Add a node that computes."""
        self.nodes.append(cost)
        self._sum(cost.macs, cost.reads, cost.writes, cost.node, node)

    def _sum(self, macs: Dim | None, reads: Dim | None, writes: Dim | None, path: NodePath, node: NodeProto) -> None:
        for what, value in (("macs", macs), ("reads", reads), ("writes", writes)):
            grown = None if value is None else self.told(path, node, what, add, getattr(self, what), value)
            if grown is not None:
                setattr(self, what, grown)

    def add(self, inner: Tally | None, path: NodePath, node: NodeProto, live: Dim) -> None:
        """A graph that runs once in the place of a node, beside `live` bytes; None where nothing is known of it."""
        if inner is None:
            self.leave_out(path, node, UNWALKED, *ALL)
            return
        self._sum(inner.macs, inner.reads, inner.writes, path, node)
        self._take(inner, live)

    def add_larger(
        self, inner: Sequence[Tally | None], path: NodePath, node: NodeProto, live: Dim, scope: Scope
    ) -> None:
        """One of several graphs: of each sum the larger one."""
        for one in inner:
            if one is None:
                self.leave_out(path, node, UNWALKED, *ALL)
            else:
                self._take(one, live)
        told = [one for one in inner if one is not None]
        if told:
            larger = partial(maximum, scope=scope)
            macs = self.told(path, node, "macs", larger, *(one.macs for one in told))
            reads = self.told(path, node, "reads", larger, *(one.reads for one in told))
            writes = self.told(path, node, "writes", larger, *(one.writes for one in told))
            self._sum(macs, reads, writes, path, node)

    def add_rounds(
        self, inner: Tally, rounds: Rounds, path: NodePath, node: NodeProto, live: Dim, scope: Scope
    ) -> None:
        """A graph that runs again and again."""
        macs = self.told(path, node, "macs", rounds.summed, inner.macs)
        reads = self.told(path, node, "reads", rounds.summed, inner.reads)
        writes = self.told(path, node, "writes", rounds.summed, inner.writes)
        self._sum(macs, reads, writes, path, node)
        for moment in inner.front.moments:
            most = self.told(path, node, "peak", rounds.largest, moment.live, scope)
            if most is not None:
                self.front.add(Moment(most + live, moment.node or path))
        self.gaps += inner.gaps
        for cost in inner.nodes:
            self.nodes.append(_repeated(cost, rounds, scope, live))

    def _take(self, inner: Tally, live: Dim) -> None:
        """The moments and the nodes of a graph inside."""
        self.front.extend([Moment(moment.live + live, moment.node) for moment in inner.front.moments])
        self.nodes += [replace(cost, live=cost.live + live) for cost in inner.nodes] if live != 0 else inner.nodes
        self.gaps += inner.gaps


def _repeated(cost: NodeCost, rounds: Rounds, scope: Scope, live: Dim) -> NodeCost:
    """A node of a body, with all its runs."""

    def summed(dim: Dim | None) -> Dim | None:
        try:
            return None if dim is None else rounds.summed(dim)
        except Untold:
            return None  # the gap is that of the loop

    try:
        most = rounds.largest(cost.live, scope) + live
    except Untold:
        most = live
    return replace(cost, macs=summed(cost.macs), reads=summed(cost.reads), writes=summed(cost.writes), live=most)
