"""Positions: which axis the elements of an integer tensor are indices of.

NonZero, ArgMax and TopK give positions in the axes that they look at. An index into an axis with the same sizes in the
same order needs no edit, whatever the freed size is. Positions in two axes are joined by arithmetic, `row*7 + column`,
and parted by `index // 7` and `index % 7`: there 7 is the size of an axis, and follows it if that is a freed one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import Factors, dim_of, is_free, whole
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Columns = tuple["Factors | None", ...]


class Positions(NamedTuple):
    """The axes, as their factors, that elements are positions in; None for elements of another meaning.

    axis     the axis along which the meaning differs, with an entry of `columns` for each index; None if all elements
             have the same, the only one of `columns`
    """

    axis: int | None
    columns: Columns


class PositionFacts:
    """The positions that integer tensors of a walk hold."""

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._known: dict[str, Positions] = {}
        self._scaled: dict[str, tuple[str, int]] = {}

    def forget(self, names: Collection[str]) -> None:
        """Forget the values of a subgraph, whose names another one may have."""
        for name in names:
            self._known.pop(name, None)
            self._scaled.pop(name, None)

    def of(self, name: str, component: int | None = None) -> Factors | None:
        """The factors of the axis that elements are positions in; those of one component of index tuples."""
        found = self._known.get(name)
        if found is None:
            return None
        if found.axis is None:
            return found.columns[0]
        fact = self.walk.environment.values.get(name)
        rank = len(fact.shape or ()) if isinstance(fact, SymbolicTensor) else 0
        return found.columns[component] if component is not None and found.axis == rank - 1 else None

    def are_in(self, name: str, component: int | None, factors: Factors) -> bool:
        """Whether elements are positions in an axis with these factors."""
        found = self.of(name, component)
        return found is not None and _joined(found) == _joined(factors)

    def note(self, node: NodeProto) -> None:
        """Record the positions that the outputs of a node hold."""
        if node.domain not in ("", "ai.onnx"):
            return
        if node.op_type == "Mul":
            self._note_scaled(node)
        transfer = _TRANSFERS.get(node.op_type)
        if transfer is None or not node.input:
            return
        for name, found in zip(node.output, transfer(self, node), strict=False):
            if name and found is not None and any(column is not None for column in found.columns):
                same = all(column == found.columns[0] for column in found.columns)
                self._known[name] = Positions(None, found.columns[:1]) if same else found

    def with_sizes(self, node: NodeProto) -> NodeProto:
        """The node with the size of an axis where a constant joins or parts positions, or the node."""
        if node.domain not in ("", "ai.onnx") or len(node.input) != 2:
            return node
        if node.op_type == "Add":
            return self._joining(node)
        return self._parting(node) if node.op_type in ("Div", "Mod") else node

    # arithmetic

    def _note_scaled(self, node: NodeProto) -> None:
        for position, name in enumerate(node.input):
            number = self._number(node.input[1 - position])
            if number is not None and self.of(name) is not None:
                self._scaled[node.output[0]] = (name, number)

    def _joining(self, node: NodeProto) -> NodeProto:
        """`outer*size + inner`, where the size is that of the axis of `inner`."""
        for position, scaled in enumerate(node.input):
            inner = self.of(node.input[1 - position])
            if scaled not in self._scaled or inner is None or not self._is_free(inner):
                continue
            outer, number = self._scaled[scaled]
            if number == self._old(inner):
                product = self.walk.emit("Mul", [outer, self._size(inner, node.input[1 - position])])
                self._scaled[product] = (outer, number)
                return self.walk.with_inputs(node, {position: product})
        return node

    def _parting(self, node: NodeProto) -> NodeProto:
        """`index // size` or `index % size`, where the size is that of the innermost axes.

        The size of the whole axis changes nothing: the number is one of the network, which no index reaches.
        """
        held, number = self.of(node.input[0]), self._number(node.input[1])
        place = None if held is None or number is None else self._cut(held, number)
        if held is None or place is None or not self._is_free(held[place:]):
            return node
        if place == 0:
            if node.op_type == "Div" and not self._is_whole(node):
                raise Blocked(self.walk.label(node), f"divides positions by {number}, which may follow their number")
            self.walk.limit_lengths()
            return node
        return self.walk.with_inputs(node, {1: self._size(held[place:], node.input[0])})

    def _is_whole(self, node: NodeProto) -> bool:
        """Whether a division has whole results: of integers, or rounded down by each node that reads it."""
        fact = self.walk.environment.values.get(node.input[0])
        if isinstance(fact, SymbolicTensor) and fact.dtype is not None and fact.dtype.is_integer:
            return True
        readers = self.walk.readers.get(node.output[0], [])
        return bool(readers) and all(reader.op_type in _ROUNDING for reader in readers)

    def _cut(self, held: Factors, number: int) -> int | None:
        """Where the innermost factors begin whose product was a number."""
        return next((at for at in range(len(held) - 1, -1, -1) if self._old(held[at:]) == number), None)

    def _size(self, factors: Factors, like: str) -> str:
        """The size of an axis as a value that broadcasts, of the type of another one."""
        found = self.walk.sizes.of_dim(dim_of(factors))
        fact = self.walk.environment.values.get(like)
        if isinstance(fact, SymbolicTensor) and fact.shape == ():
            found = self.walk.emit("Reshape", [found, self.walk.constant(np.array([], np.int64))])
        if isinstance(fact, SymbolicTensor) and fact.dtype not in (None, DType.INT64):
            found = self.walk.emit("Cast", [found], to=int(fact.dtype))
        return found

    def _number(self, name: str) -> int | None:
        array = self.walk.array(name)
        if (
            array is None
            or array.size != 1
            or array.dtype.kind not in "iuf"
            or array.ravel()[0] != array.ravel()[0] // 1
        ):
            return None
        return int(array.ravel()[0])

    def _old(self, factors: Factors) -> int | None:
        return next(values_of([dim_of(factors)], self.walk.samples.old))

    def _is_free(self, factors: Factors) -> bool:
        return any(is_free(factor, self.walk.freed) for factor in factors)

    # transfer

    def axes(self, name: str) -> Sequence[Factors]:
        """The factors of the axes of a value."""
        fact = self.walk.environment.values.get(name)
        shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
        return self.walk.factors.get(name) or tuple(whole(dim) for dim in shape)

    def sources(self, node: NodeProto) -> list[Positions | None]:
        axes = self.axes(node.input[0])
        if node.op_type == "NonZero":
            return [Positions(0, tuple(axes))]
        axis = _integer(node, "axis", -1 if node.op_type == "TopK" else 0)
        found = Positions(None, (axes[axis % len(axes)],)) if axes else None
        return [None, found] if node.op_type == "TopK" else [found]

    def kept(self, node: NodeProto) -> list[Positions | None]:
        """Operators that keep each element, or take elements: only one meaning for all is followed."""
        found = self._known.get(node.input[0])
        return [found if found is not None and (found.axis is None or node.op_type in ("Identity", "Cast")) else None]

    def transposed(self, node: NodeProto) -> list[Positions | None]:
        found = self._known.get(node.input[0])
        if found is None or found.axis is None:
            return [found]
        rank = len(self.axes(node.input[0]))
        perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(rank))[::-1])
        return [Positions(perm.index(found.axis), found.columns)]

    def sliced(self, node: NodeProto) -> list[Positions | None]:
        found = self._known.get(node.input[0])
        if found is None or found.axis is None:
            return [found]
        rank = len(self.axes(node.input[0]))
        starts, ends, axes, steps = (
            self.walk.array(node.input[at]) if len(node.input) > at and node.input[at] else None for at in range(1, 5)
        )
        if starts is None or ends is None:
            return [None]
        cut = [int(axis) % rank for axis in (range(starts.size) if axes is None else axes.ravel())]
        if found.axis not in cut:
            return [found]
        at = cut.index(found.axis)
        step = 1 if steps is None else int(steps.flat[at])
        return [Positions(found.axis, found.columns[int(starts.flat[at]) : int(ends.flat[at]) : step])]

    def gathered(self, node: NodeProto) -> list[Positions | None]:
        found = self._known.get(node.input[0])
        if found is None or found.axis is None:
            return [found]
        rank, taken = len(self.axes(node.input[0])), self.walk.array(node.input[1])
        axis = _integer(node, "axis", 0) % rank
        if axis != found.axis or taken is None or taken.ndim > 1:
            return [None]
        columns = tuple(
            found.columns[int(at)] for at in taken.ravel() if -len(found.columns) <= at < len(found.columns)
        )
        return [Positions(None, columns[:1]) if taken.ndim == 0 else Positions(axis, columns)]

    def split(self, node: NodeProto) -> list[Positions | None]:
        found = self._known.get(node.input[0])
        rank = len(self.axes(node.input[0]))
        if found is None or found.axis is None or _integer(node, "axis", 0) % rank != found.axis:
            return [found] * len(node.output)
        parts: list[Positions | None] = []
        start = 0
        for name in node.output:
            size = self._size_along(name, found.axis)
            if size is None:
                return parts
            parts.append(Positions(found.axis, found.columns[start : start + size]) if size else None)
            start += size
        return parts

    def _size_along(self, name: str, axis: int) -> int | None:
        fact = self.walk.environment.values.get(name)
        size: Dim | None = fact.shape[axis] if isinstance(fact, SymbolicTensor) and fact.shape else None
        return size if isinstance(size, int) else None

    def concatenated(self, node: NodeProto) -> list[Positions | None]:
        """Components joined to index tuples."""
        rank = len(self.axes(node.input[0]))
        axis = _integer(node, "axis", 0) % rank
        columns: list[Factors | None] = []
        for name in node.input:
            size, found = self._size_along(name, axis), self._known.get(name)
            if size is None or size > _MAX_COLUMNS:
                return [None]
            if found is None or found.axis not in (None, axis):
                columns += [None] * size
            else:
                columns += found.columns if found.axis == axis else found.columns * size
        return [Positions(axis, tuple(columns))] if columns else [None]

    def joined(self, node: NodeProto) -> list[Positions | None]:
        """`outer*size + inner`."""
        for position, scaled in enumerate(node.input):
            inner = self.of(node.input[1 - position])
            if scaled in self._scaled and inner is not None:
                outer, number = self._scaled[scaled]
                held = self.of(outer)
                if held is not None and number == self._old(inner):
                    return [Positions(None, ((*held, *inner),))]
        return [None]

    def signed(self, node: NodeProto) -> list[Positions | None]:
        """`sign(x) * floor(abs(x))`, a division that rounds to 0; positions are not negative."""
        for position, name in enumerate(node.input):
            producer = self.walk.producer(node.input[1 - position])
            found = self._known.get(name)
            if producer is not None and producer.op_type == "Sign" and found is not None:
                return [found if self._known.get(producer.input[0]) == found else None]
        return [None]

    def parted(self, node: NodeProto) -> list[Positions | None]:
        """`index // size` or `index % size`."""
        held, number = self.of(node.input[0]), self._number(node.input[1])
        if held is None:
            return [None]
        if number is None:  # the size of an axis, computed
            number = next((self._old(held[at:]) for at in range(len(held)) if self._is_size(node, held[at:])), None)
        place = None if number is None else self._cut(held, number)
        if place is None:
            return [None]
        return [Positions(None, (held[:place] if node.op_type == "Div" else held[place:],))]

    def _is_size(self, node: NodeProto, factors: Factors) -> bool:
        fact = self.walk.environment.values.get(node.input[1])
        return isinstance(fact, SymbolicTensor) and fact.only_integer == dim_of(factors)


_MAX_COLUMNS: Final = 16
_ROUNDING: Final = frozenset({"Floor", "Cast", "Abs", "Sign"})

Transfer = Callable[[PositionFacts, NodeProto], "list[Positions | None]"]
_TRANSFERS: Final[dict[str, Transfer]] = {
    "Transpose": PositionFacts.transposed, "Slice": PositionFacts.sliced, "Gather": PositionFacts.gathered,
    "Split": PositionFacts.split, "Concat": PositionFacts.concatenated, "Add": PositionFacts.joined,
    "Mul": PositionFacts.signed,
    **dict.fromkeys(("NonZero", "ArgMax", "ArgMin", "TopK"), PositionFacts.sources),
    **dict.fromkeys(("Div", "Mod"), PositionFacts.parted),
    **dict.fromkeys(("Identity", "Cast", "Abs", "Floor", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Expand", "Tile",
                     "GatherElements", "GatherND", "Compress"), PositionFacts.kept),
}  # fmt: skip


def _integer(node: NodeProto, name: str, default: int) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def _joined(factors: Factors) -> Factors:
    """Factors with numbers side by side multiplied."""
    found: list[Dim] = []
    for factor in factors:
        if isinstance(factor, int) and found and isinstance(found[-1], int):
            found[-1] *= factor
        elif factor != 1:
            found.append(factor)
    return tuple(found)
