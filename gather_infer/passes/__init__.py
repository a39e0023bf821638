"""Passes over a model: exact evaluation of known nodes, the pass that replaces them by constants, and freezing."""

from gather_infer.passes.folding.plan import DEFAULT_MAX_BYTES, Folded
from gather_infer.passes.folding.run import FoldResult, fold
from gather_infer.passes.freezing import FreezeResult, freeze
from gather_infer.passes.result import PassResult, Size

__all__ = ["DEFAULT_MAX_BYTES", "FoldResult", "Folded", "FreezeResult", "PassResult", "Size", "fold", "freeze"]
