"""Verdicts against what is true by construction: none is wrong, few are missing, and onnxruntime agrees.

`python -m tests.validate.test_truth 3000` judges as many models and prints what it counted.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import Elements, Verdict, VerdictKind, verdicts
from gather_infer.validate.condition import difference
from tests.validate.access_models import Runner, by_node
from tests.validate.truth_models import KINDS, SIZES, Truth, truth

MODELS = 300
CHUNKS = 6
BINDINGS = 8
UNDECIDED_OF = 100, 3
"""Of so many models so many may stay undecided."""
TIGHT_OF = 100, 95
"""Of so many conditions that are needed so many have to be known to be."""
EXPECTED = {
    "proved": VerdictKind.PROVED,
    "violated": VerdictKind.VIOLATED,
    "sizes": VerdictKind.CONDITIONAL,
    "elements": VerdictKind.CONDITIONAL,
    "enough": VerdictKind.CONDITIONAL,
}


def bindings(runner: Runner) -> Iterator[dict[str, int]]:
    """Sizes for the symbols, all at least 1: every index has an element."""
    names = sorted(set(runner.symbols()))
    every = [dict(zip(names, sizes, strict=True)) for sizes in itertools.product(SIZES, repeat=len(names))]
    step = max(1, len(every) // BINDINGS)
    yield from every[:: step + (step % len(SIZES) == 0)]


def edges(made: Truth, sizes: dict[str, int]) -> Iterator[tuple[dict[str, int], bool]]:
    """Numbers that fill the inputs of indices, and whether all are in bounds; the first ones outside as well."""
    ranges = {name: ends(sizes) for name, ends in made.source.elements.items()}
    lows, highs = ({name: ends[i] for name, ends in ranges.items()} for i in (0, 1))
    yield lows, True
    yield highs, True
    for name, (low, high) in ranges.items():
        for number in (low - 1, high + 1):
            yield {**lows, name: number}, False


def says(verdict: Verdict, sizes: dict[str, int], numbers: dict[str, int]) -> bool:
    """Whether the conditions of a verdict hold in a run."""
    for condition in verdict.conditions:
        if isinstance(condition.left, Elements):
            end, number = evaluate(condition.right, sizes), numbers[condition.left.input]
            if not (number >= end if condition.relation == ">=" else number < end):
                return False
        elif evaluate(difference(condition), sizes) < 0:
            return False
    return True


def judge(seed: int) -> tuple[Truth, Verdict]:
    """The verdict on the access of a seed, once onnxruntime has run both sides of what is true and of what it says."""
    made = truth(seed)
    verdict = by_node(verdicts(gather_infer.infer(made.model, assume=False)))[-1]
    what = (seed, made.made_of, made.access, verdict.text(), verdict.condition)
    runner = Runner(made.model, seed)
    kind = made.source.kind
    assert runner.session is not None or kind == "violated", (what, runner.refusal)
    for sizes in bindings(runner):
        for numbers, is_inside in edges(made, sizes):
            passes = runner.passes(sizes, numbers)
            holds = made.source.holds(sizes) and is_inside
            # what is true by construction is what the runtime does
            if kind == "enough":
                assert passes or not holds, (what, sizes, numbers)
            elif kind == "elements" and numbers and not is_inside:
                assert not passes or min(numbers.values()) < -(2**39), (what, sizes, numbers)
            else:
                assert passes == (holds and kind != "violated"), (what, sizes, numbers)
            # and the verdict says nothing else
            match verdict.kind:
                case VerdictKind.PROVED:
                    assert passes, (what, sizes, numbers)
                case VerdictKind.VIOLATED:
                    assert not passes, (what, sizes, numbers)
                case VerdictKind.CONDITIONAL if says(verdict, sizes, numbers):
                    assert passes, (what, sizes, numbers)
                case VerdictKind.CONDITIONAL if verdict.tight:
                    assert not passes, (what, sizes, numbers)
    assert verdict.kind in (EXPECTED[kind], VerdictKind.UNDECIDED), what
    return made, verdict


def count(seeds: range) -> Counter[str]:
    """How many verdicts of each kind there are by class, and of the conditions that are needed how many are tight."""
    counted: Counter[str] = Counter()
    for seed in seeds:
        made, verdict = judge(seed)
        counted[f"{made.source.kind}: {verdict.kind}"] += 1
        counted["undecided"] += verdict.kind is VerdictKind.UNDECIDED
        if verdict.kind is VerdictKind.CONDITIONAL and made.source.kind != "enough":
            counted["needed"] += 1
            counted["tight"] += verdict.tight
        if verdict.kind is VerdictKind.UNDECIDED:
            counted[f"undecided: {made.made_of} {made.access}"] += 1
    return counted


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verdicts_are_true(chunk: int) -> None:
    size = MODELS // CHUNKS
    counted = count(range(chunk * size, (chunk + 1) * size))
    assert counted["undecided"] * UNDECIDED_OF[0] <= UNDECIDED_OF[1] * size, counted
    assert counted["tight"] * TIGHT_OF[0] >= TIGHT_OF[1] * counted["needed"], counted
    assert all(counted[f"{kind}: {EXPECTED[kind]}"] for kind in KINDS), counted


if __name__ == "__main__":
    for name, number in sorted(count(range(int(sys.argv[1]))).items()):
        print(f"{number:6} {name}")
