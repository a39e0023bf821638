"""Elementwise nodes between two views that are inverse to each other."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.pair_fusion import VIEWS
from gather_infer.passes.rule_table import RewriteSet

rewrites = RewriteSet()

_ELEMENTWISE: Final = (
    "Abs", "Add", "Cast", "Ceil", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Log", "Mish", "Mul", "Neg", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
    "Softplus", "Softsign", "Sqrt", "Sub", "Tanh",
)  # fmt: skip

_MAX_NODES: Final = 24


@rewrites.rewrites(*VIEWS)
def view_around_elementwise(match: Match) -> Rewrite | None:
    """view(f(view(x))) == f(x), where f is elementwise, and the result has the shape of x

    Each element keeps its position in memory, so that operators whose rounding depends on the position give the same
    bits. f may be several nodes. All of them have the shape of the inner view, and read no other values but constants
    of rank 0.
    """
    found = _region(match)
    if found is None:
        return None
    region, inner = found
    if not match.same_shape(inner.shape(0), match.result().shape):
        return None
    made = {inner.output(): inner.input(0)}
    for node in reversed(region):
        (made[node.output()],) = match.copy(node, [made.get(name, name) for name in node.inputs])
    return match.replace_with("view(f(view(x))) == f(x), f is elementwise", made[match.input(0)])


def _region(match: Match) -> tuple[list[Match], Match] | None:
    """The elementwise nodes between the outer view `match` and an inner view, and the inner view.

    A node comes before the nodes that it reads. None if the nodes read anything else, or have another shape.
    """
    region: dict[str, Match] = {}
    pending, inner = [match.input(0)], None
    while pending:
        name = pending.pop()
        node = match.producer_of(name, *_ELEMENTWISE)
        if node is None:
            view = match.producer_of(name, *VIEWS)
            if view is None or (inner is not None and inner.output() != view.output()):
                return None
            inner = view
            continue
        region.pop(name, None)  # a node comes before its inputs, even if it is read several times
        region[name] = node
        if len(region) > _MAX_NODES:
            return None
        pending += [read for read in node.inputs if read and not _is_number(match, read)]
    if inner is None or not region:
        return None
    shape = inner.result().shape
    if not all(match.same_shape(each.result().shape, shape) for each in region.values()):
        return None
    return list(region.values()), inner


def _is_number(match: Match, name: str) -> bool:
    """Whether a value is a constant of rank 0, which adds no axis when it is broadcast."""
    constant = match.constant_of(name)
    return constant is not None and constant.bits.shape == ()
