"""Rules of quantized operators of com.microsoft, except matrix products, convolutions and attention."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.signature import HALF_OR_SINGLE, INT8_TYPES, MODEL_FLOATS, Inferred, contrib
from gather_infer.ops.onnx.concat import concat
from gather_infer.ops.onnx.matmul import matmul_shape
from gather_infer.ops.onnx.recurrent import recurrent
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.operands import unique_axes
from gather_infer.ops.semantics.preconditions import normalize_axis, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import known_eq
from gather_infer.tensor import DType, Shape, SymbolicTensor, format_shape

rules = RuleSet("com.microsoft")

INT4_TO_16 = INT8_TYPES | {DType.INT16, DType.UINT16, DType.INT4, DType.UINT4}
ORDERS = "order_X:int order_Y:int"


@contrib(
    rules, "QuantizeLinear", "x:T1 y_scale:T1 y_zero_point?:T2 -> y:T2", "axis:int", T1=HALF_OR_SINGLE, T2=INT4_TO_16
)
def quantize_linear_microsoft(op: OpCall) -> Inferred:
    """Shape of x, element type of y_zero_point; uint8 without y_zero_point.

    y_scale  one element, or a vector with one element for each index of `axis`
    """
    zero_point = op.optional_tensor(2)
    dtype = DType.UINT8 if zero_point is None else zero_point.dtype
    return [SymbolicTensor(dtype, _along_axis(op, "y_scale"))]


@contrib(
    rules, "DequantizeLinear", "x:T1 x_scale:T2 x_zero_point?:T1 -> y:T2", "axis:int",
    T1=INT4_TO_16 | {DType.INT32}, T2=HALF_OR_SINGLE,
)  # fmt: skip
def dequantize_linear_microsoft(op: OpCall) -> Inferred:
    """Shape of x, element type of x_scale; x_scale has one element, or one for each index of `axis`."""
    return [_along_axis(op, "x_scale")]


def _along_axis(op: OpCall, name: str) -> Shape | None:
    """The shape of x, after checking the scale: it has one element, or one for each index of attribute `axis`.

    name   name of the scale for messages

    Returns None when x is unranked. Raises SpecViolation when the scale has rank 2 or more or a wrong length.
    """
    x, scale = op.tensor(0).shape, op.tensor(1).shape
    if scale is not None and len(scale) > 1:
        raise SpecViolation(f"{name} must be a scalar or 1-D, is {format_shape(scale)}", "GI305")
    zero_point = op.optional_tensor(2)
    if scale is not None and zero_point is not None and zero_point.shape is not None:
        for one, other in zip((*scale, 1)[:1], (*zero_point.shape, 1)[:1], strict=True):
            op.add_runtime_constraint((one, "==", other))
    if not scale or x is None:
        return x
    if known_eq(scale[0], 1, op.scope) is not False:
        default = op.attr("axis", 1)
        if -len(x) <= default < len(x):
            message = f"{name} must have one element or {x[default]}, has {scale[0]}"
            op.require((scale[0], "==", 1), (scale[0], "==", x[default]), otherwise=message, code="GI212")
        return x
    axis = normalize_axis(op.attr("axis", 1), len(x))
    dim = op.require_equal(x[axis], scale[0], f"the dim at axis {axis} and the length of {name}")
    return (*x[:axis], dim, *x[axis + 1 :])


TWO = "A:T A_scale:float32 A_zero_point?:T B:T B_scale:float32 B_zero_point?:T C_scale:float32 C_zero_point?:T -> C:T"
ONE = "X:T X_scale:float32 X_zero_point?:T Y_scale:float32 Y_zero_point?:T -> Y:T"


@contrib(rules, "QLinearAdd", TWO, T=INT8_TYPES)
@contrib(rules, "QLinearMul", TWO, T=INT8_TYPES)
def qlinear_binary(op: OpCall) -> Inferred:
    """The shape to which A and B broadcast."""
    return [broadcast(op, op.tensor(0).shape, op.tensor(3).shape)]


@contrib(rules, "QLinearSigmoid", ONE, T=INT8_TYPES)
@contrib(rules, "QLinearLeakyRelu", ONE, "alpha:float", T=INT8_TYPES)
def qlinear_unary(op: OpCall) -> Inferred:
    """The result has the shape of X."""
    return [op.tensor(0).shape]


@contrib(
    rules, "QLinearSoftmax", "X:T X_scale:float32 x_zero_point?:T y_scale:float32 y_zero_point:T -> Y:T",
    "axis:int opset:int!", T=INT8_TYPES,
)  # fmt: skip
def qlinear_softmax(op: OpCall) -> Inferred:
    """As Softmax of ai.onnx: the result has the shape of X. Attribute `opset` selects the version of Softmax."""
    shape = op.tensor(0).shape
    if shape is not None:
        normalize_axis(op.attr("axis", -1), len(shape))
    return [shape]


@contrib(
    rules, "QLinearWhere",
    "condition:bool X:T x_scale:float32 x_zero_point:T Y:T y_scale:float32 y_zero_point:T z_scale:float32 "
    "z_zero_point:T -> Z:T", T=INT8_TYPES,
)  # fmt: skip
def qlinear_where(op: OpCall) -> Inferred:
    """The shape to which condition, X and Y broadcast."""
    return [broadcast(op, op.tensor(0).shape, op.tensor(1).shape, op.tensor(4).shape)]


@contrib(rules, "QLinearConcat", "Y_scale:float32 Y_zero_point:T8 inputs*:* -> Y:T8", "axis:int!", T8=INT8_TYPES)
def qlinear_concat(op: OpCall) -> Inferred:
    """Concat along `axis` of the tensors in `inputs`, each followed there by its scale and its zero point.

    Raises SpecViolation when the number of `inputs` is 0 or not a multiple of 3.
    """
    given = op.inputs[2:]
    if not given or len(given) % 3:
        raise SpecViolation(
            f"inputs must be threes of a tensor, its scale and its zero point, are {len(given)}", "GI107"
        )
    parts = [SymbolicTensor(None, op.tensor(index).shape) for index in range(2, len(op.inputs), 3)]
    return [concat(op, parts, axis=op.attr("axis")).shape]


@contrib(
    rules, "QLinearReduceMean",
    "data:T data_scale:float32 data_zero_point?:T reduced_scale:float32 reduced_zero_point?:T -> reduced:T",
    "axes:ints! keepdims:int!", T=INT8_TYPES,
)  # fmt: skip
def qlinear_reduce_mean(op: OpCall) -> Inferred:
    """As ReduceMean of ai.onnx 13, on quantized data."""
    return [_reduced(op)]


@contrib(rules, "ReduceSumInteger", "data:T1 -> reduced:*", "axes:ints! keepdims:int!", T1=INT8_TYPES)
def reduce_sum_integer(op: OpCall) -> Inferred:
    """As ReduceSum of ai.onnx 11; int8 data give int32, uint8 data give uint32."""
    wide = {DType.INT8: DType.INT32, DType.UINT8: DType.UINT32, None: None}
    return [SymbolicTensor(wide[op.tensor(0).dtype], _reduced(op))]


def _reduced(op: OpCall) -> Shape | None:
    shape = op.tensor(0).shape
    if shape is None:
        return None
    given: tuple[int, ...] = op.attr("axes")
    axes = unique_axes(given, len(shape)) if given else list(range(len(shape)))
    if op.attr("keepdims"):
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


@contrib(
    rules, "DynamicQuantizeLSTM",
    "X:T W:T2 R:T2 B?:T sequence_lens?:int32 initial_h?:T initial_c?:T P?:T W_scale:T W_zero_point:T2 R_scale:T "
    "R_zero_point:T2 -> Y?:T Y_h?:T Y_c?:T",
    "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string hidden_size:int "
    "input_forget:int", T=frozenset({DType.FLOAT32}), T2=INT8_TYPES, addresses={4: 0}, unchecked_sizes=range(8, 12)
)  # fmt: skip
def dynamic_quantize_lstm(op: OpCall) -> Inferred:
    """As LSTM of ai.onnx, with quantized and transposed weights.

    D directions, input size I, hidden size H: W [D, I, 4*H], R [D, H, 4*H].
    """
    turned: list[SymbolicTensor] = []
    for index, name in ((1, "W"), (2, "R")):
        weights = op.tensor(index)
        shape = require_rank(weights.shape, 3, name)
        turned.append(SymbolicTensor(DType.FLOAT32, shape and (shape[0], shape[2], shape[1])))
    inputs = [op.tensor(0), *turned, *(op.value(index) for index in range(3, 8))]
    lstm = OpCall(op.op_type, inputs, op.attributes, (True,) * 3, op.version, op.domain, op.context, op.load)
    return recurrent(lstm, 4)


BLOCK_FLOAT = "block_dim:int bfp_type:int!"


@contrib(rules, "QuantizeBFP", "x:T1 -> y:uint8 shape:int64 strides:int64", BLOCK_FLOAT, T1=MODEL_FLOATS)
def quantize_bfp(op: OpCall) -> Inferred:
    """x in a block floating point format: y [bytes], shape [rank of x] and strides [rank of x].

    The number of bytes is unknown.
    """
    rank = op.tensor(0).rank
    vector = None if rank is None else (rank,)
    return [(op.fresh("the size of the packed format depends on the device"),), vector, vector]


@contrib(rules, "DequantizeBFP", "x:uint8 shape:int64 strides:int64 -> y:*", BLOCK_FLOAT + " dtype:int")
def dequantize_bfp(op: OpCall) -> Inferred:
    """A tensor whose dims are the elements of input `shape`.

    Attribute `dtype` is the TensorProto.DataType number of its element type, float32 by default.
    """
    number = op.attr("dtype", DType.FLOAT32)
    if number not in DType.__members__.values():
        raise SpecViolation(f"dtype = {number} is no element type", "GI211")
    values = op.tensor(1).values
    if values is None:
        return [SymbolicTensor(DType(number))]
    shape = tuple(op.fresh("shape is not known") if e is None else e for e in values.reshape(-1))
    return [SymbolicTensor(DType(number), shape)]


@contrib(
    rules, "QuantizeWithOrder", "input:F scale_input:float32 -> output:int8", "order_input:int! order_output:int!",
    F=HALF_OR_SINGLE,
)  # fmt: skip
@contrib(rules, "QOrderedGelu", "X:int8 scale_X:float32 scale_Y:float32 -> Y:int8", ORDERS)
@contrib(
    rules, "QOrderedLayerNormalization", "X:int8 scale_X:float32 scale:F B?:F scale_Y:float32 -> Y:int8",
    ORDERS + " axis:int epsilon:float", F=HALF_OR_SINGLE,
)  # fmt: skip
def ordered(op: OpCall) -> Inferred:
    """The result has the shape of the first input; the `order` attributes are memory layouts and do not affect it."""
    return [op.tensor(0).shape]


@contrib(
    rules, "DequantizeWithOrder", "input:int8 scale_input:float32 -> output:*",
    "order_input:int! order_output:int! to:int!",
)  # fmt: skip
def dequantize_with_order(op: OpCall) -> Inferred:
    """Shape of the input; attribute `to` is the TensorProto.DataType number of the element type, float32 or float16."""
    number = op.attr("to")
    if number not in (DType.FLOAT32, DType.FLOAT16):
        raise SpecViolation(
            f"to = {number} is not {DType.FLOAT32.value} (float32) or {DType.FLOAT16.value} (float16)", "GI211"
        )
    return [SymbolicTensor(DType(number), op.tensor(0).shape)]


@contrib(
    rules, "QOrderedMatMul",
    "A:int8 scale_A:float32 B:int8 scale_B:float32 scale_Y:float32 bias?:float32 C?:int8 scale_C?:float32 -> Y:int8",
    "order_A:int! order_B:int! order_Y:int!",
)  # fmt: skip
def qordered_matmul(op: OpCall) -> Inferred:
    """The shape of A @ B; the `order` attributes are memory layouts and do not affect it."""
    return [matmul_shape(op, op.tensor(0).shape, op.tensor(2).shape)]
