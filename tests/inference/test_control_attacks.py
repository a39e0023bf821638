"""Loops and branches built to fool the induction: every fact against onnxruntime, whenever the run is legal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from gather_infer import Inference, infer
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

PRELUDE = """
  zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>() two = Constant<value = int64[1] {2}>()
  three = Constant<value = int64[1] {3}>() end = Constant<value = int64[1] {1000000}>()
  s0 = Constant<value = int64 {0}>() s1 = Constant<value = int64 {1}>() s2 = Constant<value = int64 {2}>()
  s3 = Constant<value = int64 {3}>() yes = Constant<value = bool {1}>() no = Constant<value = bool {0}>()
  f = Constant<value = float[1] {0.5}>()
"""
HEAD = "int64 i, bool k"
LENGTHS = {"N": (0, 1, 2, 5), "M": (0, 1, 3)}

# outputs { nodes } of a graph with the inputs float[N] x, float[M] y, int64 t, bool c
LOOPS = {
    "states swap": f"""(float u, float v) {{ u, v = Loop(t, c, x, y) <body = b ({HEAD}, float[p] a, float[q] s)
        => (bool k2, float[r] a2, float[w] sn) {{ k2 = Identity(k) a2 = Identity(s) sn = Identity(a) }}> }}""",
    "three states rotate": f"""(float u, float v, float w) {{ u, v, w = Loop(t, c, x, y, f) <body = b
        ({HEAD}, float[p] a, float[q] s, float[o] z) => (bool k2, float[r] a2, float[w] sn, float[h] z2) {{
        k2 = Identity(k) a2 = Identity(s) sn = Identity(z) z2 = Identity(a) }}> }}""",
    "one state grows by the other, which grows": f"""(float u, float v) {{ u, v = Loop(t, c, x, y) <body = b
        ({HEAD}, float[p] a, float[q] s) => (bool k2, float[r] a2, float[w] sn) {{ k2 = Identity(k)
        a2 = Concat<axis=0>(a, s) sn = Concat<axis=0>(s, x) }}> }}""",
    "one state lags behind a growing one": f"""(float u, float v) {{ u, v = Loop(t, c, x, x) <body = b
        ({HEAD}, float[p] a, float[q] s) => (bool k2, float[r] a2, float[w] sn) {{ k2 = Identity(k)
        a2 = Concat<axis=0>(a, x) sn = Identity(a) }}> }}""",
    "a delay line longer than the trials": f"""(float u1, float u2, float u3, float u4, float u5, float u6, float u7, float u8) {{
        u1, u2, u3, u4, u5, u6, u7, u8 = Loop(t, c, x, x, x, x, x, x, x, x) <body = b ({HEAD}, float[p] a1, float[p2] a2,
        float[p3] a3, float[p4] a4, float[p5] a5, float[p6] a6, float[p7] a7, float[p8] a8) => (bool k2, float[q1] b1,
        float[q2] b2, float[q3] b3, float[q4] b4, float[q5] b5, float[q6] b6, float[q7] b7, float[q8] b8) {{ k2 = Identity(k)
        b1 = Concat<axis=0>(a1, x) b2 = Identity(a1) b3 = Identity(a2) b4 = Identity(a3) b5 = Identity(a4) b6 = Identity(a5)
        b7 = Identity(a6) b8 = Identity(a7) }}> }}""",
    "equal in the first iterations only": f"""(float u, float v) {{ u, v = Loop(t, c, x, x) <body = b
        ({HEAD}, float[p] a, float[q] s) => (bool k2, float[r] a2, float[w] sn) {{ k2 = Identity(k)
        a2 = Concat<axis=0>(a, y) e = Less(i, s1) sn = If(e) <then_branch = g () => (float[g1] o) {{ o = Concat<axis=0>(s, y) }},
        else_branch = h () => (float[h1] o2) {{ o2 = Identity(s) }}> }}> }}""",
    "grows and is reset": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) e = Less(i, s2) a2 = If(e) <then_branch = g () => (float[g1] o) {{ o = Concat<axis=0>(a, x) }},
        else_branch = h () => (float[h1] o2) {{ o2 = Identity(x) }}> }}> }}""",
    "grows by what the data says": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) n = NonZero(y) g = Squeeze(n, zero) e = Gather(y, g) a2 = Concat<axis=0>(a, e) }}> }}""",
    "replaced by what the data says": f"""(float u, float w) {{ u, w = Loop(t, c, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2, float[w1] out) {{ k2 = Identity(k) n = NonZero(a) g = Squeeze(n, zero) a2 = Gather(a, g)
        out = Identity(a2) }}> }}""",
    "shrinks by one": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) a2 = Slice(a, one, end) }}> }}""",
    "halves": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) n = Shape(a) h = Div(n, two) a2 = Slice(a, zero, h) }}> }}""",
    "doubles": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) a2 = Concat<axis=0>(a, a) }}> }}""",
    "the rank grows": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[] a) => (bool k2, float[] a2) {{
        k2 = Identity(k) a2 = Unsqueeze(a, zero) }}> }}""",
    "transposed each time": f"""(float u) {{ xx = Unsqueeze(x, zero) u = Loop(t, c, xx) <body = b ({HEAD}, float[p, q] a)
        => (bool k2, float[r, w] a2) {{ k2 = Identity(k) a2 = Transpose<perm=[1, 0]>(a) }}> }}""",
    "as long as the iteration says": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) n = Reshape(i, one) a2 = Expand(f, n) }}> }}""",
    "Range of the iteration": f"""(int64 u, int64 w) {{ u = Identity(zero) v, w = Loop(t, c, zero) <body = b ({HEAD}, int64[p] a)
        => (bool k2, int64[r] a2, int64[o] out) {{ k2 = Identity(k) n = Add(i, s1) a2 = Range(s0, n, s1) out = Identity(zero) }}> }}""",
    "scan outputs that vary": f"""(float w) {{ w = Loop(t, c) <body = b ({HEAD}) => (bool k2, float[o] out) {{
        k2 = Identity(k) n = Reshape(i, one) out = Expand(f, n) }}> }}""",
    "an element counts": f"""(int64 v, float u) {{ v = Loop(t, c, one) <body = b ({HEAD}, int64[1] a) => (bool k2, int64[1] a2) {{
        k2 = Identity(k) a2 = Add(a, two) }}> u = Expand(f, v) }}""",
    "an element doubles": f"""(int64 v, float u) {{ v = Loop(t, c, one) <body = b ({HEAD}, int64[1] a) => (bool k2, int64[1] a2) {{
        k2 = Identity(k) a2 = Mul(a, two) }}> u = Expand(f, v) }}""",
    "Fibonacci": f"""(int64 v, int64 w, float u) {{ v, w = Loop(t, c, one, one) <body = b ({HEAD}, int64[1] a, int64[1] s)
        => (bool k2, int64[1] a2, int64[1] sn) {{ k2 = Identity(k) a2 = Identity(s) sn = Add(a, s) }}> u = Expand(f, v) }}""",
    "elements swap": f"""(int64 v, float u) {{ o = Concat<axis=0>(two, three) back = Concat<axis=0>(one, zero)
        v = Loop(t, c, o) <body = b ({HEAD}, int64[2] a) => (bool k2, int64[2] a2) {{
        k2 = Identity(k) a2 = Gather(a, back) }}> u = Expand(f, v) }}""",
    "an element is overwritten at the second iteration": f"""(int64 v, float u) {{ v = Loop(t, c, three) <body = b
        ({HEAD}, int64[1] a) => (bool k2, int64[1] a2) {{ k2 = Identity(k) e = Equal(i, s1)
        a2 = If(e) <then_branch = g () => (int64[1] o) {{ o = Identity(two) }}, else_branch = h () => (int64[1] o2) {{ o2 = Identity(a) }}> }}>
        u = Expand(f, v) }}""",
    "a dim follows an element of another state": f"""(int64 v, float u) {{ v, u = Loop(t, c, one, x) <body = b
        ({HEAD}, int64[1] a, float[p] s) => (bool k2, int64[1] a2, float[q] sn) {{ k2 = Identity(k) a2 = Add(a, one)
        sn = Expand(f, a) }}> }}""",
    "a small integer wraps": """(int8 v, float u) { big = Constant<value = int64 {200}>() b1 = Constant<value = int8[1] {1}>()
        v = Loop(big, yes, b1) <body = b (int64 i, bool k, int8[1] a) => (bool k2, int8[1] a2) { k2 = Identity(k)
        a2 = Sub(a, b1) }> w = Cast<to=7>(v) z = Max(w, zero) u = Expand(f, z) }""",
    "stops when it is long": f"""(float u, float w) {{ u, w = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2, float[1] o) {{
        a2 = Concat<axis=0>(a, f) n = Shape(a2) l = Squeeze(n, zero) k2 = Less(l, s3) o = Identity(f) }}> }}""",
    "runs once at most": f"""(float u, float w) {{ u, w = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2, float[1] o) {{
        a2 = Concat<axis=0>(a, f) k2 = Identity(no) o = Identity(f) }}> }}""",
    "never starts": f"""(float u, float w) {{ u, w = Loop(t, no, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2, float[1] o) {{
        a2 = Concat<axis=0>(a, f) k2 = Identity(k) o = Identity(f) }}> }}""",
    "no trip": f"""(float u) {{ u = Loop(s0, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        a2 = Concat<axis=0>(a, f) k2 = Identity(k) }}> }}""",
    "one trip": f"""(float u) {{ u = Loop(s1, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        a2 = Concat<axis=0>(a, f) k2 = Identity(k) }}> }}""",
    "a negative trip count": f"""(float u) {{ m = Sub(s0, s3) u = Loop(m, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        a2 = Concat<axis=0>(a, f) k2 = Identity(k) }}> }}""",
    "a trip count that is a difference of dims": f"""(float u) {{ n = Size(x) l = Size(y) m = Sub(n, l)
        u = Loop(m, yes, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{ a2 = Concat<axis=0>(a, f) k2 = Identity(k) }}> }}""",
    "no trip count": """(float u) { u = Loop(, c, x) <body = b (int64 i, bool k, float[p] a) => (bool k2, float[r] a2) {
        a2 = Concat<axis=0>(a, f) k2 = Less(i, s2) }> }""",
    "a state hides a captured value": f"""(float u, float v) {{ u, v = Loop(t, c, y, x) <body = b ({HEAD}, float[p] x, float[q] y)
        => (bool k2, float[r] a2, float[w] sn) {{ a2 = Concat<axis=0>(x, f) sn = Identity(y) k2 = Identity(k) }}> }}""",
    "what an early trial learnt does not stay": f"""(float u, float w) {{ u, w = Loop(t, yes, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2, float[o] out) {{ k2 = Identity(k) e = Gather(a, i) a2 = Concat<axis=0>(a, f)
        n = Shape(x) d = Sub(n, i) z = Max(d, zero) g = Expand(f, z) m = Shape(g) h = Mul(m, zero) out = Expand(f, h) }}> }}""",
    "an early trial thought the state long": f"""(float u, float v) {{ u, v = Loop(t, yes, x, x) <body = b ({HEAD}, float[p] a, float[q] s)
        => (bool k2, float[r] a2, float[w] sn) {{ k2 = Identity(k) e = Gather(a, i) a2 = Concat<axis=0>(a, f)
        sn = Slice(s, one, end) }}> }}""",
    "elements that only a stronger inference than the runtime's can size": f"""(float w) {{ top = ReduceMax<keepdims=0>(end)
        few = Mod(top, s3) n = Reshape(few, one) m = Add(n, two) w = Loop(t, c) <body = b ({HEAD}) => (bool k2, float[o] out) {{
        k2 = Identity(k) out = Expand(f, m) }}> }}""",
    "the slice that an early trial thought long": f"""(float u, int64 w) {{ u, w = Loop(t, yes, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2, int64[1] out) {{ k2 = Identity(k) e = Gather(a, i) a2 = Concat<axis=0>(a, f)
        i1 = Reshape(i, one) g = Slice(x, i1, end) out = Shape(g) }}> z = ReduceMax<keepdims=0>(w) q = Reshape(z, one)
        r = Expand(f, q) }}""",
    "a target of Reshape is the iteration": f"""(float u, float w) {{ u, w = Loop(t, yes, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2, float out) {{ k2 = Identity(k) i1 = Reshape(i, one) e = Expand(f, i1) q = Concat<axis=0>(i1, one)
        a2 = Identity(a) g = Reshape(e, q) out = ReduceSum<keepdims=0>(g) }}> }}""",
    "nested, the inner trip count is the outer iteration": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2) {{ k2 = Identity(k) a2 = Loop(i, yes, a) <body = d (int64 j, bool l, float[p2] e)
        => (bool l2, float[r2] e2) {{ l2 = Identity(l) e2 = Concat<axis=0>(e, f) }}> }}> }}""",
    "nested, both grow it": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2) {{ k2 = Identity(k) z = Loop(s2, yes, a) <body = d (int64 j, bool l, float[p2] e)
        => (bool l2, float[r2] e2) {{ l2 = Identity(l) e2 = Concat<axis=0>(e, y) }}> a2 = Concat<axis=0>(z, f) }}> }}""",
    "nested, the inner grows by the outer state": f"""(float u) {{ u = Loop(t, c, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2) {{ k2 = Identity(k) a2 = Loop(s2, yes, y) <body = d (int64 j, bool l, float[p2] e)
        => (bool l2, float[r2] e2) {{ l2 = Identity(l) e2 = Concat<axis=0>(e, a) }}> }}> }}""",
    "nested scan outputs": f"""(float w) {{ w = Loop(t, yes) <body = b ({HEAD}) => (bool k2, float[] o) {{ k2 = Identity(k)
        o = Loop(s3, yes) <body = d (int64 j, bool l) => (bool l2, float[q] e2) {{ l2 = Identity(l) e2 = Identity(x) }}> }}> }}""",
    "the body requires equal lengths": f"""(float u, float v) {{ xr = Unsqueeze(x, zero) yc = Unsqueeze(y, one)
        u = Loop(t, c, x) <body = b ({HEAD}, float[p] a) => (bool k2, float[r] a2) {{
        k2 = Identity(k) z = MatMul(xr, yc) a2 = Identity(a) }}> v = Concat<axis=0>(x, y) }}""",
    "the body requires an element": f"""(float u, float v) {{ u = Loop(t, c, f) <body = b ({HEAD}, float[1] a) => (bool k2, float[1] a2) {{
        k2 = Identity(k) a2 = Gather(x, two) }}> v = Slice(x, three, end) }}""",
    "goes on while the old state is small": f"""(int64 v, float w) {{ v, w = Loop(t, c, s0) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ k2 = Less(a, s2) a2 = Add(a, s1) o = Identity(f) }}> }}""",
    "goes on while the new state is small": f"""(int64 v, float w) {{ v, w = Loop(t, yes, s1) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Add(a, s2) k2 = LessOrEqual(a2, s3) o = Identity(f) }}> }}""",
    "goes on while something shrinks": f"""(int64 v, float w) {{ n = Size(x) v, w = Loop(t, yes, n) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Sub(a, s1) k2 = Greater(a2, s0) o = Identity(f) }}> }}""",
    "asks before it begins": f"""(int64 v, float w) {{ n = Size(x) l = Size(y) go = Less(l, n) v, w = Loop(, go, l) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Add(a, s1) k2 = Less(a2, n) o = Identity(f) }}> }}""",
    "asks something else before it begins": f"""(int64 v, float w) {{ n = Size(x) l = Size(y) go = Less(s0, l) v, w = Loop(t, go, l) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Add(a, s1) k2 = Less(a2, n) o = Identity(f) }}> }}""",
    "goes the wrong way": f"""(int64 v, float w) {{ n = Size(x) v, w = Loop(t, yes, n) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Add(a, s1) k2 = Greater(a2, s2) o = Identity(f) }}> }}""",
    "compares with what grows as fast": f"""(int64 v, float w) {{ n = Size(x) v, w = Loop(t, yes, n) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Add(a, s1) m = Add(i, s3) k2 = Less(a2, m) o = Identity(f) }}> }}""",
    "compares a small integer that wraps": """(int8 v, float w) { start = Constant<value = int8 {120}>() b1 = Constant<value = int8 {1}>()
        low = Constant<value = int8 {-100}>() v, w = Loop(, yes, start) <body = b (int64 i, bool k, int8 a) => (bool k2, int8 a2, float[1] o) {
        a2 = Add(a, b1) k2 = GreaterOrEqual(a2, low) o = Identity(f) }> }""",
    "hides the comparison behind an If": f"""(int64 v, float w) {{ v, w = Loop(t, yes, s0) <body = b ({HEAD}, int64 a)
        => (bool k2, int64 a2, float[1] o) {{ a2 = Add(a, s1) l = Less(a2, s3) k2 = If(c) <then_branch = g () => (bool p) {{ p = Identity(l) }},
        else_branch = h () => (bool q) {{ q = Less(a2, s2) }}> o = Identity(f) }}> }}""",
    "compares dims that grow": f"""(float u, float w) {{ u, w = Loop(t, yes, x) <body = b ({HEAD}, float[p] a)
        => (bool k2, float[r] a2, float[1] o) {{ a2 = Concat<axis=0>(a, f) n = Size(a2) m = Size(y) k2 = Less(n, m) o = Identity(f) }}> }}""",
    "a sequence of lengths that grow": f"""(float w) {{ e = SequenceEmpty<dtype=1>() q = Loop(t, c, e) <body = b ({HEAD}, seq(float[p]) a)
        => (bool k2, seq(float[r]) a2) {{ k2 = Identity(k) n = Add(i, s1) m = Reshape(n, one) z = Expand(f, m) a2 = SequenceInsert(a, z) }}>
        w = SequenceAt(q, s0) }}""",
    "members of a sequence differ": f"""(float w, float v) {{ e = SequenceConstruct(x) q = Loop(t, c, e) <body = b ({HEAD}, seq(float[p]) a)
        => (bool k2, seq(float[r]) a2) {{ k2 = Identity(k) a2 = SequenceInsert(a, y) }}> z = Sub(s0, s1)
        w = SequenceAt(q, s0) v = SequenceAt(q, z) }}""",
    "members of data-dependent length": f"""(float w, float v) {{ n = NonZero(x) g = Squeeze(n, zero) xe = Gather(x, g)
        e = SequenceConstruct(xe) q = Loop(t, c, e) <body = b ({HEAD}, seq(float[p]) a) => (bool k2, seq(float[r]) a2) {{
        k2 = Identity(k) nn = NonZero(y) gg = Squeeze(nn, zero) ye = Gather(y, gg) a2 = SequenceInsert(a, ye) }}>
        z = Sub(s0, s1) w = SequenceAt(q, s0) v = SequenceAt(q, z) }}""",
    "the first member, as the body sees it": f"""(int64 o) {{ e = SequenceConstruct(f) q, o = Loop(t, c, e) <body = b ({HEAD}, seq(float[p]) a)
        => (bool k2, seq(float[r]) a2, int64[1] out) {{ k2 = Identity(k) n = Add(i, s2) m = Reshape(n, one) z = Expand(f, m)
        a2 = SequenceInsert(a, z) h = SequenceAt(a, s0) out = Shape(h) }}> mx = ReduceMax<keepdims=0>(o) r1 = Reshape(mx, one)
        r = Expand(f, r1) }}""",
    "a branch requires equal lengths": """(float u, float v) { xr = Unsqueeze(x, zero) yc = Unsqueeze(y, one)
        u = If(c) <then_branch = g () => (float[g1, g2] o) { o = MatMul(xr, yc) }, else_branch = h () => (float[h1, h2] o2) { o2 = Identity(xr) }>
        v = Concat<axis=0>(x, y) }""",
    "a branch that never runs requires equal lengths": """(float u, float v) { xr = Unsqueeze(x, zero) yc = Unsqueeze(y, one)
        u = If(no) <then_branch = g () => (float[g1, g2] o) { o = MatMul(xr, yc) }, else_branch = h () => (float[h1, h2] o2) { o2 = Identity(xr) }>
        v = Concat<axis=0>(x, y) }""",
    "what a branch computes from data": """(float u, float v) { u, v = If(c) <then_branch = g () => (float[g1] o, float[g2] p) {
        n = NonZero(x) e = Squeeze(n, zero) o = Gather(x, e) p = Identity(o) },
        else_branch = h () => (float[h1] o2, float[h2] p2) { n2 = NonZero(y) e2 = Squeeze(n2, zero) o2 = Gather(y, e2) p2 = Identity(x) }>
        }""",
    "a branch inside a branch": """(float u, float v) { u = If(c) <then_branch = g () => (float o) { e = Gather(x, s2)
        n = Size(x) l = Less(n, s3) o = If(l) <then_branch = g2 () => (float[g3] p) { p = Concat<axis=0>(x, x) },
        else_branch = h2 () => (float[h3] p2) { p2 = Identity(y) }> }, else_branch = h () => (float o2) { o2 = Identity(x) }>
        v = Slice(x, three, end) }""",
    "branches of different types of elements": """(int64 v) { v = If(c) <then_branch = g () => (int64[1] o) { o = Identity(two) },
        else_branch = h () => (int64[1] o2) { o2 = Shape(x) }> u = Expand(f, v) }""",
    "a sequence from either branch": """(float w) { q = If(c) <then_branch = g () => (seq(float) o) { o = SplitToSequence<axis=0>(x, two) },
        else_branch = h () => (seq(float) o2) { o2 = SequenceConstruct(y, y) }> w = SequenceAt(q, s0) }""",
    "two members of a sequence from either branch": """(float w, float v) { q = If(c) <then_branch = g () => (seq(float) o) {
        o = SequenceConstruct(x, f) }, else_branch = h () => (seq(float) o2) { o2 = SequenceConstruct(y, y) }>
        w = SequenceAt(q, s0) v = SequenceAt(q, s1) }""",
    "a scan over what a loop stacked": f"""(float ys) {{ w = Loop(s3, yes) <body = b ({HEAD}) => (bool k2, float[q] o) {{
        k2 = Identity(k) o = Identity(x) }}> ys = Scan<num_scan_inputs = 1, body = d (float[q1] row) => (float[q2] r) {{ r = Concat<axis=0>(row, y) }}>(w) }}""",
    "a scan whose state never changes size": """(float last, float ys) { xs = Unsqueeze(x, one) last, ys = Scan<num_scan_inputs = 1,
        body = d (float[a] s, float[b] e) => (float[a2] sn, float[b2] r) { sn = Add(s, e) r = Concat<axis=0>(s, e) }>(y, xs) }""",
    "a scan in reverse over two inputs": """(float last, float ys, float zs) { xs = Unsqueeze(x, one) last, ys, zs = Scan<num_scan_inputs = 2,
        scan_input_directions = [1, 0], scan_output_directions = [0, 1], scan_output_axes = [1, 0],
        body = d (float[a] s, float[b] e, float g) => (float[a2] sn, float[b2] r, float q) { sn = Identity(s) r = Concat<axis=0>(s, e) q = Identity(g) }>(y, xs, x) }""",
    "a scan over two inputs of different names": """(float ys) { ys = Scan<num_scan_inputs = 2,
        body = d (float e, float g) => (float r) { r = Add(e, g) }>(x, y) }""",
}  # fmt: skip


