"""Accesses in bodies of Scan and Loop that run once for each row: judged for all iterations, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from gather_infer import infer
from gather_infer.validate import verdicts
from tests.inference.models import model
from tests.oracle.soundness import Runtime

HEAD = "zero = Constant<value_int = 0>() one = Constant<value_int = 1>() two = Constant<value_int = 2>()"
ROWS = {
    # id: (what the state becomes, what is gathered by, the condition, the most rows of x)
    "a counter": ("l = Add(k, one)", "k", "T <= 9", 9),
    "a counter by two": ("l = Add(k, two)", "k", "T <= 5", 5),
    "a counter and one": ("l = Add(k, one) i = Add(k, one)", "i", "T <= 8", 8),
    "twice a counter": ("l = Add(k, one) i = Mul(k, two)", "i", "T <= 5", 5),
    "a counter down": ("l = Sub(k, one)", "k", "T <= 10", 10),
    "nothing that changes": ("l = Identity(k)", "k", "proved", 99),
}


@pytest.mark.parametrize("op", ["Scan", "Loop"])
@pytest.mark.parametrize("name", ROWS)
def test_an_index_that_counts_the_rows(name: str, op: str) -> None:
    state, index, said, most = ROWS[name]
    if op == "Scan":
        body = f"b (int64 k, float e) => (int64 l, float r) {{ {state} g = Gather(t, {index}) r = Add(g, e) }}"
        run = f"l, y = Scan<num_scan_inputs = 1, body = {body}>(zero, x)"
    else:
        made = f"d = Identity(c) {state} r = Gather(t, {index})"
        body = f"b (int64 j, bool c, int64 k) => (bool d, int64 l, float r) {{ {made} }}"
        run = f"s = Shape(x) n = Squeeze(s) l, y = Loop<body = {body}>(n, , zero)"
    proto = model(f"(float[9] t, float[T] x) => (y) {{ {HEAD} {run} }}")
    found = verdicts(infer(proto))[-1]
    assert (found.condition or str(found.kind)) == said
    assert found.tight or not found.condition
    runtime = Runtime(proto)
    for rows in (int(op == "Scan"), 1, most - 1, most):  # onnxruntime's Scan takes no empty input
        runtime.run({"t": np.zeros(9, np.float32), "x": np.zeros(rows, np.float32)})
    if said != "proved":
        with pytest.raises((Fail, InvalidArgument, RuntimeException)):
            runtime.run({"t": np.zeros(9, np.float32), "x": np.zeros(most + 1, np.float32)})
