"""Values with axis factors: which sizes each axis holds, and where a Reshape puts them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import Dim, Expr, evaluate, free_symbols, substitute
from gather_infer.tensor import Shape, SymbolicTensor, Value
from gather_infer.unfreezing.counterpart import Counterpart
from gather_infer.unfreezing.factors.axis_factors import (
    AxisFactors,
    Factors,
    WindowSize,
    dim_of,
    is_free,
    joined,
    placements,
    whole,
)
from gather_infer.unfreezing.factors.factor_order import has_order_of, with_symbols
from gather_infer.unfreezing.factors.samples import SizeSamples, values_of
from gather_infer.unfreezing.factors.transposed_rows import Pattern, after_transpose
from gather_infer.unfreezing.new_values import NewValues
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.bodies import Bodies
    from gather_infer.unfreezing.sizes.computed_sizes import Site

_GROWN: Final = (1 << 10, 1 << 20)
"""Two sizes of an image, at which strides and paddings no longer count."""


class FactoredValues(NewValues):
    """An interpreter that records the axis factors of values.

    static   the facts of the model before, of the values that the present graph can read
    path     the present graph, in the file
    bodies   the walk of subgraphs
    freed    symbol -> the old size
    sites    symbol, freed or dynamic before -> an input axis that has it
    row_symbols   the symbols of rows, of which each is computed alone; others are lengths
    counterpart  a second model at other sizes; None if there is none
    factors  the axis factors of values that depend on a freed size
    dependent  the values that are computed from an input with a freed size
    image_symbols  the symbols of lengths that are sizes of images: a node slides windows over them
    images   sizes of images that the network has before tokens are made images again
    ambiguous   results of Reshapes that can hold a freed size of 1 in several places, and patterns of Reshapes that may
                stand for a Transpose and a Reshape -> the number of ways
    placements  which of them to take, the first one unless given
    perms    results of Reshapes whose input has to be transposed -> the order of its axes
    transposed  the transposed values
    other_places  results of Reshapes that can hold a length in several places -> the numbers of those not taken
    filled   the size of an axis that a padding fills up -> that of the image or length in it, and the number that
             divides it
    """

    static: Mapping[str, Value]
    path: GraphPath
    bodies: Bodies
    freed: dict[str, int]
    sites: Mapping[str, Site]
    row_symbols: frozenset[str]
    samples: SizeSamples
    counterpart: Counterpart | None
    filled: dict[Dim, tuple[Dim, int]]

    def begin_factors(self) -> None:
        """Begin a walk."""
        self.factors: dict[str, AxisFactors] = {}
        self.dependent: set[str] = set()
        self.image_symbols: set[str] = set()
        self.images: set[Shape] = set()
        self.ambiguous: dict[str | Pattern, int] = {}
        self.placements: Mapping[str | Pattern, int] = {}
        self.perms: dict[str, Sequence[int]] = {}
        self.transposed: set[str] = set()
        self.other_places: dict[str, list[int]] = {}

    @abstractmethod
    def label(self, node: NodeProto) -> str:
        """A node, as messages name it."""

    def shape_in_second(self, name: str) -> Shape | None:
        return None if self.counterpart is None or self.path.steps else self.counterpart.shape(name)

    # inference of a node

    def is_shape(self, shape: Shape, axes: AxisFactors) -> bool:
        return all(dim == dim_of(factors) for dim, factors in zip(shape, axes, strict=True))

    def regrouped(self, node: NodeProto, shape: Shape) -> list[AxisFactors] | None:
        """The axis factors that the result of a Reshape or Flatten can have; None for other operators."""
        if node.op_type not in ("Reshape", "Flatten") or node.domain not in ("", "ai.onnx"):
            return None
        axes = self.factors.get(node.input[0])
        if axes is None:
            return None
        target = [size for size in values_of(shape, self.samples.old) if size is not None]
        if 0 in target:
            return None
        found = [
            named
            for each in placements(axes, target, lambda dim: is_free(dim, self.freed), self.samples.old, self._may_cut)
            if (named := self._named(each, shape, axes)) is not None
        ]
        other = self.shape_in_second(node.output[0])
        if other is not None:
            found = [
                each for each in found
                if [*values_of(map(dim_of, each), self.samples.other)] == [*values_of(other, self.samples.other)]
            ]  # fmt: skip
        found = self._with_windows(node, axes, found)
        name = node.output[0]
        moved = None if self._is_dynamic(shape) else after_transpose(self, axes, target, found, node)
        if moved is not None:
            return moved
        if len(found) > 1:
            name = self.bodies.key(node.output[0])
            self.ambiguous[name] = len(found)
            first = self.placements.get(name, 0)
            found = found[first:] + found[:first]
            places = [[*values_of(map(dim_of, each), self.samples.of_lengths)] for each in found]
            others = [(first + at) % len(found) for at, dims in enumerate(places) if dims != places[0]]
            if others and other is None and self.image_of(tuple(map(dim_of, found[0]))) not in self.images:
                if self.path.steps:
                    raise Blocked(self.label(node), "more than one of its axes can hold a size of 1")
                self.other_places[name] = others
        return found

    def _may_cut(self, dim: Dim) -> bool:
        """Whether an axis may be cut into windows: one of an image, a length that is filled up to them, or any one if a
        second model has another one.

        All pixels as one axis, whose rows and columns are not known, are not cut: a part may be the rows.
        """
        if not isinstance(dim, Expr) or not dim.symbols.isdisjoint(self.row_symbols):
            return False
        if self.counterpart is not None:
            return True
        if self._window_of(dim) is not None:
            return True
        return dim.symbols <= self.image_symbols and len(dim.symbols) == 1 and not _is_product(dim)

    def _window_of(self, dim: Dim) -> int | None:
        """The size of the windows that a length is filled up to, or that one is with more of them around it."""
        if not isinstance(dim, Expr) or dim.symbols <= self.image_symbols:
            return None
        found = (number for filled, (_, number) in self.filled.items() if isinstance(dim - filled, int))
        return next(found, None)

    def _with_windows(self, node: NodeProto, before: AxisFactors, found: list[AxisFactors]) -> list[AxisFactors]:
        """Those of the axis factors of a Reshape in which filled lengths are whole, or cut into their windows.

        The target of one that cuts has to infer the number of windows.
        """
        flat = [factor for axis in before for factor in axis]
        windows = {dim: number for dim in joined(flat) if (number := self._window_of(dim)) is not None}
        target = self.array(node.input[1]) if windows and len(node.input) > 1 else None

        def is_right(axes: AxisFactors, dim: Dim, number: int) -> bool:
            held = [(at, factor) for at, factors in enumerate(axes) for factor in factors]
            if any(factor == dim for _, factor in held):
                return True
            sizes = [each for _, each in held if isinstance(each, WindowSize) and each.whole == dim]
            if len(sizes) != 1 or int(sizes[0]) != number:
                return False
            count = next((at for at, factor in held if factor == sizes[0].outer), None)
            return dim not in flat or (target is not None and count is not None and target[count] == -1)

        return [each for each in found if all(is_right(each, *window) for window in windows.items())]

    def image_of(self, shape: Shape) -> Shape:
        """The axes of a shape from the first length to the last one; () if there is only one."""
        lengths = {name: size for name, size in self.freed.items() if name not in self.row_symbols}
        free = [axis for axis, dim in enumerate(shape) if is_free(dim, lengths)]
        return shape[free[0] : free[-1] + 1] if len(free) > 1 else ()

    def _named(self, axes: AxisFactors, shape: Shape, before: AxisFactors) -> AxisFactors | None:
        """Axis factors with the symbols of the static shape, sizes that were dynamic before, in place of their samples.

        None if it is not known that the order of the elements is that of `before` at all of these sizes.
        """
        found = tuple(
            factors if any(isinstance(f, WindowSize) or is_free(f, self.freed) for f in factors) else whole(dim)
            for factors, dim in zip(axes, shape, strict=True)
        )
        if not self._is_dynamic(shape) and not any(map(self._is_dynamic, before)):
            return found
        named = tuple(
            with_symbols(factors, dim, self.samples.old) if free_symbols(dim) <= self.sites.keys() else factors
            for factors, dim in zip(found, shape, strict=True)
        )
        is_shape = all(
            substitute(dim_of(factors), self.freed) == substitute(dim, self.freed)
            for factors, dim in zip(named, shape, strict=True)
        )
        return named if is_shape and has_order_of(before, named, self.freed) else None

    def _is_dynamic(self, dims: Iterable[Dim]) -> bool:
        """Whether a dim depends on a size that was dynamic before."""
        return any(not free_symbols(dim) <= self.freed.keys() for dim in dims)

    def record(self, name: str, value: Value, inputs: Sequence[str], node: NodeProto | None = None) -> None:
        """Record the axis factors of a value that depends on a freed size."""
        if not isinstance(value, SymbolicTensor) or value.shape is None:
            return
        if not any(is_free(dim, self.freed) for dim in value.shape):
            return
        if node is not None:
            was = self.static.get(name)
            known = was.shape if isinstance(was, SymbolicTensor) else None
            found = self.regrouped(node, value.shape if known is None else known)
            if found and self.is_shape(value.shape, found[0]):
                self.factors[name] = found[0]
                return
            if node.op_type == "Transpose" and node.input[0] in self.factors:
                held = self.factors[node.input[0]]
                perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(len(held)))[::-1])
                self.factors[name] = tuple(held[axis] for axis in perm)
                return
            repeats = self.array(node.input[1]) if node.op_type == "Tile" and node.input[0] in self.factors else None
            if repeats is not None:
                held = self.factors[node.input[0]]
                self.factors[name] = tuple(
                    (count, *factors) if count != 1 else factors
                    for count, factors in zip(repeats.ravel().tolist(), held, strict=True)
                )
                return
        self.dependent.add(name)
        self.factors[name] = tuple(self._factors_of(dim, inputs) for dim in value.shape)

    def _factors_of(self, dim: Dim, inputs: Sequence[str]) -> Factors:
        """The factors of an axis, from an axis of an input with the same dim."""
        if isinstance(dim, Expr) and dim.is_symbol:
            return whole(dim)
        held = (factors for name in inputs for factors in self.factors.get(name, ()) if dim_of(factors) == dim)
        if isinstance(dim, int):
            held = (factors for factors in held if any(isinstance(factor, WindowSize) for factor in factors))
        return max(held, key=len, default=whole(dim))


def _is_product(dim: Expr) -> bool:
    """Whether a dim of one symbol grows faster than it, as `size*size` does."""
    small, large = (evaluate(dim, dict.fromkeys(dim.symbols, size)) for size in _GROWN)
    return large * _GROWN[0] > 2 * small * _GROWN[1]
