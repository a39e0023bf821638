"""Exact evaluation of known nodes, and the pass that replaces them by constants."""

from gather_infer.folding.fold import FoldResult, Size, fold
from gather_infer.folding.plan import DEFAULT_MAX_BYTES, Folded

__all__ = ["DEFAULT_MAX_BYTES", "FoldResult", "Folded", "Size", "fold"]
