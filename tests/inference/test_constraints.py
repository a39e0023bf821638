"""Which constraints are listed: what a run breaks that fails, unless what is listed beside them says it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from gather_infer import infer
from gather_infer.symbolic import substitute
from gather_infer.trail import Constraint
from tests.inference.models import model
from tests.oracle.soundness import Runtime

FOUND = "p = NonZero(x) ax = Constant<value = int64[1] {0}>() c = Squeeze(p, ax) d = Cast<to = 1>(c)"
FIVE = "e = Constant<value = int64[1] {5}>() t = Slice(d, ax, e)"


RELATIONS = {"==": int.__eq__, "<=": int.__le__}


def _holds(constraint: Constraint, sizes: Mapping[str, int]) -> bool:
    left, right = substitute(constraint.left, sizes), substitute(constraint.right, sizes)
    assert isinstance(left, int) and isinstance(right, int), "every symbol has a size"
    return RELATIONS[constraint.relation](left, right)


def test_a_node_that_learns_what_it_demands_lists_it_where_nobody_else_says_it() -> None:
    proto = model(f"(float[N] x) => (float[5] y) {{ {FOUND} {FIVE} y, i = TopK(t, e) }}")
    inference, runtime = infer(proto), Runtime(proto)
    (found,) = inference.causes
    for n, nonzero in ((5, 5), (7, 5), (7, 7), (0, 0), (1, 1), (4, 4), (7, 4)):
        feeds = {"x": (np.arange(n) < nonzero).astype(np.float32)}
        is_legal = all(_holds(c, {"N": n, found: nonzero}) for c in inference.constraints)
        assert is_legal == (nonzero >= 5)
        if is_legal:
            runtime.run(feeds)
        else:
            with pytest.raises((ort_errors.Fail, ort_errors.InvalidArgument)):
                runtime.run(feeds)
