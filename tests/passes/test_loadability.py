# ruff: noqa: E501  (models as text)
"""Written models load wherever the original did: a node that never runs may fail, as long as no loader sees it.

onnxruntime and onnx.checker judge. Each model is one of which a rewrite, or a type that is written, shows too much.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TypeProto

import gather_infer
from gather_infer.inference import load_refusals
from gather_infer.model.model_loading import to_onnx_file
from gather_infer.passes import fold, optimize
from gather_infer.passes.loadability import ProtectedValues
from tests.onnx_versions import require_onnx
from tests.oracle.loaders import LOADERS, refused_now
from tests.oracle.optimized_graphs import ordered
from tests.rewrites.table import run

BRANCH = "y = If(c) <then_branch = t () => (float[P,Q,R] a) {{ {} }}, else_branch = e () => (float[S,T,U] b) {{ b = Relu(r) }}>"
HIDDEN = "s = Shape(x) n = Gather(s, z) t = Concat<axis = 0>(n, f) r = Reshape(x, t)"
GIVEN = "g (float[N,12] x, bool c) => (float[A,B,C] y) <int64[2] f = {3, 4}, int64[1] z = {0}, int64[1] o = {1}, float[7] w = {1, 2, 3, 4, 5, 6, 7}>"


def in_branch(text: str) -> str:
    return f"{GIVEN} {{ {HIDDEN} {BRANCH.format(text)} }}"


MODELS = {
    "Squeeze in a branch, of a dim that a target tells": in_branch("a = Squeeze(r, o)"),
    "Add in a branch": in_branch("a = Add(r, w)"),
    "MatMul in a branch": in_branch("a = MatMul(r, r)"),
    "behind other nodes": in_branch("u = Neg(r) v = Transpose<perm = [0, 1, 2]>(u) a = Squeeze(v, o)"),
    "all of it in the branch": f"{GIVEN} {{ r = Unsqueeze(x, o) {BRANCH.format(HIDDEN.replace('r =', 'q =') + ' a = Squeeze(q, o)')} }}",
    "a Split whose sizes are folded": """g (float[N,M,K] x, float[M,12] w, bool c) => (float[A,B] y) <float[2,2] d = {1, 2, 3, 4}> {
        y = If(c) <then_branch = t () => (float[P,Q] a) { s = Shape(x) k = Shape(s) q = Concat<axis = 0>(k, k) a, l = Split(d, q) },
                   else_branch = e () => (float[S,T] b) { b = Relu(w) }> }""",
    "an axis of a Constant of integers": f"""g (float[N,12] x, bool c) => (float[A,B,C] y) <int64[2] f = {{3, 4}}, int64[1] z = {{0}}> {{
        o = Constant<value_ints = [1]>() {HIDDEN} {BRANCH.format('a = Squeeze(r, o)')} }}""",
    "in a function": f"""{GIVEN} {{ {HIDDEN} y = l.F(r, c) }} <domain: "l", opset_import: ["": 21]> F (r, c) => (y) {{
        o = Constant<value_ints = [1]>() {BRANCH.format('a = Squeeze(r, o)')} }}""",
    "a loop of no trips": f"""g (float[N,12] x, int64 m, bool c, float[K] k) => (float[L] y) <int64[2] f = {{3, 4}}, int64[1] z = {{0}}, int64[1] o = {{1}}> {{
        {HIDDEN} y = Loop(m, c, k) <body = b (int64 i, bool d, float[K2] p) => (bool e, float[K3] q) {{
            e = Identity(d) u = Squeeze(r, o) v = Constant<value_ints = [-1]>() h = Reshape(u, v) q = Add(p, h) }}> }}""",
    "a size that onnxruntime shows to TopK": """g (float[N] x, bool[N] mask, float[S,1] y, int64 n) => (float[A,B] s, int64[C,D] i) <float[3] c = {1, 1, 1}, int64[1] o = {-1}, bool t = {1}, int64 last = {-1}> {
        v = Compress(x, mask) s = Loop(n, t) <body = b (int64 k, bool go) => (bool on, float[] r) {
            on = Identity(go) w = Neg(v) z = Shape(w) q = Reshape(w, z) r = Add(q, c) }>
        d = Shape(s) e = Gather(d, last) f = Unsqueeze(e, o) h, i = TopK<axis = 1>(y, f) }""",
    "a 0 beside a -1 that is computed": """g (float[N,M] x, int64[3] q) => (float[A,B,C] y) <int64[2] m = {-1, 1}> {
        s = Shape(q) z = Sub(s, s) t = Concat<axis = 0>(m, z) y = Reshape<allowzero = 1>(x, t) }""",
    "one size of a loop's result, of which onnx does not see the rank": """g (float[K] x, float[N,M] w, int64 m, bool c) => (float[L] y) <int64[1] o = {1}> {
        r = Loop(m, c, w) <body = b (int64 i, bool d, float[] p) => (bool e, float[] q) { e = Identity(d) q = Concat<axis = 1>(p, p) }>
        s = Shape(r) n = Gather(s, o) y = Resize<axes = [0], mode = "nearest">(x, "", "", n) }""",
    "a dim of an LpPool, of which onnx computes a wrong one": """g (float[N,M,2] x) => (float[N,M] y) <int64 l = {-1}> {
        p = LpPool<auto_pad = "SAME_LOWER", ceil_mode = 1, kernel_shape = [1], strides = [3]>(x) y = Gather<axis = 2>(p, l) }""",
    "a target that onnxruntime's optimiser rewrites": """g (float[1,N] x, float[M] w) => (float[A,B,C] y) <int64[1] z = {0}, int64[1] o = {1}> {
        s = Shape(x) a = Gather(s, z) b = Sub(a, o) h = Concat<axis = 0>(b, o) e, f = Split<axis = 0>(x, h)
        u = Shape(w) t = Concat<axis = 0>(b, o, u) y = Reshape(e, t) }""",
    "a target of a Reshape that stays, where sizes are computed anew": """g (float[2,P,M,S] x, bool c) => (int64[1] y, float[A,B,C,D] w) <int64[1] four = {4}, int64[1] z = {0}, int64[1] o = {1}, int64[1] two = {2}, int64[1] f = {5}, float[1,1,1,1] k = {1}> {
        v = Slice(x, four, z) s = Shape(v) a = Gather(s, z) b = Gather(s, o) d = Gather(s, two) m = Mul(b, d) t = Concat<axis = 0>(a, m, f)
        r = Reshape(v, t) q = Shape(r) y = Gather(q, o)
        w = If(c) <then_branch = t1 () => (float[E,F,G,H] p) { h = Shape(v) i = Reshape(v, h) j = Concat<axis = 1>(i, k) p = Relu(j) },
                   else_branch = e1 () => (float[I,J,K,L] n) { n = Identity(x) }> }""",
    "what a loop gives that its body holds as a constant": """g (float[K] x, bool c) => (float[L] y, float[A,B] w, float[C,D,E] z) <int64 three = {3}> {
        w = Loop(three, "") <body = b1 (int64 i, bool d) => (bool e, float[M] p) { e = Identity(d) h = Constant<value_floats = [0.0, 1.0]>() p = Identity(h) }>
        y, z = Loop(three, c, x) <body = b2 (int64 j, bool f, float[N] q) => (bool g, float[O] r, float[] u) <float[3,3] k = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
            g = Identity(f) s = Shape(w) t = Reshape(w, s) u = Concat<axis = 0>(t, k) r = Add(q, q) }> }""",
    "everything backwards, of which onnx and the kernel think otherwise": """g (float[N] x) => (float[A] y) <float[4] h = {1, 2, 3, 4}, int64[1] z = {0}, int64[1] m = {-1}, int64[1] e = {9223372036854775807}, float k = {1e30}> {
        t = Concat<axis = 0>(m) v = Reshape<allowzero = 1>(h, t) w = Slice(v, z, e, z, m) a = Abs(w) b = ReduceMax<keepdims = 0>(a) c = Less(b, k)
        y = If(c) <then_branch = t1 () => (float[P] p) { p = Identity(a) }, else_branch = e1 () => (float[Q] q) { q = Relu(x) }> }""",
    "what onnx refuses from the start and onnxruntime sees too little of": """g (float[3,N,N] x, float[S,S,N] w) => (bool[A,B,C,D] y) <float most = {1e30}, int64[1] three = {3}> {
        trips = Constant<value = int64 {3}>() p = Concat<axis = 2>(w, w) z = Constant<value = int64[1] {0}>()
        low = Constant<value = int64[1] {-3}>() o = Constant<value = int64[1] {1}>() two = Constant<value = int64[1] {2}>()
        j = Concat<axis = 0>(z, three, two, o) a = Abs(p) m = ReduceMax<keepdims = 0>(a) c = Greater(m, most)
        u, v = Loop(trips, c, x) <body = b1 (int64 i, bool d, float[] h) => (bool e, float[] q, float[] r) <int64[1] last = {2}> {
            s = Shape(x) t = Reshape(x, s) r = Squeeze(t, last) e = Identity(d) q = Add(h, h) }>
        k = Unsqueeze(v, z) f = Expand(k, j) l = Shape(f) n = Gather(l, low) sizes = Concat<axis = 0>(z, n)
        g1 = CenterCropPad<axes = [-4, 2]>(f, sizes) y = Greater(g1, v) }""",
    "a Gather of no element of what an Expand repeats": """g (float[N] x, bool c) => (float[A,B,C] y) <int64[1] o = {1}, float[1] w = {0}, int64 trips = {0}, bool never = {0}, int64[0] none = {}> {
        w2 = Add(w, w) h = CenterCropPad<axes = [0]>(w2, o) s1 = Shape(h)
        a = If(c) <then_branch = t1 () => (float[P] p) { p = Neg(h) }, else_branch = e1 () => (float[Q] q) { q = Relu(h) }>
        e = Expand(a, s1) b = Gather<axis = -1>(e, none) d = Mul(a, b)
        y = Loop(trips, never) <body = l (int64 i, bool k) => (bool k2, float[] s) { k2 = Identity(k) s = Unsqueeze(d, o) }> }""",
    "the unique elements of floats that are known": """g (float[N] x, bool c) => (float[A] y, float[B,C] z) <float[3] f = {-1.5, -1.5, -0}, int64[1] three = {3}, int64 trips = {0}, int64[1] n = {0}> {
        r = Slice(x, n, n) h = Concat<axis = 0>(f, r) u, i1, i2, i3 = Unique(h)
        y, z = Loop(trips, "", x) <body = l (int64 i, bool k, float[D] s) => (bool k2, float[E] s2, float[] v) {
            k2 = Identity(k) s2 = Add(s, s) v, at = TopK<axis = 0>(u, three) }> }""",
    "what a Slice backwards to the largest number is of": """g (float[1] x, float[2] p) => (float[] y) <int64[1] z = {0}, int64[1] last = {9223372036854775807}, int64[1] back = {-2}, int64[1] two = {2}, int64[1] m = {-1}, int64 k = {-1}> {
        s = Shape(z) g = Gather<axis = 0>(s, k) e = Reshape(g, m) v = Slice(x, z, e, z, two) t = Concat<axis = 0>(m) r = Reshape(v, t)
        w = Slice(r, z, last, z, back) a = ArgMin<axis = -1>(p) q = GatherElements<axis = -1>(p, a) y = MatMul(q, w) }""",
    "a size that is an output, in a target that onnxruntime's optimiser rewrites": """g (float[1,M,"2*M"] x, float[4,4] w) => (float[A,B] y, b) <int64[1] z = {0}, int64[1] o = {1}, int64[1] two = {2}> {
        u = Size(w) n = Unsqueeze(u, z) t = Concat<axis = 0>(z, n, o) v = Tile(x, t) s = Shape(v)
        h = Gather(s, z) d = Gather(s, o) e = Gather(s, two) b = Mul(d, e) c = Concat<axis = 0>(h, b) y = Reshape(v, c) }""",
    "a rank that onnx loses where it propagates elements": """g (float[K,4,"2*S"] x, float[4,S,S] w, bool c) => (float[] y) <int64 trips = {0}, int64[1] o = {1}, int64[1] m = {-1}> {
        h, p = Loop(trips, "", w) <body = b (int64 i, bool d, float[] q) => (bool e, float[] r, float[] u) {
            e = Identity(d) r = Add(q, q) v = Neg(x) s = Shape(v) t = Reshape(v, s) k = Squeeze(t, o) u = Relu(k) }>
        none = Constant<value = int64[0] {}>() n = Cast<to = 1>(none) f = ScatterElements<axis = 0>(p, none, n) l = Reshape(f, m)
        j, y = If(c) <then_branch = t1 () => (int64[] a1, float[] b1) { a1 = Constant<value = int64 {3}>() b1 = Abs(w) },
                      else_branch = e1 () => (int64[] a2, float[] b2) { z = Constant<value = int64 {0}>() g = Shape(l) a2 = Gather(g, z) b2 = Neg(w) }> }""",
    "what an If gives that turns out to be decided": """g (float[2,M,S] x, float[S,S,N,3] x1, float[S,"N + M","S + N"] w) => (float[A,B,C,D] y) <int64 k = {-2}, int64[1] o = {1}, int64 z = {0}, int64[1] m = {-1}, int64[1] n = {0}> {
        t = Constant<value = int64[1] {2}>() f = Constant<value = int64[1] {1}>() s = Shape(w) p = Concat<axis = -1>(n, m) d = Gather<axis = 0>(s, k)
        q = Concat<axis = 0>(t, o) h = l.F<axis = 0>(w, x, o) c = Greater(d, z)
        r = Resize<axes = [0, 2], coordinate_transformation_mode = "asymmetric", mode = "nearest">(x, "", "", q)
        u, v = If(c) <else_branch = e () => (float[E,F,G] b5, int64[] b4) <int64[1] b0 = {-1}, float[1,3] b1 = {1, 1, 1}> {
                          b3 = Concat<axis = 0>(b0) b4 = Reshape(h, b3) b5 = MatMul(r, b1) },
                      then_branch = t () => (float[] b2, int64[H] b6) { b6 = l.F<axis = -1>(h, q, k) b2 = ReduceProd<keepdims = 1>(r) }>
        a = Concat<axis = -2>(u, u)
        g1, y = Loop(z, "", u) <body = b (int64 i, bool j, float[] g2) => (bool j2, float[] g3, float[] y1) <float[2,2] c1 = {1, 1, 1, 1}> {
            v1 = Relu(u) v2 = MatMul(v1, c1) y1 = Relu(v2) j2 = Identity(j) g3 = Add(g2, g2) }>
        pad = Pad<mode = "constant">(a, p, "", f) } <domain: "l", opset_import: ["": 21]> F <axis> (a1, a2, a3) => (r1) {
        s1 = Shape(a2) t1 = Constant<value = int64[1] {2}>() m1 = Constant<value = int64[1] {-1}>() u1 = Concat<axis: int = @axis>(t1, m1)
        w1 = Reshape(a2, u1) r1 = Identity(t1) }""",
    "a hidden dim beside a value declared of another rank": f"""{GIVEN} {{ {HIDDEN} i = Identity(w) j = Identity(i)
        y = If(c) <then_branch = t () => (float[P,Q,R] a, float k) {{ a = Squeeze(r, o) k = Neg(j) }},
                   else_branch = e () => (float[S,T,U] b, float l) {{ b = Relu(r) l = Abs(j) }}> }}""".replace("y = If", "y, v = If"),
    "a hidden dim of a value declared of another rank": f"""{GIVEN} {{ {HIDDEN}
        y = If(c) <then_branch = t () => (float[P,Q,R] a) <float[P,Q] u> {{ u = Neg(r) a = Squeeze(u, o) }}, else_branch = e () => (float[S,T,U] b) {{ b = Relu(r) }}> }}""",
    "a value declared of other dims": f"""{GIVEN} {{ {HIDDEN}
        y = If(c) <then_branch = t () => (float[P,Q,R] a) <float[N,3,5] u> {{ v = Identity(r) u = Neg(v) a = Squeeze(u, o) }}, else_branch = e () => (float[S,T,U] b) {{ b = Relu(r) }}> }}""",
    "a value declared of other dims, of a shape that is not known": """g (float[N,12] x, int64[3] t, float[7] w, bool c) => (float[A,B,C] y) <int64[1] o = {1}> {
        r = Reshape(x, t) s = Shape(w) k = Concat<axis = 0>(s, o, o)
        y = If(c) <then_branch = t1 () => (float[P,Q,R] a) <float[3,4] u> { n = Reshape(w, k) u = Identity(n) v = Neg(u) a = Squeeze(v, o) },
                   else_branch = e () => (float[S,T,U] b) { b = Relu(r) }> }""",
}  # fmt: skip
"""Models that onnxruntime loads, and whose facts it must not be shown."""

WRITERS: dict[str, Callable[[ModelProto], ModelProto]] = {
    "fold": lambda model: fold(model).proto,
    "optimize": lambda model: optimize(model).proto,
    "infer": lambda model: gather_infer.infer(model).annotated(),
}


def parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "l": 1]> {text}')


@pytest.mark.parametrize("how", WRITERS)
@pytest.mark.parametrize("what", MODELS)
def test_what_loaded_loads(what: str, how: str) -> None:
    if "LpPool" in what:
        require_onnx("1.17", "the dims of LpPool as runtimes infer them")
    before = parsed(MODELS[what])
    assert not all(refusal_of(before) for refusal_of in LOADERS.values())
    assert not refused_now(before, WRITERS[how](before))


@pytest.mark.parametrize("what", MODELS)
def test_a_second_run_finds_nothing(what: str) -> None:
    result = optimize(parsed(MODELS[what]))
    assert not optimize(result.proto).applied


@pytest.mark.parametrize("what", MODELS)
def test_nodes_that_stand_in_any_order(what: str) -> None:
    """onnx's shape inference takes them as they stand, runtimes in an order of their own."""
    if "LpPool" in what:
        require_onnx("1.17", "the dims of LpPool as runtimes infer them")
    before = parsed(MODELS[what])
    backwards = ModelProto()
    backwards.CopyFrom(before)
    del backwards.graph.node[:]
    backwards.graph.node.extend(reversed(before.graph.node))
    assert not refused_now(before, ordered(optimize(backwards).proto))


