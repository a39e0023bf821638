"""Results of `diff`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gather_infer.contract import ContractChange, NewRequirement, implication
from gather_infer.equality.given import Given
from gather_infer.symbolic import Dim, DimTooLarge
from gather_infer.verification.result import Verification


class DiffVerdict(enum.Enum):
    """How two outputs, or two models, compare.

    PROVED          equal in every run, for all sizes
    RUNS            equal in the runs that were made
    DIFFERENT       a run gave different results, or the types differ
    UNKNOWN         neither proved nor run
    NOT_COMPARABLE  the inputs differ, so that no input fits both models
    """

    PROVED = "proved"
    RUNS = "runs"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    NOT_COMPARABLE = "not_comparable"

    def __str__(self) -> str:
        return self.value


class ProofClass(enum.Enum):
    """The strength of a proof that outputs are equal.

    SAME_CALLS  every operator that is not exact gets the same operands: equal in each deterministic runtime
    POINTWISE   operators such as Exp or Gelu may see an element at another position: equal where a runtime computes
                them for each element alone
    LAWS        named laws as well, such as MatMul and Add being a Gemm: equal where a runtime keeps them
    """

    SAME_CALLS = "same calls"
    POINTWISE = "pointwise"
    LAWS = "named laws"

    def __str__(self) -> str:
        return self.value


class Law(enum.Enum):
    """A law that a proof may use.

    ROWS       the rows of a product with a matrix do not depend on their arrangement in axes:
               [a, m, k] x [k, n] is [a*m, k] x [k, n], reshaped
    COLUMNS    so do its columns not: [m, k] x [k, n], cut to two columns or more, is [m, k] x these columns of [k, n]
    GEMM_BIAS  a Gemm with alpha = beta = 1 is a MatMul of its operands, transposed where it says so, and an Add
    """

    ROWS = "rows"
    COLUMNS = "columns"
    GEMM_BIAS = "gemm-bias"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """One output of the first model, and the output of the second that it is compared with.

    other        its name in the second model; "" if there is none
    proof_class  None unless equality is proved
    reason       why it is not proved, or in what it differs; "" if it is proved
    """

    name: str
    other: str
    verdict: DiffVerdict
    proof_class: ProofClass | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first value, in topological order, that no value of the other model is proved equal to.

    output       the output whose computation was searched
    first        node of the first model with its operator; "" if none corresponds
    second       node of the second model with its operator
    differences  what differs between them: operator, attributes, operands
    """

    output: str
    first: str
    second: str
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WeightDifference:
    """An initializer that both models have by name, with other elements.

    name      its name
    elements  how many elements differ, of how many
    largest   the largest absolute difference of floats or integers; None for other types, or where a shape differs
    reason    the difference of type or shape; "" if only elements differ
    """

    name: str
    elements: tuple[int, int] = (0, 0)
    largest: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """Nodes by operator, where the counts of the two models differ: operator -> (first, second).

    totals  numbers of all nodes
    """

    totals: tuple[int, int]
    changed: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ContractComparison:
    """Conditions of each contract that do not follow from the other.

    narrowing   conditions of the second model that do not follow from the contract of the first
    widening    conditions of the first model that do not follow from the contract of the second
    """

    narrowing: tuple[NewRequirement, ...]
    widening: tuple[NewRequirement, ...]


@dataclass(frozen=True, slots=True)
class CostChange:
    """A cost in which the models differ, as formulas in the symbols of the first model.

    quantity   macs (multiply-adds), reads, writes, peak or parameters (bytes)
    is_exact   whether both formulas leave nothing out
    """

    quantity: str
    first: Dim
    second: Dim
    is_exact: bool

    @property
    def added(self) -> Dim | None:
        """The second formula minus the first; None if that exceeds the size limit of formulas."""
        try:
            return self.second - self.first
        except DimTooLarge:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The comparison of two models; `gather_infer.diff`.

    first, second     names of the files
    verdict           of all outputs together: the weakest of theirs
    interface         differences of inputs and outputs, as sentences
    obligations       why the second model may fail where the first does not; empty if that is excluded
    opsets            domain -> versions (first, second), where they differ; 0 for a domain that is not imported
    runs              the runs of what is not proved; None if nothing was run
    witness           inputs for which the outputs differ; None unless a run has shown a difference
    given             the facts under which the models were compared
    contracts         the comparison of both contracts; None if no details were asked for, or the inputs differ
    costs             the costs that differ; empty if no details were asked for
    """

    first: str
    second: str
    verdict: DiffVerdict
    outputs: tuple[OutputComparison, ...]
    interface: tuple[str, ...]
    obligations: tuple[str, ...]
    opsets: Mapping[str, tuple[int, int]]
    operators: OperatorCounts
    weights: tuple[WeightDifference, ...]
    first_difference: FirstDifference | None = None
    runs: Verification | None = None
    witness: Mapping[str, Any] | None = None
    given: Given = field(default_factory=Given)
    contracts: ContractComparison | None = None
    costs: tuple[CostChange, ...] = ()

    @property
    def contract(self) -> ContractChange:
        """Whether inputs within the contract of the first model are within that of the second.

        They are where the second model is proved to run wherever the first one does, which leaves no obligation open.
        """
        runs = None if self.obligations or self.verdict is DiffVerdict.NOT_COMPARABLE else True
        if self.contracts is None:
            return ContractChange.of(runs, None)
        return ContractChange.of(runs or implication(self.contracts.narrowing), implication(self.contracts.widening))

    @property
    def is_proved(self) -> bool:
        """Whether the models are proved equal: outputs, and that the second runs wherever the first one does."""
        return self.verdict is DiffVerdict.PROVED

    @property
    def is_equal(self) -> bool:
        """Whether no difference was found, by proof or in runs, and the contract is not known to be narrower."""
        found = self.verdict in (DiffVerdict.PROVED, DiffVerdict.RUNS)
        return found and self.contract is not ContractChange.NARROWER
