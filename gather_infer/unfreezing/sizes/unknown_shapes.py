"""Values whose shape inference does not tell, behind an operator that it does not know: constants that meet them.

Nothing says which axis of such a value has the freed size, so that no constant can follow it. A constant that may stand
for the size refuses the model, and so does a node that puts or reads the elements of its axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.indices.row_numbers import ADDRESSING, SIZED_BY_OPERAND

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_PLACING: Final = frozenset(
    {"Reshape", "Flatten", "Slice", "Split", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND",
     "Resize", "Expand", "Tile"}
)  # fmt: skip
"""Operators that put, cut or read the elements of an axis."""


def problem_of_unknown_shape(walk: UnfreezingWalk, node: NodeProto) -> str:
    """Why a node that reads a value of unknown shape may not fit another size; "" if no constant says that."""
    if node.domain not in ("", "ai.onnx"):
        return ""
    unknown = next((name for name in node.input if name in walk.dependent and _is_unknown(walk, name)), None)
    if unknown is None or walk.is_matched(node):
        return ""
    start = f"reads {unknown}, whose shape is not known, "
    sizes = {size for size in values_of(walk.sizes.held(), walk.samples.old) if size is not None}
    for position, name in enumerate(node.input):
        array = walk.array(name) if name and name != unknown else None
        if array is None:
            continue
        if node.op_type in SIZED_BY_OPERAND and position:
            numbers = [int(each) for each in array.ravel()] if array.dtype.kind in "iu" else []
            if node.op_type == "Slice":
                return f"{start}and cuts it at {numbers}"
            for number in numbers:
                if number in sizes or any(number > 0 and number % size == 0 for size in sizes if size > 1):
                    return f"{start}and the number {number}"
        elif node.op_type in ADDRESSING and position == 1:
            return f"{start}at constant positions"
        elif node.op_type not in ("MatMul", "Gemm", "Conv", "ConvTranspose"):
            held = next((size for size in array.shape if size > 1 and size in sizes), None)
            if held is not None:
                return f"{start}beside a constant with an axis of {held}"
    return f"{unknown} has an unknown shape" if node.op_type in _PLACING and node.input[0] == unknown else ""


def _is_unknown(walk: UnfreezingWalk, name: str) -> bool:
    fact = walk.environment.values.get(name)
    return isinstance(fact, SymbolicTensor) and fact.shape is None