def test_types_are_found_by_position_in_the_file() -> None:
    """A graph below a node is that node's wherever onnx's shape inference is given the node."""
    model = parsed(
        """g (float[N, 12] x, bool c) => (float[A, B] y) {
            y = If(d) <then_branch = t () => (float[P, Q] a) { b = Relu(x) a = Neg(b) }, else_branch = e () => (float[S, T] f) { f = Relu(x) }>
            d = Not(c) }"""
    )
    found = load_refusals.visible_types(to_onnx_file(model), model)
    branch = next(path for path in found if path.steps and "b" in found[path])
    assert branch.steps[0].node == 0
    assert [d.dim_param or d.dim_value for d in found[branch]["b"].tensor_type.shape.dim] == ["N", 12]


def test_a_branch_that_would_be_a_constant_of_another_rank() -> None:
    """onnxruntime puts the body of a decided If in its place, however little constants may grow."""
    before = parsed(
        """g (float[S, "2*N", M] x) => (float[A,B,C,D] y) <int64 two = {2}, int64 zero = {0}> {
            i = ArgMax<axis = -2, keepdims = 0>(x) d = Gather<axis = -2>(x, i) s = Shape(d) m = Gather(s, two) c = Equal(m, zero)
            y = If(c) <else_branch = e () => (float[] n) { n = Sigmoid(d) },
                       then_branch = t () => (float[E,F,G,H] p) <int64 three = {3}> {
                           u = Shape(d) k = Gather(u, three) b = LessOrEqual(k, two)
                           h, h2 = If(b) <else_branch = e2 () => (float[] r, float[] r2) { r = Identity(d) r2 = Identity(r) },
                                          then_branch = t2 () => (float[] q, float[L] q2) <float[2] w = {-1.5, 2}> {
                                              v = ReduceProd<keepdims = 1>(w) q = Identity(v) q2 = Identity(q) }>
                           p = Identity(h) }> }"""
    )
    assert not refused_now(before, optimize(before, max_growth=0).proto)


