"""Loops and scans in a table: what is known of a state, a stack and the number of iterations, held against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from gather_infer import infer
from gather_infer.symbolic import symbol
from gather_infer.tensor import UNKNOWN, DType, SequenceType, SymbolicTensor, Value
from gather_infer.validate import VerdictKind, verdicts
from tests.inference.models import model, untyped
from tests.inference.test_joins import reported
from tests.oracle.soundness import Runtime, compare

HEAD = """go = Constant<value = bool {1}>() stop = Constant<value = bool {0}>() none = Constant<value_int = 0>() one = Constant<value_int = 1>()
    three = Constant<value_int = 3>() w1 = Constant<value_ints = [1]>() v0 = Constant<value_ints = [0]>() many = Constant<value_int = 99>()
    s = Shape(x) v = Slice(s, v0, w1) n = Squeeze(v) """
BODY = "<body = b (int64 i, bool c, float[p, 3] a) => (bool c2, float[q, 3] a2"
FLOAT = "<body = b (int64 i, bool c, float a) => (bool c2, float a2, int64 o) { c2 = Identity(c) o = Identity(i)"
BOOL = "<body = b (int64 i, bool c, bool a) => (bool c2, bool a2, int64 o) { c2 = Identity(c) o = Identity(i)"
LOOPS = {
    # id:                         (nodes, what is known of y and of z)
    "the same state":             (f"y, z = Loop(three, go, x) {BODY}, float[r, 3] o) {{ c2 = Identity(c) a2 = Neg(a) o = Neg(a) }}>", "sizes", "sizes"),
    "rows are added":             (f"y, z = Loop(three, go, x) {BODY}, int64 o) {{ c2 = Identity(c) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "n iterations":               (f"y, z = Loop(n, go, x) {BODY}, int64 o) {{ c2 = Identity(c) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "no iteration":               (f"y, z = Loop(none, go, x) {BODY}, int64 o) {{ c2 = Identity(c) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "stopped at first":           (f"y, z = Loop(three, stop, x) {BODY}, int64 o) {{ c2 = Identity(c) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "stopped after one":          (f"y, z = Loop(three, go, x) {BODY}, int64 o) {{ c2 = Less(i, none) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "stopped after one of n":     (f"y, z = Loop(n, go, x) {BODY}, int64 o) {{ c2 = Identity(stop) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "stopped by the count":       (f"y, z = Loop(many, go, x) {BODY}, int64 o) {{ c2 = Less(i, three) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "stopped by count or limit":  (f"y, z = Loop(n, go, x) {BODY}, int64 o) {{ c2 = Less(i, three) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "without a limit":            (f"y, z = Loop(, go, x) {BODY}, int64 o) {{ c2 = Less(i, n) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "sizes", "sizes"),
    "stopped by data":            (f"y, z = Loop(three, go, x) {BODY}, int64 o) {{ m = ReduceSum<keepdims = 0>(a) h = Cast<to = 7>(m) c2 = Less(h, none) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "nothing", "nothing"),
    "a limit from data":          (f"y, z = Loop(k, go, x) {BODY}, int64 o) {{ c2 = Identity(c) a2 = Concat<axis = 0>(a, x) o = Identity(i) }}>", "nothing", "nothing"),
    "rows doubled":               (f"y, z = Loop(three, go, x) {BODY}, int64 o) {{ c2 = Identity(c) a2 = Concat<axis = 0>(a, a) o = Identity(i) }}>", "nothing", "sizes"),
    "rows by the iteration":      (f"y, z = Loop(three, go, x) {BODY}, int64 o) {{ c2 = Identity(c) g = Add(i, one) u = Unsqueeze(g, v0) l = Concat<axis = 0>(u, u3) e = ConstantOfShape(l) a2 = Identity(e) o = Identity(i) }}>", "nothing", "sizes"),
    "a float is kept":            (f"h = Constant<value_float = 0.5>() y, z = Loop(three, go, h) {FLOAT} a2 = Identity(a) }}>", "sizes and elements", "sizes"),
    "a float is replaced":        (f"h = Constant<value_float = 0.5>() y, z = Loop(three, go, h) {FLOAT} a2 = Constant<value_float = 2.0>() }}>", "sizes", "sizes"),
    "a float loses its sign":     (f"h = Constant<value_float = -0.0>() y, z = Loop(three, go, h) {FLOAT} a2 = Constant<value_float = 0.0>() }}>", "sizes", "sizes"),
    "a bool is kept":             (f"y, z = Loop(three, go, stop) {BOOL} a2 = Identity(a) }}>", "sizes and elements", "sizes"),
    "a bool is replaced":         (f"y, z = Loop(three, go, stop) {BOOL} a2 = Identity(go) }}>", "sizes", "sizes"),
    "a scan":                     ("y, z = Scan<num_scan_inputs = 1, body = b (float[3] t, float[3] r) => (float[3] t2, float[3] o) { t2 = Add(t, r) o = Neg(r) }>(row, x)", "sizes", "sizes"),
    "a scan from the other side": ("y, z = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1], body = b (float t, float[n1] r) => (float t2, float[n2] o) { t2 = ReduceSum<keepdims = 0>(r) o = Neg(r) }>(zero, x)", "sizes", "sizes"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_what_is_known_after_a_loop(name: str) -> None:
    nodes, state, stack = LOOPS[name]
    head = (
        HEAD
        + "u3 = Constant<value_ints = [3]>() row = Constant<value_floats = [0.0, 0.0, 0.0]>() zero = Constant<value_float = 0.0>()"
    )
    proto = untyped(model(f"(float[N, 3] x, int64 k) => (y, z) {{ {head} {nodes} }}"))
    inference, runtime = infer(proto), Runtime(proto)
    assert inference.errors == ()
    for n in (1, 2, 3, 5) if "Scan" in nodes else (1, 2, 3, 5, 0):  # onnxruntime 1.31 divides by a length of 0
        for k in (0, 1, 4):
            feeds = {"x": np.ones((n, 3), np.float32) - k, "k": np.array(k)}
            assert compare(inference, runtime.run(feeds), {"N": n}).wrong == [], (n, k)
    assert [reported(inference, "y"), reported(inference, "z")] == [state, stack]


def test_a_scan_of_opset_8_has_a_batch() -> None:
    proto = untyped(
        model(
            """(float[B, 3] a, float[B, T, 3] x) => (y, z) {
                y, z = Scan<num_scan_inputs = 1, body = b (float[3] t, float[3] r) => (float[3] t2, float[3] o) {
                    t2 = Add(t, r) o = Neg(r) }>( , a, x) }""",
            opset=8,
        )
    )
    inference, runtime = infer(proto), Runtime(proto)
    assert inference.errors == ()
    assert [str(inference[name]) for name in "yz"] == ["float32[B, 3]", "float32[B, T, 3]"]
    for b, t in ((1, 1), (2, 5), (3, 2)):
        feeds = {"a": np.ones((b, 3), np.float32), "x": np.ones((b, t, 3), np.float32)}
        assert compare(inference, runtime.run(feeds), {"B": b, "T": t}).wrong == [], (b, t)


def test_a_scan_of_opset_8_preserves_integer_facts() -> None:
    proto = untyped(
        model(
            """(float[B, 4] a, float[B, T, 3] x) => (y, z) { g = ArgMax<axis = 2, keepdims = 0>(x) h = ArgMax<axis = 1, keepdims = 0>(a)
                y, z = Scan<num_scan_inputs = 1, body = b (int64 t, int64 r) => (int64 t2, int64 o) {
                    t2 = Identity(t) o = Identity(r) }>( , h, g) }""",
            opset=8,
        )
    )
    inference, runtime = infer(proto), Runtime(proto)
    assert [(str(v), str(v.value_range.lo), str(v.value_range.hi)) for v in (inference["y"], inference["z"]) if isinstance(v, SymbolicTensor) and v.value_range] == [
        ("int64[B]", "0", "3"), ("int64[B, T]", "0", "2"),
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    for b, t in ((1, 1), (2, 5), (3, 2)):
        feeds = {"a": rng.normal(size=(b, 4)).astype(np.float32), "x": rng.normal(size=(b, t, 3)).astype(np.float32)}
        assert compare(inference, runtime.run(feeds), {"B": b, "T": t}).wrong == [], (b, t)


@pytest.mark.parametrize("states", [1, 0])
def test_a_scan_of_opset_8_over_any_rank(states: int) -> None:
    """Only the element type of an unranked value is known; its batch is unknown."""
    given, taken, made, body = ("f, ", "float[] t, ", "float[] t2, ", "t2 = Neg(t)") if states else ("", "", "", "")
    proto = untyped(
        model(
            f"""(float[N] x, int64[K] shape) => (z) {{ f = Reshape(x, shape)
                {"y, " if states else ""}z = Scan<num_scan_inputs = 1, body = b ({taken}float[] r) => ({made}float[] o) {{ {body} o = Neg(r) }}>( , {given}f) }}""",
            opset=8,
        )
    )
    inference = infer(proto)
    assert (inference.errors, str(inference["z"])) == ((), "float32[...]")


def test_a_scan_of_opset_9_has_no_batch() -> None:
    proto = untyped(
        model(
            """(float[3] a, float[T, 3] x) => (y, z) {
                y, z = Scan<num_scan_inputs = 1, body = b (float[3] t, float[3] r) => (float[3] t2, float[3] o) {
                    t2 = Add(t, r) o = Neg(r) }>(a, x) }""",
            opset=9,
        )
    )
    inference, runtime = infer(proto), Runtime(proto)
    assert [str(inference[name]) for name in "yz"] == ["float32[3]", "float32[T, 3]"]
    for t in (1, 2, 5):
        feeds = {"a": np.ones(3, np.float32), "x": np.ones((t, 3), np.float32)}
        assert compare(inference, runtime.run(feeds), {"T": t}).wrong == [], t


def test_a_scan_whose_state_gains_a_rank_does_not_stop_the_run() -> None:
    """onnxruntime refuses it; what the rows become does not depend on that."""
    proto = untyped(
        model("""(float[3] a, float[T, 3] x) => (y, z) { v0 = Constant<value_ints = [0]>()
            y, z = Scan<num_scan_inputs = 1, body = b (float[] t, float[3] r) => (float[] t2, float[3] o) {
                t2 = Unsqueeze(t, v0) o = Neg(r) }>(a, x) }""")
    )
    inference = infer(proto)
    assert str(inference["z"]) == "float32[T, 3]"


def test_states_may_have_types_of_their_own() -> None:
    proto = untyped(
        model(f"""(float[N, 3] x, int64 k) => (y, z) {{ {HEAD}
            y, z = Loop(three, go, x, k) <body = b (int64 i, bool c, float[p, 3] a, int64 j) => (bool c2, float[q, 3] a2, int64 j2) {{
                c2 = Identity(c) a2 = Neg(a) j2 = Add(j, one) }}> }}""")
    )
    inference = infer(proto)
    assert inference.errors == ()
    assert [str(inference[name]) for name in "yz"] == ["float32[N, 3]", "int64[]"]


CHAINS = {
    # id: (what the last of eight states becomes, type of the first)
    "of rows": ("Concat<axis = 0>(s7, s7)", "float32[...]"),
    "of another type": ("Cast<to = 7>(s7)", "[...]"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_states_that_need_more_iterations_than_the_limit(name: str) -> None:
    """Each becomes the next one; onnx's reference evaluator lets them have other types in the end."""
    last, known = CHAINS[name]
    given = ", ".join(f"float[p{k}, 3] s{k}" for k in range(8))
    made = ", ".join(f"float[q{k}, 3] t{k}" for k in range(8))
    steps = " ".join(f"t{k} = Identity(s{k + 1})" for k in range(7))
    names = ", ".join(f"y{k}" for k in range(8))
    proto = untyped(
        model(f"""(float[N, 3] x, int64 m) => (y0) {{ go = Constant<value = bool {{1}}>()
            {names} = Loop(m, go, {", ".join("x" * 8)}) <body = b (int64 i, bool c, {given}) => (bool d, {made}) {{
                d = Identity(c) {steps} t7 = {last} }}> }}""")
    )
    assert str(infer(proto)["y0"]).removeprefix("?") == known
    runtime = ReferenceEvaluator(proto)
    found = {
        (r.dtype, r.shape)
        for m in (0, 9)
        for r in runtime.run(None, {"x": np.ones((1, 3), np.float32), "m": np.array(m)})
    }
    assert len(found) == 2


