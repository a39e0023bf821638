# ruff: noqa: E501  (models as text)
"""Constants that are read at positions which depend on sizes: equal pairs, and near misses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.equality.runs import are_equal, outputs_of, proved
from tests.verification.models import model

NUMBERS = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[2] pairs = {-1, 2}, int64[3] blocks = {-1, 2, 2}, int64 start = {0}, int64 step = {1}, int64[1, 3] three = {0, 1, 2}, int64[2] column = {-1, 1}"
TABLE = "float[6, 2] t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
ROWS = "n = Shape<end=1>(x)"
HALVES = f"<{NUMBERS}, float[4] c = {{1, 2, 3, 4}}> {{ s = Add(x, c) y = Reshape(s, pairs) }}"
POSITIONS = "n = Shape<end=1>(x) e = Squeeze(n) r = Range(start, e, step)"

CASES: dict[str, tuple[str, str, bool]] = {
    # the first model, the second, whether they are equal
    "rows from the third on": (
        f"<{NUMBERS}, {TABLE}> {{ {ROWS} e = Add(n, two) y = Slice(t, two, e, zero) }}",
        f"<{NUMBERS}, float[4, 2] t = {{5, 6, 7, 8, 9, 10, 11, 12}}> {{ {ROWS} y = Slice(t, zero, n, zero) }}",
        True,
    ),
    "rows from the second on": (
        f"<{NUMBERS}, {TABLE}> {{ {ROWS} e = Add(n, one) y = Slice(t, one, e, zero) }}",
        f"<{NUMBERS}, float[4, 2] t = {{5, 6, 7, 8, 9, 10, 11, 12}}> {{ {ROWS} y = Slice(t, zero, n, zero) }}",
        False,
    ),
    "digits of a position": (
        HALVES,
        f"<{NUMBERS}, float[2, 2] c = {{1, 2, 3, 4}}> {{ b = Reshape(x, blocks) s = Add(b, c) y = Reshape(s, pairs) }}",
        True,
    ),
    "digits of a position in the other order": (
        HALVES,
        f"<{NUMBERS}, float[2, 2] c = {{1, 3, 2, 4}}> {{ b = Reshape(x, blocks) s = Add(b, c) y = Reshape(s, pairs) }}",
        False,
    ),
    "a digit that does not matter": (
        HALVES.replace("3, 4}", "1, 2}"),
        f"<{NUMBERS}, float[2] c = {{1, 2}}> {{ b = Reshape(x, pairs) y = Add(b, c) }}",
        True,
    ),
    "a digit that matters": (
        HALVES.replace("3, 4}", "1, 3}"),
        f"<{NUMBERS}, float[2] c = {{1, 2}}> {{ b = Reshape(x, pairs) y = Add(b, c) }}",
        False,
    ),
    "a digit that is 0": (
        f"<{NUMBERS}, int64[8] t = {{1, 9, 2, 9, 3, 9, 4, 9}}> {{ {POSITIONS} p = Mul(r, two) y = Gather(t, p) }}",
        f"<{NUMBERS}, int64[4] t = {{1, 2, 3, 4}}> {{ {POSITIONS} y = Gather(t, r) }}",
        True,
    ),
    "a digit that is 1": (
        f"<{NUMBERS}, int64[8] t = {{9, 1, 9, 2, 9, 3, 9, 4}}> {{ {POSITIONS} p = Mul(r, two) q = Add(p, one) y = Gather(t, q) }}",
        f"<{NUMBERS}, int64[4] t = {{1, 2, 3, 4}}> {{ {POSITIONS} y = Gather(t, r) }}",
        True,
    ),
    "a sum of positions that is no digit": (
        f"<{NUMBERS}, int64[8] t = {{1, 2, 1, 2, 1, 2, 1, 2}}> {{ {POSITIONS} c = Reshape(r, column) p = Mul(c, two) q = Add(p, three) y = Gather(t, q) }}",
        f"<{NUMBERS}> {{ {POSITIONS} c = Reshape(r, column) z = Sub(c, c) p = Add(z, three) y = Add(p, one) }}",
        False,
    ),
    "a stride that does not divide the size": (
        f"<{NUMBERS}, int64[7] t = {{1, 2, 3, 4, 5, 6, 0}}> {{ {POSITIONS} p = Mul(r, two) y = Gather(t, p) }}",
        f"<{NUMBERS}, int64[4] t = {{1, 3, 5, 7}}> {{ {POSITIONS} y = Gather(t, r) }}",
        False,
    ),
    "positions that descend": (
        f"<{NUMBERS}, int64 last = {{3}}, int64[5] t = {{1, 2, 3, 9, 8}}> {{ {POSITIONS} p = Sub(last, r) y = Gather(t, p) }}",
        f"<{NUMBERS}, int64 last = {{3}}, int64[5] t = {{5, 6, 7, 9, 8}}> {{ {POSITIONS} p = Sub(last, r) y = Gather(t, p) }}",
        False,
    ),
    "numbers that ascend from the second on": (
        f"<{NUMBERS}, int64[6] t = {{7, 0, 1, 2, 3, 4}}> {{ {POSITIONS} p = Add(r, one) y = Gather(t, p) }}",
        f"<{NUMBERS}> {{ {POSITIONS} y = Identity(r) }}",
        True,
    ),
    "numbers that do not ascend": (
        f"<{NUMBERS}, int64[6] t = {{7, 0, 1, 2, 3, 4}}> {{ {POSITIONS} y = Gather(t, r) }}",
        f"<{NUMBERS}> {{ {POSITIONS} y = Sub(r, one) }}",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_reads_of_constants(name: str) -> None:
    *texts, is_equal = CASES[name]
    first, second = (model(f"(float[N, 4] x) => (y) {text}") for text in texts)
    assert proved(first, second, dims={"N": (0, 4)}) is is_equal
    different = 0
    for n in (0, 1, 2, 3, 4):
        feeds = {"x": np.arange(n * 4).reshape(n, 4)}
        outputs = outputs_of(first, feeds)
        if outputs is not None:
            others = outputs_of(second, feeds)
            different += others is None or not are_equal(outputs, others)
    assert bool(different) is not is_equal


FACTORS: dict[str, tuple[str, bool]] = {
    # a node of the first model, whether the models are equal
    "a factor that is at least 1": ("f = Gather(x, row)", True),
    "a factor that may be 0": ("f = Relu(x)", False),
}


@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_equations(name: str) -> None:
    """The Reshape needs N*M == N*K + N*L, which is M == K + L unless N is 0."""
    node, is_equal = FACTORS[name]
    inputs = "(float[N, M] x, float[N, K] u, float[N, L] v) => (y, f) <int64 row = {0}>"
    first = model(f"{inputs} {{ w = Concat<axis=1>(u, v) s = Shape(w) {node} y = Reshape<allowzero=1>(x, s) }}")
    second = model(f"{inputs} {{ y = Identity(x) {node} }}")
    assert proved(first, second) is is_equal
    different = 0
    for n, m, k, l in product((0, 1, 2), (0, 1, 3), (0, 1), (0, 2)):  # noqa: E741
        feeds = {"x": np.ones((n, m)), "u": np.ones((n, k)), "v": np.ones((n, l))}
        outputs = outputs_of(first, feeds)
        if outputs is not None:
            others = outputs_of(second, feeds)
            different += others is None or not are_equal(outputs, others)
    assert bool(different) is not is_equal
