"""Faults planted in rules: random graphs have to show each of them soon, whatever the comparison leaves out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest import mock

import pytest

from gather_infer.inference.bodies import branch, loop
from gather_infer.inference.bodies.iteration import stacked
from gather_infer.inference.join import join
from gather_infer.ops.onnx import concat, movement, reshape
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, free_symbols
from gather_infer.tensor import Shape, SymbolicTensor, Value
from tests.oracle.fuzz import Found, examine, examined

GRAPHS = 1500
"""Within so many, less than a minute of fuzzing, each fault is seen; most within a few."""

reshaped, concatenated, transposed = reshape.reshaped, concat.stacked, movement.transpose


def _backwards(*arguments: Any, **named: Any) -> Shape:
    return reshaped(*arguments, **named)[::-1]


def _without_the_last(op: OpCall, shapes: Sequence[Shape], axis: int) -> Shape:
    return concatenated(op, shapes[:-1] or shapes, axis)


def _as_the_first(a: Value, b: Value, fresh: Callable[[], Dim]) -> Value:
    """The dims of the first branch alone, where the two have one rank."""
    found = join(a, b, fresh)
    is_alike = isinstance(a, SymbolicTensor) and isinstance(b, SymbolicTensor) and a.rank == b.rank
    return found.with_(shape=a.shape) if is_alike and isinstance(found, SymbolicTensor) else found


def _one_more_row(value: Value, declared: Any, trips: Dim, *others: Any) -> Value:
    return stacked(value, declared, trips + 1, *others)


def _one_more_found(op: OpCall, data: SymbolicTensor, perm: Sequence[int] | None) -> SymbolicTensor:
    """Of what NonZero has found, one more."""
    found = transposed(op, data, perm)
    if found.shape is None:
        return found
    return found.with_(
        shape=tuple(d + any(name.startswith("nonzero") for name in free_symbols(d)) for d in found.shape), values=None
    )


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "Concat": (concat, "stacked", _without_the_last),
    "a scan output of Loop": (loop, "stacked", _one_more_row),
    "the join of If": (branch, "join", _as_the_first),
    "a Transpose of NonZero": (movement, "transpose", _one_more_found),
    "Reshape": (reshape, "reshaped", _backwards),
}


def examine_faulty(name: str, seed: int, runs: int, shrink: bool) -> Found:
    with mock.patch.object(*FAULTS[name]):
        return examine(seed, runs, shrink)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen(name: str) -> None:
    seeds = itertools.islice(itertools.count(5_000_000), GRAPHS)
    found = examined(seeds, 12, shrink=False, by=partial(examine_faulty, name))
    seed, texts = next(((seed, texts) for seed, (_, _, texts) in found if texts), (None, []))
    assert seed is not None
    assert "Traceback" not in texts[0] and "inferred" in texts[0], texts
    assert [texts for _, (_, _, texts) in examined([seed], 12)] == [[]], "there is no fault but the planted one"
