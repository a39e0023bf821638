"""`unfreeze`: a length that a Pad fills up to windows, and windows between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gather_infer import unfreeze
from tests.unfreezing.cases import check_refused, run
from tests.verification.models import model

SEQ = ("x.1=seq",)
WINDOW = 4


def text_of(length: int, fill: int | None = None, **changed: str) -> str:
    """A network of two layers of windows of 4 positions, of which the second are shifted by half of one.

    fill     positions that the first Pad adds at the end
    changed  other targets and nodes, by name
    """
    fill = -length % WINDOW if fill is None else fill
    parts = {
        "begin": "0",
        "target": "1, -1, 4, 2",
        "second": "1, 2, -1, 4",
        "more": "0, 2, 0, 0, 2, 0",
        "nodes": "",
        **changed,
    }
    return (
        "(float[1,{length},2] x) => (y) <int64[6] p = {{0, {begin}, 0, 0, {fill}, 0}}, int64[4] t = {{{target}}}, "
        "int64[3] m = {{1, -1, 2}}, int64[6] q = {{{more}}}, int64[4] u = {{{second}}}, int64[3] v = {{1, 2, -1}}, "
        "float[2,2] k = {{1, 2, 3, 5}}, int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, "
        "int64[1] three = {{3}}, int64[1] back = {{-2}}, int64[1] n = {{{length}}}> "
        "{{ f = Pad(x, p) g = MatMul(f, k) a = Reshape(g, t) h = ReduceMax(a, two) b = Add(a, h) c = Reshape(b, m) "
        "d = Add(c, f) e = Pad(d, q) s = Transpose<perm=[0,2,1]>(e) w = Reshape(s, u) i = ReduceMax(w, three) "
        "j = Mul(w, i) l = Reshape(j, v) o = Transpose<perm=[0,2,1]>(l) r = Slice(o, two, back, one) "
        "z = Sub(r, d) {nodes} y = Slice(z, zero, n, one) }}"
    ).format(length=length, fill=fill, **parts)


@pytest.mark.parametrize("old", [5, 6, 7, 9, 14])
def test_a_length_is_filled_up_to_windows_at_each_size(old: int) -> None:
    result = unfreeze(model(text_of(old)), SEQ)
    assert not result.refused, result.why_refused
    assert not result.most
    for length in (1, 2, 3, 4, 5, 7, 8, 11, 12, 13):
        x = np.random.default_rng(length).standard_normal((1, length, 2)).astype(np.float32)
        wanted, found = (run(each, {"x": x})[0] for each in (model(text_of(length)), result.proto))
        np.testing.assert_array_equal(wanted, found)


FILLS = "which may fill seq up to a multiple"
REFUSED = {
    "a number of windows in the first layer": (text_of(7, target="1, 2, 4, 2"), FILLS),
    "windows whose size is inferred": (text_of(7, target="1, 2, -1, 2"), FILLS),
    "a number of windows in the second layer": (text_of(7, second="1, 2, 3, 4"), FILLS),
    "windows of another size in the second layer": (text_of(7, second="1, 2, -1, 3"), FILLS),
    "windows of another size beside the others": (
        text_of(7, nodes="aa = Reshape(g, tt)").replace("int64[3] m", "int64[4] tt = {1, -1, 2, 2}, int64[3] m"),
        FILLS,
    ),
    "more padding than a window lacks": (text_of(5, fill=7), FILLS),
    "a padding before the length": (text_of(7, fill=0, begin="1"), "no axis is known to hold seq"),
    "windows before the length, too": (text_of(7, begin="4"), "no axis is known to hold seq"),
    "windows of another size, of more positions": (
        text_of(7, nodes="aa = Elu(d) bb = Pad(aa, qq) cc = Reshape(bb, tt)").replace(
            "int64[3] m", "int64[4] tt = {1, -1, 2, 2}, int64[6] qq = {0, 1, 0, 0, 1, 0}, int64[3] m"
        ),
        "no axis is known to hold seq",
    ),
    "a number of windows behind another operator": (
        text_of(7, nodes="aa = Elu(d) cc = Reshape(aa, tt)").replace(
            "int64[3] m", "int64[4] tt = {1, 2, 4, 2}, int64[3] m"
        ),
        "requires (seq + 3)//4 == 2",
    ),
    "one layer": (
        "(float[1,7,2] x) => (y) <int64[6] p = {0, 0, 0, 0, 1, 0}, int64[4] t = {1, -1, 4, 2}, "
        "int64[3] m = {1, -1, 2}, int64[1] two = {2}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] n = {7}> "
        "{ f = Pad(x, p) a = Reshape(f, t) h = ReduceMax(a, two) b = Add(a, h) c = Reshape(b, m) "
        "y = Slice(c, zero, n, one) }",
        FILLS,
    ),
    "a cut between both ends, to a size of its own": (
        "(float[1,7] x) => (y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] back = {-2}> "
        "{ y = Slice(x, two, back, one) }",
        "cuts [2:-2] out of an axis of seq",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_not_be_windows_is_refused(name: str, tmp_path: Path) -> None:
    text, reason = REFUSED[name]
    check_refused(text, SEQ, reason, tmp_path)
