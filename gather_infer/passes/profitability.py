"""Profitability: the nodes, bytes and constants that a rewrite adds and removes, counted before it is applied."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from gather_infer.ir.constant import Constant
from gather_infer.passes.constants import SMALL
from gather_infer.passes.mutable_model import Graph, MutableModel, Node
from gather_infer.passes.rewrite import Rewrite, RewriteCost
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor, Value, element_bytes


def cost_of(
    model: MutableModel,
    graph: Graph,
    rewrite: Rewrite,
    facts: Mapping[str, Value],
    dead: Sequence[Node],
    constants: Iterable[tuple[Graph, str]],
    dependencies: list[Hashable],
) -> RewriteCost:
    """The nodes and bytes that a rewrite adds to `graph`, minus those that it makes dead.

    facts             new value -> the facts about it
    dead, constants   the results of `dead_after`
    dependencies      receives the names of the values on which the result depends
    """
    for erased in dead:
        dependencies += [*erased.inputs, *erased.outputs]
    for proto in rewrite.nodes:
        dependencies += proto.input
    nodes = sum(p.op_type != "Constant" or bool(p.domain) for p in rewrite.nodes)
    grown = sum(constant.nbytes for constant in rewrite.constants.values())
    for home, name in constants:
        grown -= constant_bytes(home, name)
    for erased in dead:
        if erased.is_constant:
            grown -= constant_bytes(erased.graph, erased.outputs[0])
        else:
            nodes -= 1
    run = _run_bytes(model, graph, rewrite, dead, facts) if rewrite.nodes else 0
    return RewriteCost(nodes, run, grown)


def replaced_nodes(node: Node, rewrite: Rewrite) -> list[Node]:
    """The nodes whose outputs the rewrite replaces: `node`, then the producers of its siblings."""
    return [node, *dict.fromkeys(node.graph.producers[name][0] for name in sorted(rewrite.siblings))]


def constant_bytes(graph: Graph, name: str) -> int:
    """The bytes of a constant that the graph defines; 0 if they are unknown."""
    payload = graph.constants.get(name)
    if isinstance(payload, Constant):
        return payload.nbytes
    fact = graph.fact(name)
    size = _bytes(fact) if isinstance(fact, SymbolicTensor) else None
    return size if isinstance(size, int) else 0


def count_nodes(nodes: Iterable[Node]) -> int:
    """The number of nodes, including those of subgraphs and excluding Constants."""
    count = 0
    pending = list(nodes)
    while pending:
        node = pending.pop()
        count += not node.is_constant
        pending += [inner for body in node.bodies for inner in body.nodes]
    return count


def dead_after(model: MutableModel, node: Node, rewrite: Rewrite) -> tuple[list[Node], list[tuple[Graph, str]]]:
    """The nodes and constants, as (graph, name), that the rewrite makes dead, found without applying it."""
    replaced = replaced_nodes(node, rewrite)
    if any(
        model.is_needed(node.graph, name) and name not in rewrite.values
        for erased in replaced
        for name in erased.outputs
        if name
    ):
        return [], []
    kept = {name for proto in rewrite.nodes for name in proto.input} | set(rewrite.values.values())
    nodes: dict[Node, None] = dict.fromkeys(replaced)
    constants: dict[tuple[Graph, str], None] = {}

    def is_unread(home: Graph, name: str) -> bool:
        return not (
            name in kept or home.is_fixed(name) or any(reader not in nodes for reader in home.readers.get(name, ()))
        )

    pending = list(replaced)
    while pending:
        erased = pending.pop()
        for name in filter(None, dict.fromkeys(erased.inputs)):
            home = erased.graph.defining_graph(name)
            if home is None or not is_unread(home, name):
                continue
            found = home.producers.get(name)
            if found is None:
                if model.is_droppable(home, name):
                    constants[home, name] = None  # counted once, even if several dead nodes read it
            elif (
                found[0] not in nodes
                and model.is_removable(found[0])
                and all(is_unread(home, output) for output in found[0].outputs if output)
            ):
                nodes[found[0]] = None
                pending.append(found[0])
    return list(nodes), list(constants)


def _run_bytes(
    model: MutableModel, graph: Graph, rewrite: Rewrite, dead: Sequence[Node], facts: Mapping[str, Value]
) -> Dim | None:
    """The bytes that the new nodes read and write in a run, minus those of the dead nodes; None if unknown."""
    counts: dict[str, int] = {}  # value -> additional reads and writes
    reads_only_dims = model.pass_input.reads_only_dims  # Shape and Size read no elements
    for proto in rewrite.nodes:
        for name in (*(() if reads_only_dims(proto) else proto.input), *proto.output):
            counts[name] = counts.get(name, 0) + 1
    renamed = {old: new for old, new in rewrite.values.items() if new in facts}
    for erased in dead:
        for name in (*(() if reads_only_dims(erased.proto) else erased.inputs), *erased.outputs):
            name = renamed.get(name, name)
            counts[name] = counts.get(name, 0) - 1
    total: Dim = 0
    for name, count in counts.items():
        if count == 0 or not name:
            continue
        fact = facts[name] if name in facts else graph.fact(name)
        if not isinstance(fact, SymbolicTensor):
            return None
        is_constant = name in rewrite.constants or graph.constant_payload(name) is not None
        if is_constant and _is_small(fact):
            continue
        size = _bytes(fact)
        if size is None:
            return None
        total = total + size * count
    return total


def _bytes(fact: SymbolicTensor) -> Dim | None:
    """The bytes of a tensor, a byte for each string; None if unknown."""
    if fact.shape is None or fact.dtype is None:
        return None
    total: Dim = element_bytes(fact.dtype)
    for dim in fact.shape:
        total = total * dim
    return total


def _is_small(fact: SymbolicTensor) -> bool:
    count = 1
    for dim in fact.shape or ():
        count *= dim if isinstance(dim, int) else SMALL + 1
    return fact.shape is not None and count <= SMALL
