"""Nodes of several layers that become one operator of ONNX, where it computes the same, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from gather_infer import convert
from tests.openvino.cases_rms import OPERATORS
from tests.openvino.judge import difference, recorded

RMS = "RMSNormalization"


def test_operators_and_elements(tmp_path: Path) -> None:
    """Each conversion has the operators that its case names, and gives what OpenVINO does; below 23 without RMS."""
    faults: dict[str, object] = {}
    seen: set[str] = set()
    for one in recorded("tests.openvino.cases_rms", tmp_path):
        assert not one.reason, f"{one}: {one.reason}"
        seen.add(one.name)
        for opset in (22, 23, 26):
            result = convert(one.path.with_suffix(".xml"), opset=opset)
            made = {node.op_type for node in result.proto.graph.node}
            has, lacks = OPERATORS[one.name]
            if opset < 23 and RMS in has:
                has, lacks = {"ReduceMean"}, {RMS}
            if not has <= made or made & lacks:
                faults[f"{one}, opset {opset}"] = made
            elif fault := difference(one, opset):
                faults[f"{one}, opset {opset}"] = fault
            listed = {operator for layer in result.converted for operator in layer.operators}
            assert made == listed, f"{one}, opset {opset}: {made ^ listed}"
            parts = [layer for layer in result.converted if layer.fused_into == RMS]
            assert all(not layer.operators for layer in parts) and bool(parts) == (RMS in made)
    assert not faults, "\n".join(f"{k}: {v}" for k, v in faults.items())
    assert seen == OPERATORS.keys()
