# ruff: noqa: E501  (models as text)
"""Wrong rewrites of a user's set: `optimize --verify` finds each, exits with 1 and writes nothing."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from gather_infer_cli.main import main

from tests.verification.models import model

SET = """
import numpy as np
from gather_infer import RewriteSet

rewrites = RewriteSet()


@rewrites.rewrites({operators})
def wrong(match):
    {body}
"""

PLANTED = {
    # when it is wrong: (the model, the operators, the rule)
    "a size is 0": (
        "(float[N, 2, 3] x) => (float[N, M] y) { y = Flatten(x) }",
        "'Flatten'",
        "return match.replace_with('Flatten is Reshape to [0, -1]', match.reshape(match.input(0), [0, -1]))",
    ),
    "the second size is 0": (
        "(float[N, M, 4] x) => (float[K, M, 4] y) { n = Neg(x) s = Shape(x) y = Reshape(n, s) }",
        "'Reshape'",
        "return None if match.is_constant(1) else match.replace_with('one can be -1', match.reshape(match.input(0), [-1, 0, 4]))",
    ),
    "a size is 1": (
        "(float[N, 1, M] x) => (float[N, M] y) <int64[1] a = {1}> { y = Squeeze(x, a) }",
        "'Squeeze'",
        "return match.replace_with('Squeeze finds its axes', match.new('Squeeze', [match.input(0)])) if match.input(1) else None",
    ),
    "-0.0": (
        "(float[N] x) => (float[N] y) <float z = {0}> { a = Neg(x) y = Add(a, z) }",
        "'Add'",
        "return match.replace_with('x + 0 == x', match.input(0))",
    ),
    "NaN": (
        "(float[N] x, float[N] z) => (bool[N] y) { l = Less(x, z) y = Not(l) }",
        "'Not'",
        "less = match.producer(0, 'Less')\n"
        "    return less and match.replace_with('not < is >=', match.new('GreaterOrEqual', less.inputs))",
    ),
    "Inf": (
        "(float[N] x) => (bool[N] y) { a = Sub(x, x) y = IsNaN(a) }",
        "'IsNaN'",
        "zero = match.producer(0, 'Sub')\n"
        "    return zero and match.replace_with('x - x is NaN where x is', match.new('IsNaN', [zero.input(0)]))",
    ),
    "a negative index": (
        "(float[9] x, int64[N] i) => (float[N] y) <int64[1] o = {0}, int64[1] k = {6}> { a = Slice(x, o, k) y = Gather(a, i) }",
        "'Gather'",
        "cut = match.producer(0, 'Slice')\n"
        "    return cut and match.replace_with('the first rows are in all', match.new('Gather', [cut.input(0), match.input(1)]))",
    ),
    "the last row": (
        "(float[101, 2] x, int64[N] i) => (float[N, 2] y) <int64 k = {99}> { j = Min(i, k) y = Gather(x, j) }",
        "'Min'",
        "return match.replace_with('an index is below the number of rows', match.input(0))",
    ),
    "the end of a Slice": (
        "(float[N, 5] x) => (float[N, 2] y) <int64[2] i = {-3, -2}> { y = Gather<axis = 1>(x, i) }",
        "'Gather'",
        "return match.replace_with('neighbours are a Slice', match.slice(match.input(0), [1], [3], [1]))",
    ),
    "axes that are equally long": (
        "(float[N, N] x, int64[2] i) => (float[N, N] y) { a = Transpose(x) y = Neg(a) }",
        "'Transpose'",
        "return match.replace_with('both axes are N', match.input(0)) if len(set(match.shape(0))) == 1 else None",
    ),
    "a product past the largest integer": (
        "(int32[N] x) => (int32[N] y) <int32 k = {65536}> { a = Mul(x, k) y = Div(a, k) }",
        "'Div'",
        "product = match.producer(0, 'Mul')\n    return product and match.replace_with('x * k / k == x', product.input(0))",
    ),
    "a number that a narrow type lacks": (
        "(float[N] x) => (float[N] y) { a = Cast<to = 10>(x) b = Cast<to = 1>(a) y = Neg(b) }",
        "'Cast'",
        "inner = match.producer(0, 'Cast')\n    return inner and match.replace_with('Cast there and back', inner.input(0))",
    ),
    "an index that is there twice": (
        "(float[5] x, int64[N] i, float[N] u) => (float[N] y) { a = ScatterElements(x, i, u) y = GatherElements(a, i) }",
        "'GatherElements'",
        "written = match.producer(0, 'ScatterElements')\n"
        "    return written and match.replace_with('what was written is read', match.new('Identity', [written.input(2)]))",
    ),
    "two sizes that differ": (
        "(float[N, M] x) => (int64 y) <int64 one = {1}> { s = Shape(x) y = Gather(s, one) }",
        "'Gather'",
        "return match.replace_with('axes have one size', match.new('Gather', [match.input(0), match.scalar(0)]))"
        " if match.integers_of(1) == (1,) else None",
    ),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("when", PLANTED)
def test_a_planted_rewrite_is_found(when: str, tmp_path: Path) -> None:
    text, operators, body = PLANTED[when]
    onnx.save(model(text), tmp_path / "m.onnx")
    (tmp_path / "wrong.py").write_text(SET.format(operators=operators, body=body))
    arguments = ["optimize", str(tmp_path / "m.onnx"), "--rewrites", str(tmp_path / "wrong.py"), "--passes", "wrong"]
    found = CliRunner().invoke(main, [*arguments, "--verify", "8", "-o", str(tmp_path / "out.onnx")])
    is_shown = "was" in found.output or "the rewritten model fails" in found.output
    assert found.exit_code == 1 and is_shown, found.output
    assert not (tmp_path / "out.onnx").exists()
