"""The static verdict: whether the rows of an inferred model are independent, and the path to a node that mixes them."""

from __future__ import annotations

from collections.abc import Mapping

from gather_infer.inference import Inference
from gather_infer.inference.inferred_graphs import InferredGraph, InferredNode
from gather_infer.model.tensors import fed_inputs
from gather_infer.node_ids import MAIN, NodePath
from gather_infer.provenance.analysis import RowAnalysis
from gather_infer.provenance.result import Independence, IndependenceVerdict, OutputIndependence
from gather_infer.provenance.states import ComponentsFirst, Kind, Lost, Rows, State, listing_of
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import SymbolicTensor


def default_axes(inference: Inference) -> dict[str, int]:
    """The axes of the inputs whose size is the first symbol at an axis 0; none if there is no such symbol."""
    shapes = {name: fact.shape for name, fact in fed_tensors(inference).items() if fact.shape}
    sizes = (shape[0] for shape in shapes.values())
    size = next((dim for dim in sizes if isinstance(dim, Expr) and dim.is_symbol), None)
    if size is None:
        return {}
    return {name: shape.index(size) for name, shape in shapes.items() if size in shape}


def independence_of(inference: Inference, axes: Mapping[str, int]) -> Independence:
    """The independence of rows at axes of an inferred model, which have one size."""
    first = next(iter(axes))
    shape = inference.shape(first)
    rows: Dim = shape[axes[first]]
    analysis = RowAnalysis(inference, axes, rows)
    outputs = tuple(
        _verdict(analysis, name, state) for name, state in zip(inference.outputs, analysis.outputs, strict=True)
    )
    texts = tuple(f"{name}.{axis}" for name, axis in axes.items())
    return Independence(rows, texts, outputs, inference.assumptions)


def fed_tensors(inference: Inference) -> dict[str, SymbolicTensor]:
    """The inputs that a caller feeds, in order."""
    facts = {value.name: inference.get(value.name) for value in fed_inputs(inference.model.proto)}
    return {name: fact for name, fact in facts.items() if isinstance(fact, SymbolicTensor)}


def _verdict(analysis: RowAnalysis, name: str, state: State) -> OutputIndependence:
    """The verdict for an output with a state."""
    main = analysis.graphs.main
    state = _without_listing(analysis, name, state)
    if isinstance(state, Rows):
        if state.counted is not None:
            return _mixed(name, state.counted, "gives it the number of rows", combines=True)
        if state.has_numbers and (producer := main.producer(name)) is not None:
            return _mixed(name, producer[0].path, "gives each row its number", combines=False)
        if state.constant or state.digit is None:
            return OutputIndependence(name, IndependenceVerdict.PROVED)
        return OutputIndependence(name, IndependenceVerdict.PROVED, state.digit.axis, state.digit.inner)
    where = "" if state.node is None else f"{state.node} ({state.op_type}): "
    path = tuple(path_of(analysis, main, name, state))
    return OutputIndependence(
        name,
        IndependenceVerdict.OPEN,
        mixes=state.mixes,
        combines=state.kind in (Kind.ROWS, Kind.COUNT),
        reason=f"{where}{state.reason}",
        path=path,
        node=state.node,
    )


def _without_listing(analysis: RowAnalysis, name: str, state: State) -> Rows | Lost:
    """The state of an output, which needs an axis of the rows, and sizes that depend on no row."""
    listing = listing_of(state)
    if listing is not None:
        return Lost(Kind.UNKNOWN, listing.node, "NonZero", "it lists positions of all rows along one axis")
    if isinstance(state, ComponentsFirst):
        return state.lost
    fact = analysis.inference.scopes[MAIN].get(name)  # None for an output that no node makes
    shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
    if isinstance(state, Rows) and not all(map(analysis.batch.is_fixed, shape)):
        return Lost(Kind.UNKNOWN, None, "", "its size depends on elements")
    return state


def _mixed(name: str, node: NodePath, action: str, *, combines: bool) -> OutputIndependence:
    """The verdict for an output that has the number of its rows, or of all rows."""
    return OutputIndependence(
        name,
        IndependenceVerdict.OPEN,
        mixes=True,
        combines=combines,
        reason=f"{node} {action}",
        path=(str(node),),
        node=node,
    )


def _begins(found: State, state: Lost) -> bool:
    """Whether the state of an input is that of an output, or lists the positions that make it so."""
    listing = listing_of(found)
    return found == state or (listing is not None and listing.node == state.node)


def path_of(analysis: RowAnalysis, graph: InferredGraph, name: str, state: Lost) -> list[str]:
    """The labels of the nodes from the one where a state begins to the one that makes a tensor."""
    found: list[str] = []
    seen = set[str]()
    while (producer := graph.producer(name)) is not None and name not in seen:
        seen.add(name)
        place: InferredNode = producer[0]
        found.append(str(place.path))
        if place.path == state.node:
            break
        following = (read for read in place.definition.inputs if read and _begins(analysis.state(graph, read), state))
        name = next(following, "")
        if not name:
            break
    if state.node is not None and (not found or found[-1] != str(state.node)):
        found.append(str(state.node))
    return found[::-1]
