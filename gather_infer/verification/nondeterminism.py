"""Nondeterministic outputs, which depend on random numbers, and outputs of unspecified size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto

from gather_infer.domains import plain_domain
from gather_infer.inference import Inference
from gather_infer.inference.op_resolution import Opsets
from gather_infer.model.attributes import integer_attribute
from gather_infer.node_ids import MAIN
from gather_infer.ops import standard_rules
from gather_infer.tensor import SymbolicTensor, Value

NONDETERMINISTIC: Final = "it depends on random numbers"

_Key: TypeAlias = "tuple[str, str, str]"
_IsSource: TypeAlias = "Callable[[_Reachability, NodeProto, Opsets, Mapping[str, Value]], bool]"


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
    proto = inference.model.proto
    functions = {(plain_domain(f.domain), f.name, f.overload): f for f in proto.functions}
    search = _Reachability(inference, functions, is_source)
    reached: dict[str, str] = {}
    search.propagate(
        proto.graph.node, Opsets(proto.opset_import, [standard_rules()], {}), reached, inference.scopes[MAIN]
    )
    return {value.name: reached[value.name] for value in proto.graph.output if value.name in reached}


@dataclass(slots=True)
class _Reachability:
    """Forward reachability from source nodes, through functions and bodies.

    known   function -> the label of the source node in it; "" if there is none
    """

    inference: Inference
    functions: Mapping[_Key, FunctionProto]
    is_source: _IsSource
    known: dict[_Key, str] = field(default_factory=dict)

    def propagate(
        self, nodes: Iterator[NodeProto], versions: Opsets, reached: dict[str, str], facts: Mapping[str, Value]
    ) -> str:
        """Add to `reached` the values that source nodes reach, each with the label of its source node.

        nodes   in topological order

        Returns the label of the last source node; "" if there is none.
        """
        last = ""
        for node in nodes:
            source = self.source(node, versions, reached, facts)
            if source and not self.depends_on_shape_only(node, versions, facts):
                reached.update(dict.fromkeys(filter(None, node.output), source))
                last = source
        return last

    def source(self, node: NodeProto, versions: Opsets, reached: Mapping[str, str], facts: Mapping[str, Value]) -> str:
        """The label of the source node that a node depends on, contains or is; empty if there is none."""
        found = next((reached[name] for name in node.input if name in reached), "")
        if found:
            return found
        key = plain_domain(node.domain), node.op_type, node.overload
        if key in self.functions:
            return self.of_function(key)
        if self.is_source(self, node, versions, facts):
            return f"{node.name} ({node.op_type})" if node.name else node.op_type
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs) if attribute.HasField("g") or attribute.graphs else ():
                found = found or self.of_body(graph, versions, reached)
        return found

    def of_body(self, graph: GraphProto, versions: Opsets, reached: Mapping[str, str]) -> str:
        inner = dict(reached)
        found = self.propagate(graph.node, versions, inner, {})
        return found or next((inner[value.name] for value in graph.output if value.name in inner), "")

    def of_function(self, key: _Key) -> str:
        if key not in self.known:
            self.known[key] = ""  # breaks the recursion of invalid models
            function = self.functions[key]
            versions = Opsets(function.opset_import, [standard_rules()], {})
            self.known[key] = self.propagate(function.node, versions, {}, {})
        return self.known[key]

    def has_scan_outputs(self, node: NodeProto, versions: Opsets, facts: Mapping[str, Value]) -> bool:
        """Whether a node is a Loop with scan outputs."""
        return node.op_type == "Loop" and not plain_domain(node.domain) and len(node.output) > len(node.input) - 2

    def is_nondeterministic(self, node: NodeProto, versions: Opsets, facts: Mapping[str, Value]) -> bool:
        """Whether a node draws random numbers."""
        entry = versions.resolve(node.domain, node.op_type, node.overload)
        if entry.traits.deterministic or entry.domain == "openvino":
            return False
        if entry.domain != "" or node.op_type != "Dropout":
            return True
        if entry.version < 7:
            return not integer_attribute(node, "is_test")
        if entry.version < 12 or len(node.input) < 3 or not node.input[2]:
            return False
        return not _is_known_false(facts.get(node.input[2]))

    def depends_on_shape_only(self, node: NodeProto, versions: Opsets, facts: Mapping[str, Value]) -> bool:
        """Whether the outputs of a node depend only on the shape of its input, and the shape not on elements."""
        if not versions.resolve(node.domain, node.op_type, node.overload).traits.outputs_dims:
            return False
        fact = facts.get(node.input[0])
        if not isinstance(fact, SymbolicTensor) or fact.shape is None:
            return False
        return not any(self.inference.is_generated(dim) for dim in fact.shape)


def _is_known_false(fact: Value | None) -> bool:
    if not isinstance(fact, SymbolicTensor) or fact.values is None:
        return False
    values = np.asarray(fact.values)
    return values.size == 1 and values.item() in (False, 0)
