"""Random concrete calls of the element-by-element, reducing and selecting operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SIGNED = (np.int32, np.int64)
NARROW = (np.int8, np.uint8, np.int16, np.uint16)
INTEGERS = (*SIGNED, np.int64, *NARROW, np.uint32, np.uint64)
FLOATS = (np.float32, np.float32, np.float64, np.float16)


@dataclass
class Case:
    """One node with concrete inputs; None for an input that is left out."""

    op_type: str
    version: int
    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1

    def __str__(self) -> str:
        given = ", ".join("-" if x is None else f"{x.dtype}{list(x.shape)}={x.tolist()}" for x in self.inputs)
        return f"{self.op_type}-{self.version}({given}) {self.attributes}"


def shape(r: random.Random, most_rank: int = 3, sizes: tuple[int, ...] = (1, 2, 3, 2, 3, 0)) -> tuple[int, ...]:
    return tuple(r.choice(sizes) for _ in range(r.randint(0, most_rank)))


def partner(r: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with `dims`."""
    kept = dims[r.randint(0, len(dims)) :] if r.random() < 0.5 else dims
    out = tuple(1 if r.random() < 0.3 else d for d in kept)
    return (r.choice((1, 2)), *out) if r.random() < 0.15 else out


def array(r: random.Random, dims: tuple[int, ...], dtype: Any, low: int = -9, high: int = 9) -> Array:
    kind = np.dtype(dtype)
    count = int(np.prod(dims))
    if kind == np.bool_:
        return np.array([r.random() < 0.5 for _ in range(count)], dtype=bool).reshape(dims)
    if kind.kind == "f":
        pool = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 1e3, 0.1, -7.0, 3.0, 2.0, 16.0]
        numbers = [r.choice(pool) if r.random() < 0.5 else float(r.randint(low, high)) for _ in range(count)]
        return np.array(numbers, dtype=kind).reshape(dims)
    info = np.iinfo(kind)
    special = [0, 1, int(info.max), int(info.min)]
    numbers = [
        r.choice(special) if r.random() < 0.05 else r.randint(max(low, int(info.min)), high) for _ in range(count)
    ]
    return np.array(numbers, dtype=kind).reshape(dims)


def _pair(r: random.Random, dtype: Any) -> list[Array]:
    dims = shape(r)
    pair = [array(r, dims, dtype), array(r, partner(r, dims), dtype)]
    r.shuffle(pair)
    return pair


def _nonzero(x: Array) -> Array:
    return np.where(x == 0, np.array(2, x.dtype), x).astype(x.dtype)


def arithmetic(r: random.Random) -> Case:
    op_type = r.choice(["Add", "Sub", "Mul", "Div", "Mod", "FMod", "Pow", "Min", "Max", "Sum", "Clip", "BitShift",
                        "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Neg", "Abs", "Sign"])  # fmt: skip
    if op_type in ("Add", "Sub", "Mul", "Min", "Max"):
        inputs: list[Array | None] = list(_pair(r, r.choice(INTEGERS + FLOATS)))
        if op_type in ("Min", "Max") and r.random() < 0.3:
            inputs.append(array(r, (1,), inputs[0].dtype))
        return Case(op_type, r.choice((8, 13, 14)) if inputs[0].dtype.kind == "f" else 14, inputs)
    if op_type in ("Div", "Mod", "FMod"):
        dtype = r.choice(INTEGERS if op_type != "Div" else INTEGERS + FLOATS)
        a, b = _pair(r, dtype)
        if dtype in (np.int8, np.int16, np.int32, np.int64):
            a = np.where(a == np.iinfo(dtype).min, np.array(5, dtype), a).astype(dtype)  # least / -1 traps
        attributes = {"Mod": {"fmod": 0}, "FMod": {"fmod": 1}, "Div": {}}[op_type]
        return Case(
            op_type.replace("FMod", "Mod"), 14, [a, _nonzero(b) if np.dtype(dtype).kind != "f" else b], attributes
        )
    if op_type == "Pow":
        x = array(r, shape(r), r.choice((np.int32, np.int64, np.float32)), -4, 4)
        return Case("Pow", 15, [x, array(r, (), r.choice((np.int64, np.float32, np.int32)), 0, 3)])
    if op_type == "Sum":
        return Case("Sum", 13, [*_pair(r, np.float32)])
    if op_type == "Clip":
        dtype = r.choice((np.int64, np.int32, np.float32, np.int8, np.uint64))
        limits = [array(r, (), dtype) if r.random() < 0.7 else None for _ in range(2)]
        return Case("Clip", 13, [array(r, shape(r), dtype), *limits])
    if op_type == "BitShift":
        dtype = r.choice((np.uint8, np.uint32, np.uint64))
        x, y = (array(r, (3,), dtype, 0, 200) for _ in range(2))
        return Case("BitShift", 11, [x, (y % 7).astype(dtype)], {"direction": r.choice(["LEFT", "RIGHT"])})
    dtype = r.choice(INTEGERS if op_type.startswith("Bitwise") else SIGNED + FLOATS + (np.int8,))
    if op_type in ("BitwiseNot", "Neg", "Abs", "Sign"):
        return Case(op_type, 18, [array(r, shape(r), dtype)])
    return Case(op_type, 18, [*_pair(r, dtype)])


