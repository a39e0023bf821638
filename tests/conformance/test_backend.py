"""Every node model of onnx's backend tests: nothing wrong, nothing refused, and next to nothing left open.

`pytest -s tests/conformance` prints the counts and what is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import onnx
import pytest

import gather_infer
from tests.conformance.backend import DATA_DEPENDENT, SHAPE_DATA, Case, cases, static, symbolic, verdicts

Mode = Callable[[Case], tuple[onnx.ModelProto, dict[str, int]]]

ORDER = ("exact", "open", "wrong")
LEAST_EXACT = {"static": 1878, "symbolic": 1874}
LEAST_MODELS = 1880


@pytest.mark.parametrize("mode", [static, symbolic], ids=lambda mode: mode.__name__)
def test_node_models_of_onnx(mode: Mode) -> None:
    counts: Counter[str] = Counter()
    lines: list[str] = []
    refused: list[str] = []
    for case in cases():
        model, sizes = mode(case)
        inference = gather_infer.infer(model)
        found = list(verdicts(case, inference, sizes))
        verdict = max((v for v, _ in found), key=ORDER.index)
        counts[verdict] += 1
        lines += [f"{v} {case.name}: {why}" for v, why in found if v != "exact"]
        refused += [f"{case.name}: {error.text()}" for error in inference.errors]
    print(f"\n{mode.__name__}: {counts.total()} models, " + ", ".join(f"{counts[v]} {v}" for v in ORDER))
    print(*lines, sep="\n")
    assert [line for line in lines if line.startswith("wrong")] == []
    assert refused == []
    if counts.total() >= LEAST_MODELS:  # an older onnx ships fewer
        assert counts["exact"] >= LEAST_EXACT[mode.__name__]
    else:
        assert counts["exact"] >= 0.95 * counts.total()


def test_the_tables_name_operators_that_occur() -> None:
    occurring = {(case.node.op_type, i) for case in cases() for i, name in enumerate(case.node.input) if name}
    tested = {op_type for op_type, _ in occurring}
    assert {op_type for op_type in SHAPE_DATA if op_type not in tested} == set()
    produced = {(case.node.op_type, i) for case in cases() for i, name in enumerate(case.node.output) if name}
    assert {entry for entry in DATA_DEPENDENT if entry not in produced} == set()
