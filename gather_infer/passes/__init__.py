"""Passes over a model that preserve its results: constant folding, rewriting and freezing."""

from gather_infer.passes.freezing import FreezeResult, freeze
from gather_infer.passes.greedy_driver import AppliedRewrite
from gather_infer.passes.match import Match
from gather_infer.passes.optimizing import DEFAULT_MAX_GROWTH, FoldedFloats, OptimizeResult, fold, optimize
from gather_infer.passes.result import PassResult, Size
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet

__all__ = [
    "DEFAULT_MAX_GROWTH",
    "AppliedRewrite",
    "FoldedFloats",
    "FreezeResult",
    "Match",
    "OptimizeResult",
    "PassResult",
    "Rewrite",
    "RewriteSet",
    "Size",
    "fold",
    "freeze",
    "optimize",
]
