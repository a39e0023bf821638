"""Liveness of activations: from their definition, by a node or as an input, to their last use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from onnx import NodeProto

from gather_infer.cost.aggregate import Aggregate
from gather_infer.cost.graph_instance import GraphInstance
from gather_infer.cost.pareto import ProgramPoint
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim


class Liveness:
    """Live bytes of one graph, node by node in topological order.

    A tensor is live from the node that defines it to its last use, which may be inside a subgraph; a graph output stays
    live. An unused tensor is freed right after its node. Constants do not count. Buffers are not shared: the result of
    a Reshape has its own.

    live_bytes   bytes that are live at the current node
    """

    def __init__(self, instance: GraphInstance, inputs: Sequence[str], aggregate: Aggregate) -> None:
        self.instance = instance
        self.aggregate = aggregate
        self.live_bytes: Dim = 0
        self._sizes: dict[str, Dim] = {}
        self._dying: dict[float, list[str]] = {}
        graph = instance.graph
        self._rank = {node.origin: number for number, node in enumerate(graph.sorted_nodes)}
        self._last: dict[str, float] = {
            name: max((self._rank.get(node.origin, -1) for node in graph.users(name)), default=-1)
            for name in (*graph.readers, *graph.returned)
        }
        self._last |= dict.fromkeys(graph.outputs, inf)
        if inputs:
            self._add(inputs, -1, None, None)
            aggregate.peaks.add(ProgramPoint(self.live_bytes, None))
            self._free(-1)

    def allocate(self, outputs: Iterable[str], path: NodePath, node: NodeProto) -> None:
        """Allocate the outputs of a node, while its inputs are still live, and record the program point."""
        self._add([name for name in outputs if name], self._rank[path.position], path, node)
        self.aggregate.peaks.add(ProgramPoint(self.live_bytes, path))

    def free(self, position: int) -> None:
        """Free the tensors whose last use is the node at `position`."""
        self._free(self._rank[position])

    def _add(self, names: Iterable[str], rank: int, path: NodePath | None, node: NodeProto | None) -> None:
        for name in names:
            nbytes = self.aggregate.evaluate(path, node, "peak", self.instance.nbytes, [self.instance.values.get(name)])
            if nbytes is None or name in self._sizes:
                continue
            self._sizes[name] = nbytes
            self.live_bytes = self.live_bytes + nbytes
            # an unused output dies at its own node
            self._dying.setdefault(max(rank, self._last.get(name, -1)), []).append(name)

    def _free(self, rank: int) -> None:
        for name in self._dying.pop(rank, ()):
            self.live_bytes = self.live_bytes - self._sizes[name]
