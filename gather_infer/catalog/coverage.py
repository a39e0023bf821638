"""Which operators are known and how well, as data: what `operators` finds out and the report prints."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Source(str, enum.Enum):
    """What the facts of an operator come from, in the order in which they are asked."""

    WALK = "interpreter"
    RULE = "built-in rule"
    LOWERING = "lowering"
    FUNCTION = "function body"
    ONNX = "onnx"
    NONE = "unknown"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """An operator from one version on, to the next behaviour.

    since    the first version of it
    values   whether elements are known where those of the inputs are; None when the bodies decide
    spans    whether bounds of the elements are known; None when the bodies decide
    summary  what the rule says of itself beside its page
    spec     the page of the operator
    file     where the rule is
    """

    since: int
    source: Source
    values: bool | None
    spans: bool | None
    summary: str = ""
    spec: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator and its behaviours, oldest first.

    deprecated   the newest version of it says not to use it
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
