# ruff: noqa: E501
"""Algebraic laws: idempotent and involutive operators, negated conditions, overwritten updates."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from gather_infer.ops import standard_rules
from gather_infer.passes.rewrites import algebraic
from tests.rewrites.table import Case, judge


def twice(rule: str, node: str, dtype: str = "float", *, near: dict[str, str] | None = None, opset: int = 21) -> Case:
    """An operator of its own result; `node` is its text with {x}."""
    return Case(
        rule,
        f"g ({dtype}[N] x) => ({dtype}[N] y) {{ a = Identity(x) b = {node.format(x='a')} c = {node.format(x='b')} y = Identity(c) }}",
        f"g ({dtype}[N] x) => ({dtype}[N] y) {{ a = Identity(x) "
        + (f"b = {node.format(x='a')} y = Identity(b) }}" if rule == "idempotent" else "y = Identity(a) }"),
        near=near or {},
        opset=opset,
    )


CASES = {
    "abs": twice(
        "idempotent",
        "Abs({x})",
        near={
            "another operator": "g (float[N] x) => (float[N] y) { a = Abs(x) y = Neg(a) }",
        },
    ),
    "abs of integers": twice("idempotent", "Abs({x})", "int32"),
    "ceil": twice("idempotent", "Ceil({x})"),
    "floor": twice("idempotent", "Floor({x})"),
    "relu": twice("idempotent", "Relu({x})"),
    "round": twice("idempotent", "Round({x})"),
    "sign": twice("idempotent", "Sign({x})"),
    "clip": Case(
        "idempotent",
        "g (float[N] x, float l, float h) => (float[N] y) { a = Clip(x, l, h) b = Clip(a, l, h) y = Identity(b) }",
        "g (float[N] x, float l, float h) => (float[N] y) { a = Clip(x, l, h) y = Identity(a) }",
        near={
            "other limits": "g (float[N] x, float l, float h) => (float[N] y) { a = Clip(x, l, h) b = Clip(a, l) y = Identity(b) }",
        },
    ),
    "clip by attributes": Case(
        "idempotent",
        "g (float[N] x) => (float[N] y) { a = Clip<min = 0.0>(x) b = Clip<min = 0.0>(a) y = Neg(b) }",
        "g (float[N] x) => (float[N] y) { a = Clip<min = 0.0>(x) y = Neg(a) }",
        near={"others": "g (float[N] x) => (float[N] y) { a = Clip<min = 0.0>(x) b = Clip<min = 1.0>(a) y = Neg(b) }"},
        opset=10,
    ),
    "not": twice(
        "involutive",
        "Not({x})",
        "bool",
        near={
            "one": "g (bool[N] x) => (bool[N] y) { a = Identity(x) y = Not(a) }",
        },
    ),
    "neg": twice("involutive", "Neg({x})"),
    "neg of integers": twice("involutive", "Neg({x})", "int64"),
    "bitwise not": twice("involutive", "BitwiseNot({x})", "int32"),
    "and": Case(
        "equal-operands",
        "g (bool[N] x) => (bool[N] y) { a = Not(x) b = And(a, a) y = Not(b) }",
        "g (bool[N] x) => (bool[N] y) { a = Not(x) y = Not(a) }",
        near={"others": "g (bool[N] x, bool[N] z) => (bool[N] y) { a = Not(x) b = And(a, z) y = Not(b) }"},
    ),
    "or": Case(
        "equal-operands",
        "g (bool[N] x) => (bool[N] y) { a = Not(x) b = Or(a, a) y = Not(b) }",
        "g (bool[N] x) => (bool[N] y) { a = Not(x) y = Not(a) }",
    ),
    "bitwise and": Case(
        "equal-operands",
        "g (int32[N] x) => (int32[N] y) { a = Neg(x) b = BitwiseAnd(a, a) y = Neg(b) }",
        "g (int32[N] x) => (int32[N] y) { a = Neg(x) y = Neg(a) }",
    ),
    "bitwise or": Case(
        "equal-operands",
        "g (int32[N] x) => (int32[N] y) { a = Neg(x) b = BitwiseOr(a, a) y = Neg(b) }",
        "g (int32[N] x) => (int32[N] y) { a = Neg(x) y = Neg(a) }",
    ),
    "max of integers": Case(
        "equal-operands",
        "g (int32[N] x, int32[M, 1] z) => (int32[M, N] y) { y = Max(x, z, x) }",
        "g (int32[N] x, int32[M, 1] z) => (int32[M, N] y) { y = Max(x, z) }",
        near={
            "floats, whose zeros have signs": "g (float[N] x, float[M, 1] z) => (float[M, N] y) { y = Max(x, z, x) }"
        },
    ),
    "min of computed floats": Case(
        "equal-operands",
        "g (float[N] x) => (float[N] y) { a = Exp(x) b = Min(a, a) y = Neg(b) }",
        "g (float[N] x) => (float[N] y) { a = Exp(x) y = Neg(a) }",
        near={"floats that may be signalling": "g (float[N] x) => (float[N] y) { y = Min(x, x) }"},
    ),
    "where of not": Case(
        "where-of-not",
        "g (bool[N] c, int32[N] x, int32[M, 1] z) => (int32[M, N] y) { n = Not(c) y = Where(n, x, z) }",
        "g (bool[N] c, int32[N] x, int32[M, 1] z) => (int32[M, N] y) { y = Where(c, z, x) }",
        near={
            "floats": "g (bool[N] c, float[N] x, float[M, 1] z) => (float[M, N] y) { n = Not(c) y = Where(n, x, z) }",
            "another condition": "g (bool[N] c, float[N] x) => (float[N] y) { n = Identity(c) y = Where(n, x, x) }",
        },
    ),
    "scatter elements": Case(
        "overwritten-scatter",
        """g (float[4, 3] x, int64[2, 3] i, float[2, 3] u, float[2, 3] v) => (float[4, 3] y) {
             a = ScatterElements(x, i, u) y = ScatterElements(a, i, v) }""",
        "g (float[4, 3] x, int64[2, 3] i, float[2, 3] u, float[2, 3] v) => (float[4, 3] y) { y = ScatterElements(x, i, v) }",
        near={
            "other indices": """g (float[4, 3] x, int64[2, 3] i, int64[2, 3] j, float[2, 3] u) => (float[4, 3] y) {
                a = ScatterElements(x, i, u) y = ScatterElements(a, j, u) }""",
            "another axis": """g (float[4, 3] x, int64[2, 3] i, float[2, 3] u) => (float[4, 3] y) {
                a = ScatterElements(x, i, u) y = ScatterElements<axis = 1>(a, i, u) }""",
            "a sum": """g (float[4, 3] x, int64[2, 3] i, float[2, 3] u) => (float[4, 3] y) {
                a = ScatterElements<reduction = "add">(x, i, u) y = ScatterElements<reduction = "add">(a, i, u) }""",
        },
        ranges={"i": (-3, 3), "j": (-3, 3)},
    ),
    "scatter nd": Case(
        "overwritten-scatter",
        """g (float[4, 3] x, int64[N, 1] i, float[N, 3] u, float[N, 3] v) => (float[4, 3] y) {
             a = ScatterND(x, i, u) y = ScatterND(a, i, v) }""",
        "g (float[4, 3] x, int64[N, 1] i, float[N, 3] u, float[N, 3] v) => (float[4, 3] y) { y = ScatterND(x, i, v) }",
        ranges={"i": (-4, 4)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_law(name: str) -> None:
    judge(CASES[name])


def test_traits_agree_with_the_rules() -> None:
    """Each operator with a trait is one that a rule rewrites, at every version."""
    rules = standard_rules()[""]
    found = {
        trait: {
            op for op in rules.op_types for entry in rules.versions(op) if getattr(entry.traits, trait)
        } for trait in ("idempotent", "involutive")
    }  # fmt: skip
    assert found["idempotent"] == {*algebraic._IDEMPOTENT, *algebraic._OF_OPERANDS}
    assert found["involutive"] == {*algebraic._INVOLUTIVE}


SPECIAL = np.array(
    [0x7FA00001, 0xFFA00001, 0x7FC00000, 0x7F800000, 0xFF800000, 0, 0x80000000, 1, 0x80000001, 0x3FC00000, 0xBF000000],
    np.uint32,
).view(np.float32)


@pytest.mark.parametrize("op_type", [*algebraic._IDEMPOTENT, *algebraic._INVOLUTIVE])
def test_special_floats_keep_their_bits(op_type: str) -> None:
    """NaNs, signalling or not, infinities, zeros of both signs and subnormals, in vectors of every length up to 40."""
    if op_type in ("Not", "BitwiseNot"):
        return
    text = f"g (float[N] x) => (float[N] a, float[N] b) {{ a = {op_type}(x) b = {op_type}(a) }}"
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    for count in range(41):
        x = np.resize(SPECIAL, count)
        once, again = session.run(None, {"x": x})
        expected = x if op_type in algebraic._INVOLUTIVE else once
        assert expected.tobytes() == again.tobytes()
