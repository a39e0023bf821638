"""The worklist that rewrites a draft until no rule has anything to say."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError
from gather_infer.inference.resume import Resumed
from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.inlining import Inlining
from gather_infer.passes.rewrite import Arrangement, Cost, Rewrite
from gather_infer.passes.site import Site, Unavailable
from gather_infer.passes.table import Step, Table
from gather_infer.passes.twins import Repeats, Twins
from gather_infer.places import GraphPath, NodePath
from gather_infer.symbolic import Dim, DimTooLarge, Scope, known_le
from gather_infer.tensor import DType, SymbolicTensor, Value, element_bytes, from_values

SMALL: Final = 64
"""Elements of a constant that costs nothing to read in a run."""

MAX_REWRITES_PER_NODE: Final = 8
"""Rewrites for each node of the file, past which the engine stops: two rules that undo each other would never end."""

MAX_ARRANGEMENTS: Final = 16
"""Times that a step arranges a graph anew; each is cheaper than the one before, and three are rarely seen."""

T = TypeVar("T")

UNREAD: Final = "nothing reads it any more"


@dataclass(frozen=True, slots=True)
class Done:
    """A rewrite that was made.

    node    where, as the file has it
    rule    the name of the rule
    law     the equation behind it
    name    the first value that another one has taken the place of
    nbytes  of the constants that it has added
    """

    node: NodePath
    op_type: str
    rule: str
    law: str
    name: str
    cost: Cost
    nbytes: int


@dataclass(slots=True, eq=False)
class Engine:
    """Rules at work on a draft.

    max_growth  bytes by which one rewrite may let the constants grow, what it makes dead taken off
    sweeps  whether what nobody has read from the start goes as well
    faulty  nodes of the file at which the inference has found an error
    done   in the order in which it was done
    left   findings about nodes that a rule has left alone, each once
    """

    draft: Draft
    table: Table
    max_growth: int = 1 << 20
    sweeps: bool = True
    faulty: frozenset[tuple[GraphPath, int]] = frozenset()
    done: list[Done] = field(default_factory=list)
    left: list[Diagnostic] = field(default_factory=list)
    _waiting: deque[Node] = field(default_factory=deque)
    _queued: set[Node] = field(default_factory=set)
    _resumed: Resumed | None = None
    _scope: Scope | None = None
    _loaded: dict[int, tuple[object, Constant | None]] = field(default_factory=dict)
    _pools: dict[Graph, dict[tuple[object, ...], str]] = field(default_factory=dict)
    _arranged: dict[tuple[Step, Graph], tuple[int, int]] = field(default_factory=dict)
    _memo: tuple[int, dict[object, Any]] = field(default_factory=lambda: (0, {}))
    _noted: set[tuple[Node, str]] = field(default_factory=set)
    repeats: Repeats = field(default_factory=Repeats)
    _twins: Twins | None = None

    @property
    def resumed(self) -> Resumed:
        if self._resumed is None:
            self._resumed = Resumed(self.draft.subject.inference)
        return self._resumed

    @property
    def scope(self) -> Scope:
        """What is known of dims."""
        return self.resumed.scope

    @property
    def twins(self) -> Twins:
        """Constants that are there twice."""
        if self._twins is None:
            self._twins = Twins(self.load)
        return self._twins

    def run(self) -> None:
        """Rewrite until nothing is left to do."""
        if self.sweeps:
            self._sweep_all()
        for node in self.draft.nodes:
            self._wait(node)
        budget = 1000 + MAX_REWRITES_PER_NODE * len(self._waiting)
        while self._waiting or self._arranges():
            if not self._waiting:
                continue
            node = self._waiting.popleft()
            self._queued.discard(node)
            if node.is_gone:
                continue
            if self._visit(node):
                budget -= 1
                if budget <= 0:
                    rules = sorted({done.rule for done in self.done[-MAX_REWRITES_PER_NODE:]})
                    raise UsageError(f"rewrites do not come to an end: {', '.join(rules)}")

    def _arranges(self) -> bool:
        """Arrange a graph anew, the first for which that is cheaper; False when there is none."""
        for step in self.table.steps:
            for graph in list(self.draft.graphs.values()):
                seen = (step, graph)
                times, last = self._arranged.get(seen, (0, -1))
                if last == len(self.done) or times == MAX_ARRANGEMENTS:
                    continue  # it is as it was left
                arrangement = step.arranging(self, graph)
                self._arranged[seen] = times + (arrangement is not None), len(self.done)
                if arrangement is not None:
                    self._arrange(graph, step.name, arrangement)
                    return True
        return False

    def _visit(self, node: Node) -> bool:
        site = Site(self, node)
        if not self.draft.subject.is_ours(node.proto) or site.has_reference or site.is_faulty:
            return False
        site = Site(self, node)
        for listed in self.table.find(node.domain, node.op_type, node.version):
            if site.has_built:
                site = Site(self, node)
            try:
                rewrite = listed.rule(site)
            except (Unavailable, DimTooLarge):
                continue
            if rewrite is None:
                continue
            if self._make(node, listed.name, rewrite):
                return True
        return False

    # what sites ask for

    def remembered(self, key: object, make: Callable[[], T]) -> T:
        """What `make` finds about the draft, until something is rewritten."""
        if self._memo[0] != len(self.done):
            self._memo = len(self.done), {}
        if key not in self._memo[1]:
            self._memo[1][key] = make()
        found: T = self._memo[1][key]
        return found

    def fresh(self, base: str) -> str:
        """A name that is new to the model."""
        return self.draft.subject.index.fresh(base)

    def load(self, graph: Graph, name: str) -> Constant | None:
        """The bits of a constant; None when the name stands for none."""
        held = graph.held(name)
        if held is None or isinstance(held, Constant):
            return held
        found = self._loaded.get(id(held))
        if found is None:
            found = self._loaded[id(held)] = held, self.draft.subject.read(held)
        return found[1]

    def note(self, site: Site, code: str, text: str, detail: tuple[str, ...] = ()) -> None:
        """Say once why a node was left alone."""
        if (site.node, code) not in self._noted:
            self._noted.add((site.node, code))
            where = Location(self.draft.label(site.node), site.op_type, site.domain)
            self.left.append(diagnostic(code, text, where, detail=detail))

    def constant(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a constant of the graph that is the same bit for bit, or of a new one, added to `made`."""
        key = _key(constant)
        if key is not None:
            pool = self._pool(graph)
            name = pool.get(key)
            if name is not None and graph.home(name) is graph and name in graph.constants:
                return name
            for name, other in made.items():
                if _key(other) == key:
                    return name
        return self.own_constant(graph, constant, base, made)

    def own_constant(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a new constant, added to `made`."""
        if not self.draft.may_add_constant(graph, constant):
            raise Unavailable
        name = self.fresh(f"{base}_constant")
        made[name] = constant
        return name

    def _pool(self, graph: Graph) -> dict[tuple[object, ...], str]:
        pool = self._pools.get(graph)
        if pool is None:
            pool = self._pools[graph] = {}
            for name, held in graph.initializers.items():
                if name in graph.constants and _elements(held) <= SMALL:
                    found = self.load(graph, name)
                    key = None if found is None else _key(found)
                    if key is not None:
                        pool.setdefault(key, name)
        return pool

    def ask(self, node: Node) -> None:
        """Have the rules asked about a node once more."""
        self._wait(node)

    # making a rewrite

    def _make(self, node: Node, rule: str, rewrite: Rewrite) -> bool:
        if rewrite.merged:
            return self._merge(node, rule, rewrite)
        if rewrite.body is not None:
            return self._inline(node, rule, rewrite, rewrite.body)
        graph = node.graph
        if not any(self.draft.is_needed(graph, old) for old in rewrite.values):
            return False
        self._check(node, rule, rewrite)
        for old, new in rewrite.values.items():
            if old not in node.outputs and not (old in rewrite.siblings and old in graph.producers):
                raise UsageError(f"rewrite {rule} replaces {old}, which {self.draft.label(node)} does not write")
            if old == new:
                return False
        rewrite = self._named_anew(node, rewrite)
        made = _made(rewrite)
        if not self._may_replace(node, rewrite, made):
            return False
        facts = self._facts(node, rule, rewrite)
        cost = self._cost(node, rewrite, facts)
        if not self._is_admitted(node, rewrite, cost):
            return False
        nbytes = sum(constant.nbytes for constant in rewrite.constants.values())
        name = next(iter(rewrite.values))
        self.done.append(Done(self.draft.label(node), node.op_type, rule, rewrite.law, name, cost, nbytes))
        self._apply(node, rewrite, facts, made)
        return True

    def _check(self, node: Node, rule: str, rewrite: Rewrite) -> None:
        """Raises UsageError for new nodes that no graph could have."""
        graph, where = node.graph, f"rewrite {rule} of {self.draft.label(node)}"
        known = set(rewrite.constants)
        for proto in rewrite.nodes:
            if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in proto.attribute):
                raise UsageError(f"{where} adds {proto.op_type}, which has a subgraph")
            for name in filter(None, proto.input):
                self._check_read(node, where, name, known)
            for name in filter(None, proto.output):
                if name in known or graph.home(name) is not None:
                    raise UsageError(f"{where} writes {name}, which is there already")
                known.add(name)
        for name in rewrite.values.values():
            self._check_read(node, where, name, known)

    def _check_read(self, node: Node, where: str, name: str, known: set[str]) -> None:
        if name not in known and node.graph.home(name) is None:
            raise UsageError(f"{where} reads {name}, which is not there")

    def _merge(self, node: Node, rule: str, rewrite: Rewrite) -> bool:
        """Let whoever reads an initializer read another constant."""
        for old, new in rewrite.merged.items():
            home = node.graph.home(old)
            if home is None or not self.draft.is_droppable(home, old) or home.home(new) is None:
                return False
            readers = self.draft.readers(home, old)
            if any(reader.graph.home(new) is not home.home(new) for reader in readers):
                return False  # the name means another value in that subgraph
        for old, new in rewrite.merged.items():
            home = node.graph.home(old)
            assert home is not None, "it has been found above"
            cost = Cost(0, 0, -self._held_bytes(home, old))
            self.done.append(Done(self.draft.label(node), node.op_type, rule, rewrite.law, old, cost, 0))
            for reader in self.draft.redirect(home, old, new, f"{rewrite.law} ({old} is {new})"):
                self._wait(reader)
            self._sweep([(home, old)])
        return True

    def _inline(self, node: Node, rule: str, rewrite: Rewrite, body: Graph) -> bool:
        """Put a graph of the node in its place; False where names or constants forbid it, or there would be more nodes.

        Bytes are not counted: a run reads and writes what it had in the body.
        """
        graph, draft, why = node.graph, self.draft, f"{rewrite.law} ({self.draft.label(node)})"
        inlining = Inlining(draft, node, body, rewrite.bound)
        others = sum(_count(inner.nodes) for inner in node.bodies if inner is not body)
        made = body.producers.keys() | _made(rewrite)
        named = [inner for old, inner in rewrite.values.items() if old in graph.ends]
        passed = len(named) - len(made.intersection(named))  # outputs of the graph that need an Identity
        cost = Cost(len(rewrite.nodes) + passed - 1 - others)
        if cost.nodes > 0 or any(old in graph.fixed for old in rewrite.values):
            return False
        if not inlining.is_possible(self.load, self.max_growth):
            return False
        name = next(filter(None, node.outputs), "")
        self.done.append(Done(draft.label(node), node.op_type, rule, rewrite.law, name, cost, 0))
        for name, constant in rewrite.constants.items():
            draft.add_constant(graph, name, constant, fact_of(constant), why)
        moved = inlining.move(self.load, why)
        for proto in rewrite.nodes:
            moved.append(self._add(proto, [inlining.name(name) for name in proto.input], node, why))
        for old, inner in rewrite.values.items():
            new = inlining.name(inner)
            found = graph.producers.get(new)
            if (
                (old in graph.ends and (found is None or graph.is_fixed(new)))
                or any(reader.graph.home(new) is not graph.home(new) for reader in draft.readers(graph, old))
                or any(reader.graph.home(old) is not graph for reader in draft.readers(graph, new))
            ):
                proto = helper.make_node("Identity", [new], [self.fresh(f"{old}_Identity")])
                moved.append(self._add(proto, [new], node, why))
                new = proto.output[0]
            known, fact, home = graph.fact(old), graph.fact(new), graph.home(new)
            if home is not None and isinstance(known, SymbolicTensor) and isinstance(fact, SymbolicTensor):
                home.facts[new] = _met(known, fact)
            self._take_over(node, old, new, why)
        self._remove(node, why)
        for each in moved:
            self._wait(each)
        self._sweep([(graph, name) for each in moved for name in each.outputs if name])
        return True

    def _add(self, proto: NodeProto, inputs: list[str], before: Node, why: str) -> Node:
        """A new node that reads these, right before another one."""
        graph = before.graph
        del proto.input[:]
        proto.input.extend(inputs)
        known = [graph.fact(name) if name else None for name in inputs]
        return self.draft.add(graph, proto, before, why, self.resumed.facts(proto, known, graph.versions))

    def _named_anew(self, node: Node, rewrite: Rewrite) -> Rewrite:
        """The rewrite with an Identity for each output of the graph whose new value has to keep a name of its own."""
        if node.op_type == "Identity":
            return rewrite
        graph, made = node.graph, _made(rewrite)
        values, nodes = dict(rewrite.values), list(rewrite.nodes)
        for old, new in rewrite.values.items():
            if old not in graph.ends or new in made:
                continue
            found = graph.producers.get(new)
            if found is None or found[0] is node or graph.is_fixed(new):
                values[old] = self.fresh(f"{old}_Identity")
                nodes.append(helper.make_node("Identity", [new], [values[old]]))
        return rewrite if len(nodes) == len(rewrite.nodes) else replace(rewrite, values=values, nodes=tuple(nodes))

    def _may_replace(self, node: Node, rewrite: Rewrite, made: set[str]) -> bool:
        """Whether the values can take the places of the outputs under the names that stay."""
        graph = node.graph
        targets: set[str] = set()
        for old, new in rewrite.values.items():
            if old in graph.fixed:
                return False
            if old in graph.ends and new not in made:
                # the value itself has to take the name over
                found = graph.producers.get(new)
                if found is None or found[0] is node or graph.is_fixed(new):
                    return False
                if any(reader.graph.home(old) is not graph for reader in self.draft.readers(graph, new)):
                    return False  # the name means another value in that subgraph
            if old in graph.ends and new in targets:
                return False
            targets.add(new)
            for reader in self.draft.readers(graph, old):
                if new not in made and reader.graph is not graph and reader.graph.home(new) is not graph.home(new):
                    return False  # the name means another value in that subgraph
        return True

    def _facts(self, node: Node, rule: str, rewrite: Rewrite) -> dict[str, Value]:
        """What is known of the new values. Raises UsageError where one has another element type."""
        graph = node.graph
        facts: dict[str, Value] = {name: fact_of(constant) for name, constant in rewrite.constants.items()}
        for proto in rewrite.nodes:
            inputs = [facts.get(name, graph.fact(name)) if name else None for name in proto.input]
            found = self.resumed.facts(proto, inputs, graph.versions)
            facts.update({name: fact for name, fact in zip(proto.output, found, strict=False) if name})
        for old, new in rewrite.values.items():
            # Both hold the same, so what is known of either is known of both.
            known, fact = graph.fact(old), facts.get(new, graph.fact(new))
            if not isinstance(known, SymbolicTensor) or not isinstance(fact, SymbolicTensor):
                continue
            if None not in (known.dtype, fact.dtype) and known.dtype is not fact.dtype:
                where = f"rewrite {rule} of {self.draft.label(node)}"
                raise UsageError(f"{where} puts {fact.dtype} in the place of {old}, which is {known.dtype}")
            if new in facts:
                facts[new] = _met(known, fact)
        return facts

    def _dying(self, node: Node, rewrite: Rewrite) -> tuple[list[Node], list[tuple[Graph, str]]]:
        """The nodes and constants that nobody needs once the rewrite is made."""
        replaced = _replaced(node, rewrite)
        if any(
            self.draft.is_needed(node.graph, name) and name not in rewrite.values
            for gone in replaced
            for name in gone.outputs
            if name
        ):
            return [], []
        kept = {name for proto in rewrite.nodes for name in proto.input} | set(rewrite.values.values())
        nodes: dict[Node, None] = dict.fromkeys(replaced)
        constants: list[tuple[Graph, str]] = []
        pending = list(replaced)
        while pending:
            gone = pending.pop()
            for name in filter(None, dict.fromkeys(gone.inputs)):
                home = gone.graph.home(name)
                if (
                    home is None
                    or name in kept
                    or home.is_fixed(name)
                    or any(reader not in nodes for reader in home.readers.get(name, ()))
                ):
                    continue
                found = home.producers.get(name)
                if found is None:
                    if self.draft.is_droppable(home, name):
                        constants.append((home, name))
                elif (
                    found[0] not in nodes
                    and self.draft.is_removable(found[0])
                    and not any(
                        o in kept or home.is_fixed(o) or any(reader not in nodes for reader in home.readers.get(o, ()))
                        for o in filter(None, found[0].outputs)
                    )
                ):
                    nodes[found[0]] = None
                    pending.append(found[0])
        return list(nodes), constants

    def _cost(self, node: Node, rewrite: Rewrite, facts: dict[str, Value]) -> Cost:
        graph = node.graph
        dying, constants = self._dying(node, rewrite)
        nodes = sum(p.op_type != "Constant" or bool(p.domain) for p in rewrite.nodes) - sum(
            not n.is_constant for n in dying
        )
        grown = sum(c.nbytes for c in rewrite.constants.values())
        for home, name in constants:
            grown -= self._held_bytes(home, name)
        for gone in dying:
            if gone.is_constant:
                grown -= self._held_bytes(gone.graph, gone.outputs[0])
        run: Dim | None = 0
        if rewrite.nodes:
            run = self._run_bytes(graph, rewrite, dying, facts)
        return Cost(nodes, run, grown)

    def _held_bytes(self, graph: Graph, name: str) -> int:
        held = graph.constants.get(name)
        fact = graph.fact(name)
        if isinstance(held, Constant):
            return held.nbytes
        size = _bytes(fact) if isinstance(fact, SymbolicTensor) else None
        return size if isinstance(size, int) else 0

    def _run_bytes(self, graph: Graph, rewrite: Rewrite, dying: Sequence[Node], facts: dict[str, Value]) -> Dim | None:
        """Bytes that the new nodes read and write beyond those that the dying ones do; None when not known."""
        values: dict[tuple[str, int], int] = {}  # value, 0 -> how often it is read or written more
        for proto in rewrite.nodes:
            for name in (*self._read_by(proto, proto.input, proto.output), *proto.output):
                if name:
                    values[name, 0] = values.get((name, 0), 0) + 1
        renamed = {old: new for old, new in rewrite.values.items() if new in facts}
        for gone in dying:
            for name in (*self._read_by(gone.proto, gone.inputs, gone.outputs), *gone.outputs):
                if name:
                    name = renamed.get(name, name)
                    values[name, 0] = values.get((name, 0), 0) - 1
        total: Dim = 0
        for (name, _), count in values.items():
            if count == 0:
                continue
            fact = facts[name] if name in facts else graph.fact(name)
            is_constant = name in rewrite.constants or graph.held(name) is not None
            if is_constant and isinstance(fact, SymbolicTensor) and _is_small(fact):
                continue
            size = _bytes(fact) if isinstance(fact, SymbolicTensor) else None
            if size is None:
                return None
            total = total + size * count
        return total

    def _read_by(self, proto: NodeProto, inputs: Sequence[str], outputs: Sequence[str]) -> Sequence[str]:
        """The values whose elements a node reads: Shape and Size read none, a Slice as many as it gives."""
        if self.draft.subject.tells_dims(proto):
            return ()
        return (outputs[0], *inputs[1:]) if proto.op_type == "Slice" and not proto.domain else inputs

    def _is_admitted(self, node: Node, rewrite: Rewrite, cost: Cost) -> bool:
        if cost.nodes > 0:
            return False
        if cost.constant_bytes > self.max_growth:
            self.note(
                Site(self, node), "GI401",
                f"not folded: its constants have {cost.constant_bytes} bytes more, "
                f"the budget is {self.max_growth}",
            )  # fmt: skip
            return False
        if cost.run_bytes is None:
            return False
        return known_le(cost.run_bytes, 0, self.scope) is True

    def _apply(self, node: Node, rewrite: Rewrite, facts: dict[str, Value], made: set[str]) -> None:
        graph, draft, why = node.graph, self.draft, f"{rewrite.law} ({self.draft.label(node)})"
        replaced = _replaced(node, rewrite)
        outputs = [name for gone in replaced for name in gone.outputs if name]
        for name, constant in rewrite.constants.items():
            draft.add_constant(graph, name, constant, facts[name], why)
        for proto in rewrite.nodes:
            known = [facts[name] if name else SymbolicTensor() for name in proto.output]
            self._wait(draft.add(graph, proto, node, why, known))
        names: dict[str, str] = {}
        for old, new in rewrite.values.items():
            writer, at = graph.producers[old]
            if new in made and new not in names:
                names[new] = old  # so that those who read the old value stay as they are
                draft.detach(writer, at, self.fresh(f"{old}_unused"))
                draft.rename(graph, new, old, why)
            else:
                self._take_over(writer, old, names.get(new, new), why)
            for reader in graph.readers.get(old, ()):
                self._wait(reader)
        for name, constant in rewrite.constants.items():
            key = _key(constant)
            if key is not None:
                self._pool(graph).setdefault(key, names.get(name, name))
        for gone in replaced:
            if not any(draft.is_needed(graph, name) for name in gone.outputs if name):
                self._remove(gone, why)
        self._sweep([(graph, name) for name in (*outputs, *rewrite.constants)])

    def _arrange(self, graph: Graph, rule: str, arrangement: Arrangement) -> None:
        draft, why = self.draft, arrangement.law
        count = len(graph.nodes)
        first = graph.producers[arrangement.name][0]
        nbytes = sum(constant.nbytes for constant in arrangement.constants.values())
        label = draft.label(first)
        self.done.append(Done(label, first.op_type, rule, why, arrangement.name, arrangement.cost, nbytes))
        for name, constant in arrangement.constants.items():
            draft.add_constant(graph, name, constant, fact_of(constant), why)
            key = _key(constant)
            if key is not None:
                self._pool(graph).setdefault(key, name)
        for proto, before, facts in arrangement.nodes:
            self._wait(draft.add(graph, proto, before, why, facts))
        lost = []
        for node, at, name in arrangement.inputs:
            lost.append((node.graph, draft.reread(node, at, name, why)))
            self._wait(node)
        for new, old in arrangement.renamed.items():
            found, at = graph.producers[old]
            unused = self.fresh(f"{old}_unused")
            draft.detach(found, at, unused)
            draft.rename(graph, new, old, why)
            lost.append((graph, unused))
        self._sweep(lost)
        assert len(graph.nodes) <= count, "what is arranged anew has no more nodes"

    def _take_over(self, node: Node, old: str, new: str, why: str) -> None:
        """Let a value of the model stand wherever `old` is read, and have its name where that has to stay."""
        graph, draft = node.graph, self.draft
        for reader in draft.redirect(graph, old, new, why):
            self._wait(reader)
        if old in graph.ends:
            draft.detach(node, node.outputs.index(old), self.fresh(f"{old}_unused"))
            for reader in graph.readers.get(new, ()):
                self._wait(reader)
            draft.rename(graph, new, old, why)
            self._wait(graph.producers[old][0])

    def _remove(self, node: Node, why: str) -> None:
        home = node.graph
        lost = self.draft.remove(node, why)
        self._sweep([(home, name) for name in lost])

    def _sweep(self, candidates: Iterable[tuple[Graph, str]]) -> None:
        """Take out what nobody needs any more, and what only that needed."""
        pending = list(candidates)
        while pending:
            graph, name = pending.pop()
            home = graph.home(name)
            if home is None:
                continue
            readers = home.readers.get(name, {})
            if len(readers) == 1:
                self._wait(next(iter(readers)))
            found = home.producers.get(name)
            if found is not None:
                self._wait(found[0])
            if self.draft.is_needed(home, name):
                continue
            if found is None:
                if self.draft.is_droppable(home, name):
                    self.draft.drop(home, name, UNREAD)
            elif self.draft.is_removable(found[0]) and not any(
                self.draft.is_needed(home, output) for output in found[0].outputs if output
            ):
                pending += [(home, read) for read in self.draft.remove(found[0], UNREAD)]

    def _sweep_all(self) -> None:
        for node in list(self.draft.nodes)[::-1]:
            if not node.is_gone:
                self._sweep([(node.graph, name) for name in node.outputs[:1]])
        for graph in self.draft.graphs.values():
            self._sweep([(graph, name) for name in graph.initializers])

    def _wait(self, node: Node) -> None:
        if node not in self._queued and not node.is_gone:
            self._queued.add(node)
            self._waiting.append(node)


def _replaced(node: Node, rewrite: Rewrite) -> list[Node]:
    """The nodes whose outputs others take the place of."""
    return [node, *dict.fromkeys(node.graph.producers[name][0] for name in sorted(rewrite.siblings))]


def _made(rewrite: Rewrite) -> set[str]:
    """The names of the new values."""
    return {name for proto in rewrite.nodes for name in proto.output if name} | rewrite.constants.keys()


def fact_of(constant: Constant) -> SymbolicTensor:
    """What is known of a constant."""
    dtype = DType(constant.data_type)
    fact = SymbolicTensor(dtype, tuple(constant.bits.shape))
    numbers = constant.to_indices()
    if numbers is None or numbers.size > 1024:
        return fact
    values = np.empty(numbers.shape, dtype=object)
    values[...] = numbers.astype(object)
    return from_values(dtype, values)


def _met(known: SymbolicTensor, fact: SymbolicTensor) -> SymbolicTensor:
    """What two facts about one value say together."""
    return SymbolicTensor(
        fact.dtype if known.dtype is None else known.dtype,
        fact.shape if known.shape is None else known.shape,
        fact.values if known.values is None else known.values,
        fact.span if known.span is None else known.span,
    )


def _count(nodes: Iterable[Node]) -> int:
    """Nodes without Constants, those in their graphs too."""
    return sum((not node.is_constant) + sum(_count(body.nodes) for body in node.bodies) for node in nodes)


def _bytes(fact: SymbolicTensor) -> Dim | None:
    """Bytes of a tensor; of strings, one for each."""
    if fact.shape is None or fact.dtype is None:
        return None
    total: Dim = element_bytes(fact.dtype)
    for dim in fact.shape:
        total = total * dim
    return total


def _is_small(fact: SymbolicTensor) -> bool:
    count = 1
    for dim in fact.shape or ():
        count *= dim if isinstance(dim, int) else SMALL + 1
    return fact.shape is not None and count <= SMALL


def _elements(held: object) -> int:
    if not isinstance(held, TensorProto):
        return SMALL + 1
    count = 1
    for dim in held.dims:
        count *= dim
    return count


def _key(constant: Constant) -> tuple[object, ...] | None:
    """What tells small constants apart: type, shape and bits."""
    if constant.bits.size > SMALL:
        return None
    bits = tuple(constant.bits.ravel().tolist()) if constant.bits.dtype.hasobject else constant.bits.tobytes()
    return constant.data_type, constant.bits.shape, bits
