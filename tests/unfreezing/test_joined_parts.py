"""`unfreeze` of axes that a Concat joins, and that are cut into their parts again: tokens beside pixels, and levels.

Each network is built at any size, and the result of the file of one size is run beside that of the other sizes. The old
sizes are often equal, so that the shapes do not tell rows from columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, helper

from gather_infer import diff, unfreeze
from tests.unfreezing.cases import run
from tests.unfreezing.networks import IMAGE, Network, Size, ints

WEIGHT = np.arange(1, 2 * 2 * 3 * 3 + 1, dtype=np.float32).reshape(2, 2, 3, 3) / 16
SMALL = np.arange(1, 2 * 2 * 2 * 2 + 1, dtype=np.float32).reshape(2, 2, 2, 2) / 16
END = np.iinfo(np.int32).max
SIZES = ((8, 8), (8, 12), (12, 8), (10, 6), (14, 22), (5, 7), (13, 13), (2, 2), (3, 2), (2, 9))
"""Old ones, prime, equal and odd sizes; the smallest have one position."""


def pixels(net: Network, value: str, rows: int, columns: int) -> str:
    """An image as positions: `[1, rows*columns, 2]`."""
    return net("Transpose", net("Reshape", value, ints(1, 2, rows * columns)), perm=[0, 2, 1])


def image(net: Network, value: str, rows: int, columns: int) -> str:
    return net("Reshape", net("Transpose", value, perm=[0, 2, 1]), ints(1, 2, rows, columns))


def attended(net: Network, value: str) -> str:
    scores = net("MatMul", value, net("Transpose", value, perm=[0, 2, 1]))
    return net("Add", value, net("MatMul", net("Softmax", scores, axis=-1), value))


def learned(count: int) -> Any:
    return np.arange(count * 2, dtype=np.float32).reshape(1, count, 2) / 4


def parted(net: Network, value: str, sizes: list[int]) -> list[str]:
    """A Split along axis 1."""
    names = [f"{value}_{at}" for at in range(len(sizes))]
    net.nodes.append(helper.make_node("Split", [value, net.constant(ints(*sizes))], names, f"{value}_split", axis=1))
    return names


def cut(net: Network, value: str, start: int, end: int, small: bool) -> str:
    """A Slice along axis 1."""
    return net("Slice", value, *(np.array([each], np.int32 if small else np.int64) for each in (start, end, 1)))


def tokens(
    height: int,
    width: int,
    *,
    before: int = 1,
    behind: int = 0,
    swaps: bool = False,
    swaps_back: bool | None = None,
    merges: bool = True,
    attends: bool = True,
    splits: bool = False,
    from_end: bool = False,
    skip: int = 0,
    order: str = "",
    adds: str = "",
    small: bool = False,
) -> ModelProto:
    """Learned tokens beside the pixels of an image, which are an image again behind attention.

    before, behind   the number of tokens
    swaps, swaps_back   the positions are in the order of columns, and are made an image so
    merges    the positions are merged with the batch for a product
    from_end  positions are counted from the end where they can be
    skip      the cut begins this number of positions behind the tokens
    order     the positions are sorted, reversed, or reversed as a sequence
    adds      the positions are added to others, of the same pixels in the order of columns, or to learned ones
    small     the positions of a cut are integers of 32 bits
    """
    net = Network(height, width)
    features = net("Conv", "x", SMALL, strides=[2, 2])
    rows, columns = height // 2, width // 2
    count = rows * columns
    turned = net("Transpose", features, perm=[0, 1, 3, 2])
    value = pixels(net, turned, columns, rows) if swaps else pixels(net, features, rows, columns)
    whole = count + before + behind

    def joined(given: str) -> str:
        return net(
            "Concat", *([learned(before)] if before else []), given, *([learned(behind)] if behind else []), axis=1
        )

    value = joined(value)
    if adds == "columns":
        value = net("Add", value, joined(pixels(net, turned, columns, rows)))
    if adds == "learned":
        value = net("Add", net("Unsqueeze", learned(whole)[0], ints(0)), value)
    if attends:
        value = attended(net, value)
    if merges:
        value = net("MatMul", net("Reshape", value, ints(whole, 2)), SMALL[0, 0])
        value = net("Reshape", value, ints(1, whole, 2))
    if order == "sorted":
        best = f"{value}_best"
        key = net("ReduceMax", value, ints(2), keepdims=0)
        net.nodes.append(helper.make_node("TopK", [key, net.constant(ints(whole))], [f"{best}_values", best], best))
        value = net("Gather", net("Squeeze", value, ints(0)), net("Squeeze", best, ints(0)), axis=0)
        value = net("Unsqueeze", value, ints(0))
    if order == "reversed":
        value = net("Slice", value, ints(-1), ints(-END), ints(1), ints(-1))
    if order == "sequence":
        value = net("ReverseSequence", value, net("Shape", value, start=1, end=2), batch_axis=0, time_axis=1)
    if splits:
        value = parted(net, value, [size for size in (before, count, behind) if size])[1 if before else 0]
    else:
        start, end = before + skip, before + count
        if from_end:
            start, end = start - whole, -behind if behind else END
        value = cut(net, value, start, end, small)
    turns = swaps if swaps_back is None else swaps_back
    value = image(net, value, *((columns, rows - skip) if turns else (rows - skip, columns)))
    net("Conv", value, WEIGHT, pads=[1] * 4)
    return net.model()


def levels(
    height: int, width: int, *, splits: bool = True, joins: bool = False, nests: bool = False, small: bool = False
) -> ModelProto:
    """Three images, each half the size of the one before, as positions of one axis, which is cut into them again.

    nests   two of them are joined, and then the third
    joins   all but the last level are cut off as one, and then each
    small   the positions of a cut are integers of 32 bits
    """
    net = Network(height, width)
    images = [net("Conv", "x", SMALL, strides=[1, 1], pads=[0, 0, 1, 1])]
    sizes = [(height, width)]
    for _ in range(2):
        images.append(net("Conv", images[-1], SMALL[:, :, :1, :1], strides=[2, 2]))
        sizes.append((-(-sizes[-1][0] // 2), -(-sizes[-1][1] // 2)))
    counts = [rows * columns for rows, columns in sizes]
    all_pixels = [pixels(net, each, *size) for each, size in zip(images, sizes, strict=True)]
    if nests:
        all_pixels = [net("Concat", *all_pixels[:2], axis=1), all_pixels[2]]
    value = net("Concat", *all_pixels, axis=1)
    value = attended(net, value)
    if splits:
        parts = parted(net, value, counts)
    else:
        first = cut(net, value, 0, sum(counts[:2]), small) if joins else value
        parts = [
            cut(net, first, 0, counts[0], small),
            cut(net, first, counts[0], counts[0] + counts[1], small),
            cut(net, value, -counts[2], END, small),
        ]
    images = [net("Conv", image(net, part, *size), WEIGHT, pads=[1] * 4)
              for part, size in zip(parts, sizes, strict=True)]  # fmt: skip
    best = [net("ReduceMax", each, ints(2, 3)) for each in images[1:]]
    net("Sum", images[0], *best)
    return net.model()


def pairs(height: int, width: int) -> ModelProto:
    """Scores of all pairs of positions, in the order of rows along one axis, and of columns along the other one."""
    net = Network(height, width)
    start = net("Conv", "x", SMALL, strides=[2, 2])
    rows, columns = height // 2, width // 2
    one = net("Concat", learned(1), pixels(net, start, rows, columns), axis=1)
    other = pixels(net, net("Transpose", start, perm=[0, 1, 3, 2]), columns, rows)
    other = net("Transpose", net("Concat", learned(1), other, axis=1), perm=[0, 2, 1])
    scores = net("Slice", net("MatMul", one, other), ints(1, 1), ints(END, END), ints(1, 2))
    net("Transpose", net("Reshape", scores, ints(1, rows, columns, columns, rows)), perm=[0, 1, 4, 2, 3])
    return net.model()


class Case(NamedTuple):
    """A network, and the size of the file."""

    build: Callable[..., ModelProto]
    options: dict[str, Any]
    size: Size = (8, 8)


CASES = {
    "a token before the pixels": Case(tokens, {}),
    "a token behind them": Case(tokens, {"before": 0, "behind": 1}),
    "tokens on both sides": Case(tokens, {"before": 2, "behind": 1}, (8, 12)),
    "tokens on both sides, from the end": Case(tokens, {"before": 2, "behind": 1, "from_end": True}),
    "a cut from the end": Case(tokens, {"from_end": True}),
    "a product of its own": Case(tokens, {"merges": False}, (10, 6)),
    "no product of pairs": Case(tokens, {"attends": False}),
    "columns before rows": Case(tokens, {"swaps": True}),
    "columns before rows, behind tokens": Case(tokens, {"swaps": True, "before": 0, "behind": 3}, (8, 12)),
    "a Split": Case(tokens, {"splits": True}),
    "a Split into three": Case(tokens, {"splits": True, "before": 3, "behind": 2}),
    "positions of 32 bits": Case(tokens, {"small": True, "before": 0, "behind": 1}),
    "levels that a Split parts": Case(levels, {}),
    "levels of unequal sides": Case(levels, {}, (8, 12)),
    "levels that Slices part": Case(levels, {"splits": False}),
    "levels that are joined twice": Case(levels, {"nests": True}),
    "levels that are cut twice": Case(levels, {"splits": False, "joins": True}),
    "rows along one axis, columns along another": Case(pairs, {}),
}
REFUSED = {
    "a cut inside the pixels": (Case(tokens, {"skip": 1}), "cuts [2:"),
    "a cut inside them, from the end": (Case(tokens, {"skip": 1, "from_end": True}), "cuts [-15:"),
    "columns that are made rows": (Case(tokens, {"swaps": True, "swaps_back": False}, (8, 12)), "requires"),
    "sorted positions": (Case(tokens, {"order": "sorted"}), "requires"),
    "reversed positions": (Case(tokens, {"order": "reversed"}), "requires"),
    "a reversed sequence": (Case(tokens, {"order": "sequence"}), "requires"),
    "pixels in two orders": (Case(tokens, {"adds": "columns"}), "requires"),
    "as many tokens as pixels": (Case(tokens, {"before": 16}), "cuts [16:"),
    "as many tokens behind": (Case(tokens, {"before": 0, "behind": 16}), "cuts [0:16]"),
    "two positions": (Case(tokens, {"before": 0, "behind": 1}, (2, 4)), "cuts [0:2]"),
    "levels of few positions": (Case(levels, {"splits": False}, (4, 4)), "cuts [16:20]"),
    "levels of few positions, and a Split": (Case(levels, {}, (4, 4)), "requires"),
    "a level between others, in 32 bits": (Case(levels, {"splits": False, "small": True}), "no number of 32 bits"),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_are_placed_at_each_size(name: str) -> None:
    build, options, old = CASES[name]
    file = build(*old, **options)
    result = unfreeze(file, IMAGE)
    assert not result.refused, result.why_refused
    for size in SIZES:
        feeds = {"x": np.random.default_rng(size).standard_normal((1, 2, *size)).astype(np.float32)}
        (wanted,), (found,) = run(build(*size, **options), feeds), run(result.proto, feeds)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert str(diff(file, result.proto, dims=result.freed, details=False).verdict) in ("proved", "runs")


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_part_is_refused(name: str) -> None:
    (build, options, size), reason = REFUSED[name]
    result = unfreeze(build(*size, **options), IMAGE)
    assert result.refused and reason in result.why_refused, result.why_refused
