"""Compute the cost of a model: visit every node in topological order, and sum multiply-adds, traffic and live bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from onnx import AttributeProto, FunctionProto, NodeProto

from gather_infer.cost.aggregate import SUMS, Aggregate
from gather_infer.cost.control import branches, loop_iterations
from gather_infer.cost.formulas import tables
from gather_infer.cost.graph_instance import Facts, GraphInstance, is_constant
from gather_infer.cost.liveness import Liveness
from gather_infer.cost.parameters import parameters
from gather_infer.cost.pareto import ParetoSet
from gather_infer.cost.result import Cost, NodeCost
from gather_infer.cost.traffic import read_bytes, written_bytes
from gather_infer.cost.user_formulas import evaluate_user_formula, user_formula, user_rule
from gather_infer.cost.work import CostUnknown, Work
from gather_infer.domains import canonical_domain, plain_domain, qualified
from gather_infer.ir import Graph, Node
from gather_infer.model.attributes import integer_attribute
from gather_infer.model.paths import subgraph_label
from gather_infer.node_ids import MAIN, NodePath, Step
from gather_infer.ops import standard_rule
from gather_infer.rules import NO_TRAITS, MacsFormula, Traits
from gather_infer.symbolic import Dim, Fuel, free_symbols
from gather_infer.tensor import OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value

PROOFS: Final = 2000
"""Budget of Fourier-Motzkin eliminations for proofs that one sum is never larger than another."""

MAX_DEPTH: Final = 40
"""Maximal nesting depth of graphs and calls; the inference has the same limit."""


def cost_of(facts: Facts) -> Cost:
    """The cost of one run of a model, computed from its inferred types; called by `Inference.cost`.

    `Cost.unknown_contributions` lists the contributions that the sums leave out. Raises UsageError if a formula of the
    user raises an unexpected exception or does not return a dim.
    """
    return _Counter(facts).cost()


class _Counter:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.model = facts.ir
        self.symbols = dict.fromkeys(_symbols_of(facts.scopes.get(MAIN, {}).get(name) for name in facts.inputs))
        self.symbols |= dict.fromkeys(_symbols_of(belief.type for belief in facts.trusted_annotations))
        self.symbols |= dict.fromkeys(facts.causes)
        self.scope = facts.known.restricted_to(self.symbols.keys())
        self.scope.fuels = (Fuel(PROOFS),)
        self.branches = 0

    def cost(self) -> Cost:
        values, generated = self.facts.scopes.get(MAIN, {}), self.facts.causes.keys()
        main = GraphInstance(MAIN, self.model.main, values, "", None, generated)
        aggregate = self.graph(main, _fed_inputs(main.graph))
        constants_bytes, unknown = parameters(self.facts.model)
        macs, reads, writes = (self.total(aggregate, what) for what in SUMS)
        return Cost(
            self.facts.model.name,
            macs,
            reads,
            writes,
            tuple(aggregate.peaks.points),
            constants_bytes,
            tuple(aggregate.nodes),
            tuple(dict.fromkeys([*aggregate.unknown, *unknown])),
            self.branches,
            tuple(self.symbols),
            self.scope,
            self.facts.causes,
            self.facts.constraints,
            self.facts.assumptions,
            facts=self.facts,
        )

    def total(self, aggregate: Aggregate, quantity: str) -> Dim:
        """The sum of `quantity` over the model.

        If its expression grows past the size limit of a Dim, returns 0 and adds an unknown contribution to `aggregate`.
        """
        found = aggregate.evaluate(None, None, quantity, aggregate.total, quantity)
        return 0 if found is None else found

    # graphs

    def graph(self, instance: GraphInstance, inputs: Sequence[str]) -> Aggregate:
        """The cost of a graph with its subgraphs; `inputs` are the graph inputs that occupy buffers of their own."""
        aggregate = Aggregate(ParetoSet(self.scope))
        live = Liveness(instance, inputs, aggregate)
        for member in instance.graph.sorted_nodes:
            node, position = member.proto, _position(member)
            if is_constant(node) and self.function(node) is None:
                continue
            self.node(instance, node, position, aggregate, live)
            live.free(position)
        for member in instance.graph.cyclic:
            aggregate.add_unknown(
                self.path(instance, _position(member)),
                member.proto,
                "it is on a cycle",
                "macs",
                "reads",
                "writes",
                "peak",
            )
        return aggregate

    def path(self, instance: GraphInstance, position: int) -> NodePath:
        label, prefix = (
            self.model.node_path(instance.graph.path, position).label,
            self.model.graph_label(instance.graph.path),
        )
        return NodePath(
            instance.path, position, f"{instance.label}{label.removeprefix(f'{prefix}/' if prefix else '')}"
        )

    def node(
        self, instance: GraphInstance, node: NodeProto, position: int, aggregate: Aggregate, live: Liveness
    ) -> None:
        """Add the cost of a node to `aggregate`: by the formula of its operator, or by the graphs that it runs."""
        path = self.path(instance, position)
        domain = canonical_domain(node.domain)
        if self.function(node) is not None and not self.is_operator(domain, node.op_type):
            inner = self.call(instance, node, position, path)
            aggregate.add(inner, path, node, live.live_bytes)
        elif domain == "" and node.op_type == "If":
            self.branch(instance, node, position, path, aggregate, live.live_bytes)
        elif domain == "" and node.op_type in ("Loop", "Scan", "SequenceMap"):
            self.loop(instance, node, position, path, aggregate, live)
        else:
            live.allocate(node.output, path, node)
            self.leaf(instance, node, path, live.live_bytes, aggregate)
            return
        live.allocate(node.output, path, node)

    def function(self, node: NodeProto) -> Graph | None:
        """The body of the local function that a node calls; None if it calls none."""
        functions = self.model.functions
        return functions.get((plain_domain(node.domain), node.op_type, node.overload)) if functions else None

    def user_formula(self, node: NodeProto) -> MacsFormula | None:
        """The user's formula for the operator of `node`; None if there is none, or if the node calls a function."""
        if not self.facts.rules or self.function(node) is not None:
            return None
        return user_formula(self.facts.rules, node.domain, node.op_type)

    def formula(self, domain: str, op_type: str) -> MacsFormula | None:
        table = tables().get(domain)
        return None if table is None else table.find(op_type)

    def is_zero_cost(self, domain: str, op_type: str) -> bool:
        """Whether the tables list the operator as one without multiply-adds."""
        table = tables().get(domain)
        return table is not None and op_type in table.zero_cost

    def is_operator(self, domain: str, op_type: str) -> bool:
        """Whether the tables list the operator; runtimes then run it even if a local function has the same name."""
        return self.formula(domain, op_type) is not None or self.is_zero_cost(domain, op_type)

    # one node

    def leaf(self, instance: GraphInstance, node: NodeProto, path: NodePath, live: Dim, aggregate: Aggregate) -> None:
        """Add the cost of an operator that runs no graphs; `live` is the number of bytes live at the node."""
        domain = canonical_domain(node.domain)
        work = Work(
            node.op_type,
            [instance.find(name) if name else None for name in node.input],
            [instance.values.get(name) if name else None for name in node.output],
            {},
            instance.version(node.domain),
        )
        user = self.user_formula(node)
        formula = user or self.formula(domain, node.op_type)
        cost = NodeCost(
            path,
            node.op_type,
            domain,
            self.macs(instance, node, work, path, aggregate)
            if user is None
            else self.user_macs(user, instance, node, work, path, aggregate),
            aggregate.evaluate(path, node, "reads", read_bytes, instance, node, work, self.traits(node, instance)),
            aggregate.evaluate(path, node, "writes", written_bytes, instance, node, work),
            live,
            "" if formula is None else formula.text,
            "" if formula is None else formula.source,
        )
        aggregate.count(cost)

    def macs(
        self, instance: GraphInstance, node: NodeProto, work: Work, path: NodePath, aggregate: Aggregate
    ) -> Dim | None:
        """Multiply-adds of an operator; None, with an unknown contribution in `aggregate`, if they are unknown."""
        domain = canonical_domain(node.domain)
        if self.is_zero_cost(domain, node.op_type):
            return 0
        formula = self.formula(domain, node.op_type)
        if formula is None:
            aggregate.add_unknown(path, node, f"{qualified(node.domain, node.op_type)} has no formula", "macs")
            return None
        seen = replace(work, attributes=instance.attributes_of(node))
        return aggregate.evaluate(path, node, "macs", formula.macs, seen)

    def user_macs(
        self,
        formula: MacsFormula,
        instance: GraphInstance,
        node: NodeProto,
        work: Work,
        path: NodePath,
        aggregate: Aggregate,
    ) -> Dim | None:
        """Multiply-adds by a formula of the user; None, with an unknown contribution, if it raises CostUnknown.

        Raises UsageError if the formula raises another exception or does not return a dim.
        """
        seen = replace(work, attributes=instance.attributes_of(node))
        return aggregate.evaluate(path, node, "macs", evaluate_user_formula, formula, seen, node.domain, path)

    def traits(self, node: NodeProto, instance: GraphInstance) -> Traits:
        version = instance.version(node.domain)
        found = user_rule(self.facts.rules, node.domain, node.op_type, version)
        found = found or standard_rule(canonical_domain(node.domain), node.op_type, version)
        return NO_TRAITS if found is None else found.traits

    # graphs in nodes

    def subgraph(self, instance: GraphInstance, node: NodeProto, position: int, attribute: str) -> GraphInstance | None:
        """The subgraph in `attribute` of the node at `position`; None if it is absent or was not inferred."""
        for at, held in enumerate(node.attribute):
            if held.name != attribute or held.type != AttributeProto.GRAPH:
                continue
            step = Step(position, at)
            path = instance.path.below(step)
            graph = self.model.graphs.get(instance.graph.path.below(step))  # none if a call passes it to a function
            if path not in self.facts.scopes or graph is None:
                return None
            label = subgraph_label(self.path(instance, position).label, node, step)
            return GraphInstance(
                path,
                graph,
                self.facts.scopes[path],
                f"{label}/",
                instance,
                instance.generated,
                instance.attributes,
            )
        return None

    def call(self, instance: GraphInstance, node: NodeProto, position: int, path: NodePath) -> Aggregate | None:
        """The cost of a call of a local function; None if its body was not inferred or calls are nested too deeply."""
        graph = self.function(node)
        assert graph is not None and isinstance(graph.proto, FunctionProto), "the node calls a function of the model"
        inside = instance.path.below(Step(position))
        if inside not in self.facts.scopes or len(inside.steps) > MAX_DEPTH:
            return None
        bound = {a.name: a for a in graph.proto.attribute_proto}
        for attribute in node.attribute:
            source = instance.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if source is not None:
                bound[attribute.name] = source
        inner = GraphInstance(
            inside, graph, self.facts.scopes[inside], f"{path.label}/", None, instance.generated, bound
        )
        return self.graph(inner, ())

    def branch(
        self, instance: GraphInstance, node: NodeProto, position: int, path: NodePath, aggregate: Aggregate, live: Dim
    ) -> None:
        """Add the cost of an If: of the branch that runs, or for each quantity the maximum if the branch is unknown."""
        names = branches(instance.find(node.input[0]) if node.input else None)
        inner = [self.subgraph(instance, node, position, name) for name in names]
        aggregates = [None if one is None else self.graph(one, ()) for one in inner]
        if len(aggregates) > 1 and any(one is None or one.nodes for one in aggregates):
            self.branches += 1
        aggregate.add_larger(aggregates, path, node, live, self.scope)

    def loop(
        self,
        instance: GraphInstance,
        node: NodeProto,
        position: int,
        path: NodePath,
        aggregate: Aggregate,
        live: Liveness,
    ) -> None:
        """Add the cost of a loop: of its body over all iterations, and of writing and reading its scan outputs."""
        body = self.subgraph(instance, node, position, "body")
        if body is None:
            aggregate.add(None, path, node, live.live_bytes)
            return
        inner = self.graph(body, _fed_inputs(body.graph))
        stacked = self.stacked(instance, node, path, len(body.graph.outputs), aggregate)
        try:
            each = loop_iterations(instance, node, body.path, path, self.facts)
        except CostUnknown as unknown:
            aggregate.add_unknown(path, node, str(unknown), "macs", "reads", "writes", "peak")
            return
        aggregate.add_loop(inner, each, path, node, live.live_bytes + stacked, self.scope)
        aggregate.add_sums(reads=stacked, writes=stacked)

    def stacked(
        self, instance: GraphInstance, node: NodeProto, path: NodePath, outputs: int, aggregate: Aggregate
    ) -> Dim:
        """Bytes of the scan outputs of a loop, which concatenate the results of its iterations."""
        states = max(len(node.input) - 2, 0)
        if node.op_type == "Scan":
            states = len(node.input) - integer_attribute(node, "num_scan_inputs")
        found: Dim = 0
        for name in node.output[0 if node.op_type == "SequenceMap" else states :]:
            if name:
                nbytes = aggregate.evaluate(path, node, "peak", instance.nbytes, [instance.values.get(name)])
                found = found + (0 if nbytes is None else nbytes)
        return found


def _fed_inputs(graph: Graph) -> list[str]:
    """The inputs of a graph without a default, in order."""
    return [name for name in graph.inputs if name not in graph.initializers and name not in graph.sparse]


def _symbols_of(values: Iterable[Value | None]) -> list[str]:
    """Symbols in the shapes of values, sequence elements included, in order of occurrence."""
    found: dict[str, None] = {}
    for value in values:
        if isinstance(value, (SymbolicTensor, SparseTensor)):
            for dim in value.shape or ():
                found |= dict.fromkeys(sorted(free_symbols(dim)))
        elif isinstance(value, (SequenceType, OptionalType)):
            found |= dict.fromkeys(_symbols_of([value.element]))
    return list(found)


def _position(node: Node) -> int:
    assert node.origin is not None, "the model has no edits"
    return node.origin
