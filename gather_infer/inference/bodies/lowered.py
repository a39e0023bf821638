"""Nodes of a dialect: inferred by interpreting their lowered body with the facts of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto

from gather_infer.dialect import LoweredBody
from gather_infer.errors import SpecViolation
from gather_infer.inference.environment import MAX_DEPTH, Environment
from gather_infer.inference.result import Access
from gather_infer.node_ids import Step
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter


def lowered(
    interpreter: Interpreter,
    body: LoweredBody,
    node: NodeProto,
    inputs: Sequence[Value | None],
    environment: Environment,
) -> list[Value | None]:
    """The facts of the body's outputs.

    If the body preserves failures, its trail entries are kept, except accesses: the node itself addresses no axis by
    index. Otherwise all its trail entries are dropped, and rules make no assumptions, which would not be listed.

    Raises SpecViolation when bodies nest too deep.
    """
    if environment.depth >= MAX_DEPTH:
        raise SpecViolation(f"subgraphs and calls nest deeper than {MAX_DEPTH}", "GI108")
    function, context, record = body.function, interpreter.context, interpreter.trail
    place = context.node
    given = dict(zip(function.input, inputs, strict=False))
    inner = Environment(
        interpreter.opsets(function.opset_import),
        path=place.graph.below(Step(place.position)),
        label=place.label,
        values={name: value for name, value in given.items() if value is not None},
        absent=frozenset(name for name in function.input if given.get(name) is None),
        depth=environment.depth + 1,
    )
    for name, argument in zip(function.input, node.input, strict=False):
        trace = environment.provenance_of(argument)
        if trace is not None:
            inner.provenance[name] = trace
    mark, opened = interpreter.checkpoint(), len(interpreter.visited)
    with context.preserved():
        if not body.preserves_failures:
            context.scope = context.scope.child()
            context.may_assume = False
        interpreter.enter(inner)
        interpreter.interpret_nodes(function.node, inner)
    record.filter_since(mark, lambda entry: body.preserves_failures and not isinstance(entry, Access))
    for graph in interpreter.visited[opened:]:  # the model has no such graphs
        interpreter.scopes.pop(graph.path, None)
        interpreter.labels.pop(graph.path, None)
    del interpreter.visited[opened:]
    for outer, name in zip(node.output, function.output, strict=False):
        if name in inner.provenance:
            environment.provenance[outer] = inner.provenance[name]
    return [inner.values.get(name) for name in function.output]