@pytest.mark.parametrize(
    ("axis", "message"), [(2, "scan axis 2 is outside [-2, 1]"), (-3, "scan axis -3 is outside [-2, 1]")]
)
def test_an_axis_that_the_stack_does_not_have(axis: int, message: str) -> None:
    proto = untyped(
        model(f"""(float[N, 3] x) => (y) {{
            y = Scan<num_scan_inputs = 1, scan_output_axes = [{axis}], body = b (float[3] r) => (float[3] o) {{ o = Neg(r) }}>(x) }}""")
    )
    assert [(d.code, d.message) for d in infer(proto).diagnostics] == [("GI304", message)]


@pytest.mark.parametrize("name", ["scan_input_axes", "scan_output_axes"])
def test_axes_for_more_than_there_is(name: str) -> None:
    proto = untyped(
        model(f"""(float[N, 3] x) => (y) {{
            y = Scan<num_scan_inputs = 1, {name} = [0, 0], body = b (float[3] r) => (float[3] o) {{ o = Neg(r) }}>(x) }}""")
    )
    assert [(d.code, d.message) for d in infer(proto).diagnostics] == [("GI110", f"{name} must have 1 entries, has 2")]


AGREE = {
    # operators whose page gives these inputs one type
    "Add":    "Add(x, k)",
    "Clip":   "Clip(x, k)",
    "Concat": "Concat<axis = 0>(x, k)",
    "Gemm":   "Gemm(x, k)",
    "MatMul": "MatMul(x, k)",
    "Max":    "Max(x, x, k)",
    "PRelu":  "PRelu(x, k)",
    "Pad":    "Pad(x, pads, k)",
    "Where":  "Where(c, x, k)",
    "Equal":  "Equal(x, k)",
    "SequenceInsert": "SequenceInsert(sequence, k)",
}  # fmt: skip


