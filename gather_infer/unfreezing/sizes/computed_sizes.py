"""Vectors of sizes, computed at run time from the shapes of values that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gather_infer.symbolic import Dim, Expr, free_symbols, product
from gather_infer.symbolic.normal_form import Atom, FloorDiv, Max, Min
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk


class Site(NamedTuple):
    """Where a freed size is: the axis of an input, or of a value that has it; `ids.0` as a text."""

    input: str
    axis: int

    def __str__(self) -> str:
        return f"{self.input}.{self.axis}"


class ComputedSizes:
    """Int64 vectors with the values of dims; equal ones are shared.

    A symbol is read from the shape of an input, also one that was dynamic before. Another dim, such as
    `(height + 1)//2` behind a Conv, is read from the shape of a value that has it, or computed from its parts.
    """

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._vectors: dict[Dim, str] = {}
        self._held: dict[Dim, Site] = {}
        self._positions: dict[Dim, tuple[Dim, ...]] = {}

    def mark(self) -> tuple[int, int]:
        """The present state, for `forget_since`."""
        return len(self._vectors), len(self._held)

    def forget_since(self, mark: tuple[int, int]) -> None:
        """Forget the vectors and values of a subgraph, which other graphs cannot read."""
        for table, count in ((self._vectors, mark[0]), (self._held, mark[1])):
            while len(table) > count:
                table.popitem()

    def note(self, name: str) -> None:
        """Remember that a value of the result has some dims."""
        fact = self.walk.environment.values.get(name)
        free: list[Dim] = []
        for axis, dim in enumerate((fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()):
            if is_free(dim, self.walk.freed):
                self._held.setdefault(dim, Site(name, axis))
                free.append(dim)
        lengths = [dim for dim in free if isinstance(dim, Expr) and not dim.symbols <= self.walk.row_symbols]
        if len(lengths) > 1:
            self._positions.setdefault(product(lengths), tuple(lengths))
            self._positions.setdefault(product(free), tuple(free))

    def held(self) -> Sequence[Dim]:
        """The dims of values before the present node that depend on a freed size."""
        return tuple(self._held)

    def positions(self) -> Mapping[Dim, tuple[Dim, ...]]:
        """The numbers of positions in values before the present node that have several lengths, and these lengths."""
        return self._positions

    def of_dim(self, dim: Dim) -> str:
        """A vector of one element, the value of a dim. Raises Blocked if it cannot be computed."""
        if isinstance(dim, int):
            return self.walk.constant(np.array([dim], np.int64))
        found = self._vectors.get(dim)
        if found is None:
            found = self._vectors[dim] = self._computed(dim)
        return found

    def _computed(self, dim: Expr) -> str:
        site = self.walk.sites.get(str(dim)) if dim.is_symbol else None
        site = site or self._held.get(dim)
        if site is not None:
            return self._read(site)
        if isinstance(dim, FloorDiv):
            return self.walk.emit("Div", [self.of_dim(dim.num), self.of_dim(dim.den)])
        if isinstance(dim, (Min, Max)):
            return self.walk.emit(type(dim).__name__, [self.of_dim(arg) for arg in dim.args])
        if isinstance(dim, Atom):
            raise Blocked(f"size {dim}", "is the size of no input axis")
        terms = [self._product(monomial, coefficient) for monomial, coefficient in dim.terms]
        name = terms[0]
        for term in terms[1:]:
            name = self.walk.emit("Add", [name, term])
        return name

    def _product(self, monomial: Sequence[Dim], coefficient: int) -> str:
        parts = [self.of_dim(atom) for atom in monomial]
        if coefficient != 1 or not parts:
            parts.append(self.of_dim(coefficient))
        name = parts[0]
        for part in parts[1:]:
            name = self.walk.emit("Mul", [name, part])
        return name

    def _read(self, site: Site) -> str:
        if self.walk.opset >= 15:
            return self.walk.emit("Shape", [site.input], start=site.axis, end=site.axis + 1)
        shape = self.walk.emit("Shape", [site.input])
        return self.walk.emit("Gather", [shape, self.walk.constant(np.array([site.axis], np.int64))], axis=0)

    def of_shape(self, dims: Sequence[Dim]) -> str:
        """A vector with the values of dims."""
        if all(isinstance(dim, int) for dim in dims):
            return self.walk.constant(np.array(dims, np.int64))
        parts: list[str] = []
        numbers: list[int] = []
        for dim in dims:
            if isinstance(dim, int):
                numbers.append(dim)
                continue
            if numbers:
                parts.append(self.walk.constant(np.array(numbers, np.int64)))
                numbers = []
            parts.append(self.of_dim(dim))
        if numbers:
            parts.append(self.walk.constant(np.array(numbers, np.int64)))
        return parts[0] if len(parts) == 1 else self.walk.emit("Concat", parts, axis=0)

    def reshape_target(self, dims: Sequence[Dim], shape: Shape, *, keeps: bool = True, infers: bool = True) -> str:
        """A target of Reshape for data of a shape.

        keeps   whether a 0 keeps the size of the data
        infers  whether one size is -1

        A size that was dynamic before may be 0. Then a -1 in place of another size fails, and a computed 0 keeps the
        size of the data: such a size is the -1 if it is the only one.
        """
        entries: list[Dim] = [
            0 if keeps and isinstance(dim, Expr) and axis < len(shape) and shape[axis] == dim else dim
            for axis, dim in enumerate(dims)
        ]
        symbolic = [axis for axis, entry in enumerate(entries) if isinstance(entry, Expr)]
        dynamic = self.walk.sites.keys() - self.walk.freed.keys()
        if symbolic and infers:
            may_be_0 = [axis for axis, dim in enumerate(dims) if not free_symbols(dim).isdisjoint(dynamic)]
            if len(may_be_0) <= 1 and set(may_be_0) <= set(symbolic):
                entries[(may_be_0 or symbolic)[0]] = -1
        return self.of_shape(entries)
