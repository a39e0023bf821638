"""The greedy worklist driver: applies rewrite rules to a mutable model until they reach a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from onnx import AttributeProto, NodeProto, helper

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError
from gather_infer.inference.incremental import IncrementalInference, add_equalities
from gather_infer.model.wire import MAX_MESSAGE_BYTES
from gather_infer.node_ids import GraphPath, NodePath, Root
from gather_infer.passes.changes import Changes
from gather_infer.passes.constants import Constants, fact_of, key_of
from gather_infer.passes.costs import cost_of, count_nodes, dying_by, held_bytes
from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.grounds import Fact, Grounds
from gather_infer.passes.inlining import MAX_MOVED, Inlining
from gather_infer.passes.learning import Learning, joined
from gather_infer.passes.rewrite import Cost, Rewrite, Unavailable
from gather_infer.passes.site import Site
from gather_infer.passes.table import Listed, Step, Table
from gather_infer.passes.twins import Repeats, Twins
from gather_infer.passes.view import GATHERS, View
from gather_infer.passes.worklist import Worklist
from gather_infer.symbolic import Dim, DimTooLarge, Scope, free_symbols, known_le
from gather_infer.tensor import SymbolicTensor, Value

MAX_REWRITES_PER_NODE: Final = 8
"""Rewrites per node of the file after which the driver stops: two rules that undo each other never terminate."""

MAX_ARRANGEMENTS: Final = 16
"""Runs of a graph-level pass on one graph; each result is cheaper than the last, and three are rarely needed."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done:
    """A rewrite that was applied.

    node    its path in the file
    rule    the name of the rule
    law     the equation behind it
    name    the first value that was replaced
    nbytes  bytes of the constants that were added
    """

    node: NodePath
    op_type: str
    rule: str
    law: str
    name: str
    cost: Cost
    nbytes: int


_FOR_NODES: Final = 16 << 20
"""Bytes of a message that are reserved for the nodes that rewrites add."""


