"""The facts about a model in the symbols of the proof.

A symbol that the inference has generated has no meaning until its term is known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, TypeVar

import numpy as np

from gather_infer.equality.dims import DimTable
from gather_infer.equality.pool import TermPool
from gather_infer.equality.signatures import NodeSignatures
from gather_infer.equality.terms import Call, Operand, Tensor, Term
from gather_infer.inference import Inference
from gather_infer.ir.graph import Graph, Node
from gather_infer.symbolic import Dim, Expr, known_le, substitute, symbol
from gather_infer.symbolic.normal_form import Symbol
from gather_infer.tensor import UNKNOWN, DType, Shape, SymbolicTensor, Value

_K = TypeVar("_K")


@dataclass(slots=True, eq=False)
class ModelFacts:
    """The facts of an inference in the symbols of the proof.

    table         the forms of dims
    renamed       name of a symbol of the model -> dim in the symbols of the proof; other symbols have no meaning yet
    is_reference  whether this is the first model, whose generated symbols keep their names
    conditional   symbols that have their meaning only in runs in which no dim of `Meanings.nonzero` is 0
    """

    inference: Inference
    table: DimTable
    renamed: dict[str, Dim]
    is_reference: bool
    conditional: set[str] = field(default_factory=set)
    _dims: dict[Dim, Dim] = field(default_factory=dict, init=False)
    _shapes: dict[Shape, Shape] = field(default_factory=dict, init=False)
    _scopes: dict[Graph, Mapping[str, Value]] = field(default_factory=dict, init=False)

    def dim(self, dim: Dim) -> Dim:
        """A dim of the inference in the symbols of the proof."""
        if isinstance(dim, int):
            return dim
        found = self._dims.get(dim)
        if found is None:
            try:
                found = self.table.form(substitute(dim, self.renamed))
            except ZeroDivisionError:  # a divisor is 0 in every run of the first model: the dim equals no other
                found = self._dims[dim] = symbol(f"\6{self.is_reference}.{len(self._dims)}")
            if self.is_bound((dim,)):
                self._dims[dim] = found
        return found

    def shape(self, shape: Shape | None) -> Shape | None:
        """A shape in the symbols of the proof; None if the rank is unknown, or a symbol lacks a meaning."""
        if shape is None:
            return None
        found = self._shapes.get(shape)
        if found is None and self.is_bound(shape):
            found = self._shapes[shape] = tuple([self.dim(dim) for dim in shape])
        return found

    def is_shape(self, shape: Shape | None) -> bool:
        """Whether the shape has been put in the symbols of the proof."""
        return shape is not None and shape in self._shapes

    def is_bound(self, dims: Iterable[Dim]) -> bool:
        """Whether no symbol in dims of the inference lacks a meaning."""
        known = self.renamed.keys()
        return all(isinstance(dim, int) or dim.symbols <= known for dim in dims)

    def fact(self, graph: Graph, name: str) -> Value | None:
        """The fact about a value, in the symbols of the proof; None if there is none."""
        found = self._raw(graph, name)
        if not isinstance(found, SymbolicTensor):
            return found
        values = found.values
        if values is not None and values.size and any(isinstance(value, Expr) for value in values.flat):
            renamed = np.empty(values.size, object)
            renamed[:] = [self._element(value) for value in values.flat]
            values = renamed.reshape(values.shape)
        return SymbolicTensor(found.dtype, self.shape(found.shape), values)

    def _element(self, value: Any) -> Any:
        """A known element in the symbols of the proof; None if it is not known there."""
        if not isinstance(value, Expr):
            return value if isinstance(value, (bool, int, float)) else None
        return self.dim(value) if self.is_bound((value,)) else None

    def raw(self, graph: Graph, name: str) -> SymbolicTensor:
        """The fact about a value in the symbols of the model; an unknown one if it is no tensor."""
        found = self._raw(graph, name)
        return found if isinstance(found, SymbolicTensor) else UNKNOWN

    def _raw(self, graph: Graph, name: str) -> Value | None:
        home = graph.defining_graph(name)
        return None if home is None else self._scope(home).get(name)

    def results(self, node: Node) -> list[SymbolicTensor]:
        """The facts about the outputs of a node, as `raw` returns them."""
        scope = self._scope(node.graph)
        found = [scope.get(name) for name in node.outputs]
        return [fact if isinstance(fact, SymbolicTensor) else UNKNOWN for fact in found]

    def _scope(self, graph: Graph) -> Mapping[str, Value]:
        """The facts about the values that a graph defines."""
        found = self._scopes.get(graph)
        if found is None:
            found = self._scopes[graph] = self.inference.scopes.get(graph.path, {})
        return found

    def bounds(self, raw: SymbolicTensor) -> tuple[Dim, Dim | None] | None:
        """The bounds of the elements of an integer tensor that are at least 0, else None."""
        known = raw.value_range
        if known is None or known.lo is None or raw.dtype is None or not raw.dtype.is_integer:
            return None
        if not self.is_bound((known.lo,)) or known_le(0, lo := self.dim(known.lo), self.table.facts) is not True:
            return None
        return lo, self.dim(known.hi) if known.hi is not None and self.is_bound((known.hi,)) else None

    def lacks_meaning(self, dim: Any) -> TypeGuard[Symbol]:
        """Whether a dim is a symbol whose meaning is not known yet."""
        return isinstance(dim, Symbol) and dim.name not in self.renamed

    def name(self, table: dict[_K, Dim], key: _K, generated: Symbol, name: str) -> Dim:
        """Give a generated symbol its meaning: that of the first symbol with the same key."""
        meaning = table.get(key)
        if meaning is None:
            meaning = table[key] = generated if self.is_reference else symbol(name)
        self.renamed[generated.name] = meaning
        return meaning


@dataclass(slots=True, eq=False)
class Meanings:
    """State that the translations of both models share: terms, forms of dims, and the meaning of generated symbols.

    elements   term of an integer element whose value is not known -> the symbol that stands for it
    sizes      call, output and axis -> the symbol that is this size
    names_sizes  whether the size that a Reshape computes for -1 is named by the quotient of the others
    nonzero      dims that are not 0 in the runs that the terms are about
    signatures   of the nodes of both models
    results      context, operator, attributes and operands -> the results of the first node that has these
    conditional  those of them, and outputs of calls, whose shapes are so only where no dim of `nonzero` is 0
    """

    pool: TermPool
    dims: DimTable
    names_sizes: bool
    signatures: NodeSignatures
    elements: dict[Term, Dim] = field(default_factory=dict)
    sizes: dict[tuple[Call, int, int], Dim] = field(default_factory=dict)
    nonzero: set[Dim] = field(default_factory=set)
    results: dict[Hashable, Sequence[Operand]] = field(default_factory=dict)
    conditional: set[Hashable] = field(default_factory=set)
    has_unnamed_sizes: bool = False


def from_elements(
    facts: ModelFacts, pool: TermPool, dtype: DType, shape: tuple[int, ...], elements: Sequence[Any]
) -> Tensor | None:
    """A small tensor of integers or truth values; None if one of them is unknown, or has no meaning in the proof."""
    if not all(isinstance(each, (bool, int, Expr)) for each in elements):
        return None
    if not facts.is_bound(each for each in elements if not isinstance(each, bool)):
        return None
    terms = tuple(
        pool.literal(dtype, int(each)) if isinstance(each, bool) else pool.integer(dtype, facts.dim(each))
        for each in elements
    )
    if len(terms) == 1:
        return pool.tensor(dtype, shape, terms[0])
    return pool.whole(pool.listed_or_array(dtype, shape, terms))
