"""Which nodes have a known result, and what nobody needs any more once they are folded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from onnx import NodeProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation
from gather_infer.inference import Inference
from gather_infer.model.edits import AddInitializer, Edit, RemoveNode
from gather_infer.model.index import Use
from gather_infer.model.paths import node_labels
from gather_infer.passes.dead import Dead, find_dead
from gather_infer.passes.evaluate import Evaluation, Evaluator
from gather_infer.passes.evaluate.constant import Constant, bits_dtype, from_integers, raw_size
from gather_infer.passes.rewrite import Cost, Rewrite
from gather_infer.passes.subject import Subject
from gather_infer.places import MAIN, GraphPath, NodePath, Root
from gather_infer.tensor import DType, SymbolicTensor

BY: Final = "fold"
DEFAULT_MAX_BYTES = 1 << 20
"""Bytes of a new constant at most: enough for tables of positions and masks, too little to unroll an embedding."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A node whose result is known.

    node              its path
    graph, position   where it was
    name              the value that it computed; the new constant has the same name
    reason            why the result is known
    """

    node: NodePath
    op_type: str
    graph: GraphPath
    position: int
    name: str
    value: Constant
    reason: str


@dataclass(slots=True)
class Plan:
    """What a fold changes.

    folded        in order of the nodes
    left          findings about nodes that could not be folded
    nodes         positions of the folded nodes
    dead          what only fed them
    rewrites      of the folded nodes: a constant for each value that somebody still reads
    """

    folded: list[Folded] = field(default_factory=list)
    left: list[Diagnostic] = field(default_factory=list)
    nodes: dict[GraphPath, set[int]] = field(default_factory=dict)
    dead: Dead = field(default_factory=Dead)
    rewrites: list[Rewrite] = field(default_factory=list)


def plan_folds(inference: Inference, *, max_bytes: int) -> Plan:
    """The plan for a model, chains included.

    max_bytes   of a new constant; a node with a larger result is left alone and listed

    Raises ModelStructureError when no rewrite of the model is safe, ModelReadError when external data is missing.
    """
    plan = Plan()
    known = Subject(inference)
    faulty = frozenset(d.location.node for d in inference.diagnostics if d.severity is Severity.ERROR)
    _Search(known, plan, max_bytes, faulty).run()
    plan.left.extend(_in_functions(known))

    def is_gone(path: GraphPath, use: Use) -> bool:
        return use.node in plan.nodes.get(path, ())

    fed = [(path, name) for path, at in plan.nodes.items() for p in at for name in known.graphs[path].node[p].input]
    plan.dead = find_dead(known, fed, is_gone)
    for folded in plan.folded:
        reads = known.index.readers(folded.graph, folded.name)
        is_needed = known.is_kept(folded.graph, folded.name) or any(not is_gone(*read) for read in reads)
        plan.rewrites.append(_rewrite(folded, is_needed=is_needed))
    return plan


def _rewrite(folded: Folded, *, is_needed: bool) -> Rewrite:
    """The constant in the place of a folded node; nothing where nobody reads it any more."""
    nbytes = folded.value.nbytes
    edits: list[Edit] = []
    if is_needed:
        tensor = folded.value.to_tensor(folded.name)
        reason = f"result of {folded.node}"
        edits.append(AddInitializer(by=BY, reason=reason, path=folded.graph, cost=nbytes, tensor=tensor))
    edits.append(RemoveNode(by=BY, reason=folded.reason, path=folded.graph, node=folded.position))
    cost = Cost(nodes=-1, run_bytes=-nbytes, constant_bytes=nbytes if is_needed else 0)
    return Rewrite("a node with the same result in every run is a constant", tuple(edits), cost=cost)


@dataclass(frozen=True, slots=True)
class _Search:
    known: Subject
    plan: Plan
    max_bytes: int
    faulty: frozenset[NodePath | None]

    def run(self) -> None:
        """Every node with an evaluator, producers first; a loop, since subgraphs may nest very deep."""
        open_graphs = [self.visits(MAIN)]
        while open_graphs:
            child = next(open_graphs[-1], None)
            if child is None:
                open_graphs.pop()
            else:
                open_graphs.append(self.visits(child))

    def visits(self, path: GraphPath) -> Iterator[GraphPath]:
        """Try the nodes of a graph in order; after each it yields the graphs that the node holds."""
        nodes, scope = self.known.graphs[path].node, self.known.index[path]
        children: dict[int, list[GraphPath]] = {}
        for child in scope.children:
            children.setdefault(child.steps[-1].node, []).append(child)
        for position in scope.order:
            node = nodes[position]
            evaluator = self.known.evaluator(node)
            if evaluator is not None and len(node.output) == 1 and node.output[0]:
                self.try_fold(path, position, node, evaluator)
            yield from children.get(position, ())

    def try_fold(self, path: GraphPath, position: int, node: NodeProto, evaluator: Evaluator) -> None:
        where = self.known.node(path, position)
        fact = self.known.facts(path).get(node.output[0])
        if where in self.faulty or not isinstance(fact, SymbolicTensor):
            return  # the inference has said what is wrong
        is_constant = all(self.known.find(path, name) is not None for name in node.input)
        # The inference takes what a training step writes for a constant.
        result = _integers(fact) if is_constant or not self.known.is_trained else None
        if result is None:
            if not is_constant or not fact.is_static:
                return
            if _least_bytes(fact) > self.max_bytes:
                self.leave(
                    where, node, f"its result {fact.with_(values=None)} is past the budget of {self.max_bytes} bytes"
                )
                return
            result = self.evaluated(path, where, node, evaluator)
            if result is None:
                return
        if result.nbytes > self.max_bytes:
            self.leave(where, node, f"its result has {result.nbytes} bytes, the budget is {self.max_bytes}")
            return
        assert fact.shape is None or not fact.is_static or fact.shape == result.bits.shape, "evaluation and rule agree"
        reason = "all inputs are constant" if is_constant else f"stands for {fact}"
        self.known.add(path, node.output[0], result)
        self.plan.folded.append(Folded(where, node.op_type, path, position, node.output[0], result, reason))
        self.plan.nodes.setdefault(path, set()).add(position)

    def evaluated(self, path: GraphPath, where: NodePath, node: NodeProto, evaluator: Evaluator) -> Constant | None:
        inputs = []
        for name in node.input:
            constant = self.known.load(path, name)
            if constant is None:
                self.leave(where, node, f"the elements of {name} cannot be moved bit by bit")
                return None
            inputs.append(constant)
        try:
            found = evaluator(Evaluation(node, inputs, self.known.version(node)))
            return None if found is None else found[0]
        except SpecViolation as violation:
            location = Location(where, node.op_type, plain_domain(node.domain))
            self.plan.left.append(diagnostic(violation.code, violation.message, location, detail=violation.detail))
            return None

    def leave(self, where: NodePath, node: NodeProto, why: str) -> None:
        self.plan.left.append(
            diagnostic("GI401", f"not folded: {why}", Location(where, node.op_type, plain_domain(node.domain)))
        )


def _integers(fact: SymbolicTensor) -> Constant | None:
    """The elements of an integer tensor when the engine knows them all as numbers."""
    if fact.values is None or fact.dtype is None or not fact.dtype.is_integer or bits_dtype(fact.dtype) is None:
        return None
    if not all(type(v) is int for v in fact.values.ravel().tolist()):
        return None
    return from_integers(fact.dtype, fact.values)


def _least_bytes(fact: SymbolicTensor) -> int:
    """Bytes of a tensor of static shape; a string takes at least a byte here."""
    assert fact.shape is not None, "a static shape"
    sizes = [dim for dim in fact.shape if isinstance(dim, int)]
    assert len(sizes) == len(fact.shape), "a static shape"
    return raw_size(fact.dtype or DType.STRING, math.prod(sizes))


def _in_functions(known: Subject) -> Iterator[Diagnostic]:
    """A note for each node in a function body that could be folded: bodies are left alone."""
    for at, function in enumerate(known.model.proto.functions):
        constant = {
            n.output[0] for n in function.node if n.op_type == "Constant" and not plain_domain(n.domain) and n.output
        }
        labels = node_labels(function.node)
        for position, node in enumerate(function.node):
            is_known = bool(node.input) and all(name in constant for name in node.input)
            if is_known and known.evaluator(node) is not None:
                path = NodePath(GraphPath(Root.FUNCTION, at), position, f"{function.name}/{labels[position]}")
                text = f"not folded: it is in the body of function {function.name}"
                yield diagnostic("GI401", text, Location(path, node.op_type, plain_domain(node.domain)))