def logic(r: random.Random) -> Case:
    op_type = r.choice(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Not",
                        "Where", "Where", "Where", "IsNaN", "IsInf"])  # fmt: skip
    if op_type in ("And", "Or", "Xor"):
        return Case(op_type, 7, [*_pair(r, np.bool_)])
    if op_type == "Not":
        return Case("Not", 1 + 12, [array(r, shape(r), np.bool_)])
    if op_type in ("IsNaN", "IsInf"):
        x = array(r, shape(r), np.float32)
        return Case(op_type, 13, [np.where(x == 3, np.float32(np.nan), np.where(x == 2, np.float32(np.inf), x))])
    if op_type == "Where":
        dtype = r.choice((np.int64, np.int64, np.int32, np.float32, np.uint8))
        dims = shape(r)
        return Case("Where", 16, [array(r, partner(r, dims), np.bool_), array(r, dims, dtype),
                                  array(r, partner(r, dims)[-len(dims) or 99 :], dtype)])  # fmt: skip
    return Case(op_type, 16, [*_pair(r, r.choice((np.int64, np.int64, np.int32, np.float32, np.float64)))])


ONNX_TYPES = {np.float32: 1, np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5, np.int32: 6, np.int64: 7,
              np.bool_: 9, np.float16: 10, np.float64: 11, np.uint32: 12, np.uint64: 13}  # fmt: skip


def cast(r: random.Random) -> Case:
    source, target = r.choice(list(ONNX_TYPES)), r.choice(list(ONNX_TYPES))
    wide = 2 ** r.choice((3, 3, 9, 20, 26, 33, 40)) if source in (np.int64, np.float64) else 100
    x = array(r, shape(r), source, -wide, wide)
    return Case("Cast", 13, [x], {"to": ONNX_TYPES[target]})


def unary(r: random.Random) -> Case:
    op_type = r.choice(
        ["Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Relu", "Exp", "Softmax", "Identity", "Dropout"]
    )
    dtype = r.choice((np.float32, np.float64)) if op_type != "Relu" else r.choice((np.float32, np.int32, np.int8))
    x = array(r, shape(r), dtype)
    if op_type == "Softmax":
        x = array(r, (2, *shape(r, 2)), np.float32)
        return Case(op_type, 13, [x], {"axis": r.randint(-x.ndim, x.ndim - 1)})
    if op_type == "Dropout":
        return Case(op_type, 13, [x], {}, 2)
    return Case(op_type, 14, [x])


REDUCTIONS = ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2",
              "ReduceSumSquare"]  # fmt: skip


