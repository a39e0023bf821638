"""A rewrite as a value: the law that it follows, its edits, what it makes known, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gather_infer.model.edits import Edit
from gather_infer.tensor import Value


class Cost(NamedTuple):
    """What a rewrite adds to a model; negative where it takes away.

    nodes           Constants not counted
    run_bytes       written by nodes in each run, as far as it is known
    constant_bytes  of initializers and Constants
    """

    nodes: int = 0
    run_bytes: int = 0
    constant_bytes: int = 0


NO_COST: Final = Cost()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Edits that belong together, and change nothing of what the model computes.

    law    the equation behind it, in words
    facts  of the values that the edits define, by name
    """

    law: str
    edits: tuple[Edit, ...]
    facts: Mapping[str, Value] = field(default_factory=dict)
    cost: Cost = NO_COST
