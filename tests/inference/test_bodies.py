"""If, Loop, Scan and SequenceMap in a table: all that is said of what they give, held against onnxruntime."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from gather_infer import Inference, infer
from gather_infer.tensor import SymbolicTensor
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

HEAD = """go = Constant<value = bool {1}>() stop = Constant<value = bool {0}>() none = Constant<value_int = 0>() one = Constant<value_int = 1>()
    two = Constant<value_int = 2>() three = Constant<value_int = 3>() five = Constant<value_int = 5>() seven = Constant<value_int = 7>()
    ten = Constant<value_int = 10>() many = Constant<value_int = 20>() neg = Constant<value_int = -1>() half = Constant<value_float = 0.5>()
    v0 = Constant<value_ints = [0]>() w1 = Constant<value_ints = [1]>() v2 = Constant<value_ints = [3, 4]>() far = Constant<value_ints = [99]>()
    row = Constant<value = float[1, 3] {1.0, 2.0, 3.0}>() s = Shape(x) v = Slice(s, v0, w1) n = Squeeze(v) xt = Transpose(x) kk = Unsqueeze(k, v0) """
# bodies of Loops whose state is rows, a number, two numbers, numbers
L = "<body = b (int64 i, bool c, float[p, 3] a) => (bool c2, float[q, 3] a2"
LS = "<body = b (int64 i, bool c, int64 a) => (bool c2, int64 a2"
LV = "<body = b (int64 i, bool c, int64[2] a) => (bool c2, int64[2] a2"
LN = "<body = b (int64 i, bool c, int64[p] a) => (bool c2, int64[q] a2"
K = "c2 = Identity(c)"


def chosen(then: str, other: str) -> str:
    return f"y = If(t) <then_branch = g () => (y1) {{ {then} }}, else_branch = h () => (y2) {{ {other} }}>"


SIZES = chosen("y1 = Identity(x)", "y2 = Concat<axis = 0>(x, row)")
TABLE = {
    # id: (nodes, what is said)
    "If Less 5": ("t = Less(n, five) " + SIZES, "float32[N - min(1, -min(0, N - 5)) + 1, 3]"),
    "If LessOrEqual 5": ("t = LessOrEqual(n, five) " + SIZES, "float32[N - min(1, -min(0, N - 6)) + 1, 3]"),
    "If Greater 5": ("t = Greater(n, five) " + SIZES, "float32[N - min(1, max(0, N - 5)) + 1, 3]"),
    "If GreaterOrEqual 5": ("t = GreaterOrEqual(n, five) " + SIZES, "float32[N - min(1, max(0, N - 4)) + 1, 3]"),
    "If Equal 5": ("t = Equal(n, five) " + SIZES, "float32[N + min(0, max(5 - N, N - 5) - 1) + 1, 3]"),
    "If 5 Less": ("t = Less(five, n) " + SIZES, "float32[N - min(1, max(0, N - 5)) + 1, 3]"),
    "If 5 Greater": ("t = Greater(five, n) " + SIZES, "float32[N - min(1, -min(0, N - 5)) + 1, 3]"),
    # conditions
    "If not": ("u = Less(n, five) t = Not(u) " + SIZES, "float32[N - min(1, max(0, N - 4)) + 1, 3]"),
    "If and": ("u = Less(n, five) w = Less(one, n) t = And(u, w) " + SIZES, "float32[N - min(1, -min(0, max(1 - N, N - 5))) + 1, 3]"),
    "If or": ("u = Less(n, two) w = Less(five, n) t = Or(u, w) " + SIZES, "float32[N - min(1, -min(0, 5 - N, N - 2)) + 1, 3]"),
    "If and data": ("u = Less(n, five) w = Less(one, k) t = And(u, w) " + SIZES, "float32[if, 3]"),
    "If and True": ("u = Less(n, five) t = And(u, go) " + SIZES, "float32[N + min(0, max(0, N - 4) - 1) + 1, 3]"),
    "If or False": ("u = Less(n, five) t = Or(stop, u) " + SIZES, "float32[N - min(1, -min(0, N - 5)) + 1, 3]"),
    "If or True": ("u = Less(n, five) t = Or(u, go) " + SIZES, "float32[N, 3]"),
    "If cast": ("u = Less(n, five) w = Cast<to = 9>(u) r = Identity(w) t = Identity(r) " + SIZES, "float32[N - min(1, -min(0, N - 5)) + 1, 3]"),
    "If data": ("t = Less(k, five) " + SIZES, "float32[if, 3]"),
    "If of a size cast": ("t = Cast<to = 9>(n) " + SIZES, "float32[if, 3]"),
    "If never negative": ("t = Less(n, none) " + SIZES, "float32[N + 1, 3]"),
    "If always": ("t = GreaterOrEqual(n, none) " + SIZES, "float32[N, 3]"),
    "If empty": ("t = Equal(n, none) " + SIZES, "float32[N + min(0, N - 1) + 1, 3]"),
    "If empty, ranks differ": ("t = Equal(n, none) " + chosen("y1 = Identity(x)", "y2 = Unsqueeze(x, v0)"), "float32[1, N, 3]; N >= 1 (node If#23)"),
    "If at most five, ranks differ": ("t = Less(n, five) " + chosen("y1 = Identity(x)", "y2 = Unsqueeze(x, v0)"), "float32[...]"),
    "If data, ranks differ": ("t = Less(k, five) " + chosen("y1 = Identity(x)", "y2 = Unsqueeze(x, v0)"), "float32[...]"),
    "If sizes of ConstantOfShape": ("t = Less(n, five) " + chosen("u1 = Unsqueeze(n, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(five, v0) y2 = ConstantOfShape(u2)"), "float32[min(0, N - 5) + 5]"),
    "If greater sizes of ConstantOfShape": ("t = Greater(n, five) " + chosen("u1 = Unsqueeze(n, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(five, v0) y2 = ConstantOfShape(u2)"), "float32[max(0, N - 5) + 5]"),
    "If at least, sizes": ("t = GreaterOrEqual(n, five) " + chosen("u1 = Unsqueeze(n, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(five, v0) y2 = ConstantOfShape(u2)"), "float32[max(0, N - 5) + 5]"),
    "If at most, sizes": ("t = LessOrEqual(n, five) " + chosen("u1 = Unsqueeze(n, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(five, v0) y2 = ConstantOfShape(u2)"), "float32[min(0, N - 5) + 5]"),
    "If less, sizes turned": ("t = Less(n, five) " + chosen("u1 = Unsqueeze(five, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(n, v0) y2 = ConstantOfShape(u2)"), "float32[N - min(0, N - 5)]"),
    "If less, elements": ("t = Less(n, five) " + chosen("y1 = Concat<axis = 0>(s, v0)", "y2 = Concat<axis = 0>(s, w1)"), "int64[3] = [N, 3, 1 - min(1, -min(0, N - 5))] in [min(N, 1 - min(1, -min(0, N - 5))), max(3, N)]"),
    "If data, elements": ("t = Less(k, five) " + chosen("y1 = Concat<axis = 0>(s, v0)", "y2 = Concat<axis = 0>(s, w1)"), "int64[3] = [N, 3, ?] in [0, max(3, N)]"),
    "If data, spans": ("t = Less(k, five) " + chosen("y1 = ArgMax<axis = 1, keepdims = 0>(x)", "m2 = ArgMax<axis = 1, keepdims = 0>(x) y2 = Add(m2, one)"), "int64[N] in [0, 3]"),
    "If data, the same": ("t = Less(k, five) " + chosen("y1 = Neg(x)", "y2 = Abs(x)"), "float32[N, 3]"),
    "If data, floats": ("t = Less(k, five) " + chosen("y1 = Constant<value_floats = [1.0, 0.0]>()", "y2 = Constant<value_floats = [1.0, -0.0]>()"), "float32[2] = [1.0, ?]"),
    "If data, bools": ("t = Less(k, five) " + chosen("y1 = Identity(go)", "y2 = Identity(stop)"), "bool[]"),
    "If less, bools": ("t = Less(n, five) " + chosen("y1 = Identity(go)", "y2 = Identity(stop)"), "bool[]"),
    "If less, by data": ("t = Less(n, five) " + chosen("z1 = NonZero(x) y1 = Cast<to = 1>(z1)", "y2 = Identity(x)"), "float32[N - N*min(1, -min(0, N - 5)) + 2*min(1, -min(0, N - 5)), if]"),
    "If less, both by data": ("t = Less(n, five) " + chosen("y1 = NonZero(x)", "y2 = NonZero(x)"), "int64[2, if] in [0, max(2, N - 1)]"),
    "If less, a size and by data": ("t = Less(n, five) " + chosen("y1 = Range(none, n, one)", "z2 = NonZero(x) y2 = Gather(z2, none)"), "int64[if] in [0, N - 1]"),
    "If data, sequences": ("t = Less(k, five) q = If(t) <then_branch = g () => (y1) { y1 = SequenceConstruct(x, x) }, else_branch = h () => (y2) { y2 = SequenceConstruct(x) }> y = SequenceLength(q)", "int64[] in [0, None]"),
    "If data, equal sequences": ("t = Less(k, five) q = If(t) <then_branch = g () => (y1) { y1 = SequenceConstruct(x, x) }, else_branch = h () => (y2) { y2 = SequenceConstruct(x, row) }> y = SequenceLength(q)", "int64[] = 2"),
    "If less, sequences": ("t = Less(n, five) q = If(t) <then_branch = g () => (y1) { y1 = SequenceConstruct(x, x) }, else_branch = h () => (y2) { y2 = SequenceConstruct(x, row, x) }> y = SequenceLength(q)", "int64[] in [0, None]"),
    "If data, an empty sequence": ("t = Less(k, five) q = If(t) <then_branch = g () => (y1) { y1 = SequenceEmpty<dtype = 1>() }, else_branch = h () => (y2) { y2 = SequenceConstruct(x) }> r = SequenceInsert(q, x) y = SequenceAt(r, none)", "float32[...]"),
    "If True": ("t = Identity(go) " + SIZES, "float32[N, 3]"),
    "If False": ("t = Identity(stop) " + SIZES, "float32[N + 1, 3]"),
    "If in If": ("t = Less(n, five) y = If(t) <then_branch = g () => (y1) { u = Less(n, two) y1 = If(u) <then_branch = g1 () => (y11) { y11 = Identity(x) }, else_branch = h1 () => (y12) { y12 = Concat<axis = 0>(x, row) }> }, else_branch = h () => (y2) { y2 = Concat<axis = 0>(x, x) }>", "float32[2*N - N*min(1, -min(0, N - 5)) - min(1, -min(0, N - 2))*min(1, -min(0, N - 5)) + min(1, -min(0, N - 5)), 3]"),
    "If known inside": ("t = Less(n, five) y = If(t) <then_branch = g () => (y1) { u = Less(n, ten) y1 = If(u) <then_branch = g1 () => (y11) { y11 = Identity(x) }, else_branch = h1 () => (y12) { y12 = Concat<axis = 0>(x, row) }> }, else_branch = h () => (y2) { y2 = Identity(x) }>", "float32[N, 3]"),
    # loops
    "state kept": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Neg(a) }}>", "float32[N, 3]"),
    "row added": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Concat<axis = 0>(a, row) }}>", "float32[N + 3, 3]"),
    "rows of n added n times": (f"y = Loop(n, go, x) {L}) {{ {K} a2 = Concat<axis = 0>(a, row) }}>", "float32[2*N, 3]"),
    "two rows added": (f"y = Loop(n, go, x) {L}) {{ {K} a2 = Concat<axis = 0>(a, row, row) }}>", "float32[3*N, 3]"),
    "row added by data": (f"y = Loop(k, go, x) {L}) {{ {K} a2 = Concat<axis = 0>(a, row) }}>", "float32[N + trips, 3]"),
    "doubled": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Concat<axis = 0>(a, a) }}>", "float32[loop, 3]"),
    "halved": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Slice(a, w1, far) }}>", "float32[loop, 3]"),
    "to one row": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Slice(a, v0, w1) }}>", "float32[loop, 3]"),
    "to the row": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Add(row, row) }}>", "float32[loop, 3]"),
    "some rows": (f"y = Loop(three, go, x) {L}) {{ {K} m = ReduceSum<keepdims = 0>(a, w1) zz = Less(m, half) a2 = Compress<axis = 0>(a, zz) }}>", "float32[loop, 3]"),
    "rank changes": ("y = Loop(three, go, x) <body = b (int64 i, bool c, float a) => (bool c2, float a2) { c2 = Identity(c) a2 = Unsqueeze(a, v0) }>", "float32[...]"),
    "counted": (f"y = Loop(three, go, none) {LS}) {{ {K} a2 = Add(a, one) }}>", "int64[] = 3"),
    "counted n": (f"y = Loop(n, go, none) {LS}) {{ {K} a2 = Add(a, two) }}>", "int64[] = 2*N"),
    "counted from n": (f"y = Loop(three, go, n) {LS}) {{ {K} a2 = Add(a, n) }}>", "int64[] = 4*N"),
    "counted down": (f"y = Loop(n, go, n) {LS}) {{ {K} a2 = Sub(a, one) }}>", "int64[] = 0"),
    "counted by data": (f"y = Loop(k, go, none) {LS}) {{ {K} a2 = Add(a, one) }}>", "int64[] = trips"),
    "doubled number": (f"y = Loop(three, go, one) {LS}) {{ {K} a2 = Add(a, a) }}>", "int64[]"),
    "added i": (f"y = Loop(three, go, one) {LS}) {{ {K} a2 = Add(a, i) }}>", "int64[]"),
    "kept number": (f"y = Loop(three, go, n) {LS}) {{ {K} a2 = Identity(a) }}>", "int64[] = N"),
    "a constant": (f"y = Loop(three, go, n) {LS}) {{ {K} a2 = Identity(two) }}>", "int64[] = 2"),
    "a constant n": (f"y = Loop(n, go, none) {LS}) {{ {K} a2 = Identity(two) }}>", "int64[] in [0, 2]"),
    "the constant before": (f"y = Loop(n, go, two) {LS}) {{ {K} a2 = Identity(two) }}>", "int64[] = 2"),
    "by data": (f"y = Loop(three, go, n) {LS}) {{ {K} a2 = Mul(a, k) }}>", "int64[]"),
    "i kept": (f"y = Loop(three, go, none) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] = 2"),
    "i kept n": (f"y = Loop(n, go, none) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] = max(0, N - 1)"),
    "i kept n from minus one": (f"y = Loop(n, go, neg) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] = N - 1"),
    "i kept n from two": (f"y = Loop(n, go, two) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] in [min(2, N - 1), max(2, N - 1)]"),
    "i plus one kept n": (f"y = Loop(n, go, none) {LS}) {{ {K} a2 = Add(i, one) }}>", "int64[] = N"),
    "n minus i": (f"y = Loop(n, go, n) {LS}) {{ {K} a2 = Sub(n, i) }}>", "int64[] = N - max(0, N - 1)"),
    "i squared": (f"y = Loop(n, go, none) {LS}) {{ {K} a2 = Mul(i, i) }}>", "int64[] in [0, None]"),
    "i by data": (f"y = Loop(k, go, none) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] = max(0, trips - 1)"),
    "i limited": (f"y = Loop(n, go, none) {LS}) {{ {K} a2 = Min(i, two) }}>", "int64[] in [0, None]"),
    "i three times": (f"y = Loop(n, go, none) {LS}) {{ {K} m = Constant<value_int = 3>() a2 = Mul(i, m) }}>", "int64[] = 3*max(0, N - 1)"),
    "i and data": (f"y = Loop(three, go, v2) {LV}) {{ {K} u = Unsqueeze(i, v0) w = Unsqueeze(k, v0) a2 = Concat<axis = 0>(u, w) }}>", "int64[2] = [2, ?]"),
    "one of two steady": (f"y = Loop(three, go, v2) {LV}) {{ {K} h = Slice(a, v0, w1) w = Unsqueeze(k, v0) a2 = Concat<axis = 0>(h, w) }}>", "int64[2] = [3, ?]"),
    "two counters": (f"y = Loop(n, go, v2) {LV}) {{ {K} a2 = Add(a, v2) }}>", "int64[2] = [3*N + 3, 4*N + 4]"),
    "swapped": (f"y = Loop(three, go, v2) {LV}) {{ {K} h = Slice(a, v0, w1) j = Slice(a, w1, far) a2 = Concat<axis = 0>(j, h) }}>", "int64[2]"),
    "elements lost": (f"y = Loop(three, go, v2) {LV}) {{ {K} w = Unsqueeze(k, v0) e2 = Constant<value_ints = [2]>() a2 = Expand(w, e2) }}>", "int64[2]"),
    "grows with its length": (f"y = Loop(three, go, v2) {LN}) {{ {K} a2 = Concat<axis = 0>(a, v0) }}>", "int64[5] in [None, 4]"),
    "grows from nothing": (f"e = Slice(v0, w1, far) y = Loop(three, go, e) {LN}) {{ {K} a2 = Concat<axis = 0>(a, v0) }}>", "int64[3] in [0, 0]"),
    "i appended": (f"y = Loop(three, go, v2) {LN}) {{ {K} u = Unsqueeze(i, v0) a2 = Concat<axis = 0>(a, u) }}>", "int64[5] in [None, 4]"),
    "span kept": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(three, go, g) {LN}) {{ {K} m = Sub(two, a) a2 = Min(m, two) }}>", "int64[N] in [0, 2]"),
    "span kept below": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(three, go, g) {LN}) {{ {K} m = Add(a, one) a2 = Max(m, none) }}>", "int64[N] in [0, None]"),
    "span of i": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(three, go, g) {LN}) {{ {K} m = Sub(a, a) a2 = Add(m, i) }}>", "int64[N]"),
    "span of i n": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(n, go, g) {LN}) {{ {K} e = Shape(a) a2 = Expand(i, e) }}>", "int64[N] in [0, max(2, N - 1)]"),
    "span of i times n": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(n, go, g) {LN}) {{ {K} q = ArgMax<axis = 1, keepdims = 0>(x) a2 = Add(q, i) }}>", "int64[N] in [0, max(1, N) + 1]"),
    "span of i three": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(three, go, g) {LN}) {{ {K} q = ArgMax<axis = 1, keepdims = 0>(x) a2 = Add(q, i) }}>", "int64[N] in [0, 4]"),
    "span of i squared": (f"g = ArgMax<axis = 1, keepdims = 0>(x) y = Loop(three, go, g) {LN}) {{ {K} q = ArgMax<axis = 1, keepdims = 0>(x) m = Mul(i, i) a2 = Add(q, m) }}>", "int64[N] in [0, None]"),
    "two states": ("y, z = Loop(n, go, x, x) <body = b (int64 i, bool c, float[p, 3] a, float[r, 3] d) => (bool c2, float[q, 3] a2, float[s, 3] d2) { c2 = Identity(c) a2 = Concat<axis = 0>(a, row) d2 = Concat<axis = 0>(d, a) }>", "float32[2*N, 3]; float32[loop, 3]"),
    "two states swapped": ("y, z = Loop(three, go, x, row) <body = b (int64 i, bool c, float[p, 3] a, float[r, 3] d) => (bool c2, float[q, 3] a2, float[s, 3] d2) { c2 = Identity(c) a2 = Identity(d) d2 = Identity(a) }>", "float32[loop, 3]; float32[loop, 3]"),
    "size follows a counter": ("y, z = Loop(three, go, none, v0) <body = b (int64 i, bool c, int64 a, int64[r] d) => (bool c2, int64 a2, int64[s] d2) { c2 = Identity(c) a2 = Add(a, one) d2 = Range(none, a, one) }>", "int64[] = 3; int64[loop] in [0, 1]"),
    "size follows a counter before": ("y, z = Loop(three, go, none, v0) <body = b (int64 i, bool c, int64 a, int64[r] d) => (bool c2, int64 a2, int64[s] d2) { c2 = Identity(c) a2 = Add(a, one) d2 = Range(none, a2, one) }>", "int64[] = 3; int64[loop] in [0, 2]"),
    # trips
    "M is zero": (f"y, z = Loop(none, go, x) {L}, float[r, 3] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = Identity(a) }}>", "float32[N, 3]; float32[0, loop, 3]"),
    "M is negative": (f"y, z = Loop(neg, go, x) {L}, float[3] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N, 3]; float32[0, 3]"),
    "M is n minus two": (f"m = Sub(n, two) y, z = Loop(m, go, x) {L}, float[3] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + max(0, N - 2), 3]; float32[max(0, N - 2), 3]"),
    "stopped at first": (f"y, z = Loop(three, stop, x) {L}, float[3] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N, 3]; float32[0, 3]"),
    "started by data": (f"g = Less(none, k) y, z = Loop(three, g, x) {L}, float[3] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + trips, 3]; float32[trips, 3]"),
    "stopped after one": (f"y, z = Loop(three, go, x) {L}, float[3] o) {{ c2 = Identity(stop) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + 1, 3]; float32[1, 3]"),
    "stopped after one of n": (f"y, z = Loop(n, go, x) {L}, float[3] o) {{ c2 = Identity(stop) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + min(1, N), 3]; float32[min(1, N), 3]"),
    "stopped after one, no limit": (f"y, z = Loop(, go, x) {L}, float[3] o) {{ c2 = Identity(stop) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + 1, 3]; float32[1, 3]"),
    "stopped after one of k": (f"y, z = Loop(k, go, x) {L}, float[3] o) {{ c2 = Identity(stop) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + min(1, trips), 3]; float32[min(1, trips), 3]"),
    "no start": (f"y, z = Loop(three, , x) {L}, float[3] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + 3, 3]; float32[3, 3]"),
    "counts to three": (f"y, z = Loop(, go, x) {L}, float[3] o) {{ c2 = Less(i, three) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + 4, 3]; float32[4, 3]"),
    "counts to n": (f"y, z = Loop(, go, x) {L}, float[3] o) {{ c2 = Less(i, n) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[2*N + 1, 3]; float32[N + 1, 3]"),
    "counts to n by two": (f"y, z = Loop(, go, x) {L}, float[3] o) {{ d = Add(i, i) c2 = Less(d, n) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + (N + 1)//2 + 1, 3]; float32[(N + 1)//2 + 1, 3]"),
    "counts down": (f"y, z = Loop(, go, x) {L}, float[3] o) {{ d = Sub(n, i) c2 = Greater(d, none) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[2*N + 1, 3]; float32[N + 1, 3]"),
    "counts with a limit": (f"y, z = Loop(two, go, x) {L}, float[3] o) {{ c2 = Less(i, n) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + min(1, N) + 1, 3]; float32[min(1, N) + 1, 3]"),
    "counts with a limit of data": (f"y, z = Loop(k, go, x) {L}, float[3] o) {{ c2 = Less(i, n) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + min(trips, N + 1), 3]; float32[min(trips, N + 1), 3]"),
    "counts a state": (f"g = Less(none, n) y, z = Loop(, g, none) {LS}, int64 o) {{ a2 = Add(a, one) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = N; int64[N]"),
    "counts a state by two": (f"g = Less(none, n) y, z = Loop(, g, none) {LS}, int64 o) {{ a2 = Add(a, two) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = 2*((N + 1)//2); int64[(N + 1)//2]"),
    "counts a state, started otherwise": (f"g = Less(one, n) y, z = Loop(, g, none) {LS}, int64 o) {{ a2 = Add(a, one) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = trips; int64[trips]"),
    "counts a state, surely begun": (f"y, z = Loop(, go, none) {LS}, int64 o) {{ a2 = Add(a, one) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = max(0, N - 1) + 1; int64[max(0, N - 1) + 1]"),
    "counts a state that is doubled": (f"y, z = Loop(ten, go, one) {LS}, int64 o) {{ a2 = Add(a, a) c2 = Less(a2, n) o = Identity(a) }}>", "int64[]; int64[trips]"),
    "counts away from the end": (f"y, z = Loop(three, go, one) {LS}, int64 o) {{ a2 = Sub(a, one) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = 1 - trips; int64[trips]"),
    "counts to a size of the body": (f"y, z = Loop(ten, go, x) {L}, float[3] o) {{ m = Size(a) c2 = Less(m, many) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N - min(0, N - 7) + 1, 3]; float32[1 - min(0, N - 7), 3]"),
    "counts to a size that shrinks": (f"y, z = Loop(ten, go, x) {L}, float[3] o) {{ r = Shape<start = 0, end = 1>(a) m = Squeeze(r) c2 = Less(i, m) h = Div(r, two) a2 = Slice(a, v0, h) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[loop, 3]; float32[trips, 3]"),
    "counts to data": (f"y, z = Loop(ten, go, x) {L}, float[3] o) {{ c2 = Less(i, k) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + trips, 3]; float32[trips, 3]"),
    # stacks
    "stack of rows": (f"y, z = Loop(n, go, x) {L}, float[r, 3] o) {{ {K} a2 = Identity(a) o = Neg(a) }}>", "float32[N, 3]; float32[N, N, 3]; N >= 1 (node Loop#22)"),
    "stack of what grows": (f"y, z = Loop(three, go, x) {L}, int64[2] o) {{ {K} a2 = Concat<axis = 0>(a, row) o = Shape(a) }}>", "float32[N + 3, 3]; int64[3, 2]"),
    "stack of i": (f"y, z = Loop(n, go, x) {L}, int64 o) {{ {K} a2 = Identity(a) o = Identity(i) }}>", "float32[N, 3]; int64[N] in [0, N - 1]"),
    "stack of i and more": (f"y, z = Loop(n, go, x) {L}, int64 o) {{ {K} a2 = Identity(a) o = Add(i, two) }}>", "float32[N, 3]; int64[N]"),
    "stack by data": (f"y, z = Loop(one, go, x) {L}, int64[2, r] o) {{ {K} a2 = Identity(a) o = NonZero(a) }}>", "float32[N, 3]; int64[1, 2, loop] in [0, max(3, N) - 1]"),
    "stack of argmax": (f"y, z = Loop(n, go, x) {L}, int64[r] o) {{ {K} a2 = Identity(a) o = ArgMax<axis = 1, keepdims = 0>(x) }}>", "float32[N, 3]; int64[N, N] in [0, 2]; N >= 1 (node Loop#22)"),
    "stack of the declared": (f"y, z = Loop(n, go, x) {L}, float[1, 3] o) {{ {K} a2 = Identity(a) o = Identity(row) }}>", "float32[N, 3]; float32[N, 1, 3]"),
    "stack of the half declared": (f"y, z = Loop(n, go, x) {L}, float[u, 3] o) {{ {K} a2 = Identity(a) o = Identity(row) }}>", "float32[N, 3]; float32[N, 1, 3]; N >= 1 (node Loop#22)"),
    "stack of x": (f"y, z = Loop(n, go, x) {L}, float[u, 3] o) {{ {K} a2 = Identity(a) o = Identity(x) }}>", "float32[N, 3]; float32[N, N, 3]; N >= 1 (node Loop#22)"),
    "stack of any rank": (f"y, z = Loop(one, go, x) {L}, float[] o) {{ {K} a2 = Identity(a) q = Slice(s, v0, kk) o = ConstantOfShape(q) }}>", "float32[N, 3]; float32[...]"),
    "state of any rank": (f"q = Slice(s, v0, kk) f = ConstantOfShape(q) y = Loop(three, go, f) <body = b (int64 i, bool c, float[] a) => (bool c2, float[] a2) {{ {K} a2 = Neg(a) }}>", "float32[...]"),
    "state of any rank, ints": (f"q = Slice(s, v0, kk) f = ConstantOfShape<value = int64[1] {{7}}>(q) y = Loop(three, go, f) <body = b (int64 i, bool c, int64[] a) => (bool c2, int64[] a2) {{ {K} m = Neg(a) a2 = Clip(m, none, seven) }}>", "int64[...] in [0, 7]"),
    "state becomes of any rank": (f"y = Loop(one, go, x) <body = b (int64 i, bool c, float[] a) => (bool c2, float[] a2) {{ {K} q = Slice(s, v0, kk) a2 = ConstantOfShape(q) }}>", "float32[...]"),
    "loop in loop": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Loop(two, go, a) <body = b2 (int64 j, bool d, float[p2, 3] e) => (bool d2, float[q2, 3] e2) {{ d2 = Identity(d) e2 = Concat<axis = 0>(e, row) }}> }}>", "float32[N + 6, 3]"),
    "loop in loop by i": (f"y = Loop(three, go, x) {L}) {{ {K} a2 = Loop(i, go, a) <body = b2 (int64 j, bool d, float[p2, 3] e) => (bool d2, float[q2, 3] e2) {{ d2 = Identity(d) e2 = Concat<axis = 0>(e, row) }}> }}>", "float32[loop, 3]"),
    "sequence grows": ("q = SequenceEmpty<dtype = 1>() r = Loop(three, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) a2 = SequenceInsert(a, x) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 3; float32[N, 3]"),
    "sequence grows by n": ("q = SequenceEmpty<dtype = 1>() r = Loop(n, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) a2 = SequenceInsert(a, x) }> y = SequenceLength(r)", "int64[] = N"),
    "sequence grows from one": ("q = SequenceConstruct(row) r = Loop(three, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) a2 = SequenceInsert(a, x) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 4; float32[sequenceat, 3]"),
    "sequence of rows by i": ("q = SequenceEmpty<dtype = 1>() r = Loop(three, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) u = Unsqueeze(i, v0) l = Concat<axis = 0>(u, w1) e = ConstantOfShape(l) a2 = SequenceInsert(a, e) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 3; float32[sequenceat, 1]"),
    "sequence kept": ("q = SequenceConstruct(x, x) r = Loop(n, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) a2 = Identity(a) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 2; float32[N, 3]"),
    "sequence shrinks": ("q = SequenceConstruct(x, x, row, row) r = Loop(two, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) a2 = SequenceErase(a, none) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 2; float32[sequenceat, 3]"),
    # scans
    "scan": ("y, z = Scan<num_scan_inputs = 1, body = b (float[1, 3] a, float[3] r) => (float[1, 3] a2, float[1, 3] o) { a2 = Add(a, r) o = Neg(a) }>(row, x)", "float32[1, 3]; float32[N, 1, 3]"),
    "scan of columns": ("y = Scan<num_scan_inputs = 1, scan_input_axes = [1], body = b (float[p] r) => (float[p2] o) { o = Neg(r) }>(x)", "float32[3, N]"),
    "scan of columns to the end": ("y = Scan<num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [1], body = b (float[p] r) => (float[p2] o) { o = Neg(r) }>(x)", "float32[N, 3]"),
    "scan of two": ("y, z = Scan<num_scan_inputs = 2, scan_input_axes = [0, 1], body = b (float[3] r, float[3] w) => (float[3] o, float[3, 3] u) { o = Add(r, w) h = Unsqueeze(r, w1) u = Add(h, w) }>(x, xt)", "float32[N, 3]; float32[N, 3, 3]"),
    "scan of argmax": ("g = ArgMax<axis = 1, keepdims = 0>(x) y = Scan<num_scan_inputs = 1, body = b (int64 r) => (int64 o) { o = Add(r, one) }>(g)", "int64[N] in [1, 3]"),
    "scan kept int": ("g = ArgMax<axis = 1, keepdims = 0>(x) y, z = Scan<num_scan_inputs = 1, body = b (int64 a, int64 r) => (int64 a2, int64 o) { a2 = Min(r, two) o = Identity(a) }>(none, g)", "int64[] in [0, None]; int64[N] in [0, 2]"),
    "scan counts": ("y, z = Scan<num_scan_inputs = 1, body = b (int64 a, float[3] r) => (int64 a2, int64 o) { a2 = Add(a, one) o = Identity(a) }>(none, x)", "int64[] = N; int64[N]"),
    "scan by data": ("h = Slice(x, v0, w1) y = Scan<num_scan_inputs = 1, body = b (float[3] r) => (int64[1, p] o) { o = NonZero(r) }>(h)", "int64[min(1, N), 1, scan] in [0, 2]; min(1, N) >= 1 (node Scan#23)"),
    "scan turned": ("y = Scan<num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1], body = b (float[3] r) => (float[3] o) { o = Neg(r) }>(x)", "float32[N, 3]"),
    # maps
    "map with a tensor": ("q = SequenceConstruct(x, row) r = SequenceMap(q, row) <body = b (float[p, 3] m, float[1, 3] t) => (float[p2, 3] o) { o = Concat<axis = 0>(m, t) }> y = SequenceAt(r, none) z = SequenceAt(r, one)", "float32[N + 1, 3]; float32[2, 3] = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]"),
    "map of two sequences": ("q = SequenceConstruct(x, row) w = SequenceConstruct(row, row) r = SequenceMap(q, w) <body = b (float[p, 3] m, float[u, 3] t) => (float[p2, 3] o) { o = Concat<axis = 0>(m, t) }> y = SequenceAt(r, none) z = SequenceAt(r, one)", "float32[N + 1, 3]; float32[2, 3] = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]"),
    "map of unknown length": ("q = SplitToSequence<axis = 0>(x, one) r = SequenceMap(q) <body = b (float[p, 3] m) => (float[p2, 3] o) { o = Neg(m) }> y = SequenceAt(r, none) z = SequenceLength(r)", "float32[1, 3]; int64[] = N"),
    "map of none": ("q = SequenceEmpty<dtype = 1>() r = SequenceMap(q) <body = b (float[p, 3] m) => (float[p2, 3] o) { o = Concat<axis = 0>(m, row) }> y = SequenceLength(r)", "int64[] = 0"),
    "map with sizes": ("q = SequenceConstruct(x, row) r = SequenceMap(q, n) <body = b (float[p, 3] m, int64 t) => (int64 o) { e = Size(m) o = Add(e, t) }> y = SequenceAt(r, none) z = SequenceAt(r, one)", "int64[] = 4*N; int64[] = N + 3"),
    # more
    "a quotient kept": (f"f = Cast<to = 1>(n) d = Cast<to = 1>(five) g = Div(f, d) y = Loop(three, go, g) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {{ {K} a2 = Identity(a) }}>", "float32[] = N/5; N <= 16777216 (node Cast#22)"),
    "a quotient replaced": (f"f = Cast<to = 1>(n) d = Cast<to = 1>(five) g = Div(f, d) y = Loop(three, go, half) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {{ {K} a2 = Identity(g) }}>", "float32[]; N <= 16777216 (node Cast#22)"),
    "a quotient lost": (f"f = Cast<to = 1>(n) d = Cast<to = 1>(five) g = Div(f, d) y = Loop(three, go, g) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {{ {K} a2 = Identity(half) }}>", "float32[]; N <= 16777216 (node Cast#22)"),
    "a size as a float": (f"f = Cast<to = 1>(n) y = Loop(three, go, f) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {{ {K} a2 = Identity(a) }}>", "float32[] = N; N <= 16777216 (node Cast#22)"),
    "a size as a float replaced": (f"f = Cast<to = 1>(n) y = Loop(three, go, f) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {{ {K} a2 = Identity(half) }}>", "float32[]; N <= 16777216 (node Cast#22)"),
    "a float replaced by a size": (f"f = Cast<to = 1>(n) y = Loop(three, go, half) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {{ {K} a2 = Identity(f) }}>", "float32[]; N <= 16777216 (node Cast#22)"),
    "stopped after one of some": (f"g = Gather(x, none) y, z = Loop(n, go, x) {L}, float[3] o) {{ c2 = Identity(stop) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + 1, 3]; float32[1, 3]"),
    "counts with a limit below": (f"g = Gather(x, two) y, z = Loop(two, go, x) {L}, float[3] o) {{ c2 = Less(i, n) a2 = Concat<axis = 0>(a, row) o = ReduceSum<keepdims = 0>(a, v0) }}>", "float32[N + 2, 3]; float32[2, 3]"),
    "counts a state of some": (f"h = Gather(x, none) g = Less(none, n) y, z = Loop(, g, none) {LS}, int64 o) {{ a2 = Add(a, one) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = N; int64[N]"),
    "counts to n of some": (f"h = Gather(x, two) y, z = Loop(, go, none) {LS}, int64 o) {{ a2 = Add(a, one) c2 = Less(a2, n) o = Identity(a) }}>", "int64[] = N; int64[N]"),
    "If at most three of three": ("h = Gather(x, two) t = LessOrEqual(n, three) " + chosen("u1 = Unsqueeze(n, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(three, v0) y2 = ConstantOfShape(u2)"), "float32[3]"),
    "If at least three of three": ("h = Gather(x, two) t = LessOrEqual(n, three) " + chosen("u1 = Unsqueeze(three, v0) y1 = ConstantOfShape(u1)", "u2 = Unsqueeze(n, v0) y2 = ConstantOfShape(u2)"), "float32[N]"),
    "If empty, a quotient": ("t = Equal(n, none) " + chosen("u1 = Unsqueeze(three, v0) y1 = ConstantOfShape(u1)", "q2 = Div(many, n) u2 = Unsqueeze(q2, v0) y2 = ConstantOfShape(u2)"), "float32[if]"),
    "If of a quotient": ("q = Div(many, n) t = Less(q, five) " + chosen("y1 = Identity(x)", "y2 = Identity(row)"), "float32[if, 3]"),
    "stack of any rank, ints": (f"y, z = Loop(one, go, x) {L}, int64[] o) {{ {K} a2 = Identity(a) q = Slice(s, v0, kk) m = ConstantOfShape<value = int64[1] {{7}}>(q) l = Add(m, i) o = Clip(l, none, seven) }}>", "float32[N, 3]; int64[...] in [7, 7]"),
    "stack of a count": (f"y, z = Loop(n, go, x) {L}, int64 o) {{ {K} a2 = Identity(a) u = NonZero(a) e = Shape(u) cnt = Gather(e, one) r = Range(none, cnt, one) o = ReduceSum<keepdims = 0>(r) }}>", "float32[N, 3]; int64[N] in [0, None]"),
    "stack of a count of numbers": (f"y, z = Loop(one, go, x) {L}, int64[r] o) {{ {K} a2 = Identity(a) u = NonZero(a) e = Shape(u) cnt = Gather(e, one) o = Range(none, cnt, one) }}>", "float32[N, 3]; int64[1, loop] in [0, None]"),
    "state and scan, rows of numbers": ("g = ArgMax<axis = 1, keepdims = 0>(x) y, z = Scan<num_scan_inputs = 1, body = b (int64[p] a, float[3] r) => (int64[q] a2, int64[u] o) { a2 = Identity(a) o = Add(a, one) }>(g, x)", "int64[N] in [0, 2]; int64[N, N] in [1, 3]; N >= 1 (node Scan#23)"),
    "scan, sizes by the state": ("y, z = Scan<num_scan_inputs = 1, body = b (int64 a, float[3] r) => (int64 a2, int64[2] o) { a2 = Add(a, one) u = Unsqueeze(a, v0) o = Concat<axis = 0>(u, v0) }>(none, x)", "int64[] = N; int64[N, 2] in [0, None]"),
    "sequence of rows by data": ("q = SequenceEmpty<dtype = 7>() r = Loop(three, go, q) <body = b (int64 i, bool c, seq(int64[2, p]) a) => (bool c2, seq(int64[2, q]) a2) { c2 = Identity(c) e = NonZero(x) a2 = SequenceInsert(a, e) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 3; int64[2, sequenceat] in [0, max(3, N) - 1]"),
    "sequence replaced by a row": ("q = SequenceConstruct(x) r = Loop(k, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) a2 = SequenceConstruct(row) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 1; float32[sequenceat, 3]"),
    "sequence replaced by data": ("f = NonZero(x) q = SequenceConstruct(f) r = Loop(k, go, q) <body = b (int64 i, bool c, seq(int64[2, p]) a) => (bool c2, seq(int64[2, q]) a2) { c2 = Identity(c) u = Unsqueeze(i, v0) e = Slice(x, u, far) g = NonZero(e) a2 = SequenceConstruct(g) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 1; int64[2, sequenceat] in [0, None]"),
    "sequence erased by data": ("q = SequenceConstruct(x, row) r = Loop(one, go, q) <body = b (int64 i, bool c, seq(float[p, 3]) a) => (bool c2, seq(float[q, 3]) a2) { c2 = Identity(c) u = Less(k, two) a2 = If(u) <then_branch = g () => (y1) { y1 = SequenceErase(a, none) }, else_branch = h () => (y2) { y2 = Identity(a) }> }> y = SequenceLength(r)", "int64[] in [0, None]"),
    "map in a branch": ("t = Less(k, two) q = SequenceConstruct(x, row) r = If(t) <then_branch = g () => (y1) { y1 = SequenceMap(q) <body = b (float[p, 3] m) => (float[p2, 3] o) { o = Neg(m) }> }, else_branch = h () => (y2) { y2 = Identity(q) }> y = SequenceLength(r) z = SequenceAt(r, none)", "int64[] = 2; float32[sequenceat, 3]"),
    "If data, sizes as floats": ("t = Less(k, five) " + chosen("y1 = Cast<to = 1>(n)", "m2 = Add(n, one) y2 = Cast<to = 1>(m2)"), "float32[]; N <= 16777216 (node If#23/then_branch/Cast#0); N <= 16777215 (node If#23/else_branch/Cast#1)"),
    "If data, sizes": ("t = Less(k, five) " + chosen("y1 = Identity(n)", "y2 = Add(n, one)"), "int64[] in [N, N + 1]"),
    "scan to the first axis from the end": ("y = Scan<num_scan_inputs = 1, scan_output_axes = [-2], body = b (float[3] r) => (float[3] o) { o = Neg(r) }>(x)", "float32[N, 3]"),
    "i kept once": (f"y = Loop(one, go, seven) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] = 0"),
    "i kept of some": (f"g = Gather(x, none) y = Loop(n, go, seven) {LS}) {{ {K} a2 = Identity(i) }}>", "int64[] = N - 1"),
}  # fmt: skip
RUNS = [(n, k) for n in (1, 2, 3, 4, 5, 6, 0) for k in (1, 2, -1)]


def proto_of(nodes: str) -> ModelProto:
    outputs = "y, z" if re.search(r"\bz = ", nodes) else "y"
    return untyped(model(f"(float[N, 3] x, int64 k) => ({outputs}) {{ {HEAD} {nodes} }}"))


def feeds_of(proto: ModelProto, n: int, k: int) -> dict[str, np.ndarray[Any, Any]]:
    return {"x": np.arange(n * 3, dtype=np.float32).reshape(n, 3) - k, "k": np.array(k)}


def rendered(inference: Inference) -> str:
    """Types, elements and spans of the outputs, and what is assumed; a generated symbol by its kind."""
    said = []
    for name in inference.outputs:
        value = inference[name]
        said.append(str(value))
        if isinstance(value, SymbolicTensor) and value.value_range is not None:
            said[-1] += f" in [{value.value_range.lo}, {value.value_range.hi}]"
    said += [str(a) for a in inference.assumptions]
    return re.sub(
        rf"\b({'|'.join(inference.causes) or '-'})\b", lambda name: name[0].rstrip("_0123456789"), "; ".join(said)
    )


def runs_of(inference: Inference, nodes: str) -> list[tuple[int, int]]:
    """Those that reach the end, and in which what is assumed holds."""
    # onnxruntime 1.31 divides by a length of 0 in Scan, and splits no tensor without rows
    least = 1 if re.search("Scan|SplitToSequence|Gather.x, none|^ ?q = Div.many, n", nodes) else 0
    least = 3 if "Gather(x, two)" in nodes else least
    for assumption in inference.assumptions:
        if str(assumption.dim) == "N" and assumption.lower is not None:
            least = max(least, assumption.lower)
    return [(n, k) for n, k in RUNS if n >= least]


@pytest.mark.parametrize("name", TABLE)
def test_declared_types_of_a_body(name: str) -> None:
    nodes, said = TABLE[name]
    proto = proto_of(nodes)
    inference, runtime = infer(proto), Runtime(proto)
    assert inference.errors == ()
    for n, k in runs_of(inference, nodes):
        assert compare(inference, runtime.run(feeds_of(proto, n, k)), {"N": n}).wrong == [], (n, k)
    assert rendered(inference) == said
