"""Input constraints shared by several models; each model uses only the constraints on names that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.inference.constraints.parse import read_inputs
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.rules import RuleSet

Texts: TypeAlias = "tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class SharedConstraints:
    """Constraints on dims, inputs and elements as texts `NAME=...`, and the caller's rule sets.

    constants   whether to treat initializers that are also inputs as constants
    """

    dims: Texts = ()
    inputs: Texts = ()
    ranges: Texts = ()
    rules: tuple[RuleSet, ...] = ()
    constants: bool = False

    def __add__(self, other: SharedConstraints) -> SharedConstraints:
        return SharedConstraints(
            self.dims + other.dims,
            self.inputs + other.inputs,
            self.ranges + other.ranges,
            self.rules + other.rules,
            self.constants or other.constants,
        )

    @property
    def names(self) -> dict[str, None]:
        return dict.fromkeys(map(_name, (*self.dims, *self.inputs, *self.ranges)))


NO_CONSTRAINTS: Final = SharedConstraints()


def applicable(file: ModelFile, constraints: SharedConstraints) -> tuple[SharedConstraints, tuple[str, ...]]:
    """The constraints that apply to the model `file`, and the names in `constraints` that the model lacks.

    Raises UsageError for a malformed type of an input.
    """
    values = fed_inputs(file.proto)
    names = {v.name for v in values}
    inputs = tuple(text for text in constraints.inputs if _name(text) in names or "=" not in text)
    ranges = tuple(text for text in constraints.ranges if _name(text) in names or "=" not in text)
    symbols, _ = symbols_of_inputs(values, read_inputs(inputs, names))
    dims = tuple(text for text in constraints.dims if _name(text) in symbols or "=" not in text)
    found = SharedConstraints(dims, inputs, ranges, constraints.rules, constraints.constants)
    return found, tuple(name for name in constraints.names if name not in found.names)


def _name(text: str) -> str:
    return text.partition("=")[0].strip()
