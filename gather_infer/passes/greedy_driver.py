"""The greedy worklist driver: applies rewrite rules to a mutable model until they reach a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

from onnx import AttributeProto, NodeProto, helper

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError
from gather_infer.extensions import extension_error
from gather_infer.inference.incremental import IncrementalInference, add_equalities
from gather_infer.ir.inlining import MAX_MOVED, Inlining
from gather_infer.model.wire import MAX_MESSAGE_BYTES
from gather_infer.node_ids import GraphPath, NodePath, Root
from gather_infer.passes.constants import Constants, fact_of, key_of
from gather_infer.passes.duplicates import CommonSubexpressions, DuplicateConstants
from gather_infer.passes.fact_support import Fact, FactSupport
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph, MutableModel, Node
from gather_infer.passes.node_view import NodeView
from gather_infer.passes.profitability import constant_bytes, cost_of, count_nodes, dead_after
from gather_infer.passes.rewrite import REFUSALS, Rewrite, RewriteCost
from gather_infer.passes.rewriter import Rewriter
from gather_infer.passes.rule_table import GraphPass, RuleEntry, RuleTable
from gather_infer.passes.type_refinement import TypeRefinement, meet
from gather_infer.passes.worklist import Worklist
from gather_infer.symbolic import Dim, Scope, free_symbols, known_le
from gather_infer.tensor import SymbolicTensor, Value

MAX_REWRITES_PER_NODE: Final = 8
"""Rewrites per node of the file after which the driver stops: two rules that undo each other never terminate."""

MAX_GRAPH_PASS_RUNS: Final = 16
"""Maximum number of rewrites of a graph by one graph-level pass; each is cheaper than the last, three are rare."""

T = TypeVar("T")


class AppliedRewrite(NamedTuple):
    """A rewrite that was applied.

    node    the path of the rewritten node in the file
    rule    the name of the rule
    law     the equation that justifies the rewrite
    name    the first value that was replaced
    cost    the nodes and bytes that were added
    nbytes  bytes of the constants that were added
    """

    node: NodePath
    op_type: str
    rule: str
    law: str
    name: str
    cost: RewriteCost
    nbytes: int


_RESERVED_FOR_NODES: Final = 16 << 20
"""Bytes of a message that are reserved for the nodes that rewrites add."""


@dataclass(slots=True, eq=False)
class GreedyDriver:
    """The driver: takes nodes from the worklist and applies the first rule that matches and is profitable.

    Applying a rewrite enqueues the nodes that depend on its changes. The graph-level passes run once the worklist is
    empty. Compare the greedy pattern rewrite driver of MLIR; here the driver also tracks which nodes and values the
    rules examine.

    max_growth         bytes by which one rewrite may let the constants grow, after subtracting those that it makes dead
    removes_dead_code  whether code that is dead in the file is removed as well
    faulty             nodes of the file at which the inference has found an error
    protected          values whose producers are not rewritten; see `loadability`
    applied            the rewrites, in order
    diagnostics        notes about nodes that a rule has left alone, each once
    dependencies       nodes and names of values that the rules have examined for the current node
    """

    model: MutableModel
    table: RuleTable
    max_growth: int = 1 << 20
    removes_dead_code: bool = True
    faulty: frozenset[tuple[GraphPath, int]] = frozenset()
    protected: frozenset[str] = frozenset()
    applied: list[AppliedRewrite] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    constants: Constants = field(init=False)
    duplicate_constants: DuplicateConstants = field(init=False)
    common_subexpressions: CommonSubexpressions = field(init=False)
    dependencies: list[Hashable] = field(default_factory=list)
    _worklist: Worklist = field(default_factory=Worklist)
    _rewriter: Rewriter = field(init=False)
    _refinement: TypeRefinement = field(init=False)
    _support: FactSupport = field(init=False)
    _weakened_scope: Scope | None = None
    _is_undecided: bool = False
    _incremental: IncrementalInference | None = None
    _body_symbols: frozenset[str] | None = None
    _graph_pass_runs: dict[tuple[GraphPass, Graph], tuple[int, int]] = field(default_factory=dict)
    _memo: tuple[int, dict[object, Any]] = field(default_factory=lambda: (0, {}))
    _noted: set[tuple[Node, str]] = field(default_factory=set)
    _added_bytes: int = 0
    _free_bytes: int | None = None

    def __post_init__(self) -> None:
        self.constants = Constants(self.model)
        self.duplicate_constants = DuplicateConstants(self.model, self.constants.load)
        self.common_subexpressions = CommonSubexpressions(self.model, self.constants.load)
        pass_input = self.model.pass_input
        self._support = FactSupport(pass_input.inference, add_equalities, pass_input.is_reshape)
        self._refinement = TypeRefinement(self.model, self._worklist, self._infer, self._is_generated)
        self._rewriter = Rewriter(self.model, self.constants, self._worklist, self._infer, self._refinement)

    def run(self) -> None:
        """Rewrite to a fixed point. Raises UsageError if the rewrites do not reach one."""
        if self.removes_dead_code:
            self._rewriter.eliminate_all_dead_code()
        for node in list(self.model.nodes):
            if not node.is_removed and self._visit(node, first_only=True):
                self._enqueue_affected(node)
        for node in self.model.nodes:
            self._worklist.add(node)
        budget = 1000 + MAX_REWRITES_PER_NODE * len(self._worklist)
        merging = self.common_subexpressions
        while self._worklist or self._worklist.add_all(merging.unsettled()) or self._run_graph_passes():
            if not self._worklist:
                continue
            node = self._worklist.pop()
            if node.is_removed:
                continue
            if self._worklist.unmark_for_inference(node):
                self._refinement.infer_again(node)
            self.dependencies.clear()
            if not self._visit(node):
                self._worklist.record_dependencies(node, self.dependencies)
            else:
                self._enqueue_affected(node)
                budget -= 1
                if budget <= 0:
                    rules = sorted({done.rule for done in self.applied[-MAX_REWRITES_PER_NODE:]})
                    raise UsageError(f"the rewrites do not reach a fixed point: {', '.join(rules)}")

    def _run_graph_passes(self) -> bool:
        """Apply the first graph-level pass that returns a rewrite; False if none does."""
        for graph_pass in self.table.graph_passes:
            for graph in list(self.model.graphs.values()):
                seen = (graph_pass, graph)
                times, last = self._graph_pass_runs.get(seen, (0, -1))
                if last == len(self.applied) or times == MAX_GRAPH_PASS_RUNS:
                    continue  # nothing has changed since it last ran
                found = _attempt(graph_pass.function, self, graph)
                self._graph_pass_runs[seen] = times + (found is not None), len(self.applied)
                if found is not None:
                    first = graph.producers[found.name][0]
                    nbytes = sum(constant.nbytes for constant in found.constants.values())
                    self._record(first, graph_pass.name, found.law, found.name, found.cost, nbytes)
                    self._rewriter.apply_graph_rewrite(graph, found)
                    self._enqueue_affected(first)
                    return True
        return False

    def _visit(self, node: Node, *, first_only: bool = False) -> bool:
        """Apply the first rule that matches; False if none does.

        first_only   consider only the rules that run before all others
        """
        match = Match(self, node)
        if not match.is_operator or match.is_protected:
            return False
        for entry in self.table.find(node.domain, node.op_type, node.version):
            if first_only and not entry.is_first:
                continue
            if match.has_built:  # discard the nodes that another rule has built
                match = Match(self, node)
            rewrite = _attempt(entry.rule, match)
            if rewrite is not None and self._apply(node, entry, rewrite):
                return True
        return False

    def _match_without(self, lost: frozenset[Fact], node: Node, entry: RuleEntry) -> Rewrite | None:
        """The rewrite that a rule returns for a node if it cannot use the facts in `lost`; None if there is none."""
        self._weakened_scope, memo = self._support.scope_without(lost), self._memo
        self._memo = len(self.applied), {}
        try:
            return _attempt(entry.rule, Match(self, node))
        finally:
            self._weakened_scope, self._memo = None, memo

    def _enqueue_affected(self, node: Node) -> None:
        """Enqueue the nodes that a rewrite of `node` affects although neither they nor their dependencies have changed.

        These are duplicates of new constants, candidates for a spare Gather, and the nodes whose subgraphs contain
        `node`.
        """
        for graph, name in self.model.new_constants:
            if name in graph.constants:
                self._worklist.enqueue_dependents(self.constants.register(graph, name))
                for inner, other in self.duplicate_constants.add(graph, name):
                    writer = inner.producers.get(other)
                    # all of the readers: no rule examines the call of a function
                    for affected in (writer[0],) if writer else inner.readers.get(other, ()):
                        self._worklist.add(affected)
        self.model.new_constants.clear()
        for graph in node.graph.scope_chain():
            if graph.owner is not None and not graph.owner.is_removed:
                self._worklist.enqueue_dependents(graph.owner)
                self._rewriter.eliminate_dead_code([(graph.owner.graph, name) for name in graph.owner.outputs if name])

    @property
    def needs_another_round(self) -> bool:
        """Whether inferring the rewritten model again may find facts that let more rules match."""
        return (
            self._refinement.needs_inference
            or self._inference.relies_on_constraints
            or self._is_undecided
            or any(done.node.graph.steps or done.node.graph.root is Root.FUNCTION for done in self.applied)
        )

    # services for matches

    @property
    def scope(self) -> Scope:
        """The facts about dims."""
        if self._weakened_scope is not None:
            return self._weakened_scope
        return self._incremental.scope if self._incremental is not None else self._inference.scope

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """The result of `compute`, cached until the next rewrite."""
        if self._memo[0] != len(self.applied):
            self._memo = len(self.applied), {}
        if key not in self._memo[1]:
            self._memo[1][key] = compute()
        found: T = self._memo[1][key]
        return found

    def fresh(self, base: str) -> str:
        """A name that the model does not use yet."""
        return self._rewriter.fresh(base)

    def note(self, view: NodeView, code: str, text: str, detail: tuple[str, ...] = ()) -> None:
        """Report once why a node was left alone."""
        if (view.node, code) not in self._noted:
            self._noted.add((view.node, code))
            where = Location(self.model.label(view.node), view.op_type, view.domain)
            self.diagnostics.append(diagnostic(code, text, where, detail=detail))

    def enqueue(self, node: Node) -> None:
        """Have the rules examine a node again."""
        self._worklist.add(node)

    # applying a rewrite

    def _apply(self, node: Node, entry: RuleEntry, rewrite: Rewrite, without: frozenset[Fact] = frozenset()) -> bool:
        """Apply a rewrite if it is profitable, and justified by facts that remaining nodes imply.

        without   facts that the rule could not use when it returned the rewrite

        Returns whether the rewrite, or one that the rule returns with fewer facts, was applied.
        """
        rule = entry.name
        if rewrite.merged:
            return self._merge(node, rule, rewrite)
        if rewrite.body is not None:
            return self._inline(node, rule, rewrite, rewrite.body)
        graph = node.graph
        if not any(self.model.is_needed(graph, old) for old in rewrite.values):
            return False
        self._check(node, entry, rewrite)
        if any(old == new for old, new in rewrite.values.items()):
            return False
        rewrite = self._with_output_identities(node, rewrite)
        self.dependencies += [*rewrite.values, *rewrite.values.values()]
        if not self._can_replace(node, rewrite):
            return False
        facts = self._facts(node, entry, rewrite)
        dead, constants = dead_after(self.model, node, rewrite)
        cost = cost_of(self.model, node.graph, rewrite, facts, dead, constants, self.dependencies)
        if not self._is_profitable(node, rewrite, cost):
            return False
        lost = self._facts_lost_with(dead)
        if not lost <= without:
            # Match again without the lost facts: a rewrite must not justify itself. `without` grows each time.
            again = self._match_without(lost | without, node, entry)
            if again is None:
                self._is_undecided |= bool(self._support.unsupported)
            return again is not None and self._apply(node, entry, again, lost | without)
        # a new node may imply the lost facts again
        self._is_undecided |= bool(lost and rewrite.nodes)
        nbytes = sum(constant.nbytes for constant in rewrite.constants.values())
        self._record(node, rule, rewrite.law, next(iter(rewrite.values)), cost, nbytes)
        self._rewriter.replace(node, rewrite, facts)
        return True

    def _facts_lost_with(self, dead: Iterable[Node]) -> frozenset[Fact]:
        """The facts that no node of the file implies any more without the `dead` ones; new nodes do not count."""
        self._support.remove(self.model.removed_sources)
        self.model.removed_sources.clear()
        return self._support.unsupported_after(gone.source for gone in dead if gone.source is not None)

    def _merge(self, node: Node, rule: str, rewrite: Rewrite) -> bool:
        """Replace the uses of initializers by other constants; False if one must stay, or a name is shadowed."""
        homes: list[Graph] = []
        for old, new in rewrite.merged.items():
            home = node.graph.defining_graph(old)
            if home is None or not self.model.is_droppable(home, old) or home.defining_graph(new) is None:
                return False
            readers = self.model.readers(home, old)
            if any(reader.graph.defining_graph(new) is not home.defining_graph(new) for reader in readers):
                return False  # another value shadows the name in that subgraph
            homes.append(home)
        for home, (old, new) in zip(homes, rewrite.merged.items(), strict=True):
            self._record(node, rule, rewrite.law, old, RewriteCost(0, 0, -constant_bytes(home, old)), 0)
            self._rewriter.merge(home, old, new, f"{rewrite.law} ({old} is {new})")
        return True

    def _inline(self, node: Node, rule: str, rewrite: Rewrite, body: Graph) -> bool:
        """Replace the node by its subgraph `body`; False if names or constants prevent it, or nodes would be added.

        Bytes are not counted: a run reads and writes the same as in the subgraph.
        """
        graph = node.graph
        inlining = Inlining(self.model, node, body, rewrite.bound)
        others = sum(count_nodes(inner.nodes) for inner in node.bodies if inner is not body)
        named = [inner for old, inner in rewrite.values.items() if old in graph.output_set]
        passed = len(named) - len(
            (body.producers.keys() | rewrite.new_values).intersection(named)
        )  # each needs an Identity
        cost = RewriteCost(len(rewrite.nodes) + passed - 1 - others)
        if cost.nodes > 0 or any(old in graph.fixed for old in rewrite.values):
            return False
        if not inlining.is_possible(self.constants.load, self.model.may_add_constant, max(self.max_growth, MAX_MOVED)):
            return False
        self._record(node, rule, rewrite.law, next(filter(None, node.outputs), ""), cost, 0)
        self._rewriter.inline(node, rewrite, inlining)
        self._body_symbols = None  # the inputs of the body are values of one run now
        return True

    def _record(self, node: Node, rule: str, law: str, name: str, cost: RewriteCost, nbytes: int) -> None:
        self._added_bytes += nbytes
        self.applied.append(AppliedRewrite(self.model.label(node), node.op_type, rule, law, name, cost, nbytes))

    def _malformed(self, node: Node, entry: RuleEntry, fault: str) -> UsageError:
        """The error for a rewrite with a fault; `fault` continues a sentence about the rewrite."""
        return extension_error(entry.rule, f"rewrite {entry.name} of {self.model.label(node)}", fault)

    def _check(self, node: Node, entry: RuleEntry, rewrite: Rewrite) -> None:
        """Raise UsageError if the rewrite is malformed: undefined or repeated names, subgraphs, or foreign outputs."""
        graph = node.graph
        known = set(rewrite.constants)

        def check_read(name: str) -> None:
            if name not in known and graph.defining_graph(name) is None:
                raise self._malformed(node, entry, f"reads {name}, which is not defined")

        for proto in rewrite.nodes:
            if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in proto.attribute):
                raise self._malformed(node, entry, f"adds {proto.op_type}, which has a subgraph")
            for name in filter(None, proto.input):
                check_read(name)
            for name in filter(None, proto.output):
                if name in known or graph.defining_graph(name) is not None:
                    raise self._malformed(node, entry, f"writes {name}, which is already defined")
                known.add(name)
        for old, new in rewrite.values.items():
            if old not in node.outputs and not (old in rewrite.siblings and old in graph.producers):
                raise self._malformed(node, entry, f"replaces {old}, which the node does not write")
            check_read(new)

    def _with_output_identities(self, node: Node, rewrite: Rewrite) -> Rewrite:
        """The rewrite with an Identity for each graph output whose new value has to keep a name of its own."""
        if node.op_type == "Identity":
            return rewrite
        graph, made = node.graph, rewrite.new_values
        values, nodes = dict(rewrite.values), list(rewrite.nodes)
        for old, new in rewrite.values.items():
            if old not in graph.output_set or new in made:
                continue
            found = graph.producers.get(new)
            if found is None or found[0] is node or graph.is_fixed(new):
                values[old] = self.fresh(f"{old}_Identity")
                nodes.append(helper.make_node("Identity", [new], [values[old]]))
        return rewrite if len(nodes) == len(rewrite.nodes) else replace(rewrite, values=values, nodes=tuple(nodes))

    def _can_replace(self, node: Node, rewrite: Rewrite) -> bool:
        """Whether the new values can replace the outputs although graph outputs and fixed values keep their names."""
        graph, made = node.graph, rewrite.new_values
        targets: set[str] = set()
        for old, new in rewrite.values.items():
            if old in graph.fixed or old in self.protected:
                return False
            if old in graph.output_set and new in self.protected:
                return False  # its node would get another name
            if old in graph.output_set and new not in made:
                # the value itself has to take over the name
                found = graph.producers.get(new)
                if found is None or found[0] is node or graph.is_fixed(new):
                    return False
                if any(reader.graph.defining_graph(old) is not graph for reader in self.model.readers(graph, new)):
                    return False  # another value shadows the name in that subgraph
            if old in graph.output_set and new in targets:
                return False
            targets.add(new)
            for reader in self.model.readers(graph, old):
                if (
                    new not in made
                    and reader.graph is not graph
                    and reader.graph.defining_graph(new) is not graph.defining_graph(new)
                ):
                    return False  # another value shadows the name in that subgraph
        return True

    def _is_profitable(self, node: Node, rewrite: Rewrite, cost: RewriteCost) -> bool:
        """Whether a rewrite adds neither nodes nor bytes that a run reads or writes, and respects the limits on
        constants.
        """
        if cost.nodes > 0:
            return False
        added = sum(constant.nbytes for constant in rewrite.constants.values())
        if added and not self._fits_in_message(added):
            self.note(
                Match(self, node), "GI401", f"not folded: a model file cannot hold {added} more bytes of constants"
            )
            return False
        if cost.constant_bytes > self.max_growth:
            text = f"its constants grow by {cost.constant_bytes} bytes, the budget is {self.max_growth}"
            self.note(Match(self, node), "GI401", f"not folded: {text}")
            self.dependencies += map(key_of, rewrite.constants.values())  # equal constants may be added later
            return False
        return cost.run_bytes is not None and known_le(cost.run_bytes, 0, self.scope) is True

    def _fits_in_message(self, nbytes: int) -> bool:
        """Whether the message of the model, without external data, can hold `nbytes` more bytes of constants."""
        if self._free_bytes is None:
            self._free_bytes = MAX_MESSAGE_BYTES - self.model.pass_input.model.proto.ByteSize() - _RESERVED_FOR_NODES
        return self._added_bytes + nbytes <= self._free_bytes

    # facts

    @property
    def _inference(self) -> IncrementalInference:
        if self._incremental is None:
            self._incremental = IncrementalInference(self.model.pass_input.inference)
        return self._incremental

    def _is_generated(self, dim: Dim) -> bool:
        """Whether a dim contains a symbol that stands for an unknown size."""
        made_up = self._inference.generated_symbols(dim)
        if made_up and self._body_symbols is None:
            self._body_symbols = self._symbols_of_body_inputs()
        return not made_up <= (self._body_symbols or frozenset())

    def _symbols_of_body_inputs(self) -> frozenset[str]:
        """The symbols in the inputs of subgraphs and functions: their sizes differ between iterations or calls."""
        found: set[str] = set()
        for graph in self.model.graphs.values():
            for name in graph.inputs if graph.outer is not None or graph.is_in_function else ():
                fact = graph.facts.get(name)
                for dim in (fact.shape if isinstance(fact, SymbolicTensor) else None) or ():
                    found |= free_symbols(dim)
        return frozenset(found)

    def _infer(self, proto: NodeProto, graph: Graph) -> list[Value]:
        """The facts about the outputs of a new node of a graph, whose inputs are in the graph."""
        known = [graph.fact(name) if name else None for name in proto.input]
        return self._inference.facts(proto, known, graph.versions)

    def _facts(self, node: Node, entry: RuleEntry, rewrite: Rewrite) -> dict[str, Value]:
        """The facts about the new values. Raises UsageError if a replacement changes an element type."""
        graph = node.graph
        facts: dict[str, Value] = {name: fact_of(constant) for name, constant in rewrite.constants.items()}
        for proto in rewrite.nodes:
            inputs = [facts.get(name, graph.fact(name)) if name else None for name in proto.input]
            found = self._inference.facts(proto, inputs, graph.versions)
            facts.update({name: fact for name, fact in zip(proto.output, found, strict=False) if name})
        for old, new in rewrite.values.items():
            # Both values are equal, so the facts about either hold for both.
            known, fact = graph.fact(old), facts.get(new, graph.fact(new))
            if not isinstance(known, SymbolicTensor) or not isinstance(fact, SymbolicTensor):
                continue
            if None not in (known.dtype, fact.dtype) and known.dtype is not fact.dtype:
                fault = f"replaces {old}, which is {known.dtype}, by a value of {fact.dtype}"
                raise self._malformed(node, entry, fault)
            if new in facts:
                both = meet(known, fact, self._is_generated)
                facts[new] = known if both is None else both
        return facts


def _attempt(function: Callable[..., T | None], *args: object) -> T | None:
    """The result of a rule or a graph-level pass; None if it does not apply."""
    try:
        return function(*args)
    except REFUSALS:
        return None
