"""Instances of graphs: a graph or function body in one calling context, with its values and opsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onnx import AttributeProto, GraphProto, NodeProto, OperatorSetIdProto, helper

from gather_infer.cost.nbytes import value_bytes
from gather_infer.domains import openvino_opset, plain_domain
from gather_infer.model import ModelFile
from gather_infer.model.index import GraphScope
from gather_infer.model.paths import GraphOrFunction
from gather_infer.node_ids import GraphPath
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Scope, total
from gather_infer.tensor import Value
from gather_infer.trail import Assumption, Cause, Constraint, Iterations


class TrustedAnnotationType(Protocol):
    """A type that the inference took from the file unproved."""

    @property
    def type(self) -> Value: ...


class Facts(Protocol):
    """The results of inference that costs are computed from; an `Inference` implements it."""

    @property
    def model(self) -> ModelFile: ...
    @property
    def scopes(self) -> Mapping[GraphPath, Mapping[str, Value]]: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def iterations(self) -> Mapping[GraphPath, Iterations]: ...
    @property
    def causes(self) -> Mapping[str, Cause]: ...
    @property
    def constraints(self) -> tuple[Constraint, ...]: ...
    @property
    def assumptions(self) -> tuple[Assumption, ...]: ...
    @property
    def trusted_annotations(self) -> Sequence[TrustedAnnotationType]: ...
    @property
    def known(self) -> Scope: ...
    @property
    def rules(self) -> Sequence[RuleSet]: ...


@dataclass(frozen=True, slots=True, eq=False)
class GraphInstance:
    """A graph or function body in one calling context.

    path        path of this instance; for a function body below the calling node
    body        its nodes
    index       index of the graph at its definition
    values      inferred type of each name
    label       prefix of its nodes' labels, ends with a slash
    outer       the enclosing instance; None for the main graph and function bodies
    versions    imported opset versions by domain
    generated   symbols that nodes of the model introduced
    attributes  attribute values of the call, in a function body
    """

    path: GraphPath
    body: GraphOrFunction
    index: GraphScope
    values: Mapping[str, Value]
    label: str
    outer: GraphInstance | None
    versions: Mapping[str, int]
    generated: Collection[str]
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """The type of a name in this graph or an enclosing one; None when it is unknown."""
        instance: GraphInstance | None = self
        while instance is not None:
            if name in instance.values:
                return instance.values[name]
            instance = instance.outer
        return None

    def nbytes(self, values: Iterable[Value | None]) -> Dim:
        """Total bytes of the values. Raises CostUnknown."""
        return total(value_bytes(value, self.generated) for value in values)

    def version(self, domain: str) -> int:
        """The opset version of a domain as nodes write it; 0 when it is not imported."""
        return openvino_opset(domain) or self.versions.get(plain_domain(domain), 0)

    def attributes_of(self, node: NodeProto) -> dict[str, Any]:
        """Attributes of a node as Python values, references resolved to those of the call; omits graphs."""
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            bound = self.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if bound is None or bound.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
                continue
            value = helper.get_attribute_value(bound)
            found[attribute.name] = value.decode(errors="replace") if isinstance(value, bytes) else value
        return found


def versions_of(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Opset versions by domain; the first import of a domain wins."""
    found: dict[str, int] = {}
    for entry in imports:
        found.setdefault(plain_domain(entry.domain), entry.version)
    return found


def constants_of(body: GraphOrFunction) -> frozenset[str]:
    """Names of the constants of a graph: initializers and outputs of Constant nodes."""
    names = {node.output[0] for node in body.node if is_constant(node) and node.output}
    if isinstance(body, GraphProto):
        names |= {tensor.name for tensor in body.initializer}
        names |= {tensor.values.name for tensor in body.sparse_initializer}
    return frozenset(names)


def is_constant(node: NodeProto) -> bool:
    """Whether a node is a constant: Constant of ONNX, or Const of OpenVINO."""
    if node.op_type == "Constant":
        return not plain_domain(node.domain)
    return node.op_type == "Const" and openvino_opset(node.domain) is not None
