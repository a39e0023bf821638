"""The names that are in scope while a graph is walked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import onnx
from onnx import AttributeProto, NodeProto, TensorProto

from gather_infer.inference.cache import Key
from gather_infer.inference.dispatch import Opsets
from gather_infer.inference.lineage.floats import Floats
from gather_infer.inference.lineage.growth import Growth
from gather_infer.inference.lineage.trace import Part, Test, Trace
from gather_infer.inference.proto.types import DimReader
from gather_infer.places import MAIN, GraphPath
from gather_infer.record import Choice
from gather_infer.symbolic import Dim
from gather_infer.tensor import Value

_T = TypeVar("_T")

MAX_DEPTH: Final = 40
"""Subgraphs and function calls inside each other."""


@dataclass(slots=True)
class Frame:
    """The names of one graph, subgraph or function body while it is walked.

    label       what the graph is called: "" for the main graph, else the label of the node and the attribute
    declared    the value_info of the graph
    outputs     its declared outputs
    constants   tensors that no caller can override, for rules that need every element
    attributes  of the call, in a function body and its subgraphs
    parameters  the attributes that the function has; None outside functions
    reader      of dims declared in this body: a name that no input has means something else in every body and call
    labels      of the nodes, below that of this graph
    absent      inputs of a function that the call leaves out
    negative    for an integer comparison that depends on the run: it is true exactly when this dim is < 0
    choices     bools that an element of an input decides
    traces      where the elements of integer tensors come from
    shifts      `y: (x, d)` for a tensor y that is x + d, element by element
    sums        `y: ("Add", a, b)` for an integer tensor y that is a + b, element by element; "Sub" for a - b
    floats      between which numbers, or sizes, floats are that have been integers
    growth      of which tensor another one is a growing function, element by element
    bools       the tensor of bools whose elements, as they are or as 0 and 1, another tensor has in some order
    counts      how many elements of a tensor of bools are true
    extents     by a scalar and a start, how many numbers there are from the start on before the scalar
    scalars     the scalars that the elements of a small shape are, by name; empty for others
    meanings    symbols for such a number, by name, that count from an input on: max(0, the part)
    sized_by_data  by operator, what its nodes have computed whose sizes depend on data
    tests       bools that say of each element of other tensors, by name, between which numbers it is
    hints       of the main graph: types that the file states beside the model, of values of all its graphs
    """

    opsets: Opsets
    path: GraphPath = MAIN
    label: str = ""
    parent: Frame | None = None
    values: dict[str, Value] = field(default_factory=dict)
    declared: dict[str, onnx.ValueInfoProto] = field(default_factory=dict)
    outputs: dict[str, onnx.ValueInfoProto] = field(default_factory=dict)
    constants: dict[str, TensorProto] = field(default_factory=dict)
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    parameters: frozenset[str] | None = None
    reader: DimReader | None = None
    labels: Sequence[str] = ()
    absent: frozenset[str] = frozenset()
    negative: dict[str, Dim] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    shifts: dict[str, tuple[str, Dim]] = field(default_factory=dict)
    tests: dict[str, Mapping[str, Test]] = field(default_factory=dict)
    sums: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    floats: dict[str, Floats] = field(default_factory=dict)
    growth: dict[str, Growth] = field(default_factory=dict)
    bools: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Dim] = field(default_factory=dict)
    extents: dict[tuple[str, Dim], Dim] = field(default_factory=dict)
    scalars: dict[str, tuple[str, ...]] = field(default_factory=dict)
    meanings: dict[str, Part] = field(default_factory=dict)
    sized_by_data: dict[str, dict[Key, Sequence[Value | None]]] = field(default_factory=dict)
    hints: Mapping[str, onnx.TypeProto] = field(default_factory=dict)
    depth: int = 0

    def before(self, nodes: Iterable[NodeProto], opsets: Opsets) -> Frame:
        """This frame as it was before these nodes of the main graph were visited."""
        later = {name for node in nodes for name in node.output}

        def earlier(facts: dict[str, _T]) -> dict[str, _T]:
            return {name: fact for name, fact in facts.items() if name not in later}

        return Frame(
            opsets,
            values=earlier(self.values),
            declared=self.declared,
            outputs=self.outputs,
            constants=self.constants,
            negative=earlier(self.negative),
            choices=earlier(self.choices),
            traces=earlier(self.traces),
            shifts=earlier(self.shifts),
            tests=earlier(self.tests),
            sums=earlier(self.sums),
            floats=earlier(self.floats),
            growth=earlier(self.growth),
            bools=earlier(self.bools),
            scalars=earlier(self.scalars),
            meanings=self.meanings,
            hints=self.hints,
        )

    def _home(self, name: str) -> Frame | None:
        """Where a name is defined: here or in a graph around this one, an inner name hides an outer one."""
        frame: Frame | None = self
        while frame is not None and name not in frame.values:
            frame = frame.parent
        return frame

    def find(self, name: str) -> Value | None:
        """The fact of a name in this graph or in one around it."""
        home = self._home(name)
        return None if home is None else home.values[name]

    def hint(self, name: str) -> onnx.ValueInfoProto | None:
        """The type that the file states beside the model of a value of this graph."""
        outermost = self
        while outermost.parent is not None:
            outermost = outermost.parent
        stated = outermost.hints.get(name)
        return None if stated is None else onnx.ValueInfoProto(name=name, type=stated)

    def comparison(self, name: str) -> Dim | None:
        """The dim whose sign the boolean `name` tells; see `negative`."""
        home = self._home(name)
        return None if home is None else home.negative.get(name)

    def choice(self, name: str) -> Choice | None:
        """What decides the boolean `name`, None when no single element of an input does."""
        home = self._home(name)
        return None if home is None else home.choices.get(name)

    def trace(self, name: str) -> Trace | None:
        """Where the elements of a tensor come from, None when that is not known."""
        home = self._home(name)
        return None if home is None else home.traces.get(name)

    def scalars_of(self, name: str) -> tuple[str, ...] | None:
        """The scalars that the elements of a shape are; None where that is not known."""
        home = self._home(name)
        return None if home is None else home.scalars.get(name)

    def extent(self, name: str, start: Dim) -> Dim | None:
        """How many numbers there are from `start` on before the element of a scalar; None where it is not noted."""
        frame: Frame | None = self
        while frame is not None:
            if (name, start) in frame.extents or name in frame.values:
                return frame.extents.get((name, start))
            frame = frame.parent
        return None

    def all_meanings(self) -> Mapping[str, Part]:
        """The symbols that count from an input on, here and in the graphs around this one."""
        if self.parent is None:
            return self.meanings
        around = self.parent.all_meanings()
        return {**around, **self.meanings} if self.meanings else around

    def is_absent(self, name: str) -> bool:
        """True for an input of the function around this graph that the call leaves out."""
        frame: Frame | None = self
        while frame is not None and name not in frame.values:
            if name in frame.absent:
                return True
            frame = frame.parent
        return False

    def constant(self, name: str) -> TensorProto | None:
        """The tensor of a constant name, None for what is no constant."""
        home = self._home(name)
        return None if home is None else home.constants.get(name)
