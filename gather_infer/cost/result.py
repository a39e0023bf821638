"""What a model costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gather_infer.cost.front import Front, Moment
from gather_infer.errors import UnknownName, UsageError
from gather_infer.lazy import resolved
from gather_infer.places import NodePath
from gather_infer.record import Assumption, Cause, Constraint
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Interval,
    Scope,
    factored,
    free_symbols,
    maximum,
    substitute,
    total,
)
from gather_infer.tensor import DType

if TYPE_CHECKING:
    from gather_infer.cost.place import Facts
    from gather_infer.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class NodeCost:
    """What all runs of a node cost that one run of the model makes; None where that is not known.

    macs     multiply-adds
    reads    bytes of what it reads, constants too
    writes   bytes of what it writes
    live     bytes of the activations that there are while it runs; what is not known is left out
    formula  how its multiply-adds are counted, for people; "" where there is none to count
    source   where the operator is described
    """

    node: NodePath
    op_type: str
    domain: str
    macs: Dim | None
    reads: Dim | None
    writes: Dim | None
    live: Dim
    formula: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """The sum over the nodes of an operator, of those of which it is known.

    uncounted   how many nodes there are of which the multiply-adds are not known
    """

    op_type: str
    domain: str
    nodes: int
    macs: Dim
    reads: Dim
    writes: Dim
    uncounted: int
    formula: str
    source: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a sum leaves out: `what` is macs, reads, writes, peak or parameters, `why` what is not known."""

    node: NodePath | None
    op_type: str
    what: str
    why: str


