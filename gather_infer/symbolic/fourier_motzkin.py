"""Fourier-Motzkin elimination with integer rounding.

A row is a linear form that is >= 0. To eliminate a variable, every row that bounds it from below is combined with every
row that bounds it from above. The given rows imply the combined ones, so rows may be dropped at any time: the resulting
range only widens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from operator import itemgetter

from gather_infer.symbolic.interval import Interval

__all__ = ["Row", "range_of"]

Row = tuple[Mapping[int, int], int]  # {variable: coefficient}, constant

_Key = tuple[tuple[int, int], ...]  # ((variable, coefficient), ...), by variable, with no common divisor
_Table = dict[_Key, int]  # row without its constant: the smallest constant, which is the tightest row

_variable = itemgetter(0)

_MAX_ROWS = 64
_MAX_LENGTH = 8  # variables of a combined row


def range_of(target: Mapping[int, int], constant: int, rows: Iterable[Row]) -> Interval | None:
    """The range of the linear form `target + constant` under the rows; None when the rows are found to contradict each
    other.
    """
    goal = -1
    known: _Table = {}
    for coefficients, shift in rows:
        if not _add_row(known, coefficients, shift):
            return None
    # goal == target + constant, as two rows.
    form = dict(target)
    form[goal] = -1
    if not _add_row(known, form, constant):
        return None
    if not _add_row(known, {variable: -c for variable, c in form.items()}, -constant):
        return None
    while True:
        variable = _cheapest(known, goal)
        if variable is None:
            break
        eliminated = _eliminate(known, variable)
        if eliminated is None:
            return None
        known = eliminated
    lo = hi = None
    for key, shift in known.items():
        # After normalisation the coefficient of a lone variable is 1 or -1.
        if key == ((goal, 1),):
            lo = -shift
        elif key == ((goal, -1),):
            hi = shift
    if lo is not None and hi is not None and lo > hi:
        return None
    return Interval(lo, hi)


def _add_row(known: _Table, coefficients: Mapping[int, int], shift: int) -> bool:
    """Add a row to `known`; False when the row is a negative constant, which contradicts `>= 0`."""
    items = [item for item in coefficients.items() if item[1]]
    if not items:
        return shift >= 0
    if len(items) > 1:
        items.sort()
    g = gcd(*[c for _, c in items])
    if g > 1:
        # g*x + k >= 0 is x + k//g >= 0 for an integer x.
        items = [(variable, c // g) for variable, c in items]
        shift //= g
    key = tuple(items)
    present = known.get(key)
    if present is None or shift < present:
        known[key] = shift
    return True


def _cheapest(known: _Table, goal: int) -> int | None:
    """The variable whose elimination leaves the fewest rows; None when the goal is the only variable left.

    Rows with a variable that is bounded from one side only imply nothing about the others: they are removed from
    `known`.
    """
    while True:
        above: dict[int, int] = {goal: 1}
        below: dict[int, int] = {goal: 1}
        for key in known:
            for variable, c in key:
                if c > 0:
                    below[variable] = below.get(variable, 0) + 1
                else:
                    above[variable] = above.get(variable, 0) + 1
        one_sided = above.keys() ^ below.keys()
        if not one_sided:
            break
        for key in [key for key in known if not one_sided.isdisjoint(map(_variable, key))]:
            del known[key]
    best: tuple[int, int] | None = None
    for variable, lower in below.items():
        if variable != goal:
            upper = above[variable]
            cost = (lower * upper - lower - upper, variable)
            if best is None or cost < best:
                best = cost
    return None if best is None else best[1]


def _eliminate(known: _Table, variable: int) -> _Table | None:
    """The rows after elimination of a variable; None when they contradict each other."""
    result: _Table = {}
    lower: list[tuple[int, _Key, int]] = []
    upper: list[tuple[int, _Key, int]] = []
    for key, shift in known.items():
        for v, coefficient in key:
            if v == variable:
                (lower if coefficient > 0 else upper).append((abs(coefficient), key, shift))
                break
        else:
            result[key] = shift
    # Short rows first: they are the most useful ones when the cap is reached.
    lower.sort(key=_length_first)
    upper.sort(key=_length_first)
    for k, left, left_shift in lower:
        for m, right, right_shift in upper:
            if len(result) > _MAX_ROWS:
                return result
            if k == m:
                p = q = 1
                combined = dict(left)
            else:
                g = gcd(k, m)
                p, q = m // g, k // g
                combined = {v: c * p for v, c in left}
            for v, c in right:
                combined[v] = combined.get(v, 0) + c * q
            if len(combined) <= _MAX_LENGTH and not _add_row(result, combined, left_shift * p + right_shift * q):
                return None
    return result


def _length_first(row: tuple[int, _Key, int]) -> tuple[int, _Key]:
    return len(row[1]), row[1]
