"""Which nodes of the gather family have a known result, and what nobody needs any more once they are folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from onnx import NodeProto, TensorProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation
from gather_infer.inference import Inference
from gather_infer.model.paths import node_labels
from gather_infer.passes import evaluate
from gather_infer.passes.evaluate import Constant, bits_dtype
from gather_infer.passes.subject import Constants
from gather_infer.places import MAIN, GraphPath, NodePath, Root
from gather_infer.tensor import SymbolicTensor

DEFAULT_MAX_BYTES = 1 << 20
"""Bytes of a new constant at most: enough for tables of positions and masks, too little to unroll an embedding."""

_FAMILY = frozenset(
    {
        ("", "Gather"),
        ("", "GatherElements"),
        ("", "GatherND"),
        ("ai.onnx.ml", "ArrayFeatureExtractor"),
        ("com.microsoft", "GatherND"),
    }
)
_READS_SHAPES = frozenset({("", "Shape"), ("", "Size")})


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
    nodes         positions of nodes that go: folded ones, and those that only fed them
    initializers  names of initializers that only fed them
    constants     folded values that somebody still reads
    """

    folded: list[Folded] = field(default_factory=list)
    left: list[Diagnostic] = field(default_factory=list)
    nodes: dict[GraphPath, set[int]] = field(default_factory=dict)
    initializers: dict[GraphPath, set[str]] = field(default_factory=dict)
    constants: list[Folded] = field(default_factory=list)


def plan_folds(inference: Inference, *, max_bytes: int) -> Plan:
    """The plan for a model, chains included.

    max_bytes   of a new constant; a node with a larger result is left alone and listed

    Raises ModelStructureError when no rewrite of the model is safe, ModelReadError when external data is missing.
    """
    plan = Plan()
    known = Constants(inference)
    faulty = frozenset(d.location.node for d in inference.diagnostics if d.severity is Severity.ERROR)
    _Search(known, plan, max_bytes, faulty).visit(MAIN)
    plan.left.extend(_in_functions(inference))
    _remove_dead(known, plan)
    return plan


@dataclass(frozen=True, slots=True)
class _Search:
    known: Constants
    plan: Plan
    max_bytes: int
    faulty: frozenset[NodePath | None]

    def visit(self, path: GraphPath) -> None:
        nodes, scope = self.known.graphs[path].node, self.known.index[path]
        children: dict[int, list[GraphPath]] = {}
        for child in scope.children:
            children.setdefault(child.steps[-1].node, []).append(child)
        for position in scope.order:
            node = nodes[position]
            key = (plain_domain(node.domain), node.op_type)
            if key in _FAMILY and len(node.output) == 1 and node.output[0] and len(node.input) == 2:
                self.try_fold(path, position, node)
            for child in children.get(position, ()):
                self.visit(child)

    def try_fold(self, path: GraphPath, position: int, node: NodeProto) -> None:
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
            result = self.evaluated(path, where, node)
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

    def evaluated(self, path: GraphPath, where: NodePath, node: NodeProto) -> Constant | None:
        inputs = []
        for name in node.input:
            constant = self.known.load(path, name)
            if constant is None:
                self.leave(where, node, f"the elements of {name} cannot be moved bit by bit")
                return None
            inputs.append(constant)
        integers = {a.name: a.i for a in node.attribute}
        data, indices = inputs
        try:
            match node.op_type:
                case "Gather":
                    return evaluate.gather(data, indices, axis=integers.get("axis", 0))
                case "GatherElements":
                    return evaluate.gather_elements(data, indices, axis=integers.get("axis", 0))
                case "GatherND":
                    return evaluate.gather_nd(data, indices, batch_dims=integers.get("batch_dims", 0))
                case _:
                    return evaluate.array_feature_extractor(data, indices)
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
    return evaluate.from_integers(fact.dtype, fact.values)


def _least_bytes(fact: SymbolicTensor) -> int:
    """Bytes of a tensor of static shape; a string takes at least a byte here."""
    assert fact.shape is not None, "a static shape"
    dtype = None if fact.dtype is None else bits_dtype(fact.dtype)
    size = 1 if dtype is None or dtype.hasobject else dtype.itemsize
    for dim in fact.shape:
        assert isinstance(dim, int), "a static shape"
        size *= dim
    return size


def _in_functions(inference: Inference) -> Iterator[Diagnostic]:
    """A note for each node in a function body that could be folded: bodies are left alone."""
    for at, function in enumerate(inference.model.proto.functions):
        constant = {
            n.output[0] for n in function.node if n.op_type == "Constant" and not plain_domain(n.domain) and n.output
        }
        labels = node_labels(function.node)
        for position, node in enumerate(function.node):
            if (
                (plain_domain(node.domain), node.op_type) in _FAMILY
                and node.input
                and all(name in constant for name in node.input)
            ):
                path = NodePath(GraphPath(Root.FUNCTION, at), position, f"{function.name}/{labels[position]}")
                text = f"not folded: it is in the body of function {function.name}"
                yield diagnostic("GI401", text, Location(path, node.op_type, plain_domain(node.domain)))


def _remove_dead(known: Constants, plan: Plan) -> None:
    """Decide which new constants are needed, and drop what only fed folded nodes."""

    def is_needed(path: GraphPath, name: str) -> bool:
        if known.is_kept(path, name):
            return True
        return any(use.node not in plan.nodes.get(reader, ()) for reader, use in known.index.readers(path, name))

    plan.constants = [folded for folded in plan.folded if is_needed(folded.graph, folded.name)]
    pending = [(path, position) for path, positions in plan.nodes.items() for position in sorted(positions)]
    while pending:
        path, position = pending.pop()
        for name in known.graphs[path].node[position].input:
            home = known.index.home(path, name) if name else None
            if home is None or home.path not in known.graphs or is_needed(home.path, name):
                continue
            source = home.producers.get(name)
            if source is None:
                if isinstance(known.find(home.path, name), TensorProto):
                    plan.initializers.setdefault(home.path, set()).add(name)
            elif source not in plan.nodes.get(home.path, ()) and _is_droppable(known.graphs[home.path].node[source]):
                plan.nodes.setdefault(home.path, set()).add(source)
                pending.append((home.path, source))


def _is_droppable(node: NodeProto) -> bool:
    """Nodes that cannot fail and whose only work is to be read: constants, and questions about shapes."""
    return (plain_domain(node.domain), node.op_type) in _READS_SHAPES | {("", "Constant")} and len(node.output) == 1
