"""All tables of rewrite rules, and the command that applies each of them."""

from __future__ import annotations

from gather_infer.passes.rewrites import (
    chains,
    common,
    control,
    folding,
    gather,
    gather_chains,
    gather_elementwise,
    gather_family,
    gather_grids,
    noops,
    pairs,
    recurrent,
    regions,
)

FOLDING = (folding.rewrites,)
"""The rules of `fold`."""

GATHER = (
    gather_grids.rewrites,
    gather_chains.rewrites,
    gather_family.rewrites,
    gather_elementwise.rewrites,
    gather.rewrites,
)
"""The gather family: rules that move a Gather towards the inputs come first, those that make it a Slice last."""

REWRITING = (
    folding.initializers,
    control.rewrites,
    noops.rewrites,
    pairs.rewrites,
    recurrent.rewrites,
    regions.rewrites,
    *GATHER,
    common.rewrites,
    chains.rewrites,
)
"""The rules that `optimize` adds."""

ALL = (*FOLDING, *REWRITING)
