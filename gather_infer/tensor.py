"""Facts about a value: element type, shape, the known elements of small tensors, value ranges of integer tensors.

This module does not depend on protobuf. `None` always means unknown; `()` is the shape of a scalar and 0 is a length.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gather_infer.symbolic import Dim, Expr

Shape: TypeAlias = tuple[Dim, ...]

MAX_VALUES = 1024
"""Largest number of elements in `SymbolicTensor.values`; a larger tensor has only a value range."""

MAX_VALUES_RANK = 16
"""Largest rank of a tensor with known elements: numpy 1 allows 32 axes, and rules use temporaries of twice the rank."""


class DType(enum.IntEnum):
    """Element types, numbered as in `TensorProto.DataType` (IR version 14)."""

    FLOAT32 = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    FLOAT64 = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    def __str__(self) -> str:
        return self.name.lower()

    @property
    def onnx_name(self) -> str:
        """The name in the terms of ONNX: `float` and `double` for float32 and float64."""
        return {DType.FLOAT32: "float", DType.FLOAT64: "double"}.get(self) or str(self)

    @property
    def is_integer(self) -> bool:
        """Whether the type is a signed or unsigned integer; False for bool."""
        return self in INTEGER_RANGE

    @property
    def is_float(self) -> bool:
        return self in FLOATS

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the type, as in `onnx.numpy_helper`; `np.dtype(element_type)` returns it too.

        Strings are objects. bfloat16, narrow floats and integers below 8 bits have dtypes of ml_dtypes, in which an
        element of less than a byte takes a whole byte.

        Raises ModuleNotFoundError for these types without ml_dtypes, which onnx installs since 1.19.
        """
        if self is DType.STRING:
            return np.dtype(object)
        if self in _ML_DTYPES:
            import ml_dtypes

            found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _ML_DTYPES[self]))
            return found
        return np.dtype(str(self))

    @property
    def is_numpy(self) -> bool:
        """Whether numpy has the type without ml_dtypes."""
        return self not in _ML_DTYPES

    @property
    def has_dtype(self) -> bool:
        """Whether `dtype` returns a dtype: always but for types of ml_dtypes if that is not installed."""
        return self.is_numpy or _has_ml_dtypes()


INTEGER_RANGE: dict[DType, tuple[int, int]] = {
    DType.UINT8: (0, 2**8 - 1),
    DType.INT8: (-(2**7), 2**7 - 1),
    DType.UINT16: (0, 2**16 - 1),
    DType.INT16: (-(2**15), 2**15 - 1),
    DType.INT32: (-(2**31), 2**31 - 1),
    DType.INT64: (-(2**63), 2**63 - 1),
    DType.UINT32: (0, 2**32 - 1),
    DType.UINT64: (0, 2**64 - 1),
    DType.UINT4: (0, 15),
    DType.INT4: (-8, 7),
    DType.UINT2: (0, 3),
    DType.INT2: (-2, 1),
}
FLOATS = frozenset(d for d in DType if "FLOAT" in d.name)
_ML_DTYPES = {
    # names in ml_dtypes
    DType.BFLOAT16: "bfloat16",
    DType.FLOAT8E4M3FN: "float8_e4m3fn",
    DType.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    DType.FLOAT8E5M2: "float8_e5m2",
    DType.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    DType.FLOAT8E8M0: "float8_e8m0fnu",
    DType.FLOAT6E2M3: "float6_e2m3fn",
    DType.FLOAT6E3M2: "float6_e3m2fn",
    DType.FLOAT4E2M1: "float4_e2m1fn",
    DType.UINT4: "uint4",
    DType.INT4: "int4",
    DType.UINT2: "uint2",
    DType.INT2: "int2",
}


@cache
def _has_ml_dtypes() -> bool:
    try:
        import ml_dtypes
    except ImportError:
        return False
    return hasattr(ml_dtypes, "float6_e2m3fn")  # 0.5


def dtype_of_array(dtype: np.dtype[Any]) -> DType | None:
    """The element type of arrays of `dtype`, the reverse of `DType.dtype`; None if ONNX has no such type.

    A dtype in another byte order is none of ONNX. Arrays of objects, of texts and of bytes are strings.
    """
    if dtype.kind in "OUS":
        return DType.STRING
    return _BY_DTYPE_NAME.get(dtype.name) if dtype.isnative and dtype.names is None else None


