"""Variations of sizes at which a model ran.

Which sizes must change together is often unknown: it is learned from failing runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from gather_infer.node_ids import GraphPath
from gather_infer.verification.goals import Goal
from gather_infer.verification.size_sampling import SizePattern, SizeSampler

Move: TypeAlias = "frozenset[str]"
"""Symbols whose sizes change by the same amount."""

MAX_PAIRED: Final = 8
"""Maximum number of symbols of a model of which every pair is varied."""

MAX_TRIALS: Final = 300
"""Maximum number of bindings that are tried to find one at which a run may enter a body."""


class Variations:
    """The sizes that were tried for a model, and the success of each kind of change.

    known    the bindings that were tried
    guided   (body, binding) for each binding that was tried to enter the body
    late     the bindings that exceeded the time limit
    score    move -> failures minus successes of the bindings that result from it
    """

    def __init__(self, sizes: SizeSampler) -> None:
        self.sizes = sizes
        self.known: set[tuple[int, ...]] = set()
        self.guided: set[tuple[GraphPath, tuple[int, ...]]] = set()
        self.score: dict[Move, int] = {}
        self.late: list[dict[str, int]] = []

    def note(self, binding: Mapping[str, int], move: Move, goal: Goal | None, *, ran: bool) -> None:
        """Record whether the original `ran` with a binding; `move` is empty unless the binding varies another one."""
        self.known.add(self._key(binding))
        if goal is not None:
            self.guided.add((goal.body, self._key(binding)))
        if move:
            self.score[move] = self.score.get(move, 0) + (-1 if ran else 1)

    def note_late(self, binding: Mapping[str, int]) -> None:
        """Record a binding that exceeded the time limit."""
        self.late.append(dict(binding))

    def is_new(self, binding: Mapping[str, int], goal: Goal | None = None) -> bool:
        """Whether the binding has not been tried yet; if `goal` is given, not tried for the body of the goal.

        A binding that is at least as large in all sizes as one that exceeded the time limit is not new.
        """
        if any(all(binding[name] >= size for name, size in late.items()) for late in self.late):
            return False
        key = self._key(binding)
        return key not in self.known if goal is None else (goal.body, key) not in self.guided

    def vary(
        self, base: Mapping[str, int], pattern: SizePattern, numbers: np.random.Generator, *, trusting: bool
    ) -> tuple[dict[str, int], Move] | None:
        """A binding near `base` that was not tried yet, and the symbols that changed; None if there is none.

        trusting   require the implied constraints even if a size is 0
        """
        # a size of 0 or 1 may be allowed where other sizes have to change together
        is_narrow = pattern in (SizePattern.ZEROS, SizePattern.ONES)
        costs = {m: len(m) if is_narrow else cost + self.score.get(m, 0) for m, cost in self._moves(base)}
        ranked = [(cost + numbers.random(), move) for move, cost in costs.items()]
        for _, move in sorted(ranked, key=lambda one: one[0]):
            for step in _steps(min(base[name] for name in move), pattern, self.sizes.model_numbers, numbers):
                found = {name: size + (step if name in move else 0) for name, size in base.items()}
                trusts = trusting or 0 not in found.values()
                if self.is_new(found) and self.sizes.is_legal(found, trusting=trusts):
                    return found, move
        return None

    def leading_to(
        self, goal: Goal, base: Mapping[str, int], numbers: np.random.Generator, *, trusting: bool = True
    ) -> dict[str, int] | None:
        """`base`, or a legal binding with some sizes changed, at which a run may enter the body of `goal`.

        None if none is found.

        trusting   require the implied constraints
        """
        if goal.is_met_by(base):
            return dict(base)
        told = frozenset().union(*(dim.symbols for dim in goal.sign_predicates if not isinstance(dim, int)))
        groups = [move for move, _ in self._moves(base) if move & told]
        pool = sorted(
            {
                size
                for own in (*self.sizes.model_numbers, *self.sizes.small_numbers)
                for size in (own - 1, own, own + 1, 2 * own)
            }
        )
        pool += [*range(12), *(1 << power for power in range(4, 13))]
        for trial in range(MAX_TRIALS):
            found = dict(base)
            for _ in range(1 + trial % 3):
                group, size = groups[int(numbers.integers(len(groups)))], pool[int(numbers.integers(len(pool)))]
                found.update(dict.fromkeys(group, size))
            if goal.is_met_by(found) and self.sizes.is_legal(found, trusting=trusting):
                return found
        return None

    def _moves(self, base: Mapping[str, int]) -> Iterator[tuple[Move, int]]:
        """Sets of symbols that may be changed together, each with a cost: a lower cost is more likely to succeed."""
        by_size: dict[int, list[str]] = {}
        for name, size in base.items():
            yield frozenset([name]), 0
            by_size.setdefault(size, []).append(name)
        yield from ((frozenset(names), 0) for names in by_size.values() if len(names) > 2)
        if len(base) <= MAX_PAIRED:
            yield from ((frozenset(pair), base[pair[0]] != base[pair[1]]) for pair in combinations(base, 2))

    def _key(self, binding: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(binding[name] for name in self.sizes.names)


def _steps(size: int, pattern: SizePattern, model_numbers: tuple[int, ...], numbers: np.random.Generator) -> list[int]:
    """Numbers to add to a size, those that suit the pattern first."""
    past = [number + 1 - size for number in model_numbers if number >= size]
    first = {SizePattern.ZEROS: [-size], SizePattern.ONES: [1 - size], SizePattern.MODEL_NUMBERS: past}.get(pattern, [])
    near = [1, -1, int(numbers.integers(2, 9)), -int(numbers.integers(2, 9)), size, -(size // 2)]
    mixed = [*near, 1 - size]
    steps = [*first, *(mixed[at] for at in numbers.permutation(len(mixed)))]
    return [step for step in steps if step and size + step >= (0 if pattern is SizePattern.ZEROS else 1)]
