"""Severity of failures: an error if every run reaches the failing node, a warning if some runs skip its body."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity, is_broken, is_structural
from gather_infer.inference.bodies.function import with_bound_attributes
from gather_infer.inference.environment import Environment
from gather_infer.inference.fallback import rejection
from gather_infer.inference.load_refusals import refused_as_is
from gather_infer.inference.result import Inference
from gather_infer.node_ids import GraphPath, Root
from gather_infer.trail import PathCondition

if TYPE_CHECKING:
    from gather_infer.inference.inferred_graphs import InferredNode

Conditions: TypeAlias = Mapping[GraphPath, PathCondition]
ConditionalBodies: TypeAlias = tuple[GraphPath, ...]
"""The bodies around a location, outermost first, that some runs skip."""


_Answer: TypeAlias = "tuple[Hashable, bool]"
_Case: TypeAlias = "frozenset[_Answer]"

_MAX_CASES: Final = 200
"""Maximal number of cases (conjunctions of path conditions) in the search for failures that cover all runs."""


def conditional_bodies(graph: GraphPath, conditions: Conditions) -> ConditionalBodies:
    """The bodies that some runs skip, among `graph` and the graphs around it, outermost first."""
    if not conditions:
        return ()
    around = (GraphPath(graph.root, graph.position, graph.steps[: k + 1]) for k in range(len(graph.steps)))
    return tuple(path for path in around if path in conditions)


def with_conditional_severity(inference: Inference) -> tuple[Diagnostic, ...]:
    """The diagnostics, with errors lowered to warnings if valid runs skip the failing node.

    A failure in both branches of an If fails every run that reaches the If. A node for which a loader refuses the file
    stays an error whether or not a run reaches it.
    """
    conditions = inference.conditions
    found = {d: conditional_bodies(d.location.node.graph, conditions) for d in inference.diagnostics
             if d.location.node is not None and d.severity is Severity.ERROR and not is_structural(d)}  # fmt: skip
    certain = hoisted(found.values(), conditions)
    spared = {d: certain[bodies] for d, bodies in found.items() if certain[bodies]}
    if not spared:
        return inference.diagnostics
    if is_broken(inference.diagnostics):
        doubtful: frozenset[Diagnostic] = frozenset()  # onnx's inference may crash on a broken model
    else:
        doubtful = rejectable_nodes(inference, spared)
    if doubtful and not inference.model.foreign_format:
        refused = refused_as_is(inference.model)
        is_called = any(path.root is Root.FUNCTION for path, _ in refused)  # findings are located in the call
        spared = {
            d: bodies for d, bodies in spared.items() if d not in doubtful or not (is_called or _node_id(d) in refused)
        }
    return tuple(conditional(d, spared[d], conditions) if d in spared else d for d in inference.diagnostics)


def refused_unreachable(inference: Inference) -> Iterator[Diagnostic]:
    """The errors about nodes that no run reaches but for which a loader refuses the file."""
    if not inference.unreachable or inference.model.foreign_format or is_broken(inference.diagnostics):
        return
    doubtful = rejectable_nodes(inference, inference.unreachable)
    refused = refused_as_is(inference.model) if doubtful else {}
    for finding in inference.unreachable:
        if finding in doubtful and _node_id(finding) in refused:
            yield finding


def _node_id(finding: Diagnostic) -> tuple[GraphPath, int] | None:
    node = finding.location.node
    return None if node is None else (node.graph, node.position)


def rejectable_nodes(inference: Inference, findings: Iterable[Diagnostic]) -> frozenset[Diagnostic]:
    """The findings whose nodes a loader may refuse, given everything known about the inputs of the node."""
    from gather_infer.inference.inferred_graphs import InferredGraphs  # here, because most models have no such finding

    bodies = InferredGraphs(inference)
    places = {d: None if d.location.node is None else bodies.node(d.location.node) for d in findings}
    return frozenset(d for d, place in places.items() if place is not None and _may_be_refused(place))


def _may_be_refused(place: InferredNode) -> bool:
    """Whether onnx rejects a node given all known facts about its inputs."""
    schema = place.op.schema
    if schema is None:
        return False
    if place.op.is_control_flow:
        return True  # its bodies read outer names, which a single node does not have
    environment = Environment(place.graph.opsets, attributes=place.graph.attributes)
    inputs = [place.graph.fact(name) if name else None for name in place.node.input]
    node = with_bound_attributes(place.node, environment)
    return rejection(schema, node, list(place.node.input), inputs, environment.opsets.versions) is not None


def hoisted(failing: Iterable[ConditionalBodies], conditions: Conditions) -> dict[ConditionalBodies, ConditionalBodies]:
    """For each failing location, the bodies around the outermost location where a run is certain to fail.

    When both branches of an If fail, the run that reaches the If fails. When the failures cover all paths, every run
    fails.
    """
    given = frozenset(failing)
    unavoidable = _unavoidable(given, conditions)
    # A worklist from failing bodies outwards: where both branches of an If fail, the body around it fails as well.
    reached, whole = set(given), set[ConditionalBodies]()
    waiting = list(given)
    while waiting:
        bodies = waiting.pop()
        if _other_branch(bodies, conditions) in reached:
            whole.add(bodies[:-1])
            if bodies[:-1] not in reached:
                reached.add(bodies[:-1])
                waiting.append(bodies[:-1])
    found: dict[ConditionalBodies, ConditionalBodies] = {}
    for bodies in given:
        outer = () if bodies in unavoidable else bodies
        while outer and outer[:-1] in whole and _other_branch(outer, conditions) in reached:
            outer = outer[:-1]
        found[bodies] = outer
    return found


def _unavoidable(failing: Iterable[ConditionalBodies], conditions: Conditions) -> frozenset[ConditionalBodies]:
    """Failing locations such that every run reaches at least one of them; empty when no such set is found.

    This is resolution on path conditions: a condition guards a body, and several Ifs may share it. Two cases with
    opposite values of one condition yield a case without it; every run reaches the empty case.
    """
    cases: dict[_Case, frozenset[ConditionalBodies]] = {}
    for bodies in failing:
        case = frozenset(_answer(conditions[body]) for body in bodies)
        if bodies and _is_possible(case):
            cases.setdefault(case, frozenset((bodies,)))
    waiting = list(cases)
    while waiting and len(cases) <= _MAX_CASES:
        case = waiting.pop()
        for other in list(cases):
            for question, answer in case:
                if (question, not answer) not in other:
                    continue
                both = (case | other) - {(question, True), (question, False)}
                if not both:
                    return cases[case] | cases[other]
                if both not in cases and _is_possible(both):
                    cases[both] = cases[case] | cases[other]
                    waiting.append(both)
    return frozenset()


def _is_possible(case: _Case) -> bool:
    return len({question for question, _ in case}) == len(case)


def _answer(condition: PathCondition) -> _Answer:
    """The canonical condition of a body, and the value for which the body runs."""
    choice, negative = condition.input_predicate, condition.sign_predicate
    if choice is not None:
        is_plain = choice.relation == "<" or (choice.relation == "==" and not (choice.is_bool and choice.number == 0))
        return (choice, True) if is_plain else (choice.negated, False)
    if negative is not None:
        contrary = -negative - 1  # negative exactly where `negative` is >= 0: the predicate of the other branch
        return (negative, True) if str(negative) <= str(contrary) else (contrary, False)
    if condition.other_branch is None:
        return condition.body, True
    return frozenset((condition.body, condition.other_branch)), condition.name == "then_branch"


def _other_branch(bodies: ConditionalBodies, conditions: Conditions) -> ConditionalBodies | None:
    """`bodies` with the innermost branch of an If replaced by the other branch; None when it is not a branch."""
    other = conditions[bodies[-1]].other_branch if bodies else None
    return None if other is None else (*bodies[:-1], other)


def conditional(finding: Diagnostic, bodies: ConditionalBodies, conditions: Conditions) -> Diagnostic:
    """`finding` as a warning that lists the conditions under which a run enters `bodies` and fails."""
    stated = [conditions[body] for body in bodies]
    when = "taken" if any(condition.other_branch is not None for condition in stated) else "it runs"
    return replace(
        finding,
        severity=Severity.WARNING,
        message=f"fails when {when}: {finding.message}",
        detail=(*finding.detail, *map(str, stated)),
        conditional_bodies=bodies,
    )
