"""The dataflow analysis of rows: a state for each tensor, in one walk; bodies of loops to a fixed point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from gather_infer.errors import ModelReadError
from gather_infer.inference import Inference
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, InferredNode
from gather_infer.ir.constant import Constant, read_attribute, read_tensor
from gather_infer.node_ids import MAIN, GraphPath
from gather_infer.ops import standard_rule
from gather_infer.provenance import bodies, indexing, operator_labels, row_numbers
from gather_infer.provenance.axis_labels import labels_of
from gather_infer.provenance.label_transfer import by_labels
from gather_infer.provenance.movement import TRANSFERS
from gather_infer.provenance.row_step import MAX_CONSTANT, RowBatch, RowStep, is_constant
from gather_infer.provenance.states import CONSTANT, Digit, Kind, Lost, Rows, RowsLost, State, listing_of
from gather_infer.provenance.well_formed import well_formed
from gather_infer.symbolic import Dim, DimTooLarge, Expr, free_symbols
from gather_infer.tensor import SymbolicTensor

_REGISTERED: Final = (indexing, operator_labels, row_numbers)
"""Modules that register transfer functions and labels when they are imported."""


class RowAnalysis:
    """The states of all tensors, by graph and name.

    axes     the axis of the rows of each input that has them
    rows     their size, a symbol or a number of at least 2
    outputs  the states of the outputs of the model
    """

    def __init__(self, inference: Inference, axes: Mapping[str, int], rows: Dim) -> None:
        self.inference = inference
        self.graphs = InferredGraphs(inference)
        self.states: dict[GraphPath, dict[str, State]] = {MAIN: {}}
        fixed = set[str]()
        for name in inference.inputs:
            fact = inference.scopes[MAIN].get(name)
            if isinstance(fact, SymbolicTensor):
                fixed.update(symbol for dim in fact.shape or () for symbol in free_symbols(dim))
        self.batch = RowBatch(rows, dict(axes), fixed, inference.causes, inference.known)
        self._user_ops = {(rules.domain, op) for rules in inference.rules for op in rules.op_types}
        self._constants: dict[tuple[GraphPath, str], Constant | None] = {}
        self._omitted: dict[GraphPath, set[str]] = {}
        self.outputs = self.visit(self.graphs.main, {name: self._input(name) for name in inference.inputs})

    def _input(self, name: str) -> State:
        fact = self.inference.scopes[MAIN].get(name)
        axis = self.batch.axes.get(name)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None:
            return CONSTANT if axis is None else Lost(Kind.UNKNOWN, None, "", f"the rank of input {name} is unknown")
        others = [dim for a, dim in enumerate(fact.shape) if a != axis]
        if any(self.batch.counts_rows(dim) for dim in others):
            return Lost(Kind.UNKNOWN, None, "", f"another size of input {name} depends on the number of rows")
        return CONSTANT if axis is None else Rows(Digit(axis), constant=False)

    def state(self, graph: InferredGraph, name: str) -> State:
        """The state of a value that a graph defines or captures."""
        found = self.states[graph.path].get(name)
        if found is not None:
            return found
        home = graph.defining_graph(name)
        if home is None:
            return Lost(Kind.UNKNOWN, None, "", f"{name} is not defined")
        found = self.states.get(home.path, {}).get(name)
        return self._constant_state(home, name) if found is None else found

    def _constant_state(self, graph: InferredGraph, name: str) -> State:
        """The state of a constant, with the axes along which it does not vary if one has the size of the rows."""
        if (
            name not in graph.graph.initializers
            and name not in graph.graph.sparse
            and name not in graph.graph.producers
        ):
            return Lost(Kind.UNKNOWN, None, "", f"{name} is not analysed")
        fact = graph.values.get(name)
        shape = fact.shape if isinstance(fact, SymbolicTensor) else None
        state = CONSTANT
        if shape is not None and self.batch.rows in shape:
            elements = self._elements(graph, name)
            if elements is not None and elements.plain.shape == shape:
                state = Rows(flat=flat_axes(elements.plain))
        self.states.setdefault(graph.path, {})[name] = state
        return state

    def _elements(self, graph: InferredGraph, name: str) -> Constant | None:
        """The elements of an initializer or of a Constant node; None for a large or an unreadable one."""
        home = graph.defining_graph(name)
        if home is None:
            return None
        key = home.path, name
        if key not in self._constants:
            try:
                self._constants[key] = self._read(home, name)
            except ModelReadError:  # its external data is missing
                self._constants[key] = None
        return self._constants[key]

    def _read(self, home: InferredGraph, name: str) -> Constant | None:
        tensor, producer = home.graph.initializers.get(name), home.graph.producers.get(name)
        if producer is not None and producer[0].proto.op_type == "Constant":
            attributes = producer[0].proto.attribute
            if len(attributes) == 1 and (not attributes[0].HasField("t") or _size(attributes[0].t) <= MAX_CONSTANT):
                return read_attribute(self.inference.model, attributes[0])
        elif tensor is not None and name not in home.graph.input_set and _size(tensor) <= MAX_CONSTANT:
            return read_tensor(self.inference.model, tensor)
        return None

    def _numbers(self, graph: InferredGraph, name: str) -> npt.NDArray[Any] | None:
        """The elements of a constant of integers or of float32; None for another one."""
        constant = self._elements(graph, name)
        if constant is None:
            return None
        if constant.data_type == TensorProto.FLOAT:
            return np.asarray(constant.plain.view("<f4"))
        return constant.to_indices()

    def visit(self, graph: InferredGraph, inputs: Mapping[str, State | None]) -> list[State]:
        """The states of the outputs of a graph; `inputs` has those of its inputs, None for one that a call omits."""
        known = self.states[graph.path] = {name: state for name, state in inputs.items() if state is not None}
        self._omitted[graph.path] = {name for name, state in inputs.items() if state is None}
        for node in graph.graph.sorted_nodes:
            assert node.origin is not None, "the IR has no edits"
            place = InferredNode(graph, node.origin)
            for name, state in zip(place.node.output, self._outputs(place), strict=False):
                if name:
                    known[name] = state
        outputs = [self.state(graph, name) for name in graph.outputs]
        return outputs if graph.path == MAIN else [_left(graph, state) for state in outputs]

    def _outputs(self, place: InferredNode) -> Sequence[State]:
        """The states of the outputs of a node; those whose elements the facts determine are constant in any case."""
        step = self._step(place)
        is_constant = self._is_constant(step)
        if is_constant:  # sizes too
            self.batch.fixed.update(_symbols(step))
        found: Sequence[State]
        try:
            found = self._transferred(step)
        except RowsLost as error:
            found = [CONSTANT if is_constant else error.state for _ in step.outputs]
        except DimTooLarge:
            found = [step.unknown("its sizes are too large").state for _ in step.outputs]
        if step.op.is_control_flow and all(state == CONSTANT for state in found):
            self.batch.fixed.update(_symbols(step))
        found = [well_formed(step, output, state) for output, state in enumerate(found)]
        return [known_state(step, output) or state for output, state in enumerate(found)]

    def _step(self, place: InferredNode) -> RowStep:
        graph = place.graph
        omitted = self._omitted.get(graph.path, ())
        states = [self.state(graph, name) if name and name not in omitted else None for name in place.node.input]
        return RowStep(place, place.op, self.batch, states, lambda name: self._numbers(graph, name))

    def _is_constant(self, step: RowStep) -> bool:
        """Whether a node is an operator without subgraphs, of tensors that depend on no row and no number of rows.

        Random numbers that it draws are the same parameters for all rows.
        """
        op = step.op
        found = standard_rule(op.domain, op.op_type, op.version)
        if op.function is not None or op.is_control_flow or found is None:
            return False
        for index in step.inputs:
            state = step.states[index]
            if state is None:
                continue
            if not isinstance(state, Rows) or not state.constant or state.counted is not None or state.has_numbers:
                return False
            fact = step.fact(index)
            if any(self.batch.counts_rows(dim) or not self.batch.is_fixed(dim) for dim in fact.shape or ()):
                return False
        return True

    def _transferred(self, step: RowStep) -> Sequence[State]:
        place, op = step.place, step.op
        if op.op_type == "Constant" and not op.domain:
            return [self._constant_state(place.graph, name) for name in place.node.output]
        if self.graphs.fails(place):
            raise step.not_understood("it violates its specification")
        key = (op.domain, op.op_type)
        if key in self._user_ops:
            raise step.not_understood("it has a rule of the caller")
        if op.function is not None:
            return bodies.call(step, self.graphs, self.visit)
        if op.is_control_flow:
            return bodies.control_flow(step, self.graphs, self.visit)
        transfer = TRANSFERS.get(key)
        if transfer is not None:
            return transfer(step)
        labels = labels_of(step)
        if labels is not None:
            return by_labels(step, labels)
        if self.graphs.bodies(place):
            return bodies.call(step, self.graphs, self.visit)
        rule = standard_rule(op.domain, op.op_type, op.version)
        is_random = rule is not None and not rule.traits.deterministic
        raise step.not_understood("it draws random numbers" if is_random else "it is not understood")


def _left(graph: InferredGraph, state: State) -> State:
    """The state of an output of a body outside of it: another iteration, or another branch, lists other positions."""
    listing = listing_of(state)
    if listing is None or listing.node.graph != graph.path:
        return state
    return Lost(Kind.UNKNOWN, listing.node, "NonZero", "it lists positions in a body")


def _symbols(step: RowStep) -> set[str]:
    """The symbols in the facts about the outputs of a node."""
    found = set[str]()
    for output in step.outputs:
        fact = step.result(output)
        elements = () if fact.values is None else fact.values.flat
        for dim in (*(fact.shape or ()), *elements):
            found |= dim.symbols if isinstance(dim, Expr) else set()
    return found


def known_state(step: RowStep, output: int) -> Rows | None:
    """The state of an output whose elements the facts determine, whatever the node is; None for others."""
    fact = step.result(output)
    shape = fact.shape
    if shape is None or not all(step.batch.is_fixed(dim) for dim in shape):
        return None
    bounds = fact.value_range
    only = bounds.lo if bounds is not None and bounds.lo == bounds.hi else None
    if 0 in shape or is_constant(only, step.batch):  # no elements, or equal ones
        flat = frozenset(axis for axis, dim in enumerate(shape) if dim != 1)
        digit = next((Digit(axis) for axis in sorted(flat) if shape[axis] == step.batch.rows), None)
        return Rows(digit, flat)
    if fact.values is None or not all(is_constant(element, step.batch) for element in fact.values.flat):
        return None
    flat = flat_axes(fact.values) if step.batch.rows in shape else frozenset()
    return Rows(next((Digit(axis) for axis in sorted(flat) if shape[axis] == step.batch.rows), None), flat)


def flat_axes(elements: npt.NDArray[Any]) -> frozenset[int]:
    """The axes of more than one index along which elements do not vary."""
    return frozenset(
        axis
        for axis, size in enumerate(elements.shape)
        if size > 1 and bool(np.all(elements == np.take(elements, [0], axis)))
    )


def _size(tensor: TensorProto) -> int:
    return int(np.prod(np.array(tensor.dims, dtype=object))) if tensor.dims else 1
