"""The `Cost` of a model, per node and per operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gather_infer.cost.curve import CostCurve
from gather_infer.cost.pareto import ParetoSet, ProgramPoint
from gather_infer.errors import UnknownName, UsageError
from gather_infer.lazy import resolve
from gather_infer.node_ids import NodePath
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
from gather_infer.trail import Assumption, Cause, Constraint

if TYPE_CHECKING:
    from gather_infer.cost.graph_instance import Facts
    from gather_infer.diagnostic import Diagnostic

MOST_POINTS = 1000
"""Maximum number of sizes of a curve."""


@dataclass(frozen=True, slots=True)
class NodeCost:
    """Cost of a node in one run of the model, summed over its executions; None for a quantity that is unknown.

    macs     multiply-adds
    reads    bytes that the node reads, constants included
    writes   bytes that the node writes
    live     known bytes of the activations that are live while the node runs
    formula  the formula of its multiply-adds as text; "" if the operator has none
    source   URL of the operator's page
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
    """Sums of the known costs of all nodes of an operator.

    nodes          number of nodes
    unknown_macs   number of nodes whose multiply-adds are unknown
    """

    op_type: str
    domain: str
    nodes: int
    macs: Dim
    reads: Dim
    writes: Dim
    unknown_macs: int
    formula: str
    source: str


@dataclass(frozen=True, slots=True)
class UnknownContribution:
    """A contribution that a sum leaves out.

    node       None for a sum of the model, and for a tensor, whose name is in `op_type`
    quantity   macs, reads, writes, peak or parameters
    reason     what is not known
    """

    node: NodePath | None
    op_type: str
    quantity: str
    reason: str


