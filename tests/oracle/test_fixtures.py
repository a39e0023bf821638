"""Every fixture, inferred once, against onnxruntime at every listed binding."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from fixtures import feeds
from gather_infer import Inference, infer
from gather_infer.tensor import SymbolicTensor
from tests.oracle.runtime_faults import FAULTS, faulty_node
from tests.oracle.soundness import Runtime, compare, open_dims

NAMES = feeds.NAMES
WRONG_SIZES = {op_type: fault for op_type, fault in FAULTS.items() if op_type != "Reshape"}
"""What onnxruntime makes of a Reshape with allowzero is compared: where the inference states it, it is right."""

_cache: dict[str, tuple[Inference, Runtime, onnx.ModelProto]] = {}


def inferred(name: str) -> tuple[Inference, Runtime, onnx.ModelProto]:
    if name not in _cache:
        model = onnx.load(feeds.model_path(name))
        _cache[name] = infer(model), Runtime(model), model
    return _cache[name]


FINDINGS = {
    # what exporters wrote wrongly: the branch gives a matrix and is declared to give a vector
    "gnn-torchscript": [("GI202", "/If_1/else_branch")],
}


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_has_a_type_and_a_rank_and_there_is_no_finding(name: str) -> None:
    inference, _, _ = inferred(name)
    found = [(d.code, d.location.graph) for d in inference.diagnostics if d.severity != "note"]
    assert found == FINDINGS.get(name, [])
    unknown = [
        n for n, v in inference.items() if isinstance(v, SymbolicTensor) and (v.dtype is None or v.shape is None)
    ]
    assert unknown == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_at_any_binding(name: str) -> None:
    inference, runtime, model = inferred(name)
    bindings = feeds.bindings(name)
    assert len(bindings) >= 4
    compared = 0
    for number, binding in enumerate(bindings):
        actual = runtime.run(feeds.make_feeds(name, binding, seed=number))
        result = compare(inference, actual, binding)
        if result.assumption_fails or faulty_node(model, actual, WRONG_SIZES):
            continue
        assert result.wrong == [], binding
        compared += 1
    assert compared >= 4


@pytest.mark.parametrize("name", NAMES)
def test_every_dim_is_an_expression_or_depends_on_data(name: str) -> None:
    inference, runtime, _ = inferred(name)
    binding = max(feeds.bindings(name), key=lambda b: sum(b.values()))
    runs: list[dict[str, Any]] = [runtime.run(feeds.make_feeds(name, binding, seed=seed)) for seed in range(6)]
    assert open_dims(inference, runs) == []
