"""The facts that a rewrite may rely on: declared ones, and those that remaining nodes imply.

By the specification a node fails in some runs, so the facts assume that none of these runs happens. Some runtimes let
such a run pass: GatherND reads no index if its rows have no elements. If a node were replaced by one that is right only
in runs where the first does not fail, the rewrite would justify itself: the run would fail, or give another result. So
a fact that a node implies does not justify the removal of that node. Nor do two nodes justify the removal of each
other. A Reshape is an exception: no runtime returns a result if the target does not fit the elements, or has a 0 next
to the -1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from gather_infer.inference import Inference
from gather_infer.node_ids import NodeId
from gather_infer.symbolic import Dim, Expr, Scope

Fact: TypeAlias = "Expr | tuple[Dim, Dim]"
"""A dim that is >= 0, or two dims that are equal."""

Equalities: TypeAlias = Iterable[tuple[Dim, Dim]]


class FactSupport:
    """The inferred facts, and the nodes that imply each of them.

    add_equalities  adds equalities of dims to a scope
    is_certain      whether a node fails in every runtime if the fact that it implies does not hold
    """

    def __init__(
        self,
        inference: Inference,
        add_equalities: Callable[[Scope, Equalities], object],
        is_certain: Callable[[NodeId], bool],
    ) -> None:
        self._declared = inference.declared
        self._efforts = inference.known.fuels
        self._add_equalities = add_equalities
        self._implied: Mapping[Expr, frozenset[NodeId | None]] = inference.implied_facts
        self._equated = inference.equated
        self._support_counts: dict[Fact, int] = {}
        self._facts_of: dict[NodeId, list[Fact]] = {}
        owned: Iterator[tuple[Fact, frozenset[NodeId | None]]] = chain(self._implied.items(), self._equated.items())
        for fact, sources in owned:
            # A fact without a source is declared; it never becomes unsupported, like those of a certain node.
            if not any(source is None or is_certain(source) for source in sources):
                self._add(fact, sources)
        self._unsupported: set[Fact] = set()
        self._scopes: dict[frozenset[Fact], Scope] = {}

    def _add(self, fact: Fact, sources: Collection[NodeId | None]) -> None:
        self._support_counts[fact] = len(sources)
        for source in sources:
            if source is not None:
                self._facts_of.setdefault(source, []).append(fact)

    def remove(self, removed: Iterable[NodeId]) -> None:
        """Note that nodes of the file have been removed."""
        for source in removed:
            for fact in self._facts_of.get(source, ()):
                self._support_counts[fact] -= 1
                if not self._support_counts[fact]:
                    self._unsupported.add(fact)

    @property
    def unsupported(self) -> frozenset[Fact]:
        """The facts that no remaining node implies."""
        return frozenset(self._unsupported)

    def unsupported_after(self, removed: Iterable[NodeId]) -> frozenset[Fact]:
        """The facts that no node would imply after the removal of the nodes in `removed`."""
        counts: dict[Fact, int] = {}
        for source in removed:
            for fact in self._facts_of.get(source, ()):
                counts[fact] = counts.get(fact, 0) + 1
        return frozenset(
            self._unsupported | {fact for fact, count in counts.items() if count == self._support_counts[fact]}
        )

    def scope_without(self, lost: frozenset[Fact]) -> Scope:
        """The facts about dims, except those in `lost`."""
        found = self._scopes.get(lost)
        if found is None:
            found = self._declared.child()
            found.fuels = self._efforts
            for fact in self._implied:
                if fact not in lost:
                    found.add_fact(fact)
            self._add_equalities(found, [fact for fact in self._equated if fact not in lost])
            self._scopes[lost] = found
        return found
