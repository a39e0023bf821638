"""Equality of models: a proof for all sizes, or an input that tells them apart. Uses nothing of the rewriting."""

from __future__ import annotations

from gather_infer.equality.certificate import Certificate, CertifiedOutput
from gather_infer.equality.comparison import DEFAULT_RUNS, diff
from gather_infer.equality.given import Given
from gather_infer.equality.result import (
    ContractComparison,
    CostChange,
    Difference,
    DiffVerdict,
    FirstDifference,
    Law,
    OperatorCounts,
    OutputComparison,
    ProofClass,
    WeightDifference,
)

__all__ = [
    "DEFAULT_RUNS",
    "Certificate",
    "CertifiedOutput",
    "ContractComparison",
    "CostChange",
    "DiffVerdict",
    "Difference",
    "FirstDifference",
    "Given",
    "Law",
    "OperatorCounts",
    "OutputComparison",
    "ProofClass",
    "WeightDifference",
    "diff",
]
