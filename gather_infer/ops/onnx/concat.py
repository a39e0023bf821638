"""Rules of Concat and Split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.operands import (
    Values,
    all_ints,
    element_dim,
    elements_of_vector,
    joint_range,
    moved,
    replaced,
    static_shape,
    tracked_values,
    values_or_unknown,
)
from gather_infer.ops.semantics.preconditions import normalize_axis, require_same_dtype
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, ceildiv, floordiv, total
from gather_infer.tensor import MAX_VALUES, Shape, SymbolicTensor, format_shape
from gather_infer.value_ranges import needs_range

rules = RuleSet("")


@rules.rule("Concat", since=1)
def onnx_concat_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Concat.html (version 1: axis is 1 by default)"""
    return [concat(op, _tensors(op), axis=op.attr("axis", 1))]


@rules.rule("Concat", since=4)
def onnx_concat(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Concat.html (version 4: axis is required; 11: axis may be negative)"""
    axis = op.attr("axis")
    if axis is None:
        raise SpecViolation("attribute axis is missing", "GI106")
    return [concat(op, _tensors(op), axis=axis)]


def _tensors(op: OpCall) -> list[SymbolicTensor]:
    if not op.inputs:
        raise SpecViolation("at least one input is needed", "GI107")
    return [op.tensor(i) for i in range(len(op.inputs))]


def concat(op: OpCall, inputs: Sequence[SymbolicTensor], *, axis: int) -> SymbolicTensor:
    """Concatenation of the inputs along `axis`.

    inputs  [d0, ..., dr-1], r >= 1, equal except for the dim at axis
    result  the common dims; at axis the sum of the dims of the inputs

    Raises SpecViolation when `axis` is outside [-r, r-1], element types or ranks differ, or dims of another axis can
    never be equal.
    """
    dtype = require_same_dtype("the inputs", *inputs)
    ranked = [tensor.shape for tensor in inputs if tensor.shape is not None]
    if not ranked:
        return SymbolicTensor(dtype, None, None, joint_range(op, inputs))
    shape = stacked(op, ranked, axis)
    if len(ranked) < len(inputs):
        axis = normalize_axis(axis, len(shape))
        length = op.fresh("the rank of an input is not known")
        return SymbolicTensor(dtype, replaced(shape, axis, length), None, joint_range(op, inputs))
    values = _joined(inputs, shape, axis)
    return SymbolicTensor(dtype, shape, values, joint_range(op, inputs) if needs_range(values) else None)


def stacked(op: OpCall, shapes: Sequence[Shape], axis: int) -> Shape:
    """The shape of the concatenation of tensors of `shapes`; see `concat`."""
    first = shapes[0]
    axis = normalize_axis(axis, len(first))
    for shape in shapes[1:]:
        if len(shape) != len(first):
            raise SpecViolation(
                f"the inputs must have one rank, have shapes {format_shape(first)} and {format_shape(shape)}", "GI212"
            )
    result: list[Dim] = []
    for i, dim in enumerate(first):
        if i == axis:
            result.append(total(shape[i] for shape in shapes))
            continue
        for shape in shapes[1:]:
            dim = op.require_equal(dim, shape[i], f"dims of axis {i}, other than the concat axis {axis},")
        result.append(dim)
    return tuple(result)


def _joined(inputs: Sequence[SymbolicTensor], shape: Shape, axis: int) -> Values | None:
    static = static_shape(shape)
    if static is None or all(tensor.values is None for tensor in inputs):
        return None
    parts = [values_or_unknown(tensor) for tensor in inputs]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or sum(part.size for part in known) > MAX_VALUES:
        return None
    others = [replaced(part.shape, axis) for part in known]
    if any(other != others[0] for other in others):
        return None
    return tracked_values(np.concatenate(known, axis), shape)


@rules.rule("Split", since=1, moves=0)
def onnx_split_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Split.html (version 1: lengths are an attribute or an input)"""
    if op.has(1):
        return split(op, op.tensor(0), elements_of_vector(op, op.tensor(1), "split"), axis=op.attr("axis", 0))
    return _split_by_attribute(op)


@rules.rule("Split", since=2, moves=0)
def onnx_split_2(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Split.html

    Version 2: lengths are an attribute. From version 11 on, axis may be negative.
    """
    return _split_by_attribute(op)


def _split_by_attribute(op: OpCall) -> list[SymbolicTensor]:
    lengths = op.attr("split")
    if lengths is None:
        return split_evenly(op, op.tensor(0), axis=op.attr("axis", 0))
    return split(op, op.tensor(0), list(lengths), axis=op.attr("axis", 0))


@rules.rule("Split", since=13, moves=0, operands={1: "lengths >= 0 that add up to the dim"}, dims=(1,))
def onnx_split_13(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Split.html (version 13: lengths are an input)"""
    return _split_by_input(op)


def _split_by_input(op: OpCall) -> list[SymbolicTensor]:
    if not op.has(1):
        return split_evenly(op, op.tensor(0), axis=op.attr("axis", 0))
    return split(op, op.tensor(0), elements_of_vector(op, op.tensor(1), "split"), axis=op.attr("axis", 0))


@rules.rule("Split", since=18, moves=0, operands={1: "lengths >= 0 that add up to the dim"}, dims=(1,))
def onnx_split(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Split.html (version 18 adds num_outputs: the last part may be smaller)

    Raises SpecViolation when both split and num_outputs are given, or num_outputs is not the number of outputs.
    """
    parts = op.attr("num_outputs")
    if parts is None:
        return _split_by_input(op)
    if op.has(1):
        raise SpecViolation("either input split or attribute num_outputs may be given, found both")
    if parts < 1:
        raise SpecViolation(f"num_outputs must be >= 1, is {parts}")
    if parts != len(op.outputs):
        raise SpecViolation(f"num_outputs is {parts}, the node has {len(op.outputs)} outputs")
    return split_evenly(op, op.tensor(0), axis=op.attr("axis", 0), uneven=True)


def split_evenly(op: OpCall, data: SymbolicTensor, *, axis: int, uneven: bool = False) -> list[SymbolicTensor]:
    """Split `data` along `axis` into n parts of equal length, one per output of the node.

    uneven   round the length up and give the last part the remainder

    Raises SpecViolation when n does not divide the dim at `axis` and `uneven` is not set, or the remainder is negative.
    """
    n = len(op.outputs)
    if data.shape is None:
        return [moved(op, data, None) for _ in range(n)]
    axis = normalize_axis(axis, len(data.shape))
    dim = data.shape[axis]
    if uneven and n > 1:
        length = ceildiv(dim, n, op.scope)
        last = floordiv(dim, 2, op.scope) if n == 2 else dim - length * (n - 1)
        message = f"dim {dim} of axis {axis} cannot be split into {n} parts of {length} and a last one"
        op.require((0, "<=", last), otherwise=message)
        return _parts(op, data, [length] * (n - 1) + [last], axis)
    length = floordiv(dim, n, op.scope)
    op.require((dim, "==", length * n), otherwise=f"dim {dim} of axis {axis} cannot be split into {n} equal parts")
    return _parts(op, data, [length] * n, axis)


def split(op: OpCall, data: SymbolicTensor, lengths: Sequence[Dim | None] | None, *, axis: int) -> list[SymbolicTensor]:
    """Split `data` along `axis` into parts of `lengths`, one per output of the node.

    lengths   None for an unknown length; `lengths` is None when all are unknown

    Raises SpecViolation when a length is negative, the number of lengths differs from the number of outputs, or the
    lengths do not add up to the dim at `axis`.
    """
    n = len(op.outputs)
    if lengths is None:
        lengths = [None] * n
    if len(lengths) != n:
        raise SpecViolation(f"split has {len(lengths)} lengths, the node has {n} outputs")
    if data.shape is None:
        return [moved(op, data, None) for _ in range(n)]
    axis = normalize_axis(axis, len(data.shape))
    return _parts(op, data, split_lengths(op, lengths, data.shape[axis], axis), axis)


def split_lengths(op: OpCall, lengths: Sequence[Dim | None], dim: Dim, axis: int) -> list[Dim]:
    """Replace each unknown length (None) in `lengths`, and require that all are >= 0 and add up to `dim`.

    A single unknown length becomes the rest of `dim`; several become new symbols.

    Raises SpecViolation when the known lengths can never satisfy the requirement.
    """
    unknown = [i for i, length in enumerate(lengths) if length is None]
    known = [element_dim(op, e, "a length of split") for e in lengths if e is not None]
    rest = dim - total(known)
    if not unknown:
        message = f"split adds up to {total(known)}, dim of axis {axis} is {dim}"
        op.require((dim, "==", total(known)), otherwise=message)
        return known
    op.require((0, "<=", rest), otherwise=f"split adds up to {total(known)}, more than {dim}, the dim of axis {axis}")
    dims = [op.fresh("a length of split is not known") if e is None else e for e in lengths]
    if len(unknown) == 1:
        dims[unknown[0]] = rest
    return dims


def _parts(op: OpCall, data: SymbolicTensor, lengths: Sequence[Dim], axis: int) -> list[SymbolicTensor]:
    assert data.shape is not None
    pieces: list[Values | None] = [None] * len(lengths)
    sizes = all_ints(lengths)
    if data.values is not None and sizes is not None:
        ends = np.cumsum(sizes)[:-1].tolist()
        pieces = list(np.split(data.values, ends, axis))
    return [
        moved(op, data, replaced(data.shape, axis, length), piece)
        for length, piece in zip(lengths, pieces, strict=True)
    ]
