"""Concatenation and splitting of tensors, and packing of strings.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from onnx import TensorProto

from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import MAX_GENERATED, LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import as_int64, known_axis, vector
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_LOWEST: Final = int(np.iinfo(np.int64).min)


@lowers("Concat", preserves_failures=True)
def concat(op: LayerView, g: FunctionBuilder) -> str:
    """concat-1: ONNX's Concat of all inputs along `axis`."""
    return g.Concat(*(op.x(i) for i in range(len(op.names))), axis=op.integer("axis"))


@lowers("ConcatParts")
def concat_parts(op: LayerView, g: FunctionBuilder) -> str:
    """ConcatParts, which the IR reader adds: the outputs of all iterations of a loop, joined by Transpose and Reshape.

    parts   [trips, d0, ..., dr-1]
    output  [d0, ..., trips * d_axis, ..., dr-1]; with `reverse`, the output of the last iteration comes first
    """
    parts, rank = op.x(0), op.rank(0) - 1
    axis = op.normalized_axis(op.integer("axis"), rank)
    if op.flag("reverse", False):
        parts = g.Slice(parts, g.i64(-1), g.i64(_LOWEST), g.i64(0), g.i64(-1))
    moved = g.transpose(parts, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    size = op.size(0, axis + 1)
    trips = g.dim(op.x(0), 0)
    joined = trips if size == 1 else g.Mul(trips, g.dim(op.x(0), axis + 1))
    before = [g.dims(op.x(0), 1, axis + 1)] if axis else []
    after = [g.dims(op.x(0), axis + 2)] if axis + 1 < rank else []
    return g.Reshape(moved, g.concat(*before, joined, *after), allowzero=1)


@lowers("Split", preserves_failures=True)
def split(op: LayerView, g: FunctionBuilder) -> Sequence[str]:
    """split-1: Split into `num_splits` parts of equal length."""
    count = op.integer("num_splits", lower=1, upper=MAX_GENERATED)
    axis = known_axis(op, 1)
    size = op.size(0, axis) if op.has_rank(0) else None
    if size is not None and size % count:
        raise SpecViolation(f"{size} elements along axis {axis} do not make {count} equal parts", "GI301")
    if count == 1:
        return [op.x(0)]
    # with num_outputs, onnxruntime fails for an axis without elements
    part = g.i64(size // count) if size is not None else g.Div(g.dim(op.x(0), axis), g.i64(count))
    return g.node("Split", (op.x(0), g.concat(*[part] * count)), count, axis=axis)


@lowers("VariadicSplit")
def variadic_split(op: LayerView, g: FunctionBuilder) -> Sequence[str]:
    """variadic-split-1: Split into parts of the lengths in the third input; a length -1 is the remaining length."""
    axis = known_axis(op, 1)
    return g.node("Split", (op.x(0), _lengths(op, g, axis)), op.outputs, axis=axis)


def _lengths(op: LayerView, g: FunctionBuilder, axis: int) -> str:
    lengths = op.ints(2)
    whole = g.dim(op.x(0), axis)
    if lengths is None:
        computed = vector(op, g, 2)
        given = g.ReduceSum(computed, g.i64(0), keepdims=1)
        rest = g.Sub(whole, g.Add(given, g.i64(1)))
        return g.Where(g.Less(computed, g.i64(0)), rest, computed)
    if lengths.count(-1) > 1 or min(lengths, default=0) < -1:
        raise SpecViolation(f"split_lengths = {lengths} have to be 0 or more, and -1 at most once", "GI106")
    if -1 not in lengths:
        return g.i64(*lengths)
    size, given_length = op.size(0, axis) if op.has_rank(0) else None, sum(lengths) + 1
    if size is not None:
        return g.i64(*(size - given_length if length == -1 else length for length in lengths))
    rest = g.Sub(whole, g.i64(given_length)) if given_length else whole
    place = lengths.index(-1)
    parts = (
        [g.i64(*lengths[:place])] * (place > 0) + [rest] + [g.i64(*lengths[place + 1 :])] * (place + 1 < len(lengths))
    )
    return g.concat(*parts)


@lowers("StringTensorPack", since=15, opset=20)
def string_tensor_pack(op: LayerView, g: FunctionBuilder) -> str:
    """type/string-tensor-pack-15: a Loop that appends one character at a time to all strings by StringConcat.

    begins, ends  [d0, ...], integers
    symbols       [count], bytes
    output        [d0, ...], strings, each of the bytes symbols[begin:end]

    ONNX has no cast from bytes to strings.
    """
    begins, ends = as_int64(op, g, 0), as_int64(op, g, 1)
    letters = g.tensor(
        TensorProto(dims=[256], data_type=TensorProto.STRING, string_data=[bytes([b]) for b in range(256)])
    )
    empty = g.tensor(TensorProto(dims=[], data_type=TensorProto.STRING, string_data=[b""]))
    # an extra element, so that a Gather for finished strings stays in bounds
    symbols = g.Concat(g.Cast(op.x(2), to=int(DType.INT64)), g.i64(0), axis=0)
    longest = g.ReduceMax(g.Concat(g.as_vector(g.Sub(ends, begins)), g.i64(0), axis=0), g.i64(0), keepdims=0)

    def append(body: FunctionBuilder, names: tuple[str, ...]) -> list[tuple[str, DType]]:
        count, goes_on, texts = names
        place = body.Add(begins, count)
        inside = body.Less(place, ends)
        byte = body.Gather(symbols, body.Where(inside, place, body.scalar(0, DType.INT64)), axis=0)
        letter = body.Where(inside, body.Gather(letters, byte, axis=0), empty)
        return [(goes_on, DType.BOOL), (body.StringConcat(texts, letter), DType.STRING)]

    inputs: list[tuple[DType, int | None]] = [(DType.INT64, 0), (DType.BOOL, 0), (DType.STRING, op.rank(0))]
    loop = g.graph("append", inputs, append)
    first = g.Expand(empty, g.Shape(begins))
    (texts,) = g.node("Loop", (longest, g.scalar(True, DType.BOOL), first), body=loop)
    return g.Reshape(texts, g.Shape(begins), allowzero=1)
