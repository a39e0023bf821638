"""Rules of convolutions: Conv and its quantized forms, ConvTranspose, DeformConv, CausalConvWithState."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.preconditions import (
    fill,
    merge_shape,
    refuse_empty,
    require_divisible,
    require_min_rank,
    require_one_element,
    require_one_or,
    require_rank,
    require_same_dtype,
    require_shape,
    unknown_dims,
)
from gather_infer.ops.semantics.windows import (
    Window,
    auto_pad,
    count_floor,
    count_same,
    kernel_shape,
    spatial_attribute,
    windows,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, known_le, minimum, product
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("")


def conv_shape(op: OpCall, x: Shape | None, w: Shape | None, b: Shape | None) -> Shape | None:
    """Shape of the result of a convolution, from the shapes of its inputs; None when the rank is unknown.

    x       [N, C, D1, ..., Dn], n >= 1
    w       [M, C/group, k1, ..., kn]
    b       [M]
    result  [N, M, o1, ..., on]

    where oi = (Di + pads - extent)//stride + 1 with extent = dilation*(ki - 1) + 1; with SAME padding ceil(Di/stride).

    Raises SpecViolation when ranks, channels, group or kernel_shape do not fit, the kernel is longer than its padded
    axis, or both pads and auto_pad are given.
    """
    require_min_rank(x, 3, "X")
    require_min_rank(w, 3, "the weight tensor W")
    mode = _padding(op)
    kernel = kernel_shape(op, None if w is None else w[2:])
    rank = _common_rank(x, w, kernel)
    if rank is None:
        return None
    group = _group(op)
    if x is None:
        n, c, spatial = None, None, None
    else:
        n, c, spatial = x[0], x[1], x[2:]
    m = None
    if w is not None:
        m = w[0]
        require_divisible(op, m, group, "the output channels of W")
        if c is not None:
            op.require_equal(c, w[1] * group, "the channels of X and group * W.shape[1]")
    m = _bias(op, b, m)
    head = (_or_unknown(op, n, "the shape of X is not known"), _or_unknown(op, m, "the shape of W is not known"))
    if spatial is None or (kernel is None and mode != "SAME"):
        return head + unknown_dims(op, rank - 2, "the spatial dims of X or W are not known")
    if mode == "SAME":
        for size in spatial:
            op.add_implied_fact(size - 1)  # runtimes reject an empty axis
        return head + tuple(map(count_same, [op] * len(spatial), spatial, windows(op, (1,) * len(spatial), mode)))
    assert kernel is not None, "only SAME needs no kernel"
    return head + tuple(map(count_floor, [op] * len(spatial), spatial, windows(op, kernel, mode)))


@rules.rule("Conv", since=1)
def conv(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Conv.html

    Versions 11 and 22 change only the wording of defaults and the element types.

    onnxruntime does not terminate on an empty kernel, so a constraint requires each kernel dim to be >= 1. It is not
    added as a fact, because the page defines the result for an empty kernel.
    """
    x, w, b = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = require_same_dtype("X, W and B", x, w, b)
    shape = conv_shape(op, x.shape, w.shape, None if b is None else b.shape)
    for size in () if w.shape is None else w.shape[2:]:
        _constrain_at_least(op, size, 1)
    return [SymbolicTensor(dtype, shape)]


