"""Rules of normalizations: the first output has the shape of the first input."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.preconditions import (
    normalize_axis,
    refuse_empty,
    refuse_other_ranks,
    require_broadcast_to,
    require_divisible,
    require_min_rank,
    require_rank,
    require_same_dtype,
    unknown_dims,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("")


def channel_dim(op: OpCall, x: Shape | None, vectors: dict[str, SymbolicTensor]) -> Dim | None:
    """The channel dim C of X, equal to the length of every vector; None when all shapes are unknown.

    x        shape of X: [N, C, ...], or [N] for C = 1
    vectors  1-D inputs by name

    Raises SpecViolation when one of `vectors` is not 1-D or does not have length C (GI212).
    """
    c: Dim | None = None if x is None else x[1] if len(x) > 1 else 1
    for name, vector in vectors.items():
        shape = require_rank(vector.shape, 1, name)
        if shape is not None and shape[0] is not c:
            c = shape[0] if c is None else op.require_equal(c, shape[0], f"the channels of X and the length of {name}")
    return c


def with_channels(x: Shape | None, c: Dim | None) -> Shape | None:
    """Shape `x` [N, C, ...] with C replaced by `c`; unchanged when `c` is None or `x` has no axis C."""
    return x if x is None or c is None or len(x) < 2 else (x[0], c, *x[2:])


def batch_normalization(op: OpCall, *, spatial: bool, same_dtype: bool) -> list[SymbolicTensor]:
    """The outputs of BatchNormalization: Y and, if the node has more outputs, the statistics.

    X                    [N, C, D1, ..., Dn], or [N] with C = 1
    scale, B, mean, var  [C]; [C, D1, ..., Dn] when not `spatial`
    Y                    shape of X
    other outputs        shape and element type of mean

    same_dtype   all inputs have one element type; otherwise scale and B share one, and mean and var share one

    Raises SpecViolation when element types or, if `spatial`, the lengths of scale, B, mean or var do not fit.
    """
    x, scale, b, mean, var = (op.tensor(i) for i in range(5))
    require_min_rank(x.shape, 1, "X")
    if same_dtype:
        dtype = require_same_dtype("X, scale, B, mean and var", x, scale, b, mean, var)
        statistics = dtype
    else:
        dtype = x.dtype
        require_same_dtype("scale and B", scale, b)
        statistics = require_same_dtype("mean and var", mean, var)
    if not spatial:
        y = SymbolicTensor(dtype, x.shape)
        return [y] + [SymbolicTensor(statistics, mean.shape)] * (len(op.outputs) - 1)
    c = channel_dim(op, x.shape, {"scale": scale, "B": b, "mean": mean, "var": var})
    y = SymbolicTensor(dtype, with_channels(x.shape, c))
    if len(op.outputs) == 1:
        return [y]
    if c is None:
        (c,) = unknown_dims(op, 1, "the channels of X are not known")
    return [y] + [SymbolicTensor(statistics, (c,))] * (len(op.outputs) - 1)


@rules.rule("BatchNormalization", since=1)
def batch_normalization_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__BatchNormalization.html

    Versions 1 to 8 have attribute `spatial` and up to five outputs.
    """
    return batch_normalization(op, spatial=bool(op.attr("spatial", 1)), same_dtype=True)


