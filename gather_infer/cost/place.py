"""A graph where it runs: its nodes, the names that they see, what a call gives a function."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onnx import AttributeProto, GraphProto, NodeProto, OperatorSetIdProto, helper

from gather_infer.cost.nbytes import value_bytes
from gather_infer.domains import openvino_opset, plain_domain
from gather_infer.model import ModelFile
from gather_infer.model.index import GraphScope
from gather_infer.model.paths import Body
from gather_infer.places import GraphPath
from gather_infer.record import Assumption, Cause, Constraint, Iterations
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Scope, total
from gather_infer.tensor import Value


class Believed(Protocol):
    """A type that is taken from the file: a `Belief`."""

    @property
    def type(self) -> Value: ...


class Facts(Protocol):
    """What is known of a model: an `Inference`."""

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
    def believed(self) -> Sequence[Believed]: ...
    @property
    def known(self) -> Scope: ...
    @property
    def rules(self) -> Sequence[RuleSet]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A graph where it runs.

    path        of this run: below the node that calls it, where it is the body of a function
    index       of the graph where it is defined
    values      what is known of its names
    label       before the labels of its nodes, with a slash
    outer       the graph around it
    versions    the opsets that its nodes mean, by domain as it is written
    generated   symbols that nodes of the model made
    attributes  of the call, in a function
    """

    path: GraphPath
    body: Body
    index: GraphScope
    values: Mapping[str, Value]
    label: str
    outer: Place | None
    versions: Mapping[str, int]
    generated: Collection[str]
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """What is known of a name here, or in a graph around this one."""
        place: Place | None = self
        while place is not None:
            if name in place.values:
                return place.values[name]
            place = place.outer
        return None

    def nbytes(self, values: Iterable[Value | None]) -> Dim:
        """Bytes of all the values. Raises Untold."""
        return total(value_bytes(value, self.generated) for value in values)

    def version(self, domain: str) -> int:
        """The opset version in force for a domain as nodes write it; 0 where none is imported."""
        return openvino_opset(domain) or self.versions.get(plain_domain(domain), 0)

    def attributes_of(self, node: NodeProto) -> dict[str, Any]:
        """The attributes of a node as Python values, those of the call in place of references; graphs are left out."""
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            held = self.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if held is None or held.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
                continue
            value = helper.get_attribute_value(held)
            found[attribute.name] = value.decode(errors="replace") if isinstance(value, bytes) else value
        return found


def versions_of(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """The opset versions by domain; of a domain that is imported twice the first one counts."""
    found: dict[str, int] = {}
    for entry in imports:
        found.setdefault(plain_domain(entry.domain), entry.version)
    return found


def constants_of(body: Body) -> frozenset[str]:
    """Names of what the graph holds: initializers, and what Constant nodes give."""
    names = {node.output[0] for node in body.node if is_constant(node) and node.output}
    if isinstance(body, GraphProto):
        names |= {tensor.name for tensor in body.initializer}
        names |= {tensor.values.name for tensor in body.sparse_initializer}
    return frozenset(names)


def is_constant(node: NodeProto) -> bool:
    """Whether a node holds a constant of the model: a Constant, or a Const of OpenVINO."""
    if node.op_type == "Constant":
        return not plain_domain(node.domain)
    return node.op_type == "Const" and openvino_opset(node.domain) is not None
