"""Graphs that random runs have found to be inferred wrongly, cut down to what matters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gather_infer import infer
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare

# id: (model, {input: its dims}, bindings)
CASES: dict[str, tuple[str, Mapping[str, str], list[dict[str, int]]]] = {
    # The target entry N copies M where N is 0, so -1 beside it does not make N >= 1.
    "Reshape, a computed 0 that copies a dim next to -1": (
        """(float[1, N, M] x) => (float[p, q, r, s] y) {
            shape = Shape(x) at = Constant<value = int64[1] {1}>() n = Gather(shape, at)
            minus = Constant<value = int64[1] {-1}>() three = Constant<value = int64[1] {3}>()
            target = Concat<axis = 0>(minus, at, n, three) y = Reshape(x, target)
        }""",
        {"x": "1 N M"},
        [{"N": 0, "M": 3}, {"N": 2, "M": 3}, {"N": 5, "M": 6}],
    ),
    # Where N is 0 the slice starts at the front and has an element to gather, as it has where N >= 1.
    "Slice from -N, then an index that needs an element": (
        """(float[N] x) => (float[p] y) {
            n = Shape(x) start = Neg(n) zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>()
            data = Constant<value = float[1] {7.0}>() part = Slice(data, start, one, zero, one) y = Gather(part, zero)
        }""",
        {"x": "N"},
        [{"N": 0}, {"N": 1}, {"N": 5}],
    ),
    # Where N or M is 0, it is taken out of the input and of the target, and -1 is still 16//8.
    "Reshape with allowzero, a repeated dim of 0 next to -1": (
        """(float[N, M, 16] x) => (float[p, q, r, s] y) {
            dims = Shape<start = 0, end = 2>(x) rest = Constant<value = int64[2] {-1, 8}>()
            target = Concat<axis = 0>(dims, rest) y = Reshape<allowzero = 1>(x, target)
        }""",
        {"x": "N M 16"},
        [{"N": 0, "M": 3}, {"N": 2, "M": 0}, {"N": 0, "M": 0}, {"N": 5, "M": 1}],
    ),
    "Reshape with allowzero, a repeated dim of 0 and -1 for the rest": (
        """(float[N, 2, 8] x) => (float[p, q] y) {
            dims = Shape<start = 0, end = 1>(x) rest = Constant<value = int64[1] {-1}>()
            target = Concat<axis = 0>(dims, rest) y = Reshape<allowzero = 1>(x, target)
        }""",
        {"x": "N 2 8"},
        [{"N": 0}, {"N": 3}],
    ),
}


@pytest.mark.parametrize("assume", [True, False], ids=["with assumptions", "without"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_wrong(name: str, assume: bool) -> None:
    body, inputs, bindings = CASES[name]
    proto = model(body)
    inference = infer(proto, assume=assume)
    assert inference.errors == ()
    runtime = Runtime(proto)
    for binding in bindings:
        feeds = {
            name: np.ones([binding[d] if d in binding else int(d) for d in dims.split()], np.float32)
            for name, dims in inputs.items()
        }
        result = compare(inference, runtime.run(feeds), binding)
        assert result.assumption_fails or result.wrong == [], binding
        assert assume or not result.assumption_fails


def test_an_assumption_stays_listed_when_what_rests_on_it_implies_it() -> None:
    inference = infer(model(CASES["Slice from -N, then an index that needs an element"][0]))
    assert [str(a) for a in inference.assumptions] == ["N >= 1 (node Slice#5)"]


def test_an_entry_that_may_copy_a_dim_is_assumed_not_implied() -> None:
    inference = infer(model(CASES["Reshape, a computed 0 that copies a dim next to -1"][0]))
    assert [str(a) for a in inference.assumptions] == ["N >= 1 (node Reshape#6)"]
