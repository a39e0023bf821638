"""Evaluators of Identity, Reshape, Flatten, Squeeze and Unsqueeze: the same elements in another shape, as views."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.ops.semantics.operands import unique_axes
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.input_checks import numbers, reshaped

evaluators = EvaluatorSet("")


@evaluators.evaluates("Identity")
def _identity(call: Evaluation) -> list[Constant]:
    return [call.input(0)]


@evaluators.evaluates("Reshape")
def _reshape_1(call: Evaluation) -> list[Constant] | None:
    """Reshape before version 5: the target shape is an attribute."""
    target = call.integers("shape")
    return None if target is None else reshape(call.input(0), target)


@evaluators.evaluates("Reshape", since=5)
def _reshape(call: Evaluation) -> list[Constant] | None:
    data, target = call.input(0), numbers(call.input(1), "shape")
    return None if target is None else reshape(data, target, allowzero=call.integer("allowzero", 0) != 0)


def reshape(data: Constant, target: Sequence[int], *, allowzero: bool = False) -> list[Constant] | None:
    """`data` in the shape `target`: -1 is inferred from the other entries, 0 copies the dim unless `allowzero`.

    None for 0 and -1 together with `allowzero`: the specification forbids it, onnxruntime accepts it.

    Raises SpecViolation if the target is malformed, or its number of elements is not that of `data`.
    https://onnx.ai/onnx/operators/onnx__Reshape.html
    """
    text = list(target)
    if any(n < -1 for n in target):
        raise SpecViolation(f"an entry of the target must be >= -1, target is {text}")
    if target.count(-1) > 1:
        raise SpecViolation(f"only one entry of the target may be -1, target is {text}")
    if allowzero and -1 in target and 0 in target:
        return None  # forbidden by the specification, accepted by onnxruntime
    if not allowzero and 0 in target[len(data.shape) :]:
        raise SpecViolation(f"an entry of 0 copies a dim, {list(data.shape)} has no such axis in {text}")
    shape = [data.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(target)]
    if -1 in shape:
        rest = prod(n for n in shape if n != -1)
        if rest == 0:
            raise SpecViolation(f"an entry of -1 cannot be inferred when another dim is 0, target is {text}")
        if data.bits.size % rest:
            raise SpecViolation(f"the input has {data.bits.size} elements, which {rest} does not divide: {text}")
        shape[shape.index(-1)] = data.bits.size // rest
    if prod(shape) != data.bits.size:
        raise SpecViolation(f"the input has {data.bits.size} elements, the target {text} has {prod(shape)}")
    return reshaped(data, shape)


@evaluators.evaluates("Flatten")
def _flatten_1(call: Evaluation) -> list[Constant] | None:
    """Flatten before version 11: `axis` is in [0, r]."""
    return flatten(call.input(0), call.integer("axis", 1), least=0)


@evaluators.evaluates("Flatten", since=11)
def _flatten(call: Evaluation) -> list[Constant] | None:
    data = call.input(0)
    return flatten(data, call.integer("axis", 1), least=-data.bits.ndim)


def flatten(data: Constant, axis: int, *, least: int) -> list[Constant] | None:
    """`data` in the shape `[d0 * ... * d(axis-1), d(axis) * ... * d(r-1)]`.

    least   the smallest axis that the version allows: 0 or -r

    Raises SpecViolation if `axis` is outside [least, r].
    https://onnx.ai/onnx/operators/onnx__Flatten.html
    """
    rank = data.bits.ndim
    if not least <= axis <= rank:
        raise SpecViolation(f"axis = {axis} is outside [{least}, {rank}], data has rank {rank}", "GI304")
    axis += rank if axis < 0 else 0
    return reshaped(data, (prod(data.shape[:axis]), prod(data.shape[axis:])))


@evaluators.evaluates("Squeeze")
def _squeeze_1(call: Evaluation) -> list[Constant] | None:
    """Squeeze before version 13: `axes` is an attribute; its entries may be negative from version 11 on."""
    axes = call.integers("axes")
    return squeeze(call.input(0), axes, negative=call.version >= 11)


@evaluators.evaluates("Squeeze", since=13)
def _squeeze(call: Evaluation) -> list[Constant] | None:
    data, given = call.input(0), call.constant(1)
    return squeeze(data, None if given is None else _axes(given))


def squeeze(data: Constant, axes: Sequence[int] | None, *, negative: bool = True) -> list[Constant] | None:
    """`data` without `axes`, which must have length 1; without all axes of length 1 if `axes` is None.

    negative   whether the version allows negative axes; if not, None is returned for one

    None too for an empty list, and for an axis that occurs twice: runtimes differ.

    Raises SpecViolation if an axis is outside [-r, r-1] or its dim is not 1.
    https://onnx.ai/onnx/operators/onnx__Squeeze.html
    """
    if axes is None:
        return reshaped(data, [n for n in data.shape if n != 1])
    removed = [normalize_axis(axis, data.bits.ndim, "axes") for axis in axes]
    for axis in removed:
        if data.shape[axis] != 1:
            raise SpecViolation(f"the squeezed dim of axis {axis} must be 1, is {data.shape[axis]}")
    if not axes or len(set(removed)) < len(removed) or (min(axes) < 0 and not negative):
        return None
    return reshaped(data, [n for i, n in enumerate(data.shape) if i not in removed])


@evaluators.evaluates("Unsqueeze")
def _unsqueeze_1(call: Evaluation) -> list[Constant] | None:
    """Unsqueeze before version 13: `axes` is an attribute; its entries may be negative from version 11 on."""
    axes = call.integers("axes")
    if axes is None:
        raise SpecViolation("attribute axes is missing", "GI106")
    return unsqueeze(call.input(0), axes, negative=call.version >= 11)


@evaluators.evaluates("Unsqueeze", since=13)
def _unsqueeze(call: Evaluation) -> list[Constant] | None:
    return unsqueeze(call.input(0), _axes(call.input(1)))


def unsqueeze(data: Constant, axes: Sequence[int], *, negative: bool = True) -> list[Constant] | None:
    """`data` with new axes of length 1, at the positions `axes` of the result.

    negative   whether the version allows negative axes; if not, None is returned for one

    Raises SpecViolation if an axis is outside the result, or occurs twice.
    https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
    """
    rank = data.bits.ndim + len(axes)
    inserted = unique_axes(axes, rank)
    if not negative and any(axis < 0 for axis in axes):
        return None
    dims = iter(data.shape)
    return reshaped(data, [1 if i in inserted else next(dims) for i in range(rank)])


def _axes(tensor: Constant) -> list[int]:
    """The elements of the input `axes`; a scalar counts as one axis, as in all runtimes."""
    found = numbers(tensor, "axes")
    return numbers(Constant(tensor.data_type, tensor.bits.reshape(1)), "axes") or [] if found is None else found
