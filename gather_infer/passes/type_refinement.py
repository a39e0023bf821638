"""Type refinement: facts about values become more precise while the model is rewritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from onnx import NodeProto

from gather_infer.inference.proto.tensors import MAX_FLOAT_VALUES
from gather_infer.passes.mutable_model import Graph, MutableModel, Node
from gather_infer.passes.worklist import Worklist
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import MAX_VALUES, DType, SymbolicTensor, Value, make_values

IsGenerated = Callable[[Dim], bool]
"""Whether a dim contains symbols that stand for unknown sizes."""

_MAX_INFERENCES: Final = 16
"""Maximum number of times that a node is inferred again."""


class TypeRefinement:
    """The refinement of facts about values after the inference; the users of a refined value are enqueued.

    infer         returns the facts about the outputs of a node of a graph, from those about its inputs
    is_generated  returns whether a dim contains symbols that stand for unknown sizes
    """

    def __init__(
        self,
        model: MutableModel,
        worklist: Worklist,
        infer: Callable[[NodeProto, Graph], list[Value]],
        is_generated: IsGenerated,
    ) -> None:
        self.model = model
        self.worklist = worklist
        self.infer = infer
        self.is_generated = is_generated
        self._has_refined_function_output = False
        self._owners: dict[Node, None] = {}
        self._inference_counts: dict[Node, int] = {}

    @property
    def needs_inference(self) -> bool:
        """Whether a new inference may refine the outputs of a node with subgraphs, or of a function."""
        return self._has_refined_function_output or any(not owner.is_removed for owner in self._owners)

    def refine(self, graph: Graph, name: str, fact: Value) -> None:
        """Refine the fact about a value of the graph by another fact that holds for it (lattice meet)."""
        known = graph.facts.get(name)
        if known is None:
            graph.facts[name] = fact
            return
        if not isinstance(known, SymbolicTensor) or not isinstance(fact, SymbolicTensor):
            return
        both = meet(known, fact, self.is_generated)
        if both is not None:
            graph.facts[name] = both
            self._propagate(graph, name)

    def propagate_if_refined(self, graph: Graph, name: str, known: Value) -> None:
        """Propagate the present fact about a replaced value, if it is more precise than `known`, the fact before."""
        fact = graph.fact(name)
        if not isinstance(known, SymbolicTensor) or not isinstance(fact, SymbolicTensor):
            return
        if meet(known, fact, self.is_generated) is not None:
            self._propagate(graph, name)

    def _propagate(self, graph: Graph, name: str) -> None:
        """Enqueue the users of a value with a refined fact, and mark them for inference."""
        found = graph.producers.get(name)
        if found is not None:
            self.worklist.enqueue_dependents(found[0])
        self.worklist.enqueue_dependents(name)
        for reader in graph.readers.get(name, ()):
            self.worklist.enqueue_dependents(reader)
            self.worklist.mark_for_inference(reader)
        for inner in self.model.graphs.values() if name in graph.fixed else (graph,):  # a subgraph may return it
            if name in inner.output_set and inner.defining_graph(name) is graph:
                if inner.owner is not None:
                    self.worklist.enqueue_dependents(inner.owner)
                    self.worklist.mark_for_inference(inner.owner)
                elif inner.is_in_function:
                    self._has_refined_function_output = True

    def infer_again(self, node: Node) -> None:
        """Infer a node with changed inputs again, unless its outputs are fully known."""
        graph = node.graph
        facts = [graph.fact(name) for name in node.outputs if name]
        if node.is_constant or not any(is_refinable(fact, self.is_generated) for fact in facts):
            return
        if node.bodies or not self.model.pass_input.is_operator(node.proto):
            self._owners[node] = None
            return
        times = self._inference_counts[node] = self._inference_counts.get(node, 0) + 1
        if times > _MAX_INFERENCES:
            return
        proto = NodeProto()
        proto.CopyFrom(node.proto)
        del proto.input[:]
        proto.input.extend(node.inputs)
        for name, fact in zip(node.outputs, self.infer(proto, graph), strict=False):
            if name:
                self.refine(graph, name, fact)


def is_refinable(fact: Value, is_generated: IsGenerated) -> bool:
    """Whether the fact about a value could be more precise, apart from its value range."""
    if not isinstance(fact, SymbolicTensor) or fact.dtype is None or fact.shape is None:
        return True
    if any(is_generated(dim) or (isinstance(dim, Expr) and dim.depth > 1) for dim in fact.shape):
        return True  # a min, a max or a quotient may simplify
    if fact.values is not None:
        elements = fact.values.ravel().tolist()
        return any(_is_unknown(e, is_generated) or (isinstance(e, Expr) and e.depth > 1) for e in elements)
    limit = MAX_VALUES if fact.dtype.is_integer or fact.dtype is DType.BOOL else MAX_FLOAT_VALUES
    count = 1
    for dim in fact.shape:
        count *= dim if isinstance(dim, int) else limit + 1
    return count <= limit


def meet(known: SymbolicTensor, fact: SymbolicTensor, is_generated: IsGenerated) -> SymbolicTensor | None:
    """The meet of two facts about one value; None if it is not more precise than `known`."""
    dtype = fact.dtype if known.dtype is None else known.dtype
    shape = _refined(known.shape, fact.shape, is_generated)
    values = known.values
    if values is None:
        values = fact.values
    elif fact.values is not None and fact.values.shape == values.shape:
        elements = _refined(tuple(values.ravel().tolist()), tuple(fact.values.ravel().tolist()), is_generated)
        if elements is not None and any(a is not b for a, b in zip(elements, values.ravel().tolist(), strict=True)):
            values = make_values(list(elements), values.shape)
    span = fact.value_range if known.value_range is None else known.value_range
    if dtype is known.dtype and shape is known.shape and values is known.values and span is known.value_range:
        return None
    return SymbolicTensor(dtype, shape, values, span)


def _refined(
    known: tuple[Dim, ...] | None, others: tuple[Dim, ...] | None, is_generated: IsGenerated
) -> tuple[Dim, ...] | None:
    """The more precise of each pair of equal dims, or of equal elements; `known` itself if nothing is refined."""
    if known is None or others is None or len(known) != len(others):
        return others if known is None else known
    found = tuple(
        other if _is_more_precise(other, dim, is_generated) else dim for dim, other in zip(known, others, strict=True)
    )
    return known if all(a is b for a, b in zip(found, known, strict=True)) else found


def _is_more_precise(other: object, dim: object, is_generated: IsGenerated) -> bool:
    """Whether `other`, which equals `dim`, is known where `dim` is not, or is the shorter expression."""
    if _is_unknown(other, is_generated):
        # a new symbol for an unknown size is short, but less precise
        if not isinstance(other, Expr) or not isinstance(dim, Expr) or not other.symbols <= dim.symbols:
            return False
    elif _is_unknown(dim, is_generated):
        return True
    if not isinstance(dim, Expr) or dim.depth == 1:
        return False
    return not isinstance(other, Expr) or other.depth == 1 or other.size < dim.size


def _is_unknown(element: object, is_generated: IsGenerated) -> bool:
    return element is None or (isinstance(element, Expr) and is_generated(element))
