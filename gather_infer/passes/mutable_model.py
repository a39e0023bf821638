"""The mutable model: the IR of the file that rewrites change, with inferred facts and constants attached."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import ModelProto, NodeProto

from gather_infer.ir import Graph, Model, Node, require_well_formed
from gather_infer.ir.constant import Constant
from gather_infer.node_ids import Root
from gather_infer.passes.pass_input import PassInput
from gather_infer.tensor import Value

__all__ = ["Graph", "MutableModel", "Node"]


class MutableModel(Model):
    """The main graph, its subgraphs and the functions of a model, with the facts of an inference.

    proto   the same model with other declared types; by default that of `pass_input`

    Raises ModelStructureError when a graph defines a name twice or its nodes form a cycle: no rewrite is safe then.
    """

    def __init__(self, pass_input: PassInput, proto: ModelProto | None = None) -> None:
        super().__init__(pass_input.model.proto if proto is None else proto, (Root.GRAPH, Root.FUNCTION))
        self.pass_input = pass_input
        require_well_formed(self, pass_input.model.name)
        for graph in self.graphs.values():
            graph.facts = dict(pass_input.facts(graph.path))
            graph.constants = pass_input.constants_of(graph.path, graph)
            graph.fixed |= pass_input.fixed(graph.path)
        self._gathers_of_file = self._gathers = sum(map(_is_gather, self.nodes))

    @property
    def spare_gathers(self) -> int:
        """How many Gathers, GatherElements and GatherNDs can be added until the model has as many as its file."""
        return self._gathers_of_file - self._gathers

    def is_removable(self, node: Node) -> bool:
        """Whether a node can be removed once its outputs are dead, because it is known to have no side effect."""
        is_pure = self.pass_input.is_pure
        return is_pure(node.proto, node.version) and all(
            is_pure(inner.proto, inner.version) for inner in node.nested_nodes()
        )

    def may_add_constant(self, graph: Graph, constant: Constant) -> bool:
        """Whether the graph can hold a new constant of the type of `constant`.

        A Constant node is needed where an initializer would have to be an input; not every version allows every type.
        """
        return (
            graph.path.root is Root.GRAPH and self.pass_input.has_free_initializers
        ) or self.pass_input.is_constant_type(constant.data_type, graph.versions.get("", 0))

    def add(self, graph: Graph, proto: NodeProto, before: Node | None, why: str, facts: Iterable[Value] = ()) -> Node:
        node = super().add(graph, proto, before, why, facts)
        self._gathers += _is_gather(node)
        return node

    def remove(self, node: Node, why: str) -> list[str]:
        self._gathers -= _is_gather(node) + sum(map(_is_gather, node.nested_nodes()))
        return super().remove(node, why)


def _is_gather(node: Node) -> bool:
    return node.op_type in ("Gather", "GatherElements", "GatherND") and not node.domain
