"""The part of a graph that its outputs need: a backward reachability analysis, and the removal of the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from onnx import GraphProto

from gather_infer.ir import Graph, Node
from gather_infer.ir.model import Model
from gather_infer.model.edits import RemoveAnnotation, RemoveFunction
from gather_infer.node_ids import Root


@dataclass(slots=True)
class NeededPart:
    """The part of the main graph from which values are computed.

    nodes    nodes of the main graph
    values   every value that is read or returned
    reached  the values at which the search was to stop and did, in the order of the search
    inputs   inputs without a default that are needed, each with a node that reads it; None for an output
    undefined   names that the graph does not define
    """

    nodes: set[Node] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    reached: dict[str, None] = field(default_factory=dict)
    inputs: dict[str, Node | None] = field(default_factory=dict)
    undefined: dict[str, Node | None] = field(default_factory=dict)


def needed_part(model: Model, outputs: Iterable[str], stops: Collection[str] = ()) -> NeededPart:
    """The nodes and values that `outputs` of the main graph are computed from.

    stops   values that are given, so that what computes them is not needed
    """
    main, found = model.main, NeededPart()
    pending: list[tuple[str, Node | None]] = []
    pending += ((name, None) for name in reversed([*outputs]))
    while pending:
        name, reader = pending.pop()
        if name in found.values:
            continue
        found.values.add(name)
        if name in stops:
            found.reached[name] = None
            continue
        producer = main.producers.get(name)
        if producer is not None:
            node, _ = producer
            if node not in found.nodes:
                found.nodes.add(node)
                pending += [(read, node) for read in dict.fromkeys(reads_of(node))][::-1]
        elif is_constant(main, name):
            continue
        elif name in main.input_set:
            found.inputs[name] = reader
        else:
            found.undefined[name] = reader
    annotated = _annotation_values(main, found)
    found.values |= annotated
    return found


def reads_of(node: Node) -> Iterator[str]:
    """The names that a node of the main graph and its subgraphs read from the main graph."""
    yield from filter(None, node.inputs)
    for body in node.bodies:
        yield from body.captures()


def is_constant(graph: Graph, name: str) -> bool:
    """Whether a value has an initializer, which may be the default of an input."""
    return name in graph.initializers or name in graph.sparse


def training_reads(model: Model) -> set[str]:
    """The names of the main graph that training graphs read or update."""
    found = {
        name
        for path, graph in model.graphs.items()
        if path.root in (Root.INITIALIZATION, Root.ALGORITHM) and not path.steps
        for name in graph.captures()
    }
    for info in model.proto.training_info:
        found |= {entry.key for entry in (*info.initialization_binding, *info.update_binding)}
    return {name for name in found if model.main.defines(name)}


def remove_unneeded(model: Model, part: NeededPart, why: str) -> None:
    """Remove the nodes and initializers of the main graph that are not in `part`; inputs stay."""
    main = model.main
    for node in list(main.nodes)[::-1]:
        if node not in part.nodes:
            model.remove(node, why)
    for name in (*main.initializers, *main.sparse):
        if name not in part.values and not (name in main.input_set and model.proto.ir_version >= 4):
            model.drop(main, name, why)


def undefined_annotations(model: Model, by: str, why: str) -> Iterator[RemoveAnnotation]:
    """The removal of each quantization annotation of a value that the main graph lost; `model` has its edits."""
    main = model.main
    assert isinstance(main.proto, GraphProto), "the main graph is no function"
    for annotation in main.proto.quantization_annotation:
        name = annotation.tensor_name
        is_lost = name in main.dropped or name in main.removed_inputs or not main.defines(name)
        if is_lost and name not in main.input_set:
            yield RemoveAnnotation(by=by, reason=why, name=name)


def uncalled_functions(model: Model, by: str, why: str) -> Iterator[RemoveFunction]:
    """The removal of each function that the main graph and training graphs call no more; `model` has its edits."""
    called: set[Graph] = set()
    pending = [graph for path, graph in model.graphs.items() if path.root is not Root.FUNCTION]
    while pending:
        for node in pending.pop().nodes:
            function = model.called_function(node)
            if function is not None and function not in called:
                called.add(function)
                pending.append(function)
                pending += _below(function)
    for graph in list(model.functions.values()):
        if graph not in called:
            yield RemoveFunction(by=by, reason=why, function=graph.path.position)


def _below(graph: Graph) -> Iterator[Graph]:
    """The subgraphs of a graph, at any depth."""
    pending = [body for node in graph.nodes for body in node.bodies]
    while pending:
        body = pending.pop()
        yield body
        pending += [inner for node in body.nodes for inner in node.bodies]


def _annotation_values(main: Graph, part: NeededPart) -> set[str]:
    """The scales and zero points that quantization annotations of needed values name."""
    assert isinstance(main.proto, GraphProto), "the main graph is no function"
    return {
        entry.value
        for annotation in main.proto.quantization_annotation
        if annotation.tensor_name in part.values
        for entry in annotation.quant_parameter_tensor_names
    }
