"""The search for the cheapest term of a size: from shapes of available values, other sizes, or present nodes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final

from gather_infer.passes.mutable_model import Graph, Node
from gather_infer.passes.rewrites.shape_operands import Choices
from gather_infer.passes.shape_exprs.decomposition import Decomposition, decompositions
from gather_infer.passes.shape_exprs.expression_dag import (
    MAX_DAG_NODES,
    Attributes,
    DagCost,
    DagNode,
    Elements,
    ExpressionDag,
    Term,
    static_bytes,
)
from gather_infer.symbolic import Dim, Expr, Scope
from gather_infer.tensor import DType, Shape, SymbolicTensor, from_values, make_values

_MAX_CONCAT: Final = 12
_MAX_EXISTING: Final = 4  # values of the graph with the same elements that are examined
_MAX_SOURCES: Final = 12  # values that are examined for one dim
_MAX_SPLITS: Final = 8
_MAX_DEPTH: Final = 4

_SHAPE_OPS: Final = frozenset({"Shape", "Size"})

_MISSING: Final = Term("", (), (), SymbolicTensor(), -1, frozenset())  # the key is not memoized; `None` is a result


class SizeSearch:
    """Terms for sizes, chosen by their cost in addition to the nodes of the DAG.

    opset             of ai.onnx
    nodes_of_gather   the number of nodes as which a new Gather counts
    dag               the nodes that are computed anyway
    limit             of the methods: the position of the node that reads the term; its inputs come before
    """

    def __init__(self, graph: Graph, scope: Scope, opset: int, nodes_of_gather: int = 1) -> None:
        self.nodes_of_gather = nodes_of_gather
        self.graph = graph
        self.scope = scope
        self.opset = opset
        self.dag = ExpressionDag()
        self.available: dict[str, Term] = {}  # values that stay
        self._sources: dict[Shape, Term] = {}
        self._axes: dict[Dim, list[tuple[Term, int]]] = {}
        self._by_symbol: dict[str, list[tuple[int, Expr]]] = {}  # least symbol -> dims of `_axes`, with their numbers
        self._values: dict[tuple[DType, int, Elements], list[str]] = {}
        self._existing_nodes: dict[tuple[object, ...], tuple[Node, int]] = {}
        self._terms: dict[tuple[object, ...], Term] = {}
        self._memo: dict[tuple[object, ...], Term | None] = {}
        self._version = -1
        self._in_progress: set[tuple[object, ...]] = set()
        self._read: set[str] = set()  # read by nodes whose values may be computed in another way
        self._pieces: dict[tuple[object, ...], list[Term]] = {}
        self._dims_on_axes: dict[tuple[Dim, ...], list[Dim]] = {}
        self._decomposition_memo: dict[Expr, list[Decomposition]] = {}
        self._places: list[int] = []
        self._new_memo: dict[tuple[object, ...], Term | None] = {}

    # available values

    def add_available(self, name: str, fact: SymbolicTensor, at: int) -> Term:
        """Add a value that stays in any case (an available expression), computed at position `at`."""
        term = self.available[name] = Term("", (), (), fact, at, frozenset(), name=name)
        self._memo.clear()
        self._pieces.clear()
        self._dims_on_axes.clear()
        self._new_memo.clear()
        self._places = []
        shape = fact.shape
        if shape and not all(isinstance(dim, int) for dim in shape):
            known = self._sources.get(shape)
            if known is None or known.at > at:
                self._sources[shape] = term
                for axis, dim in enumerate(shape):
                    if not isinstance(dim, int):
                        if dim not in self._axes:
                            self._by_symbol.setdefault(min(dim.symbols), []).append((len(self._axes), dim))
                        insort(self._axes.setdefault(dim, []), (term, axis), key=lambda held: held[0].at)
        elements = elements_of(fact)
        if elements is not None and fact.dtype is not None:
            self._values.setdefault((fact.dtype, len(shape or ()), elements), []).insert(0, name)
        return term

    def add_candidate(self, node: Node) -> None:
        """Add a node of the graph whose values may be computed in another way."""
        self._read.update(node.inputs)
        for at, name in enumerate(node.outputs):
            fact = self.graph.fact(name) if name else None
            if not isinstance(fact, SymbolicTensor):
                continue
            elements = elements_of(fact)
            if elements is not None and fact.dtype is not None and fact.shape is not None:
                self._values.setdefault((fact.dtype, len(fact.shape), elements), []).append(name)
            attributes = _attributes(node)
            if attributes is not None and len(node.outputs) == 1 and not node.domain:
                tokens = tuple(self._token_of(name) for name in node.inputs)
                self._existing_nodes.setdefault((node.op_type, tokens, attributes), (node, at))

    # terms

    def best(self, dtype: DType, rank: int, alternatives: Sequence[Choices], limit: int) -> Term | None:
        """The cheapest term for a tensor of rank 0 or 1 whose elements are one of `alternatives`; None if there is
        none.
        """
        return self._best(dtype, rank, alternatives, self._canonical_limit(limit))

    def _best(self, dtype: DType, rank: int, alternatives: Sequence[Choices], limit: int) -> Term | None:
        found: list[Term | None] = []
        for way in alternatives:
            if dtype is DType.INT64:
                found.append(self._vector(way, limit) if rank else self._scalar_of(way[0], limit))
            else:
                found.append(self._narrow_integers(dtype, rank, way, limit))
        return self._cheapest(found)

    def _canonical_limit(self, limit: int) -> int:
        """The least limit with the same available values: most readers then share memoized terms."""
        if not self._places:
            positions = {term.at for term in self._sources.values()}
            positions |= {
                t.at for name, t in self.available.items() if name in self._read or elements_of(t.fact) is not None
            }
            self._places = sorted(positions | {-1})
        return self._places[bisect_left(self._places, limit) - 1] + 1

    def value(self, name: str, limit: int) -> Term | None:
        """The cheapest term for a value of the graph."""
        available = self.available.get(name)
        if available is not None:
            return available if available.at < limit else None
        if not name or name not in self.graph.producers or name in self.graph.constants:
            return self._constant_of(name) or self.add_available(name, _tensor(self.graph.fact(name)), -1)
        fact = _tensor(self.graph.fact(name))
        elements = elements_of(fact)
        if elements is None or fact.dtype is None or fact.shape is None:
            return self.existing(name, limit)
        return self._best(fact.dtype, len(fact.shape), [tuple((e,) for e in elements)], limit)

    def existing(self, name: str, limit: int) -> Term | None:
        """The present producer of a value, with the cheapest terms as its inputs."""
        limit = self._canonical_limit(limit)
        key = ("kept", name, limit)
        return self._memoized(key, lambda: self._existing(name, limit))

    def _existing(self, name: str, limit: int) -> Term | None:
        node, output = self.graph.producers[name]
        if node.bodies:
            return None
        inputs = []
        for read in node.inputs:
            term = self.value(read, limit)
            if term is None:
                return None
            inputs.append(term)
        fact = _tensor(self.graph.fact(name))
        return self._of_node(node, output, tuple(inputs), fact)

    def _of_node(self, node: Node, output: int, inputs: tuple[Term, ...], fact: SymbolicTensor) -> Term | None:
        is_same = all(
            term.name == read or self.names_constant(read, term) for term, read in zip(inputs, node.inputs, strict=True)
        )
        name = node.outputs[output] if is_same else ""
        return self._intern(node.op_type, inputs, (), fact, name, node, output)

    def _new(self, op_type: str, inputs: Sequence[Term | None], attributes: Attributes, elements: Elements, rank: int,
             dtype: DType = DType.INT64) -> Term | None:  # fmt: skip
        """A node over terms, or the present node that is equivalent."""
        key = (op_type, tuple(inputs), attributes)
        found = self._new_memo.get(key, _MISSING)
        if found is not _MISSING:
            return found
        terms = tuple(term for term in inputs if term is not None)
        if len(terms) < len(inputs):
            return None
        fact = from_values(dtype, make_values(list(elements), (len(elements),) if rank else ()))
        tokens = tuple(self._token(term) for term in terms)
        existing = self._existing_nodes.get((op_type, tokens, attributes)) if None not in tokens else None
        if existing is not None and existing[0].outputs[0] not in self.available:
            made = self._of_node(*existing, terms, fact)
        else:
            made = self._intern(op_type, terms, attributes, fact)
        self._new_memo[key] = made
        return made

    def _intern(self, op_type: str, inputs: tuple[Term, ...], attributes: Attributes, fact: SymbolicTensor,
              name: str = "", node: Node | None = None, output: int = 0) -> Term | None:  # fmt: skip
        key = (op_type, inputs, attributes, node)
        found = self._terms.get((key, output))
        if found is not None:
            return found
        below = frozenset[DagNode]().union(*(term.dag_nodes for term in inputs))
        if len(below) >= MAX_DAG_NODES:
            return None
        sibling = next((self._terms[key, i] for i in range(len(node.outputs)) if (key, i) in self._terms), None) \
            if node else None  # fmt: skip
        is_computed_shape = op_type in _SHAPE_OPS and any(
            term.op_type or is_computed(self.graph, term.name) for term in inputs
        )
        nbytes = static_bytes(fact) + sum(
            static_bytes(term.fact) for term in inputs if term.elements is None and op_type not in _SHAPE_OPS
        )
        is_gather = op_type == "Gather"
        nodes = self.nodes_of_gather if is_gather and not name else 1
        units = (
            sibling.dag_nodes
            if sibling
            else below | {DagNode(DagCost(nodes, is_gather, is_computed_shape, 0 if name else 1, nbytes))}
        )
        at = max((term.at for term in inputs), default=-1)
        made = self._terms[key, output] = Term(op_type, inputs, attributes, fact, at, units, name, node, output)
        return made

    def copied(self, term: Term) -> Term | None:
        """An Identity of a term; None for a constant, which needs no copy."""
        return None if term.elements is not None else self._intern("Identity", (term,), (), term.fact)

    def constant(self, elements: Elements, rank: int, dtype: DType = DType.INT64) -> Term:
        """A constant of rank 0 or 1."""
        key = ("", dtype, rank, elements)
        found = self._terms.get(key)
        if found is None:
            fact = from_values(dtype, make_values(list(elements), (len(elements),) if rank else ()))
            found = self._terms[key] = Term("", (), (), fact, -1, frozenset(), elements=elements)
        return found

    # term construction

    def _narrow_integers(self, dtype: DType, rank: int, way: Choices, limit: int) -> Term | None:
        """A term of another type than int64, whose elements are in its range."""
        if all(isinstance(each[0], int) for each in way):
            return self.constant(tuple(each[0] for each in way), rank, dtype)
        found = list(self._existing_with(dtype, rank, way, limit))
        wide = self._vector(way, limit) if rank else self._scalar_of(way[0], limit)
        if wide is not None:
            elements = tuple(elements_of(wide.fact) or ())
            found.append(self._new("Cast", [wide], (("to", int(dtype)),), elements, rank, dtype))
        return self._cheapest(found)

    def _scalar_of(self, choices: Iterable[Dim], limit: int) -> Term | None:
        return self._cheapest([self._scalar(dim, limit) for dim in choices])

    def _scalar(self, dim: Dim, limit: int, depth: int = 0) -> Term | None:
        if isinstance(dim, int):
            return self.constant((dim,), 0)
        return self._memoized(("scalar", dim, limit), lambda: self._cheapest(self._scalars(dim, limit, depth)))

    def _scalars(self, dim: Expr, limit: int, depth: int) -> Iterator[Term | None]:
        yield from self._existing_with(DType.INT64, 0, ((dim,),), limit)
        yield from self._gathered(dim, limit)
        for vector in self._parts(((dim,),), limit):
            yield self._squeezed(vector, dim)
        if depth < _MAX_DEPTH:
            for op_type, left, right in self._decompositions(dim):
                pair = self._scalar(left, limit, depth + 1), self._scalar(right, limit, depth + 1)
                yield self._new(op_type, pair, (), (dim,), 0)

    def _gathered(self, dim: Expr, limit: int) -> Sequence[Term]:
        """A dim, gathered from the shapes that contain it."""
        found = self._pieces.get((dim, limit))
        if found is None:
            near = [(source, axis) for source, axis in self._axes.get(dim, ()) if source.at < limit]
            found = self._pieces[dim, limit] = []
            for source, axis in near[:_MAX_SOURCES]:
                term = self._new("Gather", [self._shape(source), self.constant((axis,), 0)], (), (dim,), 0)
                found += [] if term is None else [term]
        return found

    def _vector(self, way: Choices, limit: int, depth: int = 0) -> Term | None:
        numbers = [next((c for c in each if isinstance(c, int)), None) for each in way]
        if None not in numbers:
            return self.constant(tuple(n for n in numbers if n is not None), 1)
        return self._memoized(("vector", way, limit), lambda: self._cheapest(self._vectors(way, limit, depth)))

    def _vectors(self, way: Choices, limit: int, depth: int) -> Iterator[Term | None]:
        yield from self._parts(way, limit)
        if len(way) == 1:
            for dim in way[0]:
                if not isinstance(dim, int):
                    yield from self._single_element(dim, limit, depth)
        elif len(way) <= _MAX_CONCAT:
            yield self._concat(way, limit)

    def _parts(self, way: Choices, limit: int) -> Iterator[Term | None]:
        """Terms for a vector with the elements `way`: existing values of the graph, and parts of shapes."""
        yield from self._existing_with(DType.INT64, 1, way, limit)
        found = self._pieces.get((way, limit))
        if found is None:
            found = self._pieces[way, limit] = [term for term in self._shape_pieces(way, limit) if term is not None]
        yield from found

    def _shape_pieces(self, way: Choices, limit: int) -> Iterator[Term | None]:
        """Terms for a vector with the elements `way`, as parts of shapes."""
        seen: set[Term] = set()
        for dim in (dim for each in way for dim in self._on_axes(each)):
            for source, _ in self._axes[dim]:
                if source in seen or source.at >= limit or len(seen) >= _MAX_SOURCES:
                    continue
                seen.add(source)
                shape = source.fact.shape or ()
                n, starts = len(way), [s for s in range(len(shape) - len(way) + 1) if _fits(shape[s:], way)]
                for start in starts:
                    yield from self._consecutive(source, start, start + n)
                if not starts:
                    axes = [next((a for a, d in enumerate(shape) if d in each), -1) for each in way]
                    if -1 not in axes:
                        elements = tuple(shape[axis] for axis in axes)
                        yield self._new("Gather", [self._shape(source), self.constant(tuple(axes), 1)], (), elements, 1)

    def _on_axes(self, choice: tuple[Dim, ...]) -> list[Dim]:
        """The dims among `choice` that are the size of an axis of an available value."""
        found = self._dims_on_axes.get(choice)
        if found is None:
            found = self._dims_on_axes[choice] = [dim for dim in choice if dim in self._axes]
        return found

    def _consecutive(self, source: Term, start: int, end: int) -> Iterator[Term | None]:
        """Terms for the dims [start, end) of the shape of `source`."""
        shape = source.fact.shape or ()
        if start == 0 and end == len(shape):
            yield self._shape(source)
            return
        elements = shape[start:end]
        if self.opset >= 15:
            bounds: Attributes = (("end", end),) if start == 0 else (("end", end), ("start", start))
            yield self._new("Shape", [source], bounds, elements, 1)
        if self.opset >= 10:
            given = [self.constant((number,), 1) for number in (start, end)]
            yield self._new("Slice", [self._shape(source), *given], (), elements, 1)
        else:
            yield self._new("Slice", [self._shape(source)], (("ends", (end,)), ("starts", (start,))), elements, 1)

    def _single_element(self, dim: Expr, limit: int, depth: int) -> Iterator[Term | None]:
        """Terms for the vector with the single element `dim`."""
        yield self._unsqueezed(self._scalar(dim, limit, depth), dim)
        if depth < _MAX_DEPTH:
            for op_type, left, right in self._decompositions(dim):
                a, b = self._vector(((left,),), limit, depth + 1), self._vector(((right,),), limit, depth + 1)
                yield self._new(op_type, [a, b], (), (dim,), 1)
                if not isinstance(left, int):
                    yield self._new(op_type, [self._scalar(left, limit, depth + 1), b], (), (dim,), 1)
                if not isinstance(right, int):
                    yield self._new(op_type, [a, self._scalar(right, limit, depth + 1)], (), (dim,), 1)

    def _concat(self, way: Choices, limit: int) -> Term | None:
        """The cheapest Concat of parts: dynamic programming over the prefixes."""
        # rows[n]: the cheapest terms whose concatenation has the first n elements
        rows: list[tuple[DagCost, tuple[Term, ...]] | None] = [(DagCost(), ()), *[None] * len(way)]
        for end in range(1, len(way) + 1):
            for start in range(end):
                before = rows[start]
                if before is None or (start == 0 and end == len(way)):
                    continue
                piece = self._piece(way[start:end], limit)
                if piece is None:
                    continue
                row = (*before[1], piece)
                cost = self.dag.marginal_cost(frozenset[DagNode]().union(*(term.dag_nodes for term in row)))
                known = rows[end]
                if known is None or (cost, len(row)) < (known[0], len(known[1])):
                    rows[end] = cost, row
        found = rows[-1]
        if found is None:
            return None
        elements = tuple(e for term in found[1] for e in elements_of(term.fact) or ())
        return self._new("Concat", found[1], (("axis", 0),), elements, 1)

    def _piece(self, way: Choices, limit: int) -> Term | None:
        if len(way) == 1:
            return self._vector(way, limit)
        numbers = [next((c for c in each if isinstance(c, int)), None) for each in way]
        if None not in numbers:
            return self.constant(tuple(n for n in numbers if n is not None), 1)
        return self._memoized(("parts", way, limit), lambda: self._cheapest(self._parts(way, limit)))

    def _existing_with(self, dtype: DType, rank: int, way: Choices, limit: int) -> Iterator[Term | None]:
        """Terms for values of the graph that have the elements `way`."""
        for elements in _combinations(way):
            for name in self._values.get((dtype, rank, elements), ())[:_MAX_EXISTING]:
                available = self.available.get(name)
                if available is not None:
                    yield available if available.at < limit else None
                else:
                    yield self.existing(name, limit)

    def _shape(self, source: Term) -> Term | None:
        return self._new("Shape", [source], (), source.fact.shape or (), 1)

    def _squeezed(self, vector: Term | None, dim: Dim) -> Term | None:
        if self.opset < 13:
            return self._new("Squeeze", [vector], (("axes", (0,)),), (dim,), 0)
        return self._new("Squeeze", [vector, self.constant((0,), 1)], (), (dim,), 0)

    def _unsqueezed(self, scalar: Term | None, dim: Dim) -> Term | None:
        if self.opset < 13:
            return self._new("Unsqueeze", [scalar], (("axes", (0,)),), (dim,), 1)
        return self._new("Unsqueeze", [scalar, self.constant((0,), 1)], (), (dim,), 1)

    def _decompositions(self, dim: Expr) -> list[Decomposition]:
        found = self._decomposition_memo.get(dim)
        if found is not None:
            return found
        sharing = [
            held for name in dim.symbols for held in self._by_symbol.get(name, ()) if held[1].symbols <= dim.symbols
        ]
        near = [known for _, known in sorted(sharing, key=itemgetter(0))]
        found = self._decomposition_memo[dim] = list(
            islice(decompositions(dim, near, self.scope, self.opset), _MAX_SPLITS)
        )
        return found

    # choice

    def _cheapest(self, terms: Iterable[Term | None]) -> Term | None:
        best: Term | None = None
        lowest: DagCost | None = None  # of `best`, computed once there is another term
        for term in terms:
            if term is None or term is best:
                continue
            if best is None:
                best = term
                continue
            if lowest is None:
                lowest = self.dag.marginal_cost(best.dag_nodes)
            cost = self.dag.marginal_cost(term.dag_nodes)
            if cost < lowest:
                best, lowest = term, cost
        return best

    def _memoized(self, key: tuple[object, ...], make: Callable[[], Term | None]) -> Term | None:
        if self._version != self.dag.version:
            self._memo.clear()
            self._version = self.dag.version
        known = self._memo.get(key, _MISSING)
        if known is not _MISSING:
            return known
        if key in self._in_progress or len(self._in_progress) > 40:
            return None  # cyclic, or too deep
        self._in_progress.add(key)
        found = make()
        self._in_progress.discard(key)
        self._memo[key] = found
        return found

    def names_constant(self, name: str, term: Term) -> bool:
        """Whether a name of the graph refers to an equal constant."""
        return term.elements is not None and self._token_of(name) == self._token(term)

    def _token(self, term: Term) -> object:
        """A key that identifies an available value or a constant; None for any other value."""
        if term.elements is not None:
            return term.fact.dtype, term.fact.rank, term.elements
        return term.name or None

    def _token_of(self, name: str) -> object:
        constant = self._constant_of(name)
        return name if constant is None else self._token(constant)

    def _constant_of(self, name: str) -> Term | None:
        """A small integer constant of the graph."""
        if not name or self.graph.constant_payload(name) is None:
            return None
        fact = _tensor(self.graph.fact(name))
        elements = elements_of(fact)
        if elements is None or fact.dtype is None or not all(isinstance(e, int) for e in elements):
            return None
        return self.constant(elements, len(fact.shape or ()), fact.dtype)


def elements_of(fact: SymbolicTensor) -> Elements | None:
    """The elements of an int32 or int64 tensor of rank 0 or 1, if all are known and there are at most 64."""
    values = fact.values
    if fact.dtype not in (DType.INT32, DType.INT64) or values is None or values.ndim > 1 or values.size > 64:
        return None
    found = tuple(values.ravel().tolist())
    return found if all(isinstance(e, (int, Expr)) for e in found) else None


def is_computed(graph: Graph, name: str) -> bool:
    """Whether a node computes the value: it is neither an input of a graph nor a constant."""
    return graph.producer(name) is not None and graph.constant_payload(name) is None


def _tensor(value: object) -> SymbolicTensor:
    return value if isinstance(value, SymbolicTensor) else SymbolicTensor()


def _fits(shape: Shape, way: Choices) -> bool:
    return all(dim in each for dim, each in zip(shape, way, strict=False))


def _combinations(way: Choices) -> Iterator[Elements]:
    """Two of the ways to choose: the last choices, which are the present elements, and the first ones."""
    first = tuple(each[0] for each in way)
    last = tuple(each[-1] for each in way)
    yield last
    if first != last:
        yield first


def _attributes(node: Node) -> Attributes | None:
    """The integer attributes, sorted by name, in the form of a new node; None if there are others."""
    found: list[tuple[str, int | tuple[int, ...]]] = []
    for attribute in node.proto.attribute:
        if attribute.ref_attr_name or attribute.type not in (attribute.INT, attribute.INTS):
            return None
        if attribute.type == attribute.INTS:
            found.append((attribute.name, tuple(attribute.ints)))
        elif (node.op_type, attribute.name, attribute.i) not in (("Gather", "axis", 0), ("Shape", "start", 0)):
            found.append((attribute.name, attribute.i))
    return tuple(sorted(found))
