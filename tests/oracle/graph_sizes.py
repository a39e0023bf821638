"""Entries of the menu that compute with sizes: shapes, numbers and vectors of them."""

from __future__ import annotations

import numpy as np

from tests.oracle.graph_builder import Builder, Entry, axis_of, is_int, is_small


def shape(b: Builder) -> str | None:
    x = b.pick(lambda a: not isinstance(a, list) and a.ndim >= 1)
    if x is None:
        return None
    attributes = {}
    if b.rng.random() < 0.4:
        attributes["start"] = b.rng.randint(-3, 2)
    if b.rng.random() < 0.3:
        attributes["end"] = b.rng.randint(-3, 4)
    return b.one("Shape", x, **attributes)


def size(b: Builder) -> str | None:
    """A scalar that is a dim, or an arithmetic of dims."""
    if b.rng.random() < 0.5:
        known = b.scalar()
        if known is not None:
            return known
    return dim(b)


def dim(b: Builder) -> str | None:
    x = b.pick(lambda a: not isinstance(a, list) and a.ndim >= 1)
    if x is None:
        return None
    if b.rng.random() < 0.1:
        return b.one("Size", x)
    made = b.one("Shape", x)
    return b.one("Gather", made, b.constant(axis_of(b, b.first(x).ndim)), axis=b.rng.choice((0, 0, -1)))


def size1(b: Builder) -> str | None:
    """A vector of one size."""
    if b.rng.random() < 0.4:
        known = b.pick(lambda a: is_int(a) and a.shape == (1,) and is_small(a), static=0.9)
        if known is not None:
            return known
    if b.rng.random() < 0.3:
        made = b.one("Shape", b.floats(1))
        if made is None or not b.first(made).size:
            return None
        at = axis_of(b, b.first(made).size)
        if b.rng.random() < 0.5:
            return b.one("Gather", made, b.constant([at]))
        return b.one("Slice", made, b.constant([at]), b.constant([at + 1 if at != -1 else 2**31]))
    made = size(b)
    if b.rng.random() < 0.7:
        return b.one("Unsqueeze", made, b.constant([b.rng.choice((0, -1))]))
    return b.one("Reshape", made, b.constant([b.rng.choice((1, -1))]))


def sizes(b: Builder, count: int, numbers: tuple[int, ...] = (1, 1, 2, 3)) -> str | None:
    """A vector of `count` sizes: from shapes, constants, both."""
    if count == 0:
        return b.constant([])
    parts: list[str | None] = []
    for _ in range(count):
        parts.append(b.constant([b.rng.choice(numbers)]) if b.rng.random() < 0.45 else size1(b))
    if count == 1:
        return parts[0]
    made = None if None in parts else b.add("Concat", parts, axis=b.rng.choice((0, -1)))
    return None if made is None else made[0]


def arithmetic(b: Builder) -> str | None:
    left = b.rng.choice((b.vector, b.scalar, lambda: size(b)))()
    op = b.rng.choice(("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Div", "Sub"))
    right = b.constant(b.rng.choice((1, 2, 2, 3, 4, -1, -2, 5, 0))) if b.rng.random() < 0.6 else size(b)
    if b.rng.random() < 0.2:
        left, right = right, left
    attributes = {"fmod": 1} if op == "Mod" and b.rng.random() < 0.2 else {}
    return b.one(op, left, right, **attributes)


def unary_int(b: Builder) -> str | None:
    x = b.rng.choice((b.vector, b.scalar))()
    op = b.rng.choice(("Neg", "Abs", "Sign", "Identity", "ReduceProd", "ReduceMax", "ReduceSum", "ReduceMin", "CumSum"))
    if x is None:
        return None
    if op == "CumSum":
        flags = {"exclusive": b.rng.randint(0, 1), "reverse": b.rng.randint(0, 1)}
        return b.one(op, x, b.constant(0), **flags)
    if op.startswith("Reduce"):
        return b.one(op, x, keepdims=b.rng.randint(0, 1))
    return b.one(op, x)


def round_trip(b: Builder) -> str | None:
    x = b.rng.choice((b.vector, b.scalar))()
    kind = b.rng.choice((1, 6, 10, 11, 2, 9, 3))
    there = b.one("Cast", x, to=kind)
    if kind in (1, 11) and there is not None and b.rng.random() < 0.7:
        dtype = np.float32 if kind == 1 else np.float64
        op = b.rng.choice(("Mul", "Div", "Add", "Sqrt", "Ceil", "Floor"))
        if op in ("Mul", "Div", "Add"):
            there = b.one(op, there, b.constant(b.rng.choice((2, 0.5, 3, 4, 1.5)), dtype))
        else:
            there = b.one(op, there)
        if b.rng.random() < 0.6:
            there = b.one(b.rng.choice(("Floor", "Ceil", "Round")), there)
    return b.one("Cast", there, to=7)


