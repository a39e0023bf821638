"""The contract of a model: what its inputs have to be. Needs numpy only; `validate` makes contracts of models."""

from gather_infer.contract.checking import Violation
from gather_infer.contract.contract import VERSION, Contract
from gather_infer.contract.lines import DimsLine, ElementsLine, InputSpec, Line, Open, Relation
from gather_infer.contract.stored import KEY

__all__ = [
    "KEY",
    "VERSION",
    "Contract",
    "DimsLine",
    "ElementsLine",
    "InputSpec",
    "Line",
    "Open",
    "Relation",
    "Violation",
]
