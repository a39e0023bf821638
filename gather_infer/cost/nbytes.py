"""Size of values in bytes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from gather_infer.cost.work import CostUnknown
from gather_infer.symbolic import Dim, ceildiv, free_symbols, product, total
from gather_infer.tensor import DType, OptionalType, SequenceType, SymbolicTensor, Value, element_bytes

BITS: Final = {
    DType.UINT4: 4, DType.INT4: 4, DType.FLOAT4E2M1: 4, DType.UINT2: 2, DType.INT2: 2, DType.FLOAT6E2M3: 6,
    DType.FLOAT6E3M2: 6,
}  # fmt: skip
"""Bits per element of the packed element types, of which several elements share a byte."""


def value_bytes(value: Value | None, generated: Collection[str] = ()) -> Dim:
    """The size in bytes of the elements of a value. Raises CostUnknown if the size is unknown, as for strings.

    generated   symbols that the inference introduced: a dim of a sequence's element type that contains such a symbol
                may differ between members
    """
    match value:
        case SymbolicTensor(dtype=dtype, shape=shape) if dtype is not None and shape is not None:
            if dtype is DType.STRING:
                raise CostUnknown("strings have no fixed size")
            bits = BITS.get(dtype)
            if bits is None:
                return product(shape) * element_bytes(dtype)
            return ceildiv(product(shape) * bits, 8)
        case SequenceType(members=members) if members is not None:
            return total(value_bytes(member, generated) for member in members)
        case SequenceType(length=0):
            return 0
        case SequenceType(element=element, length=length) if element is not None and length is not None:
            each = value_bytes(element, generated)
            if not free_symbols(each).isdisjoint(generated):
                raise CostUnknown("the members of a sequence may differ in size")
            return each * length
        case OptionalType(present=False):
            return 0
        case OptionalType(element=element) if element is not None:
            return value_bytes(element, generated)
        case SymbolicTensor(shape=None):
            raise CostUnknown("the rank is not known")
        case SymbolicTensor():
            raise CostUnknown("the element type is not known")
        case None:
            raise CostUnknown("its type is not known")
    raise CostUnknown(f"the size of {value} is not known")
