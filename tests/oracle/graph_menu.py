"""The menu of random graphs: each entry adds a node or a short chain, or gives up."""

from __future__ import annotations

import numpy as np

from tests.oracle.graph_builder import Builder, Entry, axes_of, axis_of, is_bool, is_float, is_int
from tests.oracle.graph_networks import blocks, conv, einsum, gemm, matmul, norm, reduce, sequence
from tests.oracle.graph_sizes import positions, size, size1, sizes

# elements


def unary(b: Builder) -> str | None:
    op = b.rng.choice(
        ("Relu", "Neg", "Abs", "Identity", "Sigmoid", "Softmax", "Floor", "Dropout", "Tanh", "HardSwish", "LogSoftmax")
    )
    x = b.floats()
    if x is None:
        return None
    attributes = {"axis": axis_of(b, b.first(x).ndim)} if op.endswith("oftmax") else {}
    return b.one(op, x, **attributes)


def binary(b: Builder) -> str | None:
    x = b.floats()
    if x is None:
        return None
    shape = b.first(x).shape

    def fits(a: np.ndarray) -> bool:
        if not is_float(a) or a.ndim > 5:
            return False
        return all(p == q or p == 1 or q == 1 for p, q in zip(reversed(shape), reversed(a.shape), strict=False))

    y = b.pick(fits)
    if b.rng.random() < 0.15:
        return b.one(b.rng.choice(("Max", "Min", "Sum", "Mean")), x, y, b.pick(fits))
    if b.rng.random() < 0.15:
        condition = b.one("Less", x, y)
        return b.one("Where", condition, *b.rng.sample((x, y), 2))
    op = b.rng.choice(("Add", "Sub", "Mul", "Max", "Min", "PRelu", "Less", "Greater", "Equal"))
    return b.one(op, *b.rng.sample((x, y), 2))


def numbers_as_data(b: Builder) -> str | None:
    """Integers of shapes among the floats."""
    return b.one("Cast", b.pick(lambda a: (is_int(a) or is_bool(a)) and a.ndim <= 3), to=1)


def where(b: Builder) -> str | None:
    return b.one("Where", b.pick(is_bool), b.floats(), b.floats())


def logic(b: Builder) -> str | None:
    x = b.pick(is_bool)
    return b.one("Not", x) if b.rng.random() < 0.4 else b.one(b.rng.choice(("And", "Or", "Xor")), x, b.pick(is_bool))


# movement


def reshape(b: Builder) -> str | None:
    x = b.pick(lambda a: (is_float(a) or is_int(a) or is_bool(a)) and a.ndim <= 5)
    if x is None:
        return None
    shape, rank = b.first(x).shape, b.first(x).ndim
    kind = b.rng.randint(0, 5)
    attributes = {"allowzero": 1} if b.rng.random() < 0.15 else {}
    if kind == 0:
        target = [0 if b.rng.random() < 0.5 else 1 for _ in range(b.rng.randint(0, rank))]
        target.insert(b.rng.randint(0, len(target)), -1)
        return b.one("Reshape", x, b.constant(target), **attributes)
    if kind == 1:
        known = b.vector()
        return b.one("Reshape", x, known, **attributes)
    if kind == 2 and rank:  # a dim is split
        at = b.rng.randrange(rank)
        factor = b.rng.choice([d for d in range(1, 9) if shape[at] and shape[at] % d == 0] or [1])
        pieces: list[str | None] = [b.constant([0]) for _ in range(at)]
        inner = [b.constant([-1]), b.constant([factor])]
        b.rng.shuffle(inner)
        pieces += inner
        whole = b.one("Shape", x)
        pieces += [b.one("Gather", whole, b.constant([k])) for k in range(at + 1, rank)]
        return b.one("Reshape", x, b.one("Concat", *pieces, axis=0), **attributes)
    # dims of its own shape, kept, merged, or computed
    whole = b.one("Shape", x)
    pieces = []
    hole = b.rng.randint(0, rank) if b.rng.random() < 0.5 else -1
    at = 0
    while at < rank:
        if at == hole:
            pieces.append(b.constant([-1]))
            at += b.rng.randint(1, 2)
            continue
        step = 2 if b.rng.random() < 0.3 and at + 2 <= rank else 1
        if step == 2:
            merged = [b.one("Gather", whole, b.constant([k])) for k in (at, at + 1)]
            pieces.append(b.one("Mul", *merged))
        elif b.rng.random() < 0.2:
            pieces.append(b.constant([0]))
        elif b.rng.random() < 0.2:
            pieces.append(b.constant([shape[at]]))
        else:
            pieces.append(b.one("Gather", whole, b.constant([at])))
        at += step
        if b.rng.random() < 0.15:
            pieces.append(b.constant([1]))
    if not pieces:
        return b.one("Reshape", x, b.constant([1] * b.rng.randint(0, 2)))
    return b.one("Reshape", x, b.one("Concat", *pieces, axis=0), **attributes)


