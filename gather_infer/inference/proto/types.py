"""Protobuf types, dims and tensors to facts, and facts back to protobuf."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from functools import partial

import onnx
from onnx import TypeProto

from gather_infer.symbolic import Dim, DimSyntaxError, Expr, parse_dim, substitute, symbol
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
_PADDED_NAME = re.compile(r"\s*(?:[A-Za-z_][A-Za-z0-9_.]*|'(?:[^'\\]|\\.)*')\s*", re.DOTALL)


def dtype_of(elem_type: int) -> DType | None:
    """The DType of a TensorProto.DataType number; None for 0 (undefined) and for numbers this version does not know."""
    return _DTYPES.get(elem_type)


def expression_of(text: str, names: Set[str]) -> Expr | None:
    """The expression that a dim_param is when every symbol in it is one of `names`; None for a name of its own.

    onnx and the runtimes compare these texts as they are. So blanks or quotes around a name make another name of it,
    and a number in text form is a name as well: any size does for it.
    """
    if _PADDED_NAME.fullmatch(text):
        return None
    try:
        dim = parse_dim(text, names=names)
    except DimSyntaxError:
        return None
    return dim if isinstance(dim, Expr) else None


class DimReader:
    """Reads declared dims: the names of the inputs' symbols, what the user bound them to, and expressions of them.

    known    symbols that stand alone as a dim of some model input
    bound    name -> Dim, from `--dim seq=128` and `--dim total=past+seq`
    adopt    makes the symbol of a name that no input has
    """

    def __init__(
        self,
        known: Set[str] = frozenset(),
        bound: Mapping[str, Dim] | None = None,
        adopt: Callable[[str], Dim] = symbol,
    ) -> None:
        self.known = known
        self.bound = dict(bound or {})
        self.adopt = adopt
        self._cache: dict[str, Dim] = {}

    def param(self, text: str) -> Dim:
        """The dim that a dim_param stands for: an expression when all its names are known, else one opaque symbol."""
        found = self._cache.get(text)
        if found is None:
            found = self._cache[text] = self._param(text)
        return found

    def _param(self, text: str) -> Dim:
        dim: Dim | None = symbol(text) if text in self.known else expression_of(text, self.known)
        if dim is None:
            return self.adopt(text)
        try:
            return substitute(dim, self.bound) if self.bound else dim
        except ZeroDivisionError:
            return self.adopt(text)  # no size is declared where a divisor is 0

    def dim(self, proto: onnx.TensorShapeProto.Dimension, unknown: Callable[[], Dim]) -> Dim:
        """`proto` as a Dim; `unknown()` makes the symbol of a dim that says nothing (or a negative number)."""
        kind = proto.WhichOneof("value")
        if kind == "dim_value" and proto.dim_value >= 0:
            return int(proto.dim_value)
        if kind == "dim_param" and proto.dim_param:
            return self.param(proto.dim_param)
        return unknown()


def from_type(proto: TypeProto, reader: DimReader, unknown: Callable[[int], Dim]) -> Value | None:
    """The fact that a declared type states, None when it states nothing.

    unknown   makes the Dim of axis i where the declaration has no size

    Of sequences in sequences, or the like, past MAX_NESTING nothing is said.
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
    """A declared type as facts are printed."""
    return str(from_type(proto, DimReader(), lambda axis: symbol("?")))


def _shape(proto: onnx.TensorShapeProto, reader: DimReader, unknown: Callable[[int], Dim]) -> Shape:
    return tuple(reader.dim(d, partial(unknown, axis)) for axis, d in enumerate(proto.dim))


def to_dim_param(dim: Expr) -> str:
    """The text of a symbolic dim in a file: a lone symbol under its own name, else the expression."""
    return dim.name if dim.is_symbol else str(dim)


def to_type(value: Value, spell: Callable[[Expr], str] = to_dim_param) -> TypeProto | None:
    """The TypeProto that states `value`; None when the element type is not known (a TypeProto needs one).

    spell   the text of a symbolic dim, empty to leave the dim open
    """
    proto = TypeProto()
    return proto if _fill(proto, value, spell) else None


def has_type(value: Value | None) -> bool:
    """Whether `to_type` has a type for it."""
    match value:
        case SymbolicTensor(dtype=dtype) | SparseTensor(dtype=dtype):
            return dtype is not None
        case SequenceType(element=element) | OptionalType(element=element):
            return has_type(element)
        case MapType(key=key, value=element):
            return key is not None and has_type(element)
    return False


def _fill(proto: TypeProto, value: Value | None, spell: Callable[[Expr], str]) -> bool:
    match value:
        case SymbolicTensor(dtype=DType() as dtype, shape=shape):
            proto.tensor_type.elem_type = int(dtype)
            if shape is not None:
                _fill_shape(proto.tensor_type.shape, shape, spell)
            return True
        case SparseTensor(dtype=DType() as dtype, shape=shape):
            proto.sparse_tensor_type.elem_type = int(dtype)
            if shape is not None:
                _fill_shape(proto.sparse_tensor_type.shape, shape, spell)
            return True
        case SequenceType(element=element):
            return _fill(proto.sequence_type.elem_type, element, spell)
        case OptionalType(element=element):
            return _fill(proto.optional_type.elem_type, element, spell)
        case MapType(key=DType() as key, value=element):
            proto.map_type.key_type = int(key)
            return _fill(proto.map_type.value_type, element, spell)
    return False


def _fill_shape(proto: onnx.TensorShapeProto, shape: Shape, spell: Callable[[Expr], str]) -> None:
    proto.SetInParent()  # the empty shape of a scalar is not a missing shape
    for dim in shape:
        entry = proto.dim.add()
        if isinstance(dim, int):
            if dim < 2**63:  # else no run gets that far, and no file can say it
                entry.dim_value = dim
        elif text := spell(dim):
            entry.dim_param = text