@rules.rule("ConvInteger", since=10)
def conv_integer(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ConvInteger.html

    x, w, x_zero_point, w_zero_point -> y int32
    """
    x, w = op.tensor(0), op.tensor(1)
    require_same_dtype("x and x_zero_point", x, op.optional_tensor(2))
    require_same_dtype("w and w_zero_point", w, op.optional_tensor(3))
    require_one_element(op, op.optional_tensor(2), "x_zero_point")
    per_channel = op.optional_tensor(3)
    for dim in () if per_channel is None else per_channel.shape or ():
        op.add_runtime_constraint((dim, "==", 1))
    return [SymbolicTensor(DType.INT32, conv_shape(op, x.shape, w.shape, None))]


@rules.rule("QLinearConv", since=10)
def qlinear_conv(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__QLinearConv.html

    x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B -> y, of the type of y_zero_point
    """
    x, w, b = op.tensor(0), op.tensor(3), op.optional_tensor(8)
    require_same_dtype("x and x_zero_point", x, op.tensor(2))
    require_same_dtype("w and w_zero_point", w, op.tensor(5))
    for index, name in ((1, "x_scale"), (2, "x_zero_point"), (6, "y_scale"), (7, "y_zero_point")):
        require_one_element(op, op.tensor(index), name)
    for index, name in ((4, "w_scale"), (5, "w_zero_point")):
        require_one_or(op, op.tensor(index), w.shape[0] if w.shape else None, name)
    shape = conv_shape(op, x.shape, w.shape, None if b is None else b.shape)
    return [SymbolicTensor(op.tensor(7).dtype, shape)]


@rules.rule("ConvTranspose", since=1)
def conv_transpose(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ConvTranspose.html

    X       [N, C, D1, ..., Dn], n >= 1
    W       [C, M/group, k1, ..., kn]
    B       [M]
    result  [N, M, o1, ..., on]

    where oi is an element of attribute output_shape if present, stride*Di with SAME padding, or else
    stride*(Di - 1) + output_padding + dilation*(ki - 1) + 1 - pads.

    Runtimes reject an empty kernel, so a constraint requires each kernel dim to be >= 1. It is not added as a fact,
    because the page defines the result for an empty kernel.
    """
    x, w, b = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = require_same_dtype("X, W and B", x, w, b)
    require_min_rank(x.shape, 3, "X")
    require_min_rank(w.shape, 3, "the weight tensor W")
    mode = _padding(op)
    kernel = kernel_shape(op, None if w.shape is None else w.shape[2:])
    rank = _common_rank(x.shape, w.shape, kernel)
    if rank is None:
        return [SymbolicTensor(dtype)]
    group = _group(op)
    if x.shape is not None:
        require_divisible(op, x.shape[1], group, "the channels of X")
        if w.shape is not None:
            op.require_equal(x.shape[1], w.shape[0], "the channels of X and W.shape[0]")
    m = _bias(op, None if b is None else b.shape, None if w.shape is None else w.shape[1] * group)
    n = None if x.shape is None else x.shape[0]
    head = (_or_unknown(op, n, "the shape of X is not known"), _or_unknown(op, m, "the shape of W is not known"))
    for size in kernel or ():
        _constrain_at_least(op, size, 1)
    given = op.attr("output_shape", ())
    if given:
        explicit = spatial_attribute(op, "output_shape", rank - 2, 0, lower=0)
        if x.shape is not None and kernel is not None:
            for size, window, length in zip(x.shape[2:], windows(op, kernel, "VALID"), explicit, strict=True):
                _constrain_at_least(op, size, 1)
                # Pads computed from `length` are >= 0; `length` may exceed the formula by up to stride - 1.
                _constrain_at_least(op, window.stride * size + window.extent - 1, length)
        return [SymbolicTensor(dtype, head + explicit)]
    if x.shape is None or kernel is None:
        return [SymbolicTensor(dtype, head + unknown_dims(op, rank - 2, "the spatial dims of X or W are not known"))]
    extra = spatial_attribute(op, "output_padding", rank - 2, 0, lower=0)
    if rank > 4:
        refuse_empty(op, *x.shape[2:])  # onnxruntime crashes
    spatial = tuple(
        _transposed(op, size, window, more, mode)
        for size, window, more in zip(x.shape[2:], windows(op, kernel, mode), extra, strict=True)
    )
    return [SymbolicTensor(dtype, head + spatial)]


def _constrain_at_least(op: OpCall, dim: Dim, lower: int) -> None:
    """Record `dim >= lower` as an implied constraint without adding it to the facts."""
    if known_le(lower, dim, op.scope) is None:
        op.add_implied_constraint((lower, "<=", dim))


def _transposed(op: OpCall, size: Dim, window: Window, output_padding: int, mode: str) -> Dim:
    """The length of one spatial axis of the result of ConvTranspose, from the length `size` of the input's axis.

    The length is stride*(size - 1) + output_padding + extent - pads. If `mode` is SAME, the pads are chosen so that the
    length is stride*size; a kernel shorter than the stride gets no pads, and the length is smaller.

    Raises SpecViolation when the length is below 1, which runtimes reject.
    """
    beyond = window.extent + output_padding - window.begin - window.end
    if mode == "SAME":
        beyond = minimum(window.stride, beyond, scope=op.scope)
    length = window.stride * (size - 1) + beyond
    if output_padding:
        op.add_runtime_constraint((1, "<=", size))
    message = f"spatial axis {window.axis} of the output must have length 1 or more, has {length}"
    op.require((1, "<=", length), otherwise=message)
    return length


@rules.rule("DeformConv", since=19)
def deform_conv(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__DeformConv.html

    X       [N, C, D1, ..., Dn]
    W       [oC, C/group, k1, ..., kn]
    offset  [N, offset_group * k1 * ... * kn * n, o1, ..., on]
    B       [oC]
    mask    [N, offset_group * k1 * ... * kn, o1, ..., on]
    result  [N, oC, o1, ..., on]
    """
    x, w, offset, b, mask = op.tensor(0), op.tensor(1), op.tensor(2), op.optional_tensor(3), op.optional_tensor(4)
    dtype = require_same_dtype("X, W, offset, B and mask", x, w, offset, b, mask)
    shape = conv_shape(op, x.shape, w.shape, None if b is None else b.shape)
    if shape is None:
        return [SymbolicTensor(dtype)]
    kernel = kernel_shape(op, None if w.shape is None else w.shape[2:])
    groups = op.attr("offset_group", 1)
    refuse_empty(op, *(() if x.shape is None else x.shape[1:2]), *(() if w.shape is None else w.shape[:1]))
    if kernel is not None and x.shape is not None:
        require_divisible(op, x.shape[1], groups, "the channels of X")
        points = groups * product(kernel)
        sampled = (shape[0], points * len(kernel), *shape[2:])
        refined = require_shape(op, offset.shape, sampled, "offset")
        if mask is not None:
            require_shape(op, mask.shape, (shape[0], points, *shape[2:]), "mask")
        shape = (refined[0], shape[1], *refined[2:])
    return [SymbolicTensor(dtype, shape)]


@rules.rule("CausalConvWithState", since=27)
def causal_conv_with_state(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__CausalConvWithState.html

    input          [N, C, L]
    weight         [C, 1, k]
    bias           [C]
    past_state     [N, C, k - 1]
    output         [N, C, L]
    present_state  [N, C, k - 1]

    Raises SpecViolation when attribute activation is not none, silu or swish, or the kernel is empty.
    """
    activation = op.attr("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise SpecViolation(f"activation = {activation!r} is not one of none, silu, swish")
    x, w, b, past = op.tensor(0), op.tensor(1), op.optional_tensor(2), op.optional_tensor(3)
    dtype = require_same_dtype("input, weight, bias and past_state", x, w, b, past)
    require_rank(x.shape, 3, "input")
    require_rank(w.shape, 3, "weight")
    past_shape = None if past is None else require_rank(past.shape, 3, "past_state")
    n, c, length = x.shape or (None, None, None)
    carried: Dim | None = None
    if w.shape is not None:
        (c,) = merge_shape(op, (c,), w.shape[:1], "the channels of input and weight")
        op.require_equal(w.shape[1], 1, "the middle dim of weight and 1")
        refuse_empty(op, w.shape[0])
        op.require((1, "<=", w.shape[2]), otherwise="the kernel must have 1 or more elements, has 0")
        carried = w.shape[2] - 1
    if b is not None:
        (c,) = merge_shape(op, b.shape, (c,), "bias")
    state = merge_shape(op, past_shape, (n, c, carried), "past_state")
    known = fill(op, (*state, length), "the shape of input or weight is not known")
    return [SymbolicTensor(dtype, (*known[:2], known[3])), SymbolicTensor(dtype, known[:3])]


def _padding(op: OpCall) -> str:
    """Attribute auto_pad, with SAME for SAME_UPPER and SAME_LOWER.

    Raises SpecViolation when attribute pads is given and auto_pad is not NOTSET, which runtimes reject.
    """
    mode = auto_pad(op)
    if mode != "NOTSET" and op.attr("pads", ()):
        raise SpecViolation(f"pads must not be given with auto_pad = {op.attr('auto_pad')}, is {list(op.attr('pads'))}")
    return mode


def _common_rank(x: Shape | None, w: Shape | None, kernel: tuple[Dim, ...] | None) -> int | None:
    """The common rank of X, W and the result; None when the shapes `x` and `w` and the `kernel` are all unknown.

    Raises SpecViolation when the ranks of `x` and `w` and the length of `kernel` do not fit together.
    """
    if x is not None:
        if w is not None:
            require_rank(w, len(x), "the weight tensor W, as X,")
        if kernel is not None and len(kernel) != len(x) - 2:
            raise SpecViolation(f"kernel_shape must have {len(x) - 2} elements, has {len(kernel)}: {list(kernel)}")
        return len(x)
    if w is not None:
        return len(w)
    return None if kernel is None else len(kernel) + 2


def _group(op: OpCall) -> int:
    group: int = op.attr("group", 1)
    if group < 1:
        raise SpecViolation(f"group must be 1 or more, is {group}")
    return group


def _bias(op: OpCall, b: Shape | None, m: Dim | None) -> Dim | None:
    """The number of output channels: `m` or, if `m` is None, the length of the bias of shape `b`.

    Requires that the two are equal. Returns None when `m` and `b` are None.
    """
    require_rank(b, 1, "B")
    if b is None:
        return m
    return b[0] if m is None else op.require_equal(m, b[0], "the output channels of W and the length of B")


def _or_unknown(op: OpCall, dim: Dim | None, reason: str) -> Dim:
    return unknown_dims(op, 1, reason)[0] if dim is None else dim
