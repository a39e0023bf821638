"""Comparison of two values of an output, and of two model interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TypeProto

from gather_infer.model.tensors import fed_inputs
from gather_infer.tensor import DType, dtype_of_array
from gather_infer.verification.result import Mismatch
from gather_infer.verification.tolerance import Tolerance

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """The first difference of two values: two elements, as text, at `index`; or a `reason` about types or sizes."""

    reason: str = ""
    index: tuple[int, ...] | None = None
    original: str = ""
    rewritten: str = ""


def difference(original: Any, rewritten: Any, tolerance: Tolerance | None = None) -> ValueDifference | None:
    """The first difference of two runtime values; None if they are equal.

    Values are arrays, lists or maps of arrays, or None for an empty optional.

    tolerance   allowed difference of floats: NaN and Inf must be at the same positions, the sign of 0 does not count.
                None compares every bit, also those of NaN
    """
    if original is None or rewritten is None:
        if original is rewritten:
            return None
        return ValueDifference(f"is {_kind(rewritten)}, was {_kind(original)}")
    for kind in (list, dict):
        if isinstance(original, kind) != isinstance(rewritten, kind):
            return ValueDifference(f"is {_kind(rewritten)}, was {_kind(original)}")
    if isinstance(original, list):
        if len(original) != len(rewritten):
            return ValueDifference(f"has {len(rewritten)} members, had {len(original)}")
        for position, pair in enumerate(zip(original, rewritten, strict=True)):
            found = difference(*pair, tolerance)
            if found is not None:
                if found.index is None:
                    return ValueDifference(f"member {position} {found.reason}")
                return ValueDifference("", (position, *found.index), found.original, found.rewritten)
        return None
    if isinstance(original, dict):
        if list(original) != list(rewritten):
            return ValueDifference("has other keys")
        keys = list(original)
        return difference([original[k] for k in keys], [rewritten[k] for k in keys], tolerance)
    return _of_arrays(np.asarray(original), np.asarray(rewritten), tolerance)


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, list):
        return "a sequence"
    if isinstance(value, dict):
        return "a map"
    return _type(np.asarray(value))


def dtype_of(array: Array) -> DType:
    """The element type of an array; any kind of text is STRING."""
    known = dtype_of_array(array.dtype)
    if known is None:
        raise ValueError(f"arrays of {array.dtype} have no element type of ONNX")
    return known


def _type(array: Array) -> str:
    return f"{dtype_of(array)}{list(array.shape)}"


def _of_arrays(original: Array, rewritten: Array, tolerance: Tolerance | None) -> ValueDifference | None:
    dtype = dtype_of(original)
    if dtype is not dtype_of(rewritten) or original.shape != rewritten.shape:
        return ValueDifference(f"is {_type(rewritten)}, was {_type(original)}")
    if dtype is DType.STRING:
        wrong = np.asarray(original.astype(object) != rewritten.astype(object))
    elif tolerance is not None and (dtype.is_float or original.dtype.kind == "c"):
        wrong = _differs(original, rewritten, dtype, tolerance)
    else:
        wrong = (_bytes(original) != _bytes(rewritten)).any(-1)
    places = np.flatnonzero(wrong)
    if not places.size:
        return None
    index = tuple(int(i) for i in np.unravel_index(places[0], original.shape))
    elements = original[index], rewritten[index]
    texts = [_text(element) for element in elements]
    if texts[0] == texts[1]:
        texts = [f"{_text(element)} (0x{element.tobytes()[::-1].hex()})" for element in elements]
    return ValueDifference("", index, *texts)


def _bytes(array: Array) -> Array:
    """The bytes of the elements, as an array with a row for each element."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, array.itemsize)


def _differs(original: Array, rewritten: Array, dtype: DType, tolerance: Tolerance) -> Array:
    kind: Any = np.complex128 if original.dtype.kind == "c" else np.float64
    a, b = original.astype(kind), rewritten.astype(kind)
    with np.errstate(all="ignore"):
        is_close = np.abs(a - b) <= tolerance.allowed(np.abs(a), dtype)
    finite = np.isfinite(a) & np.isfinite(b)
    return np.asarray(~((finite & is_close) | (a == b) | (np.isnan(a) & np.isnan(b))))


def largest_error(original: Any, rewritten: Any) -> float:
    """The largest difference of floats relative to max(1, |original|); 0 for values that are not comparable."""
    if not isinstance(original, np.ndarray) or not isinstance(rewritten, np.ndarray):
        return 0.0
    if original.shape != rewritten.shape or not dtype_of(original).is_float:
        return 0.0
    a, b = original.astype(np.float64), rewritten.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    gaps = np.abs(a[finite] - b[finite]) / np.maximum(1, np.abs(a[finite]))
    return float(gaps.max()) if gaps.size else 0.0


def has_elements(value: Any) -> bool:
    """Whether a runtime value, or a member of it, has at least one element."""
    if isinstance(value, list):
        return any(map(has_elements, value))
    if isinstance(value, dict):
        return any(map(has_elements, value.values()))
    return value is not None and np.size(value) > 0


def same_type(original: Any, rewritten: Any) -> ValueDifference | None:
    """The difference in element type or rank, in which even random outputs must agree; None if there is none."""
    if not isinstance(original, np.ndarray) or not isinstance(rewritten, np.ndarray):
        return None
    if dtype_of(original) is dtype_of(rewritten) and original.ndim == rewritten.ndim:
        return None
    return ValueDifference(f"is {_type(rewritten)}, was {_type(original)}")


def _text(element: Any) -> str:
    return repr(element) if isinstance(element, str) else str(element)


def interface_differences(original: ModelProto, rewritten: ModelProto, *, may_add: bool = False) -> Iterator[Mismatch]:
    """Differences of two interfaces: names, order and types of inputs and outputs, without dims.

    may_add   the rewritten model may have further inputs and outputs after those of the original
    """
    for what, before, after in (
        ("inputs", fed_inputs(original), fed_inputs(rewritten)),
        ("outputs", list(original.graph.output), list(rewritten.graph.output)),
    ):
        if may_add:
            after = after[: len(before)]
        names, found = [v.name for v in before], [v.name for v in after]
        if names != found:
            yield Mismatch("", f"{what} are {', '.join(found) or 'none'}, were {', '.join(names) or 'none'}")
            continue
        for old, new in zip(before, after, strict=True):
            if old.type.WhichOneof("value") is not None and _bare(old.type) != _bare(new.type):
                fault = "is declared with another type"
                yield Mismatch(old.name, fault) if what == "outputs" else Mismatch("", f"input {old.name} {fault}")


def _bare(proto: TypeProto) -> Mapping[str, Any] | tuple[Any, ...]:
    """A type without its dims."""
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        return kind, getattr(proto, kind).elem_type
    if kind in ("sequence_type", "optional_type"):
        return kind, _bare(getattr(proto, kind).elem_type)
    if kind == "map_type":
        return kind, proto.map_type.key_type, _bare(proto.map_type.value_type)
    return (kind,)
