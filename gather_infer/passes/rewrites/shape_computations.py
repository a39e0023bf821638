"""Canonicalize shape computations: sizes become constants, or are computed once at the lowest cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import GraphRewrite, Rewrite
from gather_infer.passes.rewrites.shape_operands import SIZES, choices, constant_choice, reshape_choices
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.passes.shape_exprs.size_plan import plan_sizes
from gather_infer.tensor import DType, static_dims

if TYPE_CHECKING:
    from gather_infer.passes.mutable_model import Graph
    from gather_infer.passes.node_view import RewriteContext

rewrites = RewriteSet()


@rewrites.rewrites("Reshape", since=5)
def reshape_to_constant(match: Match) -> Rewrite | None:
    """Reshape(x, t) == Reshape(x, [.., 0, .., -1, ..])    0 where x has that dim, -1 where all others are >= 1"""
    if match.is_constant(1) or match.has_attribute_reference:
        return None
    target = constant_choice(reshape_choices(match, allowzero=False))
    if target is not None:
        return match.replace_with(f"its target can be {target}", match.reshape(match.input(0), target))
    dims = static_dims(match.result().shape)
    if match.version < 14 or dims is None:
        return None
    made = match.new("Reshape", [match.input(0), match.vector(dims)], allowzero=1)
    return match.replace_with(f"its target can be {list(dims)}", made)


@rewrites.rewrites("Expand", "Slice", since=8)
def sizes_to_constant(match: Match) -> Rewrite | None:
    """Expand(x, t) == Expand(x, [.., 1, ..])    1 where x has that dim already
    Slice(x, b, e) == Slice(x, b, [.., max, ..])    max where e is not before the end of the axis
    """
    at = SIZES[match.op_type]
    if match.version < 10 and match.op_type == "Slice":
        return None
    dtype = match.fact(at).dtype
    if dtype is None or match.is_constant(at):
        return None
    numbers = constant_choice(choices(match))
    if numbers is None:
        return None
    inputs = [*match.inputs]
    inputs[at] = match.vector(numbers, DType(dtype))
    return match.replace_with(f"it can read {numbers}", *match.copy(match, inputs))


@rewrites.graph_pass
def canonical_dims(context: RewriteContext, graph: Graph) -> GraphRewrite | None:
    """Each size of a graph is computed once, from the shape of an input where possible (canonicalization)."""
    return plan_sizes(context, graph)
