"""Types that `infer -o` writes into loop bodies hold in every iteration, by the shapes of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper

from gather_infer import infer
from gather_infer.inference import limits
from gather_infer.symbolic import evaluate, free_symbols, parse_dim

STATE = "(int64 i, bool d, float[P, 2] s) => (bool e, float[Q, 2] t) { e = Identity(d) u = Relu(s)"
CASES = {
    # id: the graph
    "grows by itself": f"(float[N, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE} w = Neg(u) t = Concat<axis = 0>(w, s) }}> }}",
    "grows by an input": f"(float[N, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE} w = Neg(u) t = Concat<axis = 0>(w, x) }}> }}",
    "grows by a row": f"""(float[N, 2] x, float[1, 2] r, int64 n) => (y) {{
        y = Loop(n, , x) <body = b {STATE} w = Neg(u) z = Add(w, w) t = Concat<axis = 0>(z, r) }}> }}""",
    "begins with a number": f"(float[3, 2] x, float[1, 2] r, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE} t = Concat<axis = 0>(u, r) }}> }}",
    "grows only later": f"""(float[3, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE}
        v = Constant<value_ints = [4]>() k = Constant<value_ints = [-1]>() m = Reshape(i, k) w = Constant<value_ints = [1]>()
        o = Sub(m, w) l = Max(o, w) z = Constant<value_ints = [9]>() p = Concat<axis = 0>(u, u) t = Slice(p, z0, l) }}> }}""".replace(
        "z = Constant<value_ints = [9]>()", "z0 = Constant<value_ints = [0]>()"
    ),
    "by a comparison": f"""(float[3, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE}
        two = Constant<value_int = 2>() q = Less(i, two)
        t = If(q) <then_branch = a () => (float[A, 2] a1) {{ a1 = Identity(u) }},
                   else_branch = c () => (float[B, 2] c1) {{ c1 = Concat<axis = 0>(u, u) }}> }}> }}""",
    "shrinks": f"""(float[9, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE}
        a = Constant<value_ints = [1]>() z = Constant<value_ints = [99]>() w = Neg(u) t = Slice(w, a, z) }}> }}""",
    "halves": f"""(float[N, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE}
        a = Constant<value_ints = [0]>() z = Constant<value_ints = [99]>() w = Neg(u) c = Constant<value_ints = [2]>()
        t = Slice(w, a, z, a, c) }}> }}""",
    "doubles": f"(float[3, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE} w = Neg(u) t = Concat<axis = 0>(w, w) }}> }}",
    "a slice by the counter": f"""(float[8, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE}
        k = Constant<value_ints = [-1]>() z = Constant<value_ints = [0]>() j = Reshape(i, k) a = Slice(u, z, j)
        m = Constant<value_ints = [99]>() c = Slice(u, j, m) w = Neg(c) t = Concat<axis = 0>(a, w) }}> }}""",
    "a size of data": f"""(float[8, 2] x, int64 n) => (y) {{ y = Loop(n, , x) <body = b {STATE}
        f = Cast<to = 9>(s) z = NonZero(f) v = Transpose(z) g = Shape(v) t = Concat<axis = 0>(u, s) }}> }}""",
    "states that swap": """(float[3, 2] x, float[5, 2] z, int64 n) => (y, w) {
        y, w = Loop(n, , x, z) <body = b (int64 i, bool d, float[P, 2] s, float[Q, 2] t) => (bool e, float[R, 2] s2, float[S, 2] t2) {
            e = Identity(d) a = Relu(s) s2 = Relu(t) c = Neg(t) t2 = Neg(a) }> }""",
    "declared as it begins": """(float[3, 2] x, int64 n) => (y) {
        y = Loop(n, , x) <body = b (int64 i, bool d, float[3, 2] s) => (bool e, float[6, 2] t) {
            e = Identity(d) u = Relu(s) w = Neg(u) t = Concat<axis = 0>(w, s) }> }""",
    "declared like an input": """(float[N, 2] x, int64 n) => (y) {
        y = Loop(n, , x) <body = b (int64 i, bool d, float[N, 2] s) => (bool e, float[N, 2] t) {
            e = Identity(d) u = Relu(s) w = Neg(u) t = Concat<axis = 0>(w, x) }> }""",
    "declared nothing": """(float[N, 2] x, int64 n) => (y) {
        y = Loop(n, , x) <body = b (int64 i, bool d, float[] s) => (bool e, float[] t) { e = Identity(d) u = Relu(s) w = Neg(u) t = Concat<axis = 0>(w, s) }> }""",
    "declared as a counter is called": """(float[iteration_0, 2] x, int64 n) => (y) {
        y = Loop(n, , x) <body = b (int64 i, bool d, float[P, 2] s) => (bool e, float[Q, 2] t) {
            e = Identity(d) u = Relu(s) w = Neg(u) t = Concat<axis = 0>(w, x) }> }""",
    "the rank changes": """(float[3] x, int64 n) => (y) {
        y = Loop(n, , x) <body = b (int64 i, bool d, float[] s) => (bool e, float[] t) {
            e = Identity(d) u = Relu(s) a = Constant<value_ints = [0]>() w = Neg(u) t = Unsqueeze(w, a) }> }""",
    "once": f"(float[3, 2] x) => (y) {{ n = Constant<value_int = 1>() y = Loop(n, , x) <body = b {STATE} t = Concat<axis = 0>(u, s) }}> }}",
    "a scan output": """(float[N, 2] x, int64 n) => (y, z) {
        y, z = Loop(n, , x) <body = b (int64 i, bool d, float[P, 2] s) => (bool e, float[Q, 2] t, float[2] o) {
            e = Identity(d) t = Concat<axis = 0>(s, x) u = Neg(t) o = ReduceSum<keepdims = 0>(u, k) }> }""".replace(
        "e = Identity(d) t", "e = Identity(d) k = Constant<value_ints = [0]>() t"
    ),
    "a scan": """(float[2] x, float[L, 2] z) => (y, w) {
        a, w = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] v) => (float[2] t, float[2] o) {
            t0 = Add(s, v) t = Relu(t0) o = Neg(t0) }>(x, z) y = Add(a, w) }""",
}  # fmt: skip
"""Loops whose states have other sizes in other iterations, and near misses."""

NESTED = """(float[3, 2] x, int64 n) => (y) {
    y = Loop(n, , x) <body = b (int64 i, bool d, float[P, 2] s) => (bool e, float[R, 2] s2) {
        e = Identity(d) u = Relu(s)
        s2 = Loop(i, d, u) <body = c (int64 j, bool f, float[U, 2] p) => (bool h, float[V, 2] p2) {
            h = Identity(f) v = Relu(p) r = Neg(v) p2 = Concat<axis = 0>(r, u) }> }> }"""

UNCHECKED = {"the rank changes"}
"""What onnx's full check refuses as it is given."""


