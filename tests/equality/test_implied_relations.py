"""Requirements of the first model with several alternatives, of which the others are cases of one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.equality.runs import are_equal, outputs_of, proved
from tests.verification.models import model

CUT = "f = Identity(r)", "n = Shape(k) f = Slice(r, zero, n, one)"
ONE = "f = Shape(k)", "f = Identity(one)"

CASES: dict[str, tuple[str, tuple[str, str], bool]] = {
    # the shape of x, the nodes of both models, whether they are equal
    "the other alternative is a case of it": ("b, s, s", CUT, True),
    "the other alternative is no case of it": ("b, s, t", CUT, False),
    "sizes that are never equal": ("b, s, 3", CUT, False),
    "the alternative that is a case of another": ("b, s, s", ONE, False),
    "one of two alternatives": ("b, s, t", ONE, False),
}


@pytest.mark.parametrize("name", CASES)
def test_alternatives(name: str) -> None:
    """A PRelu of rows of n elements needs a slope of 1 or n; s == 1 is a case of s == s*s, and not of s == s*t."""
    sizes, others, is_equal = CASES[name]
    inputs = f"(float[{sizes}] x, float[s] k) => (y, f) <int64[1] zero = {{0}}, int64[1] one = {{1}}>"
    nodes = "r = Flatten<axis = 1>(x) y = PRelu(r, k)"
    first, second = (model(f"{inputs} {{ {nodes} {each} }}") for each in others)
    assert proved(first, second) is is_equal
    different = 0
    for b, s, t in product((0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3)):
        bound = {"b": b, "s": s, "t": t}
        shape = [bound.get(each) or int(bound.get(each, each)) for each in sizes.split(", ")]
        feeds = {"x": np.arange(np.prod(shape)).reshape(shape), "k": np.ones(s)}
        outputs = outputs_of(first, feeds)
        if outputs is not None:
            found = outputs_of(second, feeds)
            different += found is None or not are_equal(outputs, found)
    assert bool(different) is not is_equal
