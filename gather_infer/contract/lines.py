"""Parts of a contract: conditions on elements and on dims, the inputs, and what stays open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gather_infer.symbolic import Dim, DimTooLarge, Expr, Scope, evaluate, free_symbols, known_eq, known_le
from gather_infer.symbolic.normal_form import FloorDiv

HUGE_LIMIT: Final = 10**9
"""Smallest upper limit of a size that reports leave out by default."""


def is_remainder(dim: Dim) -> bool:
    """Whether a dim has the form `n - d*(n // d)`, which prints as `n % d`."""
    atoms = {atom for monomial, _ in dim.terms for atom in monomial} if isinstance(dim, Expr) else set()
    return any(isinstance(atom, FloorDiv) and dim == atom.num - atom * atom.den for atom in atoms)


@dataclass(frozen=True, slots=True)
class Relation:
    """A comparison of two dims; `relation` is one of `==`, `<=` and `>=`."""

    left: Dim
    relation: str
    right: Dim

    def __str__(self) -> str:
        if self.relation == "<=" and isinstance(self.right, int) and is_remainder(self.left):
            return f"{self.left} < {self.right + 1}"
        return f"{self.left} {self.relation} {self.right}"

    @property
    def is_zero_product(self) -> bool:
        """Whether the relation equates a product of sizes with 0, like `batch*seq == 0`: a tensor is empty."""
        return self.relation == "==" and self.right == 0 and isinstance(self.left, Expr) and len(self.left.terms) == 1

    @property
    def symbols(self) -> frozenset[str]:
        return free_symbols(self.left) | free_symbols(self.right)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether the relation holds at `sizes`, by symbol name.

        Raises KeyError for a symbol without a size, ZeroDivisionError where a divisor is 0.
        """
        left, right = evaluate(self.left, sizes), evaluate(self.right, sizes)
        if self.relation == "<=":
            return left <= right
        return left == right if self.relation == "==" else left >= right

    def known(self, scope: Scope) -> bool | None:
        """Whether the relation holds under the facts in `scope`: True for every binding, False for none, else None."""
        if self.relation == "==":
            return known_eq(self.left, self.right, scope)
        low, high = (self.left, self.right) if self.relation == "<=" else (self.right, self.left)
        return known_le(low, high, scope)

    def add_to(self, scope: Scope) -> None:
        """Add the relation to the facts of a scope; skip it when the expression of the fact exceeds the size limit."""
        try:
            if self.relation != ">=":
                scope.add_fact(self.right - self.left)
            if self.relation != "<=":
                scope.add_fact(self.left - self.right)
        except DimTooLarge:
            return


