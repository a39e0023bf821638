"""Memo of function calls: without it, each level of functions that calls the next level twice doubles the work.

Only a call without side effects is stored: its body generated no symbol, reported no finding, added no fact or
assumption, and read no constant. The key holds everything that the body can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from onnx import AttributeProto, FunctionProto, NodeProto

from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter_state import InterpreterState, VisitedGraph
from gather_infer.inference.provenance.origin import Provenance
from gather_infer.inference.result import Access
from gather_infer.inference.rule_cache import Key
from gather_infer.node_ids import GraphPath, NodePath, Step
from gather_infer.tensor import Value
from gather_infer.trail import Checkpoint, PathCondition

MAX_ATTRIBUTE_BYTES: Final = 256
"""Maximal serialized size in bytes of an attribute in a key; a call with a larger attribute is not stored."""


class MemoizedCall(NamedTuple):
    """The facts, graphs and accesses of a function call that equal calls reuse.

    node         the calling node
    results      facts of the outputs, by position
    provenances  provenance of the outputs, by position
    visited      the function body, and the graphs and function bodies inside it
    accesses     accesses by index of the nodes inside
    """

    node: NodePath
    results: list[Value | None]
    provenances: tuple[Provenance | None, ...]
    visited: tuple[VisitedGraph, ...]
    accesses: tuple[Access, ...]

    @property
    def size(self) -> int:
        """Number of values, graphs and accesses to record again for another call; see `WorkBudget.may_list`."""
        return len(self.accesses) + sum(1 + len(opened.values) for opened in self.visited)


class CallStart(NamedTuple):
    """Positions in the trail and the list of visited graphs when a call began."""

    total_added: int
    visited: int
    checkpoint: Checkpoint


def key_of(
    state: InterpreterState,
    body: FunctionProto,
    node: NodeProto,
    inputs: Sequence[Value | None],
    environment: Environment,
) -> Key | None:
    """The memo key of a call: everything on which its facts depend; None when the call cannot be memoized."""
    name = (body.domain, body.name, body.overload)
    if state.functions.get(name) is not body:
        return None  # a body from a schema, or a domain with another spelling
    given: list[object] = []
    for attribute in node.attribute:
        source: AttributeProto | None = attribute
        if attribute.ref_attr_name:
            source = environment.attributes.get(attribute.ref_attr_name)
        if source is None:
            continue
        if source.ByteSize() > MAX_ATTRIBUTE_BYTES or source.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            return None
        given += [attribute.name, source.SerializeToString()]
    facts = [id(None if value is None else state.cache.canonical(value)) for value in inputs]
    scope = state.context.scope
    origins = (*map(environment.provenance_of, node.input), *map(environment.input_predicate, node.input))
    return (name, *facts, *origins, *given, tuple(map(bool, node.output)), scope, scope.version)


def call_start(state: InterpreterState) -> CallStart:
    """The CallStart of a call that begins now."""
    return CallStart(state.trail.total_added, len(state.visited), state.trail.checkpoint())


def remember(
    state: InterpreterState,
    key: Key,
    start: CallStart,
    node: NodePath,
    results: list[Value | None],
    provenances: Sequence[Provenance | None],
) -> None:
    """Store a finished call, unless it had side effects other than accesses by index."""
    accesses = tuple(state.trail.since(start.checkpoint, Access))
    if state.trail.total_added - start.total_added == len(accesses):
        opened = tuple(state.visited[start.visited :])
        state.cache.calls[key] = MemoizedCall(node, results, tuple(provenances), opened, accesses)


def recall(state: InterpreterState, key: Key, node: NodeProto, environment: Environment) -> list[Value | None] | None:
    """The facts of the outputs from an equal earlier call; None when there is none.

    The graphs and accesses of that call are recorded again below the current node, unless the budget for this is spent.
    """
    call: MemoizedCall | None = state.cache.calls.get(key)
    if call is None:
        return None
    place = state.context.node
    if state.budget.may_list(call.size):
        for opened in call.visited:
            path, label = _moved(opened.path, call.node, place), _relabelled(opened.label, call.node, place)
            state.record_graph(VisitedGraph(path, label, opened.values))
            condition = state.conditions.get(opened.path)
            if condition is None:
                state.conditions.pop(path, None)
            else:
                state.conditions[path] = _moved_condition(condition, call.node, place)
        for access in call.accesses:
            inner = access.node
            path = _moved(inner.graph, call.node, place)
            moved = NodePath(path, inner.position, _relabelled(inner.label, call.node, place))
            state.trail.add(replace(access, node=moved))
    for name, trace in zip(node.output, call.provenances, strict=False):
        if trace is not None:
            environment.provenance[name] = trace
    return call.results


def _moved_condition(condition: PathCondition, old: NodePath, new: NodePath) -> PathCondition:
    """A path condition below the node `old`, moved below the node `new`."""
    holder = condition.node
    node = NodePath(_moved(holder.graph, old, new), holder.position, _relabelled(holder.label, old, new))
    other = None if condition.other_branch is None else _moved(condition.other_branch, old, new)
    return condition._replace(body=_moved(condition.body, old, new), node=node, other_branch=other)


def _moved(path: GraphPath, old: NodePath, new: NodePath) -> GraphPath:
    """The path of a graph below the node `old`, moved below the node `new`, which calls the same function."""
    below = path.steps[len(old.graph.steps) + 1 :]
    return GraphPath(new.graph.root, new.graph.position, (*new.graph.steps, Step(new.position), *below))


def _relabelled(label: str, old: NodePath, new: NodePath) -> str:
    return new.label + label[len(old.label) :]