def test_the_rest_of_the_model_is_rewritten() -> None:
    before = parsed(f"{GIVEN} {{ i = Identity(x) j = Neg(i) k = Neg(j) {HIDDEN} {BRANCH.format('a = Add(r, w)')} }}")
    result = optimize(before)
    assert "Identity" not in {node.op_type for node in result.proto.graph.node}
    assert [d.code for d in result.diagnostics if "would not load" in d.message] == ["GI401"]
    feeds = {"x": np.arange(24, dtype="f4").reshape(2, 12), "c": np.array(False)}
    expected, found = run(before, feeds), run(result.proto, feeds)
    assert expected is not None and found is not None and np.array_equal(expected[0], found[0])


def test_only_the_size_that_is_given_lets_a_runtime_see_it() -> None:
    """Declarations of other values show no more than those of the inputs."""
    before = parsed(in_branch("v = Cast<to = 1>(r) a = Add(v, w)").replace("float[N,12] x", "float[N,M] x"))
    sized = parsed(in_branch("v = Cast<to = 1>(r) a = Add(v, w)").replace("float[N,12] x", "float[N,12] x"))
    assert not refused_now(sized, optimize(before, dims=["M=12"]).proto)


def test_functions_that_double_in_branches_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx's shape inference walks a function at each call: 2^24 nodes here."""
    calls = "a = l.F{0}(x, c) b = l.F{0}(x, c) o = Add(a, b)"
    branches = "<then_branch = t () => (float[...] o) {{ {0} }}, else_branch = e () => (float[...] o) {{ {0} }}>"
    functions = ['<domain: "l", opset_import: ["": 21]> F0 (x, c) => (y) { y = Relu(x) }']
    for level in range(12):
        branch = branches.format(calls.format(level)).replace("float[...] o", "float[N] o")
        functions.append(
            f'<domain: "l", opset_import: ["": 21, "l": 1]> F{level + 1} (x, c) => (y) {{ y = If(c) {branch} }}'
        )
    main = "g (float[N] x, bool c) => (float[N] y) { y = l.F12(x, c) }"
    text = f'<ir_version: 10, opset_import: ["": 21, "l": 1]> {main}' + " ".join(functions)
    shown: list[int] = []
    asked = onnx.shape_inference.infer_shapes

    def counting(model: ModelProto, **how: bool) -> ModelProto:
        shown.append(len(model.functions))
        return asked(model, **how)

    monkeypatch.setattr(load_refusals, "infer_shapes", counting)
    fold(onnx.parser.parse_model(text))
    assert shown and not any(shown)


