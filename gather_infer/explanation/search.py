"""Backward search for the provenance of a tensor's shape and values, through the relevant inputs of each node.

An input is relevant if its elements, or else its dims, contain the dims to explain; the search follows each dim through
one input. If two inputs share a dim, the search follows it through the input that covers more dims. The search reads
the facts of a run and infers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from gather_infer.explanation.chain import Definition, Facet, Link, Operand
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, InferredNode
from gather_infer.inference.result import Inference
from gather_infer.model.attributes import integer_attribute
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.symbolic import Dim, Expr, free_symbols, symbol
from gather_infer.tensor import UNKNOWN, SymbolicTensor, Value

MIN_SKIPPED: Final = 2
"""A path of at least this many nodes that forward the same dims is left out of the chain."""

MAX_STEPS: Final = 400
"""Maximum number of steps in one chain."""


@dataclass(frozen=True, slots=True)
class StepSource:
    """A tensor to explain.

    facet     whether to explain its shape or its elements
    relevant  the dims or elements to explain; None for all of them
    """

    body: InferredGraph
    name: str
    facet: Facet
    relevant: frozenset[Dim] | None


class Search:
    """Builds the provenance chain of one tensor.

    depth   maximum nesting of steps
    every   include nodes that only forward dims
    """

    def __init__(self, inference: Inference, bodies: InferredGraphs, *, depth: int, every: bool) -> None:
        self.inference = inference
        self.bodies = bodies
        self.depth = depth
        self.every = every
        self.visited: list[InferredNode] = []
        self._seen: set[tuple[GraphPath, str, Facet]] = set()

    def chain(self, body: InferredGraph, name: str) -> Link:
        """The first step of the chain that explains a tensor: its elements if known and not floats, else its shape."""
        value = body.fact(name) or UNKNOWN
        return self._step(StepSource(body, name, facet_of(value), None), self.depth)

    def _step(self, source: StepSource, depth: int) -> Link:
        home = source.body.defining_graph(source.name) or source.body
        producer = home.producer(source.name)
        value = home.values.get(source.name, UNKNOWN)
        relevant = tuple(sorted(source.relevant or (), key=str))
        step = Link(source.facet, relevant, home.label, source.name, value, Definition.UNDEFINED)
        if producer is None:
            return self._leaf(step, source, home, depth)
        place, slot = producer
        if is_constant(place):
            return replace(step, origin=Definition.CONSTANT, node=place.path)
        sources = list(self.sources(place, slot, source))
        shown = tuple(self._operands(place, sources))
        new_symbols = tuple(
            s for s, cause in self.inference.causes.items() if cause.node == place.path and s in names_in(value)
        )
        step = replace(
            step, origin=Definition.NODE, node=place.path, op_type=place.node.op_type, domain=place.op.domain,
            operands=shown, new_symbols=new_symbols,
        )  # fmt: skip
        self.visited.append(place)
        key = (home.path, source.name, source.facet)
        if key in self._seen:
            return replace(step, repeated=bool(sources))
        if depth == 0 or len(self._seen) >= MAX_STEPS:
            return replace(step, truncated=bool(sources))
        self._seen.add(key)
        return replace(step, sources=tuple(self._source_steps(sources, depth)))

    def _leaf(self, step: Link, source: StepSource, home: InferredGraph, depth: int) -> Link:
        """The step of a tensor that no node of its graph produces."""
        if home.caller is None:
            if source.name in self.inference.inputs:
                return replace(step, origin=Definition.INPUT)
            return replace(step, origin=Definition.CONSTANT if source.name in home.values else Definition.UNDEFINED)
        if source.name not in home.inputs:
            return replace(step, origin=Definition.CONSTANT if source.name in home.values else Definition.UNDEFINED)
        step = replace(step, origin=Definition.BODY_INPUT, node=home.caller.path, op_type=home.caller.node.op_type)
        given = argument(home, source.name)
        if given is None:
            return step
        if depth == 0:
            return replace(step, truncated=True)
        outside = StepSource(home.caller.graph, given, source.facet, source.relevant if home.is_call else None)
        return replace(step, sources=tuple(self._source_steps([outside], depth)))

    def _source_steps(self, sources: Iterable[StepSource], depth: int) -> Iterator[Link]:
        for source in sources:
            skipped = 0
            if not self.every:
                origin, skipped = self._skip_forwarding(source)
                source, skipped = (origin, skipped) if skipped >= MIN_SKIPPED else (source, 0)
            step = self._step(source, depth - 1)
            # The operands of the step above already show constants.
            if step.origin is not Definition.CONSTANT or skipped:
                yield replace(step, skipped_nodes=skipped)

    def _skip_forwarding(self, source: StepSource) -> tuple[StepSource, int]:
        """The tensor at the start of a path of nodes that only forward its dims, and the length of the path."""
        skipped = 0
        while source.facet is Facet.SHAPE and source.relevant and skipped < 100_000:
            home = source.body.defining_graph(source.name)
            producer = None if home is None else home.producer(source.name)
            if home is None or producer is None or (home.path, source.name, source.facet) in self._seen:
                break
            place, slot = producer
            sources = list(self.sources(place, slot, source))
            if len(sources) != 1 or sources[0].facet is not Facet.SHAPE or self.bodies.bodies(place):
                break
            if sources[0].relevant is None or not source.relevant <= sources[0].relevant:
                break
            source, skipped = sources[0], skipped + 1
        return source, skipped

    def _operands(self, place: InferredNode, sources: list[StepSource]) -> Iterator[Operand]:
        expanded = {s.name for s in sources}
        schema = place.op.schema
        formal = [] if schema is None or place.op.function is not None else schema.inputs
        for position, name in enumerate(place.node.input):
            if not name:
                continue
            value = place.graph.fact(name) or UNKNOWN
            steers = isinstance(value, SymbolicTensor) and value.values is not None and not _is_float(value)
            if not (position == 0 or name in expanded or steers):
                continue
            repeats = schema is not None and schema.variadic and position >= len(formal) - 1
            label = formal[position] if position < len(formal) and not repeats else ""
            yield Operand(label, name, value, name in expanded)

    # relevant inputs

    def sources(self, place: InferredNode, slot: int, source: StepSource) -> Iterator[StepSource]:
        """Yield what the output at `slot` of a node, to be explained as `source`, derives from."""
        node, body = place.node, place.graph
        inner = self.bodies.bodies(place)
        if inner:
            yield from _through_bodies(place, slot, inner, source)
            return
        names = list(dict.fromkeys(n for n in node.input if n))
        facts = {n: body.fact(n) or UNKNOWN for n in names}
        value = body.values.get(node.output[slot], UNKNOWN)
        if place.op.traits.outputs_dims and slot == 0 and source.facet is Facet.VALUES:
            yield from (StepSource(body, n, Facet.SHAPE, source.relevant) for n in names[:1])
            return
        relevant = facet_dims(value, source.facet) if source.relevant is None else source.relevant
        relevant = frozenset(relevant)
        if relevant:
            relevant = relevant | self._operands_of(relevant, place.path)
        found = _cover(relevant, facts, source.facet)
        if not found or self._loses_information(value, source.facet, place):
            for name, fact in facts.items():
                facet = _unknown_facet(fact, source.facet)
                if facet is not None and (name, facet) not in found:
                    found[name, facet] = None
        for (name, facet), part in found.items():
            yield StepSource(body, name, facet, None if part is None else frozenset(part))

    def _operands_of(self, relevant: frozenset[Dim], node: NodePath) -> frozenset[Dim]:
        """For the symbols in `relevant` that `node` generated, the symbols on which they depend."""
        causes = self.inference.causes
        new_symbols = {n for d in relevant for n in free_symbols(d) if n in causes and causes[n].node == node}
        return frozenset(symbol(operand) for name in new_symbols for operand in causes[name].operands)

    def _loses_information(self, value: Value, facet: Facet, place: InferredNode) -> bool:
        """Whether known dims alone do not explain an output `value` of the node.

        This holds if `facet` has an unknown part, or the shape contains a symbol that the node generated.
        """
        if not isinstance(value, SymbolicTensor):
            return False
        if value.shape is None or (facet is Facet.VALUES and value.values is None):
            return True
        if facet is Facet.VALUES and value.values is not None and any(v is None for v in value.values.flat):
            return True
        causes = self.inference.causes
        return any(n in causes and causes[n].node == place.path for d in value.shape for n in free_symbols(d))


def facet_of(value: Value) -> Facet:
    """The facet of a tensor to explain: the elements if they are known and not floats, else the shape."""
    has_values = isinstance(value, SymbolicTensor) and value.values is not None and not _is_float(value)
    return Facet.VALUES if has_values else Facet.SHAPE


def facet_dims(value: Value, facet: Facet) -> set[Dim]:
    """The dims of a tensor for the facet SHAPE, its known integer elements for VALUES."""
    if not isinstance(value, SymbolicTensor):
        return set()
    if facet is Facet.SHAPE:
        return set(value.shape or ())
    if value.values is None:
        return set()
    return {e for e in value.values.flat if isinstance(e, (int, Expr)) and not isinstance(e, bool)}


def names_in(value: Value) -> set[str]:
    """The names of the symbols in the shape and the elements of a tensor."""
    dims = facet_dims(value, Facet.SHAPE) | facet_dims(value, Facet.VALUES)
    return {name for dim in dims for name in free_symbols(dim)}


def is_constant(place: InferredNode) -> bool:
    return place.node.op_type == "Constant" and place.op.domain == ""


def _is_float(value: SymbolicTensor) -> bool:
    return value.dtype is not None and value.dtype.is_float


def _unknown_facet(value: Value, facet: Facet) -> Facet | None:
    """The unknown facet of an input from which the unknown `facet` of a result may derive; None if there is none.

    value   the type of the input

    Sizes derive from tensors of static length; elements may derive from any vector.
    """
    if not isinstance(value, SymbolicTensor):
        return None
    if value.shape is None or value.dtype is None:
        return Facet.SHAPE
    may_steer = not _is_float(value) and len(value.shape) <= 1 and (value.is_static or facet is Facet.VALUES)
    unknown = value.values is None or any(v is None for v in value.values.flat)
    return Facet.VALUES if may_steer and unknown else None


def _cover(relevant: frozenset[Dim], facts: dict[str, Value], facet: Facet) -> dict[tuple[str, Facet], set[Dim] | None]:
    """A greedy cover of the dims `relevant` by facets of inputs: the chosen facets, each with the dims that it covers.

    facts   the types of the inputs by name
    facet   the facet of the result to explain
    """
    found: dict[tuple[str, Facet], set[Dim] | None] = {}
    sizes: set[Dim] = {d for d in relevant if isinstance(d, int) and (d > 1 or facet is Facet.VALUES)}
    expressions: set[Dim] = {d for d in relevant if isinstance(d, Expr)}
    elements = {(n, Facet.VALUES): facet_dims(v, Facet.VALUES) for n, v in facts.items() if _carries_sizes(v)}
    dims = {(n, Facet.SHAPE): facet_dims(v, Facet.SHAPE) for n, v in facts.items()}

    def take(want: set[Dim], offers: dict[tuple[str, Facet], set[Dim]]) -> set[Dim]:
        """Repeatedly choose the facet in `offers` that covers most of `want`; return the dims that no facet covers."""
        while want:
            best = max(offers, key=lambda key: len(want & offers[key]), default=None)
            if best is None or not (got := want & offers[best]):
                return want
            part = found.setdefault(best, set())
            assert part is not None, "only parts are stored here"
            part |= got
            want = want - got
        return want

    def by_symbol(want: set[Dim], offers: dict[tuple[str, Facet], set[Dim]]) -> set[Dim]:
        """Choose each facet in `offers` with a dim that shares a symbol with a dim in `want`.

        Returns the dims of `want` that share no symbol with these dims.
        """
        names = {name for d in want for name in free_symbols(d)}
        for key, offered in offers.items():
            near = {d for d in offered if not names.isdisjoint(free_symbols(d))}
            if near:
                found[key] = (found.get(key) or set()) | near
                want = {d for d in want if not any(free_symbols(d) & free_symbols(n) for n in near)}
        return want

    # Exact matches come before shared symbols, and expressions before sizes: equal sizes are often a coincidence.
    if facet is Facet.VALUES:
        rest = take(expressions, elements)
        rest = by_symbol(rest, elements)
        by_symbol(take(rest, dims), dims)
        take(sizes, elements)
    else:
        rest = take(take(expressions, elements), dims)
        rest = by_symbol(by_symbol(rest, elements), dims)
        sizes = take(sizes, {key: offered for key, offered in (elements | dims).items() if key in found})
        others = {key: offered for key, offered in dims.items() if (key[0], Facet.VALUES) not in found}
        take(take(sizes, others), elements)
    return found


def _carries_sizes(value: Value) -> bool:
    return isinstance(value, SymbolicTensor) and value.values is not None


# subgraphs and function bodies


def argument(body: InferredGraph, name: str) -> str | None:
    """The name of the operand that the owner of `body` passes for the formal input `name`; None if it passes none."""
    assert body.caller is not None, "the main graph has no caller"
    node, position = body.caller.node, body.inputs.index(name)
    if node.op_type == "Scan" and not body.is_call:
        position += len(node.input) - len(body.inputs)  # Scan-8 has sequence_lens as its first input
    given = node.input[position] if 0 <= position < len(node.input) else ""
    return given or None


def _through_bodies(
    place: InferredNode, slot: int, inner: list[tuple[str, InferredGraph]], source: StepSource
) -> Iterator[StepSource]:
    """Yield the sources of an output of a node with bodies: outputs of the bodies, and the initial values of states.

    slot    position of the output
    inner   the bodies, each with the attribute that holds it; "" for a function body
    source  the output to explain
    """
    node = place.node
    given: list[tuple[int, Facet]] = []
    at = slot
    if inner[0][0] and node.op_type == "Loop":
        at = slot + 1
        states = max(len(inner[0][1].inputs) - 2, 0)
        given = [(slot + 2, source.facet)] if slot < states else [(0, Facet.VALUES)]
    elif inner[0][0] and node.op_type == "Scan":
        body = inner[0][1]
        first = len(node.input) - len(body.inputs)
        scanned = integer_attribute(node, "num_scan_inputs")
        states = len(body.inputs) - scanned
        given = [(first + (slot if slot < states else states), source.facet if slot < states else Facet.SHAPE)]
    for position, facet in given:
        if position < len(node.input) and node.input[position]:
            yield StepSource(place.graph, node.input[position], facet, None)
    for attribute, body in inner:
        if at < len(body.outputs):
            yield StepSource(body, body.outputs[at], source.facet, None if attribute else source.relevant)
