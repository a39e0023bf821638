"""Numbers that are equal to an old length, or made of it, refuse a model whose shapes no other length contradicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gather_infer import unfreeze
from tests.unfreezing.cases import Case, check_dynamic, check_refused, run
from tests.verification.models import model

SEQ = ("x.1=seq",)
SQUARE = ("x.1=seq", "x.2=seq")
FOLLOWS = "which may follow the length"
SUM = "which may follow their number"
REFUSED = {
    # sums: the constant is a function of the 7 positions
    "the logarithm of a mean": (
        "(float[2,7] x) => (y) <int64[1] a = {1}, float l = {1.945910149}> { s = ReduceLogSumExp(x, a) y = Sub(s, l) }",
        SEQ,
        SUM,
    ),
    "a mean of squares": (
        "(float[2,3] x) => (y) <int64[1] a = {1}, float l = {3}> { s = ReduceSumSquare(x, a) y = Div(s, l) }",
        SEQ,
        SUM,
    ),
    "a mean of magnitudes, by a number for each channel": (
        "(float[2,3,2] x) => (y) <int64[1] a = {1}, float[2] l = {3, 3}> { s = ReduceL1<keepdims=0>(x, a) "
        "y = Div(s, l) }",
        SEQ,
        SUM,
    ),
    "the factor of an unbiased variance": (
        "(float[2,3] x) => (y) <int64[1] a = {1}, float l = {1.5}> { s = ReduceMean(x, a) d = Sub(x, s) q = Mul(d, d) "
        "v = ReduceMean(q, a) y = Mul(v, l) }",
        SEQ,
        SUM,
    ),
    "an Einsum over positions": (
        '(float[2,3,4] x) => (y) <float l = {3}> { s = Einsum<equation="bsd,bse->bde">(x, x) y = Div(s, l) }',
        SEQ,
        SUM,
    ),
    "a Gram matrix over channels and positions": (
        "(float[2,3,4] x) => (y) <float l = {12}> { t = Transpose<perm=[0,2,1]>(x) s = MatMul(t, x) y = Div(s, l) }",
        SEQ,
        SUM,
    ),
    "twice a mean": (
        "(float[2,7] x) => (y) <int64[1] a = {1}, float l = {0.2857142857}> { s = ReduceSum(x, a) y = Mul(s, l) }",
        SEQ,
        SUM,
    ),
    # anywhere
    "the root of the length before a product": (
        "(float[2,7,4] x) => (y) <float l = {0.3779644730}> { z = Mul(x, l) t = Transpose<perm=[0,2,1]>(z) "
        "y = MatMul(t, x) }",
        SEQ,
        FOLLOWS,
    ),
    "a temperature of the length": (
        "(float[2,7,4] x) => (y) <float l = {1.945910149}> { t = Transpose<perm=[0,2,1]>(x) s = MatMul(x, t) "
        "m = Mul(s, l) y = Softmax(m) }",
        SEQ,
        FOLLOWS,
    ),
    "the alpha of a Gemm": (
        "(float[2,7,2] x) => (y) <int64[1] a = {1}, float[2,2] w = {0,1,2,3}> { s = ReduceSum<keepdims=0>(x, a) "
        "y = Gemm<alpha=0.142857142857>(s, w) }",
        SEQ,
        FOLLOWS,
    ),
    "a count subtracted from the length": (
        "(int64[2,3] x) => (y) <int64[1] a = {1}, int64 l = {3}> { s = ReduceSum(x, a) y = Sub(l, s) }",
        SEQ,
        FOLLOWS,
    ),
    "a position counted from the last one": (
        "(float[2,7] x) => (y) <int64 l = {6}> { s = ArgMax<axis=1>(x) y = Sub(l, s) }",
        SEQ,
        FOLLOWS,
    ),
    "the next position, around the end": (
        "(float[2,3] x) => (y) <int64 l = {3}, int64 o = {1}> { s = ArgMax<axis=1>(x) p = Add(s, o) q = Mod(p, l) "
        "y = GatherElements<axis=1>(x, q) }",
        SEQ,
        FOLLOWS,
    ),
    # places
    "a Split into each position": (
        "(float[2,4,3] x) => (y) { a, b, c, d = Split<axis=1, num_outputs=4>(x) y = Concat<axis=1>(d, c, b, a) }",
        SEQ,
        "splits a length into 4 parts",
    ),
    "the last diagonal": (
        "(float[2,4,4] x) => (y) <int64 k = {3}> { y = Trilu<upper=1>(x, k) }",
        SQUARE,
        "begins at diagonal 3",
    ),
    "the last diagonal of an identity": (
        "(float[4,4] x) => (y) { e = EyeLike<k=3>(x) y = Mul(e, x) }",
        ("x.0=seq", "x.1=seq"),
        "begins at diagonal 3",
    ),
    "classes that are positions": (
        "(float[2,4] x) => (y) <int64 d = {4}, float[2] v = {0, 1}> { i = ArgMax<axis=1, keepdims=0>(x) "
        "y = OneHot(i, d, v) }",
        SEQ,
        "has 4 classes",
    ),
    "all positions but one, sorted": (
        "(float[2,4] x) => (y) <int64[1] k = {3}> { y, i = TopK<axis=1>(x, k) }",
        SEQ,
        "takes 3 positions",
    ),
    "half of the positions": (
        "(float[2,5] x) => (y) <int64[1] k = {3}> { y, i = TopK<axis=1>(x, k) }",
        SEQ,
        "takes 3 positions",
    ),
    "a crop": (
        "(float[2,4,3] x) => (y) <int64[1] k = {6}> { y = CenterCropPad<axes=[1]>(x, k) }",
        SEQ,
        "crops or pads a length",
    ),
    "pairs of positions that are summed": (
        "(float[2,4,3] x) => (y) <int64[4] s = {2,4,4,3}, int64[1] u = {2}, int64[1] a = {2}> "
        "{ w = Unsqueeze(x, u) n = Expand(w, s) y = ReduceSum<keepdims=0>(n, a) }",
        SEQ,
        "repeats a length 4 times",
    ),
    "all positions for each one": (
        "(float[2,4,3] x) => (y) <int64[3] r = {1,4,1}> { y = Tile(x, r) }",
        SEQ,
        "repeats a length 4 times",
    ),
    "positions after a past": (
        "(float[2,3,2] x, float[2,4,2] n) => (y) <float[4,1] t = {3,4,5,6}> { a = Add(n, t) y = Concat<axis=1>(x, a) }",
        SEQ,
        "or positions after it",
    ),
    "positions after a past, as many as are new": (
        "(float[2,3,2] x, float[2,4,2] n) => (y) <float[4,1] t = {3,4,5,6}> { a = Add(n, t) y = Concat<axis=1>(x, a) }",
        ("x.1=past", "n.1=seq"),
        "numbers of its constant [4, 1] may follow the length",
    ),
    "numbers from the length on": (
        "(int64[2,3] x) => (y) <int64[2,1] t = {3,4}> { y = Add(x, t) }",
        SEQ,
        "reads numbers from 3 on",
    ),
    "boxes that are scaled to the image": (
        "(float[1,2,32,48] x, float[1,5,4] b) => (y) <float[4] n = {48,32,48,32}> "
        "{ s = ReduceMean<keepdims=0>(x) c = Mul(b, n) y = Add(c, s) }",
        ("x.2=height", "x.3=width"),
        "reads numbers that may be the length",
    ),
    "coordinates that are scaled to the image": (
        "(float[1,2,32,48] x) => (y) <float[1,2,1,1] n = {23.5,15.5}> { y = Div(x, n) }",
        ("x.2=height", "x.3=width"),
        "reads the number 23.5 beside others",
    ),
    "coordinates by the aspect of the image": (
        "(float[1,2,32,48] x) => (y) <float n = {1.5}> { y = Div(x, n) }",
        ("x.2=height", "x.3=width"),
        "reads the number 1.5",
    ),
    "the last position as a float": (
        "(float[2,32] x) => (y) <float n = {31}> { y = Mul(x, n) }",
        SEQ,
        "reads the number 31",
    ),
    "a position as a fraction": (
        "(float[1,1,3] x) => (y) <float n = {3}> { i = ArgMax<axis=2>(x) c = Cast<to=1>(i) y = Div(c, n) }",
        ("x.2=width",),
        "divides positions by 3",
    ),
    "the number of each row and position, times 2": (
        "(float[2,3,2] x) => (y) <int64[1] m = {-1}, int64[2] s = {6,2}, int64[6] r = {0,2,4,6,8,10}> "
        "{ f = Reshape(x, s) i = ArgMax<axis=1, keepdims=0>(f) j = Add(r, i) g = Reshape(x, m) y = Gather(g, j) }",
        SEQ,
        "by steps of the old size",
    ),
    "a transform of as many positions": (
        "(float[2,4,1] x) => (y) <int64 n = {4}> { y = DFT(x, n) }",
        SEQ,
        "reads 4 positions",
    ),
}
KEPT = {
    "classes of the network, as many as positions": Case(
        "(float[2,3,3] x) => (y) <int64 d = {3}, float[2] v = {0, 1}> { i = ArgMax<axis=2, keepdims=0>(x) "
        "y = OneHot(i, d, v) }",
        "(float[2,seq,3] x) => (y) <int64 d = {3}, float[2] v = {0, 1}> { i = ArgMax<axis=2, keepdims=0>(x) "
        "y = OneHot(i, d, v) }",
        SEQ,
    ),
    "a whole number less than the length by one, as a factor": Case(
        "(int64[2,7] x) => (y) <int64 s = {6}> { y = Mul(x, s) }",
        "(int64[2,seq] x) => (y) <int64 s = {6}> { y = Mul(x, s) }",
        SEQ,
    ),
    "small numbers that no sum meets": Case(
        "(float[2,4] x) => (y) <float h = {0.5}, float r = {2}> { m = Mul(x, h) y = Div(m, r) }",
        "(float[2,seq] x) => (y) <float h = {0.5}, float r = {2}> { m = Mul(x, h) y = Div(m, r) }",
        SEQ,
    ),
    "scores of as many features as positions": Case(
        "(float[2,7,7] x) => (y) <float l = {0.3779644730}> { t = Transpose<perm=[0,2,1]>(x) s = MatMul(x, t) "
        "y = Mul(s, l) }",
        "(float[2,seq,7] x) => (y) <float l = {0.3779644730}> { t = Transpose<perm=[0,2,1]>(x) s = MatMul(x, t) "
        "y = Mul(s, l) }",
        SEQ,
    ),
    "features that are scaled before a product": Case(
        "(float[2,7,7] x) => (y) <float l = {0.3779644730}> { y = Mul(x, l) }",
        "(float[2,seq,7] x) => (y) <float l = {0.3779644730}> { y = Mul(x, l) }",
        SEQ,
    ),
    "half of each element, which is the aspect of the image, too": Case(
        "(float[1,1,16,32] x) => (y) <float h = {0.5}> { y = Mul(x, h) }",
        "(float[1,1,height,32] x) => (y) <float h = {0.5}> { y = Mul(x, h) }",
        ("x.2=height",),
    ),
    "pixels by the largest one, which is the last position, too": Case(
        "(float[1,1,2,256] x) => (y) <float n = {255}> { y = Div(x, n) }",
        "(float[1,1,2,width] x) => (y) <float n = {255}> { y = Div(x, n) }",
        ("x.3=width",),
    ),
    "elements that are clipped to a number": Case(
        "(float[2,7] x) => (y) <float l = {-7}, float u = {7}> { y = Clip(x, l, u) }",
        "(float[2,seq] x) => (y) <float l = {-7}, float u = {7}> { y = Clip(x, l, u) }",
        SEQ,
    ),
    "pairs of positions, beside the other one": Case(
        "(float[2,4,3] x) => (y) <int64[4] s = {2,4,4,3}, int64[1] u = {2}, int64[1] v = {1}> { a = Unsqueeze(x, u) "
        "b = Expand(a, s) c = Unsqueeze(x, v) d = Expand(c, s) y = Concat<axis=3>(b, d) }",
        "(float[2,seq,3] x) => (y) <int64[1] u = {2}, int64[1] v = {1}, int64[1] two = {2}, int64[1] three = {3}> "
        "{ l = Shape<start=1, end=2>(x) s = Concat<axis=0>(two, l, l, three) a = Unsqueeze(x, u) b = Expand(a, s) "
        "c = Unsqueeze(x, v) d = Expand(c, s) y = Concat<axis=3>(b, d) }",
        SEQ,
    ),
    "a row number times the length": Case(
        "(float[2,7] x) => (y) <int64[1] s = {14}, float z = {0}, int64 p = {0}, int64 q = {1}, int64 w = {7}> "
        "{ f = Reshape(x, s) g = Greater(x, z) n = NonZero(g) b = Gather(n, p) c = Gather(n, q) m = Mul(b, w) "
        "i = Add(m, c) y = Gather(f, i) }",
        "(float[2,seq] x) => (y) <int64[1] s = {-1}, float z = {0}> "
        "{ g = Greater(x, z) f = Reshape(x, s) h = Reshape(g, s) y = Compress<axis=0>(f, h) }",
        SEQ,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_that_may_be_the_length_refuses_the_model(name: str, tmp_path: Path) -> None:
    text, dims, reason = REFUSED[name]
    check_refused(text, dims, reason, tmp_path)


@pytest.mark.parametrize("name", KEPT)
def test_other_numbers_stay(name: str) -> None:
    check_dynamic(KEPT[name])


def test_a_stride_of_an_image_is_a_number() -> None:
    """Coordinates are multiplied by it; by a size they are divided. Scores are scaled by roots of lengths."""
    text = "(float[1,2,{0},48] x) => (y) <float s = {{{1}}}> {{ y = {2}(x, s) }}"
    image = ["x.2=height", "x.3=width"]
    for stride, size in ((8, 64), (32, 64), (32, 32)):
        assert not unfreeze(model(text.format(size, stride, "Mul")), image).refused
        assert unfreeze(model(text.format(size, stride, "Mul")), image[:1]).refused
    assert unfreeze(model(text.format(32, 32, "Div")), image).refused
    assert not unfreeze(model(text.format(81, 9, "Mul")), image).refused  # the root of the height


def test_a_number_of_rows_is_no_length() -> None:
    """Rows are run, so that a number equal to the batch is one of the network, or contradicts the run."""
    assert not unfreeze(model("(float[7,2] x) => (y) <float l = {7}> { y = Div(x, l) }"), ["x.0=batch"]).refused


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        ("q = Clip(i, o, l)", "reads the number 6, which may follow the length"),
        ("q = Mod(i, n)", "reads the number 7, which may follow the length"),
        ("m = Min(i, i) q = Abs(m)", ""),
    ],
)
def test_a_given_index_kept_in_bounds_by_the_old_length_is_refused(bound: str, reason: str, tmp_path: Path) -> None:
    text = (
        "(float[2,7] x, int64[2,1] i) => (y) <int64 o = {0}, int64 l = {6}, int64 n = {7}> "
        f"{{ {bound} y = GatherElements<axis=1>(x, q) }}"
    )
    if reason:
        check_refused(text, SEQ, reason, tmp_path)
    else:
        assert not unfreeze(model(text), SEQ).refused


SCAN = (
    "(float[4,3] x) => (s, y) <int64 i = {{{first}}}> "
    "{{ s, y = Scan<num_scan_inputs=1, body = b(int64 a, float[3] v) => (int64 c, float[3] d) "
    "{{ o = Constant<value_int={step}>() c = Add(a, o) f = Cast<to=1>(a) "
    "n = Constant<value_float=8.0>() q = Div(f, n) d = Add(v, q) }}>(i, x) }}"
)


def test_a_state_that_counts_is_right_at_any_length() -> None:
    """The number of the iteration divided by 8 is a ratio, which no array holds."""
    text = SCAN.format(first=0, step=1)
    result = unfreeze(model(text), ["x.0=seq"], lengths=["seq"])
    assert not result.refused, result.why_refused
    for size in (1, 3, 6):
        x = np.arange(3 * size, dtype=np.float32).reshape(size, 3)
        np.testing.assert_array_equal(
            run(result.proto, {"x": x})[1], x + np.arange(size, dtype=np.float32)[:, None] / 8
        )


def test_a_state_that_counts_down_from_the_last_position_is_refused() -> None:
    text = SCAN.format(first=3, step=-1)
    assert "begins with the number 3" in unfreeze(model(text), ["x.0=seq"], lengths=["seq"]).why_refused


def test_the_length_of_each_sequence_is_no_number() -> None:
    """The rows of a batch have one number, which is another freed size."""
    weights = "float[1,4,1] w = {1,2,3,4}, float[1,4,1] r = {1,2,3,4}"
    text = (
        f"(float[4,2,1] x) => (y) <int32[2] l = {{4, 4}}, {weights}, float[1,2,1] h = {{0, 0}}> "
        "{ y = LSTM<hidden_size=1>(x, w, r, , l, h, h) }"
    )
    assert not unfreeze(model(text), ["x.1=batch"], rows=["batch"]).refused
    assert (
        "requires batch == 2"
        in unfreeze(model(text), ["x.0=seq", "x.1=batch"], rows=["batch"], lengths=["seq"]).why_refused
    )


def test_an_index_in_bounds_at_the_old_length_alone_is_refused(tmp_path: Path) -> None:
    """Its elements are inputs of the model, so that no size keeps them in bounds."""
    text = (
        "(float[2,7] x, int64[2,1] i) => (y) <int64 o = {0}, int64 l = {5}> "
        "{ q = Clip(i, o, l) y = GatherElements<axis=1>(x, q) }"
    )
    check_refused(text, SEQ, "its index is not in bounds", tmp_path)
