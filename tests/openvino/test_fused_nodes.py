"""Nodes of several layers that become one operator of ONNX, where it computes the same, and nowhere else."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from gather_infer import convert
from tests.openvino.judge import difference, recorded

SINCE_23 = {"Attention", "RMSNormalization"}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("module", ["cases_rms", "cases_groups"])
def test_operators_and_elements(module: str, tmp_path: Path) -> None:
    """Each conversion has the operators that its case names, and gives what OpenVINO does; below 23 without new."""
    operators: dict[str, tuple[set[str], set[str]]] = importlib.import_module(f"tests.openvino.{module}").OPERATORS
    faults: dict[str, object] = {}
    seen: set[str] = set()
    for one in recorded(f"tests.openvino.{module}", tmp_path):
        assert not one.reason, f"{one}: {one.reason}"
        seen.add(one.name)
        for opset in (22, 23, 26):
            result = convert(one.path.with_suffix(".xml"), opset=opset)
            made = {node.op_type for node in result.proto.graph.node}
            has, lacks = operators[one.name]
            if opset < 23 and has & SINCE_23:
                has, lacks = set(), SINCE_23
            if not has <= made or made & lacks:
                faults[f"{one}, opset {opset}"] = made
            elif fault := difference(one, opset):
                faults[f"{one}, opset {opset}"] = fault
            listed = {operator for layer in result.converted for operator in layer.operators}
            assert made <= listed and listed - made <= {"Concat", "Gather", "Shape"}  # what only other layers read
            parts = {layer.fused_into for layer in result.converted if layer.fused_into}
            assert parts <= made and all(not one.operators for one in result.converted if one.fused_into)
            assert ("RMSNormalization" in parts) == ("RMSNormalization" in made)
    assert not faults, "\n".join(f"{k}: {v}" for k, v in faults.items())
    assert seen == operators.keys()
