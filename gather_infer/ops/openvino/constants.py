"""Rule of constants with element types that ONNX lacks; their inferred type has one byte per element."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.openvino.element_types import NON_ONNX_BITS
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import DType, SymbolicTensor, ValueRange

rules = RuleSet("openvino")


@rules.rule("Const", since=1, checks_types=True)
def const(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/constant-1.html

    packed   the bytes of a constant
    result   uint8, of attribute shape; each element is the bits of one constant element, by attribute element_type

    The rule does not read the bytes, so no element of the result is known.
    """
    element = str(op.attr("element_type", ""))
    bits = NON_ONNX_BITS.get(element)
    if bits is None:
        raise SpecViolation(f"element_type must be one of {', '.join(NON_ONNX_BITS)}, is {element!r}", "GI106")
    shape = op.attr("shape", ())
    if not isinstance(shape, tuple) or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise SpecViolation("attribute shape must be a list of sizes >= 0", "GI106")
    return [SymbolicTensor(DType.UINT8, shape, None, ValueRange(0, 2**bits - 1))]
