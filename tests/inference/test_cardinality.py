"""The number of true elements, told by NonZero and by a sum: held against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import infer
from gather_infer.tensor import SymbolicTensor
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare

INPUTS = "(float[N, M] x, float[N, M] z) => (y)"
HEAD = """zero = Constant<value_float = 0.0>() all = Constant<value_ints = [-1]>() axis = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>()
    b = Greater(x, zero) w = NonZero(b) at = Transpose(w)"""

COUNTS = {
    # id: what comes after the mask b, where its elements are; the sum is s
    "as exported":    "v = Reshape(b, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
    "to a scalar":    "v = Reshape(b, all) i = Cast<to = 7>(v) s = ReduceSum<keepdims = 0>(i)",
    "cast first":     "i = Cast<to = 7>(b) v = Flatten<axis = 0>(i) u = Squeeze(v, axis) s = ReduceSum(u, axis)",
    "of all axes":    "i = Cast<to = 7>(b) s = ReduceSum<keepdims = 0>(i)",
    "in other order": "p = Transpose(b) c = Identity(p) v = Reshape(c, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
}  # fmt: skip

OTHERS = {
    "of other bools":   "o = Greater(z, zero) v = Reshape(o, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
    "of a part":        "k = Slice(b, axis, one, axis) v = Reshape(k, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
    "of repetitions":   "t = Concat<axis = 0>(b, b) v = Reshape(t, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
    "the other way":    "n = Not(b) v = Reshape(n, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
    "of each row":      "i = Cast<to = 7>(b) r = ReduceSum<keepdims = 0>(i, one) s = Slice(r, axis, one)",
    "of the numbers":   "a = Abs(x) v = Reshape(a, all) i = Cast<to = 7>(v) s = ReduceSum(i, axis)",
}  # fmt: skip


def checked(body: str) -> bool:
    """Whether the sum is known to be the number of places; nothing that is inferred may be wrong."""
    proto = model(f"{INPUTS} {{ {HEAD} {body} f = Reshape(s, all) y = Expand(zero, f) }}")
    inference = infer(proto)
    assert inference.errors == ()
    runtime, rng = Runtime(proto), np.random.default_rng(1)
    for n, m in ((3, 4), (1, 7), (5, 5), (1, 1)):
        feeds = {name: rng.normal(0.5, 1, (n, m)).astype(np.float32) for name in "xz"}
        assert compare(inference, runtime.run(feeds), {"N": n, "M": m}).wrong == []
    y, at = inference["y"], inference["at"]
    assert isinstance(y, SymbolicTensor) and isinstance(at, SymbolicTensor) and at.shape is not None
    return y.shape == at.shape[:1]


@pytest.mark.parametrize("body", COUNTS.values(), ids=COUNTS)
def test_the_sum_is_the_number_of_places(body: str) -> None:
    assert checked(body)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_other_sums_are_not(body: str) -> None:
    assert not checked(body)


def test_a_sum_of_floats_need_not_be_the_number_of_places() -> None:
    """float32 holds no odd number above 2^24."""
    proto = model("""(bool[N] b) => (w, s) {
        axis = Constant<value_ints = [0]>() w = NonZero(b) i = Cast<to = 1>(b) s = ReduceSum(i, axis) }""")
    inference = infer(proto)
    size = (1 << 24) + 3
    assert compare(inference, Runtime(proto).run({"b": np.ones(size, bool)}), {"N": size}).wrong == []
