"""Elementwise operators of one and two inputs.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from typing import Final

from gather_infer.openvino.lowerings.carried import carried
from gather_infer.openvino.lowerings.fragment import Fragment
from gather_infer.openvino.lowerings.layer import Layer
from gather_infer.openvino.lowerings.table import Lowerings

lowerings = Lowerings()
lowers = lowerings.lowers

_BINARY: Final = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul",
}  # fmt: skip


@lowers(*_BINARY, alike=True)
def binary(op: Layer, g: Fragment) -> str:
    """arithmetic/add-1, subtract-1, multiply-1."""
    return carried(g, op.dtype(0), lambda a, b: g.node(_BINARY[op.type], (a, b))[0], op.x(0), op.x(1))
