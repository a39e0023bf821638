"""Data classes of the catalog: operators, and what is inferred for each of their versions."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FactSource(str, enum.Enum):
    """Source of the facts about an operator, by precedence."""

    INTERPRETER = "interpreter"
    RULE = "built-in rule"
    LOWERING = "lowering"
    FUNCTION = "function body"
    ONNX = "onnx"
    NONE = "unknown"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Inference of an operator, from version `since` to the next behaviour.

    since         first version of the behaviour
    source        where the facts come from
    values        whether known elements are propagated; None when that depends on the function or subgraph body
    value_ranges  whether bounds of elements are propagated; None likewise
    summary       first sentence of the rule's docstring after the link
    spec          URL of the operator's page
    file          path of the rule below the package
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

    deprecated   the newest version of its schema is deprecated
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
