"""Contracts: conditions on the inputs of a model, checked against feeds. Needs numpy only; `validate` derives them."""

from gather_infer.contract.checking import Violation
from gather_infer.contract.contract import VERSION, Contract
from gather_infer.contract.lines import Body, DimsLine, ElementsLine, InputSpec, Line, Open, Relation, When
from gather_infer.contract.stored import KEY

__all__ = [
    "KEY",
    "VERSION",
    "Body",
    "Contract",
    "DimsLine",
    "ElementsLine",
    "InputSpec",
    "Line",
    "Open",
    "Relation",
    "Violation",
    "When",
]
