"""Evaluators of Pad, which extends axes by a constant or by their own elements, or cuts them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Bits, Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.input_checks import INDEX_TYPES, fits_initializer, numbers, require_same_type, zero

evaluators = EvaluatorSet("")

_MODES = ("constant", "reflect", "edge", "wrap")
_WRAP_SINCE = 19
_FLOATS: dict[int, str] = {
    # element types of the attribute form
    TensorProto.FLOAT: "<f4", TensorProto.DOUBLE: "<f8", TensorProto.FLOAT16: "<f2",
}  # fmt: skip


@evaluators.evaluates("Pad")
def _pad_1(call: Evaluation) -> list[Constant] | None:
    """Pad 1: the pads are the attribute `paddings`."""
    return _pad_by_attribute(call, "paddings")


@evaluators.evaluates("Pad", since=2)
def _pad_2(call: Evaluation) -> list[Constant] | None:
    """Pad before version 11: the pads are the attribute `pads`."""
    return _pad_by_attribute(call, "pads")


def _pad_by_attribute(call: Evaluation, name: str) -> list[Constant] | None:
    """Pad with the pads in the attribute `name`, for float16, float32 and float64.

    None if the element type does not represent the attribute `value` exactly, or it is NaN: a conversion may change it.
    """
    data, pads, given = call.input(0), call.integers(name), call.typed_attr("value", float)
    if pads is None:
        raise SpecViolation(f"attribute {name} is missing", "GI106")
    dtype, value = _FLOATS.get(data.data_type), 0.0 if given is None else given
    if dtype is None:
        return None
    held = np.array(value, "<f8").astype(dtype) if abs(value) <= 65504 or dtype != "<f2" else np.array(np.nan, dtype)
    if float(held) != value:
        return None
    fill = held.view(dtype.replace("f", "u"))
    return pad(data, pads, range(data.bits.ndim), fill=fill, mode=_mode(call))


@evaluators.evaluates("Pad", since=11)
def _pad(call: Evaluation) -> list[Constant] | None:
    """Pad from version 11 on: pads and value are inputs; version 18 adds `axes`, version 19 the mode `wrap`."""
    data, given, chosen = call.input(0), call.constant(2), call.constant(3)
    pads = numbers(call.input(1), "pads")
    axes = list(range(data.bits.ndim)) if chosen is None else numbers(chosen, "axes", INDEX_TYPES)
    blank = zero(data.data_type)
    fill: Bits | None = None
    if given is not None:
        require_same_type("data and constant_value", data, given)
        if given.bits.size != 1:
            raise SpecViolation(f"constant_value must be a scalar, has shape {list(given.shape)}")
        if given.bits.ndim > 1:
            return None
        fill = given.plain.reshape(())
    elif blank is not None:
        fill = np.empty((), data.plain.dtype)
        fill[()] = blank if data.data_type == TensorProto.STRING else np.zeros((), data.plain.dtype)
    if pads is None or axes is None:
        return None
    return pad(data, pads, axes, fill=fill, mode=_mode(call))


def _mode(call: Evaluation) -> str:
    """The padding mode. Raises SpecViolation for a mode that the version does not have."""
    mode = call.text("mode", "constant")
    if mode not in _MODES[: 3 if call.version < _WRAP_SINCE else 4]:
        raise SpecViolation(f'mode = "{mode}" must be one of {", ".join(_MODES)}', "GI106")
    return mode


def pad(
    data: Constant, pads: Sequence[int], axes: Sequence[int], *, fill: Bits | None, mode: str
) -> list[Constant] | None:
    """`data` with elements added before and after each of `axes`, or cut where a pad is negative.

    pads   the elements to add before each axis, then those to add after each axis
    fill   the scalar that mode `constant` adds; None if none is given and the type has no zero

    None where the specification does not define the elements: an axis occurs twice, or is cut by more than its length.
    In the modes that repeat elements also if an axis is both extended and cut, or extended by more than the mode can
    repeat.

    Raises SpecViolation if `pads` does not have two elements per axis, an axis is outside [-r, r-1], or a dim of the
    result would be negative. https://onnx.ai/onnx/operators/onnx__Pad.html
    """
    places = [normalize_axis(axis, data.bits.ndim, "axes") for axis in axes]
    if len(pads) != 2 * len(places):
        raise SpecViolation(f"pads must have {2 * len(places)} elements, two per padded axis, has {len(pads)}")
    shape = list(data.shape)
    for i, axis in enumerate(places):
        before, after = pads[i], pads[i + len(places)]
        shape[axis] += before + after
        if shape[axis] < 0:
            raise SpecViolation(f"pads {before} and {after} cut more than the dim {data.shape[axis]} of axis {axis}")
    if len(set(places)) < len(places) or not fits_initializer(data.data_type, shape):
        return None
    cut, grown = [slice(None)] * data.bits.ndim, [(0, 0)] * data.bits.ndim
    for i, axis in enumerate(places):
        before, after, dim = pads[i], pads[i + len(places)], data.shape[axis]
        if min(before, 0) + min(after, 0) < -dim:
            return None
        cut[axis] = slice(max(-before, 0), dim + min(after, 0))
        grown[axis] = max(before, 0), max(after, 0)
    held = data.plain[tuple(cut)] if cut else data.plain
    if mode == "constant":
        return None if fill is None else [_filled(data, held, shape, grown, fill)]
    for i, axis in enumerate(places):
        widths, dim = (pads[i], pads[i + len(places)]), data.shape[axis]
        most = {"reflect": dim - 1, "edge": 2**63 if dim else 0, "wrap": dim}[mode]
        if max(widths) > 0 and (min(widths) < 0 or max(widths) > most):
            return None
    for axis, (before, after) in enumerate(grown):
        if before or after:
            held = np.take(held, _sources(held.shape[axis], before, after, mode), axis)
    return [Constant(data.data_type, held)]


def _filled(data: Constant, held: Bits, shape: Sequence[int], grown: Sequence[tuple[int, int]], fill: Bits) -> Constant:
    bits: Bits = np.empty(tuple(shape), held.dtype)
    bits[...] = fill
    bits[tuple(slice(before, before + n) for (before, _), n in zip(grown, held.shape, strict=True))] = held
    return Constant(data.data_type, bits)


def _sources(dim: int, before: int, after: int, mode: str) -> npt.NDArray[np.int64]:
    """For each element of the extended axis, the index of its source in the original axis of length `dim`."""
    at: npt.NDArray[np.int64] = np.arange(-before, dim + after, dtype=np.int64)
    match mode:
        case "reflect":
            at = dim - 1 - np.abs(dim - 1 - np.abs(at))
        case "edge":
            at = np.clip(at, 0, dim - 1)
        case _:
            at = at % dim
    return at
