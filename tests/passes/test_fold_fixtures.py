"""Folding exported networks: onnxruntime gives the same bits before and after, at several sizes."""

from __future__ import annotations

import onnx
import pytest

from fixtures.feeds import NAMES, bindings, make_feeds, model_path
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.passes import fold
from tests.passes.folding_models import assert_same_outputs


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_keep_their_bits(name: str) -> None:
    result = fold(model_path(name))
    before = onnx.load(model_path(name))
    assert result.proto.graph.input == before.graph.input
    assert result.proto.graph.output == before.graph.output
    if not result.applied:
        return
    onnx.checker.check_model(result.proto)
    for seed, sizes in enumerate(bindings(name)[:3]):
        assert_same_outputs(before, result.proto, make_feeds(name, sizes, seed))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_keep_their_bits_at_the_sizes_that_were_declared(name: str) -> None:
    before = onnx.load(model_path(name))
    for seed, sizes in enumerate(bindings(name)[:2]):
        result = fold(model_path(name), dims=dict(sizes))
        assert all(d.HasField("dim_value") for v in result.proto.graph.input for d in dims_of(v.type))
        assert_same_outputs(before, result.proto, make_feeds(name, sizes, seed))
