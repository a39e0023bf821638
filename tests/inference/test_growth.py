"""Functions that grow with a tensor, in the branch where a test of that tensor holds: held against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import infer
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare

GROWING = """(int64[N] any) => (y) {{
    zero = Constant<value_int = 0>() most = Constant<value_int = 1125899906842624>() low = Max(any, zero) x = Min(low, most)
    few = Constant<value_int = {few}>() one = Constant<value_float = {scale}>() two = Constant<value_float = {base}>()
    three = Constant<value_float = {factor}>() more = Constant<value_int = {more}>() t = {test}(x, few)
    f = Cast<to = {kind}>(x) a = Cast<to = 1>(f) b = Div(a, one) c = {function}(b) d = Div(c, two) e = Mul(three, d)
    j = Cast<to = 7>(e) s = Add(more, j) r = Max(s, more) y = Where(t, {branches})
}}"""


@pytest.mark.parametrize("seed", range(24))
def test_ends_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    few, is_less = int(rng.integers(1, 60)), bool(rng.integers(2))
    proto = model(
        GROWING.format(
            few=few,
            scale=rng.choice([0.25, 3.0, 16.0, float(few)]),
            base=rng.uniform(0.1, 5),
            factor=rng.uniform(0.1, 40),
            more=int(rng.integers(-9, 30)),
            test="Less" if is_less else "GreaterOrEqual",
            kind=rng.choice([1, 11]),
            function="Log" if seed % 4 else "Identity",
            branches=("x, s" if is_less else "s, x") if seed % 3 else ("x, r" if is_less else "r, x"),
        )
    )
    numbers = [0, 1, few - 1, few, few + 1, *np.exp2(rng.uniform(0, 50, 40)).astype(int)]
    inference = infer(proto)
    result = compare(inference, Runtime(proto).run({"any": np.array(numbers, np.int64)}), {"N": len(numbers)})
    assert result.wrong == []
    span = inference["y"].span
    assert span is not None and span.lo is not None and span.hi is not None


def bounds(branch: str, *, opset: int = 17) -> str:
    body = f"""(int64[N] x) => (y) {{
        zero = Constant<value_int = 0>() few = Constant<value_int = 16>() c = Constant<value_float = 16.0>() most = Constant<value_int = 31>()
        n = Constant<value_ints = [2]>() more = Expand(most, n)
        p = Max(x, zero) t = Less(p, few) f = Cast<to = 1>(p) {branch} y = Where(t, p, b)
    }}"""
    span = infer(model(body))["y"].span
    return str(span and (span.lo, span.hi))


BRANCHES = {
    "a quotient":                  ("q = Div(f, c) j = Cast<to = 7>(q) b = Min(j, most)", "(0, 31)"),
    "a logarithm":                 ("g = Log(f) j = Cast<to = 7>(g) b = Min(j, most)", "(0, 31)"),
    "no upper limit":              ("g = Log(f) b = Cast<to = 7>(g)", "(0, 43)"),
    "a falling function":          ("q = Div(c, f) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "a negative factor":           ("m = Neg(c) q = Mul(f, m) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "too large for an integer":    ("q = Mul(f, c) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "another tensor's elements":   ("k = Cast<to = 1>(x) g = Log(k) j = Cast<to = 7>(g) b = Min(j, most)", "(None, 31)"),
}  # fmt: skip


@pytest.mark.parametrize("case", BRANCHES.values(), ids=BRANCHES)
def test_bounds(case: tuple[str, str]) -> None:
    branch, expected = case
    assert bounds(branch) == expected
