"""Subgraphs of nodes, interpreted in an environment whose parent is the environment of the enclosing graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from onnx import GraphProto, NodeProto

from gather_infer.context import Context
from gather_infer.inference.environment import Environment
from gather_infer.model.paths import subgraph_label
from gather_infer.node_ids import GraphPath, NodePath, Step
from gather_infer.rules import Attribute
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter


def body_of(attributes: Mapping[str, Attribute], name: str) -> GraphProto:
    """The graph in the attribute `name`."""
    body = attributes[name]
    assert isinstance(body, GraphProto), "the schema requires it"
    return body


def inputs_of(body: GraphProto) -> list[str]:
    """The inputs that the node has to pass, without initializers, which IR versions up to 3 list as inputs too."""
    constants = {tensor.name for tensor in body.initializer}
    return [value.name for value in body.input if value.name not in constants]


class BodyLocation(NamedTuple):
    """Path and label of a subgraph."""

    path: GraphPath
    label: str


def body_location(place: NodePath, node: NodeProto, attribute: str) -> BodyLocation:
    """The location of the subgraph that the attribute named `attribute` of the node at `place` holds."""
    position = next(at for at, found in enumerate(node.attribute) if found.name == attribute)
    step = Step(place.position, position)
    return BodyLocation(place.graph.below(step), subgraph_label(place.label, node, step))


def interpret_body(
    interpreter: Interpreter,
    body: GraphProto,
    arguments: Sequence[Value],
    location: BodyLocation,
    environment: Environment,
    prepare: Callable[[Environment], None] | None = None,
) -> tuple[list[Value], Environment]:
    """The facts of a subgraph's outputs for the facts `arguments` of its inputs, and the environment of the subgraph.

    prepare   adds further knowledge about the inputs to the environment, such as provenance

    Raises SpecViolation when the budget for bodies is spent.
    """
    names = len(body.input) + len(body.output) + len(body.initializer) + len(body.value_info)
    interpreter.spend(location.path, body.node, names)
    values = dict(zip(inputs_of(body), arguments, strict=True))
    inner = Environment(
        environment.opsets,
        path=location.path,
        label=location.label,
        parent=environment,
        values=values,
        attributes=environment.attributes,
        parameters=environment.parameters,
        depth=environment.depth + 1,
    )
    if prepare is not None:
        prepare(inner)
    return interpreter.interpret_graph(body, inner), inner


def local_symbols(context: Context, created: int) -> set[str]:
    """The symbols generated in a body that are meaningless outside: data-dependent symbols and functions of them.

    created   number of generated symbols before the body
    """
    local: set[str] = set()
    made = list(islice(reversed(context.causes), len(context.causes) - created))
    for name in reversed(made):  # oldest first, so that operands come before functions of them
        cause = context.causes[name]
        if cause.data_dependent or not local.isdisjoint(cause.operands):
            local.add(name)
    return local