WRONGLY_DECLARED = {
    # id: a model, and the values whose declarations contradict what onnx infers
    "the output of a branch": (
        """g (float[N] x, bool c) => (float[A] y) { i = Identity(x) h = Neg(i)
        y = If(c) <then_branch = t () => (float a) { b = Identity(h) a = Abs(b) }, else_branch = e () => (float[M] d) { d = Abs(x) }> }""",
        {"a"},
    ),
    "several, one seen only without the other": (
        """g (float[N] x, bool c) => (float[A] y) <float[K,L] h> { i = Identity(x) h = Neg(i)
        y = If(c) <then_branch = t () => (float a) <float[K,L] b> { b = Identity(h) a = Abs(b) }, else_branch = e () => (float[M] d) { d = Abs(x) }> }""",
        {"h", "b", "a"},
    ),
    "other dims": (
        """g (float[3] x, bool c) => (float[A] y) <float[4] h> { i = Identity(x) h = Neg(i)
        y = If(c) <then_branch = t () => (float a) { b = Identity(h) a = Abs(b) }, else_branch = e () => (float[M] d) { d = Abs(x) }> }""",
        {"h", "a"},
    ),
    "one of two outputs": (
        """g (float[4] x, bool c) => (float[A] y) { i = Identity(x)
        y, z = If(c) <then_branch = t () => (float[2] a, float b) { a, b = Split<num_outputs = 2>(i) },
                      else_branch = e () => (float[M] d, float[K] f) { d = Abs(x) f = Neg(x) }> }""",
        {"a", "b"},
    ),
}  # fmt: skip


