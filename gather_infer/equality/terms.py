"""Terms: what one element of a tensor is, as a function of its position. Equal terms are the same object.

The position is a tuple of *index variables*, the symbols `axis_symbol(0)`, `axis_symbol(1)`, ...; a term has no other
bound variables. There are four kinds:

    Integer(dtype, dim)               the integer `dim`, modulo the width of the type
    Literal(dtype, bits)              a number that is no integer, or a truth value, by its bits
    Select(source, index)             an element of a source; the index is a tuple of dims
    Apply(operator, ..., operands)    a pointwise operator on elements

A `Source` is a whole tensor that no term can look into: an input of the model, a parameter of a body, an array of
constants, a list of terms, a tensor in several pieces, or the result of a call. A `Call` is an operator that is an
uninterpreted deterministic function of its attributes, operands and bodies.

None of them is modified. They are not `frozen`, because a proof makes many, and a frozen one takes four times as long.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy.typing as npt

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import DType, Shape


@cache
def axis_symbol(axis: int) -> Expr:
    """The index variable of an axis. No dim of a model has its name."""
    return symbol(f"\0{axis}")


@dataclass(slots=True, eq=False)
class Integer:
    """An integer, modulo the width of its type."""

    serial: int
    dtype: DType
    dim: Dim


@dataclass(slots=True, eq=False)
class Literal:
    """A number or a truth value; `bits` as an integer, bytes for a string or 128 bits."""

    serial: int
    dtype: DType
    bits: int | bytes


@dataclass(slots=True, eq=False)
class Select:
    """The element of `source` at `index`."""

    serial: int
    source: Source
    index: tuple[Dim, ...]

    @property
    def dtype(self) -> DType | None:
        return self.source.dtype


@dataclass(slots=True, eq=False)
class Apply:
    """A pointwise operator on elements.

    operator    domain, name and the version since which the operator has been as it is
    attributes  sorted by name, without those that have their default
    """

    serial: int
    operator: Operator
    attributes: Attributes
    dtype: DType | None
    operands: tuple[Term, ...]


Term: TypeAlias = Integer | Literal | Select | Apply
Operator: TypeAlias = tuple[str, str, int]
Attributes: TypeAlias = tuple[tuple[str, Hashable], ...]


@dataclass(slots=True, eq=False)
class Call:
    """An operator as an uninterpreted function.

    operands  a tensor, a source of unknown shape, or None for an operand that is left out
    bodies    of control flow: for each body the number of its parameters, its context in `TermPool`, and its outputs
    """

    serial: int
    operator: Operator
    attributes: Attributes
    operands: tuple[Operand, ...]
    bodies: tuple[Body, ...] = ()


@dataclass(slots=True, eq=False)
class Source:
    """A tensor by its identity; `shape` is None where the rank is unknown, or it is no tensor.

    name     of an input of the model; "" for others
    call     the call whose output number `output` it is
    array    the bits of constant elements
    listed   terms in row-major order, without index variables
    pieces   the tensor in several pieces that it is
    bounds   of its elements, integers >= 0; None if they are not known to be so
    """

    serial: int
    dtype: DType | None
    shape: Shape | None
    name: str = ""
    call: Call | None = None
    output: int = 0
    array: npt.NDArray[Any] | None = None
    listed: tuple[Term, ...] = ()
    pieces: Tensor | None = None
    bounds: tuple[Dim, Dim | None] | None = None


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor as a function from positions to terms. Equal tensors are the same object.

    axis    the axis along which the pieces follow each other; 0 where there is one piece
    pieces  length along that axis and term of each piece; the index variable of the axis counts from its begin
    """

    serial: int
    dtype: DType | None
    shape: Shape
    axis: int
    pieces: tuple[tuple[Dim, Term], ...]

    @property
    def term(self) -> Term | None:
        """The term of all elements; None where there are several pieces."""
        return self.pieces[0][1] if len(self.pieces) == 1 else None

    @property
    def rank(self) -> int:
        return len(self.shape)


Operand: TypeAlias = "Tensor | Source | None"
Body: TypeAlias = tuple[int, int, tuple[Operand, ...]]
