"""Input constraints shared by several models; each model uses those whose names it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from gather_infer.inference.options import read_inputs
from gather_infer.inference.said import symbols_of_inputs
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.rules import RuleSet

Texts: TypeAlias = "tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Said:
    """Constraints on dims, inputs and elements as strings `NAME=...`, and rule sets for operators.

    constants   whether initializers that are also inputs count as constants
    """

    dims: Texts = ()
    inputs: Texts = ()
    ranges: Texts = ()
    rules: tuple[RuleSet, ...] = ()
    constants: bool = False

    def __add__(self, other: Said) -> Said:
        return Said(
            self.dims + other.dims,
            self.inputs + other.inputs,
            self.ranges + other.ranges,
            self.rules + other.rules,
            self.constants or other.constants,
        )

    @property
    def names(self) -> dict[str, None]:
        return dict.fromkeys(map(_name, (*self.dims, *self.inputs, *self.ranges)))


NOTHING: Final = Said()


def applicable(file: ModelFile, said: Said) -> tuple[Said, tuple[str, ...]]:
    """The constraints that apply to a model, and the names that it does not have. Raises UsageError if malformed."""
    values = fed_inputs(file.proto)
    names = {v.name for v in values}
    inputs = tuple(text for text in said.inputs if _name(text) in names or "=" not in text)
    ranges = tuple(text for text in said.ranges if _name(text) in names or "=" not in text)
    symbols, _ = symbols_of_inputs(values, read_inputs(inputs, names))
    dims = tuple(text for text in said.dims if _name(text) in symbols or "=" not in text)
    found = Said(dims, inputs, ranges, said.rules, said.constants)
    return found, tuple(name for name in said.names if name not in found.names)


def _name(text: str) -> str:
    return text.partition("=")[0].strip()
