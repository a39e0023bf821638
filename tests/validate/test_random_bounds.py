"""Seeded random indices: every verdict holds in every run of onnxruntime."""

from __future__ import annotations

from collections import Counter

import pytest

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import Condition, Elements, Verdict, VerdictKind, combined, verdicts
from gather_infer.validate.condition import difference
from tests.validate.index_models import Run, runs, sample

MODELS = 400
CHUNKS = 8
RUNS = 24


def meets(condition: Condition, run: Run) -> bool:
    """Whether a run meets a condition; about elements, whether each of them does."""
    if not isinstance(condition.left, Elements):
        return evaluate(difference(condition), run.sizes) >= 0
    limit = evaluate(condition.right, run.sizes)
    numbers = [int(n) for n in run.feeds[condition.left.input].flat]
    return all(n >= limit if condition.relation == ">=" else n < limit for n in numbers)


def check(accesses: list[Verdict], run: Run) -> None:
    """Raise AssertionError when a run contradicts the verdicts on the accesses of a node."""
    verdict = combined(accesses)
    assert run.index is not None, "asked for runs that come to the access only"
    about_sizes = [c for c in verdict.conditions if not isinstance(c.left, Elements)]
    about_elements = [c for c in verdict.conditions if isinstance(c.left, Elements)]
    match verdict.kind:
        case VerdictKind.PROVED:
            assert run.passes
        case VerdictKind.VIOLATED:
            assert not run.passes or run.index.size == 0
        case VerdictKind.CONDITIONAL if run.index.size:
            is_exact = all(c.left.whole for c in about_elements if isinstance(c.left, Elements))
            if all(meets(c, run) for c in verdict.conditions):
                assert run.passes
                return
            needed = [c for c in (*about_sizes, *(about_elements if is_exact else ())) if c.tight]
            assert not run.passes or all(meets(c, run) for c in needed)


def check_span(fact: object, run: Run) -> None:
    """Raise AssertionError when the index of a legal run is not between the ends that the facts say."""
    if not run.passes or run.index is None or run.index.size == 0:
        return
    if not isinstance(fact, SymbolicTensor) or fact.value_range is None:
        return
    lo, hi = fact.value_range.lo, fact.value_range.hi
    assert lo is None or evaluate(lo, run.sizes) <= run.index.min()
    assert hi is None or run.index.max() <= evaluate(hi, run.sizes)


def check_seed(seed: int) -> VerdictKind | None:
    """The class of the access of a seed; None when onnxruntime does not run it."""
    made = sample(seed)
    inference = gather_infer.infer(made.model, assume=False)
    found = verdicts(inference)
    accesses = [each for each in found if each.access.node == found[-1].access.node]
    verdict = combined(accesses)
    kind = None
    for run in runs(made, seed, RUNS):
        kind = verdict.kind
        if run.index is not None:
            try:
                check(accesses, run)
                check_span(inference.get("index"), run)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {verdict.text()} {verdict.reason} in {run}") from error
    return kind


@pytest.mark.sampled(4)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verdicts_of_random_indices_hold(chunk: int) -> None:
    seen = Counter(check_seed(seed) for seed in range(chunk, MODELS, CHUNKS))
    assert {VerdictKind.PROVED, VerdictKind.VIOLATED, VerdictKind.CONDITIONAL, VerdictKind.UNDECIDED} <= seen.keys()
