"""Frames: the ranges of the index variables, with the facts about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gather_infer.equality.terms import Apply, Integer, Select, Term, axis_symbol
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, simplify
from gather_infer.symbolic.normal_form import Symbol, terms_of
from gather_infer.tensor import Shape


class Frame:
    """The ranges of the index variables: `0 <= axis_symbol(k) < extents[k]`, on top of the facts about the model.

    A term in a frame is about an element that exists, so each extent is at least 1 there.
    """

    __slots__ = (
        "_facts", "_scope", "_simplified", "broadcasts", "extents", "is_empty", "moved", "reshapes", "variables",
    )  # fmt: skip

    def __init__(self, extents: Shape, facts: Scope) -> None:
        self.extents = extents
        self.is_empty = 0 in extents
        self._facts = facts
        self._scope: Scope | None = None
        self.variables: tuple[Dim, ...] = tuple(
            0 if extent == 1 else axis_symbol(axis) for axis, extent in enumerate(extents)
        )
        self.moved: dict[tuple[Term, tuple[Dim, ...]], Term] = {}
        """Term and the dims in place of its index variables -> the term in this frame."""
        self.broadcasts: dict[tuple[Shape, ...], Sequence[tuple[Dim, ...]]] = {}
        """Shapes of operands of a pointwise operator -> the index that is read of each."""
        self.reshapes: dict[Shape, tuple[Dim, ...]] = {}
        """Shape of a tensor -> the position there of the element at the index variables, in row-major order."""
        self._simplified: dict[Dim, Dim] = {}

    @property
    def scope(self) -> Scope:
        """The facts about the model and the index variables."""
        if self._scope is None:
            self._scope = self._facts.child()
            for extent, variable in zip(self.extents, self.variables, strict=True):
                self._scope.add_fact(extent - 1 - variable)
        return self._scope

    def renames(self, index: tuple[Dim, ...], extents: Shape) -> bool:
        """Whether `index` has another variable of the same range for each of other index variables, with `extents`."""
        taken = set()
        for dim, extent in zip(index, extents, strict=True):
            if extent == 1:
                continue
            if not isinstance(dim, Symbol) or not is_axis_symbol(dim.name):
                return False
            axis = int(dim.name[1:])
            if axis in taken or self.extents[axis] != extent:
                return False
            taken.add(axis)
        return True

    def keep(self, dim: Dim) -> None:
        """Take a dim for simple."""
        self._simplified[dim] = dim

    def simplify(self, dim: Dim) -> Dim:
        """The dim rebuilt with the facts of the frame; a rebuilt dim stays as it is."""
        if isinstance(dim, int) or dim.depth == 1:
            return dim
        found = self._simplified.get(dim)
        if found is None:
            found = self._simplified[dim] = simplify(dim, self.scope)
            self._simplified[found] = found
        return found


def is_axis_symbol(name: str) -> bool:
    """Whether a symbol is an index variable."""
    return name.startswith("\0") and name[1:].isdecimal()


def range_of(dim: Dim, frame: Frame) -> range | None:
    """The numbers between the least and the largest value of a dim; None unless it is a sum of index variables."""
    low, high = 0, 0
    for monomial, coefficient in terms_of(dim):
        extent: Dim = 1
        if monomial:
            atom = monomial[0]
            if len(monomial) > 1 or not isinstance(atom, Symbol) or not is_axis_symbol(atom.name) or coefficient < 0:
                return None
            extent = frame.extents[int(atom.name[1:])]
            if not isinstance(extent, int):
                return None
            high += coefficient * (extent - 1)
        else:
            low, high = low + coefficient, high + coefficient
    return range(low, high + 1)


def axes_of(dim: Dim) -> list[int]:
    """The axes whose index variables occur in a dim, ascending; not those inside symbols that stand for terms."""
    return sorted(int(name[1:]) for name in dim.symbols if is_axis_symbol(name)) if isinstance(dim, Expr) else []


def axes_in(term: Term, index_terms: Mapping[str, tuple[Term, Dim | None]]) -> set[int]:
    """The axes whose index variables a term reads, in terms that symbols in its indices stand for too."""
    found: set[int] = set()
    seen: set[Term] = set()
    pending: list[Term] = [term]
    while pending:
        top = pending.pop()
        if top in seen:
            continue
        seen.add(top)
        dims: tuple[Dim, ...] = ()
        if isinstance(top, Apply):
            pending += top.operands
        elif isinstance(top, Select):
            dims = top.index
        elif isinstance(top, Integer):
            dims = (top.dim,)
        for dim in dims:
            found.update(axes_of(dim))
            pending += [index_terms[name][0] for name in free_symbols(dim) if name in index_terms]
    return found