@pytest.mark.parametrize("node", AGREE.values(), ids=AGREE)
def test_types_that_have_to_agree(node: str) -> None:
    found = infer(
        model(f"""(float[N, 3] x, int64 k, bool c) => (y) {{
            pads = Constant<value_ints = [0, 0, 1, 1]>() sequence = SequenceConstruct(x) y = {node} }}""")
    )
    assert [d.code for d in found.errors] == ["GI211"]


@pytest.mark.parametrize(("trips", "is_wrong"), [("none", False), ("one", True), ("k", True)])
def test_what_no_iteration_reaches_is_not_wrong(trips: str, is_wrong: bool) -> None:
    proto = untyped(
        model(f"""(float[4] x, int64 k) => (y) {{ {HEAD}
            y = Loop({trips}, go, x) <body = b (int64 i, bool c, float[p] a) => (bool c2, float[q] a2) {{
                c2 = Identity(c) e = Gather(a, many) a2 = Neg(a) }}> }}""")
    )
    feeds = {"x": np.ones(4, np.float32), "k": np.array(1)}
    if is_wrong:
        with pytest.raises(InvalidArgument, match="indices element out of data bounds"):
            Runtime(proto).run(feeds)
    else:
        assert compare(infer(proto), Runtime(proto).run(feeds), {}).wrong == []
    assert [found.kind for found in verdicts(infer(proto))] == ([VerdictKind.VIOLATED] if is_wrong else [])


