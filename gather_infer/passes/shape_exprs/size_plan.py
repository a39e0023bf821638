"""A plan for the sizes that a graph needs: the cheapest way to compute each of them, and the saving.

A size is an integer tensor of rank 0 or 1 whose elements are all known as dims. A node that computes only sizes need
not stay: a reader of the size, such as a Reshape, can read any value with the same elements. So the plan keeps the
nodes that do other work live, collects the sizes that they read, and searches for terms that compute these. The result
is acyclic: a new node comes after its inputs and before its readers, in one topological order of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onnx import NodeProto, helper

from gather_infer.ir.constant import Constant, from_integers
from gather_infer.ir.toposort import toposort
from gather_infer.node_ids import Root
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph, Node
from gather_infer.passes.rewrite import GraphRewrite, RewriteCost
from gather_infer.passes.rewrites.shape_operands import SIZES, Choices, choices
from gather_infer.passes.shape_exprs.expression_dag import (
    DagCost,
    DagNode,
    ExpressionDag,
    Term,
    static_bytes,
    total_cost,
)
from gather_infer.passes.shape_exprs.size_search import SizeSearch, elements_of, is_computed
from gather_infer.tensor import DType, SymbolicTensor, make_values

if TYPE_CHECKING:
    from gather_infer.passes.node_view import RewriteContext

LAW: Final = "a size is read off the shape of an input, and computed once"
_ROUNDS: Final = 3


@dataclass(slots=True, eq=False)
class RequiredSize:
    """A size that the graph has to compute.

    alternatives   the elements that it may have
    readers        the inputs that read it
    limit          the position of the first reader
    output         the graph output whose name it has to take, "" for none
    """

    name: str
    dtype: DType
    rank: int
    alternatives: tuple[Choices, ...]
    readers: list[tuple[Node, int]] = field(default_factory=list)
    limit: int = 0
    output: str = ""
    term: Term | None = None


def plan_sizes(context: RewriteContext, graph: Graph) -> GraphRewrite | None:
    """The graph-level rewrite that computes the sizes of a graph at the lowest cost; None if it is not cheaper."""
    if graph.path.root is not Root.GRAPH or context.model.pass_input.is_trained:
        return None
    if not any(_is_size_node(context, node) for node in graph.nodes):
        return None
    plan = _SizePlan(context, graph)
    found = plan.graph_rewrite()
    if found is None and plan.lacks_gathers:
        found = _SizePlan(context, graph, nodes_of_gather=3).graph_rewrite()
    return found


class _SizePlan:
    """The sizes of one graph, and the terms that compute them.

    lacks_gathers    whether the plan was dropped because the model would get more Gathers than its file
    nodes_of_gather  the number of nodes as which a new Gather counts in the search
    """

    def __init__(self, context: RewriteContext, graph: Graph, *, nodes_of_gather: int = 1) -> None:
        self.lacks_gathers = False
        self.context, self.graph = context, graph
        self.order = toposort(graph)
        self.place = {node: at for at, node in enumerate(self.order)}
        self.search = SizeSearch(graph, context.scope, graph.versions.get("", 0), nodes_of_gather)
        self.required_sizes: dict[tuple[object, ...], RequiredSize] = {}
        self.live: set[Node] = set()
        self._pending: list[Node] = []

    def graph_rewrite(self) -> GraphRewrite | None:
        self._add_outer_values()
        for node in self.order:
            if _is_size_node(self.context, node):
                self.search.add_candidate(node)
        self._mark_roots()
        while True:
            self._propagate_liveness()
            if not self._solve():
                break
        self._improve()
        if not self._name_outputs():
            return None
        now = self._current_cost()
        dag_nodes = {unit for need in self.required_sizes.values() if need.term for unit in need.term.dag_nodes}
        then = total_cost(dag_nodes)._replace(nodes=len(dag_nodes))
        if not (then[:3] < now[:3] and then.nbytes <= now.nbytes):
            return None
        if then.gathers - now.gathers > max(0, self.context.model.spare_gathers):
            self.lacks_gathers = True
            return None
        cost = RewriteCost(then.nodes - now.nodes, then.nbytes - now.nbytes)
        return _NodeWriter(self, cost).graph_rewrite()

    # live nodes, and the sizes that they need

    def _add_outer_values(self) -> None:
        """Add the values that the graph can read and does not compute: inputs and outer values."""
        for name in self.graph.inputs:
            self._add_available(name, -1)
        owner, inner = self.graph.owner, self.graph
        while owner is not None:
            outer = owner.graph
            for name in outer.inputs:
                if inner.defining_graph(name) is outer:
                    self._add_available(name, -1)
            order, sizes = self._outer_sizes(outer)
            end = order[owner]
            names = dict.fromkeys(name for at, name in sizes if at < end)
            for name in (name for node in self.graph.nodes for name in node.inputs):
                found = outer.producers.get(name)
                if found is not None and order[found[0]] < end and name not in outer.constants:
                    names[name] = None
            for name in names:
                if inner.defining_graph(name) is outer:
                    self._add_available(name, -1)
            owner = outer.owner

    def _outer_sizes(self, graph: Graph) -> tuple[dict[Node, int], list[tuple[int, str]]]:
        """The topological positions of the nodes of an enclosing graph; and each size that they compute, with the
        position.
        """

        def found() -> tuple[dict[Node, int], list[tuple[int, str]]]:
            order = {node: at for at, node in enumerate(toposort(graph))}
            return order, [
                (at, name)
                for node, at in order.items()
                if _is_size_node(self.context, node)
                for name in node.outputs
                if name
            ]

        return self.context.cached(("sizes", graph), found)

    def _add_available(self, name: str, at: int) -> None:
        fact = self.graph.fact(name)
        if isinstance(fact, SymbolicTensor):
            self.search.add_available(name, fact, at)

    def _mark_roots(self) -> None:
        graph = self.graph
        for node in self.order:
            if (
                not self.context.model.is_removable(node)
                or any(name in graph.fixed for name in node.outputs)
                or Match(self.context, node).is_protected
            ):
                self._mark_live(node)
        for name in dict.fromkeys(graph.outputs):
            found = graph.producers.get(name)
            if found is not None and name not in graph.fixed:
                self._require(name, self.place[found[0]], output=name)

    def _mark_live(self, node: Node) -> None:
        if node not in self.live:
            self.live.add(node)
            self._pending.append(node)

    def _propagate_liveness(self) -> None:
        while self._pending:
            node = self._pending.pop()
            at = self.place[node]
            for name in node.outputs:
                if name:
                    self._add_available(name, at)
            for reader in (node, *_nested_nodes(node)):
                for index, name in enumerate(reader.inputs):
                    if name and reader.graph.defining_graph(name) is self.graph:
                        self._require(name, at, reader, index)

    def _require(self, name: str, limit: int, reader: Node | None = None, index: int = 0, output: str = "") -> None:
        """Require a value that a live node reads, or mark its producer live if the value is not a size."""
        found = self.graph.producers.get(name)
        if found is None or name in self.graph.constants or found[0] in self.live:
            return
        fact = self.graph.fact(name)
        if not isinstance(fact, SymbolicTensor) or fact.dtype is None or fact.shape is None or len(fact.shape) > 1:
            self._mark_live(found[0])
            return
        if reader is not None and Match(self.context, reader).is_protected:
            self._mark_live(found[0])
            return
        elements = elements_of(fact)
        alternatives: tuple[Choices, ...] = ()
        if reader is not None and not reader.domain and SIZES.get(reader.op_type) == index:
            alternatives = tuple(choices(Match(self.context, reader)))
        if elements is not None:
            exact: Choices = tuple((e,) for e in elements)
            alternatives = (*alternatives, exact) if exact not in alternatives else alternatives
        if not alternatives:
            self._mark_live(found[0])
            return
        key = (fact.dtype, len(fact.shape), alternatives, output, "" if elements is not None else name)
        need = self.required_sizes.get(key)
        if need is None:
            need = self.required_sizes[key] = RequiredSize(
                name, fact.dtype, len(fact.shape), alternatives, limit=limit, output=output
            )
        need.limit = min(need.limit, limit)
        if reader is not None:
            need.readers.append((reader, index))

    def _solve(self) -> bool:
        """Find a term for each required size. Returns whether more nodes became live, because a size has no term."""
        self.search.dag = dag = ExpressionDag()
        for key, need in sorted(self.required_sizes.items(), key=lambda item: item[1].limit):
            need.term = self.search.best(need.dtype, need.rank, need.alternatives, need.limit)
            if need.term is not None:
                dag.add(need.term)
                continue
            del self.required_sizes[key]
            for name in [reader.inputs[at] for reader, at in need.readers] or [need.output]:
                self._mark_live(self.graph.producers[name][0])
        return bool(self._pending)

    def _improve(self) -> None:
        """Choose each term again, given the terms of the other sizes; sizes that share a term choose together."""
        dag = self.search.dag
        for _ in range(_ROUNDS):
            is_better = False
            sharing: dict[Term, list[RequiredSize]] = {}
            for need in self.required_sizes.values():
                assert need.term is not None, "every need has a term"
                sharing.setdefault(need.term, []).append(need)
            for term, needs in sharing.items():
                if dag.is_shared(term, len(needs)):
                    continue
                dag.remove(term, len(needs))
                first = needs[0]
                common = [way for way in first.alternatives if all(way in need.alternatives for need in needs)]
                found = self.search.best(first.dtype, first.rank, common, min(need.limit for need in needs))
                if found is not None and dag.marginal_cost(found.dag_nodes) < dag.marginal_cost(term.dag_nodes):
                    term, is_better = found, True
                for need in needs:
                    need.term = term
                    dag.add(term)
            if not is_better:
                break

    def _name_outputs(self) -> bool:
        """Give each graph output a node of its own, which can take its name."""
        taken: set[Term] = set()
        for need in self.required_sizes.values():
            if not need.output:
                continue
            term = need.term
            assert term is not None, "every need has a term"
            outputs = set(self.graph.outputs) - {need.output}
            if term in taken or not term.op_type or term.name in outputs or _existing_name(term) in outputs:
                # if two outputs are the same size, one is a copy of the other or keeps its node, whichever is cheaper
                candidates = (self.search.existing(need.output, need.limit), self.search.copied(term))
                free = [each for each in candidates if each is not None and each not in taken]
                if not free:
                    return False
                self.search.dag.remove(term)
                term = min(free, key=lambda each: self.search.dag.marginal_cost(each.dag_nodes))
                self.search.dag.add(term)
            taken.add(term)
            need.term = term
        return True

    def _current_cost(self) -> DagCost:
        """The cost of the present nodes that are not live."""
        dag_nodes = []
        for node in self.graph.nodes:
            if node in self.live or node.is_constant:
                continue
            is_shape = self.context.model.pass_input.traits(node.proto).outputs_dims
            is_computed_shape = is_shape and is_computed(self.graph, node.inputs[0])
            nbytes = 0
            for name in (*(() if is_shape else node.inputs), *node.outputs):
                fact = self.graph.fact(name) if name and self.graph.constant_payload(name) is None else None
                nbytes += static_bytes(fact) if isinstance(fact, SymbolicTensor) else 0
            is_gather = node.op_type == "Gather" and not node.domain
            dag_nodes.append(DagNode(DagCost(1, is_gather, is_computed_shape, 0, nbytes)))
        return total_cost(dag_nodes)


class _NodeWriter:
    """A writer of terms as nodes; equal terms become one node."""

    def __init__(self, plan: _SizePlan, cost: RewriteCost) -> None:
        self.plan, self.cost = plan, cost
        self.context, self.graph = plan.context, plan.graph
        self.names: dict[Term, str] = {}
        self.constants: dict[str, Constant] = {}
        self.nodes: list[tuple[NodeProto, Node, tuple[SymbolicTensor, ...]]] = []
        self.inputs: list[tuple[Node, int, str]] = []
        self.renamed: dict[str, str] = {}
        self.wired: dict[Node, tuple[Term, ...]] = {}

    def graph_rewrite(self) -> GraphRewrite | None:
        needs = list(self.plan.required_sizes.values())
        for need in needs:
            assert need.term is not None, "every need has a term"
            name = self._name(need.term)
            for reader, at in need.readers:
                if reader.inputs[at] != name:
                    if reader.graph is not self.graph and name not in self._new() \
                            and reader.graph.defining_graph(name) is not self.graph.defining_graph(name):  # fmt: skip
                        return None  # another value shadows the name in that subgraph
                    self.inputs.append((reader, at, name))
            if need.output and name != need.output:
                self.renamed[name] = need.output
        for name, output in self.renamed.items():
            if name in self.context.protected:
                return None
            readers = [*self.graph.readers.get(name, ()), *(node for node, _, read in self.inputs if read == name)]
            if any(reader.graph.defining_graph(output) is not self.graph for reader in readers):
                return None  # another value shadows the name of the output there
        first = next(need for need in needs)
        return GraphRewrite(
            law=LAW,
            name=first.name,
            cost=self.cost,
            nodes=tuple(self.nodes),
            constants=self.constants,
            inputs=tuple(self.inputs),
            renamed=self.renamed,
        )

    def _new(self) -> set[str]:
        return {name for proto, _, _ in self.nodes for name in proto.output} | self.constants.keys()

    def _name(self, term: Term) -> str:
        found = self.names.get(term)
        if found is None:
            found = self.names[term] = self._write(term)
        return found

    def _write(self, term: Term) -> str:
        if term.elements is not None:
            values = make_values(list(term.elements), () if term.fact.rank == 0 else (len(term.elements),))
            constant = from_integers(int(term.fact.dtype or DType.INT64), values)
            return self.context.constants.get_or_add(self.graph, constant, "size", self.constants)
        if not term.op_type:
            return term.name
        node = term.node
        # A present node is rewired in place once; for other inputs it is copied.
        if node is not None and self.wired.setdefault(node, term.inputs) == term.inputs:
            for at, (name, given) in enumerate(zip(node.inputs, term.inputs, strict=True)):
                if given.elements is not None and self.plan.search.names_constant(name, given):
                    continue
                wanted = self._name(given)
                if wanted != name and (node, at, wanted) not in self.inputs:
                    self.inputs.append((node, at, wanted))
            return node.outputs[term.output]
        inputs = [self._name(given) for given in term.inputs]
        before = self.plan.order[min(term.at + 1, len(self.plan.order) - 1)]
        if node is None:
            outputs = [self.context.fresh(term.op_type)]
            attributes: dict[str, Any] = dict(term.attributes)
            proto = helper.make_node(term.op_type, inputs, outputs, **attributes)
            self.nodes.append((proto, before, (term.fact,)))
            return outputs[0]
        proto = NodeProto()
        proto.CopyFrom(node.proto)
        del proto.input[:]
        del proto.output[:]
        outputs = [self.context.fresh(name) if name else "" for name in node.outputs]
        proto.input.extend(inputs)
        proto.output.extend(outputs)
        facts = [self.graph.fact(name) for name in node.outputs]
        self.nodes.append(
            (proto, before, tuple(f if isinstance(f, SymbolicTensor) else SymbolicTensor() for f in facts))
        )
        return outputs[term.output]


def _existing_name(term: Term) -> str:
    return term.node.outputs[term.output] if term.node is not None else ""


def _nested_nodes(node: Node) -> Iterator[Node]:
    """The nodes of the subgraphs of a node, at any depth."""
    for body in node.bodies:
        for inner in body.nodes:
            yield inner
            yield from _nested_nodes(inner)


def _is_size_node(context: RewriteContext, node: Node) -> bool:
    """Whether all live outputs of a node are sizes."""
    if node.is_constant:
        return False
    needed = [name for name in node.outputs if name and context.model.is_needed(node.graph, name)]
    for name in needed:
        fact = node.graph.fact(name)
        if not isinstance(fact, SymbolicTensor) or elements_of(fact) is None:
            return False
    return bool(needed) and context.model.is_removable(node) and not Match(context, node).is_protected
