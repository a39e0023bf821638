"""The rewriter: applies rewrites to the mutable model and eliminates the code that they leave dead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from onnx import NodeProto, helper

from gather_infer.passes.constants import Constants, fact_of
from gather_infer.passes.costs import replaced_by
from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.inlining import Inlining
from gather_infer.passes.learning import Learning
from gather_infer.passes.rewrite import Arrangement, Rewrite
from gather_infer.passes.worklist import Worklist
from gather_infer.tensor import SymbolicTensor, Value

UNREAD: Final = "nothing reads it any more"


class Changes:
    """The rewriter of a mutable model: applies rewrites, and enqueues the nodes that each change affects.

    infer       returns the facts about the outputs of a new node, once its inputs are in the graph
    refinement  receives the facts that hold for a value besides those already known
    """

    def __init__(
        self,
        draft: Draft,
        constants: Constants,
        waiting: Worklist,
        infer: Callable[[NodeProto, Graph], list[Value]],
        learning: Learning,
    ) -> None:
        self.draft = draft
        self.constants = constants
        self.waiting = waiting
        self.infer = infer
        self.learning = learning

    def replace(self, node: Node, rewrite: Rewrite, facts: dict[str, Value]) -> None:
        """Replace the outputs of the node by new values; `facts` are those about the new values."""
        graph, draft, why = node.graph, self.draft, f"{rewrite.law} ({self.draft.label(node)})"
        replaced = replaced_by(node, rewrite)
        outputs = [name for gone in replaced for name in gone.outputs if name]
        for name, constant in rewrite.constants.items():
            draft.add_constant(graph, name, constant, facts[name], why)
        for proto in rewrite.nodes:
            known = [facts[name] if name else SymbolicTensor() for name in proto.output]
            self._come(draft.add(graph, proto, node, why, known))
        made = rewrite.made
        before = {old: graph.fact(old) for old in rewrite.values}
        names: dict[str, str] = {}
        for old, new in rewrite.values.items():
            writer, at = graph.producers[old]
            if new in made and new not in names:
                names[new] = old  # so that the readers of the old value need no change
                draft.detach(writer, at, self.fresh(f"{old}_unused"), why)
                draft.rename(graph, new, old, why)
                self.learning.compare(graph, old, before[old])
            else:
                self._take_over(writer, old, names.get(new, new), why)
                if old in graph.ends:
                    names[new] = old  # its name from now on, for the other outputs that it replaces
            for reader in graph.readers.get(old, ()):
                self._see(reader)
        for gone in replaced:
            if not any(draft.is_needed(graph, name) for name in gone.outputs if name):
                self._remove(gone, why)
        self.sweep([(graph, name) for name in (*outputs, *rewrite.constants)])

    def merge(self, graph: Graph, old: str, new: str, why: str) -> None:
        """Replace all uses of an initializer of the graph by another constant."""
        self._redirect(graph, old, new, why)
        self.sweep([(graph, old)])

    def inline(self, node: Node, rewrite: Rewrite, inlining: Inlining) -> None:
        """Replace the node by the nodes of one of its subgraphs."""
        graph, draft, why = node.graph, self.draft, f"{rewrite.law} ({self.draft.label(node)})"
        for name, constant in rewrite.constants.items():
            draft.add_constant(graph, name, constant, fact_of(constant), why)
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
                (old in graph.ends and (found is None or graph.is_fixed(new)))
                or any(reader.graph.home(new) is not graph.home(new) for reader in draft.readers(graph, old))
                or any(reader.graph.home(old) is not graph for reader in draft.readers(graph, new))
            ):
                proto = helper.make_node("Identity", [new], [self.fresh(f"{old}_Identity")])
                moved.append(self._add(proto, [new], node, why))
                new = proto.output[0]
            self._take_over(node, old, new, why)
            if old in graph.ends:
                names[new] = old
        self._remove(node, why)
        for each in moved:
            self._come(each)
            self.waiting.mark(each)
        self.sweep([(graph, name) for name in (*inlining.names.values(), *sorted(rewrite.made))])

    def arrange(self, graph: Graph, arrangement: Arrangement) -> None:
        """Apply a graph-level rewrite: all of its changes at once."""
        draft, why = self.draft, arrangement.law
        count = len(graph.nodes)
        for name, constant in arrangement.constants.items():
            draft.add_constant(graph, name, constant, fact_of(constant), why)
        for proto, before, facts in arrangement.nodes:
            self._come(draft.add(graph, proto, before, why, facts))
        lost = []
        for node, at, name in arrangement.inputs:
            lost.append((node.graph, draft.reread(node, at, name, why)))
            self._see(node)
            self.waiting.wake(name)
        for new, old in arrangement.renamed.items():
            found, at = graph.producers[old]
            unused = self.fresh(f"{old}_unused")
            draft.detach(found, at, unused, why)
            draft.rename(graph, new, old, why)
            lost.append((graph, unused))
        self.sweep(lost)
        assert len(graph.nodes) <= count, "a graph-level rewrite adds no nodes"

    def sweep(self, candidates: Iterable[tuple[Graph, str]]) -> None:
        """Remove those of the candidates that are dead, then all that this leaves dead (dead code elimination)."""
        pending = list(candidates)
        while pending:
            graph, name = pending.pop()
            home = graph.home(name)
            if home is None:
                continue
            self.waiting.wake(name)
            readers = home.readers.get(name)
            if readers and len(readers) == 1:
                self.waiting.wake(next(iter(readers)))
            found = home.producers.get(name)
            if found is not None:
                self.waiting.wake(found[0])
            if readers or home.is_fixed(name):
                continue  # it is live
            if found is None:
                if self.draft.is_droppable(home, name):
                    self.draft.drop(home, name, UNREAD)
            elif self.draft.is_removable(found[0]) and not any(
                self.draft.is_needed(home, output) for output in found[0].outputs if output
            ):
                pending += [(found[0].graph, read) for read in self._take_out(found[0], UNREAD)]

    def sweep_all(self) -> None:
        """Remove all dead code of the model."""
        for node in list(self.draft.nodes)[::-1]:
            if node.is_gone or not node.outputs:
                continue
            readers = node.graph.readers.get(node.outputs[0])
            if not readers:
                self.sweep([(node.graph, node.outputs[0])])
                continue
            if len(readers) == 1:
                self.waiting.wake(next(iter(readers)))
            self.waiting.wake(node)  # as `eliminate_dead_code` does for each live value
        for graph in list(self.draft.graphs.values()):
            self.sweep([(graph, name) for name in graph.initializers])

    def fresh(self, base: str) -> str:
        """A name that the model does not use yet."""
        return self.draft.subject.index.fresh(base)

    def _add(self, proto: NodeProto, inputs: list[str], before: Node, why: str) -> Node:
        """Insert a new node with these inputs right before another node."""
        del proto.input[:]
        proto.input.extend(inputs)
        return self.draft.add(before.graph, proto, before, why, self.infer(proto, before.graph))

    def _take_over(self, node: Node, old: str, new: str, why: str) -> None:
        """Replace all uses of `old` by another value of the model, which takes over a name that has to stay."""
        graph, draft = node.graph, self.draft
        known = graph.fact(old)
        self._redirect(graph, old, new, why)
        if old in graph.ends:
            draft.detach(node, node.outputs.index(old), self.fresh(f"{old}_unused"), why)
            for reader in graph.readers.get(new, ()):
                self.waiting.wake(reader)
            draft.rename(graph, new, old, why)
            self.waiting.wake(graph.producers[old][0])
            new = old
        if graph.home(new) is graph:  # a fact about a value of a branch need not hold outside of the branch
            self.learning.tell(graph, new, known)
            self.learning.compare(graph, new, known)

    def _see(self, node: Node) -> None:
        """Enqueue a node whose inputs have changed, and mark it for inference."""
        self.waiting.wake(node)
        self.waiting.mark(node)

    def _redirect(self, graph: Graph, old: str, new: str, why: str) -> None:
        """Replace all uses of a value of the graph by another one, and enqueue its users."""
        for reader in self.draft.redirect(graph, old, new, why):
            self._see(reader)
        self.waiting.wake(new)

    def _come(self, node: Node) -> None:
        """Enqueue a new node, and the nodes that depend on the uses of its inputs."""
        self.waiting.wake(node)
        for name in node.inputs:
            self.waiting.wake(name)

    def _take_out(self, node: Node, why: str) -> list[str]:
        """Erase a node and enqueue its dependents. Returns the names of the values that it read."""
        lost = self.draft.remove(node, why)
        self.waiting.wake(node)
        return lost

    def _remove(self, node: Node, why: str) -> None:
        """Erase a node, and eliminate the code that only this node used."""
        self.sweep([(node.graph, name) for name in self._take_out(node, why)])
