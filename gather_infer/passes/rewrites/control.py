"""If with a known condition, Loop with a known trip count of 0 or 1."""

from __future__ import annotations

from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType, SymbolicTensor

rewrites = RewriteSet()


@rewrites.rewrites("If")
def if_decided(match: Match) -> Rewrite | None:
    """If(true, a, b) == a; If(false, a, b) == b"""
    condition = _known_bool(match, match.graph, match.input(0))
    if condition is None:
        return None
    body = match.body("then_branch" if condition else "else_branch")
    if body is None or len(body.outputs) != len(match.outputs):
        return None
    return match.replace_with_body("If(c, a, b) == a, c is true; == b, c is false", body, body.outputs, {})


@rewrites.rewrites("Loop")
def loop_never(match: Match) -> Rewrite | None:
    """Loop(trips, condition, x, body) == x, where trips <= 0 or the condition is false, and no scan output is read"""
    states = match.inputs[2:]
    if not _runs_never(match) or any(match.is_needed(at) for at in range(len(states), len(match.outputs))):
        return None
    kept = [*states, *[""] * (len(match.outputs) - len(states))]
    return match.replace_with("Loop(trips, c, x, body) == x, trips <= 0 or c is false", *kept[: len(match.outputs)])


@rewrites.rewrites("Loop")
def loop_once(match: Match) -> Rewrite | None:
    """Loop(1, true, x, body) == body(0, true, x), with a new first axis of size 1 in each scan output"""
    body, states = match.body("body"), match.inputs[2:]
    if body is None or len(body.inputs) != 2 + len(states) or len(body.outputs) != 1 + len(match.outputs):
        return None
    if match.input(1) and _known_bool(match, match.graph, match.input(1)) is not True:
        return None
    if not _trip_count_is_one(match) and not (
        _runs_at_least_once(match) and _known_bool(match, body, body.outputs[0]) is False
    ):
        return None
    bound = dict(zip(body.inputs[2:], states, strict=True))
    if any(not state for state in states):
        return None
    for name, dtype, start in ((body.inputs[0], DType.INT64, 0), (body.inputs[1], DType.BOOL, 1)):
        if body.readers.get(name) or name in body.outputs:
            if not is_declared_scalar(match, body, name):
                return None
            bound[name] = match.scalar(start, dtype.value)
    values = [
        name if at < len(states) or not match.is_needed(at) else match.unsqueeze(name, [0])
        for at, name in enumerate(body.outputs[1:])
    ]
    law = "Loop(1, true, x, body) == body(0, true, x), scan outputs with a new axis 0"
    return match.replace_with_body(law, body, values, bound)


def _runs_never(match: Match) -> bool:
    if match.input(0) and (trips := match.elements(0)) and match.at_most(trips[0], 0):
        return True
    return bool(match.input(1)) and _known_bool(match, match.graph, match.input(1)) is False


def _trip_count_is_one(match: Match) -> bool:
    return bool(match.input(0)) and (trips := match.elements(0)) is not None and trips[:1] == (1,)


def _runs_at_least_once(match: Match) -> bool:
    if not match.input(0):
        return True
    trips = match.elements(0)
    return bool(trips) and trips is not None and match.at_most(1, trips[0])


def is_declared_scalar(match: Match, body: Graph, name: str) -> bool:
    """Whether an input of a subgraph is declared as a scalar: runtimes give it the declared rank."""
    for value in body.proto.input:
        tensor = value.type.tensor_type
        if value.name == name:
            return tensor.HasField("shape") and not tensor.shape.dim
    return False


def _known_bool(match: Match, graph: Graph, name: str) -> bool | None:
    """The only element of the bool tensor that `name` refers to in `graph`; None if it is unknown."""
    fact = graph.fact(name)
    if isinstance(fact, SymbolicTensor) and isinstance(fact.only_element, bool):
        return fact.only_element
    constant = match.context.constants.load(graph, name)
    if constant is None or constant.bits.size != 1 or constant.data_type != DType.BOOL.value:
        return None
    return bool(constant.bits.reshape(-1)[0])
