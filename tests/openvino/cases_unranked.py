"""Layers whose inputs have no known rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.openvino.movement import Layers, given, ramp

CASES = Layers()
add = CASES.add

UNRANKED: dict[str, tuple[int, Callable[..., list[Any]], dict[str, Any]]] = {
    "Relu": (1, lambda b: [b.param(ramp(2, 3))], {}),
    "Add": (1, lambda b: [b.param(ramp(2, 3)), b.param(ramp(3))], {}),
    "Concat": (1, lambda b: [b.param(ramp(2, 3)), b.param(ramp(2, 1))], {"axis": -1}),
    "Softmax": (8, lambda b: [b.param(ramp(2, 3))], {"axis": -1}),
    "Reshape": (1, lambda b: [b.param(ramp(2, 6)), given(b, "const", 3, -1)], {"special_zero": False}),
    "Unsqueeze": (1, lambda b: [b.param(ramp(2, 3)), given(b, "const", 0, -1)], {}),
    "Squeeze": (15, lambda b: [b.param(ramp(1, 3))], {}),
    "Transpose": (1, lambda b: [b.param(ramp(2, 3)), given(b, "const", 1, 0)], {}),
    "ShapeOf": (3, lambda b: [b.param(ramp(2, 3))], {"output_type": "i64"}),
    "Split": (1, lambda b: [b.param(ramp(2, 4)), b.const(np.int64(-1))], {"num_splits": 2}),
    "VariadicSplit": (1, lambda b: [b.param(ramp(2, 4)), b.const(np.int64(-1)), given(b, "const", -1, 1)], {}),
    "Slice": (8, lambda b: [b.param(ramp(2, 4)), *(given(b, "const", k) for k in (0, 3, 2, -1))], {}),
    "Broadcast": (3, lambda b: [b.param(ramp(1, 3)), given(b, "const", 2, 2, 3)], {}),
    "ReduceSum": (1, lambda b: [b.param(ramp(2, 3)), given(b, "const", -1)], {"keep_dims": False}),
    "TopK": (11, lambda b: [b.param(ramp(2, 3)), b.const(np.int64(2))], {"axis": -1, "mode": "max", "sort": "value"}),
    "CumSum": (3, lambda b: [b.param(ramp(2, 3)), b.const(np.int64(-1))], {}),
    "MatMul": (1, lambda b: [b.param(ramp(2, 3)), b.param(ramp(3, 2))], {"transpose_a": False, "transpose_b": False}),
    "NonZero": (3, lambda b: [b.param(ramp(2, 3))], {"output_type": "i64"}),
    "ScatterElementsUpdate": (
        12,
        lambda b: [b.param(ramp(3)), b.param(np.array([2])), b.param(ramp(1)), b.const(np.int64(0))],
        {"reduction": "sum"},
    ),
}
for _kind, (_opset, _inputs, _given) in UNRANKED.items():
    add(f"{_kind}-{_opset} unranked", _opset, _inputs, engine="reshaped", variants=("unranked",), **_given)
