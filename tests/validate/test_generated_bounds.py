"""1 000 seeded models whose access has a known class: the verdict is that class, and onnxruntime agrees."""

from __future__ import annotations

import itertools

import pytest

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import Elements, Verdict, VerdictKind, verdicts
from gather_infer.validate.condition import difference
from tests.validate.access_models import Runner, Sample, by_node, sample

MODELS = 1000
CHUNKS = 20
SIZES = (1, 2, 3, 6, 40)


def bindings(runner: Runner) -> list[dict[str, int]]:
    """Sizes for the symbols, all at least 1: every index has an element."""
    names = sorted(set(runner.symbols()))
    every = [dict(zip(names, sizes, strict=True)) for sizes in itertools.product(SIZES, repeat=len(names))]
    return every[:: max(1, len(every) // 12)]


def check_proved(runner: Runner) -> None:
    for sizes in bindings(runner):
        assert runner.passes(sizes), sizes


def check_violated(runner: Runner) -> None:
    for sizes in bindings(runner):
        assert not runner.passes(sizes), sizes


def check_conditional(runner: Runner, verdict: Verdict) -> None:
    about_sizes = [c for c in verdict.conditions if not isinstance(c.left, Elements)]
    about_elements = [c for c in verdict.conditions if isinstance(c.left, Elements)]
    outcomes = set()
    for sizes in bindings(runner):
        holds = all(evaluate(difference(c), sizes) >= 0 for c in about_sizes)
        if not about_elements:
            assert runner.passes(sizes) == holds, sizes
        outcomes.add(holds)
        for condition in about_elements:
            assert isinstance(condition.left, Elements)
            limit = evaluate(condition.right, sizes)
            inside, outside = (limit, limit - 1) if condition.relation == ">=" else (limit - 1, limit)
            assert runner.passes(sizes, {condition.left.input: inside}), (sizes, inside)
            assert not runner.passes(sizes, {condition.left.input: outside}), (sizes, outside)
    assert about_elements or False in outcomes, "no binding tells the condition from a proof"
    assert verdict.witness


def check_enough(runner: Runner, verdict: Verdict) -> None:
    """Of sizes: where they hold a run is in bounds, and some run is where they do not."""
    for sizes in bindings(runner):
        assert not isinstance(verdict.conditions[0].left, Elements)
        if all(evaluate(difference(c), sizes) >= 0 for c in verdict.conditions):
            assert runner.passes(sizes), sizes
    check_undecided(runner)


def check_undecided(runner: Runner) -> None:
    names = sorted(set(runner.symbols()))
    outcomes = set()
    for sizes in itertools.product(reversed(SIZES), repeat=len(names)):
        binding = dict(zip(names, sizes, strict=True))
        outcomes.add(runner.passes(binding))
        outcomes |= {runner.passes(binding, {"ids": number, "mask": 0}) for number in (0, 50)}
        if outcomes == {True, False}:
            return
    pytest.fail("neither class fits a model that is undecided")


def check(seed: int) -> Sample:
    made = sample(seed)
    verdict = by_node(verdicts(gather_infer.infer(made.model, assume=False)))[-1]
    runner = Runner(made.model, seed)
    said = "enough" if not verdict.tight else verdict.kind.value
    assert said == made.kind, (seed, made.source, verdict.text())
    match verdict.kind:
        case VerdictKind.PROVED:
            check_proved(runner)
        case VerdictKind.VIOLATED:
            check_violated(runner)
        case VerdictKind.CONDITIONAL if verdict.tight:
            check_conditional(runner, verdict)
        case VerdictKind.CONDITIONAL:
            check_enough(runner, verdict)
        case VerdictKind.UNDECIDED:
            check_undecided(runner)
    return made


@pytest.mark.sampled(4)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verdicts_hold(chunk: int) -> None:
    seen = [check(seed) for seed in range(chunk, MODELS, CHUNKS)]
    assert {made.kind for made in seen} == {"proved", "violated", "conditional", "undecided", "enough"}