def traced(proto: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model in which the loop also gives, for each iteration, the shapes that value_info in its body tells of."""
    made = ModelProto()
    made.CopyFrom(proto)
    (node,) = (node for node in made.graph.node if node.op_type in ("Loop", "Scan"))
    body = next(a.g for a in node.attribute if a.name == "body")
    names = []
    for info in body.value_info:
        if info.type.tensor_type.HasField("shape"):
            names.append(info.name)
            body.node.append(helper.make_node("Shape", [info.name], [f"{info.name}_shape"]))
            rank = len(info.type.tensor_type.shape.dim)
            body.output.append(helper.make_tensor_value_info(f"{info.name}_shape", TensorProto.INT64, [rank]))
            node.output.append(f"{info.name}_shape")
            made.graph.output.append(helper.make_tensor_value_info(f"{info.name}_shape", TensorProto.INT64, None))
    return made, names


def session(proto: ModelProto, optimised: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options)


def feeds(graph: GraphProto, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {}
    for info in graph.input:
        kind = info.type.tensor_type
        shape = [sizes.setdefault(d.dim_param, 3) if d.dim_param else d.dim_value for d in kind.shape.dim]
        is_count = kind.elem_type == TensorProto.INT64
        found[info.name] = np.array(5) if is_count else rng.integers(-1, 2, shape).astype(np.float32)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_body_is_annotated_truly(name: str) -> None:
    proto = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> g {CASES[name]}')
    for output in proto.graph.output:
        kind = output.type.tensor_type
        kind.elem_type = TensorProto.FLOAT
        if name != "the rank changes":
            kind.shape.dim.add(), kind.shape.dim.add()
    written = infer(proto).annotated()
    sizes: dict[str, int] = {}
    given = feeds(proto.graph, sizes)
    outputs = [o.name for o in proto.graph.output]
    original = session(proto, False).run(outputs, given)
    if name not in UNCHECKED:
        onnx.checker.check_model(proto, full_check=True)
        onnx.checker.check_model(written, full_check=True)
    for optimised in (False, True):
        found = session(written, optimised).run(outputs, given)
        assert all(np.array_equal(a, b) for a, b in zip(found, original, strict=True))
    made, names = traced(written)
    body = next(a.g for node in written.graph.node for a in node.attribute if a.name == "body")
    types = {info.name: info.type.tensor_type for info in body.value_info}
    shapes = session(made, False).run([f"{value}_shape" for value in names], given)
    assert names
    for iteration in range(len(shapes[0])):
        known = {**sizes}
        for value, found in zip(names, shapes, strict=True):
            assert len(found[iteration]) == len(types[value].shape.dim), (value, iteration)
            for dim, size in zip(types[value].shape.dim, found[iteration].tolist(), strict=True):
                stated = parse_dim(dim.dim_param) if dim.dim_param else dim.dim_value
                for each in sorted(free_symbols(stated) - known.keys()):
                    known[each] = iteration if each.startswith("iteration_") else size
                assert evaluate(stated, known) == size, (value, iteration, str(stated))


@pytest.mark.parametrize("limit", [10, 20, 30, 40, 10_000])
def test_a_trial_of_a_body_that_was_not_ended_says_nothing(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts of an unconfirmed hypothesis are not those of the body."""
    monkeypatch.setattr(limits, "BODY_NODES", limit)
    monkeypatch.setattr(limits, "BODY_NODES_PER_NODE", 0)
    inference = infer(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> g {NESTED}'))
    assert any(finding.code == "GI214" for finding in inference.diagnostics) is (limit < 10_000)
    for path, facts in inference.scopes.items():
        for name in ("u", "v"):
            shape = getattr(facts.get(name), "shape", None)
            assert shape is None or shape[0] not in (3, 6), (str(path), name, shape)
