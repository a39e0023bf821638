"""The tables of rewriting rules. Every set is listed here, with the command that asks it."""

from __future__ import annotations

from gather_infer.passes.rewrites import common, control, folding, noops, pairs

FOLDING = (folding.rewrites,)
"""What `fold` does."""

ALL = (*FOLDING, control.rewrites, noops.rewrites, pairs.rewrites, common.rewrites)
"""What `optimize` does."""
