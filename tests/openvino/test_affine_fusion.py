"""Scales and biases that become inputs of the operators before them, and lowerings that use proofs about dims."""

from __future__ import annotations

from pathlib import Path

from gather_infer import convert
from tests.openvino.cases_affine import OPERATORS
from tests.openvino.judge import difference, recorded


def test_operators_and_elements(tmp_path: Path) -> None:
    """Each conversion has the operators that its case names, and gives what OpenVINO does."""
    faults: dict[str, object] = {}
    seen: set[str] = set()
    for one in recorded("tests.openvino.cases_affine", tmp_path):
        assert not one.reason, f"{one}: {one.reason}"
        result = convert(one.path.with_suffix(".xml"))
        made = {node.op_type for node in result.proto.graph.node}
        has, lacks = OPERATORS[one.name]
        seen.add(one.name)
        if not has <= made or made & lacks:
            faults[str(one)] = made
        elif fault := difference(one):
            faults[str(one)] = fault
        listed = {operator for layer in result.converted for operator in layer.operators}
        assert made <= listed and listed - made <= {"Concat", "Gather", "Shape"}  # what only other layers read
    assert not faults
    assert seen == OPERATORS.keys()
