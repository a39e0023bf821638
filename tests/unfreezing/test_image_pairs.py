"""`unfreeze` of sizes of images with a second export: two files at two sizes, beside the dynamic network.

Each pair is run at several heights and widths: odd, prime, different, and smaller than the old ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from gather_infer import contract_of, diff, unfreeze
from tests.unfreezing.cases import run
from tests.verification.models import model

IMAGE = ("x.2=height", "x.3=width")
SIZES = ((4, 6), (5, 7), (6, 4), (7, 7), (8, 12), (13, 5), (3, 2), (2, 3), (1, 1), (16, 24))


class Pair(NamedTuple):
    """A network as text, with names in braces in place of what two static files have at their sizes.

    dynamic   the dynamic network
    mine, other   the two static ones
    narrow    sizes that the contract of the result excludes
    """

    dynamic: str
    mine: str
    other: str
    narrow: tuple[tuple[int, int], ...] = ()


PAIRS = {
    "the number of positions of an image behind a stride": Pair(
        "(float[1,1,height,width] x) => (float[1] y) <int64[2] f = {1,-1}, int64[1] a = {1}> "
        "{ c = MaxPool<kernel_shape=[1,1], strides=[2,2]>(x) t = Reshape(c, f) n = Size(c) m = Cast<to=1>(n) "
        "s = ReduceSum<keepdims=0>(t, a) y = Mul(s, m) }",
        "(float[1,1,4,6] x) => (float[1] y) <int64[2] f = {1,6}, int64[1] a = {1}, float m = {6}> "
        "{ c = MaxPool<kernel_shape=[1,1], strides=[2,2]>(x) t = Reshape(c, f) s = ReduceSum<keepdims=0>(t, a) "
        "y = Mul(s, m) }",
        "(float[1,1,9,8] x) => (float[1] y) <int64[2] f = {1,20}, int64[1] a = {1}, float m = {20}> "
        "{ c = MaxPool<kernel_shape=[1,1], strides=[2,2]>(x) t = Reshape(c, f) s = ReduceSum<keepdims=0>(t, a) "
        "y = Mul(s, m) }",
    ),
}  # fmt: skip
REFUSED = {
    "a number that is that of the positions or twice that of the rows": (
        "(float[1,1,{h},{w}] x) => (float[1,1,{h},{w}] y) <float m = {m}> "
        "{ c = MaxPool<kernel_shape=[1,1], strides=[2,2]>(x) n = Neg(x) y = Mul(n, m) }",
        {"h": "4", "w": "4", "m": "{4}"},
        {"h": "5", "w": "3", "m": "{6}"},
        "its constant m is [] [4.0], and [] [6.0] in",
    ),
    "a number that is the width without 2, and no size of the network": (
        "(float[1,1,{h},{w}] x) => (float[1,1,{h},{w}] y) <float m = {m}> "
        "{ c = MaxPool<kernel_shape=[1,1]>(x) y = Mul(c, m) }",
        {"h": "4", "w": "5", "m": "{3}"},
        {"h": "8", "w": "7", "m": "{5}"},
        "its constant m is [] [3.0], and [] [5.0] in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_two_sizes_tell_the_others(name: str, swapped: bool) -> None:
    pair = PAIRS[name]
    texts = (pair.other, pair.mine) if swapped else (pair.mine, pair.other)
    first, second = map(model, texts)
    result = unfreeze(first, IMAGE, like=second)
    assert not result.refused, result.why_refused
    dynamic = model(pair.dynamic)
    contract = contract_of(result.proto).contract
    for size in SIZES:
        feeds = {"x": np.random.default_rng(size).standard_normal((1, 1, *size)).astype(np.float32)}
        assert bool(contract.check(feeds)) == (size in pair.narrow), size
        if size in pair.narrow:
            with pytest.raises(Exception, match="node"):  # each runtime has its own exceptions
                run(result.proto, feeds)
            continue
        for wanted, found in zip(run(dynamic, feeds), run(result.proto, feeds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    for given, sizes in ((first, result.freed), (second, result.like_sizes)):
        assert str(diff(given, result.proto, dims=sizes, details=False).verdict) in ("proved", "runs")


@pytest.mark.parametrize("name", REFUSED)
def test_what_two_explanations_fit_is_refused(name: str) -> None:
    text, mine, other, reason = REFUSED[name]
    first, second = (model(_filled(text, values)) for values in (mine, other))
    result = unfreeze(first, IMAGE, like=second)
    assert result.refused and reason in result.why_refused


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