_BY_DTYPE_NAME = {_ML_DTYPES.get(d, str(d)): d for d in DType if d is not DType.STRING}
_WIDTHS = {
    **dict.fromkeys((DType.FLOAT16, DType.BFLOAT16, DType.INT16, DType.UINT16), 2),
    **dict.fromkeys((DType.FLOAT32, DType.INT32, DType.UINT32), 4),
    **dict.fromkeys((DType.FLOAT64, DType.INT64, DType.UINT64, DType.COMPLEX64), 8),
    DType.COMPLEX128: 16,
}


@dataclass(frozen=True, slots=True)
class Ratio:
    """An element `num / den` of a float tensor, rounded to the element type of the tensor.

    den >= 2; num is symbolic, and the element type represents it exactly. The element is exact if den is a power of
    two. Otherwise, the rounded and the exact quotient have the same floor, ceiling and truncation (proof in
    ops/elements.py). Equal Ratios need not be equal floats: `size * (1/3)`, with 1/3 rounded, and `size / 3` are the
    same Ratio.
    """

    num: Expr
    den: int

    @property
    def is_exact(self) -> bool:
        return self.den & (self.den - 1) == 0

    def __str__(self) -> str:
        return f"{self.num}/{self.den}" if self.num.is_symbol else f"({self.num})/{self.den}"


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Value range of an integer tensor: `lo <= element <= hi` for every element; the bounds may be symbolic.

    `None` means no bound on that side. Every range is valid for a tensor without elements.
    """

    lo: Dim | None = None
    hi: Dim | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicTensor:
    """Facts about one dense tensor.

    dtype        element type, None if unknown
    shape        a Dim per axis, None if the rank is unknown
    values       known elements, an object array with the shape of the tensor. An element is an int or Expr in an
                 integer tensor, a bool in a bool tensor, None if unknown. In a float tensor it is a float or Ratio, or
                 an int or Expr for an integer that the type holds exactly. None if no element is known, if the shape
                 is not static, or for more than MAX_VALUES elements
    value_range  bounds of all elements of an integer tensor, None if there are none; for a bool tensor, [0, 0] or
                 [1, 1] if all elements are known to be equal
    """

    dtype: DType | None = None
    shape: Shape | None = None
    values: npt.NDArray[np.object_] | None = None
    value_range: ValueRange | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether the rank is known and every dim is a number."""
        return self.shape is not None and all(type(d) is int for d in self.shape)

    @property
    def size(self) -> int | None:
        """The number of elements; None if the rank is unknown or a dim is symbolic."""
        dims = static_dims(self.shape)
        return None if dims is None else prod(dims)

    @property
    def nbytes(self) -> int | None:
        """The number of bytes; None if the element type or `size` is unknown."""
        size = self.size
        return None if size is None or self.dtype is None else size * element_bytes(self.dtype)

    @property
    def only_element(self) -> Any:
        """The element of a tensor with one element; None if the element is unknown or the tensor is of another size."""
        return self.values.flat[0] if self.values is not None and self.values.size == 1 else None

    @property
    def only_integer(self) -> Dim | None:
        """As `only_element`, but None unless the tensor is of integers."""
        element = self.only_element
        is_integer = self.dtype is not None and self.dtype.is_integer  # floats have Dims for elements too
        return element if is_integer and isinstance(element, (int, Expr)) else None

    def with_(self, **changes: Any) -> SymbolicTensor:
        """A copy with the fields in `changes` replaced."""
        given = {"dtype": self.dtype, "shape": self.shape, "values": self.values, "value_range": self.value_range}
        return SymbolicTensor(**{**given, **changes})  # dataclasses.replace takes several times as long

    def _key(self) -> tuple[object, ...]:
        values = None if self.values is None else (self.values.shape, tuple(map(_typed, self.values.flat)))
        return (self.dtype, self.shape, values, self.value_range)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, SymbolicTensor) or self.dtype is not other.dtype or self.shape != other.shape:
            return False
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        text = f"{self.dtype or '?'}{format_shape(self.shape)}"
        if self.values is not None and self.values.size <= 8:
            text += f" = {format_values(self.values)}"
        return text


UNKNOWN: Final = SymbolicTensor()
"""The top of the lattice: a value about which nothing is known, not even that it is a tensor."""


def _typed(element: object) -> tuple[str, object]:
    return (type(element).__name__, repr(element) if isinstance(element, float) else element)  # nan, -0.0


