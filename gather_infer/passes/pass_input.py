"""The input of a pass: a model with its index, its facts and its constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, TypeAlias

from onnx import GraphProto, NodeProto, TensorProto

from gather_infer.domains import plain_domain, versions_of
from gather_infer.errors import ModelReadError
from gather_infer.inference import Inference
from gather_infer.inference.proto.schema import has_operator, schema_of
from gather_infer.ir.constant import Constant, read_attribute, read_tensor
from gather_infer.ir.graph import ConstantPayload, Graph
from gather_infer.model import ModelFile
from gather_infer.model.paths import GraphOrFunction, bodies, roots
from gather_infer.model.tensors import fed_inputs, iter_tensors
from gather_infer.node_ids import MAIN, GraphPath, NodeId, Root
from gather_infer.ops import standard_rule
from gather_infer.rules import NO_TRAITS, Traits
from gather_infer.tensor import Value

_FunctionKey: TypeAlias = tuple[str, str, str]
"""Domain, name and overload of a function."""


MAX_CONSTANT_BYTES: Final = 512 << 20
"""Bytes of constants up to which a pass may recompute all of them; several copies are in memory at a time."""


class PassInput:
    """A model with the results of the analyses that passes use.

    index       an index of the unchanged model
    graphs      the main graph and its subgraphs, outer ones first
    inference   the inferred facts about its values

    A constant holds the same elements in every run. Raises ModelStructureError when a graph defines a name twice or its
    nodes form a cycle: no rewrite is safe then.
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.model: ModelFile = inference.model
        proto = self.model.proto
        self.bodies: dict[GraphPath, GraphOrFunction] = dict(bodies(proto))
        self.graphs: dict[GraphPath, GraphProto] = {
            path: body for path, body in self.bodies.items() if path.root is Root.GRAPH and isinstance(body, GraphProto)
        }
        self._annotated = {path: _annotated(graph) for path, graph in self.graphs.items()}
        self._training_names = _bound_by_training(self.model)
        self._scopes = inference.scopes
        self._versions = versions_of(proto.opset_import)
        self._functions = {(plain_domain(f.domain), f.name, f.overload): f for f in proto.functions}
        self._pure_functions: dict[_FunctionKey, bool] = {}

    def constants_of(self, path: GraphPath, graph: Graph) -> dict[str, ConstantPayload]:
        """The constants that a graph or function body defines; for a Constant node the attribute with the payload.

        graph   the graph at `path`, without edits
        """
        overridable = set(graph.inputs)
        if path == MAIN:
            overridable = {value.name for value in fed_inputs(self.model.proto)} | self._training_names
        payloads: dict[str, ConstantPayload] = {}
        if not graph.is_in_function:
            payloads.update((name, held) for name, held in graph.initializers.items() if name not in overridable)
        for node in graph.nodes:
            if node.is_constant and len(node.outputs) == len(node.proto.attribute) == 1:
                attribute = node.proto.attribute[0]
                if not (graph.is_in_function and attribute.ref_attr_name):  # else the call supplies the value
                    payloads[node.outputs[0]] = attribute
        return payloads

    def fixed(self, path: GraphPath) -> set[str]:
        """The names of values, besides graph inputs and outputs, that have to stay and keep their names."""
        return {*self._annotated.get(path, ()), *(self._training_names if path == MAIN else ())}

    def read(self, payload: ConstantPayload) -> Constant | None:
        """The elements of a constant; None for a sparse tensor, an unknown type, or data that does not fit the dims.

        Raises ModelReadError if external data is missing.
        """
        if isinstance(payload, Constant):
            return payload
        return (
            read_tensor(self.model, payload)
            if isinstance(payload, TensorProto)
            else read_attribute(self.model, payload)
        )

    @property
    def has_functions(self) -> bool:
        """Whether the model defines functions, which nodes may call like operators."""
        return bool(self._functions)

    def is_operator(self, node: NodeProto) -> bool:
        """Whether the node is the operator of its name, and not a call of a function of the model."""
        return not self._functions or _function_key(node) not in self._functions

    def is_pure(self, node: NodeProto, version: int) -> bool:
        """Whether a node is known to have no effect but its outputs, its subgraphs not examined.

        The call of a function is pure if all nodes of the function are.
        """
        if not self.is_operator(node):
            return self._is_pure_function(_function_key(node))
        domain = plain_domain(node.domain)
        return standard_rule(domain, node.op_type, version) is not None or has_operator(node.op_type, domain)

    def _is_pure_function(self, key: _FunctionKey) -> bool:
        """Whether all nodes of a function are pure, those of subgraphs and of called functions included."""
        found = self._pure_functions.get(key)
        if found is None:
            self._pure_functions[key] = False  # a recursive function has no meaning
            function = self._functions[key]
            versions = versions_of(function.opset_import)
            found = self._pure_functions[key] = all(
                self.is_pure(node, versions.get(plain_domain(node.domain), 0)) for node in _all_nodes(function.node)
            )
        return found

    @cached_property
    def has_large_constants(self) -> bool:
        """Whether the constants of the model, on disk or not, exceed what a pass may hold in memory."""
        nbytes = 0
        for tensor in iter_tensors(self.model.proto):
            try:
                nbytes += self.model.nbytes(tensor)
            except ModelReadError:  # an unknown type or a negative dim, which the inference has reported
                continue
        return nbytes > MAX_CONSTANT_BYTES

    @property
    def ir_version(self) -> int:
        return int(self.model.proto.ir_version)

    @property
    def has_free_initializers(self) -> bool:
        """Whether an initializer need not be a graph input; otherwise new constants must be Constant nodes."""
        return self.model.proto.ir_version >= 4

    def is_constant_type(self, data_type: int, version: int) -> bool:
        """Whether a Constant node of this version of ai.onnx may have elements of this type."""
        schema = schema_of("Constant", version, "")
        return schema is not None and any(data_type in types for types in schema.output_types)

    @property
    def is_trained(self) -> bool:
        """Whether training graphs read or write values of the main graph."""
        return bool(self._training_names)

    def facts(self, path: GraphPath) -> Mapping[str, Value]:
        """The inferred facts about the values of a graph."""
        return self._scopes.get(path, {})

    def traits(self, node: NodeProto) -> Traits:
        """The traits of the operator; empty for a function of the model, or an operator without a rule."""
        domain = plain_domain(node.domain)
        found = standard_rule(domain, node.op_type, self._versions.get(domain, 0)) if self.is_operator(node) else None
        return NO_TRAITS if found is None else found.traits

    def reads_only_dims(self, node: NodeProto) -> bool:
        """Whether a node reads the dims of its input only, not its elements."""
        return self.traits(node).outputs_dims

    def is_reshape(self, source: NodeId) -> bool:
        """Whether a node of the file is a Reshape of ai.onnx."""
        path, position = source
        body = self.bodies.get(path)
        node = None if body is None else body.node[position]
        return (
            node is not None and node.op_type == "Reshape" and not plain_domain(node.domain) and self.is_operator(node)
        )


def _annotated(graph: GraphProto) -> frozenset[str]:
    """The names that the quantization annotations of a graph refer to."""
    names = {a.tensor_name for a in graph.quantization_annotation}
    return frozenset(names | {p.value for a in graph.quantization_annotation for p in a.quant_parameter_tensor_names})


def _bound_by_training(model: ModelFile) -> set[str]:
    """Names of the main graph that training graphs read or write: not constant, and never removed."""
    names = {
        name
        for info in model.proto.training_info
        for entry in (*info.update_binding, *info.initialization_binding)
        for name in (entry.key, entry.value)
    }
    for path, body in roots(model.proto):
        if path.root in (Root.INITIALIZATION, Root.ALGORITHM):
            names.update(name for node in body.node for name in node.input)
    return names


def _function_key(call: NodeProto) -> _FunctionKey:
    return plain_domain(call.domain), call.op_type, call.overload


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The given nodes and the nodes of their subgraphs, at any depth."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _all_nodes(graph.node)


def is_constant(node: NodeProto) -> bool:
    """Whether a node is a Constant of ai.onnx."""
    return node.op_type == "Constant" and not plain_domain(node.domain)
