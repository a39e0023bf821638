"""Search for bounds of symbols that make an unknown fact known; another inference confirms each candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from gather_infer.explanation.search import names_in
from gather_infer.inference.result import Inference
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.symbolic import Expr, Interval, Scope, free_symbols, known_eq, known_le
from gather_infer.tensor import Ratio, SymbolicTensor

MAX_RUNS: Final = 16
"""Maximum number of inferences for one explanation."""

AT_LEAST_1: Final = Interval(1, None)
AT_LEAST_2: Final = Interval(2, None)
SIZES: Final = (Interval(4, 4), Interval(1, 1))
"""Sizes to try for a suggestion that fixes a size: one that most models accept, and one for dims that must be 1."""

Bounds = Mapping[str, Interval]
"""Bounds of symbols by name."""


class WhatIf:
    """Infers again with additional bounds, within a budget.

    infer_with_bounds   returns the run with bounds added to the caller's constraints; None if the two contradict
    """

    def __init__(self, inference: Inference, infer_with_bounds: Callable[[Bounds], Inference | None]) -> None:
        self.inference = inference
        self.infer_with_bounds = infer_with_bounds
        self.runs_left = MAX_RUNS
        names = {name for given in inference.inputs for name in names_in(inference[given])} - inference.causes.keys()
        self.symbols = {name for name in names if name == name.strip() and "=" not in name}  # that `--dim` accepts
        self._fixed_sizes = dict(_fixed_sizes(inference))
        self._runs: dict[tuple[tuple[str, Interval], ...], Inference | None] = {}

    def suggestion(self, near: Iterable[str], is_known: Callable[[Inference], bool]) -> str:
        """The options that make an unknown known, `--dim batch=1.. --dim one=1`; empty if the search finds none.

        The search prefers few symbols, bounds over sizes, and low bounds. A symbol that the constraints of the model
        fix to a size gets this size.

        near       names of candidate symbols, the nearest first
        is_known   returns whether the unknown is known in a run
        """
        found = self._bounds(near, is_known)
        texts = {
            name: "SIZE" if b.is_point and name not in self._fixed_sizes else f"{b.lo}.." for name, b in found.items()
        }
        texts |= {name: str(b.lo) for name, b in found.items() if name in self._fixed_sizes}
        return " ".join(f"--dim {name}={text}" for name, text in texts.items())

    def _bounds(self, near: Iterable[str], is_known: Callable[[Inference], bool]) -> dict[str, Interval]:
        names = list(dict.fromkeys(name for name in near if name in self.symbols))
        # Start with all symbols at once: bounds of 2, then the sizes; a failure of all three ends the search.
        all_at = (
            [{name: self._fixed_sizes.get(name, b) for name in names} for b in (AT_LEAST_2, *SIZES)] if names else []
        )
        kept = next((bounds for bounds in all_at if self.holds(bounds, is_known)), {})
        lower = {name: self._fixed_sizes.get(name, AT_LEAST_1) for name in names}
        if AT_LEAST_2 in kept.values() and self.holds(lower, is_known):
            kept = lower
        # Shrink the set: first the nearest 1, 2, 4, ... symbols, then without one symbol at a time.
        few = 1
        while few < len(kept):
            nearest = dict(islice(kept.items(), few))
            if self.holds(nearest, is_known):
                kept = nearest
                break
            few *= 2
        for name in reversed(list(kept)):
            fewer = {n: bounds for n, bounds in kept.items() if n != name}
            if fewer and self.holds(fewer, is_known):
                kept = fewer
        # Relax each bound of 2 to 1 where that is enough.
        for name in [n for n, bounds in kept.items() if bounds == AT_LEAST_2]:
            if len(kept) > 1 and self.holds({**kept, name: AT_LEAST_1}, is_known):
                kept[name] = AT_LEAST_1
        return kept

    def holds(self, bounds: Bounds, is_known: Callable[[Inference], bool]) -> bool:
        """Whether `is_known` holds in a run with `bounds`.

        False if the budget is used up, the bounds contradict the constraints, or the run has more failures than
        `inference`.
        """
        run = self._run(bounds)
        return run is not None and is_known(run)

    def _run(self, bounds: Bounds) -> Inference | None:
        key = tuple(sorted(bounds.items(), key=lambda item: item[0]))
        if key not in self._runs:
            if self.runs_left == 0 or not self._is_legal(bounds):
                return None
            self.runs_left -= 1
            run = self.infer_with_bounds(bounds)
            if run is not None and _errors(run) > _errors(self.inference):
                run = None
            self._runs[key] = run
        return self._runs[key]

    def _is_legal(self, bounds: Bounds) -> bool:
        """False if `bounds` contradict a constraint: facts about runs that always fail are worthless."""
        scope = Scope()
        for name, interval in bounds.items():
            scope.declare(name, interval)
        for c in self.inference.constraints:
            ask = known_eq if c.relation == "==" else known_le
            if ask(c.left, c.right, scope) is False:
                return False
        return True


def _errors(run: Inference) -> int:
    """The number of failures that the inference found; verdicts of bounds checks do not count."""
    return sum(finding.is_failure for finding in run.diagnostics)


def _fixed_sizes(inference: Inference) -> Iterator[tuple[str, Interval]]:
    """Yield each symbol that a constraint equates with a constant, and this size."""
    for c in inference.constraints:
        for dim, size in ((c.left, c.right), (c.right, c.left)):
            if c.relation == "==" and isinstance(dim, Expr) and dim.is_symbol and isinstance(size, int):
                yield dim.name, Interval(size, size)


def is_ranked(path: GraphPath, name: str) -> Callable[[Inference], bool]:
    """A predicate on runs: whether the element type and the rank of tensor `name` in graph `path` are known."""

    def ask(run: Inference) -> bool:
        value = run.scopes.get(path, {}).get(name)
        return isinstance(value, SymbolicTensor) and value.shape is not None and value.dtype is not None

    return ask


def is_less_unknown(path: GraphPath, name: str, inference: Inference, symbol: str) -> Callable[[Inference], bool]:
    """A predicate on runs: whether the dims and elements with `symbol` have fewer unknown symbols than in `inference`.

    They are the dims and elements of tensor `name` in graph `path`. Another run may name symbols differently, so the
    predicate counts the symbols that the node of `symbol` generates. In a sum of two generated symbols, `symbol` must
    become known, not only the other one.
    """
    node = inference.causes[symbol].node
    before = [
        (i, len(names), _count_of_node(names, node, inference))
        for i, names in enumerate(_unknowns(inference, path, name))
        if symbol in names
    ]

    def ask(run: Inference) -> bool:
        now = _unknowns(run, path, name)
        return all(
            i < len(now) and len(now[i]) < number and _count_of_node(now[i], node, run) < alike
            for i, number, alike in before
        )

    return ask


def _count_of_node(names: Iterable[str], node: NodePath, run: Inference) -> int:
    """The number of the symbols `names` that `run` generated at `node`."""
    return sum(name in run.causes and run.causes[name].node == node for name in names)


def _unknowns(inference: Inference, path: GraphPath, name: str) -> list[frozenset[str]]:
    """The generated symbols in each dim and then in each element of a tensor, {"?"} for an unknown element.

    Empty if the tensor's rank is unknown.
    """
    value = inference.scopes.get(path, {}).get(name)
    if not isinstance(value, SymbolicTensor) or value.shape is None:
        return []
    found = []
    for item in (*value.shape, *(() if value.values is None else value.values.flat)):
        dim = item.num if isinstance(item, Ratio) else item
        names = free_symbols(dim) & inference.causes.keys() if isinstance(dim, Expr) else ()
        found.append(frozenset(["?"] if dim is None else names))
    return found
