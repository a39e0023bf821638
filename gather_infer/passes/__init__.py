"""Passes over a model that preserve its results: constant folding, rewriting and freezing.

Names are resolved on first use: code that optimizes does not load the freezing of dims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.passes.freezing import FreezeResult, freeze
    from gather_infer.passes.greedy_driver import AppliedRewrite
    from gather_infer.passes.match import Match
    from gather_infer.passes.optimizing import DEFAULT_MAX_GROWTH, FoldedFloats, OptimizeResult, fold, optimize
    from gather_infer.passes.result import PassResult, Size
    from gather_infer.passes.rewrite import Rewrite
    from gather_infer.passes.rule_table import RewriteSet

_HOME = {
    "freezing": ("FreezeResult", "freeze"),
    "greedy_driver": ("AppliedRewrite",),
    "match": ("Match",),
    "optimizing": ("DEFAULT_MAX_GROWTH", "FoldedFloats", "OptimizeResult", "fold", "optimize"),
    "result": ("PassResult", "Size"),
    "rewrite": ("Rewrite",),
    "rule_table": ("RewriteSet",),
}

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

__getattr__ = lazy(__name__, _HOME)
