# ruff: noqa: E501  (models as text)
"""Small models made to be optimised wrongly: `optimize` and `fold` keep bits, interface and names, and come to an end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import GraphProto, ModelProto

from gather_infer.passes import OptimizeResult, fold, optimize
from tests.rewrites.table import Case, assert_same_runs, feeds_of, run

OWN = '<ir_version: 10, opset_import: ["": 21, "own": 1]> '
FUNCTION = '<domain: "own", opset_import: ["": 21]> '

MODELS = {
    # what could go wrong: graph, or whole model
    # control flow
    "values of both branches are called alike": """g (float[N] x, bool c) => (float[N] y) {
        r = If (c) <then_branch = t () => (float[N] o) { a = Neg(x) o = Identity(a) }, else_branch = e () => (float[N] o) { a = Abs(x) o = Identity(a) }>
        y = Exp(r) }""",
    "a branch's values are called like later ones": """g (float[N] x) => (float[N] y) <bool c = {1}> {
        r = If (c) <then_branch = t () => (float[N] o) { a = Neg(x) o = Identity(a) }, else_branch = e () => (float[N] q) { q = Abs(x) }>
        k = Exp(r) m = Neg(k) y = Add(k, m) }""",
    "branches without nodes": """g (float[N] x, bool c) => (float[N] y) {
        r = If (c) <then_branch = t () => (float[1] w) <float[1] w = {1}> {}, else_branch = e () => (float[1] v) <float[1] v = {0}> {}>
        y = Add(x, r) }""",
    "the branch that is taken is a constant": """g (float[N] x) => (float[1] y) <bool c = {0}> {
        y = If (c) <then_branch = t () => (float[1] w) <float[1] w = {1}> {}, else_branch = e () => (float[1] v) <float[1] v = {-0.0}> {}> }""",
    "a branch passes an outer value on, twice": """g (float[N] x) => (float[N] y, float[N] z) <bool c = {1}> {
        a = Exp(x)
        y, b = If (c) <then_branch = t () => (float[N] p, float[N] q) { p = Identity(a) q = Identity(a) }, else_branch = e () => (float[N] u, float[N] v) { u = Neg(a) v = Abs(a) }>
        z = Neg(b) }""",
    "a decided branch in one that is not": """g (float[N] x, bool c) => (float[N] y) <bool d = {1}> {
        k = Exp(x)
        y = If (c) <then_branch = t () => (float[N] p) { m = Neg(k) p = If (d) <then_branch = tt () => (float[N] u) { u = Abs(m) }, else_branch = ee () => (float[N] w) { w = Neg(m) }> },
                    else_branch = e () => (float[N] q) { m = Abs(k) q = Neg(m) }> }""",
    "states that change places": """g (float[N] x, float[N] v) => (float[N] y, float[N] z) <int64 m = {1}> {
        y, z = Loop (m, "", x, v) <body = b (int64 i, bool d, float[N] p, float[N] q) => (bool e, float[N] r, float[N] s) { e = Identity(d) r = Identity(q) s = Identity(p) }> }""",
    "a loop of no trips with scan outputs": """g (float[N] x, int64 m) => (float[N] y, int64[T, 1] z) {
        y, z = Loop (m, "", x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q, int64[1] s) { e = Identity(d) q = Neg(p) s = Shape(q) }> }""",
    "a loop whose state grows": """g (float[N] x, int64 m) => (float[K] y) {
        y = Loop (m, "", x) <body = b (int64 i, bool d, float[] p) => (bool e, float[] q) { e = Identity(d) q = Concat<axis = 0>(p, p) }> }""",
    "a loop that ends itself": """g (float[N] x, int64 m) => (float[N] y) <bool c = {1}> {
        y = Loop (m, c, x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) { e = Not(d) q = Neg(p) }> }""",
    "a scan over sizes": """g (float[1] i, float[N, M] x) => (float[1] y) {
        y = Scan<num_scan_inputs = 1, body = b (float[1] s, float[M] e) => (float[1] o) { h = Shape(e) c = Cast<to = 1>(h) o = Add(s, c) }> (i, x) }""",
    "a scan with an Identity": """g (float[2] i, float[K, 2] x) => (float[2] y, float[K, 2] z) {
        y, z = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] o, float[2] p) { t = Identity(s) o = Add(t, e) p = Identity(o) }> (i, x) }""",
    "a map over a sequence": """g (float[N] x, float[M] v) => (float[K] y) {
        s = SequenceConstruct(x, v)
        t = SequenceMap<body = b (float[A] e) => (float[A] r) { q = Identity(e) r = Neg(q) }>(s)
        y = ConcatFromSequence<axis = 0>(t) }""",
    "an element of a sequence": """g (float[N] x) => (float[N] y) <int64 i = {1}> {
        s = SequenceConstruct(x, x) a = SequenceAt(s, i) l = SequenceLength(s) f = Cast<to = 1>(l) y = Add(a, f) }""",
    "an optional": "g (float[N] x) => (float[N] y, bool h) { o = Optional(x) h = OptionalHasElement(o) e = OptionalGetElement(o) y = Identity(e) }",
    # interface
    "an input is an output": "g (float[N] x) => (float[N] y, float[N] x) { y = Neg(x) }",
    "equal initializers, one of them an output": "g (float[N] x) => (float[N] y, float[1] w) <float[1] w = {1}, float[1] v = {1}> { y = Add(x, v) }",
    "outputs of one value": "g (float[N] x) => (float[N] a, float[N] y, float[N] z, float[N] w) { a = Neg(x) y = Identity(a) z = Identity(a) w = Identity(y) }",
    "an output that becomes a constant": "g (float[N, 4] x) => (int64[1] y, float[2] z) <float[2] w = {1, -0.0}> { y = Shape<start = 1>(x) z = Neg(w) }",
    "an overridable index": "g (float[N] x, int64[1] i = {0}) => (float[1] y) { y = Gather(x, i) }",
    "dim 0": "g (float[0, 3] x) => (float[A, B] y) { s = Shape(x) y = ConstantOfShape(s) }",
    "optional inputs left out": 'g (float[N] x) => (float[N] y) <float hi = {1}> { a = Clip(x, "", hi) y = Clip(a, "", "") }',
    # functions
    "a function called like an operator": OWN + "g (float[N] x) => (float[N] y) { a = own.Identity(x) y = own.Identity(a) } " + FUNCTION + "Identity (a) => (b) { b = Neg(a) }",
    "constants of a function": OWN + "g (float[N] x) => (float[N] y) { y = own.F(x) } " + FUNCTION + "F (a) => (b) { c = Constant<value_float = 2.0>() d = Neg(c) b = Add(a, d) }",
    "outputs of a function that are its input": OWN + "g (float[N] x) => (float[N] y, float[N] z) { y, z = own.F(x) } " + FUNCTION + "F (a) => (b, c) { b = Identity(a) c = Identity(a) }",
    "an input that a call leaves out": OWN + "g (float[N] x) => (float[N] y) { y = own.F(x) } " + FUNCTION + "F (a, o) => (b) { b = Clip(a, o) }",
    # element types
    "text": 'g (string[N] x) => (string[M] y) <string[2] a = {"a", "b"}, string[1] b = {""}, int64[2] i = {1, 2}> { c = Concat<axis = 0>(a, b) d = Gather(c, i) y = Concat<axis = 0>(x, d) }',
    "equal text": 'g (string[N] x) => (string[M] y) <string[1] a = {"a"}, string[1] b = {"a"}> { t = Concat<axis = 0>(x, a) y = Concat<axis = 0>(t, b) }',
    "text that is a number": 'g (float[N] x) => (float[M] y) <string[2] a = {"1.5", "-0"}> { c = Cast<to = 1>(a) y = Concat<axis = 0>(x, c) }',
    **{
        f"{kind} and back": f"g (float[5] x) => (float[5] y) <float[5] w = {{3.0, -0.0, 1.0, 0.5, -1.0}}> {{ a = Cast<to = {to}>(w) b = Cast<to = 1>(a) y = Add(x, b) }}"
        for kind, to in (("float16", 10), ("bfloat16", 16), ("float8e4m3fn", 17), ("float8e4m3fnuz", 18), ("float8e5m2", 19), ("float8e5m2fnuz", 20), ("uint4", 21), ("int4", 22))
    },
    "past the largest integer": "g (int64[N] x) => (int64[M] y) <int64[1] a = {9223372036854775807}, int64[1] b = {5}> { c = Add(a, b) d = Mul(c, c) y = Concat<axis = 0>(x, d) }",
    "uint8 wraps": "g (uint8[N] x) => (uint8[M] y) <uint8[1] a = {250}, uint8[1] b = {10}> { c = Add(a, b) y = Concat<axis = 0>(x, c) }",
    "a float past the integers": "g (int32[N] x) => (int32[M] y) <float[2] a = {3e10, -1.5}> { c = Cast<to = 6>(a) y = Concat<axis = 0>(x, c) }",
    "division by zero": "g (int64[N] x, bool c) => (int64[N] y) <int64[1] a = {7}, int64[1] z = {0}> { y = If (c) <then_branch = t () => (int64[N] p) { q = Div(a, z) p = Add(x, q) }, else_branch = e () => (int64[N] r) { r = Neg(x) }> }",
    "the root of a negative number": "g (float[N] x) => (float[M] y) <float[2] a = {-1, -0.0}> { c = Sqrt(a) y = Concat<axis = 0>(x, c) }",
    "where of a -0.0": "g (float[N] x) => (float[M] y) <bool[2] c = {1, 0}, float[2] a = {-0.0, 1}, float[2] b = {3, -0.0}> { d = Where(c, a, b) y = Concat<axis = 0>(x, d) }",
    "a slice backwards to the largest number": "g (float[N] x) => (float[M] y) <float[3] c = {1, 2, 3}, int64[1] s = {-1}, int64[1] e = {9223372036854775807}, int64[1] a = {0}> { d = Slice(c, s, e, a, s) y = Concat<axis = 0>(x, d) }",
    "an empty list of axes, after an Unsqueeze": "g (float[N, 1] x) => (float[K] y) <int64[0] a = {}> { u = Unsqueeze(x, a) s = Squeeze(u, a) t = Shape(s) y = Cast<to = 1>(t) }",
    "an empty list of axes, after a Squeeze": "g (float[N, 1, 1] x) => (float[K] y) <int64[0] a = {}, int64[1] b = {1}> { u = Squeeze(x, b) s = Squeeze(u, a) t = Shape(s) y = Cast<to = 1>(t) }",
    "an empty list of axes, after a Gather": "g (float[N, 1] x) => (float[K] y) <int64[0] a = {}, int64[1] i = {-1}> { u = Gather<axis = 1>(x, i) s = Squeeze(u, a) t = Shape(s) y = Cast<to = 1>(t) }",
    "zeros beside an infinite weight": "g (float[3, 1, 2] x, float[1, 8, 2] w, float[1, 8, 8] r) => (float[3, 1, 1, 8] y) <int64[3] s = {1, 1, 8}> { z = ConstantOfShape(s) y = RNN<hidden_size = 8>(x, w, r, , , z) }",
    "axes that are an empty list": "g (float[N, 1] x) => (float[A, B] y) <int64[0] a = {}> { s = Squeeze(x, a) y = Flatten<axis = 0>(s) }",
    # what is not needed
    "nodes and initializers that nobody reads": "g (float[N] x) => (float[N] y) <float[1] w = {1}, float[1] v = {1}> { y = Neg(x) d = Exp(x) e = Add(d, w) }",
    "random numbers twice, in training": "g (float[N] x) => (float[N] y) <float r = {0.0}, bool t = {1}> { a = Dropout(x, r, t) b = Dropout(x, r, t) y = Sub(a, b) }",
}  # fmt: skip

FAILS = {"division by zero"}
"""Whose runs may end onnxruntime."""


def parsed(text: str) -> ModelProto:
    made = onnx.parser.parse_model(text if text.startswith("<") else f'<ir_version: 10, opset_import: ["": 21]> {text}')
    onnx.checker.check_model(made)
    _name_nodes(made.graph)
    made.producer_name, made.model_version, made.graph.doc_string = "who", 7, "what"
    made.metadata_props.add(key="key", value="value")
    return made


def _name_nodes(graph: GraphProto) -> None:
    """The nodes of each graph are called alike: runtimes refuse a name that one graph has twice."""
    for at, node in enumerate(graph.node):
        node.name, node.doc_string = f"node_{at}", f"the {at}th"
        for attribute in node.attribute:
            _name_nodes(attribute.g)


@pytest.mark.parametrize("change", (optimize, fold))
@pytest.mark.parametrize("what", MODELS)
def test_what_stays(what: str, change: Callable[[ModelProto], OptimizeResult]) -> None:
    before = parsed(MODELS[what])
    given = before.SerializeToString(deterministic=True)
    after = change(before).proto
    assert before.SerializeToString(deterministic=True) == given
    onnx.checker.check_model(after)
    assert (list(after.graph.input), list(after.graph.output)) == (list(before.graph.input), list(before.graph.output))
    assert [after.graph.name, after.graph.doc_string, after.producer_name, after.model_version] == [
        "g",
        "what",
        "who",
        7,
    ]
    assert list(after.metadata_props) == list(before.metadata_props)
    assert not change(after).applied
    if what in FAILS:
        return
    case = Case("", "", "", ranges={"m": (0, 3)}, fails=True, sizes={"K": (1, 2, 3)})
    if run(before, feeds_of(before, np.random.default_rng(0), case)) is not None:
        assert_same_runs(before, after, case, 6)
