"""All tables of rewrite rules, and the command that applies each of them."""

from __future__ import annotations

from gather_infer.passes.rewrites import (
    algebraic,
    common_subexpressions,
    control,
    folding,
    gather,
    gather_chains,
    gather_elementwise,
    gather_family,
    gather_iota,
    identity_elimination,
    loop_folding,
    pair_fusion,
    recurrent,
    sandwiched_inverses,
    shape_computations,
    transposed_views,
)

FOLDING = (folding.rewrites, loop_folding.rewrites)
"""The rules of `fold`."""

GATHER = (
    gather_iota.rewrites,
    gather_chains.rewrites,
    gather_family.rewrites,
    gather_elementwise.rewrites,
    gather.rewrites,
)
"""The gather family: rules that move a Gather towards the inputs come first, those that make it a Slice last."""

REWRITING = (
    folding.initializers,
    control.rewrites,
    identity_elimination.rewrites,
    algebraic.rewrites,
    pair_fusion.rewrites,
    transposed_views.rewrites,
    recurrent.rewrites,
    sandwiched_inverses.rewrites,
    *GATHER,
    common_subexpressions.rewrites,
    shape_computations.rewrites,
)
"""The rules that `optimize` adds."""

ALL = (*FOLDING, *REWRITING)
