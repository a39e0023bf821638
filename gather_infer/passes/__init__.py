"""Passes over a model that preserve its results: constant folding, rewriting and freezing."""

from gather_infer.passes.engine import Done
from gather_infer.passes.freezing import FreezeResult, freeze
from gather_infer.passes.result import PassResult, Size
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.run import DEFAULT_MAX_GROWTH, FoldedFloats, OptimizeResult, fold, optimize
from gather_infer.passes.site import Site
from gather_infer.passes.table import RewriteSet

__all__ = [
    "DEFAULT_MAX_GROWTH",
    "Done",
    "FoldedFloats",
    "FreezeResult",
    "OptimizeResult",
    "PassResult",
    "Rewrite",
    "RewriteSet",
    "Site",
    "Size",
    "fold",
    "freeze",
    "optimize",
]
