# ruff: noqa: E501  (models as text)
"""Versions of an operator that are taken for the same compute the same in onnxruntime, on onnx's own node models."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto
from onnx.backend.test.case.node import collect_testcases
from onnxruntime.capi import onnxruntime_pybind11_state as state

from gather_infer import diff
from gather_infer.equality.operator_versions import FIRST_VERSIONS, meaning_since
from tests.onnx_versions import needs_onnx
from tests.verification.models import model

SCHEMAS = onnx.defs.get_all_schemas_with_history()
OLDEST = 7
"""The oldest opset that onnxruntime promises to run."""

NOT_RUN = {
    "Loop": "its node models have sequences, or need a newer opset in the body",
    "Resize": "of opset 11, it needs the regions that the node models leave out",
}

REFUSALS = (state.Fail, state.NotImplemented, state.InvalidGraph, state.InvalidArgument, state.RuntimeException)


@cache
def node_models() -> dict[str, list[Any]]:
    """The node models with one node, by operator."""
    found = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        model = case.model
        if model is not None and len(model.graph.node) == 1 and not model.graph.node[0].domain:
            found[model.graph.node[0].op_type].append(case)
    return found


def opsets_of(op_type: str) -> list[int]:
    """An opset for each version of an operator that onnxruntime may run."""
    versions = sorted({s.since_version for s in SCHEMAS if not s.domain and s.name == op_type})
    opsets = {max(version, OLDEST) for version in versions}
    return [opset for opset in sorted(opsets) if onnx.defs.has(op_type, opset)]


def at_version(model: ModelProto, version: int) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.opset_import[0].version = version
    return copy


def outputs_of(model: ModelProto, feeds: list[Any]) -> list[Any] | None:
    """The outputs in onnxruntime; None if it does not run the model."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {each.name: feed for each, feed in zip(session.get_inputs(), feeds, strict=True)})
    except REFUSALS:
        return None


def pairs_of(op_type: str) -> Iterator[tuple[str, ModelProto, ModelProto, list[Any]]]:
    """A node model at the oldest and the newest opset of each meaning that has its attributes; and its inputs."""
    for case in node_models()[op_type]:
        attributes = case.model.graph.node[0].attribute
        given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in attributes}
        same = defaultdict(list)
        for opset in opsets_of(op_type):
            schema = onnx.defs.get_schema(op_type, opset)
            if given.keys() <= schema.attributes.keys():
                same[meaning_since(op_type, schema.since_version, given)].append(opset)
        if case.data_sets:
            feeds = [np.asarray(feed) for feed in case.data_sets[0][0]]
            for opsets in same.values():
                if len(opsets) > 1:
                    yield case.name, at_version(case.model, opsets[0]), at_version(case.model, opsets[-1]), feeds


@needs_onnx("1.23", "node models of all operators")
@pytest.mark.parametrize("op_type", sorted(FIRST_VERSIONS))
def test_versions_of_one_meaning(op_type: str) -> None:
    compared = 0
    for name, old, new, feeds in pairs_of(op_type):
        one, two = outputs_of(old, feeds), outputs_of(new, feeds)
        if one is None or two is None:
            continue
        compared += 1
        assert all(
            np.array_equal(np.asarray(a), np.asarray(b)) or np.asarray(a).tobytes() == np.asarray(b).tobytes()
            for a, b in zip(one, two, strict=True)
        ), name
    assert (compared > 0) == (op_type not in NOT_RUN)


OPSETS = {
    # body, opsets of both models, whether they compute the same; None if an opset does not allow the second
    "later versions add types": ("{ a = Relu(x) b = MatMul(a, w) c = Add(b, w) y = LSTM<hidden_size=1>(c, u, r) }", (13, 22), True),
    "Softmax of rows, and of everything behind an axis": ("{ y = Softmax<axis=1>(x) }", (11, 13), False),
    "a reduction that an earlier version has not": (
        "{ y = ScatterND<reduction=\"none\">(x, i, v) }",
        (18, 13),
        None,
    ),
    "outputs that say that it is training": (
        "{ y, m, n, o, p = BatchNormalization(x, k, k, k, k) }",
        (9, 15),
        None,
    ),
    "an attribute that a later version has": ("{ y = ScatterND(x, i, v) }", (11, 18), True),
}  # fmt: skip


@pytest.mark.parametrize("name", OPSETS)
def test_models_of_two_opsets(name: str) -> None:
    body, opsets, is_same = OPSETS[name]
    text = f"(float[4, 2, 2] x, float[2, 2] w, float[1, 4, 2] u, float[1, 4, 1] r, int64[3, 1] i, float[3, 2, 2] v, float[2] k) => (y) {body}"
    found = diff(*(model(text, opset=opset) for opset in opsets), runs=0)
    assert found.is_proved == bool(is_same)
    if is_same is False:
        assert found.first_difference is not None
        assert found.first_difference.differences == ("it is of opset 13 in the second model, and of 11 in the first",)
