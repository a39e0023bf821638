"""Elementwise nodes between two views that are inverse to each other."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.pairs import VIEWS
from gather_infer.passes.site import Site
from gather_infer.passes.table import RewriteSet

rewrites = RewriteSet()

_ELEMENTWISE: Final = (
    "Abs", "Add", "Cast", "Ceil", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Log", "Mish", "Mul", "Neg", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
    "Softplus", "Softsign", "Sqrt", "Sub", "Tanh",
)  # fmt: skip

_MAX_NODES: Final = 24


@rewrites.rewrites(*VIEWS)
def view_around_elementwise(site: Site) -> Rewrite | None:
    """view(f(view(x))) == f(x), f elementwise with numbers, the shape of x is the result's

    Each element keeps its place in memory, so that operators whose rounding depends on the place give the same bits. f
    may be several nodes. All of them have the shape of the inner view, and read no other value than constants of rank
    0.
    """
    found = _region(site)
    if found is None:
        return None
    region, inner = found
    if not site.same_shape(inner.shape(0), site.result().shape):
        return None
    made = {inner.output(): inner.input(0)}
    for node in reversed(region):
        (made[node.output()],) = site.copy(node, [made.get(name, name) for name in node.inputs])
    return site.keeps("view(f(view(x))) == f(x), f is elementwise", made[site.input(0)])


def _region(site: Site) -> tuple[list[Site], Site] | None:
    """The nodes between two views, each before those that it reads, and the inner view."""
    region: dict[str, Site] = {}
    pending, inner = [site.input(0)], None
    while pending:
        name = pending.pop()
        node = site.writer(name, *_ELEMENTWISE)
        if node is None:
            view = site.writer(name, *VIEWS)
            if view is None or (inner is not None and inner.output() != view.output()):
                return None
            inner = view
            continue
        region.pop(name, None)  # a node comes before its inputs, even if it is read several times
        region[name] = node
        if len(region) > _MAX_NODES:
            return None
        pending += [read for read in node.inputs if read and not _is_number(site, read)]
    if inner is None or not region:
        return None
    shape = inner.result().shape
    if not all(site.same_shape(each.result().shape, shape) for each in region.values()):
        return None
    return list(region.values()), inner


def _is_number(site: Site, name: str) -> bool:
    """Whether a value is a constant of rank 0: it adds no axis when it is broadcast."""
    constant = site.constant_of(name)
    return constant is not None and constant.bits.shape == ()
