"""Constraints on the elements of an input, compared with every element of a small type."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from gather_infer.inference.provenance.origin import Affine, Clamp, ElementStep, Origin, Quotient
from gather_infer.symbolic import Dim, Scope, evaluate, symbol
from gather_infer.tensor import INTEGER_RANGE, DType, ValueRange
from gather_infer.validate.element_preimage import ElementPreimage, element_preimage

N = symbol("N")
LEAST, MOST = -(2**63), 2**63 - 1


def stepped(x: int, step: ElementStep, sizes: dict[str, int]) -> int:
    """The result of a step on a number, by its definition."""
    match step:
        case Clamp(end, is_upper):
            return (min if is_upper else max)(x, evaluate(end, sizes))
        case Quotient(divisor):
            return (abs(x) // evaluate(divisor, sizes)) * (1 if x >= 0 else -1)
    x = step.factor * x + evaluate(step.offset, sizes)
    if step.overflow_dtype is not None:
        low, high = INTEGER_RANGE[step.overflow_dtype]
        x = (x - low) % (high - low + 1) + low
    return x


def indices(part: Origin, sizes: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Each x of the type of the input, with the index that it becomes, by the definition of a Part."""
    assert part.source_dtype is not None
    least, most = INTEGER_RANGE[part.source_dtype]
    for x in range(least, most + 1):
        index = x
        for step in part.steps:
            index = stepped(index, step, sizes)
        if part.negative_offset is not None and x < 0:
            index += evaluate(part.negative_offset, sizes)
        index += evaluate(part.offset, sizes)
        if part.overflow_dtype is not None:
            low, high = INTEGER_RANGE[part.overflow_dtype]
            index = (index - low) % (high - low + 1) + low
        for limit in part.clamps:
            end = evaluate(limit.bound, sizes)
            index = min(index, end) if limit.is_upper else max(index, end)
        yield x, index


def allows(found: ElementPreimage, x: int, sizes: dict[str, int]) -> bool:
    return (
        all(evaluate(gap, sizes) >= 0 for gap in found.gaps)
        and (found.first is None or evaluate(found.first, sizes) <= x)
        and (found.last is None or x <= evaluate(found.last, sizes))
    )


def check(part: Origin, low: int, high: int, sizes: dict[str, int] | None = None) -> ElementPreimage | None:
    """The preimage of [low, high]: each allowed x maps into it; the preimage is exact if no other x does.

    `is_above` and `is_below` are True for a bound that no index exceeds, as the caller of `element_preimage` does it.
    """
    sizes = sizes or {}
    made = list(indices(part, sizes))
    is_above, is_below = all(low <= i for _, i in made), all(i <= high for _, i in made)
    found = element_preimage(part, low, high, Scope(), is_above=is_above, is_below=is_below)
    if found is None:
        return None
    inside = {x for x, index in made if low <= index <= high}
    allowed = {x for x, _ in made if allows(found, x, sizes)}
    assert allowed == inside if found.is_exact else allowed <= inside, (part, low, high, found)
    if not sizes:
        assert found.is_exact == (allowed == inside), (part, low, high, found)
    return found


LIMITS = [Clamp(end, is_upper) for end in (-5, -1, 0, 4, 5, 9) for is_upper in (False, True)]
BOUNDS = [(0, 4), (-5, 4), (-4, 5), (0, 0), (5, 9)]


@pytest.mark.parametrize("offset", [0, 1, -1, 7])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_limits(count: int, offset: int) -> None:
    """Numbers are limited one after the other, and each limit is a number: so all of it is exact."""
    for limits in itertools.product(LIMITS, repeat=count):
        for low, high in BOUNDS:
            found = check(Origin(ValueRange(), "x", DType.INT8, offset, clamps=limits), low, high)
            assert found is not None and found.is_exact


