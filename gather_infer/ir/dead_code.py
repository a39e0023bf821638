"""Dead code elimination: removal of nodes and constants whose values are neither read nor returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from gather_infer.ir.graph import Graph, Node
from gather_infer.ir.model import Model

DEAD_CODE_REASON: Final = "nothing reads it any more"

IsRemovable: TypeAlias = Callable[[Node], bool]
"""Whether a node, with its subgraphs, can be removed once its outputs are dead: it has no side effect."""


def eliminate_dead_code(
    model: Model,
    candidates: Iterable[tuple[Graph, str]],
    is_removable: IsRemovable,
    *,
    on_visit: Callable[[Graph, str], None] | None = None,
    on_removal: Callable[[Node], None] | None = None,
) -> None:
    """Remove the dead candidates, then all code that their removal leaves dead.

    candidates  values by name, each with a graph that can read it
    on_visit    called for each value that is examined, with the graph that defines it
    on_removal  called for each removed node
    """
    pending = list(candidates)
    while pending:
        graph, name = pending.pop()
        home = graph.defining_graph(name)
        if home is None:
            continue
        if on_visit is not None:
            on_visit(home, name)
        if model.is_needed(home, name):
            continue
        found = home.producers.get(name)
        if found is None:
            if model.is_droppable(home, name):
                model.drop(home, name, DEAD_CODE_REASON)
            continue
        node, _ = found
        if is_removable(node) and not any(model.is_needed(home, output) for output in node.outputs if output):
            pending += [(node.graph, read) for read in model.remove(node, DEAD_CODE_REASON)]
            if on_removal is not None:
                on_removal(node)


def eliminate_all_dead_code(
    model: Model,
    is_removable: IsRemovable,
    *,
    on_visit: Callable[[Graph, str], None] | None = None,
    on_removal: Callable[[Node], None] | None = None,
) -> None:
    """Remove all dead nodes and constants of the model; the parameters are those of `eliminate_dead_code`."""
    for node in list(model.nodes)[::-1]:
        name = next(filter(None, node.outputs), "")
        if name and not node.is_removed:
            eliminate_dead_code(model, [(node.graph, name)], is_removable, on_visit=on_visit, on_removal=on_removal)
    for graph in list(model.graphs.values()):
        constants = [(graph, name) for name in (*graph.initializers, *graph.added)]
        eliminate_dead_code(model, constants, is_removable, on_visit=on_visit, on_removal=on_removal)
