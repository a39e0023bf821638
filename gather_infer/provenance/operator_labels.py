"""The axis labels of operators, by family; those that move elements are in `movement_labels`."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.provenance.axis_labels import (
    AxisLabels,
    Label,
    Labels,
    Role,
    broadcast_labels,
    elementwise_labels,
    from_template,
    labels,
    own,
    template,
)
from gather_infer.provenance.row_step import RowStep

ML = "ai.onnx.ml"
MICROSOFT = "com.microsoft"


@labels(
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Celu Clip"
    " Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less"
    " LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin"
    " Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor"
)
@labels("Gelu QuickGelu FastGelu BiasGelu", MICROSOFT)
@labels("Binarizer LabelEncoder", ML)
def elementwise(step: RowStep) -> AxisLabels | None:
    if step.op.domain == "" and step.version < 7 and step.attr("broadcast"):
        return None  # aligned by the attribute `axis`
    if step.op_type == "PRelu" and step.version < 7:
        return None
    return elementwise_labels(step)


@labels("Cast CastLike Identity BitCast")
def conversion(step: RowStep) -> AxisLabels | None:
    """Casts and copies. The second input of CastLike gives a type; BitCast may change the shape."""
    if step.op_type == "BitCast" and step.result(0).shape != step.shape(0):
        return None
    return elementwise_labels(step, only=(0,), moves=True)


@labels("Dropout")
def dropout(step: RowStep) -> AxisLabels | None:
    """Outside of training, which is an input or an attribute, the data unchanged, and a mask of ones."""
    if step.version >= 12:
        mode = step.fact(2).only_element if step.has(2) else False
        is_training = mode is not False
    else:
        is_training = step.version < 7 and not step.integer("is_test")
    return None if is_training else elementwise_labels(step, only=(0,), moves=True)


@labels("QuantizeLinear DequantizeLinear")
def quantization(step: RowStep) -> AxisLabels | None:
    """A scale for all elements or for each index of one axis; not by blocks."""
    shape, scale = step.shape(0), step.shape(1)
    if shape is None or scale is None or step.integer("block_size") or len(scale) > 1:
        return None
    axis = step.axis(len(shape), 1) if scale else 0
    if axis is None:
        return None
    x = broadcast_labels(len(shape))
    parameter = (x[axis],) if scale else ()
    return AxisLabels((x, *(parameter if step.has(i) else Role.SHAPE for i in step.inputs[1:])), (x,))


# reductions and normalizations


def reduced_axes(step: RowStep, rank: int) -> set[int] | None:
    """The axes of a reduction, an attribute or input 1; None if they are not known."""
    axes: Sequence[int] | None = step.integers("axes")
    if axes is None and step.has(1):
        axes = step.integers_of(1)
        if axes is None:
            return None
    if axes is None or not len(axes):
        return set() if step.integer("noop_with_empty_axes") else set(range(rank))
    return {axis % rank for axis in axes if -rank <= axis < rank}


@labels(
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
    " ArgMax ArgMin"
)
def reduction(step: RowStep) -> AxisLabels | None:
    shape = step.shape(0)
    if shape is None:
        return None
    rank = len(shape)
    if step.op_type in ("ArgMax", "ArgMin"):
        axis = step.axis(rank, 0)
        axes = None if axis is None else {axis}
    else:
        axes = reduced_axes(step, rank)
    if axes is None:
        return None
    x = broadcast_labels(rank)
    if step.integer("keepdims", 1):
        made = tuple(own("reduced", a) if a in axes else label for a, label in enumerate(x))
    else:
        made = tuple(label for a, label in enumerate(x) if a not in axes)
    return AxisLabels((x, *(Role.PARAMETER for _ in step.inputs[1:])), (made,))


def mixing(step: RowStep, axes: set[int], *, parameters: bool = False) -> AxisLabels | None:
    """The labels of an operator whose output has the shape of input 0, with elements combined along some axes."""
    shape = step.shape(0)
    if shape is None or any(axis >= len(shape) for axis in axes):
        return None
    x = broadcast_labels(len(shape))
    others: list[Labels | Role] = []
    for index in step.inputs[1:]:
        other = step.shape(index)
        if step.states[index] is None:
            others.append(Role.SHAPE)
        elif not parameters:
            others.append(Role.PARAMETER)
        elif other is None:
            return None
        else:
            others.append(broadcast_labels(len(other)))
    return AxisLabels((x, *others), (x,), frozenset(x[axis] for axis in axes))


@labels("Softmax LogSoftmax Hardmax")
def softmax(step: RowStep) -> AxisLabels | None:
    """Along `axis`; before opset 13 along all axes from it on."""
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank, -1 if step.version >= 13 else 1)
    if rank is None or axis is None:
        return None
    return mixing(step, {axis} if step.version >= 13 else set(range(axis, rank)))


@labels("LpNormalization CumSum CumProd")
def along_axis(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    if rank is None:
        return None
    axis = step.axis(rank, -1)
    if step.op_type != "LpNormalization":
        found = step.only_element(1)
        axis = found % rank if isinstance(found, int) and -rank <= found < rank else None
    return None if axis is None else mixing(step, {axis})


@labels("MeanVarianceNormalization")
def mean_variance(step: RowStep) -> AxisLabels | None:
    """Over `axes`, by default the batch too."""
    rank = step.rank(0)
    return None if rank is None else mixing(step, {axis % rank for axis in step.integers("axes") or (0, 2, 3)})


@labels("LRN")
def local_response(step: RowStep) -> AxisLabels | None:
    return mixing(step, {1})


@labels("LayerNormalization RMSNormalization SimplifiedLayerNormalization")
@labels("SimplifiedLayerNormalization LayerNormalization", MICROSOFT)
def layer_normalization(step: RowStep) -> AxisLabels | None:
    """Over all axes from `axis` on; mean and deviation have size 1 there."""
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank, -1)
    if rank is None or axis is None:
        return None
    found = mixing(step, set(range(axis, rank)), parameters=True)
    if found is None:
        return None
    x = found.outputs[0]
    statistics = tuple(own("normalized", a) if a >= axis else label for a, label in enumerate(x))
    return AxisLabels(found.inputs, (x, *(statistics for _ in step.outputs[1:])), found.mixed)


@labels("SkipLayerNormalization SkipSimplifiedLayerNormalization", MICROSOFT)
def skip_layer_normalization(step: RowStep) -> AxisLabels | None:
    """Input and skip, [B, S, H]; the last output is their sum."""
    rank = step.rank(0)
    found = None if rank is None else mixing(step, {rank - 1}, parameters=True)
    if found is None or rank is None:
        return None
    x = found.outputs[0]
    statistics = (*x[:-1], own("normalized", rank - 1))
    return AxisLabels(found.inputs, (x, statistics, statistics, x)[: len(step.outputs)], found.mixed)


@labels("BatchNormalization")
def batch_normalization(step: RowStep) -> AxisLabels | None:
    """By channel; in training over all other axes, the batch too."""
    is_training = step.integer("training_mode") if step.version >= 14 else len(step.outputs) > 1
    if step.version < 7 or step.integer("spatial", 1) != 1:
        return None
    if is_training:
        return from_template("n! c *, c, c, c, c -> n c *, c, c, c, c", step)
    return from_template("n c ..., c, c, c, c -> n c ...", step)


# products, convolutions, pools


@labels("MatMul MatMulInteger")
def matrix_product(step: RowStep) -> AxisLabels | None:
    a, b = step.shape(0), step.shape(1)
    if not a or not b or any(step.has(index) and step.rank(index) != 0 for index in step.inputs[2:]):
        return None
    left = ("m", "k") if len(a) > 1 else ("k",)
    right = ("k", "n") if len(b) > 1 else ("k",)
    batch = broadcast_labels(max(len(a) - 2, len(b) - 2, 0))
    made = (*batch, *left[:-1], *right[1:])
    inputs = (*batch[len(batch) - max(len(a) - 2, 0) :], *left), (*batch[len(batch) - max(len(b) - 2, 0) :], *right)
    return AxisLabels((*inputs, *((() if step.has(i) else Role.SHAPE) for i in step.inputs[2:])), (made,))


@labels("QLinearMatMul")
def quantized_product(step: RowStep) -> AxisLabels | None:
    """Scales and zero points of one element only."""
    a, b = step.rank(0), step.rank(3)
    if a is None or b is None or a < 2 or b < 2 or any(step.rank(i) != 0 for i in step.inputs if i not in (0, 3)):
        return None
    batch = broadcast_labels(max(a, b) - 2)
    left, right = (*batch[len(batch) - a + 2 :], "m", "k"), (*batch[len(batch) - b + 2 :], "k", "n")
    return AxisLabels((left, (), (), right, (), (), (), ()), ((*batch, "m", "n"),))


@labels("Gemm")
def gemm(step: RowStep) -> AxisLabels | None:
    if step.version < 7:
        return None
    left = ("k", "m") if step.integer("transA") else ("m", "k")
    right = ("n", "k") if step.integer("transB") else ("k", "n")
    rank = step.rank(2) if step.has(2) else 0
    if rank is None or step.rank(0) != 2 or step.rank(1) != 2:
        return None
    bias: Labels | Role = ("m", "n")[2 - rank :] if step.has(2) else Role.SHAPE
    return AxisLabels((left, right, bias)[: len(step.inputs)], (("m", "n"),))


@labels("Einsum")
def einsum(step: RowStep) -> AxisLabels | None:
    equation = step.text("equation").replace(" ", "")
    given, arrow, made = equation.partition("->")
    terms = given.split(",")
    ranks = [step.rank(index) for index in step.inputs]
    if not arrow or len(terms) != len(step.inputs) or step.result(0).rank is None:
        return None
    found = [
        _einsum_labels(term, rank) for term, rank in zip((*terms, made), (*ranks, step.result(0).rank), strict=True)
    ]
    known = tuple(labels for labels in found if labels is not None)
    return AxisLabels(known[:-1], (known[-1],)) if len(known) == len(found) else None


def _einsum_labels(term: str, rank: int | None) -> Labels | None:
    """The labels of a term; None for one with a repeated letter, or that does not fit the rank."""
    before, dots, after = term.partition("...")
    letters = before + after
    if rank is None or len(set(letters)) != len(letters) or rank < len(letters) or (not dots and rank != len(letters)):
        return None
    return (*before, *broadcast_labels(rank - len(letters)), *after)


template("n c *, o i *, o -> n o *", "Conv")
template("n c *, i o *, o -> n o *", "ConvTranspose")
template("n c *, o i *, n g *, o, n m * -> n o *", "DeformConv")
template("n c *, o i *, ?, ? -> n o *", "ConvInteger")
template("n c *, ?, ?, ?, ?, ?, ?, ?, ? -> n o *", "QLinearConv")
template("n c * -> n c *", "MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool")
template("n c *, c, c -> n c *", "InstanceNormalization")
template("n c! *, p, p -> n c *", "GroupNormalization")
template("n * -> n *", "DepthToSpace SpaceToDepth")
template("n c *, n * -> n c *", "GridSample")
template("n *, ? -> n *", "AffineGrid")
template("n *, ?, ? -> n *", "Col2Im")
template("... r s -> ...", "Det")

# recurrences, attention, signals

_LSTM = "s! b i, d g i, d g r, d g, b, d b r, d b h!, d p -> s d b h, d b h, d b h"
_GRU = "s! b i, d g i, d g r, d g, b, d b r -> s d b h, d b h"
_LSTM_BATCHES_FIRST = "b s! i, d g i, d g r, d g, b, b d r, b d h!, d p -> b s d h, b d h, b d h"
_GRU_BATCHES_FIRST = "b s! i, d g i, d g r, d g, b, b d r -> b s d h, b d h"


@labels("LSTM GRU RNN")
def recurrence(step: RowStep) -> AxisLabels | None:
    first = step.integer("layout") == 1
    if step.op_type == "LSTM":
        return from_template(_LSTM_BATCHES_FIRST if first else _LSTM, step)
    return from_template(_GRU_BATCHES_FIRST if first else _GRU, step)


@labels("Attention")
def attention(step: RowStep) -> AxisLabels | None:
    """Query, key, value, mask, past key and value, lengths; [B, heads, S, E] or [B, S, heads*E]."""
    q, k, v = (step.rank(index) for index in range(3))
    if q not in (3, 4) or k != q or v != q or step.version < 23:
        return None
    query, key = (("b", "h", "s", "e"), ("b", own("k"), "t", "e")) if q == 4 else (("b", "s", "x"), ("b", "t", "y"))
    value: Labels = ("b", own("v"), "t", "w") if q == 4 else ("b", "t", "z")
    inputs: list[Labels | Role] = [query, key, value]
    for index in step.inputs[3:]:
        rank = step.rank(index)
        if step.states[index] is None:
            inputs.append(Role.SHAPE)
        elif index == 3:
            if rank is None or not 2 <= rank <= 4:
                return None
            inputs.append(("b", own("mask"), own("rows"), own("columns"))[4 - rank :])
        elif rank is None or rank < 1:
            return None
        else:
            inputs.append(("b", *(own(index, axis) for axis in range(1, rank))))
    output: Labels = ("b", "h", "s", "w") if q == 4 else ("b", "s", "o")
    made = [output, *(("b", *(own("out", i, a) for a in range(1, 4))) for i in step.outputs[1:])]
    return AxisLabels(tuple(inputs), tuple(made))


@labels("RotaryEmbedding")
def rotary_embedding(step: RowStep) -> AxisLabels | None:
    """X [B, heads, S, E] or [B, S, heads*E]; caches [P, E/2] with position ids [B, S], or [B, S, E/2] without."""
    text = "b h s e" if step.rank(0) == 4 else "b s e"
    cache = "p c, p c, b s" if step.has(3) else "b s c, b s c"
    return from_template(f"{text}, {cache} -> {text.replace('e', 'f')}", step)


@labels("DFT")
def fourier(step: RowStep) -> AxisLabels | None:
    """Along one axis, an input from opset 20 on; the last axis has real and imaginary parts."""
    shape = step.shape(0)
    if not shape:
        return None
    rank = len(shape)
    found = step.integer("axis", 1) if step.version < 20 else (step.only_element(2) if step.has(2) else -2)
    if not isinstance(found, int) or not -rank <= found < rank:
        return None
    x: list[Label] = list(broadcast_labels(rank))
    made = list(x)
    for axis in {found % rank, rank - 1}:
        made[axis] = own("transformed", axis)
    return AxisLabels((tuple(x), *(Role.PARAMETER for _ in step.inputs[1:])), (tuple(made),))


template("b *, ?, ?, ? -> b *", "STFT")


# classical models: a row for each sample


template("n f -> n g", "TreeEnsembleRegressor LinearRegressor SVMRegressor Normalizer", ML)
template("n f -> n, n c", "TreeEnsembleClassifier LinearClassifier SVMClassifier", ML)
template("n f! -> n f", "Scaler Imputer", ML)  # with a parameter for each feature
