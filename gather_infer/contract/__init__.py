"""Contracts: conditions on the inputs of a model, checked against feeds with numpy only; `validate` derives them."""

from gather_infer.contract.checking import Violation
from gather_infer.contract.comparison import ContractChange, NewRequirement, implication, new_requirements
from gather_infer.contract.contract import SCHEMA, Contract
from gather_infer.contract.interface import DeclaredDim, DeclaredTensor, ModelInterface
from gather_infer.contract.lines import (
    ConditionalBody,
    ContractInput,
    DimsLine,
    ElementsLine,
    InputCondition,
    Line,
    Open,
    Relation,
)
from gather_infer.contract.stored import KEY

__all__ = [
    "KEY",
    "SCHEMA",
    "ConditionalBody",
    "Contract",
    "ContractChange",
    "ContractInput",
    "DeclaredDim",
    "DeclaredTensor",
    "DimsLine",
    "ElementsLine",
    "InputCondition",
    "Line",
    "ModelInterface",
    "NewRequirement",
    "Open",
    "Relation",
    "Violation",
    "implication",
    "new_requirements",
]
