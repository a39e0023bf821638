"""Proof obligations besides equal terms: the second model succeeds wherever the first one does.

A node of the second model that the first has too, with the same operands, fails in the same runs. For each other node,
what it requires of sizes has to follow from the facts about the first model, and each access by index has to be proved
in bounds or be one that the first model makes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Final

from onnx import FunctionProto, ValueInfoProto

from gather_infer.equality.control_flow import is_single
from gather_infer.equality.dims import DimTable
from gather_infer.equality.executions import body_of, nodes_like, shared_nodes
from gather_infer.equality.frames import axes_in
from gather_infer.equality.implied_relations import Relation, holds
from gather_infer.equality.operators import is_deprecated
from gather_infer.equality.pieces import rearranged
from gather_infer.equality.reshape import reshaped_index
from gather_infer.equality.terms import Operand, Tensor
from gather_infer.equality.translation import Translation
from gather_infer.inference.result import Access
from gather_infer.ir.graph import Graph, Node
from gather_infer.node_ids import MAIN, GraphPath, NodePath
from gather_infer.symbolic import Dim, Expr, Scope, known_eq, known_le, product, substitute
from gather_infer.tensor import DType
from gather_infer.validate import VerdictKind, verdict
from gather_infer.validate.condition import Elements

_VECTORS: Final[Mapping[str, tuple[int, ...]]] = {
    "ConstantOfShape": (0,), "Pad": (1, 3), "Reshape": (1,), "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,),
    "Tile": (1,),
}  # fmt: skip
"""Operator -> its operands that onnxruntime refuses unless they are vectors; so are the axes of reductions."""

_REARRANGEMENTS: Final = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
"""Operators whose results have the elements of the first operand, each once."""


class Obligations:
    """The reasons why the second model may fail where the first one succeeds.

    facts   about the first model, in every run in which it succeeds
    """

    def __init__(self, first: Translation, second: Translation, facts: Scope, dims: DimTable) -> None:
        self.first = first
        self.second = second
        self.facts = facts
        self.dims = dims
        self._shared = shared_nodes(first.executed, second.executed)
        self._nodes = {node.source: node for graph in second.model.graphs.values() for node in graph.file_nodes}
        failing = [node for node in first.executed if node in first.failing]
        self._failing = nodes_like(failing, first.executed, second.executed)
        self._dead = [*_dead_branches(second)]

    def open(self) -> Iterator[str]:
        """A sentence for each obligation that is not proved."""
        inference = self.second.facts.inference
        for holder, execution in self.second.executed.items():
            if (
                holder.bodies
                and execution.key is not None
                and holder not in self._shared
                and not self._is_branch(holder)
            ):
                yield f"node {self.second.model.label(holder)} of the second model has bodies that may fail"
        for finding in inference.diagnostics:
            node = finding.location.node
            if node is not None and self._nodes.get((node.graph, node.position)) in self._failing:
                continue  # no run in which the first model succeeds reaches it
            if node is not None and self._is_dead(node):
                continue
            if finding.is_failure:  # of a shared node, too: the models may be of different opsets
                place = "" if node is None else f"node {node} of "
                yield f"{place}the second model fails: {finding.message}"
        yield from self._wrong_declarations()
        yield from self._wrong_parameters()
        yield from self._unranked_vectors()
        yield from self._deprecated_operators()
        for constraint in inference.constraints:
            relation = constraint.left, constraint.relation, constraint.right
            if not self._is_shared(constraint.node) and not self._follows((relation,)):
                yield f"node {constraint.node} of the second model requires {constraint}"
        for implied in inference.implied_constraints:
            if not self._is_shared(implied.node) and not self._follows(implied.any_of):
                yield f"node {implied.node} of the second model requires {implied}"
        for unchecked in inference.unchecked:
            if not self._is_shared(unchecked.node) and not self._follows(unchecked.any_of, unchecked.node):
                yield f"node {unchecked.node} of the second model: {unchecked.reason}"
        for access in inference.accesses:
            if self._is_shared(access.node) or self._key(self.second, access) in self._accesses:
                continue
            if not self._is_in_bounds(access):
                yield f"node {access.node} of the second model reads an index that is not proved in bounds"

    def _is_branch(self, node: Node) -> bool:
        """Whether a node is an If that fails only if a node in a branch does, which has obligations of its own."""
        if node.op_type != "If" or node.domain or len(node.inputs) != 1:
            return False
        return is_single(self.second.tensor(node.graph, node.inputs[0]))

    def _unranked_vectors(self) -> Iterator[str]:
        """Operands of unknown rank that have to be vectors: onnxruntime refuses the scalars that the rules take."""
        for node in self.second.executed:
            if node.domain or node in self._shared:
                continue
            places = (1,) if node.op_type.startswith("Reduce") else _VECTORS.get(node.op_type, ())
            names = [node.inputs[at] for at in places if at < len(node.inputs) and node.inputs[at]]
            if any(self.second.facts.raw(node.graph, name).shape is None for name in names):
                yield f"node {self.second.model.label(node)} of the second model may have no vector as an operand"

    def _deprecated_operators(self) -> Iterator[str]:
        """Nodes whose operator is deprecated in the opset of the second model; the first may be of an older one."""
        for node in self.second.executed:
            if is_deprecated(node.domain, node.op_type, node.version):
                label = self.second.model.label(node)
                yield f"node {label} of the second model: {node.op_type} is deprecated in opset {node.version}"

    def _wrong_declarations(self) -> Iterator[str]:
        """Sizes that the second model declares of its values, and that they need not have.

        onnxruntime gives values whose dims are declared alike the same memory, and fails where they differ.
        """
        side = self.second
        same = {value.SerializeToString() for _, value in _declarations(self.first)}
        if all(value.SerializeToString() in same for _, value in _declarations(side)):
            return
        sizes: dict[tuple[Graph, str], tuple[object, str, bool]] = {}
        known = {(name, axis, given) for _, name, axis, given in _declared(self.first)}
        declared = [(each, each[1:] not in known) for each in _declared(side)]
        suspects = {given for (_, _, _, given), is_new in declared if is_new}
        for (graph, name, axis, given), is_new in declared:
            if given not in suspects or not (is_new or isinstance(given, str)):
                continue
            shape = side.facts.raw(graph, name).shape
            place = f"axis {axis} of {name}"
            if shape is None or axis >= len(shape):
                if is_new:
                    yield f"the second model declares {place} as {given}, and its size is not known"
                continue
            dim = shape[axis]
            form = self.form(side, dim)
            size = dim if form is None else form
            if isinstance(given, str):
                first, other, is_other_new = sizes.setdefault((graph, given), (size, place, is_new))
                if first != size and (is_new or is_other_new):
                    yield f"the second model calls {other} and {place} {given!r}, which may differ"
            elif is_new and known_eq(size, given, self.facts) is not True:
                yield f"the second model declares {place} as {given}, and it is {dim}"

    def _wrong_parameters(self) -> Iterator[str]:
        """Parameters of bodies that the second model declares with another element type; runtimes refuse them."""
        known = {(name, dtype) for _, name, dtype in _parameters(self.first)}
        for graph, name, dtype in _parameters(self.second):
            found = self.second.facts.raw(graph, name).dtype
            if found is not None and found is not dtype and (name, dtype) not in known:
                yield f"the second model declares {name} as {dtype}, and it is {found}"

    def _is_shared(self, path: NodePath) -> bool:
        """Whether the first model executes the same node in the same runs, or no run executes it."""
        return self._nodes.get((path.graph, path.position)) in self._shared or self._is_dead(path)

    def _is_dead(self, path: NodePath) -> bool:
        """Whether a node is in a branch that no run takes."""
        return any(branch.contains(path.graph) for branch in self._dead)

    def _is_in_bounds(self, access: Access) -> bool:
        """Whether an access of the second model is in bounds in every run in which the first model succeeds."""
        found = verdict(access)
        if found.kind is not VerdictKind.CONDITIONAL:
            return found.kind is VerdictKind.PROVED
        for each in found.conditions:
            if isinstance(each.left, Elements):
                return False
            relation = (each.right, "<=", each.left) if each.relation == ">=" else (each.left, "<=", each.right)
            if each.relation == "<":
                relation = (each.left + 1, "<=", each.right)
            if not self._follows((relation,), access.node):
                return False
        return True

    @cached_property
    def _accesses(self) -> set[tuple[Operand, Dim, object]]:
        """The accesses of the first model that are made in each run."""
        found = self.first.facts.inference.accesses
        read = [each for each in found if not (each.addressing and each.addressing.may_skip)]
        return {key for access in read if (key := self._key(self.first, access)) is not None}

    @cached_property
    def _disjunctions(self) -> set[frozenset[Relation | None]]:
        """The requirements of the first model on sizes."""
        return {
            frozenset(self._relation(self.first, relation) for relation in each.any_of)
            for each in self.first.facts.inference.implied_constraints
        }

    @cached_property
    def _required(self) -> dict[Hashable, tuple[set[frozenset[Relation | None]], Scope]]:
        """The requirements of nodes in bodies of the first model on sizes, by the body, and the facts that follow.

        It holds in each run that executes the body, and in which the first model succeeds.
        """
        found: dict[Hashable, tuple[set[frozenset[Relation | None]], Scope]] = {}
        side = self.first
        nodes = {node.source: node for graph in side.model.graphs.values() for node in graph.file_nodes}
        for clause in side.facts.inference.unchecked:
            node = nodes.get((clause.node.graph, clause.node.position))
            if node is None or node not in side.executed or not clause.tight or not clause.any_of:
                continue
            relations = frozenset(self._relation(side, relation) for relation in clause.any_of)
            body = body_of(side.executed, node)
            if None in relations or body is None:
                continue
            required, facts = found.setdefault(body, (set(), self.facts.child()))
            required.add(relations)
            if len(relations) == 1:
                for relation in relations:
                    assert relation is not None, "looked at above"
                    low, kind, high = relation
                    facts.add_fact(high - low)
                    if kind == "==":
                        facts.add_fact(low - high)
        return found

    def _follows(self, any_of: tuple[Relation, ...], path: NodePath | None = None) -> bool:
        """Whether a requirement on sizes holds in every run in which the first model succeeds.

        path  the node that requires it, if it is one that is reached by some runs only
        """
        relations = [self._relation(self.second, relation) for relation in any_of]
        node = None if path is None else self._nodes.get((path.graph, path.position))
        body = None if node is None or node not in self.second.executed else body_of(self.second.executed, node)
        required, facts = self._required.get(body, (set(), self.facts))
        clause = frozenset(relations)
        if clause and None not in clause and (clause in self._disjunctions or clause in required):
            return True
        for relation in relations:
            if relation is None:
                continue
            if holds(relation, facts) is True:
                return True
        return False

    def _relation(self, side: Translation, relation: Relation) -> Relation | None:
        """A relation in the symbols of the proof; None if a dim has no meaning in all runs."""
        left, right = (self.form(side, dim) for dim in (relation[0], relation[2]))
        return None if left is None or right is None else (left, relation[1], right)

    def form(self, side: Translation, dim: Dim) -> Dim | None:
        """A dim in the symbols of the proof; None if a symbol has no meaning in all runs, or a divisor is 0."""
        facts = side.facts
        if isinstance(dim, Expr) and not (facts.is_bound((dim,)) and dim.symbols.isdisjoint(facts.conditional)):
            return None
        try:
            return self.dims.form(substitute(dim, facts.renamed))
        except ZeroDivisionError:
            return None

    def _key(self, side: Translation, access: Access) -> tuple[Operand, Dim, object] | None:
        """Equal for accesses that read the same positions of an axis of the same size; None for one in a body."""
        if access.node.graph != MAIN or access.addressing is None:
            return None
        addressing = access.addressing
        name = access.indices if addressing.column is not None else _same_elements(side.model.main, access.indices)
        indices = side.tensor(side.model.main, name)
        size = self.form(side, addressing.size)
        if not isinstance(indices, Tensor) or size is None:
            return None
        return self._positions(indices, addressing.column), size, addressing.indexing

    def _positions(self, indices: Tensor, column: int | None) -> Tensor:
        """One column of indices as a vector, without axes along which they are equal and that have an element."""
        pool = self.second.pool
        term = pool.term_of(indices)
        last = indices.rank - 1
        if column is not None:
            shape = indices.shape[:-1]
            term = pool.at(indices, (*pool.frame(shape).variables, column), pool.frame(shape))
        else:
            shape = indices.shape
            last = indices.rank
        read = axes_in(term, pool.index_terms)
        kept = [axis for axis in range(last) if axis in read or known_le(1, shape[axis], self.facts) is not True]
        kept = [axis for axis in kept if shape[axis] != 1]
        target = tuple(shape[axis] for axis in kept)
        frame = pool.frame(target)
        index: list[Dim] = [0] * len(shape)
        for new, axis in enumerate(kept):
            index[axis] = frame.variables[new]
        found = pool.tensor(indices.dtype, target, pool.move(term, tuple(index), frame))
        if frame.is_empty:
            return found
        vector = (product(target),)
        flat = reshaped_index(target, vector, pool.frame(vector))
        return found if flat is None else rearranged(pool, found, found.dtype, vector, flat)


def _declarations(side: Translation) -> Iterator[tuple[Graph, ValueInfoProto]]:
    """The values that a model declares in graphs that runs may execute."""
    executed = {side.model.main, *(node.graph for node in side.executed)}
    for graph in side.model.graphs.values():
        if graph in executed and not isinstance(graph.proto, FunctionProto):
            for value in (*graph.proto.input, *graph.proto.output, *graph.proto.value_info):
                yield graph, value


def _dead_branches(side: Translation) -> Iterator[GraphPath]:
    """The branches that are not taken under the known condition of an If."""
    for node, execution in side.executed.items():
        if execution.key is None:
            for body in node.bodies:
                if not any(each in side.executed for each in body.sorted_nodes):
                    yield body.path


def _declared(side: Translation) -> Iterator[tuple[Graph, str, int, str | int]]:
    """The names and numbers that a model declares for dims, each with the graph, the value and the axis."""
    for graph, value in _declarations(side):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param or dim.dim_value > 0:
                yield graph, value.name, axis, dim.dim_param or dim.dim_value


def _parameters(side: Translation) -> Iterator[tuple[Graph, str, DType]]:
    """The parameters of bodies that runs may execute, with the element types that the model declares."""
    for graph in dict.fromkeys(node.graph for node in side.executed):
        if graph.path != MAIN and not isinstance(graph.proto, FunctionProto):
            for value in graph.proto.input:
                if value.type.tensor_type.elem_type:
                    yield graph, value.name, DType(value.type.tensor_type.elem_type)


def _same_elements(graph: Graph, name: str) -> str:
    """The first value of which `name` is a rearrangement: each element is in both, and as often."""
    while (producer := graph.producer(name)) is not None:
        node = producer[0]
        if node.domain or node.op_type not in _REARRANGEMENTS or not node.inputs:
            break
        name = node.inputs[0]
    return name


def nodes_behind(graph: Graph, name: str) -> set[Node]:
    """The nodes of a graph that compute a value."""
    found: set[Node] = set()
    pending = [name]
    while pending:
        producer = graph.producer(pending.pop())
        if producer is not None and producer[0] not in found:
            found.add(producer[0])
            pending += [each for each in producer[0].inputs if each]
            pending += [each for body in producer[0].bodies for each in body.captures()]
    return found
