# ruff: noqa: E501  (models as text)
"""Operators of constants: `diff` proves that they are what onnxruntime computes of them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest

from tests.equality.runs import constant_model, proved, results
from tests.verification.models import model

C = f"float[2, 3] c = {{{', '.join(map(str, range(1, 7)))}}}"
D = f"float[2, 3, 4] d = {{{', '.join(map(str, range(1, 25)))}}}"
ROW = "float[3] e = {7.0, 8.0, 9.0}"
ONES = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] many = {-100}, int64[1] last = {-1}"

COMPUTED: dict[str, str] = {
    # movement of constants: the weights and the nodes that compute y
    "Transpose": f"<{D}> {{ y = Transpose<perm=[1, 2, 0]>(d) }}",
    "Transpose without a permutation": f"<{D}> {{ y = Transpose(d) }}",
    "Expand to a larger rank": f"<{ROW}, int64[2] s = {{3, 3}}> {{ y = Expand(e, s) }}",
    "Expand of an inner axis": f"<{C}, int64[2] s = {{0, 1}}, int64[3] t = {{2, 4, 3}}, int64[1] a = {{1}}> {{ u = Unsqueeze(c, a) y = Expand(u, t) }}",
    "Tile": f"<{C}, int64[2] r = {{2, 3}}> {{ y = Tile(c, r) }}",
    "Slice backwards along one axis": f"<{D}, {ONES}> {{ y = Slice(d, two, many, one, last) }}",
    "Slice with steps": f"<{D}, int64[2] s = {{3, 0}}, int64[2] t = {{-100, 3}}, int64[2] a = {{2, 1}}, int64[2] k = {{-2, 2}}> {{ y = Slice(d, s, t, a, k) }}",
    "Slice from the end": f"<{D}, int64[1] s = {{-2}}, int64[1] t = {{9223372036854775807}}, int64[1] a = {{-1}}> {{ y = Slice(d, s, t, a) }}",
    "Slice from before the begin": f"<{D}, {ONES}> {{ y = Slice(d, many, two, two) }}",
    "the last part of a Split": f"<{D}, int64[3] s = {{1, 2, 1}}> {{ p, q, y = Split<axis=2>(d, s) }}",
    "the middle part of a Split": f"<{D}, int64[3] s = {{1, 2, 1}}> {{ p, y, r = Split<axis=-1>(d, s) }}",
    "Gather by a matrix": f"<{D}, int64[2, 2] i = {{0, 2, -1, -3}}> {{ y = Gather<axis=1>(d, i) }}",
    "Gather of a scalar": f"<{D}, int64 i = {{-2}}> {{ y = Gather<axis=2>(d, i) }}",
    "GatherElements": f"<{C}, int64[1, 3] i = {{-1, 2, 0}}> {{ y = GatherElements<axis=1>(c, i) }}",
    "GatherElements with a larger axis": f"<{C}, int64[4, 3] i = {{-1, 1, 0, -2, 0, 1, 0, 1, -1, 1, 0, 0}}> {{ y = GatherElements(c, i) }}",
    "GatherND": f"<{D}, int64[2, 2] i = {{1, -1, 0, 2}}> {{ y = GatherND(d, i) }}",
    "GatherND with batch axes": f"<{D}, int64[2, 2, 1] i = {{-1, 0, -3, 1}}> {{ y = GatherND<batch_dims=1>(d, i) }}",
    "Concat of the last axis": f"<{C}, float[2, 2] f = {{20.0, 21.0, 22.0, 23.0}}> {{ y = Concat<axis=-1>(c, f) }}",
    "Concat of repeated rows": f"<{C}, {ROW}, int64[2] s = {{3, 3}}> {{ f = Expand(e, s) y = Concat<axis=0>(f, c) }}",
    "Pad": f"<{C}, int64[4] p = {{1, 0, 2, 3}}, float v = {{5.0}}> {{ y = Pad(c, p, v) }}",
    "Pad without a value": f"<{C}, int64[4] p = {{0, 2, 1, 0}}> {{ y = Pad(c, p) }}",
    "Pad of axes": f"<{C}, int64[4] p = {{1, 0, 2, 3}}, float v = {{5.0}}, int64[2] a = {{1, 0}}> {{ y = Pad(c, p, v, a) }}",
    "Pad of three axes": f"<{D}, int64[6] p = {{1, 2, 3, 2, 3, 4}}, float v = {{5.0}}> {{ y = Pad(d, p, v) }}",
    "Reshape of three axes": f"<{D}, int64[3] s = {{4, 2, 3}}> {{ y = Reshape(d, s) }}",
    "Reshape into a vector and back": f"<{D}, int64[1] m = {{-1}}, int64[3] s = {{3, 4, 2}}> {{ f = Reshape(d, m) t = Transpose(d) g = Reshape(t, m) h = Sub(f, g) y = Reshape(h, s) }}",
    "Reshape of a Transpose": f"<{D}, int64[2] s = {{6, 4}}> {{ t = Transpose<perm=[2, 0, 1]>(d) y = Reshape(t, s) }}",
    "Reshape of one axis into three": f"<int64[1] m = {{-1}}, {D}, int64[4] s = {{2, 3, 2, 2}}> {{ t = Transpose(d) f = Reshape(t, m) y = Reshape(f, s) }}",
    "Flatten": f"<{D}> {{ t = Transpose<perm=[0, 2, 1]>(d) y = Flatten<axis=2>(t) }}",
    "ConstantOfShape": "<int64[2] s = {2, 3}> { y = ConstantOfShape(s) }",
    "a sum of operands of two ranks": f"<{ROW}, float[3, 3] f = {{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}}> {{ y = Sub(f, e) }}",
    "Where by a row": "<bool[2] k = {1, 0}, float[2, 2] f = {1.0, 2.0, 3.0, 4.0}, float[2, 1] g = {5.0, 6.0}> { y = Where(k, f, g) }",
    "equal rows that differ in one element": "<float[2, 2] f = {1.0, 2.0, 1.0, 3.0}> { y = Identity(f) }",
    "a constant that ends as it begins": "<float[3] f = {1.0, 2.0, 1.0}> { y = Identity(f) }",
    "an Add of a negative number": "<int8[3] a = {120, 121, 122}, int8[1] b = {10}> { s = Add(a, b) y = Cast<to=1>(s) }",
}  # fmt: skip

NUMBERS: dict[str, str] = {
    # integer arithmetic on r = 0, 1, ..., 1499: the numbers, and what is added to make them positions
    "Div rounds towards 0": "b = Sub(r, five) p = Div(b, three) q = Add(p, ten)",
    "Mod": "b = Sub(r, five) p = Mod(b, three) q = Add(p, ten)",
    "Mod with the sign of the dividend": "b = Sub(r, five) p = Mod<fmod=1>(b, three) q = Add(p, ten)",
    "Neg": "p = Neg(r) q = Add(p, large)",
    "Mul": "p = Mul(r, three) q = Div(p, ten)",
    "Max": "q = Max(r, ten)",
    "Min": "q = Min(ten, r)",
    "Less": "b = Less(r, ten) q = Cast<to=7>(b)",
    "LessOrEqual": "b = LessOrEqual(r, ten) q = Cast<to=7>(b)",
    "Greater": "b = Greater(r, ten) q = Cast<to=7>(b)",
    "GreaterOrEqual": "b = GreaterOrEqual(ten, r) q = Cast<to=7>(b)",
    "Equal": "b = Equal(r, ten) q = Cast<to=7>(b)",
    "a Cast that wraps around": "b = Cast<to=3>(r) p = Cast<to=7>(b) q = Add(p, large)",
    "a Cast to an unsigned type": "p = Neg(r) b = Cast<to=2>(p) q = Cast<to=7>(b)",
    "a product of int8": "b = Cast<to=3>(r) m = Mul(b, b) p = Cast<to=7>(m) q = Add(p, large)",
    "a quotient of int32": "b = Cast<to=6>(r) f = Cast<to=6>(factor) m = Mul(b, f) d = Div(m, f) p = Cast<to=7>(d) q = Add(p, large)",
    "negative indices": "b = Add(r, one) p = Neg(b) q = Add(p, zero)",
    "Abs": "b = Sub(r, ten) q = Abs(b)",
}  # fmt: skip


def changed(values: Any) -> Iterator[Any]:
    """The values with another first, and another last element."""
    for at in {0, values.size - 1}:
        other = values.copy()
        other.flat[at] = 0.5 if values.flat[at] != 0.5 else 1
        yield other


@pytest.mark.parametrize("name", COMPUTED)
def test_a_constant_is_what_a_run_computes(name: str) -> None:
    computed = model(f"() => (y) {COMPUTED[name]}")
    (expected,) = results(computed, {})
    assert proved(computed, constant_model("y", expected))
    for other in changed(expected):
        assert not proved(computed, constant_model("y", other))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_what_a_run_computes(name: str) -> None:
    """They are looked up in a table, which shows them all: more than the inference computes ahead."""
    weights = "int64 zero = {0}, int64 one = {1}, int64 three = {3}, int64 five = {5}, int64 ten = {10}, int64 large = {1500}, int64 n = {1500}, int64 factor = {30000000}"
    computed = model(f"() => (y) <{weights}> {{ r = Range(zero, n, one) {NUMBERS[name]} y = Gather(table, q) }}")
    table = np.random.default_rng(1).permutation(3200).astype(np.float32)
    computed.graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    (expected,) = results(computed, {})
    assert proved(computed, constant_model("y", expected))
    for other in changed(expected):
        assert not proved(computed, constant_model("y", other))
