"""What a rewrite may rest on: what is declared, and what nodes imply that stay.

A node fails in some runs by the specification, and the facts say that no run is one of these. Yet some runtimes let it
pass: GatherND of rows without elements reads no index. Were it replaced by a node that is right only where it does not
fail, the rewrite would justify itself, and such a run would fail, or give something else. So what a node implies is no
reason to take it out; nor do two nodes justify each other, one gone after the other. A Reshape alone is believed:
where the target does not fit the elements, or a 0 stands beside the -1, no runtime makes a result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from gather_infer.inference import Inference
from gather_infer.places import Source
from gather_infer.symbolic import Dim, Expr, Scope

Fact: TypeAlias = "Expr | tuple[Dim, Dim]"
"""A dim that is >= 0, or two that are equal."""

Equalities: TypeAlias = Iterable[tuple[Dim, Dim]]


class Grounds:
    """The facts of a run, and the nodes that imply each of them.

    learn       has a scope know that dims are equal
    is_certain  whether a node fails in every runtime where what it implies does not hold
    """

    def __init__(
        self,
        inference: Inference,
        learn: Callable[[Scope, Equalities], object],
        is_certain: Callable[[Source], bool],
    ) -> None:
        self._declared = inference.declared
        self._efforts = inference.known.efforts
        self._learn = learn
        self._implied: Mapping[Expr, frozenset[Source | None]] = inference.implied
        self._equated = inference.equated
        self._left: dict[Fact, int] = {}
        self._of: dict[Source, list[Fact]] = {}
        owned: Iterator[tuple[Fact, frozenset[Source | None]]] = chain(self._implied.items(), self._equated.items())
        for fact, sources in owned:
            if not any(source is None or is_certain(source) for source in sources):
                self._enter(fact, sources)
        self._lost: set[Fact] = set()
        self._scopes: dict[frozenset[Fact], Scope] = {}

    def _enter(self, fact: Fact, sources: Collection[Source | None]) -> None:
        self._left[fact] = len(sources)
        for source in sources:
            if source is not None:
                self._of.setdefault(source, []).append(fact)

    def remove(self, gone: Iterable[Source]) -> None:
        """Nodes of the file have been taken out."""
        for source in gone:
            for fact in self._of.get(source, ()):
                self._left[fact] -= 1
                if not self._left[fact]:
                    self._lost.add(fact)

    @property
    def lost(self) -> frozenset[Fact]:
        """The facts that no node implies which is still there."""
        return frozenset(self._lost)

    def lost_with(self, dying: Iterable[Source]) -> frozenset[Fact]:
        """The facts that no node would imply any more."""
        counts: dict[Fact, int] = {}
        for source in dying:
            for fact in self._of.get(source, ()):
                counts[fact] = counts.get(fact, 0) + 1
        return frozenset(self._lost | {fact for fact, count in counts.items() if count == self._left[fact]})

    def without(self, lost: frozenset[Fact]) -> Scope:
        """What is known without these facts."""
        found = self._scopes.get(lost)
        if found is None:
            found = self._declared.child()
            found.efforts = self._efforts
            for fact in self._implied:
                if fact not in lost:
                    found.require(fact)
            self._learn(found, [fact for fact in self._equated if fact not in lost])
            self._scopes[lost] = found
        return found
