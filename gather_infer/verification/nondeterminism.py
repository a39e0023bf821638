"""Nondeterministic outputs, which depend on random numbers, and outputs of unspecified size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from onnx import FunctionProto

from gather_infer import ir
from gather_infer.inference import Inference
from gather_infer.inference.op_resolution import Opsets
from gather_infer.ir import Graph, Node
from gather_infer.model.attributes import integer_attribute
from gather_infer.node_ids import MAIN
from gather_infer.ops import standard_rules
from gather_infer.tensor import SymbolicTensor, Value

NONDETERMINISTIC: Final = "it depends on random numbers"

_IsSource: TypeAlias = "Callable[[_Reachability, Node, Opsets, Mapping[str, Value]], bool]"


def nondeterministic_outputs(inference: Inference) -> dict[str, str]:
    """The outputs of the main graph that a random node may reach, each with the label of that node."""
    return _reached(inference, _Reachability.is_nondeterministic)


def unspecified_outputs(inference: Inference) -> dict[str, str]:
    """The outputs of the main graph that depend on scan outputs of a Loop, each with the label of that Loop.

    Where the body never runs, the sizes of scan outputs are unspecified, and runtimes return different ones:
    https://onnx.ai/onnx/operators/onnx__Loop.html
    """
    return _reached(inference, _Reachability.has_scan_outputs)


def _reached(inference: Inference, is_source: _IsSource) -> dict[str, str]:
    main = inference.ir.main
    search = _Reachability(inference, is_source)
    versions = Opsets(inference.model.proto.opset_import, [standard_rules()], {})
    search.propagate(main, versions, inference.scopes[MAIN])
    labels = {name: search.label(main, name) for name in main.outputs}
    return {name: label for name, label in labels.items() if label}


@dataclass(slots=True)
class _Reachability:
    """Forward reachability from source nodes along def-use chains, through functions and bodies.

    reached   value that source nodes reach -> the label of its source node
    known     body of a function -> the label of the source node in it; "" if there is none
    """

    inference: Inference
    is_source: _IsSource
    reached: dict[ir.Value, str] = field(default_factory=dict)
    known: dict[Graph, str] = field(default_factory=dict)

    def label(self, graph: Graph, name: str) -> str:
        """The label of the source node that reaches the value which `name` refers to in a graph; "" if none does."""
        value = graph.value(name)
        return "" if value is None else self.reached.get(value, "")

    def propagate(self, graph: Graph, versions: Opsets, facts: Mapping[str, Value]) -> str:
        """Add to `reached` the values of a graph that source nodes reach.

        Returns the label of the last source node; "" if there is none.
        """
        last = ""
        for node in graph.nodes:
            source = self.source(node, versions, facts)
            if source and not self.depends_on_shape_only(node, versions, facts):
                self.reached.update((ir.Value(graph, name), source) for name in node.outputs if name)
                last = source
        return last

    def source(self, node: Node, versions: Opsets, facts: Mapping[str, Value]) -> str:
        """The label of the source node that a node depends on, contains or is; empty if there is none."""
        found = next(filter(None, (self.label(node.graph, name) for name in node.inputs)), "")
        if found:
            return found
        function = self.inference.ir.called_function(node)
        if function is not None:
            return self.of_function(function)
        if self.is_source(self, node, versions, facts):
            name = str(node.proto.name)
            return f"{name} ({node.op_type})" if name else node.op_type
        return next(filter(None, (self.of_body(body, versions) for body in node.bodies)), "")

    def of_body(self, body: Graph, versions: Opsets) -> str:
        found = self.propagate(body, versions, {})
        return found or next(filter(None, (self.label(body, name) for name in body.outputs)), "")

    def of_function(self, function: Graph) -> str:
        if function not in self.known:
            self.known[function] = ""  # breaks the recursion of invalid models
            assert isinstance(function.proto, FunctionProto), "a node calls a function"
            versions = Opsets(function.proto.opset_import, [standard_rules()], {})
            self.known[function] = self.propagate(function, versions, {})
        return self.known[function]

    def has_scan_outputs(self, node: Node, versions: Opsets, facts: Mapping[str, Value]) -> bool:
        """Whether a node is a Loop with scan outputs."""
        return node.op_type == "Loop" and not node.domain and len(node.outputs) > len(node.inputs) - 2

    def is_nondeterministic(self, node: Node, versions: Opsets, facts: Mapping[str, Value]) -> bool:
        """Whether a node draws random numbers."""
        entry = versions.resolve(node.proto.domain, node.op_type, node.proto.overload)
        if entry.traits.deterministic or entry.domain == "openvino":
            return False
        if entry.domain != "" or node.op_type != "Dropout":
            return True
        if entry.version < 7:
            return not integer_attribute(node.proto, "is_test")
        if entry.version < 12 or len(node.inputs) < 3 or not node.inputs[2]:
            return False
        return not _is_known_false(facts.get(node.inputs[2]))

    def depends_on_shape_only(self, node: Node, versions: Opsets, facts: Mapping[str, Value]) -> bool:
        """Whether the outputs of a node depend only on the shape of its input, and the shape not on elements."""
        if not versions.resolve(node.proto.domain, node.op_type, node.proto.overload).traits.outputs_dims:
            return False
        fact = facts.get(node.inputs[0])
        if not isinstance(fact, SymbolicTensor) or fact.shape is None:
            return False
        return not any(self.inference.is_generated(dim) for dim in fact.shape)


def _is_known_false(fact: Value | None) -> bool:
    if not isinstance(fact, SymbolicTensor) or fact.values is None:
        return False
    values = np.asarray(fact.values)
    return values.size == 1 and values.item() in (False, 0)
