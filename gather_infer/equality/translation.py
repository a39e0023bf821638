"""The translation of a model to terms: a tensor of terms for each value, in topological order.

Values come from three places, the first that applies: the elements that the inference knows; the map of an operator
that moves elements, or the pointwise operator; else the result of a call. Symbols that the inference has generated get
their meaning here: one is the size of a result, or an element, of the term that has it first. If the other model has
the same term, its symbol is replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from gather_infer.equality.canonical_calls import (
    REDUCTIONS,
    call_attributes,
    with_open_ends,
    without_overwritten,
    without_zero_state,
)
from gather_infer.equality.constants import ModelConstants
from gather_infer.equality.control_flow import attribute_name, is_single, is_skipped, taken_branch
from gather_infer.equality.equal_bodies import BodyComparison
from gather_infer.equality.executions import Execution
from gather_infer.equality.folding import constant_tensor, folded
from gather_infer.equality.inferred_sizes import name_inferred_size
from gather_infer.equality.model_facts import Meanings, ModelFacts, from_elements
from gather_infer.equality.movement import MOVEMENTS, split
from gather_infer.equality.named_laws import opened_by_law
from gather_infer.equality.operators import saturation, without_defaults
from gather_infer.equality.pieces import combined
from gather_infer.equality.pointwise import POINTWISE, applied, operands_broadcast
from gather_infer.equality.pool import TermPool
from gather_infer.equality.result import Law
from gather_infer.equality.signatures import NodeSignature
from gather_infer.equality.terms import (
    Attributes,
    Body,
    Call,
    Operand,
    Operator,
    Source,
    Tensor,
    Term,
)
from gather_infer.equality.view import TermView
from gather_infer.ir import Model
from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Graph, Node
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import DimTooLarge, Expr, symbol
from gather_infer.tensor import DType, Shape, SymbolicTensor


@dataclass(slots=True, eq=False)
class Translation:
    """One of the two models, translated.

    facts           about its values
    constants       its constants
    opens_inexact   whether pointwise operators that runtimes round differently are opened
    laws            the named laws that may be used
    tensors         graph and name -> tensor, or source where the rank is unknown
    executed        each node -> what it does and when: nodes with the same fail in the same runs
    failing         nodes that no runtime accepts, which are calls
    pool            that of `meanings`
    holder, depth   the node whose body is being translated, and the number of bodies around each other
    loops           operator and operands -> how many nodes with bodies have these, so far
    """

    facts: ModelFacts
    model: Model
    constants: ModelConstants
    meanings: Meanings
    opens_inexact: bool
    laws: frozenset[Law]
    tensors: dict[tuple[Graph, str], Operand] = field(default_factory=dict)
    executed: dict[Node, Execution] = field(default_factory=dict)
    holder: Node | None = field(default=None, init=False)
    depth: int = field(default=0, init=False)
    failing: set[Node] = field(default_factory=set, init=False)
    pool: TermPool = field(init=False)
    loops: Counter[Hashable] = field(default_factory=Counter, init=False)
    _known_tensors: dict[Hashable, Tensor] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.pool = self.meanings.pool
        found = [each.location.node for each in self.facts.inference.diagnostics if each.is_failure]
        places = {(path.graph, path.position) for path in found if path is not None}
        if places:
            nodes = (node for graph in self.model.graphs.values() for node in graph.file_nodes)
            self.failing = {node for node in nodes if node.source in places}

    # values

    def tensor(self, graph: Graph, name: str) -> Operand:
        """The tensor of a value that a graph may read; None for the name ""."""
        if not name:
            return None
        found = self.tensors.get((graph, name))
        if found is not None:
            return found
        home = graph.defining_graph(name)
        if home is None:
            return self._unknown(graph, name)
        found = self.tensors.get((home, name))
        if found is None:
            constant = self.constant(home, name)
            found = constant_tensor(self.pool, constant) if constant is not None else self._unknown(home, name)
            self.tensors[home, name] = found
        return found

    def constant(self, graph: Graph, name: str) -> Constant | None:
        """The elements of an initializer that no caller can override."""
        inputs = self.facts.inference.inputs if graph.path == MAIN else graph.input_set
        return None if name in inputs else self.constants.initializer(graph, name)

    def _unknown(self, graph: Graph, name: str) -> Source:
        """A value of which nothing is known, equal to no other."""
        return self.pool.interned(("unknown", id(self), graph.path, name), lambda serial: Source(serial, None, None))

    def translate(self, graph: Graph) -> None:
        """Translate the nodes of a graph, in topological order."""
        for node in graph.sorted_nodes:
            self._node(graph, node)

    def parameters(self, graph: Graph, prefix: str) -> None:
        """The inputs of a body as parameters, called by their position."""
        for at, name in enumerate(graph.inputs):
            self.declare(graph, name, f"{prefix}{at}")

    def declare(self, graph: Graph, name: str, title: str) -> None:
        """An input of a graph as a source called `title`; unknown sizes and elements get their names from it."""
        raw = self.facts.raw(graph, name)
        for axis, dim in enumerate(raw.shape or ()):
            if self.facts.lacks_meaning(dim):
                self.facts.renamed[dim.name] = symbol(f"{title}.{axis}")
        fact = self.facts.fact(graph, name)
        tensor = fact if isinstance(fact, SymbolicTensor) else SymbolicTensor()
        source = self.pool.named(title, tensor.dtype, tensor.shape)
        found: Operand = source if source.shape is None else self.pool.whole(source)
        self.tensors[graph, name] = found
        self._name_elements([raw], [found])

    def _node(self, graph: Graph, node: Node) -> None:
        constant = self.constants.of_node(node) if node.is_constant else None
        if constant is not None:
            self.tensors[graph, node.outputs[0]] = constant_tensor(self.pool, constant)
            return
        operands = [self.tensor(graph, name) for name in node.inputs]
        while operands and operands[-1] is None:
            operands.pop()
        signature = self.meanings.signatures.of(node, operands)
        raws = self.facts.results(node)
        if node.bodies:
            self._compute(graph, node, operands, signature, raws)
            return
        key = signature.operator, signature.call_attributes(node, operands), tuple(operands), len(node.outputs)
        self.executed[node] = Execution(key, self.pool.context, self.holder)
        place = self.pool.context, key, tuple(map(bool, node.outputs))
        if node in self.failing or not signature.is_deterministic:
            self._compute(graph, node, operands, signature, raws)
        elif not self._repeat(graph, node, place, raws):
            self._compute(graph, node, operands, signature, raws)
            self.meanings.results.setdefault(place, [self.tensors.get((graph, name)) for name in node.outputs])
            if any(map(self._is_conditional, raws)):
                self.meanings.conditional.add(place)

    def _repeat(self, graph: Graph, node: Node, place: Hashable, raws: Sequence[SymbolicTensor]) -> bool:
        """Whether another node does the same in the same runs; the results are then those of that node."""
        same = self.meanings.results.get(place)
        if same is None:
            return False
        if any(isinstance(tensor, Source) and raw.shape is not None for raw, tensor in zip(raws, same, strict=True)):
            return False
        for raw, tensor in zip(raws, same, strict=True):
            if isinstance(tensor, Tensor) and not self.facts.is_shape(raw.shape):
                self._adopt(raw, tensor.shape, place)
        self._set(graph, node, same)
        self._name_elements(raws, same)
        return True

    def _adopt_fact(self, raw: SymbolicTensor, other: SymbolicTensor, tensor: Operand) -> None:
        """Give the symbols of a fact the meaning that those of another fact have about the same tensor."""
        if isinstance(tensor, Tensor) and not self.facts.is_shape(raw.shape):
            place = "equal", tensor
            if self._is_conditional(other):
                self.meanings.conditional.add(place)
            self._adopt(raw, tensor.shape, place)
        self._name_elements([raw], [tensor])

    def _adopt(self, raw: SymbolicTensor, shape: Shape, place: Hashable) -> None:
        """Give the sizes of a result that have no meaning yet that of the sizes it has elsewhere."""
        for dim, size in zip(raw.shape or (), shape, strict=False):
            if self.facts.lacks_meaning(dim):
                self.facts.renamed[dim.name] = size
                if place in self.meanings.conditional:
                    self.facts.conditional.add(dim.name)

    def _is_conditional(self, raw: SymbolicTensor) -> bool:
        """Whether a size of a result has its meaning only where no dim of `Meanings.nonzero` is 0."""
        conditional = self.facts.conditional
        return bool(conditional) and any(
            isinstance(dim, Expr) and not dim.symbols.isdisjoint(conditional) for dim in raw.shape or ()
        )

    def _compute(
        self,
        graph: Graph,
        node: Node,
        operands: Sequence[Operand],
        signature: NodeSignature,
        raws: Sequence[SymbolicTensor],
    ) -> None:
        """Set the outputs of a node."""
        if node.op_type == "Reshape" and not node.domain and node not in self.failing:
            name_inferred_size(self.facts, self.meanings, graph, node)
        known = [None if raw.values is None else self._known(raw) for raw in raws]
        if all(found is not None or not name for found, name in zip(known, node.outputs, strict=True)):
            if node.bodies:  # they are executed, and may fail
                self._call(graph, node, signature, self._view(node, operands, signature, raws), raws)
            self._set(graph, node, known)
            return
        view = self._view(node, operands, signature, raws)
        if node not in self.failing and all(
            shape is not None for shape, name in zip(view.shapes, node.outputs, strict=True) if name
        ):
            try:
                opened = self._opened(view, signature)
            except (DimTooLarge, ZeroDivisionError):
                opened = None
            if opened is not None:
                if len(opened) < len(node.outputs):  # the mask of a Dropout
                    self._call(graph, node, signature, view, raws)
                self._set(graph, node, opened)
                self._name_elements(raws, opened)
                return
        found = None if node in self.failing else folded(self.pool, node, operands, raws)
        if found is not None:
            self._set(graph, node, found)
            return
        self._call(graph, node, signature, view, raws)

    def _set(self, graph: Graph, node: Node, tensors: Sequence[Operand]) -> None:
        for name, found in zip(node.outputs, tensors, strict=False):
            if name:
                self.tensors[graph, name] = found

    def _known(self, raw: SymbolicTensor) -> Tensor | None:
        """The tensor of a fact all of whose elements are known integers or truth values, else None."""
        if (
            raw.values is None
            or raw.shape is None
            or raw.dtype is None
            or not (raw.dtype.is_integer or raw.dtype is DType.BOOL)
        ):
            return None
        elements = tuple(raw.values.flat)
        key = raw.dtype, raw.values.shape, elements
        found = self._known_tensors.get(key)
        if found is None:
            found = from_elements(self.facts, self.pool, raw.dtype, raw.values.shape, elements)
            if found is not None:
                self._known_tensors[key] = found
        return found

    def _view(
        self, node: Node, operands: Sequence[Operand], signature: NodeSignature, raws: Sequence[SymbolicTensor]
    ) -> TermView:
        shapes = [self.facts.shape(raw.shape) for raw in raws]
        dtype = raws[0].dtype if raws else None
        return TermView(node, self.pool, operands, dtype, shapes, signature.attributes, self.facts.fact, self.constant)

    def _opened(self, view: TermView, signature: NodeSignature) -> list[Operand] | None:
        """The outputs by the map of the operator, or the pointwise operator; None if it is a call."""
        node = view.node
        if not node.domain and node.op_type == "Split":
            parts = [split(view, number) for number in range(len(node.outputs))]
            return None if any(part is None for part in parts) else [*parts]
        if node.domain == MOVEMENTS.domain and (entry := MOVEMENTS.lookup(node.op_type, node.version)) is not None:
            moved = entry.movement(view)
            return None if moved is None else [moved]
        operator, keyed = signature.operator, signature.key
        operands: Sequence[Operand] = view.operands
        if operator[:2] == ("", "CastLike"):
            operator, operands = ("", "Cast", 13), operands[:1]
        if operator[:2] == ("", "Cast"):
            operator, attributes = ("", "Cast", 13), {"to": int(view.dtype or 0), **saturation(view.attributes)}
            keyed = without_defaults(node, attributes)
        entry_ = POINTWISE.get(operator[:2])
        if entry_ is None or not (entry_.is_exact_for(view.dtype) or self.opens_inexact):
            return None
        tensors = [operand for operand in operands if isinstance(operand, Tensor)]
        if len(tensors) < len(operands):
            return None
        pointwise = self._pointwise(view, operator, keyed, tensors)
        return None if pointwise is None else [pointwise]

    def _pointwise(
        self, view: TermView, operator: Operator, attributes: Attributes, operands: Sequence[Tensor]
    ) -> Tensor | None:
        pool, dtype = self.pool, view.dtype

        def apply(shape: Shape, parts: Sequence[Tensor]) -> Term | None:
            frame = pool.frame(shape)
            indices = operands_broadcast(tuple([part.shape for part in parts]), shape, frame)
            if indices is None:
                return None
            terms = tuple(pool.at(part, index, frame) for part, index in zip(parts, indices, strict=True))
            return applied(pool, operator, attributes, dtype, terms, frame)

        shape = view.result_shape
        if all(operand.term is not None for operand in operands):
            term = apply(shape, operands)
            return None if term is None else pool.tensor(dtype, shape, term)
        return combined(pool, dtype, shape, operands, apply)

    # calls

    def _call(
        self, graph: Graph, node: Node, signature: NodeSignature, view: TermView, raws: Sequence[SymbolicTensor]
    ) -> None:
        operator, operands = signature.operator, view.operands
        if len(raws) == 1 and view.shapes[0] is not None and node not in self.failing:
            reduction = REDUCTIONS.get(operator[:2])
            found = opened_by_law(view, operator, self.laws)
            if reduction is not None:
                found = reduction(view, operator, self.facts.bounds(raws[0]))
            if found is not None:
                self._set(graph, node, [found])
                return
        if operator[:2] == ("", "If") and node not in self.failing:
            taken = taken_branch(self.pool, node, operands[0])
            equal = self._equal_branches(node, operands[0]) if taken is None else None
            if equal is not None:
                taken = node.bodies[0]
            if taken is not None:
                self.translate(taken)
                self.executed[node] = Execution(None, self.pool.context, self.holder)
                if equal is not None:
                    self._repeat_body(equal)
                    for raw, name in zip(raws, taken.outputs, strict=True):
                        self._adopt_fact(raw, self.facts.raw(taken, name), self.tensor(taken, name))
                self._set(graph, node, [self.tensor(taken, name) for name in taken.outputs])
                return
        operands = without_zero_state(operator, operands)
        titles, bodies = self._bodies(node, operator, operands) if node.bodies else ((), ())
        keyed = signature.call_attributes(node, operands)
        if not signature.is_deterministic:
            attributes = {**signature.attributes, "\0node": f"{id(self)}/{node.graph.path}/{node.order_key}"}
            keyed = call_attributes(node, attributes, operands)
        if titles:
            keyed = (*keyed, ("\0bodies", titles))
        operands = with_open_ends(view, operator, without_overwritten(operator, keyed, operands))
        call = self.pool.call(operator, keyed, operands, bodies)
        if node.bodies:
            self.executed[node] = Execution(call, self.pool.context, self.holder)
        unchanged = operands[2:] if operator[:2] == ("", "Loop") and is_skipped(self.pool, operands) else ()
        if operator[:2] == ("", "If") and operands and len(bodies) == 2:  # what both branches return is the result
            pairs = zip(bodies[0][2], bodies[1][2], strict=False)
            unchanged = tuple(one if one is other and isinstance(one, Tensor) else None for one, other in pairs)
        for at, name in enumerate(node.outputs):
            if name:
                initial = unchanged[at] if at < len(unchanged) else None
                if initial is not None:
                    self._adopt_fact(raws[at], raws[at], initial)
                self.tensors[graph, name] = self._result(call, at, raws[at]) if initial is None else initial

    def _result(self, call: Call, output: int, raw: SymbolicTensor) -> Operand:
        known = self.pool.known_result(call, output)
        if known is not None and known.shape is not None:
            self._adopt(raw, known.shape, (call, output))
        for axis, dim in enumerate(raw.shape or ()):
            if self.facts.lacks_meaning(dim):
                self.facts.name(self.meanings.sizes, (call, output, axis), dim, f"\2{call.serial}.{output}.{axis}")
        shape = self.facts.shape(raw.shape)
        if known is None and self._is_conditional(raw):
            self.meanings.conditional.add((call, output))
        source = self.pool.result(call, output, raw.dtype, shape, self.facts.bounds(raw))
        if source.shape is None:
            return source
        tensor = self.pool.whole(source)
        self._name_elements([raw], [tensor])
        return tensor

    def _name_elements(self, raws: Sequence[SymbolicTensor], tensors: Sequence[Operand]) -> None:
        """Give symbols that are elements of tensors the meaning of their terms."""
        for raw, tensor in zip(raws, tensors, strict=False):
            if raw.values is None or not isinstance(tensor, Tensor):
                continue
            frame = self.pool.frame(())
            for place, element in np.ndenumerate(raw.values):
                if self.facts.lacks_meaning(element):
                    term = self.pool.at(tensor, place, frame)
                    meaning = self.facts.name(self.meanings.elements, term, element, f"\3{term.serial}")
                    self.pool.is_element(meaning, raw.dtype)

    def _equal_branches(self, node: Node, condition: Operand) -> BodyComparison | None:
        """The comparison of the branches of an If if they do the same, so that every run executes one of them."""
        if not is_single(condition) or len(node.bodies) != 2:
            return None
        found = BodyComparison(self.facts, self.failing, self._outer)
        return found if found.is_same(*node.bodies) else None

    def _outer(self, graph: Graph, name: str) -> Operand:
        """A constant, or a value that is translated, else None."""
        found = self.tensors.get((graph, name))
        if found is not None:
            return found
        node = graph.producers[name][0] if name in graph.producers else None
        constant = self.constant(graph, name) if node is None else self.constants.of_node(node)
        return None if constant is None else constant_tensor(self.pool, constant)

    def _repeat_body(self, equal: BodyComparison) -> None:
        """Let the nodes of the second body be executed as those of the first are, with the same results."""
        for node, match in equal.nodes.items():
            if node in self.executed:
                self.executed[match] = self.executed[node]
        for (other, name), (graph, own) in equal.values.items():
            tensor = self.tensors.get((graph, own))
            if tensor is not None:
                self.tensors[other, name] = tensor
                self._adopt_fact(self.facts.raw(other, name), self.facts.raw(graph, own), tensor)

    def _place(self, operator: Operator, operands: tuple[Operand, ...]) -> tuple[Hashable, ...]:
        """A key of a node with bodies: those of nodes of both models with the same key are compared.

        An If does. Two Loops with the same operands may carry other values from one iteration to the next, of which
        other facts hold. So each has a key of its own, with its number among them.
        """
        key = self.pool.context, operator, operands
        if operator[:2] == ("", "If"):
            return key
        self.loops[key] += 1
        return (*key, self.loops[key])

    def _bodies(
        self, node: Node, operator: Operator, operands: tuple[Operand, ...]
    ) -> tuple[tuple[str, ...], tuple[Body, ...]]:
        """The attributes that hold bodies, sorted by name, and the bodies."""
        place = self._place(operator, operands)
        named = sorted(((attribute_name(node, body), body) for body in node.bodies), key=itemgetter(0))
        return tuple(name for name, _ in named), tuple(self._body(node, name, body, place) for name, body in named)

    def _body(self, node: Node, name: str, body: Graph, place: tuple[Hashable, ...]) -> Body:
        """A body of a node of control flow, as a function of its parameters and of the values it captures."""
        outer, holder = self.pool.context, self.holder
        context = self.pool.interned(("context", name, place), lambda serial: serial)
        self.pool.context, self.holder = context, node
        try:
            self.depth += 1
            self.parameters(body, f"\4{self.depth}.")
            self.translate(body)
            return len(body.inputs), context, tuple(self.tensor(body, each) for each in body.outputs)
        finally:
            self.pool.context, self.holder = outer, holder
            self.depth -= 1
