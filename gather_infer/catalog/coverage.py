"""Data classes of the catalog: the supported operators, and how each of their versions is inferred."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FactSource(str, enum.Enum):
    """The source of the facts about an operator, highest precedence first."""

    INTERPRETER = "interpreter"
    RULE = "built-in rule"
    LOWERING = "lowering"
    FUNCTION = "function body"
    ONNX = "onnx"
    NONE = "unknown"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How an operator is inferred, from version `since` until the version at which its next behaviour starts.

    since         first version with this behaviour
    source        where the facts come from
    values        whether known elements are propagated; None when that depends on the function or subgraph body
    value_ranges  whether value ranges are propagated; None when that depends on the function or subgraph body
    summary       first sentence of the rule's docstring after the link, or the reason why a dialect has no lowering
    spec          URL of the operator's page; empty when there is none
    file          path of the file with the rule, relative to the package; empty without a rule
    """

    since: int
    source: FactSource
    values: bool | None
    value_ranges: bool | None
    summary: str = ""
    spec: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator and its behaviours, oldest first.

    deprecated   whether the newest version of the operator's schema is deprecated
    """

    domain: str
    op_type: str
    behaviours: tuple[Behaviour, ...]
    deprecated: bool = False

    @property
    def newest(self) -> Behaviour:
        return self.behaviours[-1]

    @property
    def name(self) -> str:
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type