@pytest.mark.parametrize("is_upper", [False, True])
def test_a_limit_that_is_a_size(is_upper: bool) -> None:
    """Whether the limit is inside the bounds is not known, so the preimage may be too small, and not exact."""
    for low, high in BOUNDS:
        for n in (0, 1, 3, 4, 5, 9, 11):
            check(Origin(ValueRange(), "x", DType.INT8, clamps=(Clamp(N, is_upper),)), low, high, {"N": n})
    part = Origin(ValueRange(), "x", DType.INT8, clamps=(Clamp(N, is_upper),))
    for low, high, is_exact in ((0, 4, not is_upper), (2, 4, False), (-3, -1, True)):  # N is not below 0
        found = element_preimage(part, low, high, Scope(), is_above=False, is_below=False)
        assert found is not None and found.is_exact is is_exact, (low, high)


@pytest.mark.parametrize("wraps", [DType.INT8, DType.UINT8, DType.INT16])
@pytest.mark.parametrize("source", [DType.INT8, DType.UINT8])
def test_numbers_that_pass_the_end_of_a_type(source: DType, wraps: DType) -> None:
    seen = set()
    for offset in (-200, -129, -128, -127, -100, -9, -1, 0, 1, 9, 100, 127, 128, 129, 200):
        for low, high in (
            *BOUNDS,
            (0, 126),
            (0, 127),
            (0, 128),
            (0, 255),
            (-128, 127),
            (-128, 0),
            (-200, 4),
            (-4, 300),
        ):
            found = check(Origin(ValueRange(), "x", source, offset, overflow_dtype=wraps), low, high)
            assert found is not None
            seen.add(found.is_exact)
    assert seen == ({True} if wraps is DType.INT16 else {True, False})


@pytest.mark.parametrize("wraps", [DType.INT8, DType.UINT8])
@pytest.mark.parametrize("source", [DType.INT8, DType.UINT8])
def test_bounds_of_an_axis_of_unknown_size_and_the_ends_of_a_type(source: DType, wraps: DType) -> None:
    """Whether the axis or the type ends first is not known, unless what is declared says so."""
    told = Scope()
    told.add_fact(100 - N)
    for offset, scope in itertools.product((-200, -129, -9, 0, 9, 129, 200), (Scope(), told)):
        part = Origin(ValueRange(), "x", source, offset, overflow_dtype=wraps)
        found = element_preimage(part, -N, N - 1, scope, is_above=False, is_below=False)
        least, most = INTEGER_RANGE[source]
        passes = least + offset < INTEGER_RANGE[wraps][0], most + offset > INTEGER_RANGE[wraps][1]
        assert (found is None) == (scope is not told and (passes[1] or (passes[0] and wraps is DType.INT8)))
        for n in (0, 1, 5, 100, 127, 128, 200) if found is not None else ():
            assert found is not None
            if scope is told and n > 100:
                continue
            for x, index in indices(part, {"N": n}):
                assert -n <= index < n or not allows(found, x, {"N": n}), (part, n, x)


@pytest.mark.parametrize("offset", [N, -N, 3 - N])
def test_numbers_that_pass_the_end_of_a_type_by_nobody_knows_how_much(offset: Dim) -> None:
    """It is enough that they do not; more is not said, and nothing where the axis may be longer than the type."""
    part = Origin(ValueRange(), "x", DType.INT8, offset, overflow_dtype=DType.INT8)
    assert element_preimage(part, -N, N - 1, Scope(), is_above=False, is_below=False) is None
    for low, high in BOUNDS:
        for n in (0, 1, 5, 100, 127, 128, 300):
            found = check(part, low, high, {"N": n})
            assert found is not None and not found.is_exact


@pytest.mark.parametrize("wrap", [0, 1, 4, 5, 6, 9, -1])
def test_negatives_that_get_a_number_added(wrap: int) -> None:
    """It is told where x < 0 that becomes an index at all becomes one that x >= 0 may be."""
    for low, high in ((0, 4), (-5, 4), (-9, 8)):
        found = check(Origin(ValueRange(), "x", DType.INT8, negative_offset=wrap), low, high)
        assert (found is not None) is (0 <= wrap <= high + 1)


def test_limits_of_the_input_type_are_not_required() -> None:
    for source, first in ((DType.UINT8, None), (DType.INT8, 0)):
        found = element_preimage(Origin(ValueRange(), "x", source), 0, 4, Scope(), is_above=False, is_below=False)
        assert found is not None and (found.first, found.last) == (first, 4)
    found = element_preimage(Origin(ValueRange(), "x", DType.UINT8, -1), 0, 4, Scope(), is_above=False, is_below=False)
    assert found is not None and (found.first, found.last) == (1, 5)