def expand(b: Builder) -> str | None:
    x = b.floats(0, 4)
    if x is None:
        return None
    if b.rng.random() < 0.3:
        return b.one("Expand", x, b.vector())
    if b.rng.random() < 0.4:
        return b.one("Expand", x, b.one("Shape", b.floats()))
    count = b.rng.randint(0, 2)
    x = b.one("Unsqueeze", x, b.constant([0])) if b.rng.random() < 0.5 else x
    parts = [sizes(b, 1) for _ in range(count + 1)]
    rest = b.constant([1] * b.rng.randint(0, b.first(x).ndim)) if x is not None else None
    return b.one("Expand", x, b.one("Concat", *parts, rest, axis=0))


def tile(b: Builder) -> str | None:
    x = b.floats(0, 3)
    if x is None:
        return None
    return b.one("Tile", x, sizes(b, b.first(x).ndim, (1, 1, 2, 0)) if b.rng.random() < 0.7 else b.vector())


def transpose(b: Builder) -> str | None:
    x = b.pick(lambda a: not isinstance(a, list) and a.ndim >= 1)
    if x is None:
        return None
    if b.rng.random() < 0.3:
        return b.one("Transpose", x)
    rank = b.first(x).ndim
    return b.one("Transpose", x, perm=b.rng.sample(range(rank), rank))


def slice_(b: Builder) -> str | None:
    x = b.pick(lambda a: not isinstance(a, list) and 1 <= a.ndim <= 5)
    if x is None:
        return None
    rank = b.first(x).ndim
    count = b.rng.randint(1, min(2, rank))
    axes = axes_of(b, rank)[:count]
    count = len(axes)

    def bound() -> str | None:
        roll = b.rng.random()
        if roll < 0.35:
            return b.constant([b.rng.randint(-4, 5) for _ in range(count)])
        if roll < 0.5:
            return b.constant([b.rng.choice((2**63 - 1, 2**31 - 1, -(2**63), -1, 0)) for _ in range(count)])
        made = sizes(b, count, (0, -1, 1, 2, -2))
        if b.rng.random() < 0.3:
            made = b.one(b.rng.choice(("Sub", "Add", "Div")), made, b.constant(b.rng.choice((1, 2, 3))))
        return b.one("Neg", made) if b.rng.random() < 0.25 else made

    start = b.constant([0] * count) if b.rng.random() < 0.4 else bound()
    end = b.constant([2**63 - 1] * count) if b.rng.random() < 0.25 else bound()
    inputs = [x, start, end, b.constant(axes)]
    if b.rng.random() < 0.35:
        inputs.append(b.constant([b.rng.choice((1, 2, 3, -1, -2)) for _ in range(count)]))
    return b.one("Slice", *inputs)


def split(b: Builder) -> object:
    x = b.floats(1, 4)
    if x is None:
        return None
    at = axis_of(b, b.first(x).ndim)
    length, count = b.first(x).shape[at], b.rng.randint(1, 3)
    roll = b.rng.random()
    if roll < 0.4:
        return b.add("Split", [x], count, axis=at, num_outputs=count)
    if roll < 0.6 and length:
        cut = b.rng.randint(0, length)
        return b.add("Split", [x, b.constant([cut, length - cut])], 2, axis=at)
    whole = b.one("Gather", b.one("Shape", x), b.constant([at]))
    part = b.one(b.rng.choice(("Div", "Min", "Sub")), whole, b.constant([b.rng.choice((1, 2, 3))]))
    pieces = [part, b.one("Sub", whole, part)]
    b.rng.shuffle(pieces)
    return b.add("Split", [x, b.one("Concat", *pieces, axis=0)], 2, axis=at)