@dataclass(frozen=True, slots=True)
class InputCondition:
    """A condition on the only element of the input named `input`: `sr == 16000`, `use_cache is true`.

    relation  `<`, `>=`, `==` or `!=`; only `==` for bools, whose elements are 0 and 1
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
    """The condition `lower <= x <= upper` on each element x of an integer or bool input.

    column        index on the last axis to which the line is restricted; None for all elements
    lower, upper  inclusive bounds; None for no bound
    reads_all     False when the model may read only some of the elements, and which ones is unknown
    tight         the line is also necessary: any element outside the bounds makes a run fail. False when the line is
                  only sufficient
    nodes         labels of the nodes that impose the line; empty for a declared line
    reason        the derivation, as text
    is_bool       the elements are bools, where 1 is true
    """

    input: str
    column: int | None
    lower: Dim | None
    upper: Dim | None
    reads_all: bool = True
    tight: bool = True
    nodes: tuple[str, ...] = ()
    reason: str = ""
    is_bool: bool = False

    @property
    def elements(self) -> str:
        """The constrained elements as text: `ids`, or `boxes[..., 2]`."""
        return self.input if self.column is None else f"{self.input}[..., {self.column}]"

    @property
    def text(self) -> str:
        """The line as text: `-30522 <= ids < 30522`, `positions < max_position`, `mask >= 0`, `use_cache is true`."""
        if self.is_bool:
            return f"{self.elements} is {'false' if self.lower is None else 'true'}"
        above = "" if self.upper is None else f"{self.elements} < {self.upper + 1}"
        if self.lower is None:
            return above
        return f"{self.lower} <= {above}" if above else f"{self.elements} >= {self.lower}"

    @property
    def symbols(self) -> frozenset[str]:
        ends = (end for end in (self.lower, self.upper) if end is not None)
        return frozenset().union(*map(free_symbols, ends))


@dataclass(frozen=True, slots=True)
class DimsLine:
    """A disjunction of relations between dims; most lines have a single relation.

    where    conditions on inputs; the line applies to feeds that meet all of them
    tight    the line is also necessary: sizes just outside make a run fail, unless they make the tensors involved
             empty. False when the line is only sufficient
    nodes, reason   as in ElementsLine
    """

    relations: tuple[Relation, ...]
    tight: bool = True
    nodes: tuple[str, ...] = ()
    reason: str = ""
    where: tuple[InputCondition, ...] = ()

    @property
    def text(self) -> str:
        """The line as text, without `unless`: `past + seq <= 1024`, `samples >= 192 where sr == 16000`."""
        return f"{self.relation}{self.condition}"

    @property
    def relation(self) -> str:
        """The relations as text, without `where` and `unless`: `samples >= 192`, `a == b or a == 1`."""
        return " or ".join(str(relation) for relation in self.relations if relation not in self.unless)

    @property
    def condition(self) -> str:
        """The suffix for `where`, as ` where sr == 16000`; empty for a line without conditions."""
        return f" where {' and '.join(map(str, self.where))}" if self.where else ""

    @property
    def is_huge_limit(self) -> bool:
        """Whether the line is an upper limit of 10^9 or more, such as a size that must fit in 32 bits."""
        first = self.relations[0]
        is_limit = len(self.relations) == 1 and first.relation == "<=" and isinstance(first.right, int)
        return is_limit and isinstance(first.right, int) and first.right >= HUGE_LIMIT

    @property
    def single_relation(self) -> Relation | None:
        """The relation of a line that has one relation and no `where`; else None."""
        return self.relations[0] if len(self.relations) == 1 and not self.where else None

    @property
    def unless(self) -> tuple[Relation, ...]:
        """The relations that hold only for empty tensors; () when the line has no other relations."""
        empty = tuple(relation for relation in self.relations if relation.is_zero_product)
        return empty if len(empty) < len(self.relations) else ()

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*(relation.symbols for relation in self.relations))

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether one of the relations holds at `sizes`, whatever `where` is.

        Raises KeyError for a symbol without a size, ZeroDivisionError where a divisor is 0.
        """
        return any(relation.holds(sizes) for relation in self.relations)


Line: TypeAlias = "ElementsLine | DimsLine"


@dataclass(frozen=True, slots=True)
class ContractInput:
    """An input of the model.

    dtype     element type, as `int64`; None when it is not checked: the type is unknown or not a tensor type
    shape     dims by axis; None when the rank is unknown
    optional  feeds may omit the input: it has a default, or its type is an optional
    """

    name: str
    dtype: str | None
    shape: tuple[Dim, ...] | None
    optional: bool = False

    def axis_name(self, axis: int) -> str:
        """The name, as `mask.1`, of the size of an axis whose dim is not a symbol."""
        return f"{self.name}.{axis}"


@dataclass(frozen=True, slots=True)
class ConditionalBody:
    """A branch or loop body that not every run executes.

    node       label of the node that holds the body
    name       name of the attribute that holds the body, as `then_branch`
    condition  the condition under which the body runs, as `sr == 16000`; empty when it is not known
    """

    node: str
    name: str
    condition: str = ""

    def __str__(self) -> str:
        return f"in {self.name} of {self.node}" + (f", where {self.condition}" if self.condition else "")


@dataclass(frozen=True, slots=True)
class Open:
    """A failure that the contract does not rule out: `node` may fail although the feeds meet every condition.

    bodies   conditional bodies around the node, outermost first
    """

    node: str
    reason: str
    bodies: tuple[ConditionalBody, ...] = ()

    def __str__(self) -> str:
        return "; ".join((f"{self.node}: {self.reason}", *map(str, self.bodies)))
