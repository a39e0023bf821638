"""The worklist that rewrites a draft until no rule has anything to say."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from onnx import TensorProto, helper

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError
from gather_infer.inference.resume import Resumed
from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.rewrite import Cost, Rewrite
from gather_infer.passes.site import Site, Unavailable
from gather_infer.passes.table import Table
from gather_infer.places import GraphPath, NodePath
from gather_infer.symbolic import Dim, DimTooLarge, Scope, known_le
from gather_infer.tensor import DType, SymbolicTensor, Value, element_bytes, from_values

SMALL: Final = 64
"""Elements of a constant that costs nothing to read in a run."""

MAX_REWRITES_PER_NODE: Final = 8
"""Rewrites for each node of the file, past which the engine stops: two rules that undo each other would never end."""

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
    _noted: set[tuple[Node, str]] = field(default_factory=set)

    @property
    def resumed(self) -> Resumed:
        if self._resumed is None:
            self._resumed = Resumed(self.draft.subject.inference)
        return self._resumed

    @property
    def scope(self) -> Scope:
        """What is known of dims."""
        return self.resumed.scope

    def run(self) -> None:
        """Rewrite until nothing is left to do."""
        if self.sweeps:
            self._sweep_all()
        for node in self.draft.nodes:
            self._wait(node)
        budget = 1000 + MAX_REWRITES_PER_NODE * len(self._waiting)
        while self._waiting:
            node = self._waiting.popleft()
            self._queued.discard(node)
            if node.is_gone:
                continue
            if self._visit(node):
                budget -= 1
                assert budget > 0, "rewrites come to an end"

    def _visit(self, node: Node) -> bool:
        if not self.draft.subject.is_ours(node.proto):
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

    # making a rewrite

    def _make(self, node: Node, rule: str, rewrite: Rewrite) -> bool:
        graph = node.graph
        for old, new in rewrite.values.items():
            if old not in node.outputs:
                raise UsageError(f"rewrite {rule} replaces {old}, which {self.draft.label(node)} does not write")
            if old == new:
                return False
        rewrite = self._named_anew(node, rewrite)
        made = _made(rewrite)
        if not self._may_replace(node, rewrite, made):
            return False
        facts = self._facts(graph, rewrite)
        cost = self._cost(node, rewrite, facts)
        if not self._is_admitted(node, rewrite, cost):
            return False
        nbytes = sum(constant.nbytes for constant in rewrite.constants.values())
        name = next(iter(rewrite.values))
        self.done.append(Done(self.draft.label(node), node.op_type, rule, rewrite.law, name, cost, nbytes))
        self._apply(node, rewrite, facts, made)
        return True

    def _named_anew(self, node: Node, rewrite: Rewrite) -> Rewrite:
        """The rewrite with an Identity for each output of the graph whose new value has to keep a name of its own."""
        if node.op_type == "Identity":
            return rewrite
        graph, made = node.graph, _made(rewrite)
        values, nodes = dict(rewrite.values), list(rewrite.nodes)
        for old, new in rewrite.values.items():
            if old not in graph.outputs or new in made:
                continue
            found = graph.producers.get(new)
            if found is None or found[0] is node or graph.is_fixed(new):
                values[old] = self.fresh(f"{old}_Identity")
                nodes.append(helper.make_node("Identity", [new], [values[old]]))
        return rewrite if len(nodes) == len(rewrite.nodes) else replace(rewrite, values=values, nodes=tuple(nodes))

    def _may_replace(self, node: Node, rewrite: Rewrite, made: set[str]) -> bool:
        """Whether the values can take the places of the outputs under the names that stay."""
        graph = node.graph
        used = {name for proto in rewrite.nodes for name in proto.input if name} | set(rewrite.values.values())
        if not all(name in made or graph.home(name) is not None for name in used):
            raise UsageError(f"a rewrite of {self.draft.label(node)} reads a value that is not there")
        targets: set[str] = set()
        for old, new in rewrite.values.items():
            if old in graph.fixed:
                return False
            if old in graph.outputs and new not in made:
                # the value itself has to take the name over
                found = graph.producers.get(new)
                if found is None or found[0] is node or graph.is_fixed(new):
                    return False
            if old in graph.outputs and new in targets:
                return False
            targets.add(new)
            for reader in self.draft.readers(graph, old):
                if new not in made and reader.graph is not graph and reader.graph.home(new) is not graph.home(new):
                    return False  # the name means another value in that subgraph
        return True

    def _facts(self, graph: Graph, rewrite: Rewrite) -> dict[str, Value]:
        """What is known of the new values."""
        facts: dict[str, Value] = {name: fact_of(constant) for name, constant in rewrite.constants.items()}
        for proto in rewrite.nodes:
            inputs = [facts.get(name, graph.fact(name)) if name else None for name in proto.input]
            found = self.resumed.facts(proto, inputs, graph.versions)
            facts.update({name: fact for name, fact in zip(proto.output, found, strict=False) if name})
        for old, new in rewrite.values.items():
            # Both hold the same, so what is known of either is known of both.
            known, fact = graph.fact(old), facts.get(new)
            if fact is not None and isinstance(known, SymbolicTensor) and isinstance(fact, SymbolicTensor):
                facts[new] = _met(known, fact)
        return facts

    def _dying(self, node: Node, rewrite: Rewrite) -> tuple[list[Node], list[tuple[Graph, str]]]:
        """The nodes and constants that nobody needs once the rewrite is made."""
        if any(self.draft.is_needed(node.graph, name) and name not in rewrite.values for name in node.outputs if name):
            return [], []
        kept = {name for proto in rewrite.nodes for name in proto.input} | set(rewrite.values.values())
        nodes: dict[Node, None] = {node: None}
        constants: list[tuple[Graph, str]] = []
        pending = [node]
        while pending:
            gone = pending.pop()
            for name in filter(None, dict.fromkeys(gone.inputs)):
                home = gone.graph.home(name)
                if (
                    home is None
                    or name in kept
                    or home.is_fixed(name)
                    or home.readers.get(name, {}).keys() - nodes.keys()
                ):
                    continue
                found = home.producers.get(name)
                if found is None:
                    if self.draft.is_droppable(home, name):
                        constants.append((home, name))
                elif found[0] not in nodes and self.draft.is_removable(found[0]):
                    others = [
                        o for o in found[0].outputs
                        if o and (o in kept or home.is_fixed(o) or home.readers.get(o, {}).keys() - nodes.keys())
                    ]  # fmt: skip
                    if not others:
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
            for name in (*proto.input, *proto.output):
                if name:
                    values[name, 0] = values.get((name, 0), 0) + 1
        renamed = {old: new for old, new in rewrite.values.items() if new in facts}
        for gone in dying:
            for name in (*gone.inputs, *gone.outputs):
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
        outputs = list(filter(None, node.outputs))
        for name, constant in rewrite.constants.items():
            draft.add_constant(graph, name, constant, facts[name], why)
        for proto in rewrite.nodes:
            known = [facts[name] if name else SymbolicTensor() for name in proto.output]
            self._wait(draft.add(graph, proto, node, why, known))
        names: dict[str, str] = {}
        for old, new in rewrite.values.items():
            if new in made and new not in names:
                names[new] = old  # so that those who read the old value stay as they are
                draft.detach(node, node.outputs.index(old), self.fresh(f"{old}_unused"))
                draft.rename(graph, new, old, why)
            else:
                self._take_over(node, old, names.get(new, new), why)
            for reader in graph.readers.get(old, ()):
                self._wait(reader)
        for name, constant in rewrite.constants.items():
            key = _key(constant)
            if key is not None:
                self._pool(graph).setdefault(key, names.get(name, name))
        if not any(draft.is_needed(graph, name) for name in node.outputs if name):
            self._remove(node, why)
        self._sweep([(graph, name) for name in (*outputs, *rewrite.constants)])

    def _take_over(self, node: Node, old: str, new: str, why: str) -> None:
        """Let a value of the model stand wherever `old` is read, and have its name where that has to stay."""
        graph, draft = node.graph, self.draft
        for reader in draft.redirect(graph, old, new, why):
            self._wait(reader)
        if old in graph.outputs:
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
            for reader in home.readers.get(name, ()):
                self._wait(reader)  # one that is the only reader by now
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
