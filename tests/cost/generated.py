"""The peak of a random graph against replays of its runs; runs in a child process, as the runtime may end it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gather_infer import Inference, infer
from gather_infer.symbolic import evaluate, free_symbols
from tests.cost.replay import peak
from tests.oracle.generated_graphs import REFUSALS, Graph, bindings_of, bound_symbols, generate, value_of
from tests.oracle.runtime_faults import faulty_node, may_hide_a_fault
from tests.oracle.soundness import Runtime

CONTROL = {"If", "Loop", "Scan", "SequenceMap"}


def holds(inference: Inference, sizes: Mapping[str, int]) -> bool:
    """Whether all that was assumed is true at these sizes."""
    for assumption in inference.assumptions:
        value = value_of(assumption.dim, sizes)
        if value is None or (assumption.lower is not None and value < assumption.lower):
            return False
        if assumption.upper is not None and value > assumption.upper:
            return False
    return True


def examine(seed: int, runs: int, shrink: bool) -> tuple[Counter[str], Counter[str], list[str]]:
    """Counts, and what is wrong, as `tests.oracle.fuzz` asks for it; nothing is shrunk."""
    counts: Counter[str] = Counter()
    return counts, Counter(), list(_wrong(generate(seed), runs, counts))


def _wrong(graph: Graph, runs: int, counts: Counter[str]) -> Iterator[str]:
    """Holds the peak of a graph against each of its runs, where all of it is told."""
    try:
        runtime = Runtime(graph.runnable)
    except REFUSALS:
        return
    inference = infer(graph.runnable, **graph.options)
    cost = inference.cost()
    called = {function.name for function in graph.runnable.functions}
    has_bodies = any(node.op_type in CONTROL | called for node in graph.runnable.graph.node)
    for number, binding in enumerate(bindings_of(graph, runs)):
        feeds = graph.feeds(binding, number)
        try:
            arrays = {**feeds, **runtime.run(feeds)}
        except REFUSALS:
            continue
        sizes = bound_symbols(inference, arrays, binding)
        is_told = all(free_symbols(moment.live) <= sizes.keys() for moment in cost.program_points)
        if faulty_node(graph.runnable, arrays) or may_hide_a_fault(graph.runnable, arrays):
            continue  # sizes that no run has by the specification
        if not holds(inference, sizes) or not is_told:
            continue
        found = max(evaluate(moment.live, sizes) for moment in cost.program_points)
        where = f"seed {graph.seed} at {binding}"
        at = cost.at(**{name: size for name, size in sizes.items() if name in cost.symbols})
        if at.peak != found:
            yield f"{where}: {at.peak} at these sizes, the formula gives {found}"
        if not cost.is_exact("peak"):
            counts["left out"] += 1
            continue
        replayed = peak(graph.runnable, arrays)
        if found < replayed or (found > replayed and not has_bodies):
            yield f"{where}: {found}, a replay has {replayed}"
        counts["with bodies" if has_bodies else "equal"] += 1
