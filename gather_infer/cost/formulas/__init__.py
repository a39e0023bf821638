"""Multiply-adds by operator: a multiply-add is a product of two elements that is added to a sum.

Matrix products, convolutions and operators built from them count. Elementwise operators, reductions, data movement and
comparisons do not count, however long they take. Other FLOP counters for networks use the same definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gather_infer.cost.formulas import microsoft, ml, onnx, openvino, recurrent
from gather_infer.cost.formulas.zero_cost import ZERO_COST
from gather_infer.cost.work import Formulas

__all__ = ["tables"]


@cache
def tables() -> Mapping[str, Formulas]:
    """Formula tables by canonical domain, including domains whose operators all have zero cost."""
    all_tables = (onnx.formulas, onnx.preview, ml.formulas, microsoft.formulas, openvino.formulas)
    found = {table.domain: table for table in all_tables}
    recurrent.add_to(found)
    return found | {domain: Formulas(domain, names) for domain, names in ZERO_COST.items() if domain not in found}
