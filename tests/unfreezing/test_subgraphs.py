"""`unfreeze` of models with branches and loops: what stands for the size inside them is edited, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from gather_infer import UsageError, unfreeze
from gather_infer.model.paths import bodies
from tests.unfreezing.cases import BATCH, Case, check_dynamic, check_refused, feeds_of
from tests.verification.models import model

SEQ = ("x.1=seq",)

CASES = {
    "a Reshape in a branch": Case(
        "(float[2,7,4] x, bool c) => (float[2,7,2,2] y) <int64[4] s = {2,7,2,-1}> { y = If(c) <"
        "then_branch = t () => (float[2,7,2,2] a) { a = Reshape(x, s) }, "
        "else_branch = e () => (float[2,7,2,2] b) { n = Neg(x) b = Reshape(n, s) }> }",
        "(float[batch,7,4] x, bool c) => (float[batch,7,2,2] y) <int64[4] s = {-1,7,2,2}> { y = If(c) <"
        "then_branch = t () => (a) { a = Reshape(x, s) }, "
        "else_branch = e () => (b) { n = Neg(x) b = Reshape(n, s) }> }",
    ),
    "branches that use the same names": Case(
        "(float[2,4] x, bool c) => (float[4,2] y) <int64[2] s = {4,2}> { y = If(c) <"
        "then_branch = t () => (float[4,2] a) { n = Neg(x) a = Reshape(n, s) }, "
        "else_branch = e () => (float[4,2] a) { n = Transpose<perm=[0,1]>(x) m = Abs(n) a = Reshape(m, s) }> }",
        "(float[batch,4] x, bool c) => (float[k,2] y) <int64[2] s = {-1,2}> { y = If(c) <"
        "then_branch = t () => (a) { n = Neg(x) a = Reshape(n, s) }, "
        "else_branch = e () => (a) { n = Abs(x) a = Reshape(n, s) }> }",
    ),
    "a constant of a graph around, with equal rows": Case(
        "(float[2,2] x, bool c) => (float[2,2] y) <float[2,2] k = {1,5,1,5}> { y = If(c) <"
        "then_branch = t () => (float[2,2] a) { a = Add(x, k) }, "
        "else_branch = e () => (float[2,2] b) { b = Neg(x) }> }",
        "(float[batch,2] x, bool c) => (float[batch,2] y) <float[1,2] k = {1,5}> { y = If(c) <"
        "then_branch = t () => (a) { a = Add(x, k) }, else_branch = e () => (b) { b = Neg(x) }> }",
    ),
    "a value that the main graph computes from a constant": Case(
        "(float[2,2] x, bool c) => (float[2,2] y) <float[1,2] k = {1,5}, int64[2] s = {2,2}> { e = Expand(k, s) "
        "y = If(c) <then_branch = t () => (float[2,2] a) { a = Concat<axis=0>(e) d = Sub(x, a) a2 = Identity(d) }, "
        "else_branch = e () => (float[2,2] b) { b = Neg(x) }> }".replace("(float[2,2] a)", "(float[2,2] a2)"),
        "(float[batch,2] x, bool c) => (float[batch,2] y) <float[1,2] k = {1,5}> { y = If(c) <"
        "then_branch = t () => (a) { a = Sub(x, k) }, else_branch = e () => (b) { b = Neg(x) }> }",
    ),
    "the other branch returns a constant": Case(
        "(float[2,2] x, bool c) => (float[2,2] y) { y = If(c) <"
        "then_branch = t () => (float[2,2] a) { a = Neg(x) }, "
        "else_branch = e () => (float[2,2] b) { b = Constant<value = float[2,2] {3,4,3,4}>() }> }",
        "(float[batch,2] x, bool c) => (float[batch,2] y) <float[1,2] k = {3,4}> { y = If(c) <"
        "then_branch = t () => (a) { a = Neg(x) }, else_branch = e () => (b) { n = Shape(x) b = Expand(k, n) }> }",
    ),
    "the first branch returns rows of zeros": Case(
        "(float[2,2] x, bool c) => (float[2,2] y) <int64[2] s = {2,2}> { y = If(c) <"
        "then_branch = t () => (float[2,2] a) { a = ConstantOfShape(s) }, "
        "else_branch = e () => (float[2,2] b) { b = Neg(x) }> }",
        "(float[batch,2] x, bool c) => (float[batch,2] y) { y = If(c) <"
        "then_branch = t () => (a) { n = Shape(x) a = ConstantOfShape(n) }, "
        "else_branch = e () => (b) { b = Neg(x) }> }",
    ),
    "a branch in a branch": Case(
        "(float[2,4] x, bool c, bool d) => (float[2,2,2] y) <int64[3] s = {2,2,-1}> { y = If(c) <"
        "then_branch = t () => (float[2,2,2] a) { a = If(d) <"
        "then_branch = u () => (float[2,2,2] p) { p = Reshape(x, s) }, "
        "else_branch = v () => (float[2,2,2] q) { n = Neg(x) q = Reshape(n, s) }> }, "
        "else_branch = e () => (float[2,2,2] b) { m = Abs(x) b = Reshape(m, s) }> }",
        "(float[batch,4] x, bool c, bool d) => (float[batch,2,2] y) <int64[3] s = {-1,2,2}> { y = If(c) <"
        "then_branch = t () => (a) { a = If(d) <then_branch = u () => (p) { p = Reshape(x, s) }, "
        "else_branch = v () => (q) { n = Neg(x) q = Reshape(n, s) }> }, "
        "else_branch = e () => (b) { m = Abs(x) b = Reshape(m, s) }> }",
    ),
    "old size 1: an index into merged rows in a branch": Case(
        "(float[1,3,2] x, bool c) => (float[1,2] y) <int64[2] s = {3,2}, int64[1] t = {2}, int64[1] o = {1}> "
        "{ y = If(c) <then_branch = u () => (float[1,2] a) { m = ReduceSum<keepdims=0>(x, t) "
        "i = ArgMax<axis=1, keepdims=0>(m) d = Reshape(x, s) a = Gather<axis=0>(d, i) }, "
        "else_branch = v () => (float[1,2] b) { b = ReduceSum<keepdims=0>(x, o) }> }",
        "(float[batch,3,2] x, bool c) => (float[batch,2] y) <int64[1] t = {2}, int64[1] o = {1}> "
        "{ y = If(c) <then_branch = u () => (a) { m = ReduceSum<keepdims=0>(x, t) "
        "i = ArgMax<axis=1, keepdims=0>(m) k = Unsqueeze(i, o) a = GatherND<batch_dims=1>(x, k) }, "
        "else_branch = v () => (b) { b = ReduceSum<keepdims=0>(x, o) }> }",
    ),
    "positions, a mask and an end in a branch": Case(
        "(float[1,3] x, bool c) => (float[1,3,3] y) <int64[1] b = {0}, int64[1] e = {3}, int64[1] w = {1}, "
        "int64[1,3] p = {0,1,2}, bool[3,3] m = {1,0,0,1,1,0,1,1,1}, float z = {-9}> { y = If(c) <"
        "then_branch = t () => (float[1,3,3] a) { q = Slice(x, b, e, w) f = Cast<to=1>(p) g = Add(q, f) "
        "h = Unsqueeze(g, w) j = Unsqueeze(x, w) k = Sub(h, j) t = Transpose<perm=[0,2,1]>(h) r = Sub(k, t) "
        "a = Where(m, r, z) }, "
        "else_branch = v () => (float[1,3,3] n) { h = Unsqueeze(x, w) o = Transpose<perm=[0,2,1]>(h) "
        "n = Mul(h, o) }> }",
        "(float[1,seq] x, bool c) => (float[1,seq,seq] y) <int64[1] w = {1}, float z = {-9}, int64 zero = {0}, "
        "int64 one = {1}> { y = If(c) <then_branch = t () => (a) { l = Shape<start=1>(x) ls = Squeeze(l) "
        "p = Range(zero, ls, one) f = Cast<to=1>(p) g = Add(x, f) h = Unsqueeze(g, w) j = Unsqueeze(x, w) "
        "k = Sub(h, j) t = Transpose<perm=[0,2,1]>(h) r = Sub(k, t) ss = Concat<axis=0>(l, l) "
        "e = ConstantOfShape<value = float[1] {1}>(ss) d = Trilu<upper=0>(e) m = Cast<to=9>(d) a = Where(m, r, z) }, "
        "else_branch = v () => (n) { h = Unsqueeze(x, w) o = Transpose<perm=[0,2,1]>(h) "
        "n = Mul(h, o) }> }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "a loop whose state begins as a constant": Case(
        "(float[2,4] x) => (float[2,4] y) <int64 n = {3}, float[2,4] h = {0,0,0,0,0,0,0,0}, int64[3] s = {2,2,-1}, "
        "int64[2] u = {2,4}> { y = Loop(n, , h) <body = b (int64 i, bool c, float[2,4] g) => (bool d, float[2,4] o) "
        "{ d = Identity(c) r = Reshape(x, s) t = Transpose<perm=[0,2,1]>(r) v = Reshape(t, u) o = Add(g, v) }> }",
        "(float[batch,4] x) => (float[batch,4] y) <int64 n = {3}, float zero = {0}, int64[3] s = {-1,2,2}, "
        "int64[2] u = {-1,4}> { h = Mul(x, zero) y = Loop(n, , h) <body = b (int64 i, bool c, g) => (bool d, o) "
        "{ d = Identity(c) r = Reshape(x, s) t = Transpose<perm=[0,2,1]>(r) v = Reshape(t, u) o = Add(g, v) }> }",
    ),
    "a branch in a loop, with results that are stacked": Case(
        "(float[2,3] x, bool c) => (float[2,3] y, float[4,2,3] z) <int64 n = {4}, float[2,3] k = {1,2,3,1,2,3}, "
        "int64[2] s = {3,2}, int64[2] u = {2,3}> { y, z = Loop(n, , x) <"
        "body = b (int64 i, bool g, float[2,3] h) => (bool d, float[2,3] o, float[2,3] w) { d = Identity(g) "
        "o = If(c) <then_branch = t () => (float[2,3] p) { p = Add(h, k) }, "
        "else_branch = e () => (float[2,3] q) { q1 = Mul(h, k) q = Reshape(q1, u) }> w = Neg(o) }> }",
        "(float[batch,3] x, bool c) => (float[batch,3] y, float[4,batch,3] z) <int64 n = {4}, float[1,3] k = {1,2,3}> "
        "{ y, z = Loop(n, , x) <body = b (int64 i, bool g, h) => (bool d, o, w) { d = Identity(g) "
        "o = If(c) <then_branch = t () => (p) { p = Add(h, k) }, else_branch = e () => (q) { q = Mul(h, k) }> "
        "w = Neg(o) }> }",
    ),
    "a scan over time, rows on axis 1": Case(
        "(float[5,2,4] x) => (float[2,4] y, float[5,2,4] z) <float[2,4] h = {0,0,0,0,0,0,0,0}> "
        "{ y, z = Scan(h, x) <num_scan_inputs=1, body = b (float[2,4] g, float[2,4] v) => (float[2,4] o, float[2,4] w) "
        "{ s = Constant<value = int64[3] {2,2,-1}>() r = Reshape(v, s) t = Transpose<perm=[0,2,1]>(r) "
        "u = Constant<value = int64[2] {2,4}>() m = Reshape(t, u) o = Add(g, m) w = Identity(o) }> }",
        "(float[5,batch,4] x) => (float[batch,4] y, float[5,batch,4] z) <int64[1] ax = {0}, float zero = {0}> "
        "{ x0 = ReduceSum<keepdims=0>(x, ax) h = Mul(x0, zero) "
        "y, z = Scan(h, x) <num_scan_inputs=1, body = b (g, v) => (o, w) "
        "{ s = Constant<value = int64[3] {-1,2,2}>() r = Reshape(v, s) t = Transpose<perm=[0,2,1]>(r) "
        "u = Constant<value = int64[2] {-1,4}>() m = Reshape(t, u) o = Add(g, m) w = Identity(o) }> }",
        ("x.1=batch",),
    ),
    "a scan over time behind the rows, stacked there": Case(
        "(float[2,5,3] x) => (float[2,5,3] z) <float[2,3] h = {0,0,0,0,0,0}, float[2,3] k = {1,2,3,1,2,3}> "
        "{ y, z = Scan(h, x) <num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], "
        "body = b (float[2,3] g, float[2,3] v) => (float[2,3] o, float[2,3] w) { p = Mul(v, k) o = Add(g, p) "
        "w = Neg(o) }> }",
        "(float[batch,5,3] x) => (float[batch,5,3] z) <int64[1] ax = {1}, float zero = {0}, float[3] k = {1,2,3}> "
        "{ x0 = ReduceSum<keepdims=0>(x, ax) h = Mul(x0, zero) "
        "y, z = Scan(h, x) <num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], "
        "body = b (g, v) => (o, w) { p = Mul(v, k) o = Add(g, p) w = Neg(o) }> }",
    ),
    "a scan over a length": Case(
        "(float[2,3] x) => (float[2,3] z) <float[2] h = {0,0}> "
        "{ y, z = Scan(h, x) <num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], "
        "body = b (float[2] g, float[2] v) => (float[2] o, float[2] w) { o = Add(g, v) w = Neg(o) }> }",
        "(float[2,seq] x) => (float[2,seq] z) <float[2] h = {0,0}> "
        "{ y, z = Scan(h, x) <num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], "
        "body = b (g, v) => (o, w) { o = Add(g, v) w = Neg(o) }> }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "a loop over the rows": Case(
        "(float[2,3] x) => (float[2,3] z) <int64 n = {2}, bool t = {1}> { z = Loop(n, t) <"
        "body = b (int64 i, bool c) => (bool d, float[3] w) { d = Identity(c) r = Gather<axis=0>(x, i) w = Neg(r) }> }",
        "(float[batch,3] x) => (float[batch,3] z) { z = Neg(x) }",
    ),
    "a loop over the positions of a length": Case(
        "(float[2,3] x) => (float[2] y, float[3,2] z) <int64[1] n = {3}, float[2] h = {0,0}> { y, z = Loop(n, , h) <"
        "body = b (int64 i, bool c, float[2] g) => (bool d, float[2] o, float[2] w) { d = Identity(c) "
        "r = Gather<axis=1>(x, i) o = Add(g, r) w = Neg(o) }> }",
        "(float[2,seq] x) => (float[2] y, float[seq,2] z) <float[2] h = {0,0}> { n = Shape<start=1>(x) "
        "y, z = Loop(n, , h) <body = b (int64 i, bool c, g) => (bool d, o, w) { d = Identity(c) "
        "r = Gather<axis=1>(x, i) o = Add(g, r) w = Neg(o) }> }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "slices that move with the iterations": Case(
        "(float[2,4] x) => (float[4,2,1] z) <int64 n = {4}, int64[1] zero = {0}, int64[1] one = {1}, bool t = {1}> "
        "{ z = Loop(n, t) <body = b (int64 i, bool c) => (bool d, float[2,1] w) { d = Identity(c) "
        "s = Unsqueeze(i, zero) e = Add(s, one) w = Slice(x, s, e, one) }> }",
        "(float[2,seq] x) => (float[seq,2,1] z) <int64[1] two = {2}> "
        "{ t = Transpose<perm=[1,0]>(x) z = Unsqueeze(t, two) }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "a state as long as what the body reads of the main graph": Case(
        "(float[2,3] x) => (float[2,3] y) <int64 n = {5}, float[2,3] h = {0,0,0,0,0,0}> { y = Loop(n, , h) <"
        "body = b (int64 i, bool c, float[2,3] g) => (bool d, float[2,3] o) { d = Identity(c) o = Max(g, x) }> }",
        "(float[2,seq] x) => (float[2,seq] y) { y = Relu(x) }",
        SEQ,
    ),
    "a state that grows": Case(
        "(float[2,2] x) => (float[2,8] y) <int64 n = {3}, int64[3] s = {2,2,1}, int64[2] u = {2,2}> "
        "{ y = Loop(n, , x) <body = b (int64 i, bool c, float[2,k] g) => (bool d, float[2,l] o) { d = Identity(c) "
        "r = Reshape(x, s) t = Transpose<perm=[0,2,1]>(r) v = Reshape(t, u) o = Concat<axis=1>(g, v) }> }",
        "(float[batch,2] x) => (float[batch,8] y) { y = Concat<axis=1>(x, x, x, x) }",
    ),
    "a branch that no run takes": Case(
        "(float[2,3] x) => (float[2,3] y) <bool c = {1}, float[2,3] k = {1,2,3,4,5,6}> { y = If(c) <"
        "then_branch = t () => (float[2,3] a) { a = Neg(x) }, "
        "else_branch = e () => (float[2,3] b) { b = Add(x, k) }> }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Neg(x) }",
    ),
    "a state that an iteration makes a constant": Case(
        "(float[2,3] x) => (float[2,3] y) <int64 n = {3}> { y = Loop(n, , x) <"
        "body = b (int64 i, bool c, float[2,3] g) => (bool d, float[2,3] o) { d = Identity(c) "
        "o = Constant<value = float[2,3] {1,2,3,1,2,3}>() }> }",
        "(float[batch,3] x) => (float[batch,3] y) <float[1,3] k = {1,2,3}> { s = Shape(x) y = Expand(k, s) }",
    ),
    "a table that a scan reads with the length": Case(
        "(float[1,3] x) => (float[1,3] z) <float[3] k = {5,7,6}> "
        "{ z = Scan(x, k) <num_scan_inputs=2, scan_input_axes=[1, 0], scan_output_axes=[1], "
        "body = b (float[1] v, float u) => (float[1] w) { w = Mul(v, u) }> }",
        "(float[1,seq] x) => (float[1,seq] z) <float[3] k = {5,7,6}, int64[1] zero = {0}> "
        "{ n = Shape<start=1>(x) q = Slice(k, zero, n) z = Mul(x, q) }",
        SEQ,
        most=3,
        sizes=(1, 2, 3),
    ),
    "before opset 15, in a branch": Case(
        "(float[2,2,2] x, bool c) => (float[2,3,2] y) <float[2,1,2] k = {1,2,1,2}> { y = If(c) <"
        "then_branch = t () => (float[2,3,2] a) { a = Concat<axis=1>(k, x) }, "
        "else_branch = e () => (float[2,3,2] b) { b = Concat<axis=1>(x, k) }> }",
        "(float[batch,2,2] x, bool c) => (float[batch,3,2] y) <float[1,1,2] k = {1,2}, int64[2] o = {1,2}, "
        "int64[1] z = {0}> { s = Shape(x) n = Gather<axis=0>(s, z) q = Concat<axis=0>(n, o) e = Expand(k, q) "
        "y = If(c) <then_branch = t () => (a) { a = Concat<axis=1>(e, x) }, "
        "else_branch = u () => (b) { b = Concat<axis=1>(x, e) }> }",
        opset=13,
    ),
}  # fmt: skip
REFUSED = {
    "rows that differ, in a branch": (
        "(float[2,2] x, bool c) => (float[2,2] y) <float[2,2] k = {1,5,1,6}> { y = If(c) <"
        "then_branch = t () => (float[2,2] a) { a = Add(x, k) }, "
        "else_branch = e () => (float[2,2] b) { b = Neg(x) }> }",
        BATCH,
        "node If#0/then_branch/Add#0 (Add): requires batch",
    ),
    "a branch returns rows that differ": (
        "(float[2,2] x, bool c) => (float[2,2] y) { y = If(c) <"
        "then_branch = t () => (float[2,2] a) { a = Neg(x) }, "
        "else_branch = e () => (float[2,2] b) { b = Constant<value = float[2,2] {3,4,3,5}>() }> }",
        BATCH,
        "its branches give y the sizes batch and 2",
    ),
    "branches with sizes in another order": (
        "(float[2,3,4] x, bool c) => (float[6,4] y) <int64[2] s = {6,4}> { y = If(c) <"
        "then_branch = t () => (float[6,4] a) { a = Reshape(x, s) }, else_branch = e () => (float[6,4] b) "
        "{ t = Transpose<perm=[1,0,2]>(x) b = Reshape(t, s) }> }",
        BATCH,
        "its branches give y the sizes of 3*batch in another order",
    ),
    "a state with sizes in another order afterwards": (
        "(float[2,3,4] x) => (float[6,4] y) <int64[2] s = {6,4}, int64[3] u = {2,3,4}, int64 n = {2}> "
        "{ h = Reshape(x, s) y = Loop(n, , h) <body = b (int64 i, bool c, float[6,4] g) => (bool d, float[6,4] o) "
        "{ d = Identity(c) r = Reshape(g, u) t = Transpose<perm=[1,0,2]>(r) o = Reshape(t, s) }> }",
        BATCH,
        "node Loop#1 (Loop): its state g has its sizes in another order afterwards",
    ),
    "a number of iterations that indexes another axis": (
        "(float[2,4] x) => (float[3,2] z) <int64 n = {3}, bool t = {1}> { z = Loop(n, t) <"
        "body = b (int64 i, bool c) => (bool d, float[2] w) { d = Identity(c) w = Gather<axis=1>(x, i) }> }",
        SEQ,
        "reads in an axis of seq by the number of an iteration",
    ),
    "a sum over the first positions": (
        "(float[2,4] x) => (float[2] y) <int64 n = {2}, float[2] h = {0,0}> { y = Loop(n, , h) <"
        "body = b (int64 i, bool c, float[2] g) => (bool d, float[2] o) { d = Identity(c) r = Gather<axis=1>(x, i) "
        "o = Add(g, r) }> }",
        SEQ,
        "reads in an axis of seq by the number of an iteration",
    ),
    "a counter that indexes a length": (
        "(float[2,3] x) => (float[3,2] z) <int64 n = {3}, int64 k = {0}, int64 one = {1}> { y, z = Loop(n, , k) <"
        "body = b (int64 i, bool c, int64 j) => (bool d, int64 l, float[2] w) { d = Identity(c) l = Add(j, one) "
        "w = Gather<axis=1>(x, j) }> }",
        ("x.1=seq",),
        "node Loop#0 (Loop)",
    ),
    "slices that move with the iterations, of two positions": (
        "(float[2,4] x) => (float[3,2,2] z) <int64 n = {3}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] k = {2}, "
        "bool t = {1}> { z = Loop(n, t) <body = b (int64 i, bool c) => (bool d, float[2,2] w) { d = Identity(c) "
        "s = Unsqueeze(i, zero) e = Add(s, k) w = Slice(x, s, e, one) }> }",
        SEQ,
        "reads in an axis of seq by the number of an iteration",
    ),
    "as many iterations as a length has positions": (
        "(float[1,4] x) => (float[1,4] y) <int64 n = {4}> { y = Loop(n, , x) <"
        "body = b (int64 i, bool c, float[1,4] g) => (bool d, float[1,4] o) { d = Identity(c) o = Neg(g) }> }",
        SEQ,
        "runs 4 times, which may depend on seq",
    ),
    "one iteration less than a length has positions": (
        "(float[1,4] x) => (float[1,4] y) <int64 n = {3}> { y = Loop(n, , x) <"
        "body = b (int64 i, bool c, float[1,4] g) => (bool d, float[1,4] o) { d = Identity(c) o = Neg(g) }> }",
        SEQ,
        "runs 3 times, which may depend on seq",
    ),
    "positions that are compared with the number of an iteration": (
        "(float[1,4] x) => (float[2,1,4] z) <int64 n = {2}, int64[4] p = {0,1,2,3}, bool t = {1}, float[1] zero = {0}> "
        "{ z = Loop(n, t) <body = b (int64 i, bool c) => (bool d, float[1,4] w) { d = Identity(c) e = Equal(p, i) "
        "w = Where(e, x, zero) }> }",
        SEQ,
        "node Loop#0 (Loop)",
    ),
    "numbers of rows in one branch alone": (
        "(float[2,3,2] x, bool c) => (float[2,2] y) <int64[2] s = {6,2}, int64[2] r = {0,3}, int64[1] t = {2}> "
        "{ m = ReduceSum<keepdims=0>(x, t) k = ArgMax<axis=1, keepdims=0>(m) d = Reshape(x, s) j = If(c) <"
        "then_branch = u () => (int64[2] a) { a = Add(k, r) }, else_branch = v () => (int64[2] b) { b = Abs(k) }> "
        "y = Gather<axis=0>(d, j) }",
        BATCH,
        "one of its branches alone gives j numbers of rows",
    ),
    "numbers of rows before the first iteration alone": (
        "(float[2,3,2] x) => (float[2,2] y) <int64[2] s = {6,2}, int64[2] r = {0,3}, int64[1] t = {2}, int64 n = {2}> "
        "{ m = ReduceSum<keepdims=0>(x, t) k = ArgMax<axis=1, keepdims=0>(m) d = Reshape(x, s) a = Add(k, r) "
        "j = Loop(n, , a) <body = b (int64 i, bool c, int64[2] g) => (bool e, int64[2] o) { e = Identity(c) "
        "o = Abs(k) }> y = Gather<axis=0>(d, j) }",
        BATCH,
        "its state g has numbers of rows at the first iteration alone",
    ),
    "a name that the graph around a branch has, too": (
        "(float[2,4] x, bool c) => (float[2,2,2] y) <int64[3] s = {2,2,-1}> { y = If(c) <"
        "then_branch = t () => (float[2,2,2] a) { n = Neg(x) a = Reshape(n, s) }, "
        "else_branch = e () => (float[2,2,2] b) { b = Reshape(x, s) }> n = Abs(x) }",
        BATCH,
        "its body defines n, as a graph around it does",
    ),
    "a state that an iteration makes a constant with other rows": (
        "(float[2,3] x) => (float[2,3] y) <int64 n = {3}> { y = Loop(n, , x) <"
        "body = b (int64 i, bool c, float[2,3] g) => (bool d, float[2,3] o) { d = Identity(c) "
        "o = Constant<value = float[2,3] {1,2,3,4,5,6}>() }> }",
        BATCH,
        "its states have other shapes than before",
    ),
    "as many iterations as a length has positions, by a condition": (
        "(float[1,3] x) => (float[1,3] y) <bool t = {1}, int64 k = {2}> { y = Loop(, t, x) <"
        "body = b (int64 i, bool c, float[1,3] g) => (bool d, float[1,3] o) { d = Less(i, k) o = Neg(g) }> }",
        SEQ,
        "reads the number 2, which may follow the length",
    ),
    "an index in a branch": (
        "(float[2,3] x, bool c) => (float[2,1] y) <int64[1] i = {2}, int64[1] z = {0}> { y = If(c) <"
        "then_branch = t () => (float[2,1] a) { a = Gather<axis=1>(x, i) }, "
        "else_branch = e () => (float[2,1] b) { b = Gather<axis=1>(x, z) }> }",
        SEQ,
        "reads at [2] in an axis of seq",
    ),
}  # fmt: skip


def feeds_with_conditions(proto: ModelProto, size: int, symbol: str) -> Iterator[dict[str, Any]]:
    """Feeds with each value of the conditions, which are inputs."""
    feeds = feeds_of(proto, size, symbol)
    names = [v.name for v in proto.graph.input if v.type.tensor_type.elem_type == onnx.TensorProto.BOOL]
    for bits in range(1 << len(names)):
        yield {**feeds, **{name: np.array(bool(bits >> at & 1)) for at, name in enumerate(names)}}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_bodies_follow_the_size(name: str) -> None:
    found = check_dynamic(CASES[name], feeds_with_conditions)
    defined: set[str] = set()
    for path, graph in bodies(found):
        own = [*(each for node in graph.node for each in node.output), *(t.name for t in graph.initializer)]
        new = {each for each in own if each.startswith("unfreeze_")}
        assert new.isdisjoint(defined), f"a new name occurs twice, in {path}"
        defined |= new


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explained_in_a_body_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)


def test_a_scan_with_a_batch_axis_of_its_own_is_refused() -> None:
    text = (
        "(float[2,5,3] x) => (float[2,5,3] z) { z = Scan(, x) <num_scan_inputs=1, "
        "body = b (float[3] v) => (float[3] w) { w = Neg(v) }> }"
    )
    assert "holds a body that is not followed" in unfreeze(model(text, opset=8), BATCH).why_refused


def test_bodies_with_a_second_export() -> None:
    def text(size: int) -> str:
        return (
            f"(float[{size},4] x, bool c) => (float[{size},2,2] y) <int64[3] s = {{0,2,-1}}> {{ y = If(c) <"
            f"then_branch = t () => (float[{size},2,2] a) {{ n = Neg(x) a = Reshape(n, s) }}, "
            f"else_branch = e () => (float[{size},2,2] b) {{ b = Reshape(x, s) }}> }}"
        )

    result = unfreeze(model(text(2)), BATCH, like=model(text(3)))
    assert not result.refused, result.why_refused
    assert [*result.proto.graph.node] and not result.removals
    other = [model(text(size).replace("{0,2,-1}", f"{{{size},2,-1}}")) for size in (2, 3)]
    with pytest.raises(UsageError, match="its subgraphs read s, which differs"):
        unfreeze(other[0], BATCH, like=other[1])