@dataclass(frozen=True, eq=False)
class Cost:
    """What one run of a model costs, in its own symbols, and what of that is not known.

    model        what the model is called
    macs         multiply-adds: products of two elements that are added to a sum
    reads        bytes that nodes read, constants too
    writes       bytes that nodes write
    moments      when the most activations may be live, none that another one always beats
    parameters   bytes of constants by element type
    nodes        every node that computes, those of subgraphs and functions too
    gaps         what the sums leave out
    branches     how many Ifs run one branch of which it is not known which: of these the larger one counts, while
                 `nodes` has both
    symbols      the sizes that inputs have, and those that nodes made
    scope        what is known of them
    causes       of those that nodes made
    constraints  that hold of them in every run that does not fail
    assumptions  under which the sizes hold
    sizes        that were given in the place of symbols
    facts        what it is read off
    """

    model: str
    macs: Dim
    reads: Dim
    writes: Dim
    moments: tuple[Moment, ...]
    parameters: Mapping[DType, int]
    nodes: tuple[NodeCost, ...]
    gaps: tuple[Gap, ...]
    branches: int
    symbols: tuple[str, ...]
    scope: Scope = field(repr=False)
    causes: Mapping[str, Cause] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    facts: Facts | None = field(default=None, repr=False)

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the model, and what fails in every run with the `sizes`: an index out of bounds.

        All is counted as if it ran. The first are those of `Inference.errors`.
        """
        return () if self.facts is None else tuple(resolved("validate:failures")(self.facts, self.sizes))

    @property
    def peak(self) -> Dim:
        """The most bytes of activations that are live at once. Raises DimTooLarge."""
        if not self.moments:
            return 0
        return maximum(*(moment.live for moment in self.moments), scope=self.scope)

    @property
    def peaks(self) -> tuple[Moment, ...]:
        """The moments that may have the most live activations where no input is empty; the largest sizes first."""
        filled = self.scope.about(self.symbols)
        for name in self.symbols:
            if name not in self.causes:
                filled.declare(name, Interval(1, None))
        front = Front(filled)
        front.extend(self.moments)
        return tuple(front.largest_first())

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(self.parameters.values())

    def is_exact(self, *whats: str) -> bool:
        """Whether nothing is left out of the sums that are named: macs, reads, writes, peak."""
        return not any(gap.what in whats for gap in self.gaps)

    def by_operator(self) -> list[OperatorCost]:
        """A sum per operator; the most multiply-adds first, or bytes, as far as numbers tell."""
        groups: dict[tuple[str, str], list[NodeCost]] = {}
        for node in self.nodes:
            groups.setdefault((node.domain, node.op_type), []).append(node)
        found = [_sum(nodes) for nodes in groups.values()]
        return sorted(found, key=lambda one: (_rank(one.macs), _rank(one.reads + one.writes), one.op_type))

    def at(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Cost:
        """The same with sizes in place of symbols: `cost.at(batch=1, seq=128)`, or a mapping for other names.

        One that is not given stays a symbol. What fails at these sizes is among the `errors`. Raises UnknownName, and
        UsageError for what is no size and for sizes that no run can have.
        """
        sizes = {**(sizes or {}), **named}
        for name, size in sizes.items():
            if name not in self.symbols:
                raise UnknownName("dim", name, self.symbols)
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise UsageError(f"dim {name!r} must be a size, a number >= 0, is {size!r}")
        self._require_legal(sizes)

        def told(dim: Dim | None) -> Dim | None:
            return None if dim is None else self._told(dim, sizes)

        scope = self._narrowed(sizes)
        front = Front(scope)
        front.extend([Moment(self._told(m.live, sizes), m.node) for m in self.moments])
        return replace(
            self,
            macs=self._told(self.macs, sizes),
            reads=self._told(self.reads, sizes),
            writes=self._told(self.writes, sizes),
            moments=tuple(front.moments),
            nodes=tuple(
                replace(
                    node,
                    macs=told(node.macs),
                    reads=told(node.reads),
                    writes=told(node.writes),
                    live=self._told(node.live, sizes),
                )
                for node in self.nodes
            ),
            symbols=tuple(name for name in self.symbols if name not in sizes),
            scope=scope,
            sizes={**self.sizes, **sizes},
        )  # fmt: skip

    def _narrowed(self, sizes: Mapping[str, int]) -> Scope:
        """What is known of the symbols that are left."""
        left = [name for name in self.symbols if name not in sizes]
        scope = self.scope.about(left)
        scope.efforts = self.scope.efforts
        for fact in self.scope.facts:
            if not fact.symbols.isdisjoint(sizes):
                scope.require(self._told(fact, sizes))
        for constraint in self.constraints:
            gap = self._told(constraint.right - constraint.left, sizes)
            scope.require(gap)
            if constraint.relation == "==":
                scope.require(-gap)
        return scope

    def _told(self, dim: Dim, sizes: Mapping[str, int]) -> Dim:
        try:
            return substitute(dim, sizes)
        except ZeroDivisionError as error:
            said = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise UsageError(f"{self.model}: with {said} the divisor in {dim} is 0") from error

    def _require_legal(self, sizes: Mapping[str, int]) -> None:
        """Raises UsageError when what is known of the symbols excludes these sizes."""
        for name, size in sizes.items():
            bounds = self.scope.symbol_bounds(name)
            if size not in bounds:
                raise UsageError(f"no run has {name} = {size}: {_between(bounds, name)}")
        for fact in self.scope.facts:
            left = self._told(fact, sizes)
            if isinstance(left, int) and left < 0:
                raise UsageError(f"no run has {_said(fact.symbols, sizes)}: {factored(fact)} is never negative")
        for constraint in self.constraints:
            left, right = self._told(constraint.left, sizes), self._told(constraint.right, sizes)
            if not isinstance(left, int) or not isinstance(right, int):
                continue
            if left > right or (left < right and constraint.relation == "=="):
                said = _said(free_symbols(constraint.left) | free_symbols(constraint.right), sizes)
                raise UsageError(f"no run has {said}: {constraint} (node {constraint.node})")

    def __repr__(self) -> str:
        return f"<Cost of {self}>"

    def _repr_html_(self) -> str:
        return "\n".join(resolved("report.html:cost_html")(self))

    def __str__(self) -> str:
        try:
            peak = factored(self.peak)
        except DimTooLarge:
            peak = f"the largest of {len(self.moments)} sums"
        return f"{self.model}: macs {factored(self.macs)}, parameters {self.parameter_bytes}, peak {peak}"


def _sum(nodes: Sequence[NodeCost]) -> OperatorCost:
    first = nodes[0]
    return OperatorCost(
        first.op_type,
        first.domain,
        len(nodes),
        _total(node.macs for node in nodes),
        _total(node.reads for node in nodes),
        _total(node.writes for node in nodes),
        sum(node.macs is None for node in nodes),
        next((node.formula for node in nodes if node.formula), ""),
        first.source,
    )


def _said(names: Collection[str], sizes: Mapping[str, int]) -> str:
    """`batch = 1, seq = 65`: those of the sizes that are named."""
    return ", ".join(f"{name} = {sizes[name]}" for name in sorted(names) if name in sizes)


def _between(bounds: Interval, name: str) -> str:
    """`seq >= 1`, `1 <= seq <= 64`"""
    if bounds.hi is None:
        return f"{name} >= {bounds.lo or 0}"
    return f"{bounds.lo or 0} <= {name} <= {bounds.hi}"


def _total(dims: Iterator[Dim | None]) -> Dim:
    """The sum of those that are known; layers that repeat have the same ones."""
    return total(dim * number for dim, number in Counter(dims).items() if dim is not None)


def _rank(dim: Dim) -> tuple[int, int]:
    """Larger ones first: by degree, then by the first number."""
    if isinstance(dim, int):
        return 0, -dim
    monomial, coefficient = dim.terms[0]
    return -len(monomial), -coefficient
