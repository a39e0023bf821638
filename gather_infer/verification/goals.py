"""Coverage goals: inputs that make a run enter a branch or a loop body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.inference import Inference
from gather_infer.inference.inferred_graphs import InferredGraphs
from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import Dim, evaluate, free_symbols
from gather_infer.tensor import INTEGER_RANGE
from gather_infer.trail import InputPredicate
from gather_infer.verification.body_coverage import BodyCoverage, is_dead, location_in_file
from gather_infer.verification.output_comparison import dtype_of

MAX_ATTEMPTS_PER_GOAL: Final = 2
"""Maximum number of attempts to reach a body that no run has entered."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A body, and the known conditions under which a run enters it.

    body              the path of the body in the file
    input_predicates  conditions on elements of inputs
    sign_predicates   dims, expressions in the sizes of inputs, that must be negative
    """

    body: GraphPath
    input_predicates: tuple[InputPredicate, ...] = ()
    sign_predicates: tuple[Dim, ...] = ()

    def is_met_by(self, sizes: Mapping[str, int]) -> bool:
        """Whether the sizes allow a run to enter the body."""
        try:
            return all(evaluate(dim, sizes) < 0 for dim in self.sign_predicates)
        except ZeroDivisionError:
            return False

    def of_input(self, name: str) -> list[InputPredicate]:
        """The predicates on elements of an input."""
        return [choice for choice in self.input_predicates if choice.input == name]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs to which the input predicates apply."""
        return tuple(dict.fromkeys(choice.input for choice in self.input_predicates))


class Goals:
    """The goals of a model, one for each body with known conditions; runs take turns at them.

    coverage   the bodies that runs have entered
    names      the symbols in the shapes of the inputs
    """

    def __init__(self, inference: Inference, coverage: BodyCoverage, names: Sequence[str]) -> None:
        self.coverage = coverage
        self.all = list(dict.fromkeys(_goals(inference, frozenset(names))))
        self.attempts = dict.fromkeys(self.all, 0)

    @property
    def are_many(self) -> bool:
        """Whether there is more than one goal."""
        return len(self.all) > 1

    def next(self) -> Goal | None:
        """The goal with the fewest runs and attempts; None if no goal is left. Counts an attempt at the goal."""
        open_ones = [goal for goal in self.all if self.is_met(goal) or self.attempts[goal] < MAX_ATTEMPTS_PER_GOAL]
        if not open_ones:
            return None
        goal = min(open_ones, key=lambda one: (self._count(one), len(one.body.steps)))
        self.attempts[goal] += 1
        return goal

    def is_met(self, goal: Goal) -> bool:
        """Whether a compared run is known to have entered the body of the goal."""
        return self.coverage.entered.get(goal.body, 0) > 0

    def _count(self, goal: Goal) -> int:
        return self.coverage.entered.get(goal.body, 0) + self.attempts[goal]


def satisfying(
    array: npt.NDArray[Any], predicates: Sequence[InputPredicate], numbers: np.random.Generator
) -> npt.NDArray[Any]:
    """`array` if its first 8 elements satisfy the predicates, else an array filled with a number that does.

    `array` too if no such number is found.
    """
    drawn = [int(element) for element in array.reshape(-1)[:8]]
    if not predicates or all(_holds(choice, element) for choice in predicates for element in drawn):
        return array
    least, most = INTEGER_RANGE.get(dtype_of(array), (0, 1))
    near = [choice.number + step for choice in predicates for step in (0, 1, -1)]
    fits = [n for n in (*drawn, *near) if least <= n <= most and all(_holds(choice, n) for choice in predicates)]
    return np.full_like(array, fits[int(numbers.integers(len(fits)))]) if fits else array


def _holds(predicate: InputPredicate, element: int) -> bool:
    match predicate.relation:
        case "==":
            return element == predicate.number
        case "!=":
            return element != predicate.number
        case "<":
            return element < predicate.number
        case _:
            assert predicate.relation == ">=", "a relation is ==, !=, < or >="
            return element >= predicate.number


def _goals(inference: Inference, names: frozenset[str]) -> Iterator[Goal]:
    graphs = InferredGraphs(inference)
    for path in inference.conditions:
        around = [GraphPath(path.root, path.position, path.steps[: k + 1]) for k in range(len(path.steps))]
        place = location_in_file(inference.ir, path)
        if place is None or any(is_dead(inference, one, graphs) for one in around):
            continue
        conditions = [inference.conditions[one] for one in around if one in inference.conditions]
        choices = [one.input_predicate for one in conditions if one.input_predicate is not None]
        negatives = [
            one.sign_predicate for one in conditions if one.input_predicate is None and one.sign_predicate is not None
        ]
        told = [dim for dim in negatives if free_symbols(dim) and free_symbols(dim) <= names]
        if conditions[-1].input_predicate is not None or conditions[-1].sign_predicate in told:
            yield Goal(place, tuple(choices), tuple(told))