@dataclass(frozen=True, eq=False)
class Cost:
    """Cost of one run of a model as formulas in its dim symbols, with the contributions that are unknown.

    model                  name of the model
    macs                   multiply-adds: products of two elements that are added to a sum
    reads                  bytes that nodes read, constants included
    writes                 bytes that nodes write
    program_points         points that may have the most live bytes of activations: a Pareto front
    parameters             bytes of constants by element type
    nodes                  every node that runs an operator, also in subgraphs and functions
    unknown_contributions  contributions that the sums leave out
    branches               number of Ifs whose condition is unknown: sums count the larger branch, `nodes` has both
    symbols                names of input sizes, and of the symbols that the inference introduced
    scope                  facts about the symbols
    causes                 cause of each symbol that the inference introduced
    constraints            relations between symbols that hold in every run that succeeds
    assumptions            unproved relations that the sizes rest on
    sizes                  sizes that `at` substituted for symbols
    facts                  the inference that the cost is computed from
    """

    model: str
    macs: Dim
    reads: Dim
    writes: Dim
    program_points: tuple[ProgramPoint, ...]
    parameters: Mapping[DType, int]
    nodes: tuple[NodeCost, ...]
    unknown_contributions: tuple[UnknownContribution, ...]
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
        """Errors of the model, those of `Inference.errors` first, then accesses that fail at the `sizes`.

        Costs count every node as if no run failed.
        """
        return () if self.facts is None else tuple(resolve("validate:failures_at_sizes")(self.facts, self.sizes))

    @property
    def peak(self) -> Dim:
        """Peak memory: the most bytes of activations that are live at once. Raises DimTooLarge."""
        if not self.program_points:
            return 0
        return maximum(*(moment.live for moment in self.program_points), scope=self.scope)

    @property
    def peaks(self) -> tuple[ProgramPoint, ...]:
        """The program points that may be the peak when no input is empty, largest first."""
        filled = self.scope.restricted_to(self.symbols)
        for name in self.symbols:
            if name not in self.causes:
                filled.declare(name, Interval(1, None))
        pareto = ParetoSet(filled)
        pareto.extend(self.program_points)
        return tuple(pareto.largest_first())

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(self.parameters.values())

    def is_exact(self, *quantities: str) -> bool:
        """Whether every contribution to the given quantities (macs, reads, writes, peak) is known."""
        return not any(gap.quantity in quantities for gap in self.unknown_contributions)

    def by_operator(self) -> list[OperatorCost]:
        """Costs per operator, by descending multiply-adds, then bytes; sums rank by degree, then by coefficient."""
        groups: dict[tuple[str, str], list[NodeCost]] = {}
        for node in self.nodes:
            groups.setdefault((node.domain, node.op_type), []).append(node)
        found = [_sum(nodes) for nodes in groups.values()]
        return sorted(found, key=lambda one: (_rank(one.macs), _rank(one.reads + one.writes), one.op_type))

    def at(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Cost:
        """The cost with sizes substituted for symbols: `cost.at(batch=1, seq=128)`.

        A mapping gives sizes of symbols whose names are not identifiers. Symbols without a size stay. Failures at these
        sizes are among the `errors` of the result. Raises UnknownName for an unknown symbol, and UsageError for a value
        that is not a size and for sizes that no run can have.
        """
        sizes = {**(sizes or {}), **named}
        for name, size in sizes.items():
            if name not in self.symbols:
                raise UnknownName("dim", name, self.symbols)
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise UsageError(f"dim {name!r} must be a size, a number >= 0, is {size!r}")
        self._require_legal(sizes)

        def substituted_or_none(dim: Dim | None) -> Dim | None:
            return None if dim is None else self._substituted(dim, sizes)

        scope = self._restricted(sizes)
        pareto = ParetoSet(scope)
        pareto.extend([ProgramPoint(self._substituted(m.live, sizes), m.node) for m in self.program_points])
        return replace(
            self,
            macs=self._substituted(self.macs, sizes),
            reads=self._substituted(self.reads, sizes),
            writes=self._substituted(self.writes, sizes),
            program_points=tuple(pareto.points),
            nodes=tuple(
                replace(
                    node,
                    macs=substituted_or_none(node.macs),
                    reads=substituted_or_none(node.reads),
                    writes=substituted_or_none(node.writes),
                    live=self._substituted(node.live, sizes),
                )
                for node in self.nodes
            ),
            symbols=tuple(name for name in self.symbols if name not in sizes),
            scope=scope,
            sizes={**self.sizes, **sizes},
        )  # fmt: skip

    def along(self, symbol: str, low: int, high: int, *, points: int = 100) -> CostCurve:
        """The cost at up to `points` sizes of a symbol from `low` to `high`: `cost.at(batch=1).along("seq", 1, 512)`.

        Raises UnknownName for an unknown symbol, and UsageError for a range that is not one of sizes, for sizes that no
        run can have, and if the cost depends on other symbols: `at` gives them sizes.
        """
        if symbol not in self.symbols:
            raise UnknownName("dim", symbol, self.symbols)
        if low < 0 or high < low:
            raise UsageError(f"the range of dim {symbol!r} must be two sizes in ascending order, is {low}..{high}")
        if not 1 <= points <= MOST_POINTS:
            raise UsageError(f"a curve has 1 to {MOST_POINTS} points, not {points}")
        live = [point.live for point in self.program_points]
        others = {name for dim in (self.macs, self.reads, self.writes, *live) for name in free_symbols(dim)} - {symbol}
        if others:
            raise UsageError(f"the cost also depends on {', '.join(sorted(others))}: give sizes with --at, or Cost.at")
        steps = min(points - 1, high - low)
        sizes = tuple(low + (high - low) * step // max(1, steps) for step in range(steps + 1))
        for size in (low, high, *sizes):  # the ends first: they are what the caller gave
            self._require_legal({symbol: size})

        def values(dim: Dim) -> tuple[int, ...]:
            found = [self._substituted(dim, {symbol: size}) for size in sizes]
            return tuple(value for value in found if isinstance(value, int))

        peaks = [values(dim) for dim in live] or [(0,) * len(sizes)]
        return CostCurve(
            self.model,
            symbol,
            self.sizes,
            sizes,
            values(self.macs),
            values(self.reads),
            values(self.writes),
            tuple(map(max, zip(*peaks, strict=True))),
            self.parameter_bytes,
            self.is_exact("macs", "reads", "writes", "peak", "parameters"),
        )

    def _restricted(self, sizes: Mapping[str, int]) -> Scope:
        """The facts about the remaining symbols, with `sizes` substituted."""
        left = [name for name in self.symbols if name not in sizes]
        scope = self.scope.restricted_to(left)
        scope.fuels = self.scope.fuels
        for fact in self.scope.facts:
            if not fact.symbols.isdisjoint(sizes):
                scope.add_fact(self._substituted(fact, sizes))
        for constraint in self.constraints:
            difference = self._substituted(constraint.right - constraint.left, sizes)
            scope.add_fact(difference)
            if constraint.relation == "==":
                scope.add_fact(-difference)
        return scope

    def _substituted(self, dim: Dim, sizes: Mapping[str, int]) -> Dim:
        try:
            return substitute(dim, sizes)
        except ZeroDivisionError as error:
            bindings = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise UsageError(f"{self.model}: with {bindings} the divisor in {dim} is 0") from error

    def _require_legal(self, sizes: Mapping[str, int]) -> None:
        """Raise UsageError if bounds, facts or constraints exclude `sizes`."""
        for name, size in sizes.items():
            bounds = self.scope.symbol_bounds(name)
            if size not in bounds:
                raise UsageError(f"no run has {name} = {size}: {_between(bounds, name)}")
        for fact in self.scope.facts:
            left = self._substituted(fact, sizes)
            if isinstance(left, int) and left < 0:
                raise UsageError(
                    f"no run has {_bindings_text(fact.symbols, sizes)}: {factored(fact)} is never negative"
                )
        for constraint in self.constraints:
            left, right = self._substituted(constraint.left, sizes), self._substituted(constraint.right, sizes)
            if not isinstance(left, int) or not isinstance(right, int):
                continue
            if left > right or (left < right and constraint.relation == "=="):
                bindings = _bindings_text(free_symbols(constraint.left) | free_symbols(constraint.right), sizes)
                raise UsageError(f"no run has {bindings}: {constraint} (node {constraint.node})")

    def __repr__(self) -> str:
        return f"<Cost of {self}>"

    def _repr_html_(self) -> str:
        return "\n".join(resolve("report.html:cost_html")(self))

    def __str__(self) -> str:
        try:
            peak = factored(self.peak)
        except DimTooLarge:
            peak = f"the largest of {len(self.program_points)} sums"
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


def _bindings_text(names: Collection[str], sizes: Mapping[str, int]) -> str:
    """The sizes of the given symbols as text: `batch = 1, seq = 65`."""
    return ", ".join(f"{name} = {sizes[name]}" for name in sorted(names) if name in sizes)


def _between(bounds: Interval, name: str) -> str:
    """Bounds of a symbol as text: `seq >= 1`, `1 <= seq <= 64`."""
    if bounds.hi is None:
        return f"{name} >= {bounds.lo or 0}"
    return f"{bounds.lo or 0} <= {name} <= {bounds.hi}"


def _total(dims: Iterator[Dim | None]) -> Dim:
    """The sum of the known dims; equal dims, of repeated layers, are multiplied instead of added one by one."""
    return total(dim * number for dim, number in Counter(dims).items() if dim is not None)


def _rank(dim: Dim) -> tuple[int, int]:
    """Sort key for descending order: by degree of the leading monomial, then by its coefficient."""
    if isinstance(dim, int):
        return 0, -dim
    monomial, coefficient = dim.terms[0]
    return -len(monomial), -coefficient
