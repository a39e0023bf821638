"""Formulas of ai.onnx.ml: linear models and support vector machines."""

from __future__ import annotations

from gather_infer.cost.formulas.zero_cost import ZERO_COST
from gather_infer.cost.work import Formulas, Work
from gather_infer.symbolic import Dim

formulas = Formulas("ai.onnx.ml", ZERO_COST["ai.onnx.ml"])


@formulas.counts("LinearClassifier", "LinearRegressor", text="N * the number of coefficients")
def linear(work: Work) -> Dim:
    return _rows(work) * len(work.attr("coefficients", ()))


@formulas.counts("SVMClassifier", "SVMRegressor", text="N * (numbers of support vectors + coefficients)")
def support_vectors(work: Work) -> Dim:
    return _rows(work) * (len(work.attr("support_vectors", ())) + len(work.attr("coefficients", ())))


def _rows(work: Work) -> Dim:
    """The number of rows: N for X [N, C], and 1 if X is a vector."""
    shape = work.shape(0)
    return shape[0] if len(shape) > 1 else 1
