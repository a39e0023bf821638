"""`unfreeze`: constant indices of windows that slide over an axis by a stride."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gather_infer import unfreeze
from tests.unfreezing.cases import check_refused, run
from tests.verification.models import model

SEQ = ("x.1=seq",)
WINDOWS = {
    # id: (stride, samples more than stride * frames, positions of the first window)
    "windows that overlap": (4, 2, (0, 1, 2, 3, 4, 5)),
    "windows that overlap by most of them": (2, 7, (0, 1, 2, 3, 4, 5, 6, 7)),
    "windows that end before the last sample": (3, 2, (0, 1, 2, 3)),
    "windows side by side": (4, 1, (0, 1, 2, 3)),
    "windows with samples between them": (4, 1, (0, 1)),
    "one sample for each frame": (2, -1, (0,)),
    "windows of every second sample": (2, 3, (0, 2, 4)),
    "windows by one sample": (1, 3, (0, 1, 2, 3)),
}


def table_of(frames: int, stride: int, first: Sequence[int]) -> np.ndarray:
    return np.array(first) + stride * np.arange(frames)[:, None]


def text_of(
    frames: int, stride: int, more: int, table: np.ndarray, size: str = "", axis: int = 1, dtype: str = "int64"
) -> str:
    """Frames of `stride` samples each, with more samples at the begin or less, of which each frame gets a window."""
    count, numbers = size or frames, ", ".join(map(str, table.ravel().tolist()))
    shape = ",".join(map(str, table.shape))
    return (
        f"(float[1,{count},{stride}] x) => (y) <int64[2] f = {{1, {frames * stride}}}, int64[4] p = {{0,{more},0,0}}, "
        f"{dtype}[{shape}] i = {{{numbers}}}, int64[1] a = {{{1 + axis}}}, int64[1] b = {{2}}> "
        "{ r = Reshape(x, f) q = Pad(r, p) w = Gather<axis=1>(q, i) s = ReduceSum<keepdims=0>(w, a) "
        "t = ReduceMax<keepdims=0>(x, b) y = Add(s, t) }"
    )


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("layout", ["rows", "columns", "int32"])
def test_windows_follow_the_frames(name: str, layout: str) -> None:
    stride, more, first = WINDOWS[name]

    def text(frames: int) -> str:
        table = table_of(frames, stride, first)
        if layout == "columns":
            return text_of(frames, stride, more, table.T, axis=0)
        return text_of(frames, stride, more, table, dtype="int32" if layout == "int32" else "int64")

    result = unfreeze(model(text(11)), SEQ)
    assert not result.refused, result.why_refused
    assert not result.most
    for frames in (1, 2, 3, 7, 11, 13):
        x = np.random.default_rng(frames).standard_normal((1, frames, stride)).astype(np.float32)
        wanted, found = (run(each, {"x": x})[0] for each in (model(text(frames)), result.proto))
        np.testing.assert_array_equal(wanted, found)


def test_no_frames_have_no_windows() -> None:
    result = unfreeze(model(text_of(5, 4, 2, table_of(5, 4, range(6)))), SEQ)
    assert run(result.proto, {"x": np.zeros((1, 0, 4), np.float32)})[0].shape == (1, 0)


@pytest.mark.parametrize("place", [(0, 0), (0, 5), (1, 2), (2, 0), (4, 3), (4, 5)])
@pytest.mark.parametrize("by", [-1, 1])
def test_a_table_with_another_position_is_refused(place: tuple[int, int], by: int, tmp_path: Path) -> None:
    table = table_of(5, 4, range(6))
    table[place] += by
    check_refused(text_of(5, 4, 3, table), SEQ, "in an axis of 4*seq + 3", tmp_path)


REFUSED = {
    "windows that begin at the second sample": (text_of(5, 4, 3, 1 + table_of(5, 4, range(6))), "4*seq + 3"),
    "room for one more window": (text_of(5, 4, 6, table_of(5, 4, range(6))), "4*seq + 6"),
    "a smaller stride than that of the frames": (text_of(5, 4, 2, table_of(5, 3, range(6))), "4*seq + 2"),
    "windows that go back": (text_of(5, 4, 2, table_of(5, 4, range(6))[::-1]), "4*seq + 2"),
    "samples of a window in another order": (text_of(5, 4, 2, table_of(5, 4, (0, 2, 1, 3, 4, 5))), "4*seq + 2"),
    "windows of the last samples first": (text_of(5, 4, 2, table_of(5, 4, (5, 4, 3, 2, 1, 0))), "4*seq + 2"),
    "two windows, which are some stride apart": (text_of(2, 4, 2, table_of(2, 4, range(6))), "4*seq + 2"),
    "as many windows as positions of each": (text_of(3, 1, 2, table_of(3, 1, range(3))), "seq + 2"),
    "windows that get shorter": (
        text_of(5, 4, 2, table_of(5, 4, range(6)) - np.arange(5)[:, None] * np.array([0, 0, 0, 0, 0, 1])),
        "4*seq + 2",
    ),
    "a window less than there are frames": (
        "(float[1,5,2] x) => (y) <int64[2] f = {1,10}, int64[4] p = {0,1,0,0}, "
        "int64[4,3] i = {0,1,2, 2,3,4, 4,5,6, 6,7,8}> { r = Reshape(x, f) q = Pad(r, p) y = Gather<axis=1>(q, i) }",
        "2*seq + 1",
    ),
    "a number of windows that is no size": (
        "(float[1,9] x) => (y) <int64[4,3] i = {0,1,2, 2,3,4, 4,5,6, 6,7,8}> { y = Gather<axis=1>(x, i) }",
        "seq",
    ),
    "windows of every second sample, and as many of each as another value has positions": (
        "(float[1,5,2] x) => (y, z) <int64[2] f = {1,10}, int64[4] p = {0,5,0,0}, int64[1] a = {1}, int64[1] b = "
        "{9223372036854775807}, int64[5,4] i = {0,2,4,6, 2,4,6,8, 4,6,8,10, 6,8,10,12, 8,10,12,14}> "
        "{ z = Slice(x, a, b, a) r = Reshape(x, f) q = Pad(r, p) y = Gather<axis=1>(q, i) }",
        "2*seq + 5",
    ),
    "strides that are not equal": (
        text_of(5, 4, 2, np.array([*table_of(4, 4, range(6)).tolist(), [15, 16, 17, 18, 19, 20]])),
        "4*seq + 2",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_tables_are_refused(name: str, tmp_path: Path) -> None:
    text, axis = REFUSED[name]
    check_refused(text, SEQ, f"in an axis of {axis}", tmp_path)


def test_windows_over_rows_are_refused(tmp_path: Path) -> None:
    text = (
        "(float[5,2] x) => (y) <int64[1] f = {10}, int64[2] p = {1,0}, int64[5,3] i = {0,1,2, 2,3,4, 4,5,6, 6,7,8, "
        "8,9,10}, int64[1] a = {1}> { r = Reshape(x, f) q = Pad(r, p) w = Gather(q, i) "
        "s = ReduceSum<keepdims=1>(w, a) y = Add(s, x) }"
    )
    check_refused(text, ("x.0=batch",), "in an axis of 2*batch + 1", tmp_path)


@pytest.mark.parametrize("copies", [2, 3])
def test_shifted_copies_are_no_windows(copies: int, tmp_path: Path) -> None:
    """Copies of all but the last positions, as many as results of a Conv: their number stays, their size follows."""
    size = 2 * copies + 1
    table = table_of(copies, 1, range(size - copies + 1))
    kernel = size - copies + 1
    numbers = ", ".join(map(str, table.ravel().tolist()))
    text = (
        f"(float[1,1,{size}] x) => (y) <float[1,1,{kernel}] k = {{{', '.join('1' * kernel)}}}, "
        f"int64[{copies},{kernel}] i = {{{numbers}}}, int64[1] a = {{3}}, int64[1] b = {{2}}> "
        "{ c = Conv(x, k) g = Gather<axis=2>(x, i) m = ReduceMin<keepdims=0>(g, a) s = ReduceSum<keepdims=0>(m, b) "
        "r = ReduceMax<keepdims=0>(c, b) y = Add(s, r) }"
    )
    check_refused(text, ("x.2=seq",), "in an axis of seq", tmp_path)
