"""Bodies whose parameters are declared with another type: onnxruntime does not load the model."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import diff
from tests.equality.runs import outputs_of
from tests.verification.models import model

LOOP = (
    "(float[N, 4] x, int64 n) => (y) <bool c = {1}> { y = Loop(n, c, x)<body = t (int64 i, bool k, float[N, 4] s)"
    " => (bool l, float[N, 4] u) { l = Identity(k) u = Neg(s) }> }"
)
SCAN = (
    "(float[N, 4] x) => (y) { y = Scan<num_scan_inputs = 1, body = t (float[4] s) => (float[4] u) { u = Neg(s) }>(x) }"
)
FEEDS = {"x": np.ones((2, 4)), "n": 2}


@pytest.mark.parametrize(
    ("text", "old", "new", "sentence"),
    [
        (LOOP, "float[N, 4] s", "int64[N, 4] s", "the second model declares s as int64, and it is float32"),
        (LOOP, "int64 i", "int32 i", "the second model declares i as int32, and it is int64"),
        (SCAN, "float[4] s", "double[4] s", "the second model declares s as float64, and it is float32"),
    ],
)
def test_a_parameter_of_another_type(text: str, old: str, new: str, sentence: str) -> None:
    first, second = model(text), model(text.replace(old, new))
    feeds = {name: value for name, value in FEEDS.items() if name in {each.name for each in first.graph.input}}
    assert outputs_of(first, feeds) is not None and outputs_of(second, feeds) is None
    assert sentence in diff(first, second, runs=0, details=False).obligations
    assert diff(first, first, runs=0, details=False).is_proved
