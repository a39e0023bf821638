"""The environment: names in scope while a graph is interpreted, with their facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import onnx
from onnx import AttributeProto, NodeProto, TensorProto

from gather_infer.inference.op_resolution import Opsets
from gather_infer.inference.proto.types import DimReader
from gather_infer.inference.provenance.float_ranges import FloatRange
from gather_infer.inference.provenance.monotonicity import MonotoneFunction
from gather_infer.inference.provenance.origin import ElementPredicate, Origin, Provenance
from gather_infer.inference.rule_cache import Key
from gather_infer.node_ids import MAIN, GraphPath
from gather_infer.symbolic import Dim
from gather_infer.tensor import Value
from gather_infer.trail import InputPredicate

_T = TypeVar("_T")

MAX_DEPTH: Final = 40
"""Maximal nesting of subgraphs and function calls."""


@dataclass(slots=True, eq=False)
class Environment:
    """The names of one graph, subgraph or function body while it is interpreted.

    label                   label of the graph: "" for the main graph, else the label of the node and the attribute
    declared                value_info of the graph, by value name
    outputs                 declared outputs of the graph, by name
    constants               tensors that no caller can override, for rules that need every element
    attributes              attributes of the call, in a function body and its subgraphs
    parameters              names of the attributes that the function declares; None outside functions
    reader                  reads dims declared in the graph; see `declarations.reader_of`
    labels                  labels of the nodes, each prefixed by the label of the graph
    absent                  inputs of a function that the call omits
    sign_predicates         for a bool from an integer comparison: a dim that is < 0 exactly when the bool is true
    input_predicates        for a bool that one element of a model input decides: the predicate on the element
    provenance              for an integer tensor: the origins of its elements
    offsets                 `y: (x, d)` for a tensor y equal to x + d, element by element
    sums                    `y: ("Add", a, b)` for an integer tensor y equal to a + b, element by element; "Sub" for
                            a - b
    float_ranges            for a float tensor converted from integers: bounds that are numbers or sizes
    monotonicity            for a tensor that is a non-decreasing function of another, element by element: the name of
                            the other tensor and the operations
    bool_sources            for a tensor with the elements of a bool tensor in some order, as bools or as 0 and 1: the
                            name of the bool tensor
    true_counts             for a bool tensor: its number of true elements
    extents                 for a scalar and a start: the number of integers in [start, scalar)
    shape_scalars           for a small shape tensor: for each element, the name of the scalar that it equals, or ""
    symbol_origins          for a generated symbol max(0, e), where e derives from an element of an input: origin of e
    data_dependent_results  by op_type: results of nodes whose sizes depend on data, for reuse by equal nodes
    element_predicates      for a bool tensor: by tensor name, the range that each true element implies for the element
                            of that tensor
    hints                   in the main graph only: types for values of all graphs that the file gives outside its
                            declarations
    """

    opsets: Opsets
    path: GraphPath = MAIN
    label: str = ""
    parent: Environment | None = None
    values: dict[str, Value] = field(default_factory=dict)
    declared: dict[str, onnx.ValueInfoProto] = field(default_factory=dict)
    outputs: dict[str, onnx.ValueInfoProto] = field(default_factory=dict)
    constants: dict[str, TensorProto] = field(default_factory=dict)
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    parameters: frozenset[str] | None = None
    reader: DimReader | None = None
    labels: Sequence[str] = ()
    absent: frozenset[str] = frozenset()
    sign_predicates: dict[str, Dim] = field(default_factory=dict)
    input_predicates: dict[str, InputPredicate] = field(default_factory=dict)
    provenance: dict[str, Provenance] = field(default_factory=dict)
    offsets: dict[str, tuple[str, Dim]] = field(default_factory=dict)
    element_predicates: dict[str, Mapping[str, ElementPredicate]] = field(default_factory=dict)
    sums: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    float_ranges: dict[str, FloatRange] = field(default_factory=dict)
    monotonicity: dict[str, MonotoneFunction] = field(default_factory=dict)
    bool_sources: dict[str, str] = field(default_factory=dict)
    true_counts: dict[str, Dim] = field(default_factory=dict)
    extents: dict[tuple[str, Dim], Dim] = field(default_factory=dict)
    shape_scalars: dict[str, tuple[str, ...]] = field(default_factory=dict)
    symbol_origins: dict[str, Origin] = field(default_factory=dict)
    data_dependent_results: dict[str, dict[Key, Sequence[Value | None]]] = field(default_factory=dict)
    hints: Mapping[str, onnx.TypeProto] = field(default_factory=dict)
    depth: int = 0

    def before(self, nodes: Iterable[NodeProto], opsets: Opsets) -> Environment:
        """A copy of the main graph's environment as it was before `nodes` were visited."""
        later = {name for node in nodes for name in node.output}

        def earlier(facts: dict[str, _T]) -> dict[str, _T]:
            return {name: fact for name, fact in facts.items() if name not in later}

        return Environment(
            opsets,
            values=earlier(self.values),
            declared=self.declared,
            outputs=self.outputs,
            constants=self.constants,
            sign_predicates=earlier(self.sign_predicates),
            input_predicates=earlier(self.input_predicates),
            provenance=earlier(self.provenance),
            offsets=earlier(self.offsets),
            element_predicates=earlier(self.element_predicates),
            sums=earlier(self.sums),
            float_ranges=earlier(self.float_ranges),
            monotonicity=earlier(self.monotonicity),
            bool_sources=earlier(self.bool_sources),
            shape_scalars=earlier(self.shape_scalars),
            symbol_origins=self.symbol_origins,
            hints=self.hints,
        )

    def _defining_scope(self, name: str) -> Environment | None:
        """The environment that defines a name: this one or an enclosing one; inner names shadow outer ones."""
        environment: Environment | None = self
        while environment is not None and name not in environment.values:
            environment = environment.parent
        return environment

    def find(self, name: str) -> Value | None:
        """The fact of a name in this graph or an enclosing one; None for an undefined name."""
        home = self._defining_scope(name)
        return None if home is None else home.values[name]

    def hint(self, name: str) -> onnx.ValueInfoProto | None:
        """The type hint of the file for a value of this graph."""
        outermost = self
        while outermost.parent is not None:
            outermost = outermost.parent
        stated = outermost.hints.get(name)
        return None if stated is None else onnx.ValueInfoProto(name=name, type=stated)

    def sign_predicate(self, name: str) -> Dim | None:
        """The dim that is < 0 exactly when the bool `name` is true; None when none is known."""
        home = self._defining_scope(name)
        return None if home is None else home.sign_predicates.get(name)

    def input_predicate(self, name: str) -> InputPredicate | None:
        """The predicate on an input element that decides the bool `name`; None when there is none."""
        home = self._defining_scope(name)
        return None if home is None else home.input_predicates.get(name)

    def provenance_of(self, name: str) -> Provenance | None:
        """The provenance of a tensor's elements; None when it is unknown."""
        home = self._defining_scope(name)
        return None if home is None else home.provenance.get(name)

    def shape_scalars_of(self, name: str) -> tuple[str, ...] | None:
        """The entry of the shape tensor `name` in `shape_scalars`; None when there is none."""
        home = self._defining_scope(name)
        return None if home is None else home.shape_scalars.get(name)

    def extent(self, name: str, start: Dim) -> Dim | None:
        """The number of integers in [start, scalar) for the scalar `name`; None when it is not recorded."""
        environment: Environment | None = self
        while environment is not None:
            if (name, start) in environment.extents or name in environment.values:
                return environment.extents.get((name, start))
            environment = environment.parent
        return None

    def all_symbol_origins(self) -> Mapping[str, Origin]:
        """The entries of `symbol_origins` of this graph and all enclosing ones."""
        if self.parent is None:
            return self.symbol_origins
        around = self.parent.all_symbol_origins()
        return {**around, **self.symbol_origins} if self.symbol_origins else around

    def is_absent(self, name: str) -> bool:
        """True for an input of the enclosing function that the call omits."""
        environment: Environment | None = self
        while environment is not None and name not in environment.values:
            if name in environment.absent:
                return True
            environment = environment.parent
        return False

    def constant(self, name: str) -> TensorProto | None:
        """The tensor of a constant; None for any other name."""
        home = self._defining_scope(name)
        return None if home is None else home.constants.get(name)
