"""Multiply-adds by operator: one is a product of two elements that is added to a sum.

So products of matrices, convolutions and what is made of them count; what computes element by element, reduces, moves
or compares does not, however long it takes. It is what the counters of networks agree on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gather_infer.cost.formulas import microsoft, ml, onnx, openvino, recurrent
from gather_infer.cost.formulas.nothing import NOTHING
from gather_infer.cost.work import Formulas

__all__ = ["tables"]


@cache
def tables() -> Mapping[str, Formulas]:
    """The formulas by canonical domain; of domains where nothing is counted too."""
    all_tables = (onnx.formulas, onnx.preview, ml.formulas, microsoft.formulas, openvino.formulas)
    found = {table.domain: table for table in all_tables}
    recurrent.add_to(found)
    return found | {domain: Formulas(domain, names) for domain, names in NOTHING.items() if domain not in found}
