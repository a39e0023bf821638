"""A greedy driver that removes nodes around those that were edited, and leaves all others as they are."""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.node_ids import MAIN
from gather_infer.passes.greedy_driver import GreedyDriver
from gather_infer.passes.mutable_model import Node
from gather_infer.passes.rewrite import Rewrite, RewriteCost


@dataclass(slots=True, eq=False)
class RegionDriver(GreedyDriver):
    """A driver whose rules rewrite nodes of the main graph in a region, and nodes that rewrites have added.

    A rewrite has to remove nodes; one that only exchanges them is not applied.

    region   outputs of the nodes in the region
    """

    region: frozenset[str] = frozenset()

    def _visit(self, node: Node, *, first_only: bool = False) -> bool:
        is_in_region = node.graph.path == MAIN and not self.region.isdisjoint(node.outputs)
        return (node.origin is None or is_in_region) and GreedyDriver._visit(self, node, first_only=first_only)

    def _is_profitable(self, node: Node, rewrite: Rewrite, cost: RewriteCost) -> bool:
        return cost.nodes < 0 and GreedyDriver._is_profitable(self, node, rewrite, cost)
