"""`unfreeze` with a second export of the same network at another size, and partial results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from gather_infer import UsageError, diff, unfreeze
from gather_infer.unfreezing.constants import explained_constants
from tests.unfreezing.cases import feeds_of, run
from tests.verification.models import model

BATCH, SEQ = ("x.0=batch",), ("x.1=seq",)


class Case(NamedTuple):
    """A model at two sizes, and the dynamic one; `most` is the largest size that the files have rows for."""

    mine: str
    other: str
    dynamic: str
    dims: tuple[str, ...]
    most: int = 1 << 30


CASES = {
    "a table at a length of 1": Case(
        "(float[1,1,2] x) => (float[1,1,2] y) <float[1,1,2] p = {1,2}> { y = Add(x, p) }",
        "(float[1,3,2] x) => (float[1,3,2] y) <float[1,3,2] p = {1,2,3,9,5,6}> { y = Add(x, p) }",
        "(float[1,seq,2] x) => (float[1,seq,2] y) <float[1,3,2] p = {1,2,3,9,5,6}, int64[1] z = {0}, int64[1] o = {1}> "
        "{ n = Shape<start=1, end=2>(x) q = Slice(p, z, n, o) y = Add(x, q) }",
        SEQ,
        most=3,
    ),
    "one row for all positions, at a length of 1": Case(
        "(float[1,1,2] x) => (float[1,1,2] y) <float[1,1,2] p = {1,2}> { y = Add(x, p) }",
        "(float[1,3,2] x) => (float[1,3,2] y) <float[1,1,2] p = {1,2}> { y = Add(x, p) }",
        "(float[1,seq,2] x) => (float[1,seq,2] y) <float[1,1,2] p = {1,2}> { y = Add(x, p) }",
        SEQ,
    ),
    "position numbers at a length of 1": Case(
        "(float[1,1] x) => (float[1,1] y) <int64[1,1] p = {0}> { q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,3] x) => (float[1,3] y) <int64[1,3] p = {0,1,2}> { q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,seq] x) => (float[1,seq] y) <int64 o = {1}, float[1,1] f = {1}> "
        "{ s = Shape(x) e = Expand(f, s) c = CumSum<exclusive=1>(e, o) y = Add(x, c) }",
        SEQ,
    ),
    "positions that count down": Case(
        "(float[1,3] x) => (float[1,3] y) <int64[1,3] p = {2,1,0}> { q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,5] x) => (float[1,5] y) <int64[1,5] p = {4,3,2,1,0}> { q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,seq] x) => (float[1,seq] y) <int64 o = {1}, float[1,1] f = {1}> "
        "{ s = Shape(x) e = Expand(f, s) c = CumSum<exclusive=1, reverse=1>(e, o) y = Add(x, c) }",
        SEQ,
    ),
    "a table that is read from its end": Case(
        "(float[1,2] x) => (float[1,2] y) <float[1,2] p = {1.5,0}> { y = Add(x, p) }",
        "(float[1,4] x) => (float[1,4] y) <float[1,4] p = {9,7,1.5,0}> { y = Add(x, p) }",
        "(float[1,seq] x) => (float[1,seq] y) <float[1,4] p = {9,7,1.5,0}, int64[1] t = {4}, int64[1] o = {1}> "
        "{ n = Shape<start=1, end=2>(x) b = Sub(t, n) q = Slice(p, b, t, o) y = Add(x, q) }",
        SEQ,
        most=4,
    ),
    "a position in the middle": Case(
        "(float[1,5,2] x) => (float[1,2] y) <int64 i = {1}> { y = Gather<axis=1>(x, i) }",
        "(float[1,6,2] x) => (float[1,2] y) <int64 i = {1}> { y = Gather<axis=1>(x, i) }",
        "(float[1,seq,2] x) => (float[1,2] y) <int64 i = {1}> { y = Gather<axis=1>(x, i) }",
        SEQ,
    ),
    "the last position, counted from the first": Case(
        "(float[1,5,2] x) => (float[1,2] y) <int64 i = {4}> { y = Gather<axis=1>(x, i) }",
        "(float[1,6,2] x) => (float[1,2] y) <int64 i = {5}> { y = Gather<axis=1>(x, i) }",
        "(float[1,seq,2] x) => (float[1,2] y) <int64 i = {-1}> { y = Gather<axis=1>(x, i) }",
        SEQ,
    ),
    "a mean by a number": Case(
        "(float[1,5] x) => (float[1] y) <int64[1] a = {1}, float n = {5}> "
        "{ s = ReduceSum<keepdims=0>(x, a) y = Div(s,n)}",
        "(float[1,6] x) => (float[1] y) <int64[1] a = {1}, float n = {6}> "
        "{ s = ReduceSum<keepdims=0>(x, a) y = Div(s,n)}",
        "(float[1,seq] x) => (float[1] y) <int64[1] a = {1}> { y = ReduceMean<keepdims=0>(x, a) }",
        SEQ,
    ),
    "a mean by the reciprocal of a number": Case(
        "(float[1,5] x) => (float[1] y) <int64[1] a = {1}, float n = {0.2}> "
        "{ s = ReduceSum<keepdims=0>(x, a) y = Mul(s,n)}",
        "(float[1,4] x) => (float[1] y) <int64[1] a = {1}, float n = {0.25}> "
        "{ s = ReduceSum<keepdims=0>(x, a) y = Mul(s,n)}",
        "(float[1,seq] x) => (float[1] y) <int64[1] a = {1}> { y = ReduceMean<keepdims=0>(x, a) }",
        SEQ,
    ),
    "the place of a row of 1 in a Reshape": Case(
        "(float[1,1,7] x) => (float[7,1,1] y) <int64[3] s = {7,1,1}> "
        "{ u = Transpose<perm=[2,0,1]>(x) y = Reshape(u, s) }",
        "(float[2,1,7] x) => (float[7,1,2] y) <int64[3] s = {7,1,2}> "
        "{ u = Transpose<perm=[2,0,1]>(x) y = Reshape(u, s) }",
        "(float[batch,1,7] x) => (float[7,1,batch] y) { y = Transpose<perm=[2,1,0]>(x) }",
        BATCH,
    ),
    "a mask of two positions": Case(
        "(float[1,2,2] x) => (float[1,2,2] y) <bool[1,2,2] m = {1,0,1,1}, float z = {-9}> { y = Where(m, x, z) }",
        "(float[1,3,3] x) => (float[1,3,3] y) <bool[1,3,3] m = {1,0,0,1,1,0,1,1,1}, float z = {-9}> "
        "{ y = Where(m, x, z) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <float z = {-9}> "
        "{ o = Shape(x) e = ConstantOfShape<value = float[1] {1}>(o) l = Trilu<upper=0>(e) m = Cast<to=9>(l) "
        "y = Where(m, x, z) }",
        ("x.1=seq", "x.2=seq"),
    ),
}  # fmt: skip

REFUSED = {
    "another operator": (
        "(float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        "(float[3,3] x) => (float[3,3] y) { y = Abs(x) }",
        "is not the same graph at another size: output y: it reads a Neg, there a Abs",
    ),
    "inputs exchanged": (
        "(float[2,3] x, float[1,3] z) => (float[2,3] y) { y = Sub(x, z) }",
        "(float[3,3] x, float[1,3] z) => (float[3,3] y) { y = Sub(z, x) }",
        "it reads z, there x|it reads x, there z",
    ),
    "operands exchanged": (
        "(float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Abs(x) y = Sub(a, b) }",
        "(float[3,3] x) => (float[3,3] y) { a = Neg(x) b = Abs(x) y = Sub(b, a) }",
        "it reads a Neg, there a Abs|it reads a Abs, there a Neg",
    ),
    "outputs of a node exchanged": (
        "(float[2,4] x) => (float[2,2] y) { a, b = Split<axis=1, num_outputs=2>(x) y = Sub(a, b) }",
        "(float[3,4] x) => (float[3,2] y) { a, b = Split<axis=1, num_outputs=2>(x) y = Sub(b, a) }",
        "its Split has other operands there",
    ),
    "a value read once and twice": (
        "(float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Neg(x) y = Sub(a, a) }",
        "(float[3,3] x) => (float[3,3] y) { a = Neg(x) b = Neg(x) y = Sub(a, b) }",
        "there a value that is not its counterpart",
    ),
    "an attribute": (
        "(float[2,3] x) => (float[2,3] y) { y = Softmax<axis=1>(x) }",
        "(float[3,3] x) => (float[3,3] y) { y = Softmax<axis=0>(x) }",
        "its attribute axis differs",
    ),
    "the same size": (
        "(float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        "(float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        "batch is 2 in both models; take an export with another batch",
    ),
    "a size without a name": (
        "(float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        "(float[3,4] x) => (float[3,4] y) { y = Neg(x) }",
        "x.1 is 4, not 3, and no --dim names it",
    ),
    "other inputs": (
        "(float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        "(float[3,3] x, float[3,3] z) => (float[3,3] y) { y = Neg(x) }",
        "the number of inputs is 2, not 1: another network",
    ),
    "a constant in one of them": (
        "(float[2,3] x) => (float[2,3] y) <float[2,3] c = {1,1,1,1,1,1}> { y = Add(x, c) }",
        "(float[3,3] x) => (float[3,3] y) { c = Neg(x) y = Add(x, c) }",
        "operand 1 is a constant in one of them alone",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_two_sizes_tell_the_third(name: str, swapped: bool) -> None:
    case = CASES[name]
    first, second = (case.other, case.mine) if swapped else (case.mine, case.other)
    result = unfreeze(model(first), case.dims, like=model(second))
    assert not result.refused, result.why_refused
    symbol = next(iter(result.freed))
    assert result.most.get(symbol, 1 << 30) == case.most
    dynamic = model(case.dynamic)
    for size in (1, 2, 3, 5, 7):
        if size <= case.most and not (size < 2 and "middle" in name):
            feeds = feeds_of(dynamic, size, symbol)
            for wanted, found in zip(run(dynamic, feeds), run(result.proto, feeds), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert result.rows is not None and any(" as " in text for text in result.rows.runs)
    for given, sizes in ((model(first), result.freed), (model(second), result.like_sizes)):
        assert str(diff(given, result.proto, dims=sizes, details=False).verdict) in ("proved", "runs")


@pytest.mark.parametrize("name", REFUSED)
def test_another_graph_is_refused(name: str) -> None:
    mine, other, reason = REFUSED[name]
    with pytest.raises(UsageError, match=reason):
        unfreeze(model(mine), BATCH, like=model(other))


def test_a_size_is_one_number_in_the_second_model() -> None:
    text = "(float[{},3] x, float[{},3] z) => (y, w) {{ y = Neg(x) w = Neg(z) }}"
    with pytest.raises(UsageError, match=r"z\.0 is 4, but batch is 3"):
        unfreeze(model(text.format(2, 2)), ["*.0=batch"], like=model(text.format(3, 4)))


def test_functions_are_the_same_in_the_second_model() -> None:
    """Calls that are not inlined, since the function has another opset, compute the same in both."""

    def whole(size: int, op: str) -> ModelProto:
        return onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 18, "local" : 1]> '
            f"g (float[{size},3] x, float[4] z) => (float[{size},3] y, w) {{ y = Neg(x) w = local.F(z) }} "
            f'<domain: "local", opset_import: ["" : 17]> F (a) => (b) {{ b = {op}(a) }}'
        )

    assert not unfreeze(whole(2, "Abs"), BATCH, like=whole(3, "Abs")).refused
    with pytest.raises(UsageError, match="the functions of the models differ"):
        unfreeze(whole(2, "Abs"), BATCH, like=whole(3, "Sqrt"))


def test_constants_that_no_rule_explains_are_refused() -> None:
    mine = "(float[2,3] x) => (float[2,3] y) <float[3] w = {1.5,2,3}> { y = Mul(x, w) }"
    other = "(float[3,3] x) => (float[3,3] y) <float[3] w = {1,2.5,3}> { y = Mul(x, w) }"
    result = unfreeze(model(mine), BATCH, like=model(other))
    assert "its constant w is [3] [1.5, 2.0, 3.0], and [3] [1.0, 2.5, 3.0] in" in result.why_refused


def test_a_constant_that_is_equal_in_both_is_not_edited() -> None:
    """Rows that fit two rows by a guess are those of two rows in both files."""
    mine = "(float[2,3] x) => (float[2,3] y) <float[2,3] c = {1,1,1,1,1,1}> { y = Add(x, c) }"
    other = "(float[1,3] x) => (float[2,3] y) <float[2,3] c = {1,1,1,1,1,1}> { y = Add(x, c) }"
    assert not unfreeze(model(mine), BATCH).refused
    assert unfreeze(model(mine), BATCH, like=model(other)).refused


def test_the_second_model_finds_a_wrong_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["a mean by a number"]
    monkeypatch.setattr(explained_constants, "dim_of_numbers", lambda _, mine, other: mine)
    result = unfreeze(model(case.mine), case.dims, like=model(case.other))
    assert "beside" in result.why_refused


def test_some_of_several_sizes() -> None:
    text = "(float[2,3] x) => (float[2,2] y) <float[3,2] c = {1,2,3,4,5,6}> { a = Neg(x) y = MatMul(a, c) }"
    dims = ("x.0=batch", "x.1=width")
    assert unfreeze(model(text), dims).refused
    result = unfreeze(model(text), dims, partial=True)
    assert not result.refused and result.freed == {"batch": 2}
    assert list(result.dropped) == ["width"] and "requires width == 3" in result.dropped["width"]


def test_expressions_of_a_size_that_is_dropped() -> None:
    text = (
        "(float[2,3] x, float[2,5] z) => (float[2,8] y, float[2,2] w) <float[3,2] c = {1,2,3,4,5,6}> "
        "{ y = Concat<axis=1>(x, z) w = MatMul(x, c) }"
    )
    result = unfreeze(model(text), ("x.1=seq", "*.0=batch", "z.1=seq+2"), partial=True)
    assert not result.refused and result.freed == {"batch": 2} and list(result.dropped) == ["seq"]
    assert result.sites == {"batch": ("x.0", "z.0")}
