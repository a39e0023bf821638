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
def wrong(site):
    {body}
"""

PLANTED = {
    # when it is wrong: (the model, the operators, the rule)
    "a size is 0": (
        "(float[N, 2, 3] x) => (float[N, M] y) { y = Flatten(x) }",
        "'Flatten'",
        "return site.keeps('Flatten is Reshape to [0, -1]', site.reshape(site.input(0), [0, -1]))",
    ),
    "the second size is 0": (
        "(float[N, M, 4] x) => (float[K, M, 4] y) { n = Neg(x) s = Shape(x) y = Reshape(n, s) }",
        "'Reshape'",
        "return None if site.is_constant(1) else site.keeps('one can be -1', site.reshape(site.input(0), [-1, 0, 4]))",
    ),
    "a size is 1": (
        "(float[N, 1, M] x) => (float[N, M] y) <int64[1] a = {1}> { y = Squeeze(x, a) }",
        "'Squeeze'",
        "return site.keeps('Squeeze finds its axes', site.new('Squeeze', [site.input(0)])) if site.input(1) else None",
    ),
    "-0.0": (
        "(float[N] x) => (float[N] y) <float z = {0}> { a = Neg(x) y = Add(a, z) }",
        "'Add'",
        "return site.keeps('x + 0 == x', site.input(0))",
    ),
    "NaN": (
        "(float[N] x, float[N] z) => (bool[N] y) { l = Less(x, z) y = Not(l) }",
        "'Not'",
        "less = site.producer(0, 'Less')\n"
        "    return less and site.keeps('not < is >=', site.new('GreaterOrEqual', less.inputs))",
    ),
    "Inf": (
        "(float[N] x) => (bool[N] y) { a = Sub(x, x) y = IsNaN(a) }",
        "'IsNaN'",
        "zero = site.producer(0, 'Sub')\n"
        "    return zero and site.keeps('x - x is NaN where x is', site.new('IsNaN', [zero.input(0)]))",
    ),
    "a negative index": (
        "(float[9] x, int64[N] i) => (float[N] y) <int64[1] o = {0}, int64[1] k = {6}> { a = Slice(x, o, k) y = Gather(a, i) }",
        "'Gather'",
        "cut = site.producer(0, 'Slice')\n"
        "    return cut and site.keeps('the first rows are in all', site.new('Gather', [cut.input(0), site.input(1)]))",
    ),
    "the last row": (
        "(float[101, 2] x, int64[N] i) => (float[N, 2] y) <int64 k = {99}> { j = Min(i, k) y = Gather(x, j) }",
        "'Min'",
        "return site.keeps('an index is below the number of rows', site.input(0))",
    ),
    "the end of a Slice": (
        "(float[N, 5] x) => (float[N, 2] y) <int64[2] i = {-3, -2}> { y = Gather<axis = 1>(x, i) }",
        "'Gather'",
        "return site.keeps('neighbours are a Slice', site.slice(site.input(0), [1], [3], [1]))",
    ),
    "axes that are equally long": (
        "(float[N, N] x, int64[2] i) => (float[N, N] y) { a = Transpose(x) y = Neg(a) }",
        "'Transpose'",
        "return site.keeps('both axes are N', site.input(0)) if len(set(site.shape(0))) == 1 else None",
    ),
    "a product past the largest integer": (
        "(int32[N] x) => (int32[N] y) <int32 k = {65536}> { a = Mul(x, k) y = Div(a, k) }",
        "'Div'",
        "product = site.producer(0, 'Mul')\n    return product and site.keeps('x * k / k == x', product.input(0))",
    ),
    "a number that a narrow type lacks": (
        "(float[N] x) => (float[N] y) { a = Cast<to = 10>(x) b = Cast<to = 1>(a) y = Neg(b) }",
        "'Cast'",
        "inner = site.producer(0, 'Cast')\n    return inner and site.keeps('Cast there and back', inner.input(0))",
    ),
    "an index that is there twice": (
        "(float[5] x, int64[N] i, float[N] u) => (float[N] y) { a = ScatterElements(x, i, u) y = GatherElements(a, i) }",
        "'GatherElements'",
        "written = site.producer(0, 'ScatterElements')\n"
        "    return written and site.keeps('what was written is read', site.new('Identity', [written.input(2)]))",
    ),
    "two sizes that differ": (
        "(float[N, M] x) => (int64 y) <int64 one = {1}> { s = Shape(x) y = Gather(s, one) }",
        "'Gather'",
        "return site.keeps('axes have one size', site.new('Gather', [site.input(0), site.scalar(0)]))"
        " if site.integers_of(1) == (1,) else None",
    ),
}  # fmt: skip


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
