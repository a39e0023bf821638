"""Rules of operators that keep the shape of their input: functions, activations, softmaxes, Dropout, PRelu."""

from __future__ import annotations

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import elements
from gather_infer.ops.semantics.elements import Element
from gather_infer.ops.semantics.elementwise import (
    UnaryElement,
    require_dtype,
    same_dtype,
    same_shape,
    unary,
    unidirectional,
)
from gather_infer.rules import OpCall, Rule, RuleSet
from gather_infer.symbolic import Scope
from gather_infer.tensor import DType, SymbolicTensor, ValueRange, format_shape

rules = RuleSet("")

# Operators Y = f(X) that keep shape and element type, each with its first version. Elements are not tracked.
# Spec: https://onnx.ai/onnx/operators/, one page each
FUNCTIONS: dict[str, int] = {
    "Acos": 7,
    "Acosh": 9,
    "Asin": 7,
    "Asinh": 9,
    "Atan": 7,
    "Atanh": 9,
    "Celu": 12,
    "Cos": 7,
    "Cosh": 9,
    "Elu": 1,
    "Erf": 9,
    "Exp": 1,
    "Gelu": 20,
    "HardSigmoid": 1,
    "HardSwish": 14,
    "LeakyRelu": 1,
    "Log": 1,
    "Mish": 18,
    "Selu": 1,
    "Shrink": 9,
    "Sigmoid": 1,
    "Sin": 7,
    "Sinh": 9,
    "Softplus": 1,
    "Softsign": 1,
    "Swish": 24,
    "Tan": 7,
    "Tanh": 1,
    "ThresholdedRelu": 10,
}


