"""Compute the cost of a model: visit every node in topological order, and sum multiply-adds, traffic and live bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from onnx import AttributeProto, FunctionProto, NodeProto

from gather_infer.cost.control import branches, rounds
from gather_infer.cost.formulas import tables
from gather_infer.cost.front import Front
from gather_infer.cost.liveness import Liveness
from gather_infer.cost.own import macs_by_caller, own_formula, own_rule
from gather_infer.cost.parameters import parameters
from gather_infer.cost.place import Facts, Place, constants_of, is_constant, versions_of
from gather_infer.cost.result import Cost, NodeCost
from gather_infer.cost.tally import SUMS, Tally
from gather_infer.cost.traffic import read_bytes, written_bytes
from gather_infer.cost.work import Formula, Untold, Work
from gather_infer.domains import canonical_domain, plain_domain, qualified
from gather_infer.model.index import GraphIndex
from gather_infer.model.paths import subgraph_label
from gather_infer.node_ids import MAIN, GraphPath, NodePath, Root, Step
from gather_infer.ops import standard_rules
from gather_infer.rules import NO_TRAITS, Traits
from gather_infer.symbolic import Dim, Fuel, free_symbols
from gather_infer.tensor import OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value

PROOFS: Final = 2000
"""Budget of eliminations for proofs that one sum is never larger than another."""

MAX_DEPTH: Final = 40
"""Nesting depth of graphs and calls; the inference stops there too."""


def cost_of(facts: Facts) -> Cost:
    """The cost of one run of a model, computed from its inferred types; behind `Inference.cost`.

    `Cost.unknown_contributions` lists what the sums leave out. Raises UsageError when a formula of the user misbehaves.
    """
    return _Counting(facts).cost()


class _Counting:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.proto = facts.model.proto
        self.index = GraphIndex(self.proto)
        self.functions: dict[tuple[str, str, str], tuple[int, FunctionProto]] = {}
        for position, function in enumerate(self.proto.functions):
            key = plain_domain(function.domain), function.name, function.overload
            self.functions.setdefault(key, (position, function))
        self.symbols = dict.fromkeys(_symbols_of(facts.scopes.get(MAIN, {}).get(name) for name in facts.inputs))
        self.symbols |= dict.fromkeys(_symbols_of(belief.type for belief in facts.believed))
        self.symbols |= dict.fromkeys(facts.causes)
        self.scope = facts.known.restricted_to(self.symbols.keys())
        self.scope.fuels = (Fuel(PROOFS),)
        self.branches = 0

    def cost(self) -> Cost:
        main = Place(
            MAIN, self.proto.graph, self.index[MAIN], self.facts.scopes.get(MAIN, {}), "", None,
            versions_of(self.proto.opset_import), self.facts.causes.keys(),
        )  # fmt: skip
        constants = constants_of(main.body)
        tally = self.graph(main, [name for name in main.index.inputs if name not in constants])
        held, gaps = parameters(self.facts.model)
        macs, reads, writes = (self.whole(tally, what) for what in SUMS)
        return Cost(
            self.facts.model.name,
            macs,
            reads,
            writes,
            tuple(tally.front.moments),
            held,
            tuple(tally.nodes),
            tuple(dict.fromkeys([*tally.gaps, *gaps])),
            self.branches,
            tuple(self.symbols),
            self.scope,
            self.facts.causes,
            self.facts.constraints,
            self.facts.assumptions,
            facts=self.facts,
        )

    def whole(self, tally: Tally, what: str) -> Dim:
        """A sum over the model; 0, with an unknown contribution, when the expression exceeds the size limit."""
        found = tally.told(None, None, what, tally.total, what)
        return 0 if found is None else found

    # graphs

    def graph(self, place: Place, inputs: Sequence[str]) -> Tally:
        """The cost of a graph, subgraphs included; `inputs` are those for which it has its own buffers."""
        tally = Tally(Front(self.scope))
        live = Liveness(place, inputs, self.index.uses(place.index.path), tally)
        for position in place.index.order:
            node = place.body.node[position]
            if is_constant(node) and self.function(node) is None:
                continue
            self.node(place, node, position, tally, live)
            live.free(position)
        for position in place.index.cyclic:
            node = place.body.node[position]
            tally.leave_out(self.path(place, position), node, "it is on a cycle", "macs", "reads", "writes", "peak")
        return tally

    def path(self, place: Place, position: int) -> NodePath:
        label = place.index.labels[position].removeprefix(f"{place.index.label}/" if place.index.label else "")
        return NodePath(place.path, position, f"{place.label}{label}")

    def node(self, place: Place, node: NodeProto, position: int, tally: Tally, live: Liveness) -> None:
        """Add a node: by its formula, or by the graphs that it runs."""
        path = self.path(place, position)
        domain = canonical_domain(node.domain)
        if self.function(node) is not None and not self.is_operator(domain, node.op_type):
            inner = self.call(place, node, position, path)
            tally.add(inner, path, node, live.now)
        elif domain == "" and node.op_type == "If":
            self.choose(place, node, position, path, tally, live.now)
        elif domain == "" and node.op_type in ("Loop", "Scan", "SequenceMap"):
            self.repeat(place, node, position, path, tally, live)
        else:
            live.make(node.output, path, node)
            self.leaf(place, node, path, live.now, tally)
            return
        live.make(node.output, path, node)

    def function(self, node: NodeProto) -> tuple[int, FunctionProto] | None:
        """The local function that a node calls, with its position; None when it calls none."""
        return self.functions.get((plain_domain(node.domain), node.op_type, node.overload)) if self.functions else None

    def own(self, node: NodeProto) -> Formula | None:
        """The user's formula of an operator; None for a call of a local function."""
        if not self.facts.rules or self.function(node) is not None:
            return None
        return own_formula(self.facts.rules, node.domain, node.op_type)

    def formula(self, domain: str, op_type: str) -> Formula | None:
        table = tables().get(domain)
        return None if table is None else table.find(op_type)

    def takes_nothing(self, domain: str, op_type: str) -> bool:
        """Whether an operator has no multiply-adds."""
        table = tables().get(domain)
        return table is not None and op_type in table.nothing

    def is_operator(self, domain: str, op_type: str) -> bool:
        """Whether the tables have an operator; runtimes then run it even if a local function has its name."""
        return self.formula(domain, op_type) is not None or self.takes_nothing(domain, op_type)

    # one node

    def leaf(self, place: Place, node: NodeProto, path: NodePath, live: Dim, tally: Tally) -> None:
        """Add the cost of an operator that runs no graphs."""
        domain = canonical_domain(node.domain)
        work = Work(
            node.op_type,
            [place.find(name) if name else None for name in node.input],
            [place.values.get(name) if name else None for name in node.output],
            {},
            place.version(node.domain),
        )
        own = self.own(node)
        formula = own or self.formula(domain, node.op_type)
        cost = NodeCost(
            path,
            node.op_type,
            domain,
            self.macs(place, node, work, path, tally)
            if own is None
            else self.told(own, place, node, work, path, tally),
            tally.told(path, node, "reads", read_bytes, place, node, work, self.traits(node, place)),
            tally.told(path, node, "writes", written_bytes, place, node, work),
            live,
            "" if formula is None else formula.text,
            "" if formula is None else formula.source,
        )
        tally.count(cost)

    def macs(self, place: Place, node: NodeProto, work: Work, path: NodePath, tally: Tally) -> Dim | None:
        """Multiply-adds of an operator; None, with an unknown contribution, when they are unknown."""
        domain = canonical_domain(node.domain)
        if self.takes_nothing(domain, node.op_type):
            return 0
        formula = self.formula(domain, node.op_type)
        if formula is None:
            tally.leave_out(path, node, f"{qualified(node.domain, node.op_type)} has no formula", "macs")
            return None
        seen = replace(work, attributes=place.attributes_of(node))
        return tally.told(path, node, "macs", formula.macs, seen)

    def told(
        self, formula: Formula, place: Place, node: NodeProto, work: Work, path: NodePath, tally: Tally
    ) -> Dim | None:
        """As `macs`, by a formula of the user. Raises UsageError when it misbehaves."""
        seen = replace(work, attributes=place.attributes_of(node))
        return tally.told(path, node, "macs", macs_by_caller, formula, seen, node.domain, path)

    def traits(self, node: NodeProto, place: Place) -> Traits:
        own = own_rule(self.facts.rules, node.domain, node.op_type, place.version(node.domain))
        if own is not None:
            return own.traits
        rules = standard_rules().get(canonical_domain(node.domain))
        found = None if rules is None else rules.lookup(node.op_type, place.version(node.domain))
        return NO_TRAITS if found is None else found.traits

    # graphs in nodes

    def below(self, place: Place, node: NodeProto, position: int, attribute: str) -> Place | None:
        """The subgraph in an attribute of a node; None when it is absent or was not inferred."""
        for at, held in enumerate(node.attribute):
            if held.name != attribute or held.type != AttributeProto.GRAPH:
                continue
            step = Step(position, at)
            path = place.path.below(step)
            if path not in self.facts.scopes:
                return None
            label = subgraph_label(self.path(place, position).label, node, step)
            home = self.index[place.index.path.below(step)]
            return Place(
                path,
                held.g,
                home,
                self.facts.scopes[path],
                f"{label}/",
                place,
                place.versions,
                place.generated,
                place.attributes,
            )
        return None

    def call(self, place: Place, node: NodeProto, position: int, path: NodePath) -> Tally | None:
        """The cost of a call of a local function; None when its body was not inferred."""
        found = self.function(node)
        assert found is not None, "the node calls a function of the model"
        at, function = found
        inside = place.path.below(Step(position))
        if inside not in self.facts.scopes or len(inside.steps) > MAX_DEPTH:
            return None
        bound = {a.name: a for a in function.attribute_proto}
        for attribute in node.attribute:
            source = place.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if source is not None:
                bound[attribute.name] = source
        inner = Place(
            inside, function, self.index[GraphPath(Root.FUNCTION, at)], self.facts.scopes[inside], f"{path.label}/",
            None, versions_of(function.opset_import), place.generated, bound,
        )  # fmt: skip
        return self.graph(inner, ())

    def choose(self, place: Place, node: NodeProto, position: int, path: NodePath, tally: Tally, live: Dim) -> None:
        """Add an If: the branch that runs, or for each quantity the larger branch when it is not known which."""
        names = branches(place.find(node.input[0]) if node.input else None)
        inner = [self.below(place, node, position, name) for name in names]
        tallies = [None if one is None else self.graph(one, ()) for one in inner]
        if len(tallies) > 1 and any(one is None or one.nodes for one in tallies):
            self.branches += 1
        tally.add_larger(tallies, path, node, live, self.scope)

    def repeat(
        self, place: Place, node: NodeProto, position: int, path: NodePath, tally: Tally, live: Liveness
    ) -> None:
        """Add a loop: its body over all iterations, and its scan outputs."""
        body = self.below(place, node, position, "body")
        if body is None:
            tally.add(None, path, node, live.now)
            return
        held = constants_of(body.body)
        inner = self.graph(body, [name for name in body.index.inputs if name not in held])
        stacked = self.stacked(place, node, path, len(body.index.outputs), tally)
        try:
            each = rounds(place, node, body.path, path, self.facts)
        except Untold as untold:
            tally.leave_out(path, node, str(untold), "macs", "reads", "writes", "peak")
            return
        tally.add_rounds(inner, each, path, node, live.now + stacked, self.scope)
        tally.grow(reads=stacked, writes=stacked)

    def stacked(self, place: Place, node: NodeProto, path: NodePath, outputs: int, tally: Tally) -> Dim:
        """Bytes of the scan outputs of a loop, which concatenate the results of its iterations."""
        states = max(len(node.input) - 2, 0)
        if node.op_type == "Scan":
            states = len(node.input) - next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        found: Dim = 0
        for name in node.output[0 if node.op_type == "SequenceMap" else states :]:
            if name:
                nbytes = tally.told(path, node, "peak", place.nbytes, [place.values.get(name)])
                found = found + (0 if nbytes is None else nbytes)
        return found


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
