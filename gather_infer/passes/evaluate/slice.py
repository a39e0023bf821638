"""Evaluators of Slice, Split and Concat: parts of a tensor along its axes, as views, and their concatenation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.input_checks import INDEX_TYPES, fits_initializer, numbers, require_same_type, sizes

evaluators = EvaluatorSet("")

_DISPUTED = (2**31 - 1, 2**63 - 1)
"""Ends of a backward slice that mean "to the front" in onnxruntime, and the last element in the specification."""


@evaluators.evaluates("Slice")
def _slice_1(call: Evaluation) -> list[Constant] | None:
    """Slice before version 10: `starts`, `ends`, `axes` are attributes, and steps are 1. None for a negative axis."""
    data, starts, ends = call.input(0), call.integers("starts"), call.integers("ends")
    if starts is None or ends is None:
        raise SpecViolation(f"attribute {'starts' if starts is None else 'ends'} is missing", "GI106")
    axes = call.integers("axes")
    if axes is not None and any(axis < 0 for axis in axes):
        return None
    return slice_axes(data, starts, ends, range(len(starts)) if axes is None else axes, [1] * len(starts))


@evaluators.evaluates("Slice", since=10)
def _slice(call: Evaluation) -> list[Constant] | None:
    """Slice from version 10 on: starts, ends, axes, steps are inputs of one type. From 11 on axes may be negative."""
    names = ("starts", "ends", "axes", "steps")
    given = [call.constant(i) if i > 2 else call.input(i) for i in range(1, 5)]
    require_same_type("starts, ends, axes and steps", *(tensor for tensor in given if tensor is not None))
    starts, ends, axes, steps = (
        None if tensor is None else numbers(tensor, name, INDEX_TYPES)
        for tensor, name in zip(given, names, strict=True)
    )
    is_scalar = any(tensor is not None and not tensor.bits.ndim for tensor in given)
    if starts is None or ends is None or is_scalar:
        return None
    axes = list(range(len(starts))) if axes is None else axes
    if call.version < 11 and any(axis < 0 for axis in axes):
        return None
    return slice_axes(call.input(0), starts, ends, axes, [1] * len(starts) if steps is None else steps)


def slice_axes(
    data: Constant, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> list[Constant] | None:
    """The elements start, start + step, ... before end of every axis in `axes`, as a view of `data`.

    A negative start or end counts from the end of the axis. With a step > 0 both are then clamped to [0, dim]. With a
    step < 0 start is clamped to [0, dim - 1], and end to [-1, dim - 1].

    None if an axis occurs twice, or if a backward slice ends at an element of `_DISPUTED`. None also if a backward
    slice starts before the first element: numpy returns no element, the specification the first one.

    Raises SpecViolation if the lists differ in length, an axis is outside [-r, r-1] or a step is 0.
    https://onnx.ai/onnx/operators/onnx__Slice.html
    """
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise SpecViolation(
            f"starts, ends, axes and steps must have one length, have {len(starts)}, {len(ends)}, {len(axes)} "
            f"and {len(steps)}"
        )
    if 0 in steps:
        raise SpecViolation("a step must not be 0")
    places = [normalize_axis(axis, data.bits.ndim, "axes") for axis in axes]
    if len(set(places)) < len(places):
        return None
    at = [slice(None)] * data.bits.ndim
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        dim = data.shape[axis]
        if step < 0 and (end in _DISPUTED or start < -dim):
            return None
        found = _range(dim, start, end, step)
        last = found.stop if found.stop >= 0 else None
        at[axis] = slice(found.start, last, step) if found else slice(0, 0)
    return [Constant(data.data_type, data.bits[tuple(at)])] if at else [data]


def _range(dim: int, start: int, end: int, step: int) -> range:
    """The positions that a slice takes from an axis of length `dim`; see `slice_axes`."""
    start += dim if start < 0 else 0
    end += dim if end < 0 else 0
    if step > 0:
        return range(min(max(start, 0), dim), min(max(end, 0), dim), step)
    return range(min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step)


@evaluators.evaluates("Split")
def _split_2(call: Evaluation) -> list[Constant] | None:
    """Split before version 13: the lengths are an attribute.

    None if the lengths are an input, which version 1 allows, and for a negative axis before version 11.
    """
    axis = call.integer("axis", 0)
    if call.constant(1) is not None or (axis < 0 and call.version < 11):
        return None
    return _split_at(call, axis, call.integers("split"))


@evaluators.evaluates("Split", since=13)
def _split_13(call: Evaluation) -> list[Constant] | None:
    """Split 13 to 17: the lengths are an optional input."""
    return _split_by_input(call)


@evaluators.evaluates("Split", since=18)
def _split(call: Evaluation) -> list[Constant] | None:
    """Split from version 18 on: the input `split` has the lengths, or `num_outputs` the number of equal parts.

    With `num_outputs` the last part may be smaller; None if it would be empty. None also if neither is given.

    Raises SpecViolation if both are given, or `num_outputs` is below 1.
    """
    given = call.constant(1)
    count = call.typed_attr("num_outputs", int)
    if count is None:
        return None if given is None else _split_by_input(call)
    if given is not None:
        raise SpecViolation("either input split or attribute num_outputs may be given, found both")
    if count < 1:
        raise SpecViolation(f"num_outputs must be >= 1, is {count}")
    data, axis = call.input(0), call.integer("axis", 0)
    dim = data.shape[normalize_axis(axis, data.bits.ndim)]
    length = -(-dim // count)
    last = dim - length * (count - 1)
    if count != len(call.node.output) or last < 0 or (last == 0 and dim):
        return None
    return split(data, [length] * (count - 1) + [last], axis=axis)


def _split_by_input(call: Evaluation) -> list[Constant] | None:
    given = call.constant(1)
    lengths = None if given is None else sizes(given, "split")
    return None if given is not None and lengths is None else _split_at(call, call.integer("axis", 0), lengths)


def _split_at(call: Evaluation, axis: int, lengths: Sequence[int] | None) -> list[Constant] | None:
    data, count = call.input(0), len(call.node.output)
    if lengths is None:
        dim = data.shape[normalize_axis(axis, data.bits.ndim)]
        if not count:
            return None
        if dim % count:
            raise SpecViolation(f"dim {dim} of axis {axis} cannot be split into {count} equal parts")
        lengths = [dim // count] * count
    if len(lengths) != count:
        raise SpecViolation(f"split has {len(lengths)} lengths, the node has {count} outputs")
    return split(data, lengths, axis=axis)


def split(data: Constant, lengths: Sequence[int], *, axis: int) -> list[Constant]:
    """`data` in parts of the given lengths along `axis`, as views.

    Raises SpecViolation if a length is negative, the lengths do not add up to the dim, or axis is outside [-r, r-1].
    https://onnx.ai/onnx/operators/onnx__Split.html
    """
    at = normalize_axis(axis, data.bits.ndim)
    for length in lengths:
        if length < 0:
            raise SpecViolation(f"a length of split must be >= 0, is {length}")
    if sum(lengths) != data.shape[at]:
        raise SpecViolation(f"split adds up to {sum(lengths)}, dim of axis {axis} is {data.shape[at]}")
    parts, start = [], 0
    for length in lengths:
        parts.append(Constant(data.data_type, data.bits[(slice(None),) * at + (slice(start, start + length),)]))
        start += length
    return parts


@evaluators.evaluates("Concat")
def _concat_1(call: Evaluation) -> list[Constant] | None:
    """Concat before version 4: `axis` is 1 if it is absent."""
    return _concat(call, call.integer("axis", 1))


@evaluators.evaluates("Concat", since=4)
def _concat_4(call: Evaluation) -> list[Constant] | None:
    """Concat from version 4 on: `axis` is required; from 11 on it may be negative."""
    axis = call.typed_attr("axis", int)
    if axis is None:
        raise SpecViolation("attribute axis is missing", "GI106")
    return _concat(call, axis)


def _concat(call: Evaluation, axis: int) -> list[Constant] | None:
    if not call.inputs:
        raise SpecViolation("at least one input is needed", "GI107")
    found = concat([call.input(i) for i in range(len(call.inputs))], axis=axis)
    return None if axis < 0 and call.version < 11 else found


def concat(inputs: Sequence[Constant], *, axis: int) -> list[Constant] | None:
    """The concatenation of the inputs along `axis`; None if it is too large for an initializer.

    Raises SpecViolation if axis is outside [-r, r-1], or the types, ranks, or dims of the other axes differ.
    https://onnx.ai/onnx/operators/onnx__Concat.html
    """
    require_same_type("the inputs", *inputs)
    first = inputs[0]
    at = normalize_axis(axis, first.bits.ndim)
    for tensor in inputs[1:]:
        if len(tensor.shape) != len(first.shape):
            raise SpecViolation(
                f"the inputs must have one rank, have shapes {list(first.shape)} and {list(tensor.shape)}", "GI212"
            )
        if (*tensor.shape[:at], *tensor.shape[at + 1 :]) != (*first.shape[:at], *first.shape[at + 1 :]):
            raise SpecViolation(
                f"the dims beside the concat axis {at} differ: {list(first.shape)} and {list(tensor.shape)}", "GI212"
            )
    if len(inputs) == 1:
        return [first]
    shape = (*first.shape[:at], sum(tensor.shape[at] for tensor in inputs), *first.shape[at + 1 :])
    if not fits_initializer(first.data_type, shape):
        return None
    return [Constant(first.data_type, np.concatenate([tensor.plain for tensor in inputs], at))]