@rules.rule("BatchNormalization", since=9)
def batch_normalization_9(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__BatchNormalization.html (version 9 drops attribute spatial)"""
    return batch_normalization(op, spatial=True, same_dtype=True)


@rules.rule("BatchNormalization", since=14)
def batch_normalization_14(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__BatchNormalization.html

    Version 14 outputs statistics in training mode only, and lets mean and var have another element type than X.
    Version 15 also lets scale and B have another element type than X.
    """
    if len(op.outputs) > 1 and any(op.outputs[1:]) and not op.attr("training_mode", 0):
        raise SpecViolation(f"training_mode = 0 has 1 output, the node has {len(op.outputs)}", "GI107")
    return batch_normalization(op, spatial=True, same_dtype=False)


@rules.rule("InstanceNormalization", since=1)
def instance_normalization(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html

    input [N, C, D1, ..., Dn], n >= 1; scale, B [C] -> shape of input
    """
    x, scale, b = op.tensor(0), op.tensor(1), op.tensor(2)
    require_min_rank(x.shape, 3, "input")
    c = channel_dim(op, x.shape, {"scale": scale, "B": b})
    return [SymbolicTensor(require_same_dtype("input, scale and B", x, scale, b), with_channels(x.shape, c))]


@rules.rule("GroupNormalization", since=18)
def group_normalization_18(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GroupNormalization.html (version 18: scale and bias are [num_groups])"""
    x, scale, bias = op.tensor(0), op.tensor(1), op.tensor(2)
    groups = _check_groups(op, x)
    for name, vector in (("scale", scale), ("bias", bias)):
        shape = require_rank(vector.shape, 1, name)
        if shape is not None:
            with op.unenforced():  # onnxruntime runs the function body, which broadcasts
                op.require_equal(shape[0], groups, f"the length of {name} and num_groups")
    return [SymbolicTensor(require_same_dtype("X, scale and bias", x, scale, bias), x.shape)]


@rules.rule("GroupNormalization", since=21)
def group_normalization(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GroupNormalization.html (version 21: scale and bias are [C])"""
    x, scale, bias = op.tensor(0), op.tensor(1), op.tensor(2)
    _check_groups(op, x)
    with op.unenforced():  # onnxruntime runs the function body, which broadcasts
        c = channel_dim(op, x.shape, {"scale": scale, "bias": bias})
    return [SymbolicTensor(require_same_dtype("X, scale and bias", x, scale, bias), with_channels(x.shape, c))]


def _check_groups(op: OpCall, x: SymbolicTensor) -> int:
    groups: int = op.attr("num_groups")
    if groups < 1:
        raise SpecViolation(f"num_groups must be 1 or more, is {groups}")
    require_min_rank(x.shape, 2, "X")
    if x.shape is not None:
        require_divisible(op, x.shape[1], groups, "the channels of X")
        refuse_empty(op, *x.shape)
    return groups


@rules.rule("LayerNormalization", since=17)
def layer_normalization(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__LayerNormalization.html

    X                [d0, ..., dr-1], r >= 1
    Scale, B         broadcast to the shape of X
    Y                shape of X
    Mean, InvStdDev  [d0, ..., daxis-1, 1, ..., 1], of element type stash_type
    """
    x, scale, b = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = require_same_dtype("X, Scale and B", x, scale, b)
    stash = op.attr("stash_type", 1)
    if stash not in (DType.FLOAT32, DType.BFLOAT16):
        raise SpecViolation(
            f"stash_type = {stash} is not {DType.FLOAT32.value} (float32) or {DType.BFLOAT16.value} (bfloat16)"
        )
    further = len(op.outputs) - 1
    if x.shape is None:
        return [SymbolicTensor(dtype), *[SymbolicTensor(DType(stash))] * further]
    rank = len(x.shape)
    require_min_rank(x.shape, 1, "X")
    axis = normalize_axis(op.attr("axis", -1), rank)
    refuse_empty(op, *x.shape[axis:])
    shape = require_broadcast_to(op, scale.shape, x.shape, "Scale")
    if b is not None:
        shape = require_broadcast_to(op, b.shape, shape, "B")
    y = SymbolicTensor(dtype, shape)
    if not further:
        return [y]
    return [y, *[SymbolicTensor(DType(stash), shape[:axis] + (1,) * (rank - axis))] * further]


@rules.rule("RMSNormalization", since=23)
def rms_normalization(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__RMSNormalization.html

    X [d0, ..., dr-1], scale that broadcasts to the shape of X -> shape of X, element type of scale
    """
    x, scale = op.tensor(0), op.tensor(1)
    if x.shape is None:
        return [SymbolicTensor(scale.dtype)]
    require_min_rank(x.shape, 1, "X")
    axis = normalize_axis(op.attr("axis", -1), len(x.shape))
    refuse_empty(op, *x.shape[axis:])
    return [SymbolicTensor(scale.dtype, require_broadcast_to(op, scale.shape, x.shape, "scale"))]


@rules.rule("LpNormalization", since=1)
def lp_normalization(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__LpNormalization.html

    input -> element type and shape of input
    """
    x = op.tensor(0)
    if op.attr("p", 2) not in (1, 2):
        raise SpecViolation(f"p = {op.attr('p')} is not 1 or 2")
    if x.shape is not None:
        normalize_axis(op.attr("axis", -1), len(x.shape))
    return [SymbolicTensor(x.dtype, x.shape)]


@rules.rule("MeanVarianceNormalization", since=9)
def mean_variance_normalization(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html

    X -> element type and shape of X
    """
    x = op.tensor(0)
    if x.shape is not None:
        for axis in op.attr("axes", (0, 2, 3)):
            normalize_axis(axis, len(x.shape), "axes element")
    return [SymbolicTensor(x.dtype, x.shape)]


@rules.rule("LRN", since=1)
def lrn(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__LRN.html

    X [N, C, D1, ..., Dn] -> shape of X
    """
    x = op.tensor(0)
    require_min_rank(x.shape, 2, "X")
    refuse_other_ranks(op, x.shape, (4,), "X")
    return [SymbolicTensor(x.dtype, x.shape)]
