"""Tuples whose components cannot be distinguished: each element may address each axis, and all of them are read."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import infer
from gather_infer.validate import VerdictKind, verdicts
from tests.inference.models import model
from tests.oracle.graph_builder import REFUSALS
from tests.oracle.soundness import Runtime

HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() e = Shape(x) n = Squeeze(e) m = Add(n, n)
    two = Constant<value_ints = [-1, 2]>() low = Constant<value_int = 20>() high = Constant<value_int = 30>()"""
TUPLES = {
    # id: (nodes, the verdicts on both axes, whether the model runs with N = 3)
    "positions in pairs": (
        "r = Range(zero, m, one) i = Reshape(r, two)",
        (VerdictKind.CONDITIONAL, VerdictKind.CONDITIONAL),
        True,
    ),
    "all past the end": (
        "r = Clip(k, low, high) i = Reshape(r, two)",
        (VerdictKind.VIOLATED, VerdictKind.VIOLATED),
        False,
    ),
    "some past the end": (
        "r = Clip(k, low, high) z = Sub(r, r) c = Concat<axis = 0>(z, r) i = Reshape(c, two)",
        (VerdictKind.UNDECIDED, VerdictKind.UNDECIDED),
        False,
    ),
    "all within": ("r = Clip(k, zero, one) i = Reshape(r, two)", (VerdictKind.PROVED, VerdictKind.PROVED), True),
}


@pytest.mark.parametrize("name", TUPLES)
def test_tuples(name: str) -> None:
    """The table has 5 rows and 6 columns: of the numbers from 0 to 5 the last one is a column."""
    nodes, kinds, runs = TUPLES[name]
    text = f"(float[N] x, int64[4] k, float[5, 6] table) => (y) {{ {HEAD} {nodes} y = GatherND(table, i) }}"
    proto = model(text, opset=18)
    found = verdicts(infer(proto))
    assert tuple(v.kind for v in found) == kinds
    assert not any(v.tight for v in found if v.kind is VerdictKind.CONDITIONAL)
    runtime = Runtime(proto)
    feeds = {
        "x": np.ones(3, np.float32),
        "k": np.array([0, 1, 2, 3]),
        "table": np.ones((5, 6), np.float32),
    }
    if runs:
        runtime.run(feeds)
    else:
        with pytest.raises(REFUSALS):
            runtime.run(feeds)
