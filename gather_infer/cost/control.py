"""Control flow in costs: the branches an If may take, the trip count of a loop."""

from __future__ import annotations

from onnx import NodeProto

from gather_infer.cost.iterated import Rounds, local_symbols
from gather_infer.cost.place import Facts, Place
from gather_infer.cost.work import Untold
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.symbolic import Dim
from gather_infer.tensor import SequenceType, SymbolicTensor, Value


def branches(condition: Value | None) -> tuple[str, ...]:
    """Attribute names of the branches that an If may run: one when the condition is known."""
    known = condition.only_element if isinstance(condition, SymbolicTensor) else None
    if isinstance(known, bool):
        return ("then_branch",) if known else ("else_branch",)
    return ("then_branch", "else_branch")


def rounds(place: Place, node: NodeProto, body: GraphPath, path: NodePath, facts: Facts) -> Rounds:
    """The iterations of a Loop, Scan or SequenceMap. Raises CostUnknown."""
    if node.op_type == "SequenceMap":
        given = place.find(node.input[0]) if node.input else None
        if not isinstance(given, SequenceType) or given.length is None:
            raise Untold("the length of the sequence is not known")
        return _rounds(facts, path, body, given.length, None)
    found = facts.iterations.get(body)
    if found is None:
        raise Untold("the trip count is not known")
    trips = found.trip_count
    if node.op_type == "Scan" and place.version("") < 9:
        first = place.find(node.input[1]) if len(node.input) > 1 else None
        if not isinstance(first, SymbolicTensor) or not first.shape:
            raise Untold("the batch dim is not known")
        trips = trips * first.shape[0]  # before opset 9 a Scan has a batch axis
    return _rounds(facts, path, body, trips, found.counter)


def _rounds(facts: Facts, path: NodePath, body: GraphPath, trips: Dim, counter: str | None) -> Rounds:
    return Rounds(trips, counter, local_symbols(facts.causes, path, body, counter, trips))
