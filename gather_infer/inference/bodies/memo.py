"""Calls of functions that were walked before: each level of functions that calls the next one twice doubles the work.

Only a call without side effects is remembered: one whose body made no symbol, found, learnt and assumed nothing, and
read no constant. Its key holds everything that the body can see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from onnx import AttributeProto, FunctionProto, NodeProto

from gather_infer.inference.cache import Key
from gather_infer.inference.lineage.trace import Trace
from gather_infer.inference.result import GatherAccess
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.inference.frame import Frame
    from gather_infer.inference.walk import Walker

MAX_ATTRIBUTE_BYTES: Final = 256
"""Serialised bytes of an attribute of a call that is remembered."""


class Scopes(dict[str, dict[str, Value]]):
    """The values of each graph by its path, and the order in which the graphs were walked."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[str, dict[str, Value]]] = []

    def __setitem__(self, path: str, values: dict[str, Value]) -> None:
        super().__setitem__(path, values)
        self.opened.append((path, values))


@dataclass(frozen=True, slots=True)
class Call:
    """What a call has given.

    path      of its node
    results   the facts of its outputs
    traces    where their elements come from, by position
    opened    the values of its body and of the graphs and calls in that
    accesses  of the gather family in it
    """

    path: str
    results: list[Value | None]
    traces: tuple[Trace | None, ...]
    opened: tuple[tuple[str, dict[str, Value]], ...]
    accesses: tuple[GatherAccess, ...]

    @property
    def size(self) -> int:
        """How much there is to list again for another call."""
        return len(self.accesses) + sum(1 + len(values) for _, values in self.opened)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a walk had recorded when a call began."""

    effects: int
    findings: int
    diagnostics: int
    version: int
    opened: int
    accesses: int


def key_of(
    walker: Walker, body: FunctionProto, node: NodeProto, inputs: Sequence[Value | None], frame: Frame
) -> Key | None:
    """What the facts of a call depend on, None when that cannot be told in few words."""
    name = (body.domain, body.name, body.overload)
    if walker.functions.get(name) is not body:
        return None  # the schema's, or of a domain with another spelling
    given: list[object] = []
    for attribute in node.attribute:
        source: AttributeProto | None = attribute
        if attribute.ref_attr_name:
            source = frame.attributes.get(attribute.ref_attr_name)
        if source is None:
            continue
        if source.ByteSize() > MAX_ATTRIBUTE_BYTES or source.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            return None
        given += [attribute.name, source.SerializeToString()]
    facts = [id(None if value is None else walker.cache.canonical(value)) for value in inputs]
    scope = walker.context.scope
    return (name, *facts, *map(frame.trace, node.input), *given, tuple(map(bool, node.output)), scope, scope.version)


def mark(walker: Walker) -> Mark:
    context = walker.context
    return Mark(
        context.effects, len(context.findings), len(walker.diagnostics), context.scope.version,
        len(walker.scopes.opened), len(walker.accesses),
    )  # fmt: skip


def remember(
    walker: Walker, key: Key, since: Mark, path: str, results: list[Value | None], traces: Sequence[Trace | None]
) -> None:
    """Remember a call, unless it has done more than give results."""
    now = mark(walker)
    if replace(now, opened=since.opened, accesses=since.accesses) == since:
        opened = tuple(walker.scopes.opened[since.opened :])
        walker.cache.calls[key] = Call(path, results, tuple(traces), opened, tuple(walker.accesses[since.accesses :]))


def recall(walker: Walker, key: Key, node: NodeProto, frame: Frame) -> list[Value | None] | None:
    """The facts of a call that was made before; its graphs and accesses are listed below this node as well.

    They are left out when the budget for that is spent: all that they say was said of the call before.
    """
    call: Call | None = walker.cache.calls.get(key)
    if call is None:
        return None
    path = walker.context.node
    if walker.budget.may_list(call.size):
        for inner, values in call.opened:
            walker.scopes[path + inner[len(call.path) :]] = values
        walker.accesses += [replace(a, node=path + a.node[len(call.path) :]) for a in call.accesses]
    for name, trace in zip(node.output, call.traces, strict=False):
        if trace is not None:
            frame.traces[name] = trace
    return call.results
