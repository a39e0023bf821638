"""Boxes of sizes inside a contract: every point of a box satisfies every line, by proof.

A line such as `past + seq <= 48` or `height % 32 == 0` has no largest box. `inner_boxes` then grows several boxes, each
from a legal point, in each direction as far as the proofs reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Final

from gather_infer.contract import Relation
from gather_infer.errors import EmissionRefused
from gather_infer.serving.sizes import Box, SizeCondition, SizeSystem
from gather_infer.symbolic import (
    Dim,
    Expr,
    Interval,
    Scope,
    evaluate,
    free_symbols,
    is_total,
    known_le,
    substitute,
    symbol,
)
from gather_infer.symbolic.normal_form import constant_term

_MAX_SCANNED: Final = 4096
"""Values of one size that are tested in search of legal ones."""

_MAX_POINTS: Final = 4096
"""Points that are tested in search of legal ones."""

_MAX_SEEDS: Final = 12
"""Points from which boxes grow."""

_ROUNDS: Final = 2
"""Times that the conditions are read for facts."""


def unproved(conditions: Iterable[SizeCondition], box: Box) -> list[SizeCondition]:
    """The conditions that are not proved for every point of a box, whose intervals may be unbounded."""
    return [condition for condition in conditions if not _is_proved(condition, box)]


def is_inside(box: Box, conditions: Iterable[SizeCondition]) -> bool:
    """Whether every point of a box satisfies the conditions, by proof."""
    return all(_is_proved(condition, box) for condition in conditions)


def _is_proved(condition: SizeCondition, box: Box) -> bool:
    points = {
        name: interval.lo
        for name, interval in box.items()
        if interval.lo is not None and interval.is_point and name in condition.symbols
    }
    at_points = condition.at(points)
    if at_points is None:
        return True
    scope = Scope()
    for name in at_points.symbols & box.keys():
        scope.declare(name, box[name])
    return at_points.is_proved(scope)


def grows(size: Dim, box: Box) -> bool:
    """Whether a size never falls when one of its symbols grows, so that it is least and largest at corners of a box."""
    scope = Scope()
    for name, interval in box.items():
        scope.declare(name, interval)
    return all(known_le(size, substitute(size, {n: symbol(n) + 1}), scope) is True for n in free_symbols(size))


def implied_sizes(conditions: Iterable[SizeCondition]) -> Scope:
    """A scope with the facts that conditions imply, without those that stay disjunctions.

    Raises EmissionRefused if the conditions contradict each other.
    """
    scope = Scope()
    left = list(conditions)
    for _ in range(_ROUNDS):  # a fact may refute relations of other conditions: `past + seq <= 48 or batch == 0`
        for condition in left:
            possible = [relation for relation in condition.relations if relation.known(scope) is not False]
            if len(possible) == 1 and is_total(possible[0].left) and is_total(possible[0].right):
                possible[0].add_to(scope)
            if not possible or scope.is_contradictory:
                raise EmissionRefused(f"no size satisfies the contract, because of {condition.text}")
    return scope


def hull(conditions: Iterable[SizeCondition], names: Iterable[str]) -> dict[str, Interval]:
    """For each size the smallest interval that the engine derives from the conditions; it need not lie inside them.

    Raises EmissionRefused if the conditions contradict each other.
    """
    scope = implied_sizes(conditions)
    return {name: scope.bounds(symbol(name)) for name in names}


def inner_boxes(
    system: SizeSystem, root: Box, wanted: Mapping[str, int], limit: int, *, followers_vary: bool = False
) -> list[Box]:
    """At most `limit` boxes in `root`, all of whose points satisfy the conditions; the first contains `wanted`.

    root             bounded intervals of the free sizes
    wanted           sizes that callers send most
    followers_vary   whether axes that follow from other sizes may have several sizes in one box. Its corners satisfy
                     their equations then, other combinations of sizes need not

    The result is `[root]` if all its points are legal. Raises EmissionRefused if no legal point is found, or none with
    the wanted sizes.
    """
    return _BoxSearch(system, root, wanted, followers_vary).boxes(limit)


class _BoxSearch:
    """Search for boxes inside the conditions of a system.

    coupled   the sizes in conditions that `root` does not satisfy as a whole; all others have their whole interval
    """

    def __init__(self, system: SizeSystem, root: Box, wanted: Mapping[str, int], followers_vary: bool) -> None:
        self.system = system
        self.fixed = () if followers_vary else system.followers
        self.root = root
        self.wanted = wanted
        self.open = unproved(system.conditions, root)
        moving = [axis for axis in self.fixed if not is_constant(axis.size, root)]
        names = {name for condition in self.open for name in condition.symbols}
        names |= {name for axis in moving for name in free_symbols(axis.size)}
        self.coupled = [name for name in system.free if name in names and not root[name].is_point]

    def boxes(self, limit: int) -> list[Box]:
        if not self.coupled and is_inside(self.root, self.system.conditions):
            return [self.root]
        points = self._legal_points()
        found: list[Box] = []
        for seed in self._seeds(points):
            for order in self._orders():
                box = self._grown(seed, order)
                if box is not None and not any(_contains(other, box) for other in found):
                    found = [other for other in found if not _contains(box, other)] + [box]
        if not found:
            raise EmissionRefused(f"no sizes are proved legal: {'; '.join(_texts(self.open))}")
        return self._best(found, points, limit)

    # legal points

    def _legal_points(self) -> list[dict[str, int]]:
        """Points of coupled sizes at which all conditions hold; those near `wanted` first.

        Raises EmissionRefused if there is none among the tested points, or none with the wanted sizes.
        """
        conditions = [c for c in self.open if c.symbols <= self.root.keys()]
        few = next((n for n in (7, 5, 3, 2) if (2 * n) ** len(self.coupled) <= _MAX_POINTS), 2)
        values = [self._legal_values(name, few) for name in self.coupled]
        fixed = {name: _middle(interval) for name, interval in self.root.items()}
        tested = islice(product(*values), _MAX_POINTS)
        points = [dict(zip(self.coupled, point, strict=True)) for point in tested]
        legal = [point for point in points if all(c.holds({**fixed, **point}) for c in conditions)]
        if not legal:
            raise EmissionRefused(f"no legal sizes found in {_text(self.root)}: {'; '.join(_texts(self.open))}")
        wanted = {name: size for name, size in self.wanted.items() if name in self.coupled}
        if not any(wanted.items() <= point.items() for point in legal):
            shown = ", ".join(f"{name}={size}" for name, size in wanted.items())
            raise EmissionRefused(f"no legal sizes found with {shown}, because of {'; '.join(_texts(conditions))}")
        return sorted(legal, key=self._distance)

    def _legal_values(self, name: str, few: int) -> list[int]:
        """At most `few` values of a size, spread over those that conditions on this size alone allow, and as many of
        the numbers in conditions, as in `a == 4 or b == 3`.
        """
        low, high = _ends(self.root[name])
        alone = [condition for condition in self.open if condition.symbols == {name}]
        scanned = range(low, high + 1)
        if len(scanned) > _MAX_SCANNED:
            half = _MAX_SCANNED // 2
            legal = [v for part in (scanned[:half], scanned[-half:]) for v in part if _hold(alone, name, v)]
        else:
            legal = [value for value in scanned if _hold(alone, name, value)]
        if name in self.wanted and not _hold(alone, name, self.wanted[name]):
            raise EmissionRefused(f"{name}={self.wanted[name]} violates {'; '.join(_texts(alone))}")
        last = len(legal) - 1
        spread = {legal[round(last * step / (few - 1))] for step in range(few)} if legal else set[int]()
        numbers = {number for condition in self.open if name in condition.symbols for number in _numbers(condition)}
        named = {number for number in numbers if number in self.root[name] and _hold(alone, name, number)}
        wanted = {self.wanted[name]} if name in self.wanted else set[int]()
        return sorted(wanted) + sorted(spread - wanted) + sorted(named - spread - wanted)[:few]

    def _distance(self, point: Mapping[str, int]) -> float:
        """The distance of a point from the wanted sizes, else from the middle of the root box, by its sides."""
        return sum(
            abs(value - self.wanted.get(name, _middle(self.root[name]))) / (1 + _length(self.root[name]))
            * (1000 if name in self.wanted else 1)
            for name, value in point.items()
        )  # fmt: skip

    def _seeds(self, points: Sequence[dict[str, int]]) -> list[dict[str, int]]:
        """The points to grow from: that nearest to the wanted sizes, those at the ends of each size, and some more."""
        ends = [
            best(points, key=lambda point: (point[name], -self._distance(point)))
            for name in self.coupled
            for best in (max, min)
        ]
        corners = [best(points, key=lambda point: sum(point.values())) for best in (max, min)]
        step = max(1, len(points) // _MAX_SEEDS)
        unique = {tuple(point.items()): point for point in (points[0], *corners, *ends, *points[::step])}
        return list(unique.values())[:_MAX_SEEDS]

    # growth

    def _orders(self) -> list[list[str]]:
        """The orders in which sizes grow: each size comes first once."""
        return [[name, *(other for other in self.coupled if other != name)] for name in self.coupled]

    def _grown(self, seed: Mapping[str, int], order: Sequence[str]) -> Box | None:
        """A box around a point that does not grow further; None if the conditions are not proved at the point."""
        sizes = {**{name: _middle(interval) for name, interval in self.root.items()}, **seed}
        equations = [
            SizeCondition(f"{axis.name} == {axis.declared}", (Relation(axis.size, "==", evaluate(axis.size, sizes)),))
            for axis in self.fixed
        ]
        conditions = [*equations, *self.system.conditions]
        box = {**self.root, **{name: Interval(value, value) for name, value in seed.items()}}
        if not is_inside(box, conditions):
            return None
        for name in order:
            low, high = _ends(self.root[name])
            for end, sign in ((high, 1), (low, -1)):
                # Each part of a legal box is legal, so the longest step is found by bisection.
                least, most = 0, (end - seed[name]) * sign
                while least < most:
                    middle = (least + most + 1) // 2
                    wider = {**box, name: _extended(box[name], middle * sign)}
                    touched = [condition for condition in conditions if name in condition.symbols]
                    least, most = (middle, most) if is_inside(wider, touched) else (least, middle - 1)
                box[name] = _extended(box[name], least * sign)
        assert is_inside(box, conditions), "a box grows while it is proved"
        return box

    # selection

    def _best(self, boxes: Sequence[Box], points: Sequence[dict[str, int]], limit: int) -> list[Box]:
        """At most `limit` boxes that contain many of the points together; the first contains the first point."""
        chosen: list[Box] = []
        left = list(points)
        pool = list(boxes)
        while pool and len(chosen) < limit:
            must = left[0] if left and not chosen else {}
            able = [box for box in pool if _has(box, must)] or pool
            best = max(able, key=lambda box: (sum(_has(box, point) for point in left), _volume(box)))
            if chosen and left and not any(_has(best, point) for point in left):
                break
            chosen.append(best)
            pool.remove(best)
            left = [point for point in left if not _has(best, point)]
            if not left:
                break
        return chosen


def _numbers(condition: SizeCondition) -> set[int]:
    """The numbers to which the relations of a condition compare a size."""
    sides = ((relation.right, relation.left) for relation in condition.relations)
    return {abs(constant_term(right - left)) for right, left in sides if isinstance(right - left, Expr)}


def _hold(conditions: Iterable[SizeCondition], name: str, value: int) -> bool:
    return all(condition.holds({name: value}) for condition in conditions)


def is_constant(size: Dim, box: Box) -> bool:
    """Whether a size depends on nothing that varies in a box."""
    return all(box[name].is_point for name in free_symbols(size))


def _ends(interval: Interval) -> tuple[int, int]:
    assert interval.lo is not None and interval.hi is not None, "a root box is bounded"
    return interval.lo, interval.hi


def _middle(interval: Interval) -> int:
    low, high = _ends(interval)
    return (low + high) // 2


def _length(interval: Interval) -> int:
    low, high = _ends(interval)
    return high - low


def _extended(interval: Interval, by: int) -> Interval:
    """The interval, wider by `by` above, or by -`by` below if it is negative."""
    low, high = _ends(interval)
    return Interval(low + min(0, by), high + max(0, by))


def _has(box: Box, point: Mapping[str, int]) -> bool:
    return all(value in box[name] for name, value in point.items())


def _contains(box: Box, other: Box) -> bool:
    return all((interval & other[name]) == other[name] for name, interval in box.items())


def _volume(box: Box) -> int:
    found = 1
    for interval in box.values():
        found *= 1 + _length(interval)
    return found


def _texts(conditions: Iterable[SizeCondition]) -> list[str]:
    return list(dict.fromkeys(condition.text for condition in conditions))


def _text(box: Box) -> str:
    return ", ".join(f"{name}={interval.lo}..{interval.hi}" for name, interval in box.items())


__all__ = ["grows", "hull", "implied_sizes", "inner_boxes", "is_constant", "is_inside", "unproved"]
