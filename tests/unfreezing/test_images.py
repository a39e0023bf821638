"""`unfreeze` of sizes of images: strides, windows, paddings, Resize, and tokens of an image."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unfreezing.cases import Case, check_dynamic, check_refused

IMAGE = ("x.2=height", "x.3=width")
CASES = {
    "an image behind a stride, as tokens and as an image again": Case(
        "(float[1,1,4,6] x) => (float[1,1,2,3] y) <float[1,1,2,2] w = {1,2,3,4}, int64[3] s = {1,1,6}, "
        "int64[4] u = {1,1,2,3}> "
        "{ c = Conv<strides=[2,2]>(x, w) t = Reshape(c, s) p = Transpose<perm=[0,2,1]>(t) n = Neg(p) "
        "q = Transpose<perm=[0,2,1]>(n) y = Reshape(q, u) }",
        "(float[1,1,height,width] x) => (float[1,1,a,b] y) <float[1,1,2,2] w = {1,2,3,4}> "
        "{ c = Conv<strides=[2,2]>(x, w) y = Neg(c) }",
        IMAGE,
        sizes=(2, 3, 4, 7),
    ),
    "an image enlarged to the size of another one": Case(
        "(float[1,1,4,6] x) => (float[1,1,4,6] y) <int64[4] s = {1,1,4,6}> "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) r = Resize<mode=\"nearest\">(c, , , s) y = Add(x, r) }",
        "(float[1,1,height,width] x) => (float[1,1,height,width] y) "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) s = Shape(x) r = Resize<mode=\"nearest\">(c, , , s) "
        "y = Add(x, r) }",
        IMAGE,
        sizes=(2, 3, 4, 7),
    ),
    "an image enlarged to the size of the input": Case(
        "(float[1,1,4,6] x) => (float[1,1,4,6] y) <int64[4] s = {1,1,4,6}> "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) y = Resize<mode=\"nearest\">(c, , , s) }",
        "(float[1,1,height,width] x) => (float[1,1,height,width] y) "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) s = Shape(x) y = Resize<mode=\"nearest\">(c, , , s) }",
        IMAGE,
        sizes=(2, 3, 4, 7),
    ),
    "a kernel of weights that is as large as the image": Case(
        "(float[1,1,2,3] x) => (float[1,1,1,1] y) <float[1,1,2,3] w = {1,2,3,4,5,6}> { y = Conv(x, w) }",
        "(float[1,1,height,width] x) => (float[1,1,a,b] y) <float[1,1,2,3] w = {1,2,3,4,5,6}> { y = Conv(x, w) }",
        IMAGE,
        sizes=(2, 3, 5),
    ),
    "a state of zeros that has both sizes of the image": Case(
        "(float[1,1,2,3] x) => (float[1,3,2,3] y) <float[1,2,2,3] z = {0,0,0,0,0,0,0,0,0,0,0,0}> "
        "{ y = Concat<axis=1>(x, z) }",
        "(float[1,1,height,width] x) => (float[1,3,height,width] y) { z = Sub(x, x) y = Concat<axis=1>(x, z, z) }",
        IMAGE,
    ),
    "tokens of an image that is 1 high behind a stride": Case(
        "(float[1,1,2,6] x) => (float[1,2,1,3] y) <float[2,1,2,2] w = {1,2,3,4,4,3,2,1}, int64[3] s = {1,2,-1}, "
        "float[2,2] m = {1,2,3,4}, int64[4] u = {1,2,1,3}> "
        "{ c = Conv<strides=[2,2]>(x, w) t = Reshape(c, s) p = Transpose<perm=[0,2,1]>(t) n = MatMul(p, m) "
        "q = Transpose<perm=[0,2,1]>(n) y = Reshape(q, u) }",
        "(float[1,1,height,width] x) => (float[1,2,a,b] y) <float[2,1,2,2] w = {1,2,3,4,4,3,2,1}, "
        "float[2,2] m = {1,2,3,4}> "
        "{ c = Conv<strides=[2,2]>(x, w) p = Transpose<perm=[0,2,3,1]>(c) n = MatMul(p, m) "
        "y = Transpose<perm=[0,3,1,2]>(n) }",
        IMAGE,
        sizes=(2, 3, 4, 7),
    ),
    "a padding at the end after which the size is odd": Case(
        "(float[1,1,4,4] x) => (float[1,1,5,4] y) <int64[8] p = {0,0,0,0,0,0,1,0}> { y = Pad(x, p) }",
        "(float[1,1,height,width] x) => (float[1,1,a,width] y) <int64[8] p = {0,0,0,0,0,0,1,0}> { y = Pad(x, p) }",
        IMAGE,
    ),
    "a mask resized to the features that it meets later, as tokens": Case(
        "(float[1,1,4,6] x, float[1,1,4,6] k) => (float[1,6] y) <int64[4] s = {1,1,2,3}, int64[2] u = {1,-1}> "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) r = Resize<mode=\"nearest\">(k, , , s) n = Neg(r) "
        "t = Reshape(n, u) v = Reshape(c, u) y = Add(t, v) }",
        "(float[1,1,height,width] x, float[1,1,height,width] k) => (float[1,n] y) <int64[2] u = {1,-1}> "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) s = Shape(c) r = Resize<mode=\"nearest\">(k, , , s) "
        "n = Neg(r) t = Reshape(n, u) v = Reshape(c, u) y = Add(t, v) }",
        ("*.2=height", "*.3=width"),
        sizes=(2, 3, 4, 7),
    ),
    "zeros for each position of an image": Case(
        "(float[1,1,2,3] x) => (float[1,6] y) <int64[2] s = {1,6}, float[1,6] z = {0,0,0,0,0,0}, float c = {1}> "
        "{ t = Reshape(x, s) b = Less(t, c) y = Where(b, z, t) }",
        "(float[1,1,height,width] x) => (float[1,n] y) <int64[2] s = {1,-1}, float z = {0}, float c = {1}> "
        "{ t = Reshape(x, s) b = Less(t, c) y = Where(b, z, t) }",
        IMAGE,
        sizes=(1, 2, 3, 7),
    ),
    "strides that leave one position": Case(
        "(float[1,1,4,8] x) => (float[1,1,1,1] y) "
        "{ m = MaxPool<kernel_shape=[2,2], strides=[4,4]>(x) y = GlobalAveragePool(m) }",
        "(float[1,1,height,width] x) => (float[1,1,1,1] y) "
        "{ m = MaxPool<kernel_shape=[2,2], strides=[4,4]>(x) y = GlobalAveragePool(m) }",
        IMAGE,
        sizes=(2, 3, 5, 7),
    ),
}  # fmt: skip
TOKENS = (
    "<float[2,1,2,2] w = {1,2,3,4,4,3,2,1}, int64[3] s = {1,2,-1}, float[2,2] m = {1,2,3,4}, int64[4] u = {1,2,3,1}, "
    "int64[1] a = {2}, int64[1] b = {1}, int64[1] e = {-1}> "
    "{ c = Conv<strides=[2,2]>(x, w) t = Reshape(c, s) p = Transpose<perm=[0,2,1]>(t) n = MatMul(p, m) "
    "q = Transpose<perm=[0,2,1]>(n) r = Reshape(q, u) "
)
REFUSED = {
    "a table of positions in an image": (
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) <float[1,1,2,2] w = {1,2,3,4}, float[1,1,2,2] p = {1,2,3,9}> "
        "{ c = Conv<strides=[2,2]>(x, w) y = Add(c, p) }",
        ("x.2=height",),
        "node Add#1 (Add): requires",
    ),
    "a table of tokens of an image": (
        "(float[1,1,4,6] x) => (float[1,1,6] y) <float[1,1,2,2] w = {1,2,3,4}, int64[3] s = {1,1,6}, "
        "float[1,1,6] p = {1,2,3,9,5,7}> { c = Conv<strides=[2,2]>(x, w) t = Reshape(c, s) y = Add(t, p) }",
        IMAGE,
        "node Add#2 (Add): requires",
    ),
    "an image enlarged to twice the size of a smaller one": (
        "(float[1,1,8,8] x) => (float[1,1,4,4] y) <int64[4] s = {1,1,4,4}> "
        '{ c = MaxPool<kernel_shape=[4,4], strides=[4,4]>(x) y = Resize<mode="nearest">(c, , , s) }',
        ("x.2=height", "x.3=width"),
        "axis 2 of its sizes is 4",
    ),
    "a kernel as large as the image": (
        "(float[1,1,4,4] x) => (float[1,1,1,1] y) { y = AveragePool<kernel_shape=[4,4]>(x) }",
        ("x.2=height", "x.3=width"),
        "its kernel 4 is the old size of height",
    ),
    "paddings of a stride that may depend on the size": (
        "(float[1,1,5,5] x) => (float[1,1,2,2] y) <float[1,1,3,3] w = {1,1,1,1,1,1,1,1,1}> "
        "{ y = Conv<strides=[2,2], pads=[0,0,1,1]>(x, w) }",
        ("x.2=height", "x.3=width"),
        "pads 0 and 1 before a stride of 2",
    ),
    "a kernel of equal numbers that is as large as the image": (
        "(float[1,1,2,3] x) => (float[1,1,1,1] y) <float[1,1,2,3] w = {1,1,1,1,1,1}> { y = Conv(x, w) }",
        IMAGE,
        "requires 2 <= height",
    ),
    "a table of tokens of an image, behind a stride that is larger than small images": (
        "(float[1,1,8,16] x) => (float[1,1,2] y) <int64[3] s = {1,1,2}, float[1,1,2] p = {1,5}> "
        "{ c = MaxPool<kernel_shape=[2,2], strides=[8,8]>(x) t = Reshape(c, s) y = Add(t, p) }",
        IMAGE,
        "node Add#2 (Add): requires",
    ),
    "paddings of a Conv that may fill the image up to a multiple of 4": (
        "(float[1,1,4,5] x) => (float[1,1,4,8] y) <float[1,1,3,3] w = {1,2,1,1,1,1,1,1,1}> "
        "{ y = Conv<pads=[1,1,1,4]>(x, w) }",
        IMAGE,
        "pads 1 and 4, which may fill width up to a multiple",
    ),
    "a Pad that may fill the image up to a multiple of 4": (
        "(float[1,1,4,5] x) => (float[1,1,4,8] y) <int64[2] p = {0,3}, float z = {0}, int64[1] a = {-1}> "
        "{ y = Pad(x, p, z, a) }",
        IMAGE,
        "pads 0 and 3, which may fill width up to a multiple",
    ),
    "a mask resized to a size that meets another constant": (
        "(float[1,1,4,6] x) => (float[1,1,2,3] y) <int64[4] s = {1,1,2,3}, float[1,1,2,3] p = {1,2,3,4,5,9}> "
        '{ r = Resize<mode="nearest">(x, , , s) n = Neg(r) y = Add(n, p) }',
        IMAGE,
        "node Resize#0 (Resize): axis 2 of its sizes is 2",
    ),
    "a mask resized to a size that meets the rows of another axis": (
        "(float[1,1,4,6] x) => (float[1,1,3,2] y) <int64[4] s = {1,1,2,3}> "
        '{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) r = Resize<mode="nearest">(x, , , s) n = Neg(r) '
        "t = Transpose<perm=[0,1,3,2]>(n) y = Identity(t) }",
        IMAGE,
        "node Resize#1 (Resize): axis 2 of its sizes is 2",
    ),
    "a mask resized to one position, which features of any size broadcast": (
        "(float[1,1,4,6] x) => (float[1,1,2,3] y) <int64[4] s = {1,1,1,3}> "
        '{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) r = Resize<mode="nearest">(x, , , s) n = Neg(r) '
        "y = Add(n, c) }",
        ("x.2=height",),
        "node Resize#1 (Resize): axis 2 of its sizes is 1",
    ),
    "a mask resized to one position beside features of one": (
        "(float[1,1,4,6] x) => (float[1,1,1,3] y) <int64[4] s = {1,1,1,3}> "
        '{ c = MaxPool<kernel_shape=[2,2], strides=[4,2]>(x) r = Resize<mode="nearest">(x, , , s) n = Neg(r) '
        "y = Add(n, c) }",
        IMAGE,
        "node Resize#1 (Resize): axis 2 of its sizes is 1",
    ),
    "a mask resized and joined to features": (
        "(float[1,1,4,6] x) => (float[1,1,4,3] y) <int64[4] s = {1,1,2,3}> "
        '{ c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) r = Resize<mode="nearest">(x, , , s) n = Neg(r) '
        "y = Concat<axis=2>(n, c) }",
        IMAGE,
        "node Resize#1 (Resize): axis 2 of its sizes is 2",
    ),
    "a mask resized to a size that meets one of 1": (
        "(float[1,1,4,6] x) => (float[1,1,2,3] y) <int64[4] s = {1,1,2,3}> "
        '{ c = MaxPool<kernel_shape=[2,2], strides=[4,2]>(x) r = Resize<mode="nearest">(x, , , s) n = Neg(r) '
        "y = Add(n, c) }",
        IMAGE,
        "node Resize#1 (Resize): axis 2 of its sizes is 2",
    ),
    "a Pad before a stride that may depend on the size": (
        "(float[1,1,5,5] x) => (float[1,1,2,2] y) <int64[4] p = {0,0,1,1}, float z = {0}, int64[2] a = {2,3}> "
        "{ q = Pad(x, p, z, a) y = MaxPool<kernel_shape=[3,3], strides=[2,2]>(q) }",
        IMAGE,
        "pads 0 and 1 before a stride, which may depend on height",
    ),
    "tokens as an image that is 1 high, or has all of them in one row": (
        "(float[1,1,2,6] x) => (float[1,2,3,1] y) " + TOKENS + "y = Identity(r) }",
        IMAGE,
        "more than one of its axes can hold a size of 1",
    ),
    "tokens as such an image, and the largest ones": (
        "(float[1,1,2,6] x) => (float[1,1] y) " + TOKENS + "z = ReduceMax<keepdims=0>(r, a) "
        "y = ReduceSum<keepdims=0>(z, b) }",
        IMAGE,
        "more than one of its axes can hold a size of 1",
    ),
    "tokens as such an image, in another order": (
        "(float[1,1,2,6] x) => (float[6] y) " + TOKENS + "z = Transpose<perm=[0,2,1,3]>(r) y = Reshape(z, e) }",
        IMAGE,
        "more than one of its axes can hold a size of 1",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explained_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)
