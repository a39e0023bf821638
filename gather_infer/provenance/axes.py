"""`axis_provenance`: which axes of the inputs each axis of a tensor holds, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from gather_infer.inference import Inference, infer
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, InferredNode
from gather_infer.model.model_loading import ModelLike
from gather_infer.model.tensors import fed_inputs
from gather_infer.provenance import movement_labels, operator_labels
from gather_infer.provenance.algebra import digit_in, quotient, strides
from gather_infer.provenance.axis_labels import AxisLabels, Role, labels_of
from gather_infer.provenance.result import AxisFactor, AxisOrigin, AxisProvenance
from gather_infer.provenance.row_step import RowBatch, RowStep
from gather_infer.provenance.states import CONSTANT
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, product
from gather_infer.tensor import Shape, SymbolicTensor

Axes: TypeAlias = "tuple[AxisOrigin, ...]"

_REGISTERED = (movement_labels, operator_labels)
"""Modules that register labels when they are imported."""


def axis_provenance(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
) -> AxisProvenance:
    """The origin of each axis of each tensor of the main graph; `gather_infer.axis_provenance`.

    model, dims, inputs, rules, assume   as for `infer`, with its exceptions

    An axis has the origin `ids.1` if its index is the index of axis 1 of the input `ids`. A merged axis has several
    factors in row-major order: the index of `ids.0 * 4` is `row*4 + head`. An operator that takes part of an axis, or
    that is not understood, makes axes without an origin, which are given by their sizes.
    """
    return axis_provenance_of(infer(model, dims=dims, inputs=inputs, rules=rules, assume=assume))


def axis_provenance_of(inference: Inference) -> AxisProvenance:
    """The origin of each axis of each tensor of the main graph of an inferred model."""
    return AxisProvenance(_Origins(inference).axes)


class _Origins:
    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.graphs = InferredGraphs(inference)
        main = self.graphs.main
        self.batch = RowBatch(0, {}, set(), inference.causes, inference.known)
        self.axes: dict[str, Axes] = {}
        self._user_ops = {(rules.domain, op) for rules in inference.rules for op in rules.op_types}
        fed = {value.name for value in fed_inputs(inference.model.proto)}
        for name, fact in main.values.items():
            if isinstance(fact, SymbolicTensor) and fact.shape is not None and name not in main.graph.producers:
                self.axes[name] = tuple(_of_input(name, axis, dim) if name in fed else _plain(dim)
                                        for axis, dim in enumerate(fact.shape))  # fmt: skip
        for node in main.graph.sorted_nodes:
            assert node.origin is not None, "the IR has no edits"
            self._visit(main, InferredNode(main, node.origin))

    def _visit(self, graph: InferredGraph, place: InferredNode) -> None:
        states = [CONSTANT if name else None for name in place.node.input]
        op = place.op
        step = RowStep(place, op, self.batch, states, lambda name: None)
        for output, name in enumerate(place.node.output):
            shape = step.result(output).shape
            if name and shape is not None:
                self.axes[name] = tuple(map(_plain, shape))
        if op.function is not None or op.is_control_flow or self._is_users(place) or self.graphs.fails(place):
            return
        try:
            if op.op_type in ("Reshape", "Flatten") and not op.domain:
                self._reshape(step)
            elif (found := labels_of(step)) is not None:
                self._by_labels(step, found)
        except DimTooLarge:
            return

    def _is_users(self, place: InferredNode) -> bool:
        return (place.op.domain, place.op.op_type) in self._user_ops

    def _by_labels(self, step: RowStep, labels: AxisLabels) -> None:
        """Each axis has the origin of the first input axis with its label, size and an origin."""
        for output, made in enumerate(labels.outputs):
            name, shape = step.place.node.output[output], step.result(output).shape
            if name and shape is not None and len(shape) == len(made):
                self.axes[name] = tuple(
                    self._origin(step, labels, label, dim) for label, dim in zip(made, shape, strict=True)
                )

    def _origin(self, step: RowStep, labels: AxisLabels, label: object, dim: Dim) -> AxisOrigin:
        for index, entry in enumerate(labels.inputs):
            axes = self.axes.get(step.place.node.input[index])
            if isinstance(entry, Role) or axes is None or len(axes) != len(entry):
                continue
            for found, origin in zip(entry, axes, strict=True):
                if found == label and origin.size == dim and has_origin(origin):
                    return origin
        return _plain(dim)

    def _reshape(self, step: RowStep) -> None:
        axes = self.axes.get(step.place.node.input[0])
        made = step.result(0).shape
        if axes is not None and made is not None:
            self.axes[step.place.node.output[0]] = reshaped(axes, made)


def has_origin(origin: AxisOrigin) -> bool:
    return any(factor.input for factor in origin.factors)


def reshaped(axes: Axes, made: Shape) -> Axes:
    """The origins of the axes of a Reshape: each factor with an origin stays where row-major order puts it."""
    factors = [factor for origin in axes for factor in origin.factors]
    steps = strides([factor.size for factor in factors])
    held: list[list[tuple[AxisFactor, Dim]]] = [[] for _ in made]
    for place, factor in enumerate(factors):
        if factor.input:
            outer = product(other.size for other in factors[:place])
            found = digit_in(made, factor.size, steps[place], outer)
            if found is not None:
                held[found[0]].append((factor, found[1]))
    return tuple(_with_numbers(dim, inside) for dim, inside in zip(made, held, strict=True))


def _with_numbers(dim: Dim, held: Sequence[tuple[AxisFactor, Dim]]) -> AxisOrigin:
    """An axis with factors, each with the size inside of it, and the sizes between them."""
    found: list[AxisFactor] = []
    room = dim
    for factor, inner in held:
        outer = quotient(room, factor.size * inner)
        if outer is None:
            return _plain(dim)
        found += [AxisFactor(outer), factor] if outer != 1 else [factor]
        room = inner
    return AxisOrigin(dim, (*found, AxisFactor(room)) if room != 1 else tuple(found))


def _of_input(name: str, axis: int, dim: Dim) -> AxisOrigin:
    return AxisOrigin(dim, () if dim == 1 else (AxisFactor(dim, name, axis),))


def _plain(dim: Dim) -> AxisOrigin:
    return AxisOrigin(dim, () if dim == 1 else (AxisFactor(dim),))