def wrong(made: ModelProto) -> set[str]:
    found = load_refusals.wrongly_declared(to_onnx_file(made), load_refusals.no_facts)
    return {name for names in found.values() for name in names}


@pytest.mark.parametrize("how", WRONGLY_DECLARED)
def test_a_wrongly_declared_value_hinders_no_rewrites(how: str) -> None:
    """onnxruntime warns of the declaration and loads the file, which onnx refuses."""
    text, names = WRONGLY_DECLARED[how]
    before = parsed(text)
    assert loads(before)
    with pytest.raises(onnx.shape_inference.InferenceError):
        onnx.shape_inference.infer_shapes(before, strict_mode=True)
    assert wrong(before) == names
    result = optimize(before)
    assert not refused_now(before, result.proto)
    assert "Identity" not in str(result.proto)
    assert not optimize(result.proto).applied
    for taken in (True, False):
        feeds = {"x": np.array([1, -2, 3, 4] if "float[4] x" in text else [1, -2, 3], "f4"), "c": np.array(taken)}
        expected, found = run(before, feeds), run(result.proto, feeds)
        assert expected is not None and found is not None and np.array_equal(expected[0], found[0])


def test_a_declaration_stays_where_nothing_is_rewritten() -> None:
    text = "g (float[N] x, bool c) => (float[A] y) { y = If(c) <then_branch = t () => (float a) { a = Abs(x) }, else_branch = e () => (float[M] d) { d = Neg(x) }> }"
    assert optimize(parsed(text)).proto == parsed(text)