@dataclass(slots=True, eq=False)
class Engine:
    """The driver: takes nodes from the worklist and applies the first rule that matches and is profitable.

    A rewrite enqueues the nodes that depend on its changes. The graph-level passes run once the worklist is empty.
    Compare the greedy pattern rewrite driver of MLIR; here the driver also tracks which nodes and values the rules
    examine.

    max_growth         bytes by which one rewrite may let the constants grow, minus those that it makes dead
    removes_dead_code  whether code that is dead in the file is removed as well
    faulty             nodes of the file at which the inference has found an error
    protected          values whose nodes stay as they are; see `loadability`
    applied            the rewrites, in order
    diagnostics        notes about nodes that a rule has left alone, each once
    dependencies       nodes and names of values that the rules have examined for the current node
    """

    draft: Draft
    table: Table
    max_growth: int = 1 << 20
    sweeps: bool = True
    faulty: frozenset[tuple[GraphPath, int]] = frozenset()
    kept: frozenset[str] = frozenset()
    done: list[Done] = field(default_factory=list)
    left: list[Diagnostic] = field(default_factory=list)
    constants: Constants = field(init=False)
    twins: Twins = field(init=False)
    repeats: Repeats = field(init=False)
    looked: list[Hashable] = field(default_factory=list)
    _waiting: Worklist = field(default_factory=Worklist)
    _changes: Changes = field(init=False)
    _learning: Learning = field(init=False)
    _grounds: Grounds = field(init=False)
    _narrow: Scope | None = None
    _is_undecided: bool = False
    _resumed: IncrementalInference | None = None
    _given: frozenset[str] | None = None
    _arranged: dict[tuple[Step, Graph], tuple[int, int]] = field(default_factory=dict)
    _memo: tuple[int, dict[object, Any]] = field(default_factory=lambda: (0, {}))
    _noted: set[tuple[Node, str]] = field(default_factory=set)
    _made: int = 0
    _room: int | None = None

    def __post_init__(self) -> None:
        self.constants = Constants(self.draft)
        self.twins = Twins(self.draft, self.constants.load)
        self.repeats = Repeats(self.draft)
        subject = self.draft.subject
        self._grounds = Grounds(subject.inference, add_equalities, subject.is_reshape)
        self._learning = Learning(self.draft, self._waiting, self._infer, self._is_generated)
        self._changes = Changes(self.draft, self.constants, self._waiting, self._infer, self._learning)

    def run(self) -> None:
        """Rewrite to a fixed point. Raises UsageError if the rewrites do not reach one."""
        if self.sweeps:
            self._changes.sweep_all()
        for node in self.draft.nodes:
            self._waiting.add(node)
        budget = 1000 + MAX_REWRITES_PER_NODE * len(self._waiting)
        while self._waiting or self._arranges():
            if not self._waiting:
                continue
            node = self._waiting.take()
            if node.is_gone:
                continue
            if self._waiting.unmark(node):
                self._learning.again(node)
            self.looked.clear()
            if not self._visit(node):
                self._waiting.watch(node, self.looked)
            else:
                self._look_around(node)
                budget -= 1
                if budget <= 0:
                    rules = sorted({done.rule for done in self.done[-MAX_REWRITES_PER_NODE:]})
                    raise UsageError(f"the rewrites do not reach a fixed point: {', '.join(rules)}")

    def _arranges(self) -> bool:
        """Apply the first graph-level pass with a cheaper result; False if there is none."""
        for step in self.table.steps:
            for graph in list(self.draft.graphs.values()):
                seen = (step, graph)
                times, last = self._arranged.get(seen, (0, -1))
                if last == len(self.done) or times == MAX_ARRANGEMENTS:
                    continue  # nothing has changed since it last ran
                found = step.arranging(self, graph)
                self._arranged[seen] = times + (found is not None), len(self.done)
                if found is not None:
                    first = graph.producers[found.name][0]
                    nbytes = sum(constant.nbytes for constant in found.constants.values())
                    self._note_done(first, step.name, found.law, found.name, found.cost, nbytes)
                    self._changes.arrange(graph, found)
                    self._look_around(first)
                    return True
        return False

    def _visit(self, node: Node) -> bool:
        site = Site(self, node)
        if not site.is_as_named or site.is_left:
            return False
        for listed in self.table.find(node.domain, node.op_type, node.version):
            if site.has_built:  # discard the nodes that another rule has built
                site = Site(self, node)
            try:
                rewrite = listed.rule(site)
            except (Unavailable, DimTooLarge):
                continue
            if rewrite is not None and self._make(node, listed, rewrite):
                return True
        return False

    def _asked_without(self, lost: frozenset[Fact], node: Node, listed: Listed) -> Rewrite | None:
        """The rewrite of a rule for a node if these facts are not known."""
        self._narrow, memo = self._grounds.without(lost), self._memo
        self._memo = len(self.done), {}
        try:
            return listed.rule(Site(self, node))
        except (Unavailable, DimTooLarge):
            return None
        finally:
            self._narrow, self._memo = None, memo

    def _look_around(self, node: Node) -> None:
        """Enqueue nodes that a rewrite affects although neither they nor their dependencies have changed.

        These are the duplicates of new constants, candidates for a spare Gather, and the nodes that enclose this one.
        """
        for graph, name in self.draft.new_constants:
            if name in graph.constants:
                self._waiting.wake(self.constants.share(graph, name))
                for inner, other in self.twins.enter(graph, name):
                    writer = inner.producers.get(other)
                    # all of the readers: no rule examines the call of a function
                    for asked in (writer[0],) if writer else inner.readers.get(other, ()):
                        self._waiting.add(asked)
        self.draft.new_constants.clear()
        if self.draft.spare_gathers > 0:
            self._waiting.wake(GATHERS)
        for graph in node.graph.around():
            if graph.owner is not None and not graph.owner.is_gone:
                self._waiting.wake(graph.owner)
                self._changes.sweep([(graph.owner.graph, name) for name in graph.owner.outputs if name])

    @property
    def is_open(self) -> bool:
        """Whether another inference may find facts that let more rules match."""
        return (
            self._learning.is_open
            or self._knowledge.relies_on_constraints
            or self._is_undecided
            or any(done.node.graph.steps or done.node.graph.root is Root.FUNCTION for done in self.done)
        )

    # services for matches

    @property
    def scope(self) -> Scope:
        """The facts about dims."""
        if self._narrow is not None:
            return self._narrow
        return self._resumed.scope if self._resumed is not None else self._knowledge.scope

    def remembered(self, key: object, make: Callable[[], T]) -> T:
        """The result of `compute`, cached until the next rewrite."""
        if self._memo[0] != len(self.done):
            self._memo = len(self.done), {}
        if key not in self._memo[1]:
            self._memo[1][key] = make()
        found: T = self._memo[1][key]
        return found

    def fresh(self, base: str) -> str:
        """A name that the model does not use yet."""
        return self._changes.fresh(base)

    def note(self, view: View, code: str, text: str, detail: tuple[str, ...] = ()) -> None:
        """Report once why a node was left alone."""
        if (view.node, code) not in self._noted:
            self._noted.add((view.node, code))
            where = Location(self.draft.label(view.node), view.op_type, view.domain)
            self.left.append(diagnostic(code, text, where, detail=detail))

    def ask(self, node: Node) -> None:
        """Have the rules examine a node again."""
        self._waiting.add(node)

    # applying a rewrite

    def _make(self, node: Node, listed: Listed, rewrite: Rewrite, without: frozenset[Fact] = frozenset()) -> bool:
        """Apply a rewrite if it is profitable and justified by the facts that remaining nodes imply.

        without   facts that the rule did not use
        """
        rule = listed.name
        if rewrite.merged:
            return self._merge(node, rule, rewrite)
        if rewrite.body is not None:
            return self._inline(node, rule, rewrite, rewrite.body)
        graph = node.graph
        if not any(self.draft.is_needed(graph, old) for old in rewrite.values):
            return False
        self._check(node, rule, rewrite)
        if any(old == new for old, new in rewrite.values.items()):
            return False
        rewrite = self._named_anew(node, rewrite)
        self.looked += [*rewrite.values, *rewrite.values.values()]
        if not self._may_replace(node, rewrite):
            return False
        facts = self._facts(node, rule, rewrite)
        cost = cost_of(self.draft, node, rewrite, facts, self.looked)
        if not self._is_admitted(node, rewrite, cost):
            return False
        lost = self._lost_by(node, rewrite)
        if not lost <= without:
            # Match again without the lost facts: a rewrite must not justify itself. `without` grows each time.
            again = self._asked_without(lost | without, node, listed)
            if again is None:
                self._is_undecided |= bool(self._grounds.lost)
            return again is not None and self._make(node, listed, again, lost | without)
        # a new node may imply the lost facts again
        self._is_undecided |= bool(lost and rewrite.nodes)
        nbytes = sum(constant.nbytes for constant in rewrite.constants.values())
        self._note_done(node, rule, rewrite.law, next(iter(rewrite.values)), cost, nbytes)
        self._changes.replace(node, rewrite, facts)
        return True

    def _lost_by(self, node: Node, rewrite: Rewrite) -> frozenset[Fact]:
        """The facts that no node implies after the rewrite; new nodes do not count."""
        self._grounds.remove(self.draft.gone)
        self.draft.gone.clear()
        dying, _ = dying_by(self.draft, node, rewrite)
        return self._grounds.lost_with(gone.source for gone in dying if gone.source is not None)

    def _merge(self, node: Node, rule: str, rewrite: Rewrite) -> bool:
        """Replace the uses of an initializer by another constant."""
        homes: list[Graph] = []
        for old, new in rewrite.merged.items():
            home = node.graph.home(old)
            if home is None or not self.draft.is_droppable(home, old) or home.home(new) is None:
                return False
            readers = self.draft.readers(home, old)
            if any(reader.graph.home(new) is not home.home(new) for reader in readers):
                return False  # another value shadows the name in that subgraph
            homes.append(home)
        for home, (old, new) in zip(homes, rewrite.merged.items(), strict=True):
            self._note_done(node, rule, rewrite.law, old, Cost(0, 0, -held_bytes(home, old)), 0)
            self._changes.merge(home, old, new, f"{rewrite.law} ({old} is {new})")
        return True

    def _inline(self, node: Node, rule: str, rewrite: Rewrite, body: Graph) -> bool:
        """Replace the node by one of its subgraphs; False if names or constants prevent it, or nodes would be added.

        Bytes are not counted: a run reads and writes the same as in the subgraph.
        """
        graph = node.graph
        inlining = Inlining(self.draft, node, body, rewrite.bound)
        others = sum(count_nodes(inner.nodes) for inner in node.bodies if inner is not body)
        named = [inner for old, inner in rewrite.values.items() if old in graph.ends]
        passed = len(named) - len((body.producers.keys() | rewrite.made).intersection(named))  # each needs an Identity
        cost = Cost(len(rewrite.nodes) + passed - 1 - others)
        if cost.nodes > 0 or any(old in graph.fixed for old in rewrite.values):
            return False
        if not inlining.is_possible(self.constants.load, max(self.max_growth, MAX_MOVED)):
            return False
        self._note_done(node, rule, rewrite.law, next(filter(None, node.outputs), ""), cost, 0)
        self._changes.inline(node, rewrite, inlining)
        self._given = None  # the inputs of the body are values of one run now
        return True

    def _note_done(self, node: Node, rule: str, law: str, name: str, cost: Cost, nbytes: int) -> None:
        self._made += nbytes
        self.done.append(Done(self.draft.label(node), node.op_type, rule, law, name, cost, nbytes))

    def _check(self, node: Node, rule: str, rewrite: Rewrite) -> None:
        """Raise UsageError if the new nodes are malformed."""
        graph, where = node.graph, f"rewrite {rule} of {self.draft.label(node)}"
        known = set(rewrite.constants)

        def check_read(name: str) -> None:
            if name not in known and graph.home(name) is None:
                raise UsageError(f"{where} reads {name}, which is not defined")

        for proto in rewrite.nodes:
            if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in proto.attribute):
                raise UsageError(f"{where} adds {proto.op_type}, which has a subgraph")
            for name in filter(None, proto.input):
                check_read(name)
            for name in filter(None, proto.output):
                if name in known or graph.home(name) is not None:
                    raise UsageError(f"{where} writes {name}, which is already defined")
                known.add(name)
        for old, new in rewrite.values.items():
            if old not in node.outputs and not (old in rewrite.siblings and old in graph.producers):
                raise UsageError(f"rewrite {rule} replaces {old}, which {self.draft.label(node)} does not write")
            check_read(new)

    def _named_anew(self, node: Node, rewrite: Rewrite) -> Rewrite:
        """The rewrite with an Identity for each graph output whose new value has to keep a name of its own."""
        if node.op_type == "Identity":
            return rewrite
        graph, made = node.graph, rewrite.made
        values, nodes = dict(rewrite.values), list(rewrite.nodes)
        for old, new in rewrite.values.items():
            if old not in graph.ends or new in made:
                continue
            found = graph.producers.get(new)
            if found is None or found[0] is node or graph.is_fixed(new):
                values[old] = self.fresh(f"{old}_Identity")
                nodes.append(helper.make_node("Identity", [new], [values[old]]))
        return rewrite if len(nodes) == len(rewrite.nodes) else replace(rewrite, values=values, nodes=tuple(nodes))

    def _may_replace(self, node: Node, rewrite: Rewrite) -> bool:
        """Whether the values can replace the outputs under the names that have to stay."""
        graph, made = node.graph, rewrite.made
        targets: set[str] = set()
        for old, new in rewrite.values.items():
            if old in graph.fixed or old in self.kept:
                return False
            if old in graph.ends and new in self.kept:
                return False  # its node would get another name
            if old in graph.ends and new not in made:
                # the value itself has to take over the name
                found = graph.producers.get(new)
                if found is None or found[0] is node or graph.is_fixed(new):
                    return False
                if any(reader.graph.home(old) is not graph for reader in self.draft.readers(graph, new)):
                    return False  # another value shadows the name in that subgraph
            if old in graph.ends and new in targets:
                return False
            targets.add(new)
            for reader in self.draft.readers(graph, old):
                if new not in made and reader.graph is not graph and reader.graph.home(new) is not graph.home(new):
                    return False  # another value shadows the name in that subgraph
        return True

    def _is_admitted(self, node: Node, rewrite: Rewrite, cost: Cost) -> bool:
        """Whether a rewrite adds no nodes and no bytes of a run, and keeps to the limits of constants."""
        if cost.nodes > 0:
            return False
        made = sum(constant.nbytes for constant in rewrite.constants.values())
        if made and not self._has_room_for(made):
            self.note(Site(self, node), "GI401", f"not folded: a model file cannot hold {made} more bytes of constants")
            return False
        if cost.constant_bytes > self.max_growth:
            text = f"its constants grow by {cost.constant_bytes} bytes, the budget is {self.max_growth}"
            self.note(Site(self, node), "GI401", f"not folded: {text}")
            self.looked += map(key_of, rewrite.constants.values())  # equal constants may be added later
            return False
        return cost.run_bytes is not None and known_le(cost.run_bytes, 0, self.scope) is True

    def _has_room_for(self, nbytes: int) -> bool:
        """Whether the message of the model, without external data, can hold so many more bytes of constants."""
        if self._room is None:
            self._room = MAX_MESSAGE_BYTES - self.draft.subject.model.proto.ByteSize() - _FOR_NODES
        return self._made + nbytes <= self._room

    # facts

    @property
    def _knowledge(self) -> IncrementalInference:
        if self._resumed is None:
            self._resumed = IncrementalInference(self.draft.subject.inference)
        return self._resumed

    def _is_generated(self, dim: Dim) -> bool:
        """Whether a dim contains a symbol that stands for an unknown size."""
        made_up = self._knowledge.generated_symbols(dim)
        if made_up and self._given is None:
            self._given = self._given_to_bodies()
        return not made_up <= (self._given or frozenset())

    def _given_to_bodies(self) -> frozenset[str]:
        """The symbols in the inputs of subgraphs and functions: their sizes differ between iterations or calls."""
        found: set[str] = set()
        for graph in self.draft.graphs.values():
            for name in graph.inputs if graph.outer is not None or graph.is_in_function else ():
                fact = graph.facts.get(name)
                for dim in (fact.shape if isinstance(fact, SymbolicTensor) else None) or ():
                    found |= free_symbols(dim)
        return frozenset(found)

    def _infer(self, proto: NodeProto, graph: Graph) -> list[Value]:
        """The facts about the outputs of a new node of a graph, whose inputs are in the graph."""
        known = [graph.fact(name) if name else None for name in proto.input]
        return self._knowledge.facts(proto, known, graph.versions)

    def _facts(self, node: Node, rule: str, rewrite: Rewrite) -> dict[str, Value]:
        """The facts about the new values. Raises UsageError if one has another element type."""
        graph = node.graph
        facts: dict[str, Value] = {name: fact_of(constant) for name, constant in rewrite.constants.items()}
        for proto in rewrite.nodes:
            inputs = [facts.get(name, graph.fact(name)) if name else None for name in proto.input]
            found = self._knowledge.facts(proto, inputs, graph.versions)
            facts.update({name: fact for name, fact in zip(proto.output, found, strict=False) if name})
        for old, new in rewrite.values.items():
            # Both values are equal, so the facts about either hold for both.
            known, fact = graph.fact(old), facts.get(new, graph.fact(new))
            if not isinstance(known, SymbolicTensor) or not isinstance(fact, SymbolicTensor):
                continue
            if None not in (known.dtype, fact.dtype) and known.dtype is not fact.dtype:
                where = f"rewrite {rule} of {self.draft.label(node)}"
                raise UsageError(f"{where} replaces {old}, which is {known.dtype}, by a value of {fact.dtype}")
            if new in facts:
                both = joined(known, fact, self._is_generated)
                facts[new] = known if both is None else both
        return facts
