"""The tables of rewriting rules. Every set is listed here, with the command that asks it."""

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
"""What `fold` does."""

GATHER = (
    gather_grids.rewrites,
    gather_chains.rewrites,
    gather_family.rewrites,
    gather_elementwise.rewrites,
    gather.rewrites,
)
"""The gather family: first what takes from further up, a Slice last."""

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
"""What `optimize` does beside."""

ALL = (*FOLDING, *REWRITING)