OTHERWISE_REFUSED = {
    # id: a model with a refusal for another reason, too
    "no declarations": in_branch("a = Squeeze(r, o)"),
    "a node that would be seen": """g (float[N,12] x, bool c) => (float[A,B,C] y) <int64[2] f = {3, 4}, int64[1] z = {0}, int64[1] o = {1}> {
        t = Constant<value = int64[3] {-1, 3, 4}>() r = Reshape(x, t)
        y = If(c) <then_branch = t () => (float[P,Q,R] a) <float[P,Q] u> { u = Neg(r) a = Squeeze(u, o) }, else_branch = e () => (float[S,T,U] b) { b = Relu(r) }> }""",
    "another element type": "g (float[N] x) => (float[A] y) <int64[N] h> { h = Neg(x) y = Neg(h) }",
    "an output of the model": "g (float[N] x) => (float[A,B] y) { h = Neg(x) y = Neg(h) }",
}  # fmt: skip


@pytest.mark.parametrize("how", OTHERWISE_REFUSED)
def test_declarations_stay_where_there_are_other_refusals(how: str) -> None:
    before = parsed(OTHERWISE_REFUSED[how])
    assert not wrong(before)
    assert not loads(before) or not refused_now(before, optimize(before).proto)


@pytest.mark.parametrize("how", ["fold", "optimize"])
def test_a_planted_fault_is_seen(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what is left alone, models are written that no longer load."""
    monkeypatch.setattr(ProtectedValues, "extend_for", lambda *_: False)
    refusals = [refused_now(parsed(text), WRITERS[how](parsed(text))) for text in MODELS.values()]
    assert any("onnxruntime refuses" in refusal or "onnx.checker" in refusal for refusal in refusals)


@pytest.mark.parametrize("what", ["one size of a loop", "a dim of an LpPool", "a target that onnxruntime's optimiser"])
def test_what_only_the_runtime_gets_wrong_is_seen(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProtectedValues, "extend_for", lambda *_: False)
    before = parsed(next(text for name, text in MODELS.items() if name.startswith(what)))
    assert refused_now(before, optimize(before).proto)


SIZES = {
    # id: how k, which is 14, is computed from w, a tensor of 14 elements
    "Shape": "k = Shape(w)",
    "Gather": "s = Shape(w) k = Gather(s, zeros)",
    "Gather of a scalar": "s = Shape(w) g = Gather(s, zero) k = Unsqueeze(g, zeros)",
    "Squeeze": "s = Shape(w) q = Squeeze(s, zeros) k = Unsqueeze(q, zeros)",
    "Cast": "s = Shape(w) k = Cast<to = 7>(s)",
    "Concat": "s = Shape(w) k = Concat<axis = 0>(s)",
    "Add": "s = Shape(w) k = Add(s, zeros)",
    "Identity": "s = Shape(w) k = Identity(s)",
    "Max": "s = Shape(w) k = Max(s, zeros)",
}


@pytest.mark.parametrize("ir_version", [3, 10])
@pytest.mark.parametrize("how", SIZES)
def test_sizes_that_onnxruntime_propagates(how: str, ir_version: int) -> None:
    """A TopK of 14 elements of an axis of 1 is refused where onnxruntime, which judges, sees k."""
    made = onnx.parser.parse_model(
        f"""<ir_version: {ir_version}, opset_import: ["": 19]> g (float[14] v, float[S,1] x) => (float[A,B] a) {{
        zero = Constant<value = int64 {{0}}>() zeros = Constant<value = int64[1] {{0}}>()
        w = Relu(v) {SIZES[how]} a, b = TopK<axis = 1>(x, k) }}"""
    )
    source = to_onnx_file(made)
    refused = load_refusals.refused_nodes(source, made, load_refusals.no_facts)
    assert [made.graph.node[position].op_type for _, position in refused] == ["TopK"] * (not loads(made))


OUTER = {
    # id: the constant `at` as an initializer, "" if it is a Constant node; and the nodes of a branch
    "of an outer initializer": ("<int64[1] at = {0}>", "v = Neg(w) s = Shape(v) k = Gather(s, at) a, b = TopK(x, k)"),
    "of an outer Constant": ("", "v = Neg(w) s = Shape(v) k = Gather(s, at) a, b = TopK(x, k)"),
    "of an outer Constant, long enough": ("", "v = Neg(x) s = Shape(v) k = Gather(s, at) a, b = TopK(x, k)"),
}


@pytest.mark.parametrize("how", OUTER)
def test_sizes_that_onnxruntime_propagates_in_a_branch_from_outer_constants(how: str) -> None:
    initializer, nodes = OUTER[how]
    constant = "" if initializer else "at = Constant<value = int64[1] {0}>()"
    made = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> g (bool c, float[2] x, float[5] w) => (float[A] y) {initializer} {{
        {constant} y = If(c) <then_branch = t () => (float[P] a) {{ {nodes} }}, else_branch = e () => (float[Q] d) {{ d = Neg(x) }}> }}"""
    )
    refused = load_refusals.refused_nodes(to_onnx_file(made), made, load_refusals.no_facts)
    assert [len(path.steps) for path, _ in refused] == [1] * (not loads(made))
    assert loads(made) == ("long enough" in how)