def runs() -> Iterator[tuple[Mapping[str, int], Mapping[str, Any]]]:
    for n, m, t, c in product(LENGTHS["N"], LENGTHS["M"], (0, 1, 2, 3, 6, -1), (True, False)):
        x, y = np.arange(n, dtype=np.float32), np.arange(1, m + 1, dtype=np.float32) % 3
        yield {"N": n, "M": m}, {"x": x, "y": y, "t": np.array(t), "c": np.array(c)}


def attack(nodes: str, *, legal: int = 10, **options: Any) -> Inference:
    """Infer once, run everywhere; nothing may be wrong in a run that does not fail, and so many have to be legal."""
    outputs, _, body = nodes.partition("{")
    text = f"(float[N] x, float[M] y, int64 t, bool c) => {outputs} {{ {PRELUDE} {body}"
    proto = untyped(model(text, **options))
    inference = infer(proto)
    assert inference.errors == ()
    runtime = Runtime(proto)
    done = 0
    for bindings, feeds in runs():
        try:
            actual = runtime.run(feeds)
        except (Fail, InvalidArgument, RuntimeException):
            continue  # not a legal run
        done += 1
        result = compare(inference, actual, bindings)
        if not result.assumption_fails:
            assert result.wrong == [], (bindings, feeds["t"], feeds["c"])
    assert done >= legal
    return inference


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LOOPS)
def test_control_flow_that_tries_to_mislead(name: str) -> None:
    attack(LOOPS[name])
