"""Data movement and shape computation against onnxruntime, on generated cases."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.oracle.abstraction import Case, check

SIZES = (0, 1, 1, 2, 2, 3, 4, 5, 6)
FAR = (2**63 - 1, -(2**63), 2**31 - 1)


def shape(rng: random.Random, low: int = 0, high: int = 4, sizes: tuple[int, ...] = SIZES) -> tuple[int, ...]:
    return tuple(rng.choice(sizes) for _ in range(rng.randint(low, high)))


def data(rng: random.Random, dims: tuple[int, ...], *, kinds: str = "lf") -> np.ndarray:
    size = int(np.prod(dims, dtype=np.int64))
    numbers = [rng.choice((rng.randint(0, 6), rng.randint(-4, 9))) for _ in range(size)]
    return np.array(numbers, dtype=np.int64 if rng.choice(kinds) == "l" else np.float32).reshape(dims)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def axis(rng: random.Random, rank: int) -> int:
    return rng.randint(-rank, rank - 1) if rank else 0


def some_axes(rng: random.Random, rank: int) -> list[int]:
    chosen = rng.sample(range(rank), rng.randint(1, rank)) if rank else []
    return [a - rank if rng.random() < 0.4 else a for a in chosen]


def reshape(rng: random.Random) -> Case:
    dims = shape(rng)
    size = int(np.prod(dims, dtype=np.int64))
    target: list[int] = []
    rest = size
    for i in range(rng.randint(0, 4)):
        divisors = [d for d in range(1, 13) if rest and rest % d == 0] or [0, 1, 2]
        entry = rng.choice(divisors)
        if i < len(dims) and rng.random() < 0.4:
            entry = dims[i]
        target.append(entry)
        rest = rest // entry if entry and rest % entry == 0 else rest
    if rng.random() < 0.7:
        target.insert(rng.randint(0, len(target)), rest)
    for i in range(len(target)):
        if i < len(dims) and target[i] == dims[i] and rng.random() < 0.3:
            target[i] = 0
    if target and rng.random() < 0.5:
        target[rng.randrange(len(target))] = -1
    # With allowzero the spec forbids 0 beside -1, onnxruntime does not.
    attributes = {"allowzero": 1} if rng.random() < 0.3 and not (-1 in target and 0 in target) else {}
    return Case("Reshape", [data(rng, dims), ints(*target)], attributes, operands=(1,))


def flatten(rng: random.Random) -> Case:
    dims = shape(rng)
    return Case("Flatten", [data(rng, dims)], {"axis": rng.randint(-len(dims), len(dims))})


def squeeze(rng: random.Random) -> Case:
    dims = shape(rng, sizes=(0, 1, 1, 1, 2, 3))
    ones = [i if rng.random() < 0.6 else i - len(dims) for i, d in enumerate(dims) if d == 1 or rng.random() < 0.05]
    if rng.random() < 0.3:
        return Case("Squeeze", [data(rng, dims)])
    chosen = rng.sample(ones, rng.randint(0, len(ones)))
    if rng.random() < 0.3 and chosen:
        return Case("Squeeze", [data(rng, dims)], {"axes": chosen}, version=11)
    return Case("Squeeze", [data(rng, dims), ints(*chosen)], operands=(1,))


def unsqueeze(rng: random.Random) -> Case:
    dims, count = shape(rng, high=3), rng.randint(1, 2)
    rank = len(dims) + count
    chosen = [a - rank if rng.random() < 0.4 else a for a in rng.sample(range(rank), count)]
    if rng.random() < 0.3:
        return Case("Unsqueeze", [data(rng, dims)], {"axes": chosen}, version=11)
    return Case("Unsqueeze", [data(rng, dims), ints(*chosen)], operands=(1,))


def slice_(rng: random.Random) -> Case:
    dims = shape(rng, low=1, high=3, sizes=(0, 1, 2, 3, 4, 5, 6, 7))
    chosen = some_axes(rng, len(dims))

    def index() -> int:
        return rng.choice((rng.randint(-8, 8), rng.randint(-8, 8), rng.randint(0, 5), rng.choice(FAR)))

    starts, ends = ([index() for _ in chosen] for _ in range(2))
    if rng.random() < 0.2:
        pairs = [(s, e) for s, e in zip(starts, ends, strict=True)]
        return Case(
            "Slice",
            [data(rng, dims)],
            {"starts": [s for s, _ in pairs], "ends": [e for _, e in pairs], "axes": chosen},
            version=1,
        )
    inputs: list[np.ndarray | None] = [data(rng, dims), ints(*starts), ints(*ends), ints(*chosen)]
    if rng.random() < 0.6:
        inputs.append(ints(*[rng.choice((1, 1, 2, 3, -1, -1, -2, -3)) for _ in chosen]))
    return Case("Slice", inputs, version=rng.choice((10, 13)), operands=(1, 2, 3, 4))


def concat(rng: random.Random) -> Case:
    dims = shape(rng, low=1, high=3)
    at = axis(rng, len(dims))
    parts: list[np.ndarray | None] = []
    kind = rng.choice("lf")
    for _ in range(rng.randint(1, 4)):
        part = list(dims)
        part[at] = rng.choice(SIZES)
        parts.append(data(rng, tuple(part), kinds=kind))
    return Case("Concat", parts, {"axis": at})


def split(rng: random.Random) -> Case:
    dims = shape(rng, low=1, high=3)
    at = axis(rng, len(dims))
    dim, count = dims[at], rng.randint(1, 4)
    values = data(rng, dims)
    if rng.random() < 0.4:
        return Case("Split", [values], {"axis": at, "num_outputs": count}, outputs=count)
    if rng.random() < 0.3:
        return Case("Split", [values], {"axis": at}, version=rng.choice((11, 13)), outputs=count)
    cuts = sorted(rng.randint(0, dim) for _ in range(count - 1))
    lengths = [b - a for a, b in zip([0, *cuts], [*cuts, dim], strict=True)]
    if rng.random() < 0.3:
        return Case("Split", [values], {"axis": at, "split": lengths}, version=11, outputs=count)
    return Case("Split", [values, ints(*lengths)], {"axis": at}, outputs=count, operands=(1,))


def expand(rng: random.Random) -> Case:
    dims = shape(rng)
    target = [d if rng.random() < 0.5 else 1 for d in dims]
    target = [rng.choice(SIZES) if d == 1 and rng.random() < 0.5 else t for d, t in zip(dims, target, strict=True)]
    target = target[rng.randint(0, len(target)) :] if rng.random() < 0.3 else [*shape(rng, high=1), *target]
    return Case("Expand", [data(rng, dims), ints(*target)], operands=(1,))


def tile(rng: random.Random) -> Case:
    dims = shape(rng, high=3)
    return Case("Tile", [data(rng, dims), ints(*[rng.randint(0, 3) for _ in dims])], operands=(1,))


def range_(rng: random.Random) -> Case:
    kind = rng.choice((np.int64, np.int64, np.int64, np.int32, np.float32, np.float64))
    scalars = [
        np.array(rng.randint(-6, 9)),
        np.array(rng.randint(-6, 9)),
        np.array(rng.choice((1, 1, 1, 2, 3, -1, -2))),
    ]
    if kind in (np.float32, np.float64) and rng.random() < 0.8:
        scalars = [
            np.array(rng.uniform(-3, 3)),
            np.array(rng.uniform(-3, 9)),
            np.array(rng.choice((0.1, 0.3, -0.7, 1.5))),
        ]
    elif rng.random() < 0.5:
        scalars[0] = np.array(0)
    return Case("Range", [a.astype(kind) for a in scalars], operands=(0, 1, 2))


def pad(rng: random.Random) -> Case:
    dims = shape(rng, low=1, high=3)
    mode = rng.choice(("constant", "constant", "constant", "edge", "reflect", "wrap"))
    low = -3 if mode == "constant" and rng.random() < 0.5 else 0
    values = data(rng, dims)
    attributes = {"mode": mode}
    if rng.random() < 0.2 and mode != "wrap":
        values = values.astype(np.float32)
        return Case(
            "Pad", [values], {**attributes, "pads": [rng.randint(low, 3) for _ in range(2 * len(dims))]}, version=2
        )
    chosen = some_axes(rng, len(dims)) if rng.random() < 0.5 else None
    count = len(dims) if chosen is None else len(chosen)
    inputs: list[np.ndarray | None] = [values, ints(*[rng.randint(low, 3) for _ in range(2 * count)])]
    inputs.append(np.array(rng.randint(-2, 3), dtype=values.dtype) if rng.random() < 0.5 else None)
    if chosen is not None:
        inputs.append(ints(*chosen))
    elif inputs[-1] is None:
        inputs.pop()
    return Case("Pad", inputs, attributes, version=19, operands=(1, 3))


def center_crop_pad(rng: random.Random) -> Case:
    dims = shape(rng, low=1, high=3)
    if rng.random() < 0.5:
        return Case("CenterCropPad", [data(rng, dims), ints(*[rng.choice(SIZES) for _ in dims])], operands=(1,))
    chosen = some_axes(rng, len(dims))
    wanted = ints(*[rng.choice(SIZES) for _ in chosen])
    return Case("CenterCropPad", [data(rng, dims), wanted], {"axes": chosen}, operands=(1,))


def shape_(rng: random.Random) -> Case:
    attributes = {}
    if rng.random() < 0.7:
        attributes["start"] = rng.randint(-5, 5)
    if rng.random() < 0.5:
        attributes["end"] = rng.randint(-5, 5)
    return Case("Shape", [data(rng, shape(rng))], attributes, version=15)


def size(rng: random.Random) -> Case:
    return Case("Size", [data(rng, shape(rng))])


def constant_of_shape(rng: random.Random) -> Case:
    return Case("ConstantOfShape", [ints(*shape(rng))], operands=(0,))


def eye_like(rng: random.Random) -> Case:
    attributes = {"k": rng.randint(-4, 4)}
    if rng.random() < 0.7:
        attributes["dtype"] = rng.choice((1, 7))
    return Case("EyeLike", [data(rng, shape(rng, 2, 2))], attributes)


def transpose(rng: random.Random) -> Case:
    dims = shape(rng)
    attributes = {"perm": rng.sample(range(len(dims)), len(dims))} if dims and rng.random() < 0.8 else {}
    return Case("Transpose", [data(rng, dims)], attributes)


def depth_to_space(rng: random.Random) -> Case:
    block = rng.choice((1, 2, 3))
    n, c, h, w = shape(rng, 4, 4)
    values = data(rng, (n, c * block * block if rng.random() < 0.8 else c, h, w), kinds="f")
    return Case("DepthToSpace", [values], {"blocksize": block, "mode": rng.choice(("DCR", "CRD"))})


def space_to_depth(rng: random.Random) -> Case:
    block = rng.choice((1, 2, 3))
    n, c, h, w = shape(rng, 4, 4)
    factor = block if rng.random() < 0.8 else 1
    return Case("SpaceToDepth", [data(rng, (n, c, h * factor, w * factor), kinds="f")], {"blocksize": block})


def reverse_sequence(rng: random.Random) -> Case:
    dims = shape(rng, 2, 3)
    batch = rng.choice((0, 1))
    lengths = ints(*[rng.randint(min(1, dims[1 - batch]), dims[1 - batch]) for _ in range(dims[batch])])
    return Case("ReverseSequence", [data(rng, dims), lengths], {"batch_axis": batch, "time_axis": 1 - batch})


def trilu(rng: random.Random) -> Case:
    inputs: list[np.ndarray | None] = [data(rng, shape(rng, 2, 3))]
    if rng.random() < 0.7:
        inputs.append(np.array(rng.randint(-5, 5)))
    return Case("Trilu", inputs, {"upper": rng.choice((0, 1))}, operands=(1,))


def compress(rng: random.Random) -> Case:
    dims = shape(rng, 1, 3)
    at = axis(rng, len(dims)) if rng.random() < 0.7 else None
    length = int(np.prod(dims, dtype=np.int64)) if at is None else dims[at]
    condition = np.array([rng.random() < 0.5 for _ in range(max(0, length + rng.choice((-1, 0, 0))))], dtype=bool)
    return Case("Compress", [data(rng, dims), condition], {} if at is None else {"axis": at})


def resize(rng: random.Random) -> Case:
    dims = (1, rng.randint(1, 3), rng.randint(1, 9), rng.randint(1, 9))
    values = data(rng, dims, kinds="f")
    attributes: dict[str, Any] = {"mode": "nearest"}
    if rng.random() < 0.4:
        wanted = ints(dims[0], dims[1], rng.randint(1, 12), rng.randint(1, 12))
        return Case("Resize", [values, None, None, wanted], attributes, operands=(3,))
    if rng.random() < 0.4:
        policy = rng.choice(("not_larger", "not_smaller", "stretch"))
        attributes = {**attributes, "axes": [2, 3], "keep_aspect_ratio_policy": policy}
        return Case(
            "Resize", [values, None, None, ints(rng.randint(1, 12), rng.randint(1, 12))], attributes, operands=(3,)
        )
    pick = (0.5, 2.0, 3.0, 1.5, 0.25, 0.6, 1.3, 2.7, 0.33333334, rng.uniform(0.3, 3))
    scales = np.array([1, 1, rng.choice(pick), rng.choice(pick)], dtype=np.float32)
    match rng.randrange(4):
        case 0:
            return Case("Upsample", [values, scales], attributes, version=9, operands=(1,))
        case 1:
            return Case("Upsample", [values], {**attributes, "scales": [float(s) for s in scales]}, version=7)
        case 2:
            return Case("Resize", [values, scales], attributes, version=10, operands=(1,))
    return Case("Resize", [values, None, scales], attributes, version=rng.choice((11, 13, 19)), operands=(2,))


def col2im(rng: random.Random) -> Case:
    image, block = (rng.randint(2, 5), rng.randint(2, 5)), (rng.randint(1, 2), rng.randint(1, 2))
    area, steps = block[0] * block[1], (image[0] - block[0] + 1) * (image[1] - block[1] + 1)
    columns = data(rng, (rng.randint(1, 2), rng.randint(1, 3) * area, steps), kinds="f")
    return Case("Col2Im", [columns, ints(*image), ints(*block)], operands=(1, 2))


def grid_sample(rng: random.Random) -> Case:
    n, c, h, w, a, b = (rng.randint(1, 4) for _ in range(6))
    return Case("GridSample", [data(rng, (n, c, h, w), kinds="f"), data(rng, (n, a, b, 2), kinds="f") / 9], version=16)


def affine_grid(rng: random.Random) -> Case:
    n, c, h, w = (rng.randint(1, 4) for _ in range(4))
    return Case("AffineGrid", [data(rng, (n, 2, 3), kinds="f"), ints(n, c, h, w)], version=20, operands=(1,))


FAMILIES: dict[str, tuple[int, Callable[[random.Random], Case]]] = {
    "Reshape": (1500, reshape),
    "Flatten": (150, flatten),
    "Squeeze": (300, squeeze),
    "Unsqueeze": (200, unsqueeze),
    "Slice": (1500, slice_),
    "Concat": (400, concat),
    "Split": (500, split),
    "Expand": (500, expand),
    "Tile": (250, tile),
    "Range": (400, range_),
    "Pad": (400, pad),
    "CenterCropPad": (200, center_crop_pad),
    "Shape": (200, shape_),
    "Size": (100, size),
    "ConstantOfShape": (200, constant_of_shape),
    "EyeLike": (150, eye_like),
    "Transpose": (200, transpose),
    "DepthToSpace": (200, depth_to_space),
    "SpaceToDepth": (200, space_to_depth),
    "ReverseSequence": (200, reverse_sequence),
    "Trilu": (200, trilu),
    "Compress": (300, compress),
    "Resize": (500, resize),
    "Col2Im": (150, col2im),
    "GridSample": (150, grid_sample),
    "AffineGrid": (150, affine_grid),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_facts_hold_in_the_runtime(name: str, record_property: pytest.FixtureRequest) -> None:
    count, generate = FAMILIES[name]
    rng = random.Random(name)
    counts: Counter[str] = Counter()
    for _ in range(count):
        check(generate(rng), rng, counts)
    assert counts["compared"] >= count // 3, counts
