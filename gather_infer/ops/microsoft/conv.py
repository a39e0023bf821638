"""Rules of convolutions and poolings of com.microsoft: fused, channels last, quantized."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.signature import (
    HALF_OR_SINGLE,
    IEEE_FLOATS,
    INT8_TYPES,
    MODEL_FLOATS,
    Inferred,
    contrib,
)
from gather_infer.ops.onnx.conv import conv_shape
from gather_infer.ops.onnx.pool import pool_shape
from gather_infer.ops.semantics.operands import elements_of
from gather_infer.ops.semantics.preconditions import (
    fill,
    merge_shape,
    refuse_empty,
    require_min_rank,
    require_rank,
    require_shape,
    unknown_dims,
)
from gather_infer.ops.semantics.windows import auto_pad, kernel_shape, spatial_attribute
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import Shape, SymbolicTensor

rules = RuleSet("com.microsoft")

CONV = "auto_pad:string dilations:ints group:int kernel_shape:ints pads:ints strides:ints"
FUSED = CONV + " activation:string activation_params:floats"
POOL = "auto_pad:string kernel_shape:ints! pads:ints strides:ints"


def channels_first(shape: Shape | None) -> Shape | None:
    """[N, D1, ..., Dn, C] -> [N, C, D1, ..., Dn]; None for an unknown rank or a rank below 3."""
    return None if shape is None or len(shape) < 3 else (shape[0], shape[-1], *shape[1:-1])


def channels_last(shape: Shape | None) -> Shape | None:
    """[N, C, D1, ..., Dn] -> [N, D1, ..., Dn, C]; None for an unknown rank."""
    return None if shape is None else (shape[0], *shape[2:], shape[1])


def _shape_of(tensor: SymbolicTensor | None) -> Shape | None:
    return None if tensor is None else tensor.shape


@contrib(rules, "FusedConv", "X:T W:T B?:T Z?:T -> Y:T", FUSED, T=IEEE_FLOATS)
def fused_conv(op: OpCall) -> Inferred:
    """As Conv of ai.onnx, plus Z, which has the shape of the result."""
    refuse_empty(op, *(op.tensor(1).shape or ())[2:])
    return [_plus(op, conv_shape(op, op.tensor(0).shape, op.tensor(1).shape, _shape_of(op.optional_tensor(2))))]


@contrib(rules, "NhwcConv", "X:T W:T B?:T -> Y:T", CONV, T=IEEE_FLOATS)
@contrib(rules, "NhwcFusedConv", "X:T W:T B?:T Z?:T -> Y:T", FUSED, T=HALF_OR_SINGLE)
def nhwc_conv(op: OpCall) -> Inferred:
    """X [N, D1, ..., Dn, C], W [M, C/group, k1, ..., kn] -> [N, o1, ..., on, M]; Z has the shape of the result"""
    x, bias = require_min_rank(op.tensor(0).shape, 3, "X"), _shape_of(op.optional_tensor(2))
    return [_plus(op, channels_last(conv_shape(op, channels_first(x), op.tensor(1).shape, bias)))]


def _plus(op: OpCall, shape: Shape | None) -> Shape | None:
    added = _shape_of(op.optional_tensor(3))
    if shape is None or added is None:
        return added if shape is None else shape
    return require_shape(op, added, shape, "Z")


@contrib(
    rules, "QLinearConv",
    "x:T1 x_scale:float32 x_zero_point:T1 w:T2 w_scale:float32 w_zero_point:T2 y_scale:float32 y_zero_point:T3 "
    "B?:int32 -> y:T3",
    CONV + " channels_last:int", T1=INT8_TYPES, T2=INT8_TYPES, T3=INT8_TYPES,
)  # fmt: skip
def qlinear_conv_microsoft(op: OpCall) -> Inferred:
    """As QLinearConv of ai.onnx; with attribute channels_last, x and y are [N, D1, ..., Dn, C]."""
    x, w, bias = op.tensor(0).shape, op.tensor(3).shape, _shape_of(op.optional_tensor(8))
    if not op.attr("channels_last", 0):
        return [conv_shape(op, x, w, bias)]
    return [channels_last(conv_shape(op, channels_first(require_min_rank(x, 3, "x")), w, bias))]


@contrib(rules, "NhwcMaxPool", "x:T -> y:T", POOL + " ceil_mode:int dilations:ints", T=INT8_TYPES)
def nhwc_max_pool(op: OpCall) -> Inferred:
    """As MaxPool of ai.onnx, with channels last: x [N, D1, ..., Dn, C] -> y [N, o1, ..., on, C]"""
    x = require_min_rank(op.tensor(0).shape, 3, "x")
    return [channels_last(pool_shape(op, channels_first(x)))]


@contrib(
    rules, "QLinearAveragePool", "X:T x_scale:float32 x_zero_point?:T y_scale:float32 y_zero_point?:T -> Y:T",
    POOL + " ceil_mode:int channels_last:int count_include_pad:int", T=INT8_TYPES,
)  # fmt: skip
def qlinear_average_pool(op: OpCall) -> Inferred:
    """As AveragePool of ai.onnx; with attribute channels_last, X and Y are [N, D1, ..., Dn, C]."""
    x = require_min_rank(op.tensor(0).shape, 3, "X")
    if not op.attr("channels_last", 0):
        return [pool_shape(op, x)]
    return [channels_last(pool_shape(op, channels_first(x)))]


@contrib(
    rules, "QLinearGlobalAveragePool", "X:T x_scale:float32 x_zero_point:T y_scale:float32 y_zero_point:T -> Y:T",
    "channels_last:int", T=INT8_TYPES,
)  # fmt: skip
def qlinear_global_average_pool(op: OpCall) -> Inferred:
    """X [N, C, D1, ..., Dn] -> Y [N, C, 1, ..., 1]; with channels_last, X [N, D1, ..., Dn, C] -> Y [N, 1, ..., 1, C]"""
    x = require_min_rank(op.tensor(0).shape, 3, "X")
    if x is None:
        return [None]
    refuse_empty(op, *(x[1:-1] if op.attr("channels_last", 0) else x[2:]))
    ones = (1,) * (len(x) - 2)
    return [(x[0], *ones, x[-1]) if op.attr("channels_last", 0) else (*x[:2], *ones)]


@contrib(
    rules, "MaxpoolWithMask", "X:float32 M:int32 -> Y:float32",
    "auto_pad:string kernel_shape:ints pads:ints storage_order:int strides:ints",
)  # fmt: skip
def max_pool_with_mask(op: OpCall) -> Inferred:
    """As MaxPool of ai.onnx; M masks elements of X and does not affect the shape."""
    return [pool_shape(op, op.tensor(0).shape)]


@contrib(
    rules, "ConvTransposeWithDynamicPads", "X:T W:T Pads?:int64 B?:T -> Y:T",
    "auto_pad:string dilations:ints group:int kernel_shape:ints output_padding:ints strides:ints", T=IEEE_FLOATS,
    operands={2: "pads that leave at least one element"}, unchecked_sizes=(1,)
)  # fmt: skip
def conv_transpose_with_dynamic_pads(op: OpCall) -> Inferred:
    """As ConvTranspose of ai.onnx, with the pads as an input.

    X       [N, C, D1, ..., Dn]
    W       [C, M/group, k1, ..., kn]
    Pads    [2n]: the pads at the start of each spatial axis, then the pads at the end of each
    result  [N, M, o1, ..., on], oi = stride*(Di - 1) + output_padding + dilation*(ki - 1) + 1 - both pads of axis i
    """
    x = require_min_rank(op.tensor(0).shape, 3, "X")
    w = require_min_rank(op.tensor(1).shape, 3, "W")
    mode = auto_pad(op)
    kernel = kernel_shape(op, None if w is None else w[2:])
    if x is None:
        return [None]
    if w is not None:
        require_rank(w, len(x), "W, as X,")
        op.require_equal(x[1], w[0], "the channels of X and W.shape[0]")
    group = op.attr("group", 1)
    n = len(x) - 2
    m: Dim = op.fresh("the shape of W is not known") if w is None else w[1] * group
    pads = elements_of(op.tensor(2), "Pads") if op.has(2) else [0] * (2 * n)
    if pads is not None and len(pads) != 2 * n:
        raise SpecViolation(f"Pads must have {2 * n} elements, has {len(pads)}")
    if kernel is None or pads is None or mode != "NOTSET":
        return [(x[0], m, *unknown_dims(op, n, "Pads or the shape of W are not known"))]
    strides = spatial_attribute(op, "strides", n, 1, lower=1)
    dilations = spatial_attribute(op, "dilations", n, 1, lower=1)
    extra = spatial_attribute(op, "output_padding", n, 0, lower=0)
    spatial: list[Dim] = []
    for i, size in enumerate(x[2:]):
        before, after = pads[i], pads[n + i]
        if before is None or after is None:
            spatial.append(op.fresh("Pads is not known"))
            continue
        length = strides[i] * (size - 1) + extra[i] + dilations[i] * (kernel[i] - 1) + 1 - before - after
        op.add_implied_fact(length - 1)
        spatial.append(length)
    return [(x[0], m, *spatial)]


@contrib(
    rules, "CausalConvWithState",
    "input:T weight:T bias?:T past_state?:T -> output:T present_state:T state_update?:T",
    "activation:string channels_last:int dilation:int input_channel_offset:int input_channels:int ndim:int "
    "state_channels_last:int state_length:int state_update_capacity:int state_window:int", T=MODEL_FLOATS,
    unchecked_sizes=(1, 2, 3)
)  # fmt: skip
def causal_conv_with_state_microsoft(op: OpCall) -> Inferred:
    """A causal depthwise convolution whose state holds the last (kn - 1) * dilation positions of axis Dn.

    input, output  [N, C, D1, ..., Dn], n = ndim; with channels_last, C is the last dim
    weight         [C, 1, k1, ..., kn]
    states         past_state and present_state, [N, C, D1, ..., Dn-1, (kn - 1) * dilation]; a positive state_window
                   adds a leading axis of that length
    state_update   [N, state_update_capacity, C]

    If channels_last, input_channels, state_length or state_channels_last is set, present_state has the shape of
    past_state, or an unknown rank without past_state.
    """
    x, w, past = op.tensor(0).shape, op.tensor(1).shape, _shape_of(op.optional_tensor(3))
    n = op.attr("ndim", 1)
    if n not in (1, 2, 3):
        raise SpecViolation(f"ndim = {n} is outside [1, 3]")
    last, window = bool(op.attr("channels_last", 0)), op.attr("state_window", 0)
    kernel = None if w is None or last else require_rank(w, n + 2, "weight")
    carried = None if kernel is None else (kernel[-1] - 1) * op.attr("dilation", 1)
    if x is not None and not last:
        require_rank(x, n + 2, "input")
        if kernel is not None:
            c = op.require_equal(x[1], kernel[0], "the channels of input and weight")
            x = (x[0], c, *x[2:])
    channels = op.attr("input_channels", 0)
    update = None
    if x is not None and op.attr("state_update_capacity", 0):
        update = (x[0], op.attr("state_update_capacity", 0), channels or x[-1 if last else 1])
    if channels and x is not None:
        x = (*x[:-1], channels)
    if last or channels or op.attr("state_length", 0) or op.attr("state_channels_last", -1) != -1:
        return [x, past, update]
    state: tuple[Dim | None, ...] = (None,) * (n + 1) if x is None else x[:-1]
    wanted = (*((window,) if window else ()), *state, carried)
    known = fill(op, merge_shape(op, past, wanted, "past_state"), "the shape of input or weight is not known")
    return [x, known, update]


@contrib(
    rules, "VarlenCausalConvWithState",
    "input:T weight:T cumulative_sequence_length:int32 bias?:T initial_state:T capture_count?:int32 "
    "kernel_delta?:T previous_mask?:T -> output:T final_state:T state_update?:T",
    "activation:string delta_offset:int dilation:int group_size:int state_update_capacity:int", T=MODEL_FLOATS,
    unchecked_sizes=range(1, 8)
)  # fmt: skip
def varlen_causal_conv_with_state(op: OpCall) -> Inferred:
    """A causal depthwise convolution of B concatenated sequences.

    input, output               [tokens, C]
    weight                      [C, 1, k]
    cumulative_sequence_length  [B + 1]
    initial_state, final_state  [B, C, (k - 1) * dilation]
    state_update                [B, state_update_capacity, C]
    """
    x, w = require_rank(op.tensor(0).shape, 2, "input"), require_rank(op.tensor(1).shape, 3, "weight")
    ends = require_rank(op.tensor(2).shape, 1, "cumulative_sequence_length")
    tokens, channels = merge_shape(op, x, (None, None if w is None else w[0]), "input")
    carried = None if w is None else (w[2] - 1) * op.attr("dilation", 1)
    wanted = (None if ends is None else ends[0] - 1, channels, carried)
    state = merge_shape(op, op.tensor(4).shape, wanted, "initial_state")
    tokens, b, c, length = fill(op, (tokens, *state), "the shapes of the inputs are not known")
    return [(tokens, c), (b, c, length), (b, op.attr("state_update_capacity", 0), c)]
