"""Exact evaluation of known nodes, and the pass that replaces them by constants."""

from gather_infer.passes.folding import FoldResult, Size, fold
from gather_infer.passes.plan import DEFAULT_MAX_BYTES, Folded

__all__ = ["DEFAULT_MAX_BYTES", "FoldResult", "Folded", "Size", "fold"]