@dataclass(frozen=True, slots=True)
class SequenceType:
    """Facts about a sequence.

    element  a fact that holds for every member, with a fresh dim where dims of members differ; None if unknown
    length   number of members, possibly symbolic; None if unknown
    members  a fact for each member; None unless the members are known individually
    """

    element: Value | None = None
    length: Dim | None = None
    members: tuple[SymbolicTensor, ...] | None = None

    def __str__(self) -> str:
        return f"seq({self.element or '?'})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """Facts about an optional.

    element  fact about the value that it holds if it is present; None if unknown
    present  whether it holds a value; None if unknown
    """

    element: Value | None = None
    present: bool | None = None

    def __str__(self) -> str:
        return f"optional({self.element or '?'})"


@dataclass(frozen=True, slots=True)
class MapType:
    """Facts about a map, as ai.onnx.ml has them: the types of keys and values, None if unknown."""

    key: DType | None = None
    value: Value | None = None

    def __str__(self) -> str:
        return f"map({self.key or '?'}, {self.value or '?'})"


@dataclass(frozen=True, slots=True)
class SparseTensor:
    """A sparse tensor (the `sparse_tensor` type of ONNX); its elements are not tracked."""

    dtype: DType | None = None
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"sparse {self.dtype or '?'}{format_shape(self.shape)}"


Value: TypeAlias = SymbolicTensor | SequenceType | OptionalType | MapType | SparseTensor


MAX_NESTING: Final = 16
"""Largest nesting depth of sequences, optionals and maps; deeper types are unknown."""


def element_bytes(dtype: DType) -> int:
    """Size of an element of type `dtype` in bytes; 1 for strings and for types of less than a byte."""
    return _WIDTHS.get(dtype, 1)


def is_nested_too_deep(value: Value) -> bool:
    """Whether sequences, optionals and maps in `value` are nested deeper than MAX_NESTING."""
    for _ in range(MAX_NESTING):
        inner = value.value if isinstance(value, MapType) else getattr(value, "element", None)
        if inner is None:
            return False
        value = inner
    return True


def static_dims(shape: Shape | None) -> tuple[int, ...] | None:
    """The dims of `shape` if all are numbers; None if one is symbolic or the rank is unknown."""
    dims = tuple(dim for dim in shape or () if isinstance(dim, int))
    return dims if shape is not None and len(dims) == len(shape) else None


def format_shape(shape: Shape | None) -> str:
    """`shape` as text: `[batch, past + seq, 64]`, `[]` for a scalar, `[...]` for an unknown rank."""
    return "[...]" if shape is None else "[" + ", ".join(map(str, shape)) + "]"


def format_values(values: npt.NDArray[np.object_]) -> str:
    """The elements as text in nested lists: booleans as `true` and `false`, an unknown element as `?`."""
    if values.ndim == 0:
        item = values.item()
        return "?" if item is None else str(item).lower() if isinstance(item, bool) else str(item)
    return "[" + ", ".join(format_values(np.asarray(v, dtype=object)) for v in values) + "]"


def holds_values(shape: Sequence[int]) -> bool:
    """Whether a tensor of `shape` is small enough to hold its elements, in every version of numpy.

    The nonzero dims of an empty tensor count too: numpy rejects a shape in which their product is huge.
    """
    if len(shape) > MAX_VALUES_RANK or prod(shape) > MAX_VALUES:
        return False
    return 0 not in shape or prod(dim or 1 for dim in shape) < 2**31


def make_values(elements: Any, shape: tuple[int, ...] | None = None) -> npt.NDArray[np.object_]:
    """An object array of `elements` (a scalar, a flat sequence or an array), reshaped to `shape` when it is given."""
    if isinstance(elements, np.ndarray):
        out = elements.astype(object)
    elif isinstance(elements, (list, tuple)):
        out = np.empty(len(elements), dtype=object)
        out[:] = elements
    else:
        out = np.empty((), dtype=object)
        out[()] = elements
    return out if shape is None else out.reshape(shape)


def from_values(dtype: DType, values: npt.NDArray[np.object_]) -> SymbolicTensor:
    """A tensor of type `dtype` with elements `values`, an unknown element being None.

    The elements are dropped if all are unknown, or if `holds_values` rejects the shape.
    """
    if not holds_values(values.shape) or (values.size and all(v is None for v in values.flat)):
        return SymbolicTensor(dtype, values.shape)
    return SymbolicTensor(dtype, values.shape, values)


def is_known(element: object) -> bool:
    """Whether `element`, an entry of `SymbolicTensor.values`, is known, as a number or symbolically; False for None."""
    return isinstance(element, (int, Expr, float, Ratio))
