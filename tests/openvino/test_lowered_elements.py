"""Operators of OpenVINO that compute, move or find elements in operators of ONNX."""

from __future__ import annotations

from importlib import import_module

import pytest

from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from tests.openvino.cases_elements_few import CASES as FEW
from tests.openvino.judge import assert_equal_to_openvino

MODULES = (
    "activation", "arithmetic", "blocks", "concat_split", "linear", "reduction", "scatter", "selection", "shapes",
    "slicing", "unary",
)  # fmt: skip
WRITTEN = {"Relu": "ReLU", "PRelu": "PReLU", "Softmax": "SoftMax"}
"""What files call classes that are called differently."""


def test_equal_to_openvino() -> None:
    assert_equal_to_openvino("tests.openvino.cases_elements_few")


def test_positions_are_counted_up_to_sizes() -> None:
    """onnxruntime refuses a Range of int32 up to a Gather of Cast(Shape), which it takes for int64."""
    assert_equal_to_openvino("tests.openvino.cases_counts")


@pytest.mark.parametrize("module", MODULES)
def test_every_version_has_a_case(module: str) -> None:
    table: LoweringTable = import_module(f"gather_infer.openvino.lowerings.{module}").lowerings
    judged = {
        (WRITTEN.get(kind, kind), int(opset)) for kind, _, opset in (name.split()[0].partition("-") for name in FEW)
    }
    chosen = {(kind, entry.since) for kind, opset in judged if (entry := table.lookup(kind, opset)) is not None}
    assert chosen == {(kind, entry.since) for kind in table.op_types for entry in table.versions(kind)}


@pytest.mark.oracle
@pytest.mark.parametrize("family", ["elementwise", "shapes", "slices", "blocks", "unranked", "found"])
def test_every_case_is_equal_to_openvino(family: str) -> None:
    assert_equal_to_openvino(f"tests.openvino.cases_{family}")
