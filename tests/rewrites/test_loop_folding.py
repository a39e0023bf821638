# ruff: noqa: E501
"""Loops of constants, which are evaluated."""

from __future__ import annotations

import pytest

from gather_infer.passes.rewrites import loop_folding
from tests.rewrites.table import Case, judge

BODY = "<body = b (int64 i, bool d, int64[3] s) => (bool e, int64[3] t) { e = Identity(d)"
STEP = BODY + " u = Unsqueeze(i, a) v = Mul(u, k) t = ScatterElements<axis = 0>(s, u, v) }>"
HELD = "int64[1] a = {0}, int64[1] k = {5}, int64[3] o = {0, 0, 7}, int64 m = {2}, bool c = {1}"

CASES = {
    "a range": Case(
        "fold-loop",
        f"g (int64[3] x) => (int64[3] y) <{HELD}> {{ r = Loop(m, c, o) {STEP} y = Add(x, r) }}",
        "g (int64[3] x) => (int64[3] y) <int64[3] r = {0, 5, 7}> { y = Add(x, r) }",
        near={
            "a state that is not constant": f"g (int64[3] x) => (int64[3] y) <{HELD}> {{ y = Loop(m, c, x) {STEP} }}",
            "a body that reads another value": f"g (int64[3] x) => (int64[3] y) <{HELD}> {{ y = Loop(m, c, o) {BODY} t = Add(s, x) }}> }}",
            "a body that reads another value, and no state": f"g (int64[3] x) => (int64[3] y) <{HELD}> {{ y = Loop(m, c, o) {BODY} u = Unsqueeze(i, a) t = Add(u, x) }}> }}",
            "an operator that rounds": """g (float[3] x) => (float[3] y) <float[3] o = {1, 2, 3}, int64 m = {2}> {
                r = Loop(m, "", o) <body = b (int64 i, bool d, float[3] s) => (bool e, float[3] t) { e = Identity(d) t = Tanh(s) }> y = Add(x, r) }""",
            "a random operator": """g (float[3] x) => (float[3] y) <float[3] o = {1, 2, 3}, int64 m = {2}> {
                r = Loop(m, "", o) <body = b (int64 i, bool d, float[3] s) => (bool e, float[3] t) {
                    e = Identity(d) n = RandomUniform<shape = [3]>() z = Mul(n, s) t = Sub(z, z) }> w = Add(x, r) z = Sub(w, r) y = Sub(z, z) }""",
            "a body with a body": f"""g (int64[3] x) => (int64[3] y) <{HELD}> {{ r = Loop(m, c, o) {BODY}
                t = If(d) <then_branch = q () => (int64[3] f) {{ f = Neg(s) }}, else_branch = w () => (int64[3] h) {{ h = Abs(s) }}> }}> y = Add(x, r) }}""",
            "a condition that is not constant": f"g (int64[3] x, bool q) => (int64[3] y) <{HELD}> {{ r = Loop(m, q, o) {STEP} y = Add(x, r) }}",
            "many steps": f'g (int64[3] x) => (int64[3] y) <int64[3] o = {{0, 0, 7}}, int64 m = {{{loop_folding.MAX_STEPS}}}> {{ r = Loop(m, "", o) {BODY} t = Neg(s) }}> y = Add(x, r) }}',
            "values that grow": """g (int64 x) => (int64[N] y) <int64[1] o = {1}, int64 m = {21}> {
                r = Loop(m, "", o) <body = b (int64 i, bool d, int64[K] s) => (bool e, int64[L] t) { e = Identity(d) t = Concat<axis = 0>(s, s) }>
                y = Add(x, r) }""",
            "a number that is not declared a scalar": f"""g (int64[3] x) => (int64[3] y) <{HELD}> {{
                r = Loop(m, c, o) <body = b (int64[1] i, bool d, int64[3] s) => (bool e, int64[3] t) {{ e = Identity(d) t = Add(s, i) }}> y = Add(x, r) }}""",
            "no iteration, so that the shape of a scan is not known": """g (float[3] x) => (float[N, 1] y, float[3] z) <float[1] o = {1}, int64 m = {0}> {
                r, y = Loop(m, "", o) <body = b (int64 i, bool d, float[1] s) => (bool e, float[1] t, float[1] u) { e = Identity(d) t = Neg(s) u = Neg(s) }>
                z = Add(x, r) }""",
        },
    ),
    "until a condition is false, with scans": Case(
        "fold-loop",
        """g (float[N, 1] x, int64[1] z) => (float[N, 1] y, float[3, 1] w, int64[1] v) <float[1] o = {1.5}, int64[1] p = {4}, int64 l = {2}> {
             r, q, s, t = Loop("", "", o, p) <body = b (int64 i, bool d, float[1] f, int64[1] g) => (bool e, float[1] h, int64[1] j, float[1] k, int64 n) {
                 e = Less(i, l) h = Add(f, f) j = Identity(g) k = Neg(f) n = Identity(i) }>
             y = Add(x, r) w = Identity(s) v = Add(z, t) }""",
        """g (float[N, 1] x, int64[1] z) => (float[N, 1] y, float[3, 1] w, int64[1] v)
             <float[1] r = {12.0}, float[3, 1] s = {-1.5, -3.0, -6.0}, int64[3] t = {0, 1, 2}> { y = Add(x, r) w = Identity(s) v = Add(z, t) }""".replace(
            "int64[1] v)", "int64[3] v)"
        ),
    ),
}
CASES["until a condition is false, with scans"] = Case(
    "fold-loop", CASES["until a condition is false, with scans"].before.replace("int64[1] v)", "int64[3] v)"),
    CASES["until a condition is false, with scans"].after,
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])
