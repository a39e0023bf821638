"""Tensor idioms for lowerings that work on tables of boxes, detections and regions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.tensor import DType

END = (1 << 63) - 1
"""An `end` for `axis_slice` that is past the end of any axis."""


def axis_slice(g: FunctionBuilder, x: str, start: int, end: int, axis: int) -> str:
    """x[start:end] along `axis`."""
    return g.Slice(x, g.i64(start), g.i64(end), g.i64(axis))


def axis_element(g: FunctionBuilder, x: str, index: int, axis: int) -> str:
    """x[index] along `axis`; the result does not have this axis."""
    return g.Gather(x, g.scalar(index, DType.INT64), axis=axis)


def iota(g: FunctionBuilder, size: str) -> str:
    """The int64 vector 0, 1, ..., size - 1; `size` names an int64 vector of one element."""
    zero, one = g.scalar(0, DType.INT64), g.scalar(1, DType.INT64)
    return g.Range(zero, g.as_scalar(size), one)


def shape_vector(g: FunctionBuilder, *parts: str | int) -> str:
    """An int64 vector that concatenates `parts`, each a number or the name of an int64 vector."""
    return g.concat(*(one if isinstance(one, str) else g.i64(one) for one in parts))


def dims(op: LayerView, g: FunctionBuilder, index: int, *axes: int) -> list[str | int]:
    """Dims of input `index` at `axes`: each a number if known, else the name of an int64 vector of one element."""
    known = [op.size(index, axis) for axis in axes]
    return [g.dim(op.x(index), axis) if size is None else size for axis, size in zip(axes, known, strict=True)]


def reshape(g: FunctionBuilder, x: str, *parts: str | int) -> str:
    """`x` reshaped to the dims `parts`, given as for `shape_vector`; to a scalar without `parts`.

    A part -1 is the dim that remains. Without -1, a dim of 0 means an empty axis.
    """
    if any(one == -1 for one in parts):
        return g.Reshape(x, shape_vector(g, *parts))
    return g.Reshape(x, shape_vector(g, *parts), allowzero=1) if parts else g.as_scalar(x)


def as_int64(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Integer input `index` cast to int64."""
    return g.cast(op.x(index), op.dtype(index), DType.INT64)


def as_float(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Input `index` cast to float32, the type that detection operators compute in."""
    return g.cast(op.x(index), op.dtype(index), DType.FLOAT32)


def argsort(g: FunctionBuilder, key: str, *, descending: bool = True, axis: int = 0) -> str:
    """The int64 indices that sort `key` along `axis`, by TopK; equal elements keep their order."""
    return g.node("TopK", (key, g.dim(key, axis)), 2, axis=axis, largest=int(descending))[1]


def loop(
    g: FunctionBuilder,
    times: str,
    state: list[tuple[str, DType, int]],
    step: Callable[[FunctionBuilder, str, tuple[str, ...]], tuple[list[str], str | None, list[tuple[str, DType]]]],
    results: int = 0,
) -> tuple[str, ...]:
    """Add a Loop; returns the final loop-carried values, then the scan outputs, stacked along a new first axis.

    times    maximum trip count, int64 scalar
    state    initial value, element type and rank of each loop-carried value
    step     adds the nodes of the body, given its builder, the iteration number and the carried values; returns the
             next carried values, the condition to continue (None: true), and name and type of each scan output
    results  number of scan outputs
    """

    def write(body: FunctionBuilder, names: tuple[str, ...]) -> list[tuple[str, DType]]:
        after, going, given = step(body, names[0], names[2:])
        kinds = [dtype for _, dtype, _ in state]
        return [(going or names[1], DType.BOOL), *zip(after, kinds, strict=True), *given]

    inputs: list[tuple[DType, int | None]] = [(DType.INT64, 0), (DType.BOOL, 0)]
    body = g.graph("step", [*inputs, *((dtype, rank) for _, dtype, rank in state)], write)
    start = [value for value, _, _ in state]
    return g.node("Loop", (times, g.scalar(True, DType.BOOL), *start), len(state) + results, body=body)


def product(g: FunctionBuilder, *parts: str | int) -> str | int:
    """The product of `parts`: a number if all are numbers, else the name of an int64 vector of one element."""
    known = prod(one for one in parts if isinstance(one, int))
    found = [one for one in parts if isinstance(one, str)]
    if not found:
        return known
    whole = found[0] if known == 1 else g.Mul(found[0], g.i64(known))
    for one in found[1:]:
        whole = g.Mul(whole, one)
    return whole
