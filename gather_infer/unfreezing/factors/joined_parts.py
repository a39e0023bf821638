"""Parts of an axis: those that a Concat joins, such as a class token and the pixels of an image.

The size of such an axis is a sum, `height*width + 1`, and tells nothing of the order of its elements. The parts do: a
cut that begins and ends where parts do takes these parts, and a Reshape behind it can put `height` and `width` where
the order of the elements puts them. Parts are followed along axes as their labels tell, and through each Reshape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from onnx import ModelProto, NodeProto, ValueInfoProto

from gather_infer.inference.inferred_graphs import InferredGraph, InferredNode
from gather_infer.ir import Model
from gather_infer.node_ids import MAIN
from gather_infer.provenance import movement_labels, operator_labels
from gather_infer.provenance.axis_labels import AxisLabels, Role, labels_of
from gather_infer.provenance.row_step import RowBatch, RowStep
from gather_infer.provenance.states import CONSTANT
from gather_infer.symbolic import Dim, Expr
from gather_infer.symbolic.normal_form import Atom
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors, dim_of, is_free, whole
from gather_infer.unfreezing.factors.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Parts: TypeAlias = "tuple[Factors, ...]"
"""The factors of each part, in the order of the elements."""
Place: TypeAlias = "tuple[int, int]"
"""A factor of a value: its axis, and its number among the factors of this axis."""

END: Final = 2**31 - 1
"""A position that is the end of any axis."""
_REGISTERED: Final = (movement_labels, operator_labels)
"""Modules that register labels when they are imported."""
_SMALL: Final = 2


class _Bound(NamedTuple):
    """The begin or end of a part: the size of the parts before it, and its position, from the end if that is a number.

    A position beyond the end of the axis is `END`.
    """

    before: Dim
    begin: Dim


class JoinedParts:
    """The parts of the axes of the values of a walk."""

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._known: dict[str, dict[Place, Parts]] = {}

    def forget(self, names: Collection[str]) -> None:
        """Forget values that are not bound any more."""
        for name in names:
            self._known.pop(name, None)

    def of(self, name: str, axis: int) -> Parts | None:
        """The parts of an axis of a value; None if it is not known to be joined."""
        return self._known.get(name, {}).get((axis, 0)) if len(self._axes(name)[axis]) == 1 else None

    def note(self, node: NodeProto) -> None:
        """Record the parts of the outputs of a node, and the axis factors of those that are parts."""
        self.forget(node.output)
        if node.domain not in ("", "ai.onnx"):
            return
        if node.op_type == "Concat":
            self._join(node)
        if all(name not in self._known for name in node.input):
            return
        if node.op_type in ("Reshape", "Flatten"):
            self._reshape(node.input[0], node.output[0])
            return
        if node.op_type != "ReverseSequence":
            self._follow(node)
        if node.op_type == "Slice":
            self._slice(node)
        if node.op_type == "Split":
            self._split(node)

    def bounds(self, name: str, axis: int, start: int, end: int) -> tuple[Dim, Dim] | None:
        """Begin and end of a cut in an axis, if both are where parts begin or end; a negative number is from the end.

        start, end  the cut in the axis of the old size

        None for another cut, and for one that may be at a position of the network: behind a part that has one or two
        positions, or as many as the rest of the axis.
        """
        found = self._cut(name, axis, start, end)
        return None if found is None else (found[0].begin, found[1].begin)

    def sizes(self, name: str, axis: int, old: Sequence[int]) -> Sequence[Dim] | None:
        """The sizes of consecutive cuts that had `old` positions, if each begins and ends where parts do, as above."""
        ends = list(accumulate(old))
        cuts = [self._cut(name, axis, end - size, end) for end, size in zip(ends, old, strict=True)]
        known = [cut for cut in cuts if cut is not None]
        return [stop.before - start.before for start, stop in known] if len(known) == len(cuts) else None

    def _cut(self, name: str, axis: int, start: int, end: int) -> tuple[_Bound, _Bound] | None:
        parts = self.of(name, axis)
        if parts is None:
            return None
        sizes = [dim_of(part) for part in parts]
        old = [size for size in values_of(sizes, self.walk.samples.old) if size is not None]
        if len(old) != len(sizes):
            return None
        places = list(accumulate(old, initial=0))
        begin, stop = ((min(at, places[-1]) if at >= 0 else at + places[-1]) for at in (start, end))
        if begin not in places or stop not in places or begin >= stop:
            return None
        first, last = (_bound(sizes, old, places.index(at)) for at in (begin, stop))
        return None if first is None or last is None else (first, last)

    # transfer functions

    def _join(self, node: NodeProto) -> None:
        name = node.output[0]
        axes = self.walk.factors.get(name)
        if axes is None:
            return
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(axes)
        dim = axes[axis][0] if len(axes[axis]) == 1 else 0
        if not isinstance(dim, Expr) or isinstance(dim, Atom) or not is_free(dim, self.walk.freed):
            return
        parts: list[Factors] = []
        for given in node.input:
            held = self._axes(given)
            if len(held) != len(axes):
                return
            parts += self.of(given, axis) or (held[axis],)
        if sum(map(dim_of, parts)) == dim:
            self._known[name] = {(axis, 0): tuple(parts)}

    def _reshape(self, name: str, result: str) -> None:
        """The order of the elements stays, and so does that of the sums among the factors."""
        before, after = self._axes(name), self.walk.factors.get(result)
        places, made = _sums(before), _sums(after or ())
        if after and [before[axis][at] for axis, at in places] == [after[axis][at] for axis, at in made]:
            known = self._known[name]
            self._record(result, {new: known[old] for old, new in zip(places, made, strict=True) if old in known})

    def _follow(self, node: NodeProto) -> None:
        """Axes with the same label have the same index in inputs and outputs."""
        labels = self._labels(node)
        for output, made in enumerate(labels.outputs if labels is not None else ()):
            axes = self.walk.factors.get(node.output[output], ())
            if labels is None or len(axes) != len(made):
                continue
            found: dict[Place, Parts] = {}
            clashes: set[Place] = set()
            for axis, label in enumerate(made):
                for parts in self._labelled(node, labels, label, axes[axis]):
                    for at, held in parts.items():
                        if found.setdefault((axis, at), held) != held:
                            clashes.add((axis, at))
            self._record(node.output[output], {place: held for place, held in found.items() if place not in clashes})

    def _labelled(
        self, node: NodeProto, labels: AxisLabels, label: object, factors: Factors
    ) -> Iterator[dict[int, Parts]]:
        """The parts of these factors, in each input that has an axis of a label with them."""
        for name, held in zip(node.input, labels.inputs, strict=False):
            axes = self._axes(name)
            if name not in self._known or isinstance(held, Role) or len(axes) != len(held):
                continue
            for axis, each in enumerate(held):
                if each == label and axes[axis] == factors:
                    yield {at: parts for (a, at), parts in self._known[name].items() if a == axis}

    def _slice(self, node: NodeProto) -> None:
        starts = self._elements(node.input[1]) if len(node.input) > 1 else None
        axes = self._elements(node.input[3]) if len(node.input) > 3 and node.input[3] else range(len(starts or ()))
        steps = self._elements(node.input[4]) if len(node.input) > 4 and node.input[4] else [1] * len(starts or ())
        if starts is None or axes is None or steps is None:
            return
        rank = len(self._axes(node.input[0]))
        for start, axis, step in zip(starts, axes, steps, strict=True):
            if step == 1 and isinstance(axis, int):
                self._take(node.input[0], axis % rank, start, node.output[0])

    def _split(self, node: NodeProto) -> None:
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(self._axes(node.input[0]))
        start: Dim = 0
        for name in node.output:
            fact = self.walk.environment.values.get(name)
            if not isinstance(fact, SymbolicTensor) or fact.shape is None:
                return
            self._take(node.input[0], axis, start, name)
            start += fact.shape[axis]

    def _take(self, name: str, axis: int, start: Dim, result: str) -> None:
        """Record that a value has the positions of an axis from one on, as many as it has."""
        parts, axes = self.of(name, axis), self.walk.factors.get(result)
        if parts is None or axes is None or axes[axis] == self._axes(name)[axis]:
            return
        sizes = [dim_of(part) for part in parts]
        places = list(accumulate(sizes, initial=0))
        ends = [at for at, place in enumerate(places) if place == start + dim_of(axes[axis])]
        if start not in places or not ends:
            return
        taken = parts[places.index(start) : ends[-1]]
        if len(taken) == 1:
            self.walk.factors[result] = (*axes[:axis], taken[0], *axes[axis + 1 :])
        elif len(axes[axis]) == 1:
            self._record(result, {**self._known.get(result, {}), (axis, 0): taken})

    # facts of the walk

    def _record(self, name: str, parts: dict[Place, Parts]) -> None:
        if parts:
            self._known[name] = parts

    def _axes(self, name: str) -> AxisFactors:
        """The factors of the axes of a value; () if its shape is not known."""
        fact = self.walk.environment.values.get(name)
        shape: Shape | None = fact.shape if isinstance(fact, SymbolicTensor) else None
        return self.walk.factors.get(name) or tuple(map(whole, shape or ()))

    def _elements(self, name: str) -> Sequence[Dim] | None:
        fact = self.walk.environment.values.get(name)
        known = fact.values if isinstance(fact, SymbolicTensor) else None
        found = self.walk.array(name) if known is None else known
        elements = [] if found is None else found.ravel().tolist()
        return elements if found is not None and all(isinstance(each, (int, Expr)) for each in elements) else None

    def _labels(self, node: NodeProto) -> AxisLabels | None:
        """The axis labels of a node, which is the only one of a graph of its own."""
        graph = self.walk.graph
        op = graph.opsets.resolve(node.domain, node.op_type, node.overload)
        if op.function is not None or op.is_user_rule or op.is_control_flow:
            return None
        alone = ModelProto()
        alone.graph.node.append(node)
        names = [name for name in dict.fromkeys((*node.input, *node.output)) if name in self.walk.environment.values]
        alone.graph.input.extend(ValueInfoProto(name=name) for name in names if name not in node.output)
        values = {name: self.walk.environment.values[name] for name in names}
        place = InferredNode(InferredGraph(MAIN, "", Model(alone).main, values, graph.opsets, None, False, {}), 0)
        batch = RowBatch(0, {}, set(), self.walk.context.causes, self.walk.context.scope)
        states = [CONSTANT if name else None for name in node.input]
        return labels_of(RowStep(place, op, batch, states, self.walk.array))


def _sums(axes: AxisFactors) -> list[Place]:
    """The factors that are sums, in the order of the elements."""
    return [
        (axis, at)
        for axis, factors in enumerate(axes)
        for at, factor in enumerate(factors)
        if isinstance(factor, Expr) and not isinstance(factor, Atom)
    ]


def _bound(sizes: Sequence[Dim], old: Sequence[int], at: int) -> _Bound | None:
    """The bound before a part; None if an old size may be a number of the network there."""
    before: Dim = sum(sizes[:at])
    behind: Dim = sum(sizes[at:])
    counts = sum(old[:at]), sum(old[at:])
    if at in (0, len(sizes)):
        return _Bound(before, END if at else 0)
    if isinstance(before, int) and isinstance(behind, int):
        return _Bound(before, before)
    if isinstance(before, int):
        return _Bound(before, before) if counts[0] != counts[1] else None
    if isinstance(behind, int):
        return _Bound(before, -behind) if counts[0] > _SMALL and counts[0] != counts[1] else None
    return _Bound(before, before) if min(counts) > _SMALL else None
