"""Passes over a model: exact evaluation of known nodes, and rewrites that keep what the model computes."""

from gather_infer.passes.engine import Done
from gather_infer.passes.result import PassResult, Size
from gather_infer.passes.run import DEFAULT_MAX_GROWTH, OptimizeResult, fold, optimize

__all__ = ["DEFAULT_MAX_GROWTH", "Done", "OptimizeResult", "PassResult", "Size", "fold", "optimize"]
