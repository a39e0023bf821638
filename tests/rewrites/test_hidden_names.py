# ruff: noqa: E501  (models as text)
"""A body whose input is called like a value outside cannot read that value: no rewrite makes it do so.

Such models are legal, and onnxruntime runs them; it refuses only a node in a body that writes such a name.
"""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from gather_infer.passes import optimize
from tests.rewrites.table import Case, assert_same_runs

LOOP = 'Loop (m, "", x) <body = b (int64 i, bool d, float[N] {hidden}) => (bool e, float[N] q) {{ e = Identity(d) {inner} }}>'


def loop(hidden: str, inner: str) -> str:
    """A Loop over x, whose state is called `hidden` and becomes q."""
    return LOOP.format(hidden=hidden, inner=inner)


MODELS = {
    # which rules are asked: the model, and how many rewrites are made
    "the value that takes the place of one that is read": (
        ["identity"],
        f"g (float[N] x, int64 m) => (float[N] y) {{ r = Relu(x) a = Identity(r) y = {loop('r', 'q = Sub(a, r)')} }}",
    ),
    "the name that a value takes over": (
        ["identity"],
        f"g (float[N] x, int64 m) => (float[N] y, float[N] z) {{ r = Relu(x) z = {loop('y', 'q = Sub(r, y)')} y = Identity(r) }}",
    ),
    "a node that reads the same names": (
        ["common-subexpressions"],
        f"g (float[N] x, int64 m) => (float[N] y, float[N] z) {{ p = Relu(x) z = Neg(p) y = {loop('p', 'q = Neg(p)')} }}",
    ),
    "a constant that equals one of the body": (
        ["common-constants"],
        f"""g (float[N] x, int64 m) => (float[N] y, float[N] z) <float k = {{1.5}}> {{
            z = Mul(x, k) y = {loop('k', 'l = Constant<value_float = 1.5>() q = Sub(l, k)')} }}""",
    ),
    "a constant that equals an initializer of the body": (
        ["common-constants"],
        f"""g (float[N] x, int64 m) => (float[N] y, float[N] z) <float k = {{1.5}}> {{
            z = Mul(x, k) y = {loop('k', 'q = Sub(l, k)').replace('q) {', 'q) <float l = {1.5}> {')} }}""",
    ),
    "a constant that equals one that the body reads": (
        ["common-constants"],
        f"""g (float[N] x, int64 m) => (float[N] y, float[N] z) <float k = {{1.5}}, float l = {{1.5}}> {{
            z = Mul(x, k) y = {loop('k', 'q = Sub(l, k)')} }}""",
    ),
    "what stands for the input of a body in a body inside": (
        ["loop-once"],
        f"""g (float[N] x, int64 m) => (float[N] y) <int64 one = {{1}}> {{
            r = Relu(x)
            y = Loop (one, "", r) <body = a (int64 j, bool f, float[N] p) => (bool h, float[N] o) {{
                h = Identity(f) o = {loop('r', 'q = Sub(p, r)')} }}> }}""",
    ),
    "the result of a body that others read": (
        ["loop-once"],
        f"""g (float[N] x, int64 m) => (float[N] y) <int64 one = {{1}}> {{
            r = Relu(x)
            z = Loop (one, "", r) <body = a (int64 j, bool f, float[N] p) => (bool h, float[N] p) {{ h = Identity(f) }}>
            y = {loop('r', 'q = Sub(z, r)')} }}""",
    ),
    "the name of a result that the value of a body takes over": (
        ["loop-once"],
        f"""g (float[N] x, int64 m) => (float[N] y, float[N] z) <int64 one = {{1}}> {{
            r = Relu(x)
            z = Loop (one, "", r) <body = a (int64 j, bool f, float[N] p) => (bool h, float[N] p) {{ h = Identity(f) }}>
            y = {loop('z', 'q = Sub(r, z)')} }}""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MODELS)
def test_hidden(what: str) -> None:
    rules, text = MODELS[what]
    before = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    onnx.checker.check_model(before)
    for passes in (rules, []):
        after = optimize(before, passes=passes).proto
        onnx.checker.check_model(after)
        assert_same_runs(before, after, Case("", "", "", ranges={"m": (0, 4)}, sizes={"N": (1, 2, 3)}), 5)
