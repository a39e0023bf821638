"""LayerView: access of a lowering to one layer: names of its inputs, inferred facts about them, and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.dialect import LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.node_facts import NodeFacts
from gather_infer.ops.openvino.element_types import ELEMENT_TYPES
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, known_le
from gather_infer.tensor import INTEGER_RANGE, DType, Shape, Value, static_dims

_TEXTS: Final = {dtype: name for name, dtype in ELEMENT_TYPES.items()}

MAX_READ: Final = 1 << 20
"""Largest constant, in elements, that a lowering may read."""

MAX_GENERATED: Final = 1 << 12
"""Longest axis, in elements, of a constant that a lowering generates, such as the weights of bins or frames."""


def dtype_of(text: str) -> DType | None:
    """The element type that OpenVINO names `text`, such as `f32`; None for a type that ONNX does not have."""
    return ELEMENT_TYPES.get(text.lower())


class LayerView(NodeFacts):
    """One layer, as a lowering reads it. Accessors take the position of an input (`index`) or the name of an attribute.

    names               name of each input in the built function, "" for an input that is left out
    mask_out_of_bounds  a gather must return zeros for indices out of bounds, as OpenVINO does; False where the indices
                        are proved or assumed to be in bounds
    allow_random        random numbers may differ from OpenVINO's; otherwise layers that draw them are refused
    """

    def __init__(
        self, call: OpCall, names: Sequence[str], *, mask_out_of_bounds: bool = True, allow_random: bool = True
    ) -> None:
        self.call = call
        self.names = names
        self.mask_out_of_bounds = mask_out_of_bounds
        self.allow_random = allow_random

    @property
    def op_type(self) -> str:
        return self.call.op_type

    @property
    def version(self) -> int:
        """The opset of OpenVINO that the layer belongs to."""
        return self.call.version

    def attr(self, name: str, default: Any = None) -> Any:
        return self.call.attr(name, default)

    # inputs

    def value(self, index: int) -> Value | None:
        return self.call.value(index)

    def has(self, index: int) -> bool:
        """Whether input `index` is given."""
        return index < len(self.names) and bool(self.names[index])

    def x(self, index: int) -> str:
        """The name of input `index` in the built function. Raises SpecViolation when the input is left out."""
        if not self.has(index):
            raise SpecViolation(f"input {index} is missing", "GI107")
        return self.names[index]

    def dtype(self, index: int) -> DType:
        """The element type of input `index`; UINT8 for the codes of a type that ONNX lacks.

        Raises LoweringRefused when the type is unknown.
        """
        dtype = self.tensor(index).dtype
        if dtype is None:
            raise LoweringRefused(f"the element type of input {index} is not known")
        return dtype

    def element(self, index: int) -> str:
        """OpenVINO's name for the element type of input `index`, such as `f32` or `nf4`.

        Raises LoweringRefused when the type is unknown.
        """
        types = self.attr("input_types", ())
        if index < len(types) and types[index]:
            return str(types[index])
        return _TEXTS.get(dtype := self.dtype(index), str(dtype))

    def shape(self, index: int) -> Shape:
        """The dims of input `index`. Raises LoweringRefused when its rank is unknown."""
        shape = self.tensor(index).shape
        if shape is None:
            raise LoweringRefused(f"the rank of input {index} is not known")
        return shape

    def rank(self, index: int) -> int:
        return len(self.shape(index))

    def has_rank(self, index: int) -> bool:
        return self.tensor(index).shape is not None

    def size(self, index: int, axis: int) -> int | None:
        """The dim of input `index` at `axis` if it is a number; None if it is symbolic.

        Raises LoweringRefused when the rank is unknown, and SpecViolation when the input does not have the axis.
        """
        dim = self.dim(index, axis)
        return dim if isinstance(dim, int) else None

    def sizes(self, index: int) -> tuple[int, ...] | None:
        """The dims of input `index` if all are numbers, else None. Raises LoweringRefused when its rank is unknown."""
        return static_dims(self.shape(index))

    def is_positive(self, index: int, axis: int) -> bool:
        """Whether the dim of input `index` at `axis` is proved to be at least 1. Raises the exceptions of `size`."""
        return known_le(1, self.dim(index, axis), self.call.scope) is True

    def dim(self, index: int, axis: int) -> Dim:
        """The dim of input `index` at `axis`, a number or symbolic. Raises the exceptions of `size`."""
        shape = self.shape(index)
        if not -len(shape) <= axis < len(shape):
            raise SpecViolation(f"input {index} has {len(shape)} axes, there is none {axis}", "GI304")
        return shape[axis]

    # elements

    def is_non_negative(self, index: int) -> bool:
        """Whether no element of integer input `index` can be negative: by its type, or by a proof."""
        fact = self.tensor(index)
        if fact.dtype is not None and fact.dtype in INTEGER_RANGE and INTEGER_RANGE[fact.dtype][0] == 0:
            return True
        if fact.values is not None and fact.values.size:
            return all(
                isinstance(element, (int, Expr)) and known_le(0, element, self.call.scope) is True
                for element in fact.values.flat
            )
        lo = None if fact.value_range is None else fact.value_range.lo
        return lo is not None and known_le(0, lo, self.call.scope) is True

    def array(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of input `index`, from inference or from a constant; None where they are unknown.

        The array has the input's numpy dtype; inferred integers are int64, or uint64 for an input of uint64. A constant
        of more than MAX_READ elements is not read: its elements count as unknown.
        """
        if not self.has(index):
            return None
        fact = self.tensor(index)
        if fact.values is not None and fact.dtype is not None and (fact.dtype.is_integer or fact.dtype is DType.BOOL):
            elements = fact.values.ravel().tolist()
            if all(isinstance(element, (int, bool)) for element in elements):
                kind = np.bool_ if fact.dtype is DType.BOOL else np.uint64 if fact.dtype is DType.UINT64 else np.int64
                return np.array(elements, kind).reshape(fact.values.shape)
        return self.call.array(index) if fact.size is not None and fact.size <= MAX_READ else None

    def known(self, index: int) -> npt.NDArray[Any]:
        """The elements of input `index`, as from `array`. Raises LoweringRefused when they are unknown."""
        value = self.array(index)
        if value is None:
            raise LoweringRefused(f"input {index} has to be a constant")
        return value

    def ints(self, index: int, *, count: int | None = None, lower: int | None = None) -> list[int] | None:
        """The elements of integer input `index` as a flat list; None when they are unknown.

        count   required number of elements; None for any
        lower   smallest allowed element; None for any

        Raises SpecViolation when the elements break `count` or `lower`, are strings, or are not finite.
        """
        value = self.array(index)
        if value is None:
            return None
        if value.dtype.kind in "OUS" or not np.all(np.isfinite(value)):
            raise SpecViolation(f"input {index} must be of integers, is of {value.dtype}", "GI211")
        found = [int(element) for element in value.reshape(-1)]
        _check_elements(f"input {index}", found, count, lower)
        return found

    def known_ints(self, index: int, *, count: int | None = None, lower: int | None = None) -> list[int]:
        """The elements of integer input `index`, as from `ints`. Raises LoweringRefused when they are unknown."""
        self.known(index)
        found = self.ints(index, count=count, lower=lower)
        assert found is not None, "the elements are known"
        return found

    def known_number(self, index: int) -> float | None:
        """The single element of input `index` as a float; None when it is unknown.

        Raises SpecViolation for another number of elements, or for strings.
        """
        value = self.array(index)
        if value is None:
            return None
        if value.dtype.kind in "OUS":
            raise SpecViolation(f"input {index} must be a number, is a string", "GI211")
        numbers = [float(element) for element in value.reshape(-1)]
        _check_elements(f"input {index}", numbers, 1, None)
        return numbers[0]

    def axes(self, index: int, rank: int) -> list[int]:
        """The axes that input `index` lists, for a tensor of rank `rank`, normalized to >= 0.

        Raises LoweringRefused when the elements are unknown, and SpecViolation when an axis is out of range.
        """
        return [self.normalized_axis(axis, rank) for axis in self.known_ints(index)]

    @staticmethod
    def normalized_axis(axis: int, rank: int) -> int:
        """`axis` normalized to [0, rank - 1]. Raises SpecViolation when it is outside [-rank, rank - 1]."""
        if not -rank <= axis < rank:
            raise SpecViolation(f"axis = {axis} is outside [{-rank}, {rank - 1}]", "GI304")
        return axis % rank

    # attributes: strings or integers in an IR file, of any type on a node of an ONNX file

    def _attribute(self, name: str, default: Any) -> Any:
        value = self.attr(name, None)
        if value is not None:
            return value
        if default is None:
            raise SpecViolation(f"attribute {name} is missing", "GI106")
        return default

    def integer(
        self, name: str, default: int | None = None, *, lower: int | None = None, upper: int | None = None
    ) -> int:
        """The 64-bit integer attribute `name`; required unless there is a `default`.

        lower, upper   smallest and largest allowed value; None for no bound

        Raises LoweringRefused above `upper`. Raises SpecViolation below `lower`, and for a missing or malformed value.
        """
        value = self._attribute(name, default)
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            raise SpecViolation(f"attribute {name} must be an integer, is {value!r}", "GI106") from None
        if not -(2**63) <= number < 2**63:
            raise SpecViolation(f"attribute {name} must be an integer of 64 bits, is {number}", "GI106")
        if upper is not None and number > upper:
            raise LoweringRefused(f"attribute {name} is {number}, more than {upper} is not converted")
        _check_elements(f"attribute {name}", [number], None, lower)
        return number

    def number(self, name: str, default: float | None = None) -> float:
        """The number attribute `name`, which may be infinite; required unless there is a `default`.

        Raises SpecViolation for a missing or malformed value, and for NaN.
        """
        value = self._attribute(name, default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = nan
        if isnan(number):
            raise SpecViolation(f"attribute {name} must be a number, is {value!r}", "GI106")
        return number

    def flag(self, name: str, default: bool | None = None) -> bool:
        """The boolean attribute `name`, in a file `true`, `false`, `1` or `0`; required unless there is a `default`.

        Raises SpecViolation for a missing or malformed value.
        """
        value = self._attribute(name, default)
        text = str(value).strip().lower()
        if text not in ("true", "false", "0", "1"):
            raise SpecViolation(f"attribute {name} must be true or false, is {value!r}", "GI106")
        return text in ("true", "1")

    def text(self, name: str, default: str | None = None, *, choices: Sequence[str] = ()) -> str:
        """The string attribute `name`; required unless there is a `default`.

        choices   the allowed values in lower case, to which the result is converted; empty to allow any string

        Raises SpecViolation for a missing value, and for one that is not in `choices`.
        """
        value = str(self._attribute(name, default))
        if not choices:
            return value
        if value.lower() not in choices:
            raise SpecViolation(f"attribute {name} must be one of {', '.join(choices)}, is {value!r}", "GI106")
        return value.lower()

    def integers(
        self,
        name: str,
        default: Sequence[int] | None = None,
        *,
        count: int | None = None,
        lower: int | None = None,
    ) -> tuple[int, ...]:
        """The attribute `name`, a list of integers; required unless there is a `default`.

        count   required number of elements; None for any
        lower   smallest allowed element; None for any

        Raises SpecViolation for a missing or malformed value, and for one that breaks `count` or `lower`.
        """
        found = tuple(self._element(name, item, np.int64) for item in self._items(name, default))
        _check_elements(f"attribute {name}", found, count, lower)
        return found

    def numbers(
        self,
        name: str,
        default: Sequence[float] | None = None,
        *,
        count: int | None = None,
        lower: float | None = None,
    ) -> list[float]:
        """The attribute `name` as a list of finite numbers; required unless there is a `default`.

        count   required number of elements; None for any
        lower   smallest allowed element; None for any

        Raises SpecViolation for a missing or malformed value, and for one that breaks `count` or `lower`.
        """
        found = [self._element(name, item, np.float64) for item in self._items(name, default)]
        if not np.all(np.isfinite(found)):
            raise SpecViolation(f"attribute {name} must be of finite numbers, is {found}", "GI106")
        _check_elements(f"attribute {name}", found, count, lower)
        return found

    def texts(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """The attribute `name` as a list of strings; SpecViolation if it is missing and there is no `default`."""
        return [str(item) for item in self._items(name, default)]

    def _items(self, name: str, default: Sequence[Any] | None) -> list[Any]:
        value = self._attribute(name, default)
        if isinstance(value, str):
            return [item.strip() for item in value.split(",") if item.strip()]
        return list(value) if isinstance(value, (tuple, list)) else [value]

    @staticmethod
    def _element(name: str, item: object, kind: Any) -> Any:
        try:
            return kind(item).item()
        except (TypeError, ValueError, OverflowError):
            raise SpecViolation(f"attribute {name} must be a list of numbers, has {item!r}", "GI106") from None

    def type_of(self, name: str, default: str | None = None) -> DType:
        """The element type in attribute `name`, written like `i64` in a file; required unless there is a `default`.

        Raises SpecViolation when the attribute is missing, and LoweringRefused for a type that ONNX lacks.
        """
        text = self.text(name, default)
        dtype = dtype_of(text)
        if dtype is None:
            raise LoweringRefused(f"{name} = {text}: ONNX has no such element type")
        return dtype

    # outputs

    def is_read(self, index: int) -> bool:
        """Whether output `index` may have a reader in the graph."""
        return index < len(self.call.outputs) and bool(self.call.outputs[index])

    @property
    def outputs(self) -> int:
        return len(self.call.outputs)


def _check_elements(label: str, found: Sequence[float], count: int | None, lower: float | None) -> None:
    """Raise SpecViolation unless `found` has `count` elements (None: any number), each at least `lower` (None: any).

    label   the input or attribute that the message names
    """
    if count is not None and len(found) != count:
        raise SpecViolation(f"{label} must have {count} elements, has {len(found)}", "GI106")
    below = next((one for one in found if lower is not None and one < lower), None)
    if below is not None:
        raise SpecViolation(f"{label} must be {lower} or more, is {below}", "GI106")
