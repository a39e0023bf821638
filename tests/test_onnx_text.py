"""The parser that tests use with an older onnx reads as the parser of the newest onnx does."""

from __future__ import annotations

import onnx.parser
import pytest

from tests import onnx_text
from tests.onnx_versions import needs_onnx

HEAD = '<ir_version: 10, opset_import: ["" : 21, "c.d": 1], producer_name: "p", metadata_props: ["k": "v\\"w"]>'
MODELS = {
    "a graph": "g (float[N, 3, ?] x, int64[] r, bool s) => (y) { y = Neg(x) # the rest\n }",
    "labels and omitted names": """g (float x) => (float[2] y) {
        ["a b/c"] y, , z = c.d.Op:over(x, "", w, , v) [n] u = Op() }""",
    "initializers": """g (float[2] x = {1, 2.5}) => (y)
        <int4[3] i = {1, -2, 3}, float[N] y, uint64 u = {7}> { y = F(x, i) }""",
    "external data": 'g (x) => (y) <float[2] w = ["location": "a.bin", "offset": "8"]> { y = F(x, w) }',
    "types": """g (seq(float[N]) a, optional(seq(int64)) b, map(int64, string) c,
        sparse_tensor(double[2, 3]) d) => () { }""",
    "attributes": """g (x) => (y) { y = F <a = 1, b = -1.5e3, c = "s",
        d = [1, 2], e = [1.5, 2], f = ["a", "b"], g: ints = [],
        h: floats = [1, 2], i: float = 3, j = float[2] {1, 2}, k = string[1] {"s"}, l = bool {1}> (x) }""",
    "attributes after the inputs": "g (x) => (y) { y = F (x) <a = 1> }",
    "bodies": """g (bool b, float[N] x) => (y) { y = If (b) <then_branch = t () => (float[N] p) { p = Neg(x) },
        else_branch = e () => (q) <float[1] w = {1}> { q = Add(x, w) }> }""",
    "functions": """g (x) => (y) { y = c.d.f <k = 2> (x) }
        <domain: "c.d", opset_import: ["" : 21], overload: "o"> f <k, l: int = 3> (float[N] a, b) => (r) <float[N] r> {
            r = Sum <axis: int = @k> (a, b) }
        <domain: "c.d", opset_import: ["" : 21]> h (a) => (r) { r = Neg(a) }""",
    "a tensor with a name": "g () => (y) { y = Constant <value = int64[2] t {1, 2}> () }",
    "newer element types": "g (int2[4] a, float8e8m0[N] b, float4e2m1 c) => () { }",
}


@needs_onnx("1.22", "the whole text form")
@pytest.mark.parametrize("name", MODELS)
def test_both_parsers_read_the_same(name: str) -> None:
    text = f"{HEAD} {MODELS[name]}"
    assert onnx_text.parse_model(text) == onnx.parser.parse_model(text)


@pytest.mark.parametrize(
    "text", ["g (x) => (y) { y = Neg(x)", "g x => (y) { }", "g (x) => (y) { y Neg(x) }", "g (x) => (y) { } }"]
)
def test_both_parsers_reject_the_same(text: str) -> None:
    for parse in (onnx_text.parse_model, onnx.parser.parse_model):
        with pytest.raises(onnx.parser.ParseError):
            parse(f"{HEAD} {text}")
