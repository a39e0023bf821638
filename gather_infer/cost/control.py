"""Control flow in costs: the branches an If may take, the trip count of a loop."""

from __future__ import annotations

from onnx import NodeProto

from gather_infer.cost.graph_instance import Facts, GraphInstance
from gather_infer.cost.loops import LoopIterations, loop_variant_symbols
from gather_infer.cost.work import CostUnknown
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.symbolic import Dim
from gather_infer.tensor import SequenceType, SymbolicTensor, Value


def branches(condition: Value | None) -> tuple[str, ...]:
    """Attribute names of the branches that an If may run: one if `condition` is known, else both."""
    known = condition.only_element if isinstance(condition, SymbolicTensor) else None
    if isinstance(known, bool):
        return ("then_branch",) if known else ("else_branch",)
    return ("then_branch", "else_branch")


def loop_iterations(
    instance: GraphInstance, node: NodeProto, body: GraphPath, path: NodePath, facts: Facts
) -> LoopIterations:
    """The iterations of a Loop, Scan or SequenceMap. Raises CostUnknown if their number is not known."""
    if node.op_type == "SequenceMap":
        sequence = instance.find(node.input[0]) if node.input else None
        if not isinstance(sequence, SequenceType) or sequence.length is None:
            raise CostUnknown("the length of the sequence is not known")
        return _loop_iterations(facts, path, body, sequence.length, None)
    found = facts.iterations.get(body)
    if found is None:
        raise CostUnknown("the trip count is not known")
    trip_count = found.trip_count
    if node.op_type == "Scan" and instance.version("") < 9:
        first = instance.find(node.input[1]) if len(node.input) > 1 else None
        if not isinstance(first, SymbolicTensor) or not first.shape:
            raise CostUnknown("the batch dim is not known")
        trip_count = trip_count * first.shape[0]  # before opset 9 a Scan has a batch axis
    return _loop_iterations(facts, path, body, trip_count, found.counter)


def _loop_iterations(
    facts: Facts, path: NodePath, body: GraphPath, trip_count: Dim, counter: str | None
) -> LoopIterations:
    return LoopIterations(trip_count, counter, loop_variant_symbols(facts.causes, path, body, counter, trip_count))