def reduction(r: random.Random) -> Case:
    op_type = r.choice([*REDUCTIONS, "ArgMax", "ArgMin", "CumSum", "CumSum"])
    dtype = r.choice((np.int32, np.int64, np.float32))
    sizes = (1, 2, 3, 2, 3) if op_type.startswith("Arg") or r.random() < 0.8 else (0, 1, 2)
    x = array(r, (r.choice(sizes), *shape(r, 2, sizes)), dtype)
    axis = r.randint(-x.ndim, x.ndim - 1)
    if op_type.startswith("Arg"):
        return Case(op_type, 13, [x], {"axis": axis, "keepdims": r.randint(0, 1), "select_last_index": r.randint(0, 1)})
    if op_type == "CumSum":
        chosen = np.array(axis, dtype=r.choice(SIGNED))
        return Case("CumSum", 14, [x, chosen], {"reverse": r.randint(0, 1), "exclusive": r.randint(0, 1)})
    axes = sorted(r.sample(range(x.ndim), r.randint(0, x.ndim)))
    # onnxruntime forgets to reduce an empty tensor along a negative axis.
    axes = [a - x.ndim if r.random() < 0.4 and x.size else a for a in axes]
    attributes: dict[str, Any] = {"keepdims": r.randint(0, 1)}
    since = 13 if op_type == "ReduceSum" else 18
    if r.random() < 0.4:
        version = r.choice((11, 13)) if op_type != "ReduceSum" else 11
        if op_type in ("ReduceMax", "ReduceMin"):
            version = 12
        return Case(op_type, version, [x], {**attributes, **({"axes": axes} if axes else {})})
    if r.random() < 0.3:
        attributes["noop_with_empty_axes"] = r.randint(0, 1)
    given = np.array(axes, dtype=np.int64) if axes or r.random() < 0.5 else None
    return Case(op_type, since, [x, given], attributes)


def selection(r: random.Random) -> Case:
    op_type = r.choice(["TopK", "TopK", "NonZero", "OneHot", "Unique", "ScatterND", "ScatterElements"])
    dtype = r.choice((np.int64, np.float32, np.int32))
    dims = (r.choice((1, 2, 3, 5)), *shape(r, 2, (1, 2, 3)))
    x = array(r, dims, dtype)
    if op_type == "TopK":
        axis = r.randint(-x.ndim, x.ndim - 1)
        k = np.array([r.randint(0, dims[axis])], dtype=np.int64)
        return Case("TopK", 11, [x, k], {"axis": axis, "largest": r.randint(0, 1)}, 2)
    if op_type == "NonZero":
        return Case("NonZero", 13, [array(r, dims, r.choice((np.int64, np.float32, np.bool_)), -1, 1)])
    if op_type == "OneHot":
        rank = x.ndim
        values = array(r, (2,), r.choice((np.int64, np.float32)))
        depth = np.array(r.randint(1, 6), dtype=np.int64)
        indices = array(r, dims, np.int64, -7, 7)
        return Case("OneHot", 11, [indices, depth, values], {"axis": r.randint(-rank - 1, rank)})
    if op_type == "Unique":
        attributes: dict[str, Any] = {"sorted": r.randint(0, 1)}
        if r.random() < 0.4:
            attributes["axis"] = r.randint(-x.ndim, x.ndim - 1)
        return Case("Unique", 11, [array(r, dims, np.int64, 0, 3)], attributes, 4)
    if op_type == "ScatterND":
        width = r.randint(1, x.ndim)
        lead = r.choice(((1,), (2,), (2, 2)))
        columns = [np.array([r.randint(-d, d - 1) for _ in range(int(np.prod(lead)))]) for d in dims[:width]]
        indices = np.stack(columns, axis=-1).reshape(*lead, width).astype(np.int64)
        reduced = r.random() < 0.4
        updates = array(r, (*lead, *dims[width:]), dtype)
        attributes = {"reduction": r.choice(["add", "mul", "max", "min"])} if reduced else {}
        return Case("ScatterND", 18, [x, indices, updates], attributes)
    axis = r.randrange(x.ndim)
    taken = tuple(r.randint(1, d) for d in dims)
    indices = np.array([r.randint(-dims[axis], dims[axis] - 1) for _ in range(int(np.prod(taken)))]).reshape(taken)
    attributes = {"axis": axis, **({"reduction": r.choice(["add", "max"])} if r.random() < 0.3 else {})}
    return Case("ScatterElements", 18, [x, indices.astype(r.choice(SIGNED)), array(r, taken, dtype)], attributes)


FAMILIES: dict[str, Callable[[random.Random], Case]] = {
    "arithmetic": arithmetic,
    "logic": logic,
    "cast": cast,
    "unary": unary,
    "reduction": reduction,
    "selection": selection,
}


def cases(family: str, count: int, seed: int) -> Iterator[Case]:
    """`count` calls of a family; the same for the same seed."""
    r = random.Random(f"{family} {seed}")
    for _ in range(count):
        yield FAMILIES[family](r)
