"""A greedy driver that removes nodes around those that were edited, and leaves all others as they are."""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.node_ids import MAIN
from gather_infer.passes.greedy_driver import GreedyDriver
from gather_infer.passes.mutable_model import Node
from gather_infer.passes.profitability import dead_after
from gather_infer.passes.rewrite import Rewrite, RewriteCost


@dataclass(slots=True, eq=False)
class RegionDriver(GreedyDriver):
    """A driver whose rules rewrite nodes of the main graph in a region, nodes that rewrites have added, and their
    readers.

    A rewrite has to leave fewer nodes, without one of the region or of those that were added.

    region   outputs of the nodes in the region
    """

    region: frozenset[str] = frozenset()

    def _visit(self, node: Node, *, first_only: bool = False) -> bool:
        producers = (node.graph.producers.get(name) for name in node.inputs)
        is_near = self._is_in_region(node) or any(
            found is not None and self._is_in_region(found[0]) for found in producers
        )
        return is_near and GreedyDriver._visit(self, node, first_only=first_only)

    def _is_profitable(self, node: Node, rewrite: Rewrite, cost: RewriteCost) -> bool:
        if cost.nodes >= 0 or not any(map(self._is_in_region, dead_after(self.model, node, rewrite)[0])):
            return False
        return GreedyDriver._is_profitable(self, node, rewrite, cost)

    def _is_in_region(self, node: Node) -> bool:
        return node.origin is None or (node.graph.path == MAIN and not self.region.isdisjoint(node.outputs))
