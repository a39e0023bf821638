"""Sizes that a Reshape computes for -1: the number of elements over the product of the others, unless that is 0."""

from __future__ import annotations

from gather_infer.equality.model_facts import Meanings, ModelFacts
from gather_infer.ir.graph import Graph, Node
from gather_infer.symbolic import Dim, Expr, floordiv, free_symbols, known_eq, known_le, product
from gather_infer.symbolic.normal_form import Symbol
from gather_infer.tensor import Shape, SymbolicTensor


def name_inferred_size(facts: ModelFacts, meanings: Meanings, graph: Graph, node: Node) -> None:
    """Give the size of a Reshape its meaning, if it is the only one without."""
    data, result = facts.raw(graph, node.inputs[0]).shape, facts.raw(graph, node.outputs[0]).shape
    unnamed = [at for at, dim in enumerate(result or ()) if not facts.is_bound((dim,))]
    if data is None or result is None or len(unnamed) != 1 or not facts.is_bound(data):
        return
    size = result[unnamed[0]]
    if not facts.lacks_meaning(size):
        return
    if _is_minus_one(facts, graph, node, unnamed[0], len(result)):
        quotient = _of_unrepeated(facts, data, result, unnamed[0])
        if quotient is not None:
            facts.renamed[size.name] = meanings.dims.form(quotient)
            if not facts.conditional.isdisjoint(name for dim in (*data, *result) for name in free_symbols(dim)):
                facts.conditional.add(size.name)
            return
    meanings.has_unnamed_sizes = True
    if meanings.names_sizes:
        _name_where_nonzero(facts, meanings, data, result, size)


def _is_minus_one(facts: ModelFacts, graph: Graph, node: Node, axis: int, rank: int) -> bool:
    """Whether an entry of the target is -1."""
    target = facts.fact(graph, node.inputs[1]) if len(node.inputs) > 1 else None
    values = target.values if isinstance(target, SymbolicTensor) else None
    return values is not None and values.shape == (rank,) and bool(values[axis] == -1)


def _of_unrepeated(facts: ModelFacts, data: Shape, result: Shape, axis: int) -> Dim | None:
    """The size of `axis` if each size that may be 0 is on the same axis of both shapes, else None.

    With `allowzero`, the specification does not define a 0 beside a -1. Runtimes cancel one that both shapes have.
    """
    scope = facts.table.facts
    left = [facts.dim(dim) for dim in data]
    right = [1 if at == axis else facts.dim(dim) for at, dim in enumerate(result)]
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if at != axis and known_eq(one, other, scope) is True:
            left[at] = right[at] = 1
    if not all(known_le(1, dim, scope) is True for dim in (*left, *right)):
        return None
    return floordiv(product(left), product(right), scope)


def _name_where_nonzero(facts: ModelFacts, meanings: Meanings, data: Shape, result: Shape, size: Symbol) -> None:
    """Name a size by the quotient of the others, in a proof about the runs in which these are not 0."""
    scope = meanings.pool.facts
    others = [facts.dim(dim) for dim in result if dim is not size]
    total = product(facts.dim(dim) for dim in data)
    if product(others) == 0:
        return
    quotient = floordiv(total, product(others), scope.where_defined())
    if isinstance(quotient, int) or quotient.depth == 1 or known_eq(quotient * product(others), total, scope):
        facts.renamed[size.name] = meanings.dims.form(quotient)
        facts.conditional.add(size.name)
        for dim in others:
            if isinstance(dim, Expr):
                meanings.nonzero.add(dim)
                scope.add_fact(dim - 1)
