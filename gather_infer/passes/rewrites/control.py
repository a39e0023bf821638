"""If with a known condition, Loop with a known trip count of 0 or 1."""

from __future__ import annotations

from gather_infer.passes.draft import Graph
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.site import Site
from gather_infer.passes.table import RewriteSet
from gather_infer.tensor import DType, SymbolicTensor

rewrites = RewriteSet()


@rewrites.rewrites("If")
def if_decided(site: Site) -> Rewrite | None:
    """If(true, a, b) == a; If(false, a, b) == b"""
    condition = _truth(site, site.graph, site.input(0))
    if condition is None:
        return None
    body = site.body("then_branch" if condition else "else_branch")
    if body is None or len(body.outputs) != len(site.outputs):
        return None
    return site.inlined("If(c, a, b) == a, c is true; == b, c is false", body, body.outputs, {})


@rewrites.rewrites("Loop")
def loop_never(site: Site) -> Rewrite | None:
    """Loop(trips, condition, x, body) == x, where trips <= 0 or the condition is false, and no scan output is read"""
    states = site.inputs[2:]
    if not _is_never(site) or any(site.is_needed(at) for at in range(len(states), len(site.outputs))):
        return None
    kept = [*states, *[""] * (len(site.outputs) - len(states))]
    return site.keeps("Loop(trips, c, x, body) == x, trips <= 0 or c is false", *kept[: len(site.outputs)])


@rewrites.rewrites("Loop")
def loop_once(site: Site) -> Rewrite | None:
    """Loop(1, true, x, body) == body(0, true, x), each scan output with an axis of size 1 before it"""
    body, states = site.body("body"), site.inputs[2:]
    if body is None or len(body.inputs) != 2 + len(states) or len(body.outputs) != 1 + len(site.outputs):
        return None
    if site.input(1) and _truth(site, site.graph, site.input(1)) is not True:
        return None
    if not _is_one(site) and not (_is_some(site) and _truth(site, body, body.outputs[0]) is False):
        return None
    bound = dict(zip(body.inputs[2:], states, strict=True))
    if any(not state for state in states):
        return None
    for name, dtype, start in ((body.inputs[0], DType.INT64, 0), (body.inputs[1], DType.BOOL, 1)):
        if body.readers.get(name) or name in body.outputs:
            if not _is_scalar(site, body, name):
                return None
            bound[name] = site.scalar(start, dtype.value)
    values = [
        name if at < len(states) or not site.is_needed(at) else site.unsqueeze(name, [0])
        for at, name in enumerate(body.outputs[1:])
    ]
    law = "Loop(1, true, x, body) == body(0, true, x), scan outputs with a new axis 0"
    return site.inlined(law, body, values, bound)


def _is_never(site: Site) -> bool:
    if site.input(0) and (trips := site.elements(0)) and site.at_most(trips[0], 0):
        return True
    return bool(site.input(1)) and _truth(site, site.graph, site.input(1)) is False


def _is_one(site: Site) -> bool:
    return bool(site.input(0)) and (trips := site.elements(0)) is not None and trips[:1] == (1,)


def _is_some(site: Site) -> bool:
    if not site.input(0):
        return True
    trips = site.elements(0)
    return bool(trips) and trips is not None and site.at_most(1, trips[0])


def _is_scalar(site: Site, body: Graph, name: str) -> bool:
    """Whether an input of a subgraph is declared as a scalar: runtimes give it the declared rank."""
    for value in site.engine.draft.subject.bodies[body.path].input:
        tensor = value.type.tensor_type
        if value.name == name:
            return tensor.HasField("shape") and not tensor.shape.dim
    return False


def _truth(site: Site, graph: Graph, name: str) -> bool | None:
    """The only element of a bool tensor that is visible in a graph; None if it is unknown."""
    fact = graph.fact(name)
    if isinstance(fact, SymbolicTensor) and isinstance(fact.only_element, bool):
        return fact.only_element
    constant = site.engine.constants.load(graph, name)
    if constant is None or constant.bits.size != 1 or constant.data_type != DType.BOOL.value:
        return None
    return bool(constant.bits.reshape(-1)[0])
