"""Arithmetic of dims: knows nothing of ONNX."""

from __future__ import annotations

from gather_infer.symbolic.dim import Dim, DimTooLarge, Expr, symbol
from gather_infer.symbolic.divide import ceildiv, floordiv, mod, truncdiv
from gather_infer.symbolic.evaluate import divisors, evaluate, free_symbols, is_total, product, total
from gather_infer.symbolic.extremum import maximum, minimum
from gather_infer.symbolic.factored import factored
from gather_infer.symbolic.interval import Interval
from gather_infer.symbolic.parse import DimSyntaxError, parse_dim
from gather_infer.symbolic.phrasing import least_of, reduced
from gather_infer.symbolic.prove import known_eq, known_le, known_lt
from gather_infer.symbolic.rebuild import simplify, substitute
from gather_infer.symbolic.scope import Effort, Scope

__all__ = [
    "Dim",
    "DimSyntaxError",
    "DimTooLarge",
    "Effort",
    "Expr",
    "Interval",
    "Scope",
    "ceildiv",
    "divisors",
    "evaluate",
    "factored",
    "floordiv",
    "free_symbols",
    "is_total",
    "known_eq",
    "known_le",
    "known_lt",
    "least_of",
    "maximum",
    "minimum",
    "mod",
    "parse_dim",
    "product",
    "reduced",
    "simplify",
    "substitute",
    "symbol",
    "total",
    "truncdiv",
]
