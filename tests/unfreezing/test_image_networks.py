"""`unfreeze` of networks over images: each is built at any size, and the result is run beside the network of that size.

One file at one size, and two files at two: windows, shifted and with masks, paddings, coordinates. Sizes are odd,
prime, different, and smaller than the old ones. What the files do not tell is excluded by the contract, and a run fails
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto

from gather_infer import UsageError, contract_of, diff, unfreeze
from tests.unfreezing.cases import run
from tests.unfreezing.networks import IMAGE, Network, Size, ints

WEIGHT = np.arange(1, 2 * 2 * 3 * 3 + 1, dtype=np.float32).reshape(2, 2, 3, 3) / 16
SMALL = np.arange(1, 2 * 2 * 2 * 2 + 1, dtype=np.float32).reshape(2, 2, 2, 2) / 16


def windows(
    height: int,
    width: int,
    *,
    window: int = 2,
    shift: int = 0,
    table: bool = True,
    patch: int = 2,
    pads: bool = True,
    masks: bool = True,
    more: int = 0,
    also: bool = False,
    skip: int = 0,
    less: int = 0,
    hides_end: bool = False,
) -> ModelProto:
    """Attention in windows of an image of patches, shifted with masks, as Swin has it, with learned numbers per pair.

    The image is filled up to patches and windows, as far as `pads`; by `more` than that. `also` pools it behind, and
    its first `skip` rows are left out, and the last `less` rows and columns of the result. If `hides_end`, no position
    attends to the end of the image.
    """
    net = Network(height, width)
    value = "x"
    fill = [-height % patch, -width % patch]
    if any(fill) and pads:
        value = net("Pad", value, ints(0, 0, 0, 0, 0, 0, *fill))
    value = net("Conv", value, SMALL[:, :, :patch, :patch], strides=[patch] * 2)
    rows, columns = (((size + patch - 1) if pads else size) // patch for size in (height, width))
    whole = [rows, columns]
    if pads and (rows % window or columns % window):
        whole = [rows + -rows % window + more, columns + -columns % window + more]
        value = net("Pad", value, ints(0, 0, 0, 0, 0, 0, whole[0] - rows, whole[1] - columns))
    padded = value
    if skip:
        value = net("Slice", value, ints(skip), ints(np.iinfo(np.int64).max), ints(2))
        rows, whole = whole[0] - skip, [whole[0] - skip, whole[1]]
    high, wide = whole[0] // window, whole[1] // window
    shifts = shift if min(whole) > window else 0
    value = net("Transpose", value, perm=[0, 2, 3, 1])
    if shifts:
        value = rolled(net, value, shifts)
    cut = net("Reshape", value, ints(1, high, window, wide, window, 2))
    tokens = net("Reshape", net("Transpose", cut, perm=[0, 1, 3, 2, 4, 5]), ints(-1, window * window, 2))
    scores = net("MatMul", tokens, net("Transpose", tokens, perm=[0, 2, 1]))
    added = np.arange(window**4, dtype=np.float32).reshape(1, window**2, window**2) / 8 if table else None
    if shifts and masks:
        of_regions = mask(whole, window, shifts)
        added = of_regions if added is None else added + of_regions
    if hides_end:
        added = end_mask(whole, window) if added is None else added + end_mask(whole, window)
    if added is not None:
        scores = net("Add", scores, added.astype(np.float32))
    value = net("MatMul", net("Softmax", scores, axis=-1), tokens)
    value = net("Transpose", net("Reshape", value, ints(1, high, wide, window, window, 2)), perm=[0, 1, 3, 2, 4, 5])
    value = net("Reshape", value, ints(1, *whole, 2))
    if shifts:
        value = rolled(net, value, -shifts)
    if whole != [rows, columns]:
        value = net("Slice", value, ints(0, 0), ints(rows - less, columns - less), ints(1, 2))
    net("Add", value, net("ReduceMax", padded, ints(1, 2, 3))) if also else net("Neg", value)
    return net.model()


def rolled(net: Network, value: str, shift: int) -> str:
    for axis in (1, 2):
        end, begin = ints(shift), ints(np.iinfo(np.int64).max)
        parts = [net("Slice", value, end, begin, ints(axis)), net("Slice", value, ints(0), end, ints(axis))]
        value = net("Concat", *parts, axis=axis)
    return value


def mask(whole: Sequence[int], window: int, shift: int) -> Any:
    """The masks of Swin: positions of other regions of the rolled image are masked."""
    numbers = np.zeros(whole)
    for at, rows in enumerate((slice(0, -window), slice(-window, -shift), slice(-shift, None))):
        for also, columns in enumerate((slice(0, -window), slice(-window, -shift), slice(-shift, None))):
            numbers[rows, columns] = 3 * at + also
    high, wide = (size // window for size in whole)
    regions = numbers.reshape(high, window, wide, window).transpose(0, 2, 1, 3).reshape(-1, window * window)
    return np.where(regions[:, None, :] != regions[:, :, None], -100.0, 0.0)


def end_mask(whole: Sequence[int], window: int) -> Any:
    """The last row and column as masked keys, as positions that fill up an image are."""
    is_last = np.zeros(whole, bool)
    is_last[-1], is_last[:, -1] = True, True
    high, wide = (size // window for size in whole)
    keys = is_last.reshape(high, window, wide, window).transpose(0, 2, 1, 3).reshape(-1, 1, window * window)
    return np.where(np.broadcast_to(keys, (high * wide, window**2, window**2)), -100.0, 0.0)


def strided(height: int, width: int, *, pads: str = "SAME_UPPER", separate: bool = False) -> ModelProto:
    """A Conv with a stride of 2: with the padding SAME, or with numbers, also as a Pad before it."""
    net = Network(height, width)
    numbers = [0, 0, 1, 1]
    if pads != "NUMBERS":
        totals = [max((-(-size // 2) - 1) * 2 + 3 - size, 0) for size in (height, width)]
        less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
        numbers = [*less, *more] if pads == "SAME_UPPER" else [*more, *less]
    if separate:
        value = net("Pad", "x", ints(0, 0, *numbers[:2], 0, 0, *numbers[2:]))
        net("Conv", value, WEIGHT, strides=[2, 2])
    else:
        net("Conv", "x", WEIGHT, strides=[2, 2], pads=numbers)
    return net.model()


def filled(height: int, width: int, *, multiple: int = 4, fused: bool = True) -> ModelProto:
    """An image that is filled up to a multiple, halved, doubled, and cut to its size."""
    net = Network(height, width)
    fill = [-height % multiple, -width % multiple]
    if fused:
        value = net("Conv", "x", WEIGHT, pads=[1, 1, 1 + fill[0], 1 + fill[1]])
    else:
        value = net("Conv", net("Pad", "x", ints(0, 0, 0, 0, 0, 0, *fill)), WEIGHT, pads=[1, 1, 1, 1])
    half = net("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
    value = net("Add", value, net("ConvTranspose", half, SMALL, strides=[2, 2]))
    net("Slice", value, ints(0, 0), ints(height, width), ints(2, 3))
    return net.model()


def halved_twice(height: int, width: int) -> ModelProto:
    """An image that is filled up to a multiple of 4, halved twice, and doubled: a file at a multiple has no padding."""
    net = Network(height, width)
    value = net("Pad", "x", ints(0, 0, 0, 0, 0, 0, *fill)) if any(fill := [-height % 4, -width % 4]) else "x"
    half = net("MaxPool", net("Conv", value, WEIGHT, pads=[1] * 4), kernel_shape=[2, 2], strides=[2, 2])
    quarter = net("MaxPool", half, kernel_shape=[2, 2], strides=[2, 2])
    net("GlobalAveragePool", net("Add", half, net("ConvTranspose", quarter, SMALL, strides=[2, 2])))
    return net.model()


def coordinates(height: int, width: int, *, divides: bool = False, stride: int = 4) -> ModelProto:
    """Features with the coordinates of their centres: steps of the stride, or of the size divided by the number."""
    net = Network(height, width)
    value = net("Conv", "x", WEIGHT, strides=[stride] * 2, pads=[1] * 4)
    rows, columns = ((size - 1) // stride + 1 for size in (height, width))
    steps = (height / rows, width / columns) if divides else (stride, stride)
    y, x = np.meshgrid((np.arange(rows) + 0.5) * steps[0], (np.arange(columns) + 0.5) * steps[1], indexing="ij")
    value = net("Transpose", net("Reshape", value, ints(1, 2, rows * columns)), perm=[0, 2, 1])
    net("Add", value, np.stack([x, y], -1).reshape(1, -1, 2).astype(np.float32))
    return net.model()


def grid_attention(height: int, width: int, *, count: int = 2, patch: int = 1) -> ModelProto:
    """Attention between positions of the same place in a number of windows (MaxViT); the image is filled up."""
    net = Network(height, width)
    value = net("Conv", "x", SMALL[:, :, :patch, :patch], strides=[patch] * 2)
    value, height, width = net("Transpose", value, perm=[0, 2, 3, 1]), height // patch, width // patch
    image, fill = (height, width), (-height % count, -width % count)
    if any(fill):
        value = net("Pad", value, ints(0, 0, 0, 0, 0, *fill, 0))
        height, width = height + fill[0], width + fill[1]
    cut = net("Reshape", value, ints(1, count, height // count, count, width // count, 2))
    tokens = net("Reshape", net("Transpose", cut, perm=[0, 2, 4, 1, 3, 5]), ints(-1, count * count, 2))
    scores = net("MatMul", tokens, net("Transpose", tokens, perm=[0, 2, 1]))
    scores = net("Add", scores, np.arange(count**4, dtype=np.float32).reshape(1, count**2, count**2) / 8)
    value = net("MatMul", net("Softmax", scores, axis=-1), tokens)
    value = net("Reshape", value, ints(1, height // count, width // count, count, count, 2))
    value = net("Reshape", net("Transpose", value, perm=[0, 3, 1, 4, 2, 5]), ints(1, height, width, 2))
    net("Slice", value, ints(0, 0), ints(*image), ints(1, 2))
    return net.model()


def half_rolled(height: int, width: int) -> ModelProto:
    """An image rolled by half of its height, as the centre of a Fourier transform is."""
    net = Network(height, width)
    value, half, end = net("Conv", "x", WEIGHT, pads=[1] * 4), ints(height // 2), ints(np.iinfo(np.int64).max)
    parts = [net("Slice", value, half, end, ints(2)), net("Slice", value, ints(0), half, ints(2))]
    net("Concat", *parts, axis=2)
    return net.model()


def two_stages(height: int, width: int) -> ModelProto:
    """Windows of 2 with learned numbers, and behind a stride of 4 windows of 2 without any."""
    net = Network(height, width)
    value = net("Conv", "x", WEIGHT, pads=[1] * 4)
    for stage, (rows, columns) in enumerate(((height, width), (height // 4, width // 4))):
        cut = net("Reshape", value, ints(1, 2, rows // 2, 2, columns // 2, 2))
        tokens = net("Reshape", net("Transpose", cut, perm=[0, 2, 4, 3, 5, 1]), ints(-1, 4, 2))
        if rows // 2 == 1:
            tokens = net("Reshape", net("Transpose", value, perm=[0, 2, 3, 1]), ints(1, rows * columns, 2))
        scores = net("MatMul", tokens, net("Transpose", tokens, perm=[0, 2, 1]))
        if not stage:
            scores = net("Add", scores, np.arange(16, dtype=np.float32).reshape(1, 4, 4) / 10)
        value = net("MatMul", net("Softmax", scores, axis=-1), tokens)
        value = net("Reshape", value, ints(1, rows // 2, columns // 2, 2, 2, 2))
        value = net("Reshape", net("Transpose", value, perm=[0, 5, 1, 3, 2, 4]), ints(1, 2, rows, columns))
        if not stage:
            value = net("Conv", value, SMALL, strides=[4, 4])
    net("Neg", value)
    return net.model()


def squeezed(height: int, width: int, *, mixes: bool = True, channels: int = 2) -> ModelProto:
    """An image whose squares of 2 by 2 become channels before anything else; if `mixes`, a Conv mixes these."""
    net, mixed = Network(height, width, channels), 4 * channels
    value = net("Reshape", "x", ints(1, channels, height // 2, 2, width // 2, 2))
    value = net("Reshape", net("Transpose", value, perm=[0, 1, 3, 5, 2, 4]), ints(1, mixed, height // 2, width // 2))
    if mixes:
        net("Conv", value, np.arange(mixed**2, dtype=np.float32).reshape(mixed, mixed, 1, 1) / 10)
    else:
        net("ReduceMean", value, ints(1))
    return net.model()


class Case(NamedTuple):
    """A network, the sizes of its files, and those at which it is run.

    equal   sizes at which the result is right        narrow   those that its contract excludes
    """

    build: Callable[..., ModelProto]
    options: dict[str, Any]
    sizes: tuple[Size, ...]
    equal: tuple[Size, ...]
    narrow: tuple[Size, ...] = ()


ODD = ((5, 7), (7, 5), (13, 11), (3, 4), (2, 3), (1, 1))
CASES = {
    "windows": Case(windows, {}, ((12, 20),), ((12, 20), (20, 12), (8, 8), (4, 16), (28, 44)), ((13, 20), (12, 22))),
    "windows of 3": Case(windows, {"window": 3}, ((18, 24),), ((18, 24), (12, 12), (6, 30)), ((17, 24), (16, 24))),
    "windows filled up": Case(
        windows, {"window": 4, "patch": 1}, ((9, 14),),
        ((9, 14), (10, 15), (7, 5), (13, 11), (8, 8), (12, 16), (23, 30), (3, 2), (1, 1), (4, 4)),
    ),
    "windows filled up along one axis": Case(
        windows, {"window": 4, "patch": 1}, ((9, 16),),
        ((9, 16), (10, 8), (7, 4), (13, 20), (1, 12)), ((9, 14), (8, 5)),
    ),
    "windows of patches filled up": Case(
        windows, {"window": 4}, ((12, 20),),
        ((12, 20), (20, 12), (8, 8), (2, 4), (28, 46)), ((13, 20), (12, 11), (1, 1)),
    ),
    "rolled windows filled up": Case(
        windows, {"window": 5, "patch": 1, "shift": 2, "masks": False}, ((18, 7),),
        ((18, 7), (10, 10), (11, 13), (20, 25), (7, 29)),
    ),
    "shifted windows filled up": Case(
        windows, {"window": 4, "patch": 1, "shift": 2}, ((18, 27),),
        ((18, 27), (10, 9), (11, 13), (20, 25), (16, 29)), ((3, 12), (12, 4)),
    ),
    "shifted windows": Case(
        windows, {"shift": 1}, ((12, 20),), ((12, 20), (20, 12), (8, 8), (28, 44), (8, 16)),
        ((13, 20), (12, 22), (4, 8), (8, 4), (4, 4)),
    ),
    "shifted windows of 4": Case(
        windows, {"shift": 2, "window": 4}, ((24, 32),), ((24, 32), (16, 16), (32, 24), (40, 16)), ((8, 16), (24, 28))
    ),
    "squares that become channels": Case(
        squeezed, {}, ((12, 20),), ((12, 20), (20, 12), (8, 8), (2, 4), (26, 22)), ((13, 20), (12, 7))
    ),
    "a number of windows": Case(grid_attention, {}, ((12, 20),), ((12, 20), (8, 6), (2, 4), (26, 22)), ((13, 20),)),
    "a stride with the padding SAME": Case(
        strided, {}, ((8, 12),), ((8, 12), (12, 8), (2, 4), (26, 22), (10, 14)), ((7, 12), (8, 13), (1, 1))
    ),
    "a stride with the padding SAME_LOWER": Case(
        strided, {"pads": "SAME_LOWER"}, ((8, 12),), ((8, 12), (2, 4), (26, 22)), ((7, 12), (8, 13))
    ),
    "a stride with paddings of numbers": Case(
        strided, {"pads": "NUMBERS"}, ((8, 12),), ((8, 12), (12, 8), (2, 4), (26, 22)), ((7, 12), (8, 13))
    ),
    "a Pad before a stride": Case(
        strided, {"separate": True}, ((8, 12),), ((8, 12), (12, 8), (2, 4), (26, 22)), ((7, 12), (8, 13))
    ),
    "coordinates in steps of a stride": Case(
        coordinates, {}, ((12, 20),), ((12, 20), (20, 12), (4, 8), (28, 44)), ((13, 20), (11, 7))
    ),
    "coordinates in steps of the size": Case(
        coordinates, {"divides": True}, ((12, 20),), ((12, 20), (20, 12), (4, 8), (28, 44)), ((13, 20), (11, 7))
    ),
    "strides before an image is added to a smaller one": Case(
        halved_twice, {}, ((12, 8),), ((12, 8), (8, 8), (4, 16), (28, 20)), ((13, 8), (12, 9), (10, 8))
    ),
    "SAME, and a second size": Case(strided, {}, ((8, 12), (7, 9)), ((8, 12), (7, 9), *ODD, (26, 23))),
    "SAME_LOWER, and a second size": Case(
        strided, {"pads": "SAME_LOWER"}, ((7, 9), (8, 12)), ((8, 12), (7, 9), *ODD, (26, 23))
    ),
    "paddings of numbers, and an odd size": Case(
        strided, {"pads": "NUMBERS"}, ((8, 12), (7, 9)), ((8, 12), (7, 9), *ODD[:-1], (26, 23))
    ),
    "SAME or numbers, at two even sizes": Case(
        strided, {}, ((8, 12), (6, 10)), ((8, 12), (6, 10), (2, 4), (26, 22)), ((7, 12), (8, 13))
    ),
    "filled up to a multiple of 4, as paddings of a Conv": Case(
        filled, {}, ((9, 14), (7, 5)), ((9, 14), (7, 5), *ODD, (8, 8), (16, 10), (23, 30))
    ),
    "filled up to a multiple of 4, by a Pad": Case(
        filled, {"fused": False}, ((9, 14), (7, 5)), ((9, 14), (7, 5), *ODD, (8, 8), (16, 10), (23, 30))
    ),
    "windows filled up, and a second size": Case(
        windows, {"patch": 1, "window": 4}, ((9, 14), (7, 5)), ((9, 14), (7, 5), (13, 11), (8, 8), (23, 30), (3, 2)),
    ),
    "shifted windows, and a second size": Case(
        windows, {"shift": 1}, ((16, 12), (20, 32)), ((16, 12), (20, 32), (8, 8), (28, 44)), ((13, 20), (4, 8), (4, 4)),
    ),
    "coordinates in steps of a stride, and an odd size": Case(
        coordinates, {}, ((12, 20), (13, 22)), ((12, 20), (13, 22), (5, 7), (4, 8), (11, 7), (28, 44))
    ),
    "coordinates in steps, at two sizes that the stride divides": Case(
        coordinates, {"divides": True}, ((12, 20), (16, 8)), ((12, 20), (16, 8), (4, 8), (28, 44)), ((13, 20), (11, 7))
    ),
}  # fmt: skip
REFUSED: dict[str, tuple[Callable[..., ModelProto], dict[str, Any], tuple[Size, ...], str]] = {
    "half of an image rolled": (half_rolled, {}, ((12, 20),), "cuts [6:"),
    "a later stage of one window": (two_stages, {}, ((8, 8),), "may be one window"),
    "windows that may be a number of windows": (windows, {"table": False}, ((12, 20),), "can hold a size of 1"),
    "a mask of two rows of windows": (windows, {"shift": 1}, ((8, 20),), "node v13 (Add): requires"),
    "a Pad up to windows or to a number of windows": (
        windows, {"window": 4, "patch": 1, "table": False}, ((18, 27),), "can hold a size of 1"
    ),
    "such a Pad, where one axis tells": (
        windows, {"window": 4, "patch": 1, "table": False}, ((10, 15),), "can hold a size of 1"
    ),
    "an image that is filled up, and cut to less": (
        windows, {"window": 4, "patch": 1, "less": 1}, ((9, 14),), "cuts [0:"
    ),
    "a Pad up to a number of windows": (grid_attention, {"count": 4}, ((14, 15),), "a number of windows"),
    "a Pad of patches up to a number of windows": (
        grid_attention, {"count": 4, "patch": 2}, ((28, 30),), "a number of windows"
    ),
    "a Pad by more than windows lack": (windows, {"window": 2, "patch": 1, "more": 2}, ((11, 14),), "may fill"),
    "a Pad before rows are left out": (windows, {"window": 3, "patch": 1, "skip": 3}, ((10, 9),), "may fill"),
    "a Pad up to windows, and another reader": (
        windows, {"window": 4, "patch": 1, "also": True}, ((9, 14),), "may fill"
    ),
    "a mask of last windows without a shift": (windows, {"hides_end": True}, ((12, 20),), "node v7 (Add): requires"),
    "such a mask at two sizes": (windows, {"hides_end": True}, ((12, 20), (16, 32)), "which no rule explains"),
    "squares of two lengths without channels": (squeezed, {"channels": 1}, ((12, 20),), "requires height*width == 240"),
    "squares that nothing counts": (squeezed, {"mixes": False}, ((12, 20),), "can hold a size of 1"),
    "a Conv that fills": (filled, {}, ((9, 14),), "may fill"),
    "fills up to 4 or to 8": (filled, {"multiple": 4}, ((13, 14), (15, 16)), "multiples of 4 and"),
    "coordinates in steps of the size at odd sizes": (coordinates, {"divides": True}, ((13, 22),), "requires"),
    "such coordinates at two sizes": (coordinates, {"divides": True}, ((13, 22), (14, 19)), "which no rule explains"),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_the_result_is_the_network_of_each_size(name: str) -> None:
    case = CASES[name]
    files = [case.build(*size, **case.options) for size in case.sizes]
    result = unfreeze(files[0], IMAGE, like=files[1] if len(files) > 1 else None)
    assert not result.refused, result.why_refused
    contract = contract_of(result.proto).contract
    for size in (*case.equal, *case.narrow):
        feeds = {"x": np.random.default_rng(size).standard_normal((1, 2, *size)).astype(np.float32)}
        assert bool(contract.check(feeds)) == (size in case.narrow), size
        if size in case.narrow:
            with pytest.raises(Exception, match="node"):  # each error of onnxruntime has a class of its own
                run(result.proto, feeds)
            continue
        (wanted,), (found,) = run(case.build(*size, **case.options), feeds), run(result.proto, feeds)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    given = (result.freed, result.like_sizes)
    for file, sizes in zip(files, given, strict=False):
        assert str(diff(file, result.proto, dims=sizes, details=False).verdict) in ("proved", "runs")


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_files_do_not_tell_is_refused(name: str) -> None:
    build, options, sizes, reason = REFUSED[name]
    files = [build(*size, **options) for size in sizes]
    result = unfreeze(files[0], IMAGE, like=files[1] if len(files) > 1 else None)
    assert result.refused and reason in result.why_refused, result.why_refused


def test_one_length_makes_no_image() -> None:
    """It may be one of positions, which no file cuts into squares."""
    assert "requires height == 12" in unfreeze(squeezed(12, 20), IMAGE[:1]).why_refused


def test_a_padding_in_one_of_two_files() -> None:
    """A simplifier removes a Pad of 0."""
    with pytest.raises(UsageError, match="is not the same graph at another size"):
        unfreeze(filled(9, 14, fused=False), IMAGE, like=filled(12, 8, fused=False).__class__.FromString(_no_pad()))


def _no_pad() -> bytes:
    net = Network(12, 8)
    value = net("Conv", "x", WEIGHT, pads=[1, 1, 1, 1])
    half = net("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
    value = net("Add", value, net("ConvTranspose", half, SMALL, strides=[2, 2]))
    net("Slice", value, ints(0, 0), ints(12, 8), ints(2, 3))
    return bytes(net.model().SerializeToString())
