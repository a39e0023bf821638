"""Nodes of a dialect: inferred by interpreting their lowered body with the facts of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.dialect import LoweredBody
from gather_infer.errors import SpecViolation
from gather_infer.inference.environment import MAX_DEPTH, Environment
from gather_infer.inference.result import Access
from gather_infer.node_ids import NodePath, Step
from gather_infer.tensor import Value
from gather_infer.trail import Checkpoint, Constraint, ImpliedConstraint, Trail, Unchecked

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter

CONVERTED: Final = "the converted model"
"""The runtime, in the sense of `ImpliedConstraint.runtime`, whose failures a lowered body shows."""


def lowered(
    interpreter: Interpreter,
    body: LoweredBody,
    node: NodeProto,
    inputs: Sequence[Value | None],
    environment: Environment,
) -> list[Value | None]:
    """The facts of the body's outputs.

    If the body preserves failures, its constraints become constraints of the node. Otherwise rules make no assumptions,
    which would not be listed, and no facts follow from the body; the conditions under which its nodes do not fail are
    sufficient for the node, and may not be necessary. Accesses are dropped: they are not those of the node.

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
    addressed = context.addressed[:]  # by the node itself
    context.addressed.clear()
    mark, known, opened = interpreter.checkpoint(), len(context.causes), len(interpreter.visited)
    with context.preserved():
        if not body.preserves_failures:
            context.scope = context.scope.child()
            context.may_assume = False
        interpreter.enter(inner)
        interpreter.interpret_nodes(function.node, inner)
    context.addressed += addressed
    if body.preserves_failures:
        record.filter_since(mark, lambda entry: not isinstance(entry, Access))
        record.revise_since(mark, Constraint, lambda entry: replace(entry, node=place))
        record.revise_since(mark, ImpliedConstraint, lambda entry: replace(entry, node=place))
        record.revise_since(mark, Unchecked, lambda entry: replace(entry, node=place))
    else:
        keep_as_sufficient(record, mark, place, frozenset(islice(context.causes, known, None)))
    for graph in interpreter.visited[opened:]:  # the model has no such graphs
        interpreter.scopes.pop(graph.path, None)
        interpreter.labels.pop(graph.path, None)
    del interpreter.visited[opened:]
    for outer, name in zip(node.output, function.output, strict=False):
        if name in inner.provenance:
            environment.provenance[outer] = inner.provenance[name]
    return [inner.values.get(name) for name in function.output]


def keep_as_sufficient(trail: Trail, mark: Checkpoint, place: NodePath, generated: frozenset[str]) -> None:
    """Replace the entries since `mark`, of the body of node `place`, by conditions of the node that are sufficient.

    A condition on sizes becomes one that the converted model requires. If any clause is undecided, or depends on one of
    the `generated` symbols of the body, so is the node.
    """
    sizes = [((one.left, one.relation, one.right),) for one in trail.since(mark, Constraint)]
    implied = [ImpliedConstraint(one, place, CONVERTED) for one in sizes]
    implied += [ImpliedConstraint(one.any_of, place, CONVERTED) for one in trail.since(mark, ImpliedConstraint)]
    reasons = [f"{one} depends on data" for one in implied if one.symbols & generated]
    reasons += [one.reason for one in trail.since(mark, Unchecked)]
    trail.rollback(mark)
    for one in implied:
        if not one.symbols & generated:
            trail.add_implied_constraint(one)
    if reasons:
        trail.add_unchecked(Unchecked(f"its ONNX form may fail: {reasons[0]}", place))
