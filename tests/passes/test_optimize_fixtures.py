"""Optimising exported networks: the same bits before and after, nothing left for a second run, nothing grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from fixtures.feeds import NAMES, bindings, make_feeds, model_path
from gather_infer.passes import optimize
from tests.oracle.loaders import refused_now
from tests.passes.folding_models import assert_same_outputs


def odd(feeds: dict[str, Any], seed: int) -> dict[str, Any]:
    """The inputs with -0.0, NaN and Inf among their floats."""
    random = np.random.default_rng(seed)
    changed = {}
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            draws, value = random.random(value.shape), value.copy()
            value[draws < 0.02] = -0.0
            value[draws > 0.99] = np.nan
            value[(draws > 0.98) & (draws <= 0.99)] = np.inf
        changed[name] = value
    return changed


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_bits_interface_and_idempotence(name: str) -> None:
    before = onnx.load(model_path(name))
    result = optimize(model_path(name))
    onnx.checker.check_model(result.proto, full_check=True)
    assert not refused_now(before, result.proto)
    assert list(result.proto.graph.input) == list(before.graph.input)
    assert list(result.proto.graph.output) == list(before.graph.output)
    assert result.after.nodes <= result.before.nodes
    assert not optimize(result.proto).applied
    for seed, sizes in enumerate(bindings(name)[:4]):
        feeds = make_feeds(name, sizes, seed)
        assert_same_outputs(before, result.proto, odd(feeds, seed) if seed % 2 else feeds)