def _function(op_type: str) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        x = op.tensor(0)
        return [SymbolicTensor(x.dtype, x.shape)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, _since in FUNCTIONS.items():
    rules.rule(_op_type, since=_since)(_function(_op_type))


def _reciprocal(op: OpCall, dtype: DType, x: Element) -> Element:
    return elements.div(op, dtype, 1.0, x) if isinstance(x, (int, float)) else None


# Operators Y = f(X) that keep shape and element type, with tracked elements: IEEE 754 defines the result exactly.
# Spec: https://onnx.ai/onnx/operators/onnx__Floor.html, __Ceil, __Round, __Sqrt, __Reciprocal
EXACT: dict[str, tuple[int, UnaryElement]] = {
    "Floor": (1, elements.floor),
    "Ceil": (1, elements.ceil),
    "Round": (11, elements.round_half_even),
    "Sqrt": (1, elements.sqrt),
    "Reciprocal": (1, _reciprocal),
}


def _exact(op_type: str, element: UnaryElement) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        return unary(op, element)

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, (_since, _element) in EXACT.items():
    rules.rule(_op_type, since=_since, idempotent=_op_type in ("Floor", "Ceil", "Round"))(_exact(_op_type, _element))


@rules.rule("Relu", idempotent=True)
def relu(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Relu.html (version 14 adds the signed integer types)"""

    def element(op: OpCall, dtype: DType, x: Element) -> Element:
        return elements.max_of(op, dtype, x, 0 if isinstance(x, int) else 0.0)

    def span(x: ValueRange, scope: Scope) -> ValueRange:
        return value_ranges.max_of(x, ValueRange(0, 0), scope)

    return unary(op, element, span)


def softmax_axis(op: OpCall, x: SymbolicTensor) -> None:
    """Check attribute axis of Softmax, LogSoftmax and Hardmax; r is the rank of `x`.

    from version 13 on    in [-r, r-1], -1 by default: the axis that is normalized
    version 11            in [-r, r-1], 1 by default: `x` is flattened to 2-D, with the axes from axis on as columns
    version 1             as in version 11, but in [-r, r], because the page gives no range

    Raises SpecViolation (GI304) when axis is out of range.
    """
    if x.shape is None:
        return
    rank = len(x.shape)
    axis = op.attr("axis", -1 if op.version >= 13 else 1)
    last = rank - 1 if op.version >= 11 else rank
    if not -rank <= axis <= last:
        raise SpecViolation(f"axis = {axis} is outside [{-rank}, {last}], input has rank {rank}", "GI304")


def _softmax(op_type: str) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        x = op.tensor(0)
        softmax_axis(op, x)
        return [SymbolicTensor(x.dtype, x.shape)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type in ("Softmax", "LogSoftmax", "Hardmax"):
    rules.rule(_op_type)(_softmax(_op_type))


@rules.rule("PRelu")
def prelu(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__PRelu.html

    versions 1 and 6      the slope has one element, or one per channel (axis 1)
    from version 7 on     the slope broadcasts to X
    """
    x, slope = op.tensor(0), op.tensor(1)
    dtype = same_dtype(x, slope, ("X", "slope"))
    if op.version >= 7:
        with op.unenforced():  # onnxruntime broadcasts X to the slope as well
            shape = unidirectional(op, x.shape, slope.shape, "slope", "X")
        for dim, other in zip(reversed(slope.shape or ()), reversed(shape or ()), strict=False):
            op.require((dim, "==", 1), (dim, "==", other), (other, "==", 1), otherwise="X and slope do not broadcast")
        return [SymbolicTensor(dtype, shape)]
    if x.shape is not None and len(x.shape) >= 2 and slope.shape is not None and len(slope.shape) == 1:
        length, channels = slope.shape[0], x.shape[1]
        op.require(
            (length, "==", 1),
            (length, "==", channels),
            otherwise=f"slope has {length} elements, allowed are 1 or one for each of the {channels} channels of "
            f"X {format_shape(x.shape)}",
            code="GI212",
        )
    return [SymbolicTensor(dtype, x.shape)]


@rules.rule("Dropout", deterministic=False)
def dropout_by_attribute(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Dropout.html

    versions 1 and 6    identity when attribute is_test is set; the mask has the element type of the data
    version 7           always identity
    version 10          always identity, and the mask is bool
    """
    data = op.tensor(0)
    is_identity = op.version >= 7 or op.attr("is_test", 0) != 0
    mask = SymbolicTensor(DType.BOOL if op.version >= 10 else data.dtype, data.shape)
    return _dropped(op, data, mask, is_identity)


@rules.rule("Dropout", since=12, deterministic=False)
def dropout(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Dropout.html (version 12: ratio and training_mode are inputs)

    Identity, with a mask of True, when training_mode is absent or known to be false.
    """
    data, ratio, training = op.tensor(0), op.optional_tensor(1), op.optional_tensor(2)
    for tensor, name in ((ratio, "ratio"), (training, "training_mode")):
        if tensor is not None and tensor.rank is not None and tensor.shape not in ((), (1,)):
            raise SpecViolation(f"{name} must be a scalar, has rank {tensor.rank}", "GI305")
    is_identity = training is None
    if training is not None:
        require_dtype(training, "training_mode", frozenset({DType.BOOL}), "bool")
        is_identity = training.values is not None and training.values.item() is False
    mask = SymbolicTensor(DType.BOOL, data.shape, None, ValueRange(1, 1) if is_identity else None)
    return _dropped(op, data, mask, is_identity)


def _dropped(op: OpCall, data: SymbolicTensor, mask: SymbolicTensor, is_identity: bool) -> list[SymbolicTensor]:
    output = data if is_identity else SymbolicTensor(data.dtype, data.shape)
    return [output, mask][: len(op.outputs)]


@rules.rule("SwiGLU", since=28)
def swiglu(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__SwiGLU.html

    gate and up, of one element type and shape -> that element type and shape
    """
    gate, up = op.tensor(0), op.tensor(1)
    return [SymbolicTensor(same_dtype(gate, up), same_shape(op, gate.shape, up.shape))]
