"""Canonicalize shape computations: sizes become constants, or are computed once at the lowest cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.passes.dims.plan import planned
from gather_infer.passes.rewrite import Arrangement, Rewrite
from gather_infer.passes.rewrites.targets import SIZES, choices, constant_choice, reshape_choices
from gather_infer.passes.site import Site
from gather_infer.passes.table import RewriteSet
from gather_infer.tensor import DType

if TYPE_CHECKING:
    from gather_infer.passes.draft import Graph
    from gather_infer.passes.view import Surroundings

rewrites = RewriteSet()


@rewrites.rewrites("Reshape", since=5)
def reshape_to_constant(site: Site) -> Rewrite | None:
    """Reshape(x, t) == Reshape(x, [.., 0, .., -1, ..])    0 where x has that dim, -1 where all others are >= 1"""
    if site.is_constant(1) or site.has_reference:
        return None
    target = constant_choice(reshape_choices(site, allowzero=False))
    if target is not None:
        return site.keeps(f"its target can be {target}", site.reshape(site.input(0), target))
    shape = site.result().shape
    if site.version >= 14 and shape is not None:
        numbers = [dim for dim in shape if isinstance(dim, int)]
        if len(numbers) == len(shape):
            made = site.new("Reshape", [site.input(0), site.vector(numbers)], allowzero=1)
            return site.keeps(f"its target can be {numbers}", made)
    return None


@rewrites.rewrites("Expand", "Slice", since=8)
def sizes_to_constant(site: Site) -> Rewrite | None:
    """Expand(x, t) == Expand(x, [.., 1, ..])    1 where x has that dim already
    Slice(x, b, e) == Slice(x, b, [.., max, ..])    max where e is not before the end of the axis
    """
    at = SIZES[site.op_type]
    if site.version < 10 and site.op_type == "Slice":
        return None
    dtype = site.fact(at).dtype
    if dtype is None or site.is_constant(at):
        return None
    numbers = constant_choice(choices(site))
    if numbers is None:
        return None
    inputs = [*site.inputs]
    inputs[at] = site.vector(numbers, DType(dtype))
    return site.keeps(f"it can read {numbers}", *site.copy(site, inputs))


@rewrites.arranges
def canonical_dims(engine: Surroundings, graph: Graph) -> Arrangement | None:
    """Each size of a graph is computed once, from the shape of an input where possible (canonicalization)."""
    return planned(engine, graph)
