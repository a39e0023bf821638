"""Spans and verdicts of an index that is made of what Where chooses, under tests of the same tensor or of another."""

from __future__ import annotations

import pytest

from tests.inference.lineage_runs import Row, check, said

TABLE: dict[str, Row] = {
    "wrapped, limited above before": ("c = Min(x, eight) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "..., 8", "x >= -18"),
    "wrapped, limited below before": ("c = Max(x, neg) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, ...", "x < 9"),
    # id: (nodes, span of y, the verdict or its conditions)
    "wrapped": ("t = Less(x, zero) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "wrapped, other test": ("t = GreaterOrEqual(x, zero) q = Add(nine, x) y = Where(t, x, q)", "", "-18 <= x < 9"),
    "wrapped, mirrored": ("t = Greater(zero, x) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "wrapped, mirrored or equal": ("t = LessOrEqual(zero, x) q = Add(x, nine) y = Where(t, x, q)", "", "-18 <= x < 9"),
    "wrapped, negated": ("t = Less(x, zero) n = Not(t) q = Add(x, nine) y = Where(n, x, q)", "", "-18 <= x < 9"),
    "wrapped, by -1": ("t = LessOrEqual(x, neg) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "wrapped, by greater": ("t = Greater(x, neg) q = Add(x, nine) y = Where(t, x, q)", "", "-18 <= x < 9"),
    "wrapped by less": ("t = Less(x, zero) q = Add(x, eight) y = Where(t, q, x)", "", "-17 <= x < 9"),
    "wrapped by more": ("t = Less(x, zero) q = Add(x, far) y = Where(t, q, x)", "", "undecided"),
    "wrapped, moved before": ("b = Add(x, one) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "", "-19 <= x < 8"),
    "wrapped at one": ("t = Less(x, one) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 0"),
    "wrapped the wrong way": ("t = Less(x, zero) q = Add(x, nine) y = Where(t, x, q)", "", "-9 <= x < 0"),
    "wrapped, another test": ("t = Less(k, zero) q = Add(x, nine) y = Where(t, q, x)", "", "-9 <= x < 0"),
    "wrapped and plus": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) y = Add(r, one)", "", "undecided"),
    "wrapped argmax": ("b = Sub(a, nine) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "0, 8", "proved"),
    "wrapped, limited": ("c = Clip(x, neg, eight) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, 8", "proved"),
    "half of a": ("t = Less(a, four) q = Add(a, four) y = Where(t, q, a)", "4, 8", "proved"),
    "half of a, above": ("t = Greater(a, four) q = Sub(a, four) y = Where(t, q, a)", "0, 4", "proved"),
    "half of a, sums": ("t = Less(a, four) q = Add(a, p) r = Min(q, eight) y = Where(t, q, p)", "0, 11", "undecided"),
    "half of a, differences": ("t = GreaterOrEqual(a, eight) q = Sub(a, p) y = Where(t, q, p)", "0, 8", "proved"),
    "two inputs chosen": ("t = Less(a, four) y = Where(t, x, x)", "", "-9 <= x < 9"),
    "minus in half": ("t = Greater(x, eight) m = Min(x, big) q = Sub(m, eight) y = Where(t, q, zero)", "", "-1 <= x < 17"),
    "shifted in half": ("t = Greater(p, four) q = Sub(x, four) r = Sub(p, four) y = Where(t, r, p)", "0, 4", "proved"),
    "shifted in half, of an input": ("m = Max(x, zero) t = Less(m, ten) q = Add(m, neg) y = Where(t, q, eight)", "-1, 8", "proved"),
    "two conditions": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) s = GreaterOrEqual(r, nine) e = Sub(r, nine) y = Where(s, e, r)", "", "enough: 0 <= x < 9"),
    "sum of a and another in half": ("t = Less(a, four) q = Add(p, a) y = Where(t, q, zero)", "0, 11", "undecided"),
    "difference in half": ("t = Less(a, four) q = Sub(p, a) y = Where(t, q, zero)", "-3, 8", "proved"),
    "sum with an input in half": ("t = Less(a, four) q = Add(x, a) y = Where(t, q, zero)", "", "undecided"),
    "doubled in half": ("t = Less(a, four) q = Add(a, a) y = Where(t, q, zero)", "0, 6", "proved"),
    "wrapped, cast to int32": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) y = Cast<to = 6>(r)", "", "enough: 0 <= x < 9"),
    "wrapped and limited, cast to int32": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) c = Clip(r, neg, nine) y = Cast<to = 6>(c)", "-1, 9", "enough: 0 <= x < 9"),
    "of any rank, chosen": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) t = Less(f, zero) q = Add(f, nine) y = Where(t, q, f)", "", "-18 <= x < 9"),
    "wrapped, another shifted": ("t = Less(x, zero) q = Add(k, nine) y = Where(t, q, x)", "", "-18 <= k < 0 and x < 9"),
    "wrapped, another kept": ("t = Less(x, zero) q = Add(x, nine) y = Where(t, q, k)", "", "x >= -18 and -9 <= k < 9"),
    "wrapped, limited before, by more": ("c = Clip(x, neg) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, ...", "x < 9"),
    "wrapped, twice": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) s = Less(r, zero) p2 = Add(r, nine) y = Where(s, p2, r)", "", "enough: 0 <= x < 9"),
    "wrapped, of two": ("c = Concat<axis = 0>(x, k) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "", "-9 <= x < 0 and -9 <= k < 0"),
    "wrapped by sizes": ("e = Shape(x) s = Squeeze(e) t = Less(x, zero) q = Add(x, s) y = Where(t, q, x)", "", "undecided"),
    "wrapped in int32": ("o = Cast<to = 6>(zero) n = Cast<to = 6>(nine) t = Less(w, o) q = Add(w, n) y = Where(t, q, w)", "-2147483639, 2147483647", "-18 <= w < 9"),
    "wrapped int32 plus": ("o = Cast<to = 6>(zero) n = Cast<to = 6>(nine) b = Add(w, n) t = Less(b, o) q = Add(b, n) y = Where(t, q, b)", "-2147483639, 2147483647", "-27 <= w < -9"),
    "wrapped by minus": ("m = Neg(nine) t = Less(x, zero) q = Sub(x, m) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "chosen, a number": ("t = Less(x, four) y = Where(t, four, x)", "4, ...", "x < 9"),
    "chosen, a number above": ("t = Greater(x, eight) y = Where(t, eight, x)", "..., 8", "x >= -9"),
    "chosen, a number below": ("t = Less(x, zero) y = Where(t, zero, x)", "0, ...", "x < 9"),
    "chosen, numbers": ("t = Less(x, zero) y = Where(t, one, nine)", "1, 9", "undecided"),
    "chosen of limited": ("t = Less(k, zero) c = Clip(x, zero, four) d = Clip(x, two, eight) y = Where(t, c, d)", "0, 8", "proved"),
    "chosen of a and x": ("t = Less(k, zero) y = Where(t, a, x)", "", "-9 <= x < 9"),
    "chosen of a and x limited": ("t = Less(k, zero) c = Clip(x, zero, four) y = Where(t, a, c)", "0, 8", "proved"),
    "chosen, past both ends": ("t = Less(k, zero) q = Add(a, nine) m = Sub(a, far) y = Where(t, q, m)", "-18, 17", "violated"),
    "chosen, past both ends, numbers": ("t = Less(k, zero) m = Sub(neg, nine) y = Where(t, nine, m)", "-10, 9", "violated"),
    "chosen of two parts": ("t = Less(k, zero) c = Concat<axis = 0>(a, p) tt = Concat<axis = 0>(t, t) d = Concat<axis = 0>(p, a) y = Where(tt, c, d)", "0, 8", "proved"),
    "half of a at the ends": ("t = LessOrEqual(a, eight) q = Sub(a, eight) y = Where(t, q, nine)", "-8, 9", "undecided (proved)"),
    "half of a, none below": ("t = Less(a, zero) y = Where(t, nine, a)", "0, 9", "undecided (proved)"),
    "half of p shifted twice": ("t = Less(p, four) q = Add(p, one) r = Add(q, one) y = Where(t, r, p)", "2, 10", "x < 7 (proved)"),
    "test of a difference": ("d = Sub(a, p) t = Less(d, zero) n = Neg(d) y = Where(t, n, d)", "-8, 8", "proved"),
    "test by another tensor": ("t = Less(a, p) y = Where(t, a, p)", "0, 8", "proved"),
    "test, not not": ("t = Less(a, four) n = Not(t) m = Not(n) q = Add(a, four) y = Where(m, q, a)", "4, 8", "proved"),
    "test, not of a bool": ("b = Cast<to = 9>(k) t = Not(b) y = Where(t, a, p)", "0, 8", "proved"),
    "test of int32": ("f = Cast<to = 6>(four) b = Cast<to = 6>(a) t = Less(b, f) q = Add(b, f) y = Where(t, q, b)", "4, 8", "proved"),
    "sum in half, floats between": ("t = Less(a, four) q = Sub(a, a) y = Where(t, q, zero)", "-3, 3", "proved"),
    "wrapped and limited": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) y = Clip(r, zero, nine)", "0, 9", "enough: 0 <= x < 9"),
    "size repeated, chosen": ("e = Shape(x) s = Squeeze(e) t = Less(k, zero) y = Where(t, s, zero)", "0, N", "enough: N <= 8"),
    "wrapped range": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) b = Sub(r, nine) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "0, max(N - 10, min(0, N - 9) + 8)", "enough: N <= 18"),
    "wrapped range from below 0": ("e = Shape(x) s = Squeeze(e) n = Neg(nine) l = Sub(s, nine) b = Range(n, l, one) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "0, max(N - 10, min(0, N - 9) + 8)", "enough: N <= 18"),
    "wrapped of a cast": ("f = Cast<to = 7>(w) t = Less(f, zero) q = Add(f, nine) y = Where(t, q, f)", "-2147483639, 2147483647", "-18 <= w < 9"),
    "wrapped of a plus that wraps": ("f = Cast<to = 6>(nine) o = Cast<to = 6>(zero) b = Add(w, f) c = Cast<to = 7>(b) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "-2147483639, 2147483647", "undecided"),
    "wrapped uint8": ("f = Cast<to = 2>(nine) b = Sub(byte, f) c = Cast<to = 7>(b) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, 255", "9 <= byte < 18"),
    "difference in the other half": ("t = Less(a, four) q = Sub(a, p) y = Where(t, zero, q)", "-4, 8", "proved"),
    "sum in the other half": ("t = GreaterOrEqual(a, four) q = Add(p, a) y = Where(t, zero, q)", "0, 11", "undecided"),
    "limited sum in half": ("c = Clip(x, zero, four) t = Less(c, two) q = Add(c, p) y = Where(t, q, zero)", "0, 9", "undecided (proved)"),
    "half of uint8": ("f = Cast<to = 2>(nine) c = Cast<to = 7>(byte) t = Less(c, nine) y = Where(t, c, zero)", "0, 8", "proved"),
    "test with a size": ("e = Shape(x) s = Squeeze(e) t = Less(x, s) y = Where(t, x, s)", "..., N", "enough: -9 <= x < 9 and N <= 8"),
    "test from above with a size": ("e = Shape(x) s = Squeeze(e) m = Max(x, zero) t = GreaterOrEqual(m, s) y = Where(t, zero, m)", "0, max(0, N - 1)", "x < 9"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_what_is_said(name: str) -> None:
    said(TABLE[name])


@pytest.mark.parametrize("name", TABLE)
def test_what_is_said_holds(name: str) -> None:
    check(name, TABLE[name])