def gather_vector(b: Builder) -> str | None:
    x = b.vector()
    if x is None or not b.first(x).size:
        return None
    n = b.first(x).size
    kind = b.rng.randint(0, 3)
    if kind == 0:
        index = b.constant(axis_of(b, n), b.rng.choice((np.int64, np.int32)))
    elif kind == 3:
        index = b.constant(np.array([axis_of(b, n) for _ in range(4)]).reshape(b.rng.choice(((2, 2), (4, 1), (1, 4)))))
    else:
        index = b.constant([axis_of(b, n) for _ in range(b.rng.randint(0, 3))])
    if kind == 1:
        return b.one("GatherElements", x, index, axis=b.rng.choice((0, -1)))
    if kind == 2:
        return b.one("GatherND", x, b.one("Unsqueeze", index, b.constant([1])))
    return b.one("Gather", x, index, axis=b.rng.choice((0, 0, -1)))


def slice_vector(b: Builder) -> str | None:
    bounds = [b.constant([b.rng.randint(-4, 5)]), b.constant([b.rng.choice((-1, -2, 1, 2, 3, 2**63 - 1, -(2**63)))])]
    rest = [b.constant([0]), b.constant([b.rng.choice((1, -1, 2))])] if b.rng.random() < 0.4 else []
    return b.one("Slice", b.vector(), *bounds, *rest)


def concat_vectors(b: Builder) -> str | None:
    parts = [b.rng.choice((b.vector, lambda: size1(b)))() for _ in range(b.rng.randint(2, 3))]
    return b.one("Concat", *parts, axis=0)


def change_rank(b: Builder) -> str | None:
    x = b.rng.choice((b.vector, b.scalar))()
    if x is None:
        return None
    if b.first(x).ndim == 0 or b.rng.random() < 0.2:
        return b.one("Unsqueeze", x, b.constant([0]))
    return b.one("Squeeze", x, b.constant([0])) if b.rng.random() < 0.6 else b.one("Squeeze", x)


def compare_sizes(b: Builder) -> str | None:
    op = b.rng.choice(("Less", "Equal", "Greater", "LessOrEqual", "GreaterOrEqual"))
    left = b.rng.choice((b.vector, lambda: size(b), lambda: size(b)))()
    right = b.constant(b.rng.choice((0, 1, 2, 3, 4))) if b.rng.random() < 0.5 else size(b)
    return b.one(op, left, right)


def where_sizes(b: Builder) -> str | None:
    x = b.rng.choice((b.vector, lambda: size(b)))()
    other = b.constant(b.rng.choice((-1, 1, 0, 2))) if b.rng.random() < 0.5 else size(b)
    condition = b.one(b.rng.choice(("Equal", "Less", "Greater")), x, b.constant(b.rng.choice((0, 1, 2, -1))))
    return b.one("Where", condition, *b.rng.sample((x, other), 2))


def range_(b: Builder) -> str | None:
    start = b.constant(b.rng.choice((0, 0, 0, 1, -2))) if b.rng.random() < 0.7 else size(b)
    step = b.constant(b.rng.choice((1, 1, 2, 3, -1)))
    return b.one("Range", start, size(b), step)


def positions(b: Builder) -> str | None:
    """A Range over an axis, looked up in that axis."""
    x = b.floats(1, 4)
    if x is None:
        return None
    at = axis_of(b, b.first(x).ndim)
    made = b.one("Gather", b.one("Shape", x), b.constant(at))
    index = b.one("Range", b.constant(0), made, b.constant(1))
    if b.rng.random() < 0.5:
        index = b.one(b.rng.choice(("Sub", "Div", "Mod", "Min", "Mul")), index, b.constant(b.rng.choice((1, 2, 3))))
    if b.rng.random() < 0.3:
        index = b.one("Unsqueeze", index, b.constant([b.rng.choice((0, 1))]))
    return b.one("Gather", x, index, axis=at)


def filled(b: Builder) -> str | None:
    return b.one("ConstantOfShape", sizes(b, b.rng.randint(0, 3)) if b.rng.random() < 0.6 else b.vector())


def clip_size(b: Builder) -> str | None:
    return b.one(
        "Clip",
        b.rng.choice((b.vector, b.scalar))(),
        b.constant(b.rng.choice((0, 1, -3))),
        b.constant(b.rng.choice((2, 3, 64))),
    )


def scatter_vector(b: Builder) -> str | None:
    x = b.vector()
    if x is None or not b.first(x).size:
        return None
    index = b.constant([[axis_of(b, b.first(x).size)]])
    return b.one("ScatterND", x, index, size1(b))


SIZES: dict[Entry, int] = {
    shape: 4, dim: 3, arithmetic: 7, unary_int: 3, round_trip: 2, gather_vector: 3, slice_vector: 2, concat_vectors: 3,
    change_rank: 2, compare_sizes: 2, where_sizes: 2, range_: 2, filled: 2, clip_size: 1, scatter_vector: 1,
}  # fmt: skip
