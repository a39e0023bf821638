"""Random dynamic graphs whose rows are independent, with the idioms that a static export folds into constants.

Each value has the sizes that its axes are products of, so that any move knows what it may do: axes are merged and cut
again at their factors, nothing sums or sorts over the batch, and constants follow the sizes at run time, as exporters
write it: Shape, arithmetic, Range, Expand, Concat. Numbers of the network are often equal to the old sizes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

OPSET: Final = 18
TABLE: Final = 40
"""Rows of tables of positions."""
_MOST: Final = 4000
"""Elements of a value at the old sizes."""


class Size(NamedTuple):
    """A size of the inputs, and a number that was added to it."""

    symbol: str
    plus: int = 0

    def at(self, sizes: Mapping[str, int]) -> int:
        return sizes[self.symbol] + self.plus


Factor: TypeAlias = "int | Size"
Axis: TypeAlias = "tuple[Factor, ...]"
BATCH: Final = Size("batch")
SEQ: Final = Size("seq")


class Value(NamedTuple):
    """A float value with the factors of its axes, the outermost first."""

    name: str
    axes: tuple[Axis, ...]

    def shape(self, sizes: Mapping[str, int]) -> list[int]:
        return [number_of(axis, sizes) for axis in self.axes]


def number_of(axis: Axis, sizes: Mapping[str, int]) -> int:
    return int(np.prod([factor if isinstance(factor, int) else factor.at(sizes) for factor in axis], dtype=int))


def has(axis: Axis, symbol: str) -> bool:
    return any(isinstance(factor, Size) and factor.symbol == symbol for factor in axis)


def has_no_batch(axis: Axis) -> bool:
    return not has(axis, "batch")


def is_alone(axis: Axis) -> bool:
    return len(axis) == 1 and has_no_batch(axis)


def is_number(axis: Axis) -> bool:
    return len(axis) == 1 and isinstance(axis[0], int)


def replaced(value: Value, at: int, *axes: Axis) -> tuple[Axis, ...]:
    return (*value.axes[:at], *axes, *value.axes[at + 1 :])


class RowGraph:
    """A graph that grows move by move.

    old     the sizes at which it will be made static; numbers are often equal to them
    inputs  name -> the factors of its axes
    """

    def __init__(self, seed: int, old: Mapping[str, int], *, time_first: bool = False) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.old = dict(old)
        self.nodes: list[Any] = []
        self.tensors: list[TensorProto] = []
        self.moves: list[str] = []
        width = self.number()
        order: list[Axis] = [(SEQ,), (BATCH,)] if time_first else [(BATCH,), (SEQ,)]
        self.inputs: dict[str, tuple[Axis, ...]] = {"x": (*order, (width,))}
        self.sources = {"batch": ("x", order.index((BATCH,))), "seq": ("x", order.index((SEQ,)))}
        if self.random.random() < 0.5:
            self.inputs["mask"] = ((BATCH,), (SEQ,))
        if self.random.random() < 0.3:
            self.inputs["ids"] = ((BATCH,), (SEQ,))

    def number(self) -> int:
        """A size of the network."""
        return self.random.choice((2, 3, 4, 4, 6, self.old["batch"], self.old["seq"]))

    # nodes

    def op(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, names[0], **attributes))
        return names[-1]

    def constant(self, array: Any, kind: type[np.generic] = np.int64) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def weights(self, *shape: int) -> str:
        return self.constant(np.round(self.numbers.standard_normal(shape), 2), np.float32)

    def size(self, factor: Factor) -> str:
        """A size, as a vector of one element."""
        if isinstance(factor, int):
            return self.constant([factor])
        name, axis = self.sources[factor.symbol]
        found = self.op("Shape", name, start=axis, end=axis + 1)
        return found if not factor.plus else self.op("Add", found, self.constant([factor.plus]))

    def product(self, axis: Axis) -> str:
        """The size of an axis, as a vector of one element."""
        found = [self.size(factor) for factor in axis] or [self.constant([1])]
        name = found[0]
        for each in found[1:]:
            name = self.op("Mul", name, each)
        return name

    def shape(self, axes: Sequence[Axis]) -> str:
        return self.op("Concat", *(self.product(axis) for axis in axes), axis=0)

    def reshape(self, value: str, axes: Sequence[Axis]) -> Value:
        """A Reshape to computed sizes, one of which may be -1."""
        parts = [self.product(axis) for axis in axes]
        if parts and self.random.random() < 0.5:
            parts[self.random.randrange(len(parts))] = self.constant([-1])
        target = self.op("Concat", *parts, axis=0) if parts else self.constant([])
        return Value(self.op("Reshape", value, target), tuple(axes))

    def range(self, axis: Axis) -> str:
        """0, 1, 2, ... up to the size of an axis."""
        end = self.op("Squeeze", self.product(axis), self.constant([0]))
        return self.op("Range", self.constant(0), end, self.constant(1))

    def along(self, vector: str, axis: int, rank: int) -> str:
        """A vector as a tensor whose other axes are 1."""
        others = [each for each in range(rank) if each != axis]
        return self.op("Unsqueeze", vector, self.constant(others)) if others else vector

    def floats(self, value: str) -> str:
        return self.op("Cast", value, to=TensorProto.FLOAT)

    # choices

    def axis(self, value: Value, fits: Callable[[Axis], bool]) -> int | None:
        found = [at for at, axis in enumerate(value.axes) if fits(axis)]
        return self.random.choice(found) if found else None

    def grow(self, value: Value, moves: Mapping[str, Callable[[RowGraph, Value], Value | None]], steps: int) -> Value:
        names = list(moves)
        while steps:
            name = self.random.choice(names)
            count, tensors = len(self.nodes), len(self.tensors)
            found = moves[name](self, value)
            if found is None or np.prod(found.shape(self.old)) > _MOST or len(found.axes) > 6:
                del self.nodes[count:], self.tensors[tensors:]
                continue
            self.moves.append(name)
            value, steps = found, steps - 1
        return value

    # the result

    def model(self, values: Sequence[Value]) -> ModelProto:
        kinds = {"ids": TensorProto.INT64}
        inputs = [
            helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), [_text(axis) for axis in axes])
            for name, axes in self.inputs.items()
        ]
        ends = {f"y{at}": value for at, value in enumerate(values)}
        self.nodes += [helper.make_node("Identity", [value.name], [end]) for end, value in ends.items()]
        outputs = [
            helper.make_tensor_value_info(end, TensorProto.FLOAT, [None] * len(value.axes))
            for end, value in ends.items()
        ]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def feeds(self, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
        numbers = np.random.default_rng(seed)
        found: dict[str, Any] = {}
        for name, axes in self.inputs.items():
            shape = [number_of(axis, sizes) for axis in axes]
            if name == "ids":
                found[name] = numbers.integers(0, 5, shape)
            elif name == "mask":
                found[name] = numbers.integers(0, 2, shape).astype(np.float32)
            else:
                found[name] = numbers.standard_normal(shape).astype(np.float32)
        return found

    def names(self, symbols: Sequence[str]) -> list[str]:
        """The `--dim` options that name the symbols."""
        return [
            f"{name}.{at}={symbol}"
            for name, axes in self.inputs.items()
            for at, axis in enumerate(axes)
            for symbol in symbols
            if axis == (Size(symbol),)
        ]


def _text(axis: Axis) -> str | int:
    (factor,) = axis
    return factor if isinstance(factor, int) else factor.symbol
