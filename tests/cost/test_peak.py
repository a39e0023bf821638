"""The peak of live activations against runs of onnxruntime, replayed in the order of the file."""

from __future__ import annotations

import onnx
import pytest

from fixtures import feeds
from gather_infer import Cost, Inference, freeze, infer
from gather_infer.symbolic import evaluate, free_symbols, known_eq
from tests.cost.replay import bound, peak
from tests.oracle.soundness import Runtime

LOOPS = {"embedding-bag-dynamo", "embedding-bag-torchscript"}
"""What is live in the body of a loop no run shows."""

_cache: dict[str, tuple[onnx.ModelProto, Inference, Cost, Runtime]] = {}


def counted(name: str) -> tuple[onnx.ModelProto, Inference, Cost, Runtime]:
    if name not in _cache:
        model = onnx.load(feeds.model_path(name))
        inference = infer(model)
        _cache[name] = model, inference, inference.cost(), Runtime(model)
    return _cache[name]


def some(name: str) -> list[feeds.Bindings]:
    """Three bindings: the first, the smallest and the largest."""
    listed = sorted(feeds.bindings(name), key=lambda binding: sum(binding.values()))
    return [feeds.bindings(name)[0], listed[0], listed[-1]]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", feeds.NAMES)
def test_the_peak_is_that_of_a_replay(name: str) -> None:
    model, inference, cost, runtime = counted(name)
    for number, binding in enumerate(some(name)):
        given = feeds.make_feeds(name, binding, seed=number)
        arrays = {**runtime.run(given), **given}
        sizes = bound(inference, arrays, binding)
        found = cost.at(**{symbol: size for symbol, size in sizes.items() if symbol in cost.symbols}).peak
        assert isinstance(found, int), found
        if name in LOOPS:
            assert found >= peak(model, arrays), binding
        else:
            assert cost.is_exact("peak")
            assert found == peak(model, arrays), binding


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", feeds.NAMES)
def test_where_nothing_is_empty_one_of_the_peaks_is_the_peak(name: str) -> None:
    _, _, cost, _ = counted(name)
    assert set(cost.peaks) <= set(cost.program_points)
    if any(free_symbols(moment.live) & cost.causes.keys() for moment in cost.program_points):
        return  # what a run decides may be 0 where no input is empty
    for binding in feeds.bindings(name):
        if min(binding.values()) > 0:
            assert cost.at(**binding).peak == max(evaluate(moment.live, binding) for moment in cost.peaks)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", feeds.NAMES)
def test_formulas_at_sizes_are_what_is_counted_with_these_sizes(name: str) -> None:
    _, _, cost, _ = counted(name)
    compared = 0
    for binding in some(name):
        at, static = cost.at(**binding), infer(feeds.model_path(name), dims=binding).cost()
        assert at.parameters == static.parameters
        for what in ("macs", "reads", "writes", "peak"):
            ours, theirs = getattr(at, what), getattr(static, what)
            if free_symbols(ours) != free_symbols(theirs) or not cost.is_exact(what):
                continue  # with sizes that are known the inference knows more of what a run decides
            assert known_eq(ours, theirs, static.scope) is True, (what, binding)
            compared += 1
    assert compared >= (3 if name in LOOPS else 6)


@pytest.mark.parametrize("name", ["bert-torchscript", "convnet-dynamo", "gpt2-kv-dynamo", "lstm-tagger-dynamo"])
def test_a_frozen_model_costs_the_same(name: str) -> None:
    _, _, cost, _ = counted(name)
    binding = max(feeds.bindings(name), key=lambda sizes: (min(sizes.values()) > 0, sum(sizes.values())))
    frozen = infer(freeze(feeds.model_path(name), dims=binding).proto).cost()
    at = cost.at(**binding)
    assert (frozen.macs, frozen.reads, frozen.writes, frozen.peak) == (at.macs, at.reads, at.writes, at.peak)
