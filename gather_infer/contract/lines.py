"""What a contract is made of: lines about elements and dims of the inputs, and the inputs themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gather_infer.symbolic import Dim, DimTooLarge, Expr, Scope, evaluate, free_symbols
from gather_infer.symbolic.dim import FloorDiv

REMOTE: Final = 10**9
"""Sizes of which no limit is printed."""


def is_remainder(dim: Dim) -> bool:
    """Whether it is `n % d`."""
    atoms = {atom for monomial, _ in dim.terms for atom in monomial} if isinstance(dim, Expr) else set()
    return any(isinstance(atom, FloorDiv) and dim == atom.num - atom * atom.den for atom in atoms)


@dataclass(frozen=True, slots=True)
class Relation:
    """`left relation right`, the relation one of `==`, `<=` and `>=`."""

    left: Dim
    relation: str
    right: Dim

    def __str__(self) -> str:
        if self.relation == "<=" and isinstance(self.right, int) and is_remainder(self.left):
            return f"{self.left} < {self.right + 1}"
        return f"{self.left} {self.relation} {self.right}"

    @property
    def is_of_nothing(self) -> bool:
        """Whether it says that a product is 0, as the number of elements of a tensor is: `batch == 0`."""
        return self.relation == "==" and self.right == 0 and isinstance(self.left, Expr) and len(self.left.terms) == 1

    @property
    def symbols(self) -> frozenset[str]:
        return free_symbols(self.left) | free_symbols(self.right)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is true at these sizes. Raises KeyError for a symbol without a size, and ZeroDivisionError."""
        left, right = evaluate(self.left, sizes), evaluate(self.right, sizes)
        if self.relation == "<=":
            return left <= right
        return left == right if self.relation == "==" else left >= right

    def teach(self, scope: Scope) -> None:
        """Let a scope know it; a relation that is too large to be written is left out."""
        try:
            if self.relation != ">=":
                scope.require(self.right - self.left)
            if self.relation != "<=":
                scope.require(self.left - self.right)
        except DimTooLarge:
            return


@dataclass(frozen=True, slots=True)
class When:
    """`input relation number` of the one element of an input: `sr == 16000`, `use_cache is true`.

    relation  `<`, `>=`, `==` or `!=`; `==` alone for a bool, whose elements are 0 and 1
    """

    input: str
    relation: str
    number: int
    is_bool: bool = False

    def __str__(self) -> str:
        if self.is_bool:
            return f"{self.input} is {'true' if self.number else 'false'}"
        return f"{self.input} {self.relation} {self.number}"


@dataclass(frozen=True, slots=True)
class ElementsLine:
    """`low <= x <= high` for each element x of an input of integers or bools.

    column   only of those at this index of the last axis; None for all
    low, high  both inclusive, None for an open end
    whole    False when the model may read some of the elements only, nobody knows which
    tight    the first element outside makes the model fail; False when the line is enough, and less may be
    nodes    the labels of those that demand it; none for what a caller declared
    reason   what it comes from
    is_bool  the elements are bools, of which 1 is true
    """

    input: str
    column: int | None
    low: Dim | None
    high: Dim | None
    whole: bool = True
    tight: bool = True
    nodes: tuple[str, ...] = ()
    reason: str = ""
    is_bool: bool = False

    @property
    def elements(self) -> str:
        """`ids`, or `boxes[..., 2]`."""
        return self.input if self.column is None else f"{self.input}[..., {self.column}]"

    @property
    def text(self) -> str:
        """`-30522 <= input_ids < 30522`, `position_ids < max_position`, `mask >= 0`, `use_cache is false`."""
        if self.is_bool:
            return f"{self.elements} is {'false' if self.low is None else 'true'}"
        above = "" if self.high is None else f"{self.elements} < {self.high + 1}"
        if self.low is None:
            return above
        return f"{self.low} <= {above}" if above else f"{self.elements} >= {self.low}"

    @property
    def symbols(self) -> frozenset[str]:
        ends = (end for end in (self.low, self.high) if end is not None)
        return frozenset().union(*map(free_symbols, ends))


@dataclass(frozen=True, slots=True)
class DimsLine:
    """One of the relations holds; mostly there is one only.

    where    it says nothing of feeds for which one of these is not so
    tight    sizes that are outside only just make the model fail, unless what is addressed or computed there is empty;
             False when the line is enough, and less may be
    nodes, reason   as of ElementsLine
    """

    relations: tuple[Relation, ...]
    tight: bool = True
    nodes: tuple[str, ...] = ()
    reason: str = ""
    where: tuple[When, ...] = ()

    @property
    def text(self) -> str:
        """`past + seq <= 1024`, `a == b or a == 1`, `samples >= 192 where sr == 16000`; without `unless`."""
        return f"{self.relation}{self.condition}"

    @property
    def relation(self) -> str:
        """`samples >= 192`, without its condition."""
        return " or ".join(str(relation) for relation in self.relations if relation not in self.unless)

    @property
    def condition(self) -> str:
        """` where sr == 16000`; empty for a line of all feeds."""
        return f" where {' and '.join(map(str, self.where))}" if self.where else ""

    @property
    def is_remote(self) -> bool:
        """Whether it is a limit of 10^9 or more, as where a size has to fit in 32 bits: people need not read it."""
        first = self.relations[0]
        is_limit = len(self.relations) == 1 and first.relation == "<=" and isinstance(first.right, int)
        return is_limit and isinstance(first.right, int) and first.right >= REMOTE

    @property
    def only(self) -> Relation | None:
        """The relation, when there is just one and it holds for all feeds."""
        return self.relations[0] if len(self.relations) == 1 and not self.where else None

    @property
    def unless(self) -> tuple[Relation, ...]:
        """The relations that hold only where there is nothing to compute, where another one is stated beside them."""
        empty = tuple(relation for relation in self.relations if relation.is_of_nothing)
        return empty if len(empty) < len(self.relations) else ()

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*(relation.symbols for relation in self.relations))

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether one of the relations is true at these sizes. Raises KeyError and ZeroDivisionError as these do.

        It does not look at `where`.
        """
        return any(relation.holds(sizes) for relation in self.relations)


Line: TypeAlias = "ElementsLine | DimsLine"


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An input of the model.

    dtype     `int64`; None where nothing is checked: it is not known, or the input is no tensor
    shape     dims by axis, None when it is not known
    optional  it may be left out: there is a default, or its type is an optional
    """

    name: str
    dtype: str | None
    shape: tuple[Dim, ...] | None
    optional: bool = False

    def axis(self, axis: int) -> str:
        """What the size of an axis is called where it has no name of its own: `mask.1`."""
        return f"{self.name}.{axis}"


@dataclass(frozen=True, slots=True)
class Body:
    """A branch, or the body of a loop, that not every run comes to.

    node       the label of the node that holds it
    name       of the attribute, `then_branch`
    condition  when a run comes to it, `sr == 16000`; empty where that is not known
    """

    node: str
    name: str
    condition: str = ""

    def __str__(self) -> str:
        return f"in {self.name} of {self.node}" + (f", where {self.condition}" if self.condition else "")


@dataclass(frozen=True, slots=True)
class Open:
    """Something that a contract cannot say: within it, `node` may fail all the same.

    bodies   around the node, from the outside, that not every run comes to
    """

    node: str
    reason: str
    bodies: tuple[Body, ...] = ()

    def __str__(self) -> str:
        return "; ".join((f"{self.node}: {self.reason}", *map(str, self.bodies)))
