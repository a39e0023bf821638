"""Instances of graphs: a graph or function body in one calling context, with its values and opsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onnx import AttributeProto, NodeProto

from gather_infer.cost.nbytes import value_bytes
from gather_infer.domains import openvino_opset, plain_domain, version_in
from gather_infer.ir import Graph, Model
from gather_infer.model import ModelFile
from gather_infer.model.attributes import decoded
from gather_infer.node_ids import GraphPath
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Scope, total
from gather_infer.tensor import Value
from gather_infer.trail import Assumption, Cause, Constraint, Iterations


class TrustedAnnotationType(Protocol):
    """An annotation of the file whose type the inference uses without proof."""

    @property
    def type(self) -> Value: ...


class Facts(Protocol):
    """The results of inference that costs are computed from; an `Inference` implements it."""

    @property
    def model(self) -> ModelFile: ...
    @property
    def ir(self) -> Model: ...
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

    path        path of this instance; a function body has a path below the calling node
    graph       the graph at its definition
    values      inferred type of each name
    label       prefix of its nodes' labels, ends with a slash
    outer       the enclosing instance; None for the main graph and function bodies
    generated   symbols that the inference introduced for sizes unknown before a run
    attributes  for a function body, the attributes of the call by name
    """

    path: GraphPath
    graph: Graph
    values: Mapping[str, Value]
    label: str
    outer: GraphInstance | None
    generated: Collection[str]
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """The type of the value that `name` refers to in this graph; None if it is unknown."""
        home = self.graph.defining_graph(name)
        instance: GraphInstance | None = self
        while instance is not None and instance.graph is not home:
            instance = instance.outer
        return None if instance is None else instance.values.get(name)

    def nbytes(self, values: Iterable[Value | None]) -> Dim:
        """The total size of `values` in bytes. Raises CostUnknown if one of the sizes is unknown."""
        return total(value_bytes(value, self.generated) for value in values)

    def version(self, domain: str) -> int:
        """The opset version of `domain`, which is spelt as in a node; 0 if the domain is not imported."""
        return version_in(self.graph.versions, domain)

    def attributes_of(self, node: NodeProto) -> dict[str, Any]:
        """The attributes of a node as Python values by name, without graphs.

        References to attributes of the enclosing function are replaced by the attributes of the call.
        """
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            bound = self.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if bound is None or bound.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
                continue
            found[attribute.name] = decoded(bound)
        return found


def is_constant(node: NodeProto) -> bool:
    """Whether a node is a constant: Constant of ONNX, or Const of OpenVINO."""
    if node.op_type == "Constant":
        return not plain_domain(node.domain)
    return node.op_type == "Const" and openvino_opset(node.domain) is not None
