"""Values of dims under a binding, and properties of dims and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gather_infer.symbolic.normal_form import Dim, Expr, FloorDiv, Max, Min, Symbol

__all__ = ["divisors", "evaluate", "free_symbols", "is_total", "product", "total"]


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of the dims; 0 for none."""
    result: Dim = 0
    for dim in dims:
        result = result + dim
    return result


def product(dims: Iterable[Dim]) -> Dim:
    """The product of the dims, 1 for none: the number of elements of a shape."""
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def free_symbols(dim: Dim) -> frozenset[str]:
    """The names of the symbols in the dim."""
    return frozenset() if isinstance(dim, int) else dim.symbols


def is_total(dim: Dim) -> bool:
    """Whether the dim has a value for every binding, because all its divisors are nonzero numbers."""
    if isinstance(dim, (int, Symbol)):
        return True
    if isinstance(dim, FloorDiv):
        return isinstance(dim.den, int) and is_total(dim.num)
    if isinstance(dim, (Min, Max)):
        return all(map(is_total, dim.args))
    return all(is_total(atom) for monomial, _ in dim.terms for atom in monomial)


def divisors(dims: Iterable[Dim]) -> list[Expr]:
    """The symbolic divisors in the dims, nested ones included, each once."""
    found: dict[Expr, None] = {}
    waiting = list(dims)
    while waiting:
        dim = waiting.pop()
        if isinstance(dim, (int, Symbol)):
            continue
        if isinstance(dim, FloorDiv):
            if isinstance(dim.den, Expr):
                found[dim.den] = None
            waiting += (dim.num, dim.den)
        elif isinstance(dim, (Min, Max)):
            waiting += dim.args
        else:
            waiting += (atom for monomial, _ in dim.terms for atom in monomial)
    return list(found)


def evaluate(dim: Dim, bindings: Mapping[str, int]) -> int:
    """The value of the dim when its symbols are bound.

    Raises KeyError for an unbound symbol, ZeroDivisionError where a divisor is 0.
    """
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Symbol):
        return bindings[dim.name]
    if isinstance(dim, FloorDiv):
        return evaluate(dim.num, bindings) // evaluate(dim.den, bindings)
    if isinstance(dim, Min):
        return min([evaluate(arg, bindings) for arg in dim.args])
    if isinstance(dim, Max):
        return max([evaluate(arg, bindings) for arg in dim.args])
    result = 0
    for monomial, value in dim.terms:
        for atom in monomial:
            value *= evaluate(atom, bindings)
        result += value
    return result
