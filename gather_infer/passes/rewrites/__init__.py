"""The tables of rewriting rules. Every set is listed here, with the command that asks it."""

from __future__ import annotations

from gather_infer.passes.rewrites import chains, folding

FOLDING = (folding.rewrites,)
"""What `fold` does."""

ALL = (*FOLDING, chains.rewrites)
"""What `optimize` does."""
