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
    span = inference["y"].value_range
    assert span is not None and span.lo is not None and span.hi is not None


def bounds(branch: str) -> str:
    """The span of y, which holds in a run."""
    proto = model(f"""(int64[N] x) => (y) {{
        zero = Constant<value_int = 0>() few = Constant<value_int = 16>() c = Constant<value_float = 16.0>() most = Constant<value_int = 31>()
        least = Constant<value_int = -31>() part = Constant<value_float = 0.375>() i31 = Cast<to = 6>(most)
        p = Max(x, zero) t = Less(p, few) f = Cast<to = 1>(p) {branch} y = Where(t, p, b)
    }}""")
    inference = infer(proto)
    numbers = np.array([-5, 0, 1, 15, 16, 17, 31, 32, 100, 496, 500, 5000, 2**20, 2**28])
    assert compare(inference, Runtime(proto).run({"x": numbers}), {"N": len(numbers)}).wrong == []
    span = inference["y"].value_range
    return str(span and (span.lo, span.hi))


BRANCHES = {
    "a quotient":                  ("q = Div(f, c) j = Cast<to = 7>(q) b = Min(j, most)", "(0, 31)"),
    "a logarithm":                 ("g = Log(f) j = Cast<to = 7>(g) b = Min(j, most)", "(0, 31)"),
    "no upper limit":              ("g = Log(f) b = Cast<to = 7>(g)", "(0, 43)"),
    "a falling function":          ("q = Div(c, f) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "a negative factor":           ("m = Neg(c) q = Mul(f, m) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "too large for an integer":    ("q = Mul(f, c) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "another tensor's elements":   ("k = Cast<to = 1>(x) g = Log(k) j = Cast<to = 7>(g) b = Min(j, most)", "(None, 31)"),
    "limited, and more":           ("q = Div(f, c) j = Cast<to = 7>(q) m = Min(j, most) b = Add(m, most)", "(0, 62)"),
    "limited, and less":           ("q = Div(f, c) j = Cast<to = 7>(q) m = Min(j, most) b = Add(m, least)", "(-31, 15)"),
    "limited below, and less":     ("q = Div(f, c) j = Cast<to = 7>(q) m = Min(j, most) l = Max(m, few) b = Add(l, least)", "(-15, 15)"),
    "more, and limited":           ("q = Mul(f, part) g = Log(q) j = Cast<to = 7>(g) m = Add(j, most) b = Min(m, most)", "(0, 31)"),
    "limited twice":               ("q = Div(f, c) j = Cast<to = 7>(q) m = Min(j, most) l = Min(m, few) b = Add(l, least)", "(-31, 15)"),
    "raised past its limit":       ("q = Div(f, c) j = Cast<to = 7>(q) m = Min(j, few) l = Max(m, most) b = Add(l, least)", "(0, 15)"),
    "the same twice":              ("q = Div(f, c) i = Identity(q) j = Cast<to = 7>(i) k = Identity(j) m = Min(k, few) n = Identity(m) b = Add(n, least)", "(-31, 15)"),
    "a part":                      ("q = Mul(f, part) j = Cast<to = 7>(q) m = Min(j, few) b = Add(m, least)", "(-26, 15)"),
    "a logarithm, and less":       ("q = Div(f, c) g = Log(q) j = Cast<to = 7>(g) m = Min(j, few) b = Add(m, least)", "(-31, 15)"),
    "a logarithm of a part":       ("q = Mul(f, part) g = Log(q) h = Mul(g, c) j = Cast<to = 7>(h) m = Min(j, most) b = Add(m, least)", "(-3, 15)"),
    "a logarithm of a logarithm":  ("g = Log(f) h = Log(g) j = Cast<to = 7>(h) m = Min(j, few) b = Add(m, least)", "(-30, 15)"),
    "a logarithm that may be below 0":("q = Mul(f, part) h = Mul(q, part) g = Log(h) d = Log(g) j = Cast<to = 7>(d) b = Min(j, most)", "(0, 15)"),
    "in int32":                    ("g = Log(f) j = Cast<to = 6>(g) m = Min(j, i31) n = Add(m, i31) b = Cast<to = 7>(n)", "(-2147483617, 62)"),
    "too large for int32":         ("j = Cast<to = 6>(f) m = Min(j, i31) b = Cast<to = 7>(m)", "(-2147483648, 31)"),
    "to int8":                     ("g = Log(f) j = Cast<to = 3>(g) b = Cast<to = 7>(j)", "(-128, 127)"),
    "in double":                   ("e = Cast<to = 11>(p) d = Cast<to = 11>(c) q = Div(e, d) j = Cast<to = 7>(q) m = Min(j, few) b = Add(m, least)", "(-31, 15)"),
    "from double":                 ("g = Log(f) e = Cast<to = 11>(g) h = Cast<to = 1>(e) j = Cast<to = 7>(h) m = Min(j, few) b = Add(m, least)", "(-29, 15)"),
    "times itself":                ("q = Mul(f, f) j = Cast<to = 7>(q) b = Min(j, most)", "(None, 31)"),
    "plus itself":                 ("g = Log(f) j = Cast<to = 7>(g) k = Add(j, j) b = Min(k, most)", "(None, 31)"),
    "sixteen steps":               ("g = Log(f) i0 = Identity(g) i1 = Identity(i0) i2 = Identity(i1) i3 = Identity(i2) i4 = Identity(i3) i5 = Identity(i4) i6 = Identity(i5) i7 = Identity(i6) i8 = Identity(i7) i9 = Identity(i8) i10 = Identity(i9) j = Cast<to = 7>(i10) m = Min(j, few) b = Add(m, least)", "(-29, 15)"),
    "seventeen steps":             ("g = Log(f) i0 = Identity(g) i1 = Identity(i0) i2 = Identity(i1) i3 = Identity(i2) i4 = Identity(i3) i5 = Identity(i4) i6 = Identity(i5) i7 = Identity(i6) i8 = Identity(i7) i9 = Identity(i8) i10 = Identity(i9) i11 = Identity(i10) i12 = Identity(i11) j = Cast<to = 7>(i12) m = Min(j, few) b = Add(m, least)", "None"),
    "by a part":                   ("q = Div(f, part) j = Cast<to = 7>(q) m = Min(j, most) b = Add(m, least)", "None"),
}  # fmt: skip


@pytest.mark.parametrize("case", BRANCHES.values(), ids=BRANCHES)
def test_bounds(case: tuple[str, str]) -> None:
    branch, expected = case
    assert bounds(branch) == expected
