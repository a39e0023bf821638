"""A name in the declared output of a branch: a size of the model in its own graphs, a name of its own in a function."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import infer
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

BRANCH = """one = Constant<value_floats = [1.0]>() y = If(c) <
    then_branch = t () => (float[{0}] p) {{ p = Concat<axis = 0>(x, one) }},
    else_branch = e () => (float[{0}] q) {{ q = Concat<axis = 0>(one, x) }}>"""
FUNCTION = '<domain: "local", opset_import: ["": 17]> f (c, x) => (y) {{ {0} }}'
ROWS = {
    # id: (dim of the branches' outputs, in a function, how many findings)
    "the size of the input": ("N", False, 1),
    "another name": ("K", False, 0),
    "the same name in a function": ("N", True, 0),
    "another name in a function": ("K", True, 0),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_a_name_says(name: str) -> None:
    """Both branches give N + 1 rows, which is never N; onnxruntime runs the model whatever name they declare."""
    dim, is_called, count = ROWS[name]
    branch = BRANCH.format(dim)
    if is_called:
        proto = model(
            "(bool c, float[N] x) => (y) { y = local.f(c, x) }",
            functions=FUNCTION.format(branch),
            domains=', "local": 1',
        )
    else:
        proto = model(f"(bool c, float[N] x) => (y) {{ {branch} }}")
    inference = infer(untyped(proto))
    found = [d for d in inference.diagnostics if d.code == "GI202" and str(d.location.graph).endswith("_branch")]
    assert len(found) == 2 * count
    for rows in (0, 1, 2, 3, 5):
        feeds = {"c": np.array(True), "x": np.ones(rows, np.float32)}
        assert compare(inference, Runtime(untyped(proto)).run(feeds), {"N": rows}).wrong == []
