"""Seeded models of chains of integer operators into every kind of access, whose class is fixed by how they are built.

What is true of a model is worked out here from the numbers that it was built of, never by the package.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto

from tests.validate.access_models import I32, I64, Builder, F

OPSETS = 17, 23
"""Of most models, and of those that have RotaryEmbedding: onnxruntime has RoiAlign up to 21 only."""
SIZES = (1, 2, 3, 5, 9, 14)


@dataclass(frozen=True)
class Source:
    """An index, and what is true of it.

    kind      the class: proved, violated, sizes (a condition on sizes), elements (on elements), enough
    name      of the tensor, a vector of int64
    holds     for sizes: whether a run with these is in bounds; for enough: whether one surely is
    elements  for elements and enough: the input, and its first and last element in bounds
    """

    kind: str
    name: str
    holds: Callable[[Mapping[str, int]], bool] = lambda sizes: True
    elements: Mapping[str, Callable[[Mapping[str, int]], tuple[int, int]]] = field(default_factory=dict)


@dataclass
class Target:
    """An axis that is addressed: how long it is, and whether a negative index counts from its end."""

    rows: int | str
    from_end: bool

    @property
    def fewest(self) -> int:
        """As many rows as there surely may be."""
        return 4 if isinstance(self.rows, str) else self.rows

    def count(self, sizes: Mapping[str, int]) -> int:
        return sizes[self.rows] if isinstance(self.rows, str) else self.rows

    def least(self, sizes: Mapping[str, int]) -> int:
        return -self.count(sizes) if self.from_end else 0


def _range(b: Builder, start: str, end: str) -> str:
    return b.node("Range", start, end, b.constant(1))


def _vector(b: Builder, name: str) -> str:
    return b.node("Range", b.constant(0), b.length(b.input(name, F, [name.upper()])), b.constant(1))


def _length_of_table(b: Builder, target: Target) -> str:
    if isinstance(target.rows, str):
        return b.length(b.input("ruler", F, [target.rows]))
    return b.constant(target.rows)


# proved


def _clipped(b: Builder, t: Target) -> Source:
    assert isinstance(t.rows, int)
    low = b.choice.randint(-t.rows if t.from_end else 0, t.rows - 1)
    ids = b.input("ids", I64, ["S"])
    if b.choice.random() < 0.5:
        return Source("proved", b.node("Clip", ids, b.constant(low), b.constant(b.choice.randint(low, t.rows - 1))))
    return Source("proved", b.node("Max", b.node("Min", ids, b.constant(t.rows - 1)), b.constant(low)))


def _modulo(b: Builder, t: Target) -> Source:
    assert isinstance(t.rows, int)
    return Source("proved", b.node("Mod", b.input("ids", I64, ["S"]), b.constant(b.choice.randint(1, t.rows))))


def _hashed(b: Builder, t: Target) -> Source:
    """The buckets of CANINE: (ids + 1) * prime, modulo their number."""
    assert isinstance(t.rows, int)
    more = b.node("Add", b.input("ids", I64, ["S"]), b.constant(1))
    return Source("proved", b.node("Mod", b.node("Mul", more, b.constant(31)), b.constant(t.rows)))


def _constant(b: Builder, t: Target) -> Source:
    assert isinstance(t.rows, int)
    least = -t.rows if t.from_end else 0
    return Source("proved", b.constant([b.choice.randint(least, t.rows - 1) for _ in range(3)]))


def _rows(b: Builder, t: Target) -> Source:
    return Source("proved", _range(b, b.constant(0), _length_of_table(b, t)))


def _argmax(b: Builder, t: Target) -> Source:
    return Source("proved", b.node("ArgMax", b.input("scores", F, ["B", t.rows]), axis=1, keepdims=0))


def _found(b: Builder, t: Target) -> Source:
    found = b.node("NonZero", b.input("scores", F, ["B", t.rows]))
    return Source("proved", b.node("Gather", found, b.constant(1), axis=0))


def _relative(b: Builder, t: Target) -> Source:
    """Positions relative to each other, clipped at k both ways, into a table of 2*k + 1 rows or more."""
    assert isinstance(t.rows, int)
    k = (t.rows - 1) // 2
    positions = _vector(b, "seq")
    ahead = b.node("Unsqueeze", positions, b.constant([0]))
    apart = b.node("Sub", ahead, b.node("Unsqueeze", positions, b.constant([1])))
    limited = b.node("Clip", apart, b.constant(-k), b.constant(k))
    return Source("proved", b.node("Reshape", b.node("Add", limited, b.constant(k)), b.constant([-1])))


# violated


def _outside(b: Builder, t: Target) -> Source:
    assert isinstance(t.rows, int)
    least = -t.rows if t.from_end else 0
    bad = b.choice.choice([t.rows, t.rows + 3, least - 1, least - 7])
    return Source("violated", b.constant([bad] if b.choice.random() < 0.5 else [0, bad]))


def _past(b: Builder, t: Target) -> Source:
    return Source("violated", b.node("Unsqueeze", _length_of_table(b, t), b.constant([0])))


def _all_past(b: Builder, t: Target) -> Source:
    found = b.node("ArgMax", b.input("scores", F, ["B", t.rows]), axis=1, keepdims=0)
    return Source("violated", b.node("Add", found, _length_of_table(b, t)))


def _raised(b: Builder, t: Target) -> Source:
    assert isinstance(t.rows, int)
    return Source("violated", b.node("Max", b.input("ids", I64, ["S"]), b.constant(t.rows + b.choice.randint(0, 3))))


# a condition on sizes


def _positions(b: Builder, t: Target) -> Source:
    step, first = b.choice.randint(1, 3), b.choice.randint(0, min(3, t.fewest - 1))
    index = _vector(b, "seq")
    if step > 1:
        index = b.node("Mul", index, b.constant(step))
    index = b.node("Add", index, b.constant(first)) if first else index
    return Source("sizes", index, lambda n: step * (n["SEQ"] - 1) + first < t.count(n))


def _after_past(b: Builder, t: Target) -> Source:
    past = b.length(b.input("past", F, ["PAST"]))
    end = b.node("Add", past, b.length(b.input("seq", F, ["SEQ"])))
    return Source("sizes", _range(b, past, end), lambda n: n["PAST"] + n["SEQ"] <= t.count(n))


def _sliced(b: Builder, t: Target) -> Source:
    """A slice of constant positions, of which there are more than rows."""
    first = b.choice.randint(0, min(2, t.fewest - 1))
    known = b.constant(np.arange(first, first + 20)[None])
    size = b.node("Shape", b.input("seq", F, ["SEQ"]))
    part = b.node("Slice", known, b.constant([0]), size, b.constant([1]))
    index = b.node("Reshape", part, b.constant([-1]))
    return Source("sizes", index, lambda n: first + min(20, n["SEQ"]) - 1 < t.count(n))


def _grid(b: Builder, t: Target) -> Source:
    """Every i*k + j: the table of a window that slides."""
    k = b.choice.randint(1, 4)
    rows = b.node("Unsqueeze", b.node("Mul", _vector(b, "seq"), b.constant(k)), b.constant([1]))
    index = b.node("Add", rows, b.node("Unsqueeze", _vector(b, "wide"), b.constant([0])))
    flat = b.node("Reshape", index, b.constant([-1]))
    return Source("sizes", flat, lambda n: k * (n["SEQ"] - 1) + n["WIDE"] - 1 < t.count(n))


def _last(b: Builder, t: Target) -> Source:
    size = b.node("Shape", b.input("seq", F, ["SEQ"]))
    less = b.choice.randint(0, 1)
    return Source("sizes", b.node("Sub", size, b.constant([less])), lambda n: n["SEQ"] - less < t.count(n))


# a condition on elements


def _ids(b: Builder, t: Target) -> Source:
    name = b.input("ids", b.choice.choice([I64, I32]), ["S"])
    return Source("elements", name, elements={"ids": lambda n: (t.least(n), t.count(n) - 1)})


def _shifted(b: Builder, t: Target) -> Source:
    shift = b.choice.randint(-4, 4)
    ids = b.input("ids", I64, ["S"])
    name = b.node("Add", ids, b.constant(shift)) if b.choice.random() < 0.5 else b.node("Sub", ids, b.constant(-shift))
    return Source("elements", name, elements={"ids": lambda n: (t.least(n) - shift, t.count(n) - 1 - shift)})


def _wrapped(b: Builder, t: Target) -> Source:
    ids, rows = b.input("ids", I64, ["S"]), _length_of_table(b, t)
    name = b.node("Where", b.node("Less", ids, b.constant(0)), b.node("Add", ids, rows), ids)
    return Source("elements", name, elements={"ids": lambda n: (t.least(n) - t.count(n), t.count(n) - 1)})


def _from_zero(b: Builder, t: Target) -> Source:
    name = b.node("Max", b.input("ids", I64, ["S"]), b.constant(0))
    return Source("elements", name, elements={"ids": lambda n: (-(2**40), t.count(n) - 1)})


# enough, and more than is needed


def _counted(b: Builder, t: Target) -> Source:
    """Positions counted from a mask."""
    if t.fewest == 1:  # then a mask must not count
        return _digits(b, t)
    mask = b.input("mask", I64, ["B", "SEQ"])
    total = b.node("CumSum", mask, b.constant(1))
    if b.choice.random() < 0.5:
        total = b.node("Mul", total, mask)
    index = b.node("Reshape", total, b.constant([-1]))
    return Source("enough", index, lambda n: n["SEQ"] < t.count(n), {"mask": lambda n: (0, 1)})


def _digits(b: Builder, t: Target) -> Source:
    rows = t.fewest
    assert rows == t.rows, "of symbolic rows there are no factors"
    k = b.choice.choice([k for k in range(min(2, rows), rows + 1) if rows % k == 0])
    high = b.node("Mul", b.input("i", I64, ["S"]), b.constant(k))
    name = b.node("Add", high, b.input("j", I64, ["S"]))
    return Source("enough", name, elements={"i": lambda n: (0, rows // k - 1), "j": lambda n: (0, k - 1)})


STATIC: Mapping[str, tuple[Callable[[Builder, Target], Source], ...]] = {
    "proved": (_clipped, _modulo, _hashed, _constant, _relative, _rows, _argmax, _found),
    "violated": (_outside, _raised, _past, _all_past),
    "sizes": (_positions, _after_past, _sliced, _grid, _last),
    "elements": (_ids, _shifted, _wrapped, _from_zero),
    "enough": (_counted, _digits),
}
SYMBOLIC: Mapping[str, tuple[Callable[[Builder, Target], Source], ...]] = {
    "proved": (_rows, _argmax, _found),
    "violated": (_past, _all_past),
    "sizes": (_positions, _after_past, _sliced, _grid, _last),
    "elements": (_ids, _shifted, _wrapped, _from_zero),
    "enough": (_counted,),
}
KINDS = tuple(STATIC)


def _move(b: Builder, index: str, may_shift: bool) -> str:
    """The same elements, moved about; a vector of int64 again at the end.

    may_shift   also by a number there and back
    """
    for _ in range(b.choice.randint(0, 3)):
        match b.choice.randrange(7):
            case 6 if may_shift:
                number = b.constant(b.choice.randint(1, 9))
                index = b.node("Sub", b.node("Add", number, b.node("Cast", index, to=I64)), number)
            case 0:
                index = b.node("Identity", index)
            case 1:
                index = b.node("Reshape", b.node("Unsqueeze", index, b.constant([0])), b.constant([-1]))
            case 2:
                twice = b.node("Expand", b.node("Unsqueeze", index, b.constant([0])), b.constant([2, 1]))
                index = b.node("Reshape", b.node("Transpose", twice), b.constant([-1]))
            case 3:
                index = b.node("Slice", index, b.constant([0]), b.constant([2**62]))
            case 4:
                index = b.node("Tile", index, b.constant([2]))
            case _:
                index = b.node("Squeeze", b.node("Unsqueeze", index, b.constant([1])), b.constant([1]))
    return b.node("Cast", index, to=I64)


def _per_index(b: Builder, index: str, *shape: int) -> str:
    """Ones of [n, *shape], n the number of indices."""
    size = b.node("Shape", index)
    dims = b.node("Concat", size, b.constant(list(shape)), axis=0) if shape else size
    return b.node("Expand", b.constant(1.0, np.float32), dims)


# What is addressed, by its axis of `rows` rows: the shape of input `table`, and the nodes that address it.


def _gather(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    if b.choice.random() < 0.5:
        return b.node("Gather", "table", index), [rows, 2]
    return b.node("Gather", b.node("Transpose", "table"), index, axis=-1), [rows, 2]


def _gather_elements(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    return b.node("GatherElements", "table", index), [rows]


def _gather_nd(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    return b.node("GatherND", "table", b.node("Unsqueeze", index, b.constant([-1]))), [rows, 2]


def _scatter_elements(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    return b.node("ScatterElements", "table", index, _per_index(b, index)), [rows]


def _scatter_nd(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    tuples = b.node("Unsqueeze", index, b.constant([-1]))
    return b.node("ScatterND", "table", tuples, _per_index(b, index, 2)), [rows, 2]


def _feature(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    return b.node("ArrayFeatureExtractor", "table", index, domain="ai.onnx.ml"), [2, rows]


def _region(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    regions = _per_index(b, index, 4)
    return b.node("RoiAlign", "table", regions, index, output_height=1, output_width=1), [rows, 1, 4, 4]


def _rotation(b: Builder, index: str, rows: int | str) -> tuple[str, list[int | str]]:
    positions = b.node("Unsqueeze", index, b.constant([1]))
    x = _per_index(b, index, 1, 1, 4)
    domain = b.choice.choice(["", "com.microsoft"])
    operands = [x, "table", "table", positions] if domain == "" else [x, positions, "table", "table"]
    return b.node("RotaryEmbedding", *operands, domain=domain), [rows, 2]


ACCESSES: Mapping[Callable[[Builder, str, int | str], tuple[str, list[int | str]]], bool] = {
    _gather: True,
    _gather_elements: True,
    _gather_nd: True,
    _scatter_elements: True,
    _scatter_nd: True,
    _feature: False,
    _region: False,
    _rotation: False,
}
"""Each access, and whether it counts negative indices from the end."""


@dataclass(frozen=True)
class Truth:
    """A model, and what is true of the one access that its last nodes make."""

    model: ModelProto
    source: Source
    made_of: str
    access: str


def truth(seed: int) -> Truth:
    """The model of a seed; the classes take turns."""
    choice = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    access = choice.choice(list(ACCESSES))
    lengths: tuple[int | str, ...] = (1, 2, 5, 6, 9, "V", "V")
    rows = choice.choice(lengths)
    b = Builder(choice, rows)
    b.inputs["table"] = (F, [])
    target = Target(rows, ACCESSES[access])
    make = choice.choice((STATIC if isinstance(rows, int) else SYMBOLIC)[kind])
    source = make(b, target)
    # of Where(x < 0, x + rows, x) only that is followed, and no sum behind it
    index = _move(b, source.name, make is not _wrapped)
    result, shape = access(b, index, rows)
    b.inputs["table"] = (F, shape)
    model = b.model(f"seed_{seed}", result, {"": OPSETS[access is _rotation], "ai.onnx.ml": 3, "com.microsoft": 1}, 10)
    return Truth(model, source, make.__name__.strip("_"), access.__name__.strip("_"))