KINDS: dict[str, tuple[str, str, Value]] = {
    # id: (the state before, the body, the state after)
    "a sequence, then a tensor": ("SequenceConstruct(x)", "seq(float[N]) s) => (bool k2, float[N] t) { t = SequenceAt(s, i)", UNKNOWN),
    "a tensor, then a sequence": ("Identity(x)", "float[N] s) => (bool k2, seq(float[N]) t) { t = SequenceConstruct(s)", UNKNOWN),
    "a tensor of more axes": ("Identity(x)", "float[N] s) => (bool k2, float[a, b] t) { t = Unsqueeze(s, ax)", SymbolicTensor(DType.FLOAT32)),
    "a tensor of another type": ("Identity(x)", "float[N] s) => (bool k2, double[N] t) { t = Cast<to = 11>(s)", SymbolicTensor(None, (symbol("N"),))),
    "a sequence": ("SequenceConstruct(x)", "seq(float[N]) s) => (bool k2, seq(float[N]) t) { t = Identity(s)",
                   SequenceType(SymbolicTensor(DType.FLOAT32, (symbol("N"),)), 1)),
    "a tensor": ("Identity(x)", "float[N] s) => (bool k2, float[N] t) { t = Neg(s)", SymbolicTensor(DType.FLOAT32, (symbol("N"),))),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_state(name: str) -> None:
    """A state stays what it is: of one that becomes something else nothing is said that does not hold of both."""
    before, body, after = KINDS[name]
    text = f"""(float[N] x, int64 m, bool c) => (z) {{ ax = Constant<value_ints = [0]>() s0 = {before}
        y = Loop(m, c, s0) <body = b (int64 i, bool k, {body} k2 = Identity(k) }}> z = Identity(y) }}"""
    assert infer(model(text, opset=18))["z"] == after


@pytest.mark.parametrize(
    ("member", "index", "kind"),
    [("i1", "i", VerdictKind.UNDECIDED), ("two", "one", VerdictKind.PROVED), ("two", "two", VerdictKind.VIOLATED)],
)
def test_members_of_a_state_are_of_earlier_iterations(member: str, index: str, kind: VerdictKind) -> None:
    """The first member has the length that it was given in iteration 0, whatever the later ones have."""
    text = f"""(int64 m, bool c) => (z) {{ zero = Constant<value_int = 0>() one = Constant<value_int = 1>()
        two = Constant<value_int = 2>() s0 = SequenceEmpty<dtype = 7>()
        y, z = Loop(m, c, s0) <body = b (int64 i, bool k, seq(int64[L]) s) => (bool k2, seq(int64[L]) s2, int64 g) {{
            i1 = Add(i, one) e = Range(zero, {member}, one) s2 = SequenceInsert(s, e) t = SequenceAt(s2, zero)
            g = Gather(t, {index}) k2 = Identity(k) }}> }}"""
    proto = model(text, opset=18)
    (found,) = (v for v in verdicts(infer(proto)) if v.access.op_type == "Gather")
    assert found.kind is kind
    runtime, feeds = Runtime(proto), {"m": np.array(3), "c": np.array(True)}
    if kind is VerdictKind.PROVED:
        assert runtime.run(feeds)["z"].tolist() == [1, 1, 1]
    else:
        with pytest.raises(InvalidArgument):
            runtime.run(feeds)


SCANNED = """v0 = Constant<value_ints = [0]>() v1 = Constant<value_ints = [1]>() far = Constant<value_ints = [99]>() half = Constant<value_float = 0.5>()
    y, z = Scan<num_scan_inputs = 1, body = b (float[p, 3] t, float[3] r) => (float[q, 3] t2, float[u] o) {
        n = Shape<start = 0, end = 1>(t) m = Neg(n) o = Slice(row, m, far, v0) h = ReduceSum<keepdims = 0>(t, v1) c = Greater(h, half)
        t2 = Compress<axis = 0>(t, c) }>(a, x)"""


def test_what_the_first_iteration_assumes_is_listed_with_what_it_tells() -> None:
    """Of `row[-n:]` there are n elements where n >= 1, and all where it is 0; the state has n rows at first only."""
    proto = untyped(model(f"(float[N, 3] a, float[T, 3] x, float[5] row) => (y, z) {{ {SCANNED} }}", opset=18))
    inference, runtime = infer(proto), Runtime(proto)
    assert str(inference["z"]) == "float32[T, min(5, N)]"
    assert ("N", 1) in [(str(a.dim), a.lower) for a in inference.assumptions]
    for n, length in ((0, 5), (1, 1), (3, 3), (7, 5)):
        feeds = {"a": np.ones((n, 3), np.float32), "x": np.ones((2, 3), np.float32), "row": np.ones(5, np.float32)}
        actual = runtime.run(feeds)
        assert actual["z"].shape == (2, length)
        found = compare(inference, actual, {"N": n, "T": 2})
        assert found.assumption_fails if n == 0 else found.wrong == []


def test_a_state_that_becomes_another_size_where_both_are_equal() -> None:
    proto = untyped(
        model(f"""(float[N, 3] x, float[M] w, int64 k) => (y) {{ {HEAD} l = Shape(w) m = Squeeze(l) alike = Equal(n, m)
            y = If(alike) <then_branch = t () => (y1) {{
                y1 = Loop(k, go, n) <body = b (int64 i, bool c, int64 a) => (bool c2, int64 a2) {{ c2 = Identity(c) a2 = Identity(m) }}> }},
                else_branch = e () => (y2) {{ y2 = Identity(n) }}> }}""")
    )
    inference, runtime = infer(proto), Runtime(proto)
    assert str(inference["y"]) == "int64[] = N"
    for n, m, k in ((2, 2, 3), (5, 5, 1), (0, 0, 2), (3, 5, 2), (4, 4, 0)):
        feeds = {"x": np.ones((n, 3), np.float32), "w": np.ones(m, np.float32), "k": np.array(k)}
        assert compare(inference, runtime.run(feeds), {"N": n, "M": m}).wrong == [], (n, m, k)


VECTORS = {
    # id:                               (the number of iterations, the state before, what an iteration makes of it)
    "an end that holds if it runs":     ("n", "p = Concat<axis = 0>(w1, v)", "d = Add(a, k) h = Max(d, one) a2 = Min(h, n)"),
    "an end of what never becomes":     ("none", "p = Constant<value_ints = [1, 0]>()", "f = Constant<value_ints = [7, -1]>() a2 = Mul(a, f)"),
    "ends that no iteration passes":    ("n", "p = Constant<value_ints = [0, 3]>()", "d = Add(a, k) h = Max(d, none) a2 = Min(h, three)"),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_bounds_of_a_state_hold_before_its_loop_too(name: str) -> None:
    trips, start, nodes = VECTORS[name]
    body = f"<body = b (int64 i, bool c, int64[2] a) => (bool c2, int64[2] a2) {{ c2 = Identity(c) {nodes} }}>"
    proto = untyped(model(f"(float[N, 3] x, int64 k) => (y) {{ {HEAD} {start} y = Loop({trips}, go, p) {body} }}"))
    inference, runtime = infer(proto), Runtime(proto)
    for n in (0, 1, 2, 5):
        for k in (-3, 0, 7):
            actual = runtime.run({"x": np.zeros((n, 3), np.float32), "k": np.array(k)})
            found = compare(inference, actual, {"N": n})
            assert found.wrong == []
    assert (inference["y"].value_range is None) == (name == "an end of what never becomes")
