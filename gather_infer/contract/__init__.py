"""The contract of a model: what its inputs have to be. Needs numpy only; `validate` makes contracts of models."""

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
