"""Graphs inside nodes, walked in the frame of the graph around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from onnx import GraphProto, NodeProto

from gather_infer.context import Context
from gather_infer.inference.frame import Frame
from gather_infer.model.paths import below_label
from gather_infer.places import GraphPath, NodePath, Step
from gather_infer.rules import Attribute
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.inference.walk import Walker


def body_of(attributes: Mapping[str, Attribute], name: str) -> GraphProto:
    body = attributes[name]
    assert isinstance(body, GraphProto), "the schema requires it"
    return body


def inputs_of(body: GraphProto) -> list[str]:
    """The inputs that the node has to pass: up to IR version 3 the initializers are listed among the inputs too."""
    constants = {tensor.name for tensor in body.initializer}
    return [value.name for value in body.input if value.name not in constants]


class Inside(NamedTuple):
    """The graph that a node holds: its path, and what it is called."""

    path: GraphPath
    label: str


def inside(place: NodePath, node: NodeProto, attribute: str) -> Inside:
    """The graph in an attribute of the node at `place`."""
    position = next(at for at, found in enumerate(node.attribute) if found.name == attribute)
    step = Step(place.position, position)
    return Inside(place.graph.below(step), below_label(place.label, node, step))


def walk_body(
    walker: Walker,
    body: GraphProto,
    given: Sequence[Value],
    at: Inside,
    frame: Frame,
    prepare: Callable[[Frame], None] | None = None,
) -> tuple[list[Value], Frame]:
    """The facts of a subgraph's outputs for the inputs `given`, and the frame that it was walked in.

    prepare   adds to the frame what is known of the inputs beside their facts

    Raises SpecViolation when the budget for bodies is spent.
    """
    names = len(body.input) + len(body.output) + len(body.initializer) + len(body.value_info)
    walker.spend(at.path, body.node, names)
    values = dict(zip(inputs_of(body), given, strict=True))
    inner = Frame(
        frame.opsets,
        path=at.path,
        label=at.label,
        parent=frame,
        values=values,
        attributes=frame.attributes,
        parameters=frame.parameters,
        depth=frame.depth + 1,
    )
    if prepare is not None:
        prepare(inner)
    return walker.walk_graph(body, inner), inner


def local_symbols(context: Context, created: int) -> set[str]:
    """Symbols that a body made and that mean nothing outside: those of data, and functions of these."""
    local: set[str] = set()
    made = list(islice(reversed(context.causes), len(context.causes) - created))
    for name in reversed(made):  # in the order of their making
        cause = context.causes[name]
        if cause.data_dependent or not local.isdisjoint(cause.operands):
            local.add(name)
    return local
