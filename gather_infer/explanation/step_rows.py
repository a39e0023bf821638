"""The steps of the explanations of all tensors as one table, in which chains share their steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from gather_infer.explanation.chain import Facet
from gather_infer.explanation.search import Search, StepSource, argument, facet_of, is_constant
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs
from gather_infer.inference.result import Inference
from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import Dim

MAX_ROWS: Final = 400_000
"""Maximum number of rows; further sources are left out."""


_Key: TypeAlias = tuple[GraphPath, str, Facet, "frozenset[Dim] | None"]
"""Identity of a row: the tensor by its graph and name, the facet and the relevant dims."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step: what it explains, and the rows of the steps that it derives from.

    graph, name   the tensor
    relevant      the dims or elements that the step explains; None for all
    sources       positions of rows
    is_forwarded  the node only forwards the relevant dims of its single source
    """

    graph: GraphPath
    name: str
    facet: Facet
    relevant: frozenset[Dim] | None
    sources: tuple[int, ...]
    is_forwarded: bool


def step_table(inference: Inference) -> list[StepRow]:
    """The steps that explain every tensor.

    The first rows explain the tensors, in the order of `Inference.tensors`; the chain from such a row through `sources`
    has the steps of `Explainer.tensor(..., every=True)`, without a limit of depth.
    """
    return _Builder(inference).rows()


class _Builder:
    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.bodies = InferredGraphs(inference)
        self.search = Search(inference, self.bodies, depth=0, every=True)
        self.positions: dict[_Key, int] = {}
        self.pending: list[StepSource | None] = []

    def rows(self) -> list[StepRow]:
        for path, values in self.inference.scopes.items():
            body = self.bodies.at(path)
            for name, value in values.items():
                facet = facet_of(value)
                source = None if body is None else StepSource(body, name, facet, None)
                self._add((path, name, facet, None), source)
        found: list[tuple[tuple[int, ...], bool]] = []
        for source in self.pending:  # which grows meanwhile
            found.append(((), False) if source is None else self._row(source))
        return [
            StepRow(*key, sources, is_forwarded)
            for key, (sources, is_forwarded) in zip(self.positions, found, strict=True)
        ]

    def _add(self, key: _Key, source: StepSource | None) -> int | None:
        """The position of a row, a new one if there is none with `key`; None if the table is full."""
        known = self.positions.get(key)
        if known is None and len(self.positions) < MAX_ROWS:
            known = self.positions[key] = len(self.pending)
            self.pending.append(source)
        return known

    def _row(self, step: StepSource) -> tuple[tuple[int, ...], bool]:
        """The rows of the sources of a step, and whether its node only forwards the relevant dims."""
        sources = list(self._sources(step))
        positions = []
        for source in sources:
            home = source.body.defining_graph(source.name) or source.body
            position = self._add((home.path, source.name, source.facet, source.relevant), source)
            if position is not None:
                positions.append(position)
        is_forwarded = (
            step.facet is Facet.SHAPE
            and bool(step.relevant)
            and len(sources) == len(positions) == 1
            and _forwards(step.relevant, sources[0])
        )
        return tuple(positions), is_forwarded

    def _sources(self, step: StepSource) -> Iterator[StepSource]:
        """Yield the sources of a step, without the constants, which the inputs of the node show."""
        home = step.body.defining_graph(step.name) or step.body
        producer = home.producer(step.name)
        if producer is None:
            yield from _argument_source(home, step)
        elif not is_constant(producer[0]):
            yield from (source for source in self.search.sources(*producer, step) if not _is_constant_source(source))


def _forwards(relevant: frozenset[Dim] | None, source: StepSource) -> bool:
    return source.facet is Facet.SHAPE and source.relevant is not None and (relevant or set()) <= source.relevant


def _argument_source(home: InferredGraph, source: StepSource) -> Iterator[StepSource]:
    """Yield the tensor outside that a formal input of a body is given."""
    if home.caller is None or source.name not in home.inputs:
        return
    given = argument(home, source.name)
    if given is not None:
        yield StepSource(home.caller.graph, given, source.facet, source.relevant if home.is_call else None)


def _is_constant_source(source: StepSource) -> bool:
    home = source.body.defining_graph(source.name)
    if home is None:
        return False
    producer = home.producer(source.name)
    if producer is not None:
        return is_constant(producer[0])
    is_input = source.name in home.inputs
    return not is_input and source.name in home.values
