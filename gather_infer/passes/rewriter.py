"""The rewriter: applies rewrites to the mutable model and eliminates the code that they leave dead."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onnx import NodeProto, helper

from gather_infer.ir.dead_code import eliminate_all_dead_code, eliminate_dead_code
from gather_infer.ir.inlining import Inlining
from gather_infer.passes.constants import Constants, fact_of
from gather_infer.passes.mutable_model import Graph, MutableModel, Node
from gather_infer.passes.profitability import replaced_nodes
from gather_infer.passes.rewrite import GraphRewrite, Rewrite
from gather_infer.passes.type_refinement import TypeRefinement
from gather_infer.passes.worklist import Worklist
from gather_infer.tensor import SymbolicTensor, Value


class Rewriter:
    """The rewriter of a mutable model: applies rewrites, and enqueues the nodes that each change affects.

    infer       returns the facts about the outputs of a new node, once its inputs are in the graph
    refinement  receives the facts that hold for a value besides those already known
    """

    def __init__(
        self,
        model: MutableModel,
        constants: Constants,
        worklist: Worklist,
        infer: Callable[[NodeProto, Graph], list[Value]],
        refinement: TypeRefinement,
    ) -> None:
        self.model = model
        self.constants = constants
        self.worklist = worklist
        self.infer = infer
        self.refinement = refinement

    def replace(self, node: Node, rewrite: Rewrite, facts: dict[str, Value]) -> None:
        """Replace the outputs of the node as `rewrite` prescribes; `facts` maps each new value to its facts."""
        graph, model, why = node.graph, self.model, f"{rewrite.law} ({self.model.label(node)})"
        replaced = replaced_nodes(node, rewrite)
        outputs = [name for erased in replaced for name in erased.outputs if name]
        for name, constant in rewrite.constants.items():
            model.add_constant(graph, name, constant, facts[name], why)
        for proto in rewrite.nodes:
            known = [facts[name] if name else SymbolicTensor() for name in proto.output]
            self._notify_inserted(model.add(graph, proto, node, why, known))
        new_values = rewrite.new_values
        before = {old: graph.fact(old) for old in rewrite.values}
        names: dict[str, str] = {}
        for old, new in rewrite.values.items():
            writer, at = graph.producers[old]
            if new in new_values and new not in names:
                names[new] = old  # so that the readers of the old value need no change
                model.detach(writer, at, self.fresh(f"{old}_unused"), why)
                model.rename(graph, new, old, why)
                self.refinement.propagate_if_refined(graph, old, before[old])
            else:
                self._replace_value(writer, old, names.get(new, new), why)
                if old in graph.output_set:
                    names[new] = old  # its name from now on, for the other outputs that it replaces
            for reader in graph.readers.get(old, ()):
                self._notify_input_changed(reader)
        for erased in replaced:
            if not any(model.is_needed(graph, name) for name in erased.outputs if name):
                self._remove(erased, why)
        self.eliminate_dead_code([(graph, name) for name in (*outputs, *rewrite.constants)])

    def merge(self, graph: Graph, old: str, new: str, why: str) -> None:
        """Replace all uses of `old`, an initializer of the graph, by the constant `new`."""
        self._replace_all_uses(graph, old, new, why)
        self.eliminate_dead_code([(graph, old)])

    def inline(self, node: Node, rewrite: Rewrite, inlining: Inlining) -> None:
        """Replace the node by the nodes of one of its subgraphs."""
        graph, model, why = node.graph, self.model, f"{rewrite.law} ({self.model.label(node)})"
        for name, constant in rewrite.constants.items():
            model.add_constant(graph, name, constant, fact_of(constant), why)
        moved = inlining.move(self.constants.load, why)
        for proto in rewrite.nodes:
            moved.append(self._add(proto, [inlining.name(name) for name in proto.input], node, why))
        names: dict[str, str] = {}
        for old, inner in rewrite.values.items():
            new = inlining.name(inner)
            new = names.get(new, new)
            found = graph.producers.get(new)
            # An Identity is needed if the output keeps its name, or another value shadows a name where it is read.
            if (
                (old in graph.output_set and (found is None or graph.is_fixed(new)))
                or any(
                    reader.graph.defining_graph(new) is not graph.defining_graph(new)
                    for reader in model.readers(graph, old)
                )
                or any(reader.graph.defining_graph(old) is not graph for reader in model.readers(graph, new))
            ):
                proto = helper.make_node("Identity", [new], [self.fresh(f"{old}_Identity")])
                moved.append(self._add(proto, [new], node, why))
                new = proto.output[0]
            self._replace_value(node, old, new, why)
            if old in graph.output_set:
                names[new] = old
        self._remove(node, why)
        for each in moved:
            self._notify_inserted(each)
            self.worklist.mark_for_inference(each)
        self.eliminate_dead_code([(graph, name) for name in (*inlining.names.values(), *sorted(rewrite.new_values))])

    def apply_graph_rewrite(self, graph: Graph, graph_rewrite: GraphRewrite) -> None:
        """Apply a graph-level rewrite: all of its changes at once."""
        model, why = self.model, graph_rewrite.law
        count = len(graph.nodes)
        for name, constant in graph_rewrite.constants.items():
            model.add_constant(graph, name, constant, fact_of(constant), why)
        for proto, before, facts in graph_rewrite.nodes:
            self._notify_inserted(model.add(graph, proto, before, why, facts))
        lost = []
        for node, at, name in graph_rewrite.inputs:
            lost.append((node.graph, model.set_input(node, at, name, why)))
            self._notify_input_changed(node)
            self.worklist.enqueue_dependents(name)
        for new, old in graph_rewrite.renamed.items():
            found, at = graph.producers[old]
            unused = self.fresh(f"{old}_unused")
            model.detach(found, at, unused, why)
            model.rename(graph, new, old, why)
            lost.append((graph, unused))
        self.eliminate_dead_code(lost)
        assert len(graph.nodes) <= count, "a graph-level rewrite adds no nodes"

    def eliminate_dead_code(self, candidates: Iterable[tuple[Graph, str]]) -> None:
        """Remove the dead candidates, then all code that their removal leaves dead."""
        eliminate_dead_code(
            self.model,
            candidates,
            self.model.is_removable,
            on_visit=self._notify_visited,
            on_removal=self.worklist.enqueue_dependents,
        )

    def eliminate_all_dead_code(self) -> None:
        """Remove all dead code of the model."""
        eliminate_all_dead_code(
            self.model,
            self.model.is_removable,
            on_visit=self._notify_visited,
            on_removal=self.worklist.enqueue_dependents,
        )

    def _notify_visited(self, home: Graph, name: str) -> None:
        """Enqueue the nodes that depend on the uses of a value, its producer and its only reader."""
        self.worklist.enqueue_dependents(name)
        readers = home.readers.get(name)
        if readers and len(readers) == 1:
            self.worklist.enqueue_dependents(next(iter(readers)))
        found = home.producers.get(name)
        if found is not None:
            self.worklist.enqueue_dependents(found[0])

    def fresh(self, base: str) -> str:
        """A name that the model does not use yet."""
        return self.model.fresh(base)

    def _add(self, proto: NodeProto, inputs: list[str], before: Node, why: str) -> Node:
        """Insert a new node with the given `inputs` right before another node."""
        del proto.input[:]
        proto.input.extend(inputs)
        return self.model.add(before.graph, proto, before, why, self.infer(proto, before.graph))

    def _replace_value(self, node: Node, old: str, new: str, why: str) -> None:
        """Replace all uses of `old` by `new`, a value of the model; if `old` is a graph output, `new` gets its name."""
        graph, model = node.graph, self.model
        known = graph.fact(old)
        self._replace_all_uses(graph, old, new, why)
        if old in graph.output_set:
            model.detach(node, node.outputs.index(old), self.fresh(f"{old}_unused"), why)
            for reader in graph.readers.get(new, ()):
                self.worklist.enqueue_dependents(reader)
            model.rename(graph, new, old, why)
            self.worklist.enqueue_dependents(graph.producers[old][0])
            new = old
        if graph.defining_graph(new) is graph:  # a fact about a value of a branch need not hold outside of the branch
            self.refinement.refine(graph, new, known)
            self.refinement.propagate_if_refined(graph, new, known)

    def _notify_input_changed(self, node: Node) -> None:
        """Enqueue a node whose inputs have changed, and mark it for inference."""
        self.worklist.enqueue_dependents(node)
        self.worklist.mark_for_inference(node)

    def _replace_all_uses(self, graph: Graph, old: str, new: str, why: str) -> None:
        """Replace all uses of a value of the graph by another one, and enqueue its users."""
        for reader in self.model.replace_all_uses(graph, old, new, why):
            self._notify_input_changed(reader)
        self.worklist.enqueue_dependents(new)

    def _notify_inserted(self, node: Node) -> None:
        """Enqueue a new node, and the nodes that depend on the uses of its inputs."""
        self.worklist.enqueue_dependents(node)
        for name in node.inputs:
            self.worklist.enqueue_dependents(name)

    def _erase(self, node: Node, why: str) -> list[str]:
        """Erase a node and enqueue its dependents. Returns the names of the values that it read."""
        lost = self.model.remove(node, why)
        self.worklist.enqueue_dependents(node)
        return lost

    def _remove(self, node: Node, why: str) -> None:
        """Erase a node, and eliminate the code that only this node used."""
        self.eliminate_dead_code([(node.graph, name) for name in self._erase(node, why)])
