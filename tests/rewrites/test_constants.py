"""Constants as initializers."""

from __future__ import annotations

import onnx
from onnx import ModelProto

from gather_infer.passes import optimize
from tests.rewrites.table import Case, judge, model

TEXT = "g (int64[N] x) => (int64[N] y) { c = Constant<value_int = 3>() y = Add(x, c) }"


def test_a_constant_is_an_initializer() -> None:
    after = "g (int64[N] x) => (int64[N] y) <int64 c = {3}> { y = Add(x, c) }"
    judge(Case("constant-to-initializer", TEXT, after))


def constants(made: ModelProto) -> int:
    result = optimize(made, passes=["constant-to-initializer"])
    onnx.checker.check_model(result.proto)
    return sum(node.op_type == "Constant" for node in result.proto.graph.node)


def test_it_goes_where_it_was_and_stays_where_initializers_are_inputs() -> None:
    made = model(TEXT, 13)
    assert constants(made) == 0
    made.ir_version = 3
    assert constants(made) == 1


def test_one_that_is_an_output_or_twice_there() -> None:
    made = model(
        "g (int64[N] x) => (int64[N] y, int64 c) "
        "{ c = Constant<value_int = 3>() d = Constant<value_int = 3>() e = Add(x, d) y = Mul(e, c) }"
    )
    result = optimize(made)
    assert [node.op_type for node in result.proto.graph.node] == ["Add", "Mul"]
    assert "c" in {tensor.name for tensor in result.proto.graph.initializer}


def test_those_of_functions_stay() -> None:
    made = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "f": 1]>
        g (int64[N] x) => (int64[N] y) { y = f.three(x) }
        <domain: "f", opset_import: ["": 17]> three (a) => (b) { c = Constant<value_int = 3>() b = Add(a, c) }""")
    assert optimize(made).proto == made
