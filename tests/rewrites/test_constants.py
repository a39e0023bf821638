# ruff: noqa: E501  (models as text)
"""Constants as initializers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from gather_infer.passes import fold, optimize
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet
from tests.rewrites.table import Case, judge, model, run

TEXT = "g (int64[N] x) => (int64[N] y) { c = Constant<value_int = 3>() y = Add(x, c) }"

CASES = {
    "a Constant": Case(
        "constant-to-initializer",
        TEXT,
        "g (int64[N] x) => (int64[N] y) <int64 c = {3}> { y = Add(x, c) }",
        near={"an initializer": "g (int64[N] x) => (int64[N] y) <int64 c = {3}> { y = Add(x, c) }"},
    ),
    "constant inputs": Case(
        "fold-constants",
        "g (float[N] x) => (float[N] y) <float a = {3}, float b = {-0.0}> { c = Mul(a, b) y = Add(x, c) }",
        "g (float[N] x) => (float[N] y) <float c = {-0.0}> { y = Add(x, c) }",
        near={
            "no inputs": TEXT,
            "an input of the graph": "g (float[N] x) => (float[N] y) { y = Neg(x) }",
            "a constant that a caller may give": "g (float[N] x, float c = {2.0}) => (float[N] y) { d = Neg(c) y = Add(x, d) }",
            "not rounded correctly": "g (float[N] x) => (float[N] y) <float c = {2}> { d = Exp(c) y = Add(x, d) }",
            "a cast that is not defined": """g (int64[N] x) => (int64[N] y) <float c = {3e30}> {
                d = Cast<to = 7>(c) y = Add(x, d) }""",
            "an index out of range": """g (float[N] x) => (float[N] y) <float[2] c = {1, 2}, int64 i = {2}> {
                d = Gather(c, i) y = Add(x, d) }""",
            "more bytes than it may add": """g (float[N] x) => (float[A, B] y) <float[1] c = {1}, int64[2] t = {1024, 512}> {
                d = Expand(c, t) y = Add(x, d) }""",
            "random numbers": "g (float[N] x) => (float[N] y) <float[1] c = {0.5}> { d = Bernoulli(c) y = Add(x, d) }",
        },
    ),
    "a size that is a number": Case(
        "fold-known",
        "g (float[N, 4] x) => (int64[N] y, float[N, 4] z) <int64[1] a = {1}> { z = Neg(x) s = Shape<start = 1>(z) t = Shape<end = 1>(z) y = Expand(s, t) }",
        "g (float[N, 4] x) => (int64[N] y, float[N, 4] z) <int64[1] s = {4}> { z = Neg(x) t = Shape<end = 1>(z) y = Expand(s, t) }",
        near={
            "a size that is a symbol": "g (float[N] x) => (int64[1] y) { y = Shape(x) }",
            "elements that are not known": "g (int64[N] x) => (int64[N] y) { y = Neg(x) }",
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])


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


AXES = RewriteSet()


@AXES.rewrites("Neg")
def there_and_back(site: Match) -> Rewrite | None:
    """Neg(Neg(x)) as an axis more and less again, each by a constant."""
    inner = site.producer(0, "Neg")
    return None if inner is None else site.replace_with("law", site.squeeze(site.unsqueeze(inner.input(0), [0]), [0]))


HAD = {
    # what the graph has: the graph, and the constants afterwards
    "nothing": ("g (float[N] x) => (float[N] y) {", 1),
    "the same": ("g (float[N] x) => (float[N] y, int64[1] z) <int64[1] a = {0}> { z = Neg(a)", 1),
    "the same bits, another type": ("g (float[N] x) => (float[N] y, double[1] z) <double[1] a = {0}> { z = Neg(a)", 2),
    "the same bits, another shape": ("g (float[N] x) => (float[N] y, int64 z) <int64 a = {0}> { z = Neg(a)", 2),
    "the same, which a caller may give": (
        "g (float[N] x, int64[1] a) => (float[N] y, int64[1] z) <int64[1] a = {0}> { z = Neg(a)", 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HAD)
def test_a_new_constant_is_one_that_is_there_or_new_once(what: str) -> None:
    text, constants = HAD[what]
    after = optimize(model(f"{text} b = Neg(x) y = Neg(b) }}"), rewrites=[AXES], passes=["there-and-back"]).proto
    squeezed = [node for node in after.graph.node if node.op_type in ("Unsqueeze", "Squeeze")]
    assert len(squeezed) == 2 and len({node.input[1] for node in squeezed}) == 1
    assert len(after.graph.initializer) == constants
    x = np.array([1, -0.0], "f4")
    found = run(after, {"x": x, **({"a": np.array([7])} if len(after.graph.input) > 1 else {})})
    assert found is not None and found[0].tobytes() == x.tobytes()


def test_a_new_constant_of_texts_is_one_that_is_there() -> None:
    made = model(
        """g (string[N] x) => (string[M] y, string[K] z) <string[1] a = {"alpha"}, string[1] b = {"beta"}, string[2] w = {"alpha", "beta"}> {
           c = Concat<axis = 0>(a, b) d = Concat<axis = 0>(x, c) y = Concat<axis = 0>(d, d) z = Concat<axis = 0>(x, w) }"""
    )
    after = fold(made, passes=["fold-constants"]).proto
    assert [tensor.name for tensor in after.graph.initializer] == ["w"]
