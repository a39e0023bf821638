"""Conversion of protobuf types and dims to facts, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import partial

import onnx
from onnx import TypeProto

from gather_infer.inference.proto.dim_texts import DimText, read_dim_text
from gather_infer.symbolic import Dim, Expr, substitute, symbol
from gather_infer.symbolic.printing import is_plain_name
from gather_infer.tensor import (
    MAX_NESTING,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensor,
    SymbolicTensor,
    Value,
)

_DTYPES: dict[int, DType] = {int(d): d for d in DType}


def dtype_of(elem_type: int) -> DType | None:
    """The DType of a TensorProto.DataType number; None for 0 (undefined) and for numbers this version does not know."""
    return _DTYPES.get(elem_type)


class DimReader:
    """Converts declared dims to Dims: names of input symbols, with bindings applied, and expressions of such names.

    known        names of the symbols of the inputs
    bound        name -> Dim, from `--dim seq=128` and `--dim total=past+seq`
    new_symbol   makes the Dim for a dim_param that is neither a known name nor an expression of known names
    noted        receives the meaning of each dim_param with a note, by its text
    """

    def __init__(
        self,
        known: Set[str] = frozenset(),
        bound: Mapping[str, Dim] | None = None,
        new_symbol: Callable[[str], Dim] = symbol,
        noted: dict[str, DimText] | None = None,
    ) -> None:
        self.noted = noted
        self.known = known
        self.bound = dict(bound or {})
        self.new_symbol = new_symbol
        self._cache: dict[str, Dim] = {}

    def param(self, text: str) -> Dim:
        """The dim that a dim_param denotes: an expression when all its names are known, else one opaque symbol."""
        found = self._cache.get(text)
        if found is None:
            found = self._cache[text] = self._param(text)
        return found

    def _param(self, text: str) -> Dim:
        dim: Dim | None = symbol(text) if text in self.known else None
        if not is_plain_name(text):
            meaning = read_dim_text(text, self.known)
            if dim is None:
                dim = meaning.expression
            if meaning.note is not None and self.noted is not None:
                self.noted[text] = meaning
        if dim is None:
            return self.new_symbol(text)
        try:
            return substitute(dim, self.bound) if self.bound else dim
        except ZeroDivisionError:
            return self.new_symbol(text)  # the size is undefined where a divisor is 0

    def dim(self, proto: onnx.TensorShapeProto.Dimension, unknown: Callable[[], Dim]) -> Dim:
        """`proto` as a Dim; `unknown()` makes the Dim when `proto` is undeclared or a negative number."""
        kind = proto.WhichOneof("value")
        if kind == "dim_value" and proto.dim_value >= 0:
            return int(proto.dim_value)
        if kind == "dim_param" and proto.dim_param:
            return self.param(proto.dim_param)
        return unknown()


def from_type(proto: TypeProto, reader: DimReader, unknown: Callable[[int], Dim]) -> Value | None:
    """The fact that a type declares; None when it declares nothing.

    unknown   makes the Dim for axis i if the declaration gives no size

    Types nested deeper than MAX_NESTING are unknown.
    """
    return _from_type(proto, reader, unknown, MAX_NESTING)


def _from_type(proto: TypeProto, reader: DimReader, unknown: Callable[[int], Dim], depth: int) -> Value | None:
    if depth == 0:
        return None
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        tensor = proto.tensor_type
        dtype = _DTYPES.get(tensor.elem_type)
        if not tensor.HasField("shape"):
            return SymbolicTensor(dtype)
        return SymbolicTensor(dtype, _shape(tensor.shape, reader, unknown))
    if kind == "sparse_tensor_type":
        sparse = proto.sparse_tensor_type
        dtype = _DTYPES.get(sparse.elem_type)
        return SparseTensor(dtype, _shape(sparse.shape, reader, unknown) if sparse.HasField("shape") else None)
    if kind == "sequence_type":
        return SequenceType(_from_type(proto.sequence_type.elem_type, reader, unknown, depth - 1))
    if kind == "optional_type":
        return OptionalType(_from_type(proto.optional_type.elem_type, reader, unknown, depth - 1))
    if kind == "map_type":
        inner = _from_type(proto.map_type.value_type, reader, unknown, depth - 1)
        return MapType(_DTYPES.get(proto.map_type.key_type), inner)
    return None


def shown(proto: TypeProto) -> str:
    """A declared type in the printed form of facts."""
    return str(from_type(proto, DimReader(), lambda axis: symbol("?")))


def _shape(proto: onnx.TensorShapeProto, reader: DimReader, unknown: Callable[[int], Dim]) -> Shape:
    return tuple(reader.dim(d, partial(unknown, axis)) for axis, d in enumerate(proto.dim))


def to_dim_param(dim: Expr) -> str:
    """The text of a symbolic dim in a file: the plain name of a symbol, else the expression."""
    return dim.name if dim.is_symbol else str(dim)


def to_type(value: Value, render: Callable[[Expr], str] = to_dim_param) -> TypeProto | None:
    """The TypeProto of `value`; None when an element type is unknown, since a TypeProto requires it.

    render   returns the dim_param of a symbolic dim, or an empty text to leave the dim open
    """
    proto = TypeProto()
    return proto if _fill(proto, value, render) else None


def has_type(value: Value | None) -> bool:
    """Whether `to_type(value)` is not None: all element types that a TypeProto requires are known."""
    match value:
        case SymbolicTensor(dtype=dtype) | SparseTensor(dtype=dtype):
            return dtype is not None
        case SequenceType(element=element) | OptionalType(element=element):
            return has_type(element)
        case MapType(key=key, value=element):
            return key is not None and has_type(element)
    return False


def _fill(proto: TypeProto, value: Value | None, render: Callable[[Expr], str]) -> bool:
    match value:
        case SymbolicTensor(dtype=DType() as dtype, shape=shape):
            proto.tensor_type.elem_type = int(dtype)
            if shape is not None:
                _fill_shape(proto.tensor_type.shape, shape, render)
            return True
        case SparseTensor(dtype=DType() as dtype, shape=shape):
            proto.sparse_tensor_type.elem_type = int(dtype)
            if shape is not None:
                _fill_shape(proto.sparse_tensor_type.shape, shape, render)
            return True
        case SequenceType(element=element):
            return _fill(proto.sequence_type.elem_type, element, render)
        case OptionalType(element=element):
            return _fill(proto.optional_type.elem_type, element, render)
        case MapType(key=DType() as key, value=element):
            proto.map_type.key_type = int(key)
            return _fill(proto.map_type.value_type, element, render)
    return False


def _fill_shape(proto: onnx.TensorShapeProto, shape: Shape, render: Callable[[Expr], str]) -> None:
    proto.SetInParent()  # the empty shape of a scalar is not a missing shape
    for dim in shape:
        entry = proto.dim.add()
        if isinstance(dim, int):
            if dim < 2**63:  # larger sizes never occur in a run, and a file cannot hold them
                entry.dim_value = dim
        elif text := render(dim):
            entry.dim_param = text