@pytest.mark.parametrize(
    ("offset", "first", "last"),
    [
        (-3, LEAST + 3, None),
        (1, None, MOST - 1),
        (3, None, MOST - 3),
        (0, None, None),
        (N, None, MOST - N),
        (-N, LEAST + N, None),
    ],
)
def test_elements_that_overflow_int64_are_excluded(offset: Dim, first: Dim | None, last: Dim | None) -> None:
    """Where a branch uses only numbers on one side, those that come back from beyond the other end are there too."""
    part = Origin(ValueRange(), "x", DType.INT64, offset, overflow_dtype=DType.INT64)
    found = element_preimage(part, 0, 4, Scope(), is_above=True, is_below=True)
    assert found is not None and (found.first, found.last) == (first, last)


FACTORS = (-7, -3, -2, -1, 1, 2, 3, 64)
OFFSETS = (-200, -100, -9, -1, 0, 1, 9, 100, 200)


def steps_of(choice: random.Random, source: DType) -> Origin:
    """A part of some steps, of which those that pass the ends of their type say so, with what is known on the way."""
    part = Origin(ValueRange(), "x", source)
    for _ in range(choice.randint(1, 3)):
        given = [index for _, index in indices(part, {})]
        kind = choice.randrange(4)
        step: ElementStep
        if kind == 0:
            step = Quotient(choice.choice((1, 2, 3, 7, 16)))
        elif kind == 1:
            step = Clamp(choice.choice((-9, -1, 0, 1, 5, 9, 100)), choice.random() < 0.5)
        else:
            factor, offset = choice.choice(FACTORS), choice.choice(OFFSETS)
            made = [factor * x + offset for x in given]
            wraps = choice.choice((DType.INT8, DType.UINT8))
            least, most = INTEGER_RANGE[wraps]
            fits = least <= min(made) and max(made) <= most
            step = Affine(factor, offset, None if fits else wraps, (min(given), max(given)))
        part = part._replace(steps=(*part.steps, step))
    found = [index for _, index in indices(part, {})]
    return part._replace(step_bounds=(min(found), max(found)))


@pytest.mark.parametrize("seed", range(300))
def test_steps(seed: int) -> None:
    """The constraint is sufficient; where it is declared exact, it is necessary."""
    choice = random.Random(seed)
    part = steps_of(choice, choice.choice((DType.INT8, DType.UINT8)))
    for low, high in (*BOUNDS, (0, 126), (-128, 127), (-200, 4), (3, 300)):
        made = [index for _, index in indices(part, {})]
        is_above, is_below = all(low <= i for i in made), all(i <= high for i in made)
        found = element_preimage(part, low, high, Scope(), is_above=is_above, is_below=is_below)
        if found is None:
            continue
        inside = {x for x, index in indices(part, {}) if low <= index <= high}
        allowed = {x for x, _ in indices(part, {}) if allows(found, x, {})}
        assert allowed == inside if found.is_exact else allowed <= inside, (part, low, high, found)


@pytest.mark.parametrize("divisor", [1, 2, 4, 5])
@pytest.mark.parametrize("offset", [-9, -1, 0, 3])
def test_a_quotient_into_an_axis_of_unknown_size(divisor: int, offset: int) -> None:
    part = Origin(
        ValueRange(), "x", DType.INT8, offset, steps=(Quotient(divisor),), step_bounds=(-128 // divisor - 1, 127)
    )
    found = element_preimage(part, -N, N - 1, Scope(), is_above=False, is_below=False)
    assert found is None or offset >= 0
    for n in (0, 1, 2, 5, 20) if found is not None else ():
        assert found is not None
        inside = {x for x, index in indices(part, {"N": n}) if -n <= index < n}
        allowed = {x for x, _ in indices(part, {"N": n}) if allows(found, x, {"N": n})}
        assert allowed == inside if found.is_exact else allowed <= inside, (divisor, offset, n, found)