LARGE = {
    # id: an integer tensor of 2000 elements, more than are read, and a node that reads it
    "initializer": ("<int64[2000] t = {}>", "n = Abs(t)"),
    "initializer, propagated": ("<int64[2000] t = {}>", "n = Add(t, zeros)"),
    "Constant": ("", "t = Constant<value = int64[2000] {}>() n = Abs(t)"),
    "Constant, propagated": ("", "t = Constant<value = int64[2000] {}>() n = Add(t, zeros)"),
}


@pytest.mark.parametrize("version", [9, 19])
@pytest.mark.parametrize("how", LARGE)
def test_large_integer_tensors_hide_no_refusal(how: str, version: int) -> None:
    """onnx reads no elements of tensors whose payload is left out, and the elements of no other tensor depend on it."""
    initializer, node = (text.replace("{}", "{" + ", ".join(map(str, range(2000))) + "}") for text in LARGE[how])
    made = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": {version}]> g (float[S,1] x) => (float[A,B] a, int64[C] m) {initializer} {{
        zeros = Constant<value = int64[1] {{0}}>() {node} m = Neg(n)
        k = Constant<value = int64[1] {{14}}>() a, b = TopK<axis = 1>(x, k) }}"""
    )
    source = to_onnx_file(made)
    refused = load_refusals.refused_nodes(source, made, load_refusals.no_facts)
    assert [made.graph.node[position].op_type for _, position in refused] == ["TopK"] * (not loads(made))
    del made.graph.node[-2:], made.graph.output[0]
    assert loads(made) and not load_refusals.refused_nodes(to_onnx_file(made), made, load_refusals.no_facts)


def loads(made: ModelProto) -> bool:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(made.SerializeToString(), options)
    except Exception:  # noqa: BLE001 - each failure of the runtime has a class of its own
        return False
    return True


def test_a_body_that_declares_an_outer_value_without_a_type() -> None:
    """The empty declaration hides the type from onnx, but not from onnxruntime."""
    made = parsed("""g (int64[3, 3] x, int64[3] v) => (int64[3] y) <int64 three = {3}> {
        y = Loop(three, "", v) <body = b (int64 i, bool c, int64[3] s) => (bool d, int64[3] t) {
            d = Identity(c) u = Gather(x, i) w = Gather(u, i) t = Add(s, w) }> }""")
    made.graph.node[0].attribute[0].g.value_info.add(name="x", type=TypeProto())
    with pytest.raises(onnx.shape_inference.InferenceError):
        onnx.shape_inference.infer_shapes(made, strict_mode=True)
    assert loads(made) and not load_refusals.refused_alone(to_onnx_file(made), made, data_prop=True)
