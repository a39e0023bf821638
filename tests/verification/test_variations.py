# ruff: noqa: E501  (models as text)
"""Sizes near those at which a model ran."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer.inference import infer
from gather_infer.verification.body_coverage import body_coverage_of
from gather_infer.verification.goals import Goals
from gather_infer.verification.size_sampling import SizePattern, SizeSampler, size_sampler_of
from gather_infer.verification.variations import Variations
from tests.verification.models import model

THREE = "(float[A, B] x, float[C] z) => (float[A, B] y, float[C] w) { y = Neg(x) w = Neg(z) }"


def sizes(text: str, own: tuple[int, ...] = (), dims: tuple[str, ...] = ()) -> SizeSampler:
    return size_sampler_of(infer(model(text), dims=dims), (), own)


def test_sizes_that_have_to_be_the_same_are_learnt() -> None:
    """A model that runs where A is C, which nothing says."""
    variations, numbers = Variations(sizes(THREE)), np.random.default_rng(0)
    base, ran = {"A": 5, "B": 3, "C": 5}, []
    for _ in range(20):
        found = variations.vary(base, SizePattern.PRIMES, numbers, trusting=True)
        assert found is not None
        binding, move = found
        is_good = binding["A"] == binding["C"]
        variations.note(binding, move, None, ran=is_good)
        ran.append(is_good)
    assert sum(ran) >= 12


def test_no_binding_comes_twice() -> None:
    variations, numbers = Variations(sizes(THREE)), np.random.default_rng(0)
    base, seen = {"A": 2, "B": 3, "C": 4}, set()
    for _ in range(30):
        found = variations.vary(base, SizePattern.MIXED, numbers, trusting=True)
        assert found is not None
        variations.note(found[0], found[1], None, ran=True)
        seen.add(tuple(found[0].values()))
    assert len(seen) == 30


@pytest.mark.parametrize(
    ("pattern", "size"), [(SizePattern.ZEROS, 0), (SizePattern.ONES, 1), (SizePattern.MODEL_NUMBERS, 501)]
)
def test_a_pattern_comes_first(pattern: SizePattern, size: int) -> None:
    found = Variations(sizes(THREE, (500,))).vary(
        {"A": 2, "B": 3, "C": 4}, pattern, np.random.default_rng(0), trusting=True
    )
    assert found is not None and size in found[0].values()


def test_what_is_declared_is_kept_to() -> None:
    variations, numbers = Variations(sizes(THREE, (500,), ("A=2..3", "B=3", "C=4..5"))), np.random.default_rng(0)
    for _ in range(20):
        found = variations.vary({"A": 2, "C": 4}, SizePattern.MODEL_NUMBERS, numbers, trusting=True)
        if found is None:
            break
        assert 2 <= found[0]["A"] <= 3 and 4 <= found[0]["C"] <= 5
        variations.note(found[0], found[1], None, ran=True)
    assert len(variations.known) == 3


def test_what_took_too_long_is_not_made_larger() -> None:
    variations = Variations(sizes(THREE))
    variations.note_late({"A": 4, "B": 4, "C": 4})
    assert variations.is_new({"A": 3, "B": 90, "C": 90}) and not variations.is_new({"A": 4, "B": 5, "C": 4})


SIZED = "(float[N, M] x) => (float[N, M] y) <int64 a = {700}, int64 one = {1}> { h = Shape(x) s = Gather(h, one) c = Less(s, a) y = If (c) <then_branch = t () => (float[N, M] p) { p = Neg(x) }, else_branch = e () => (float[N, M] q) { q = Abs(x) }> }"


def test_sizes_that_lead_to_a_branch() -> None:
    inference = infer(model(SIZED))
    goals = Goals(inference, body_coverage_of(inference), ("N", "M")).all
    variations = Variations(size_sampler_of(inference, (), (700,)))
    assert len(goals) == 2
    found = [variations.leading_to(goal, {"N": 2, "M": 3}, np.random.default_rng(0)) for goal in goals]
    assert sorted(binding is not None and binding["M"] >= 700 for binding in found) == [False, True]
