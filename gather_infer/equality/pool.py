"""The pool of terms: makes each term once, in a normal form, and substitutes index variables.

Normal forms: an index into an axis of size 1 is 0; a constant array has one axis per index variable, in the order of
the variables, and none along which its elements are equal; integers that are affine in the variables are polynomials;
operators of constants are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import count
from math import prod
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gather_infer.equality.arrays import (
    affine,
    bits_of,
    constant_axes,
    elements_at,
    grid_of,
    is_renamed,
    listed_element,
    numbers_of,
    spans,
    without_repeated_axes,
)
from gather_infer.equality.constant_reads import canonical_read, positions_at
from gather_infer.equality.frames import Frame, axes_in, is_axis_symbol
from gather_infer.equality.terms import (
    Apply,
    Attributes,
    Body,
    Call,
    Integer,
    Literal,
    Operand,
    Operator,
    Select,
    Source,
    Tensor,
    Term,
    axis_symbol,
)
from gather_infer.ir.constant import bits_dtype
from gather_infer.symbolic import Dim, Expr, Scope, known_le, known_lt, substitute, symbol
from gather_infer.symbolic.normal_form import Symbol
from gather_infer.tensor import INTEGER_RANGE, DType, Shape, static_dims
from gather_infer.value_ranges import cannot_wrap

MAX_GRID: Final = 1 << 22
"""Largest number of elements of an array that is computed."""

MAX_KEYED: Final = 256
"""Largest number of bytes of an array that are its key; larger arrays with some equal elements are compared."""

SAMPLED_ELEMENTS: Final = 16

_T = TypeVar("_T")
Columns: TypeAlias = "Callable[[TermPool, Source, Call, tuple[Dim, ...], Frame], Term | None]"
Applied: TypeAlias = "Callable[[TermPool, Apply, tuple[Term, ...], Frame], Term]"


class TermPool:
    """All terms of one proof.

    facts      about the symbols of the models; a proof may use them
    applied    the pointwise operator of a term, applied to other operands in a frame, in normal form
    renamed    the same, where the operands are those of the term with other names of index variables
    columns     the element of a product that is read at some of its columns, by the product with these; None if that is
                no law
    takes_zeros      whether a Where is taken to keep the sign of a zero, which onnxruntime drops in the second operand
    context    the body that is being translated; 0 for the main graph. Facts about its indices, and the sizes of its
               results, need not hold elsewhere: another run may not enter it
    """

    def __init__(
        self,
        facts: Scope,
        applied: Applied,
        renamed: Applied,
        *,
        columns: Columns | None = None,
        takes_zeros: bool = False,
    ) -> None:
        self.facts = facts
        self._columns, self.takes_zeros = columns, takes_zeros
        self._applied, self._renamed = applied, renamed
        self._interned: dict[Hashable, Any] = {}
        self._serials = count()
        self.context = 0
        self._frames: dict[tuple[int, Shape], Frame] = {}
        self._arrays: dict[tuple[DType, tuple[int, ...], bytes], list[tuple[npt.NDArray[Any], Source]]] = {}
        self.index_terms: dict[str, tuple[Term, Dim | None]] = {}
        """Symbol that stands for an integer -> its term; and the size of the axis if it is a position on that axis."""
        self.element_types: dict[str, DType | None] = {}
        """Symbol that stands for an element of a tensor, which may be as large as its type allows -> that type."""

    @property
    def nothing(self) -> Term:
        """The term of a tensor without elements."""
        return self.integer(DType.INT64, 0)

    def interned(self, key: Hashable, make: Callable[[int], _T]) -> _T:
        """The object with this key; `make` is called with a new serial number if there is none."""
        found: _T | None = self._interned.get(key)  # the key begins with the kind
        if found is None:
            found = self._interned[key] = make(next(self._serials))
        return found

    def frame(self, extents: Shape) -> Frame:
        """The frame of a tensor with these sizes, in the present context."""
        found = self._frames.get((self.context, extents))
        if found is None:
            found = self._frames[self.context, extents] = Frame(extents, self.facts)
        return found

    # sources

    def named(self, name: str, dtype: DType | None, shape: Shape | None) -> Source:
        """The input of both models, or the parameter of a body, called `name`."""
        return self.interned(("named", name, dtype, shape), lambda serial: Source(serial, dtype, shape, name=name))

    def array(self, dtype: DType, bits: npt.NDArray[Any]) -> Source:
        """Constant elements, by their bits."""
        if bits.dtype.hasobject or bits.nbytes <= MAX_KEYED:
            held = tuple(bits.flat) if bits.dtype.hasobject else bits.tobytes()
            return self.interned(
                ("array", dtype, bits.shape, held), lambda serial: Source(serial, dtype, bits.shape, array=bits)
            )
        flat = bits.reshape(-1)
        alike = self._arrays.setdefault((dtype, bits.shape, flat[:: -(-flat.size // SAMPLED_ELEMENTS)].tobytes()), [])
        for known, source in alike:
            if known is bits or np.array_equal(known, bits):
                return source
        found = Source(next(self._serials), dtype, bits.shape, array=bits)
        alike.append((bits, found))
        return found

    def listed(self, dtype: DType | None, shape: tuple[int, ...], terms: tuple[Term, ...]) -> Source:
        """A small tensor whose elements are terms without index variables."""
        return self.interned(("listed", dtype, shape, terms), lambda serial: Source(serial, dtype, shape, listed=terms))

    def listed_or_array(self, dtype: DType, shape: tuple[int, ...], terms: tuple[Term, ...]) -> Source:
        """A small tensor with these elements: an array of constants if all are numbers."""
        frame = self.frame(())
        grids = [grid_of(term, (), frame) if constant_axes(term, frame) == [] else None for term in terms]
        if terms and all(grid is not None for grid in grids):
            return self.array(dtype, np.array(grids, dtype=bits_dtype(dtype)).reshape(shape))
        return self.listed(dtype, shape, terms)

    def closed(self, tensor: Tensor) -> tuple[Source, list[int]]:
        """A tensor in several pieces as a source, without axes that no element depends on; and the axes that it has."""
        return self.interned(("closed", self.context, tensor), lambda _: self._closed(tensor))

    def _closed(self, tensor: Tensor) -> tuple[Source, list[int]]:
        read = {tensor.axis}.union(*(axes_in(term, self.index_terms) for _, term in tensor.pieces))
        axes = sorted(read)
        pieces = []
        for length, term in tensor.pieces:
            extents = tuple([length if axis == tensor.axis else size for axis, size in enumerate(tensor.shape)])
            frame = self.frame(tuple([extents[axis] for axis in axes]))
            index: list[Dim] = [0] * tensor.rank
            for axis, variable in zip(axes, frame.variables, strict=True):
                index[axis] = variable
            pieces.append((length, self.move(term, tuple(index), frame, extents)))
        shape = tuple([tensor.shape[axis] for axis in axes])
        held = self.pieced(tensor.dtype, shape, axes.index(tensor.axis), pieces)
        return self.interned(
            ("closed source", held), lambda serial: Source(serial, tensor.dtype, shape, pieces=held)
        ), axes

    def call(
        self, operator: Operator, attributes: Attributes, operands: tuple[Operand, ...], bodies: tuple[Body, ...] = ()
    ) -> Call:
        return self.interned(
            ("call", self.context, operator, attributes, operands, bodies),
            lambda serial: Call(serial, operator, attributes, operands, bodies),
        )

    def result(
        self,
        call: Call,
        output: int,
        dtype: DType | None,
        shape: Shape | None,
        bounds: tuple[Dim, Dim | None] | None = None,
    ) -> Source:
        """Output number `output` of a call. Its type and shape are those with which it was first asked for."""
        return self.interned(
            ("result", call, output),
            lambda serial: Source(serial, dtype, shape, call=call, output=output, bounds=bounds),
        )

    def known_result(self, call: Call, output: int) -> Source | None:
        """Output number `output` of a call, if it has been asked for."""
        return self._interned.get(("result", call, output))

    # tensors

    def tensor(self, dtype: DType | None, shape: Shape, term: Term) -> Tensor:
        """The tensor of one piece with this term; nothing is asked of the term of a tensor without elements."""
        return self.pieced(dtype, shape, 0, ((shape[0] if shape else 1, term),))

    def pieced(self, dtype: DType | None, shape: Shape, axis: int, pieces: Sequence[tuple[Dim, Term]]) -> Tensor:
        held = tuple(pieces)
        if 0 in shape:
            axis, held = 0, ((0, self.nothing),)
        elif len(held) == 1:
            axis, held = 0, ((shape[0] if shape else 1, held[0][1]),)
        return self.interned(
            ("tensor", dtype, shape, axis, held), lambda serial: Tensor(serial, dtype, shape, axis, held)
        )

    def whole(self, source: Source) -> Tensor:
        """A source of known shape as a tensor."""
        assert source.shape is not None, "the source has a known rank"
        frame = self.frame(source.shape)
        term = self.nothing if frame.is_empty else self._element(source, frame.variables, frame)
        return self.tensor(source.dtype, source.shape, term)

    def term_of(self, tensor: Tensor) -> Term:
        """The term of all elements of a tensor, several pieces closed."""
        if tensor.term is not None:
            return tensor.term
        source, axes = self.closed(tensor)
        variables = self.frame(tensor.shape).variables
        return self._selected(source, tuple([variables[axis] for axis in axes]))

    def at(self, tensor: Tensor, index: Sequence[Dim], frame: Frame) -> Term:
        """The element of a tensor at `index`, in dims of the index variables of `frame`."""
        if tensor.term is not None:
            return self.move(tensor.term, tuple(index), frame, tensor.shape)
        source, axes = self.closed(tensor)
        return self.select(source, tuple([index[axis] for axis in axes]), frame)

    # terms

    def integer(self, dtype: DType, dim: Dim) -> Integer:
        if isinstance(dim, int):
            lo, hi = INTEGER_RANGE[dtype]
            dim = (dim - lo) % (hi - lo + 1) + lo
        return self.interned(("integer", dtype, dim), lambda serial: Integer(serial, dtype, dim))

    def literal(self, dtype: DType, bits: int | bytes) -> Term:
        if dtype in INTEGER_RANGE and isinstance(bits, int):
            return self.integer(dtype, bits)
        return self.interned(("literal", dtype, bits), lambda serial: Literal(serial, dtype, bits))

    def apply(
        self, operator: Operator, attributes: Attributes, dtype: DType | None, operands: tuple[Term, ...]
    ) -> Apply:
        """The operator applied, as it is; `pointwise.applied` simplifies."""
        return self.interned(
            ("apply", operator, attributes, dtype, operands),
            lambda serial: Apply(serial, operator, attributes, dtype, operands),
        )

    def select(self, source: Source, index: Sequence[Dim], frame: Frame) -> Term:
        """The element of a source at `index`, in dims of the index variables of `frame`."""
        shape = source.shape
        assert shape is not None, "the source has a known rank"
        if frame.is_empty:
            return self.nothing
        place = [0 if size == 1 else frame.simplify(dim) for dim, size in zip(index, shape, strict=True)]
        return self._element(source, tuple(place), frame)

    def _element(self, source: Source, place: tuple[Dim, ...], frame: Frame) -> Term:
        """The element of a source at a position in simple dims, with 0 on axes of size 1; the frame is not empty."""
        if source.array is not None:
            return self._select_constant(source.dtype, source.array, place, frame)
        if source.listed:
            found = listed_element(source, place)
            if found is not None:
                return found
        if source.pieces is not None:
            found = self._select_piece(source.pieces, place, frame)
            if found is not None:
                return found
        if self._columns is not None and source.call is not None and source.call.operator[:2] == ("", "MatMul"):
            part = self._columns(self, source, source.call, place, frame)
            if part is not None:
                return part
        found = self._selected(source, place)
        return found if source.bounds is None else self._counted(found, source, frame)

    def _selected(self, source: Source, place: tuple[Dim, ...]) -> Select:
        return self.interned(("select", source, place), lambda serial: Select(serial, source, place))

    def _counted(self, term: Select, source: Source, frame: Frame) -> Term:
        """An element that is an integer >= 0, as a dim."""
        assert source.bounds is not None and source.dtype is not None
        name = self.interned(("element", term), lambda serial: symbol(f"\1{serial}"))
        self.index_terms[name.name] = term, None
        self.is_element(name, source.dtype)
        lo, hi = source.bounds
        frame.scope.add_fact(name - lo)
        if hi is not None:
            frame.scope.add_fact(hi - name)
        return self.integer(source.dtype, name)

    def _select_piece(self, tensor: Tensor, place: tuple[Dim, ...], frame: Frame) -> Term | None:
        begin: Dim = 0
        at = place[tensor.axis]
        for length, term in tensor.pieces:
            end = begin + length
            if known_le(begin, at, frame.scope) is True and known_lt(at, end, frame.scope) is True:
                local = (*place[: tensor.axis], at - begin, *place[tensor.axis + 1 :])
                return self.move(term, local, frame)
            begin = end
        return None

    def _select_constant(
        self, dtype: DType | None, array: npt.NDArray[Any], place: tuple[Dim, ...], frame: Frame
    ) -> Term:
        """An element of constant elements; see the normal form above."""
        assert dtype is not None, "constants have a type"
        if not array.size:
            return self.nothing
        axes = self._axes_behind(place, frame)
        sizes = None if axes is None else static_dims(tuple(frame.extents[axis] for axis in axes))
        if axes is not None and sizes is not None and prod(sizes) <= max(MAX_GRID, array.size):
            grid = elements_at(
                array, place, axes, sizes, lambda name: positions_at(*self.index_terms[name], axes, frame)
            )
            if grid is not None:
                return self.from_grid(dtype, grid, axes)
        elements, digits = canonical_read(array, place, frame)
        if not digits:
            return self.literal(dtype, bits_of(elements.reshape(-1)[0]))
        return self._constant_at(dtype, elements, digits)

    def _axes_behind(self, place: tuple[Dim, ...], frame: Frame) -> list[int] | None:
        """The axes whose index variables a position depends on alone; None if it depends on more."""
        found: set[int] = set()
        for dim in place:
            for name in dim.symbols if isinstance(dim, Expr) else ():
                if is_axis_symbol(name):
                    found.add(int(name[1:]))
                    continue
                term, size = self.index_terms.get(name, (None, None))
                axes = None if term is None else constant_axes(term, frame)
                if axes is None or not isinstance(size, int):
                    return None
                found.update(axes)
        return sorted(found)

    def from_grid(self, dtype: DType, grid: npt.NDArray[Any], axes: Sequence[int]) -> Term:
        """The term whose value is `grid` at the index variables of `axes`, which ascend."""
        grid, kept = without_repeated_axes(grid, axes)
        if not kept:
            return self.literal(dtype, bits_of(grid.reshape(-1)[0]))
        return self._constant_at(dtype, grid, tuple([axis_symbol(axis) for axis in kept]))

    def _constant_at(self, dtype: DType, grid: npt.NDArray[Any], place: tuple[Dim, ...]) -> Term:
        """The element of constant elements at a position, which is an integer if they are affine in it."""
        number = affine(numbers_of(dtype, grid), place) if dtype in INTEGER_RANGE else None
        if number is not None:
            return self.integer(dtype, number)
        return self._selected(self.array(dtype, np.ascontiguousarray(grid)), place)

    # integers

    def exact_integer(self, term: Term, frame: Frame) -> Dim | None:
        """The integer that an element is; None if it is not known, or may have wrapped around.

        An int64 that is a sum or product of sizes does not wrap around, as everywhere in the inference. One that is
        computed from elements may.
        """
        if not isinstance(term, Integer):
            return None
        dim = term.dim
        if isinstance(dim, int):
            return dim
        if dim.is_symbol and self.element_types.get(dim.name) is term.dtype:
            return dim
        if term.dtype is DType.INT64 and dim.symbols.isdisjoint(self.element_types) and cannot_wrap(dim):
            return dim
        lo, hi = INTEGER_RANGE[term.dtype]
        return dim if known_le(lo, dim, frame.scope) is True and known_le(dim, hi, frame.scope) is True else None

    def element_of(self, term: Term) -> Term | None:
        """The element that an integer is, if a symbol stands for it; else None."""
        if not isinstance(term, Integer) or not isinstance(term.dim, Symbol):
            return None
        element, size = self.index_terms.get(term.dim.name, (None, 0))
        return element if size is None and element is not None and element.dtype is term.dtype else None

    # substitution

    def index_symbol(self, term: Term, size: Dim, frame: Frame) -> Dim:
        """The position that `term` addresses on an axis of `size` elements; a negative one counts from the end.

        The access is legal: `-size <= term < size`.
        """
        number = self.exact_integer(term, frame)
        if number is not None:
            if isinstance(number, int) and number < 0:
                return size + number
            if isinstance(number, Symbol) and number.name in self.index_terms:
                frame.scope.add_fact(size - 1 - number)  # it is >= 0, and in bounds
                return number
            if known_le(0, number, frame.scope) is True:
                return number
        found = self.interned(("index", term, size), lambda serial: symbol(f"\1{serial}"))
        self.index_terms[found.name] = term, size
        frame.scope.add_fact(size - 1 - found)
        return found

    def _value(self, term: Term, frame: Frame) -> Dim:
        """The integer >= 0 that a term without known bounds is, by the bounds of the term it was made from."""
        found = self.interned(("element", term), lambda serial: symbol(f"\1{serial}"))
        self.index_terms[found.name] = term, None
        self.is_element(found, term.dtype)
        return found

    def is_element(self, dim: Dim, dtype: DType | None) -> None:
        """Note that a dim stands for an element of a tensor of type `dtype`, and for no size."""
        if isinstance(dim, Expr):
            for name in dim.symbols:
                self.element_types[name] = dtype if dim.is_symbol else None

    def move_dim(
        self, dim: Dim, index: tuple[Dim, ...], frame: Frame, shape: Shape | None = None, *, renames: bool = False
    ) -> Dim:
        """A dim with the index variables replaced, in symbols that stand for terms too.

        renames  whether `index` only renames variables, so that the dim stays as simple as it is
        """
        if isinstance(dim, int):
            return dim
        mapping: dict[str, Dim] = {}
        for name in dim.symbols:
            if name[:1] == "\0":
                mapping[name] = index[int(name[1:])]
            elif name[:1] == "\1":
                term, size = self.index_terms[name]
                moved = self.move(term, index, frame, shape)
                if size is not None:
                    mapping[name] = self.index_symbol(moved, self.move_dim(size, index, frame, shape), frame)
                else:
                    mapping[name] = moved.dim if isinstance(moved, Integer) else self._value(moved, frame)
        if not mapping:
            return dim
        found = mapping[dim.name] if isinstance(dim, Symbol) else substitute(dim, mapping)
        return found if renames else frame.simplify(found)

    def move(self, term: Term, index: tuple[Dim, ...], frame: Frame, shape: Shape | None = None) -> Term:
        """A term with `index` in place of the index variables; without recursion along operands of operators.

        shape  the ranges of the index variables before; those of `frame` if None
        """
        if index == frame.variables[: len(index)] and (shape is None or shape == frame.extents[: len(index)]):
            return term
        if frame.is_empty:
            return self.nothing
        moved = frame.moved
        known = moved.get((term, index))
        if known is not None:
            return known
        renames = shape is not None and frame.renames(index, shape)
        pending = [term]
        while pending:
            top = pending[-1]
            key = top, index
            if key in moved:
                pending.pop()
                continue
            if isinstance(top, Apply):
                missing = [operand for operand in top.operands if (operand, index) not in moved]
                if missing:
                    pending += missing
                    continue
                operands = tuple([moved[operand, index] for operand in top.operands])
                if operands == top.operands:
                    moved[key] = top
                else:
                    moved[key] = (self._renamed if renames else self._applied)(self, top, operands, frame)
            elif isinstance(top, Select):
                place = tuple([self.move_dim(dim, index, frame, shape, renames=renames) for dim in top.index])
                array = top.source.array
                is_same = place == top.index and (array is None or spans(array, place, frame))
                if is_same and (self._columns is None or top.source.call is None):
                    moved[key] = top
                elif array is not None and is_renamed(array, place, frame):
                    moved[key] = self._selected(top.source, place)
                else:
                    moved[key] = self.select(top.source, place, frame)
            elif isinstance(top, Integer):
                moved[key] = self.integer(top.dtype, self.move_dim(top.dim, index, frame, shape, renames=renames))
            else:
                moved[key] = top
            pending.pop()
        return moved[term, index]