def concat(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    shape = b.first(x).shape
    at = axis_of(b, len(shape))
    others = [i for i in range(len(shape)) if i != at % len(shape)]
    parts = [x]
    for _ in range(b.rng.randint(1, 2)):
        y = b.pick(lambda a: is_float(a) and a.ndim == len(shape) and all(a.shape[i] == shape[i] for i in others))
        parts.append(y or x)
    b.rng.shuffle(parts)
    return b.one("Concat", *parts, axis=at)


def squeeze(b: Builder) -> str | None:
    x = b.floats(0, 4)
    if x is None:
        return None
    rank = b.first(x).ndim
    if b.rng.random() < 0.5:
        return b.one("Unsqueeze", x, b.constant([b.rng.randint(-rank - 1, rank)]))
    ones = [i for i, d in enumerate(b.first(x).shape) if d == 1]
    if b.rng.random() < 0.15:
        return b.one("Squeeze", x)
    return (
        b.one("Squeeze", x, b.constant([b.rng.choice(ones)]))
        if ones
        else b.one("Flatten", x, axis=b.rng.randint(-rank, rank))
    )


def pad(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    rank = b.first(x).ndim
    mode = b.rng.choice(("constant", "constant", "edge", "reflect", "wrap"))
    if b.rng.random() < 0.5:
        pads = b.constant([b.rng.choice((0, 0, 1, 2, -1 if mode == "constant" else 0)) for _ in range(2 * rank)])
        return b.one("Pad", x, pads, mode=mode)
    count = b.rng.randint(1, min(2, rank))
    axes = axes_of(b, rank)[:count]
    return b.one("Pad", x, sizes(b, 2 * len(axes), (0, 0, 1)), "", b.constant(axes), mode=mode)


def resize(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    rank = b.first(x).ndim
    mode = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    if b.rng.random() < 0.4:
        axes = axes_of(b, rank)[:2]
        return b.one("Resize", x, "", "", sizes(b, len(axes)), axes=axes, **mode)
    if b.rng.random() < 0.5:
        return b.one(
            "Resize",
            x,
            "",
            b.constant([b.rng.choice((1, 1, 2, 0.5, 1.5, 0.7)) for _ in range(rank)], np.float32),
            **mode,
        )
    return b.one("Resize", x, "", "", b.vector() if b.rng.random() < 0.5 else sizes(b, rank), **mode)


def trilu(b: Builder) -> str | None:
    x = b.floats(2, 4)
    return b.one(
        "Trilu", x, b.constant(b.rng.randint(-2, 2)) if b.rng.random() < 0.5 else size(b), upper=b.rng.randint(0, 1)
    )


def crop(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    axes = axes_of(b, b.first(x).ndim)[:2]
    return b.one("CenterCropPad", x, sizes(b, len(axes)), axes=axes)


# gathers


def gather(b: Builder) -> str | None:
    x = b.pick(lambda a: (is_float(a) or is_int(a)) and 1 <= a.ndim <= 4)
    if x is None:
        return None
    at = axis_of(b, b.first(x).ndim)
    length = b.first(x).shape[at]
    if b.rng.random() < 0.5:
        index = b.pick(lambda a: is_int(a) and a.ndim <= 2)
    else:
        shape = b.rng.choice(((), (1,), (2,), (0,), (2, 1), (1, 3)))
        index = b.constant(np.array([axis_of(b, max(length, 1)) for _ in range(int(np.prod(shape)))]).reshape(shape))
    return b.one("Gather", x, index, axis=at)


def best_of(b: Builder) -> str | None:
    """ArgMax or TopK, then the elements there."""
    x = b.floats(1, 4)
    if x is None:
        return None
    at = axis_of(b, b.first(x).ndim)
    if b.depth:
        at %= b.first(x).ndim  # what onnxruntime does wrong with a negative axis would go unseen in a subgraph
    if b.rng.random() < 0.5:
        found = b.one(b.rng.choice(("ArgMax", "ArgMin")), x, axis=at, keepdims=b.rng.randint(0, 1))
    else:
        k = b.constant([b.rng.randint(0, 3)]) if b.rng.random() < 0.4 else size1(b)
        if b.rng.random() < 0.5:
            k = b.one("Min", k, b.one("Gather", b.one("Shape", x), b.constant([at])))
        made = b.add("TopK", [x, k], 2, axis=at)
        found = made[1] if made is not None else None
    if found is None or b.rng.random() < 0.4:
        return found
    if b.rng.random() < 0.5:
        return b.one("GatherElements", x, found, axis=at)
    return b.one("Gather", x, found, axis=at)


def gather_nd(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    batch = b.rng.choice((0, 0, 1))
    if b.rng.random() < 0.4:
        index = b.pick(lambda a: is_int(a) and a.ndim >= 1)
    else:
        rank = b.first(x).ndim
        k = b.rng.randint(1, max(1, rank - batch))
        index = b.constant([b.rng.choice((0, 0, -1)) for _ in range(k)])
        if batch:
            rows = b.one("Gather", b.one("Shape", x), b.constant([0]))
            index = b.one("Expand", index, b.one("Concat", rows, b.constant([k]), axis=0))
    return b.one("GatherND", x, index, batch_dims=batch)


def scatter(b: Builder) -> str | None:
    x = b.floats(1, 3)
    if x is None:
        return None
    rank = b.first(x).ndim
    if b.rng.random() < 0.5:
        index = b.constant([[b.rng.choice((0, -1))] for _ in range(b.rng.randint(0, 2))] or np.zeros((0, 1)))
        rest = b.one("Shape", x, start=1)
        target = (
            b.one("Concat", b.constant([b.first(index).shape[0]]), rest, axis=0)
            if rank > 1
            else b.constant([b.first(index).shape[0]])
        )
        return b.one("ScatterND", x, index, b.one("Expand", b.constant(1.5, np.float32), target))
    at = axis_of(b, rank)
    index = b.constant(np.zeros([b.rng.randint(0, 1) for _ in range(rank)]))
    updates = b.one("Cast", index, to=1)
    return b.one("ScatterElements", x, index, updates, axis=at)


# data-dependent


def selected(b: Builder) -> str | None:
    x = b.floats(1, 3)
    if x is None:
        return None
    roll = b.rng.random()
    if roll < 0.35:
        found = b.one("NonZero", x)
        if b.rng.random() < 0.5:
            return b.one("GatherND", x, b.one("Transpose", found, perm=[1, 0]))
        return found
    if roll < 0.6:
        flat = b.one("Greater", b.one("Reshape", x, b.constant([-1])), b.constant(0.5, np.float32))
        if b.rng.random() < 0.5:
            return b.one("Compress", x, flat)
        at = axis_of(b, b.first(x).ndim)
        return b.one("Compress", x, b.pick(lambda a: is_bool(a) and a.ndim == 1) or flat, axis=at)
    made = (
        b.add("Unique", [x], 4)
        if roll < 0.8 or not b.world.aborting
        else b.add("Unique", [x], 4, axis=axis_of(b, b.first(x).ndim))
    )
    return made[0] if made else None


def one_hot(b: Builder) -> str | None:
    depth = b.constant(b.rng.randint(1, 4)) if b.rng.random() < 0.4 else size(b)
    return b.one(
        "OneHot",
        b.pick(lambda a: is_int(a) and a.ndim <= 2),
        depth,
        b.constant([0, 1], np.float32),
        axis=b.rng.choice((-1, 0)),
    )


def eye(b: Builder) -> str | None:
    return b.one("EyeLike", b.pick(lambda a: is_float(a) and a.ndim == 2), k=b.rng.randint(-1, 1))


DATA: dict[Entry, int] = {
    unary: 3, binary: 9, numbers_as_data: 2, where: 2, logic: 1, reshape: 9, expand: 4, tile: 2, transpose: 4,
    slice_: 7, split: 3, concat: 5, squeeze: 3, pad: 2, resize: 2, trilu: 1, crop: 1, gather: 4, positions: 2,
    best_of: 3, gather_nd: 2, scatter: 2, selected: 3, one_hot: 2, eye: 1, matmul: 4, gemm: 1, einsum: 2, conv: 3,
    reduce: 3, norm: 1, blocks: 1, sequence: 4,
}  # fmt: skip
