"""Which failures every run comes to: those are errors, the others warnings of the branch or body that they are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.inference.bodies.function import resolved
from gather_infer.inference.fallback import rejection
from gather_infer.inference.frame import Frame
from gather_infer.inference.loading import refused_as_it_is
from gather_infer.inference.result import Inference
from gather_infer.inference.state import is_structural
from gather_infer.inference.walked import Bodies, Place
from gather_infer.places import GraphPath
from gather_infer.record import PathCondition

Conditions: TypeAlias = Mapping[GraphPath, PathCondition]
Under: TypeAlias = tuple[GraphPath, ...]
"""The bodies around a place, from the outside, that not every run comes to."""


def under(graph: GraphPath, conditions: Conditions) -> Under:
    """The bodies around a graph, it among them, that not every run comes to."""
    if not conditions:
        return ()
    around = (GraphPath(graph.root, graph.position, graph.steps[: k + 1]) for k in range(len(graph.steps)))
    return tuple(path for path in around if path in conditions)


def weighed(inference: Inference) -> tuple[Diagnostic, ...]:
    """The diagnostics of a run, errors as warnings where a run that does not come to them is legal.

    What both branches of an If do every run does that comes to it. What a loader refuses is wrong whether or not a run
    comes to it.
    """
    conditions = inference.conditions
    found = {d: under(d.location.node.graph, conditions) for d in inference.diagnostics
             if d.location.node is not None and d.severity is Severity.ERROR and not is_structural(d)}  # fmt: skip
    certain = lifted(found.values(), conditions)
    spared = {d: certain[bodies] for d, bodies in found.items() if certain[bodies]}
    if not spared:
        return inference.diagnostics
    doubtful = refused_nodes(inference, spared)
    if doubtful and not inference.model.foreign and refused_as_it_is(inference.model):
        spared = {d: bodies for d, bodies in spared.items() if d not in doubtful}
    return tuple(conditional(d, spared[d], conditions) if d in spared else d for d in inference.diagnostics)


def refused_nodes(inference: Inference, findings: Iterable[Diagnostic]) -> frozenset[Diagnostic]:
    """Those of the findings about nodes that a loader may refuse, if it knows enough of what they read."""
    bodies = Bodies(inference)
    places = {d: None if d.location.node is None else bodies.place(d.location.node) for d in findings}
    return frozenset(d for d, place in places.items() if place is not None and _may_be_refused(place))


def _may_be_refused(place: Place) -> bool:
    """Whether onnx rejects a node that is given all that is known of its inputs."""
    schema = place.entry.schema
    if schema is None:
        return False
    if place.entry.control:
        return True  # its bodies see names around them, which a node by itself does not have
    frame = Frame(place.body.opsets, attributes=place.body.attributes)
    inputs = [place.body.fact(name) if name else None for name in place.node.input]
    node = resolved(place.node, frame)
    return rejection(schema, node, list(place.node.input), inputs, frame.opsets.versions) is not None


def lifted(failing: Iterable[Under], conditions: Conditions) -> dict[Under, Under]:
    """For each of some places that fail, by the bodies around it, the bodies in which it is certain that a run fails.

    Where both branches of an If fail, the run that comes to the If does.
    """
    given = frozenset(failing)
    reached, whole = set(given), set[Under]()
    waiting = list(given)
    while waiting:
        bodies = waiting.pop()
        if _other(bodies, conditions) in reached:
            whole.add(bodies[:-1])
            if bodies[:-1] not in reached:
                reached.add(bodies[:-1])
                waiting.append(bodies[:-1])
    found: dict[Under, Under] = {}
    for bodies in given:
        outer = bodies
        while outer and outer[:-1] in whole and _other(outer, conditions) in reached:
            outer = outer[:-1]
        found[bodies] = outer
    return found


def _other(bodies: Under, conditions: Conditions) -> Under | None:
    """The other branch of the innermost If."""
    other = conditions[bodies[-1]].other if bodies else None
    return None if other is None else (*bodies[:-1], other)


def conditional(finding: Diagnostic, bodies: Under, conditions: Conditions) -> Diagnostic:
    """An error as the warning that it is for a model of which not every run comes to it."""
    stated = [conditions[body] for body in bodies]
    when = "taken" if any(condition.other is not None for condition in stated) else "it runs"
    return replace(
        finding,
        severity=Severity.WARNING,
        message=f"fails when {when}: {finding.message}",
        detail=(*finding.detail, *map(str, stated)),
        under=bodies,
    )
