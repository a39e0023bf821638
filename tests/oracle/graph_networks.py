"""Entries of the menu that compute as networks do: products, convolutions, norms, sequences."""

from __future__ import annotations

import numpy as np

from tests.oracle.graph_builder import Builder, axes_of, axis_of, is_float
from tests.oracle.graph_sizes import size


def matmul(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    if b.rng.random() < 0.4:
        y = b.constant(b.rng.choice((0.5, 1.0)) * np.ones((b.first(x).shape[-1], b.rng.randint(1, 3))), np.float32)
        return b.one("MatMul", x, y)
    if b.rng.random() < 0.4:
        perm = list(range(b.first(x).ndim))
        perm[-2:] = reversed(perm[-2:])
        return b.one("MatMul", x, b.one("Transpose", x, perm=perm))
    shape = b.first(x).shape
    other = b.pick(lambda a: is_float(a) and a.ndim >= 1 and a.shape[-2 if a.ndim > 1 else 0] == shape[-1])
    return b.one("MatMul", x, other)


def gemm(b: Builder) -> str | None:
    x = b.floats(2, 2)
    trans = b.rng.randint(0, 1)
    y = b.floats(2, 2) if b.rng.random() < 0.5 else x
    extra = [b.floats(0, 2)] if b.rng.random() < 0.3 else []
    return b.one("Gemm", x, y, *extra, transA=trans, transB=b.rng.randint(0, 1))


EQUATIONS = {
    "ij->ji": 2,
    "ij->": 2,
    "i,j->ij": 1,
    "ij,kj->ik": 2,
    "...i,...i->...": 3,
    "bhid,bhjd->bhij": 4,
    "bij,bkj->bik": 3,
}
"""Legal whatever the sizes, when all operands are the same: on others the runtime ends the process."""


def einsum(b: Builder) -> str | None:
    equation, rank = b.rng.choice(list(EQUATIONS.items()))
    x = b.floats(rank, rank)
    return b.one("Einsum", *[x] * (equation.count(",") + 1), equation=equation)


def image(b: Builder) -> str | None:
    """A batch of one-dimensional or two-dimensional images."""
    x = b.floats(3, 4)
    if x is not None and b.rng.random() < 0.7:
        return x
    x = b.floats(1, 3)
    if x is None:
        return None
    return b.one("Unsqueeze", x, b.constant(list(range(b.rng.choice((3, 4)) - b.first(x).ndim))))


def conv(b: Builder) -> str | None:
    x = image(b)
    if x is None:
        return None
    spatial = b.first(x).ndim - 2
    kernel = [b.rng.randint(1, 3) for _ in range(spatial)]
    attributes: dict[str, object] = {"kernel_shape": kernel}
    if b.rng.random() < 0.4:
        attributes["strides"] = [b.rng.randint(1, 3) for _ in kernel]
    if b.rng.random() < 0.3:
        attributes["dilations"] = [b.rng.randint(1, 2) for _ in kernel]
    if b.rng.random() < 0.3:
        attributes["auto_pad"] = b.rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes.pop("dilations", None)
    elif b.rng.random() < 0.5:
        attributes["pads"] = [b.rng.randint(0, max(0, k - 1)) for k in (*kernel, *kernel)]
    roll = b.rng.random()
    if roll < 0.4:
        if b.rng.random() < 0.4:
            attributes["ceil_mode"] = 1
        return b.one(b.rng.choice(("MaxPool", "AveragePool", "LpPool")), x, **attributes)
    if roll < 0.5:
        return b.one(b.rng.choice(("GlobalAveragePool", "GlobalMaxPool")), x)
    channels = b.first(x).shape[1]
    weight = b.constant(np.ones((b.rng.randint(1, 3), channels, *kernel)), np.float32)
    return b.one("Conv", x, weight, **attributes)


def reduce(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    op = b.rng.choice(("ReduceMax", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL2"))
    if b.rng.random() < 0.2:
        return b.one(op, x, keepdims=b.rng.randint(0, 1))
    axes = [a % b.first(x).ndim for a in axes_of(b, b.first(x).ndim)]
    return b.one(op, x, b.constant(axes), keepdims=b.rng.randint(0, 1), noop_with_empty_axes=b.rng.randint(0, 1))


def norm(b: Builder) -> str | None:
    x = b.floats(1, 4)
    if x is None:
        return None
    last = b.first(x).shape[-1]
    scale = b.constant(np.ones(last if b.rng.random() < 0.7 else 1), np.float32)
    return b.one("LayerNormalization", x, scale, axis=-1)


def blocks(b: Builder) -> str | None:
    return b.one(b.rng.choice(("DepthToSpace", "SpaceToDepth")), b.floats(4, 4), blocksize=b.rng.choice((1, 2)))


def sequence(b: Builder) -> str | None:
    def is_sequence(a: object) -> bool:
        return isinstance(a, list) and bool(a)

    known = b.pick(is_sequence)
    roll = b.rng.random()
    if known is None or roll < 0.2:
        x = b.floats(1, 4)
        if x is None:
            return None
        if b.rng.random() < 0.5:
            return b.one("SequenceConstruct", x, b.floats(1, 4), b.floats(1, 4))
        at = axis_of(b, b.first(x).ndim)
        if b.rng.random() < 0.3:
            return b.one("SplitToSequence", x, axis=at, keepdims=b.rng.randint(0, 1))
        lengths = b.constant(b.rng.randint(1, 3)) if b.rng.random() < 0.5 else size(b)
        return b.one("SplitToSequence", x, lengths, axis=at)
    if roll < 0.35:
        return b.one("SequenceLength", known)
    if roll < 0.6:
        return b.one("SequenceAt", known, b.constant(b.rng.randint(-2, 2)) if b.rng.random() < 0.7 else size(b))
    if roll < 0.75:
        extra = [b.constant(b.rng.randint(-1, 1))] if b.rng.random() < 0.5 else []
        return b.one("SequenceInsert", known, b.floats(1, 4), *extra)
    if roll < 0.85:
        return b.one("SequenceErase", known, *([b.constant(b.rng.randint(-1, 0))] if b.rng.random() < 0.7 else []))
    return b.one("ConcatFromSequence", known, axis=b.rng.randint(-1, 1), new_axis=b.rng.choice((0, 0, 1)))
