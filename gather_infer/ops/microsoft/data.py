"""Rules of com.microsoft for signals, images, strings, embeddings, ranges and data movement."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.signature import ALL_TYPES, FLOATS, IEEE_FLOATS, Inferred, contrib
from gather_infer.ops.onnx.expand import arange
from gather_infer.ops.onnx.pad import pad
from gather_infer.ops.onnx.reshape import unsqueeze
from gather_infer.ops.onnx.vision import check_images
from gather_infer.ops.semantics.operands import element_dim, elements_of
from gather_infer.ops.semantics.preconditions import (
    fill,
    known_value,
    merge_shape,
    normalize_axis,
    refuse_empty,
    require_divisible,
    require_min_rank,
    require_rank,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, floordiv, known_eq, known_le
from gather_infer.tensor import DType, SymbolicTensor, ValueRange, from_values, make_values

rules = RuleSet("com.microsoft")

FOURIER = "normalized:int onesided:int signal_ndim:int"


@contrib(rules, "Rfft", "X:T -> Y:T", FOURIER, T=IEEE_FLOATS)
def rfft(op: OpCall) -> Inferred:
    """X [..., n] -> Y [..., n//2 + 1, 2], real and imaginary parts on the last axis"""
    shape = require_min_rank(op.tensor(0).shape, 1, "X")
    if shape is None:
        return [None]
    return [(*shape[:-1], floordiv(shape[-1], 2, op.scope) + 1, 2)]


@contrib(rules, "Irfft", "X:T -> Y:T", FOURIER + "!", T=IEEE_FLOATS)
def irfft(op: OpCall) -> Inferred:
    """X [..., n//2 + 1, 2] -> Y [..., n], for an even n"""
    shape = require_min_rank(op.tensor(0).shape, 2, "X")
    if shape is None:
        return [None]
    op.require_equal(shape[-1], 2, "the last dim of X and 2")
    length = 2 * (shape[-2] - 1)
    op.add_implied_fact(length)
    return [(*shape[:-2], length)]


@contrib(
    rules, "GridSample", "X:T1 Grid:T1 -> Y:T2", "align_corners:int mode:string padding_mode:string",
    T1=ALL_TYPES, T2=IEEE_FLOATS,
)  # fmt: skip
def grid_sample(op: OpCall) -> Inferred:
    """X [N, C, H, W], Grid [N, OH, OW, 2] -> [N, C, OH, OW]"""
    x, grid = require_rank(op.tensor(0).shape, 4, "X"), require_rank(op.tensor(1).shape, 4, "Grid")
    refuse_empty(op, *(x or ())[2:])
    n, c = (None, None) if x is None else x[:2]
    n, height, width, _ = merge_shape(op, grid, (n, None, None, 2), "Grid")
    return [SymbolicTensor(op.tensor(0).dtype, fill(op, (n, c, height, width), "the shape of X or Grid is not known"))]


@contrib(
    rules, "CropAndResize", "X:T1 rois:T1 batch_indices:int32 crop_size:int32 -> Y:T1",
    "extrapolation_value:float mode:string", addresses={2: 0}, operands={3: "two sizes >= 1"}, dims=(3,),
    T1=IEEE_FLOATS,
)  # fmt: skip
def crop_and_resize(op: OpCall) -> Inferred:
    """X [N, C, H, W], rois [R, 4], batch_indices [R], crop_size [2] -> Y [R, C, crop_size[0], crop_size[1]]

    batch_indices are in [0, N - 1].
    """
    check_images(op, op.tensor(0), 2)
    x, rois = require_rank(op.tensor(0).shape, 4, "X"), require_rank(op.tensor(1).shape, 2, "rois")
    indices = require_rank(op.tensor(2).shape, 1, "batch_indices")
    sizes = elements_of(op.tensor(3), "crop_size")
    if sizes is not None and len(sizes) != 2:
        raise SpecViolation(f"crop_size must have 2 elements, has {len(sizes)}")
    count: Dim | None = None if rois is None else rois[0]
    if rois is not None:
        op.require_equal(rois[1], 4, "the last dim of rois and 4")
    if indices is not None:
        count = (
            indices[0]
            if count is None
            else op.require_equal(count, indices[0], "the lengths of rois and batch_indices")
        )
    if count is None:
        count = op.fresh("the shape of rois is not known")
    height, width = (element_dim(op, e, "an element of crop_size") for e in sizes or (None, None))
    return [(count, op.fresh("the shape of X is not known") if x is None else x[1], height, width)]


@contrib(
    rules, "Tokenizer", "X:string -> Y:string",
    "mark:int! mincharnum:int! pad_value:string! separators:strings tokenexp:string",
)  # fmt: skip
def tokenizer(op: OpCall) -> Inferred:
    """X [C] or [N, C] -> Y [C, T] or [N, C, T], where T is the largest number of tokens in a string"""
    shape = op.tensor(0).shape
    if shape is None:
        return [None]
    require_rank(shape, (1, 2), "X")
    return [(*shape, op.fresh("the number of tokens depends on the data"))]


@contrib(
    rules, "WordConvEmbedding", "Sequence:int32 W:float32 B:float32 C:float32 -> Y:float32",
    "char_embedding_size:int conv_window_size:int embedding_size:int", unchecked_sizes=(0, 1, 2, 3)
)  # fmt: skip
def word_conv_embedding(op: OpCall) -> Inferred:
    """Sequence [words, characters], W [F, 1, window, E], B [F], C [alphabet, E] -> [words, F]"""
    words = require_rank(op.tensor(0).shape, 2, "Sequence")
    weights, bias = require_rank(op.tensor(1).shape, 4, "W"), require_rank(op.tensor(2).shape, 1, "B")
    chars = require_rank(op.tensor(3).shape, 2, "C")
    if words is None:
        return [None]
    filters: Dim | None = None if weights is None else weights[0]
    if bias is not None:
        filters = (
            bias[0] if filters is None else op.require_equal(filters, bias[0], "the filters of W and the length of B")
        )
    if weights is not None and chars is not None:
        op.require_equal(weights[3], chars[1], "the last dims of W and C")
    return [(words[0], op.fresh("the shape of W is not known") if filters is None else filters)]


@contrib(rules, "CDist", "A:T B:T -> C:T", "metric:string", T=frozenset({DType.FLOAT32, DType.FLOAT64}))
def pairwise_distance(op: OpCall) -> Inferred:
    """A [M, N], B [K, N] -> [M, K]"""
    a, b = require_rank(op.tensor(0).shape, 2, "A"), require_rank(op.tensor(1).shape, 2, "B")
    refuse_empty(op, *(a or ()), *(b or ()))
    if a is not None and b is not None:
        op.require_equal(a[1], b[1], "the last dims of A and B")
    m, k = (op.fresh("the shape of A or B is not known") if s is None else s[0] for s in (a, b))
    return [(m, k)]


@contrib(rules, "DynamicTimeWarping", "input:float32 -> output:int32")
def dynamic_time_warping(op: OpCall) -> Inferred:
    """[M, N] or [1, M, N] -> [2, n], max(M, N) <= n < M + N"""
    shape = op.tensor(0).shape
    length = op.fresh("the length of the path depends on the data")
    if shape is not None:
        require_rank(shape, (2, 3), "input")
        if len(shape) == 3:
            op.require_equal(shape[0], 1, "the first dim of input and 1")
        for dim in shape[-2:]:
            op.add_implied_fact(length - dim)
        op.add_implied_fact(shape[-2] + shape[-1] - 1 - length)
    return [(2, length)]


@contrib(rules, "UnfoldTensor", "input:T -> output:T", "dim:int size:int! step:int", moves=0, T=ALL_TYPES | FLOATS)
def unfold_tensor(op: OpCall) -> Inferred:
    """Slices of `size` elements along axis `dim`, one every `step` elements.

    [..., d, ...] -> [..., (d - size)//step + 1, ..., size]
    """
    shape = op.tensor(0).shape
    size, step = op.attr("size"), op.attr("step", 1)
    for name, value in (("size", size), ("step", step)):
        if value < 1:
            raise SpecViolation(f"{name} must be 1 or more, is {value}")
    if shape is None:
        return [None]
    axis = normalize_axis(op.attr("dim", -1), len(shape), "dim")
    message = f"size must be {shape[axis]} or less, the dim of axis {axis}, is {size}"
    op.require((size, "<=", shape[axis]), otherwise=message, code="GI212")
    return [(*shape[:axis], floordiv(shape[axis] - size, step, op.scope) + 1, *shape[axis + 1 :], size)]


@contrib(rules, "ExpandDims", "X:T axis:int32 -> Y:T", moves=0, permutes=True, T=ALL_TYPES)
def expand_dims(op: OpCall) -> Inferred:
    """X of rank r with an axis of length 1 inserted at position `axis`, an input of one element in [-r - 1, r]."""
    x, axis = op.tensor(0), known_value(op.tensor(1))
    if x.shape is None or isinstance(axis, int):
        return [unsqueeze(op, x, [axis]) if isinstance(axis, int) else SymbolicTensor(x.dtype)]
    if x.shape and any(known_eq(dim, 1, op.scope) is not True for dim in x.shape):
        return [tuple(op.fresh("axis is not known") for _ in range(len(x.shape) + 1))]
    return [(1,) * (len(x.shape) + 1)]


@contrib(
    rules,
    "Pad",
    "data:T pads:int64 value?:T -> output:T",
    "mode:string",
    T=IEEE_FLOATS,
    operands={1: "two pads per axis, fit for its length"},
    dims=(1,),
)
def pad_microsoft(op: OpCall) -> Inferred:
    """As Pad of ai.onnx 11; for data of rank r, the shape of pads is [2r] or [1, 2r]."""
    pads = op.tensor(1)
    if pads.shape is not None and len(pads.shape) == 2:
        op.require_equal(pads.shape[0], 1, "the first dim of pads and 1")
        flat = None if pads.values is None else pads.values.reshape(-1)
        pads = SymbolicTensor(pads.dtype, pads.shape[1:], flat)
    elements = elements_of(pads, "pads")
    return [pad(op, op.tensor(0), elements, fill=op.optional_tensor(2), mode=op.attr("mode", "constant"))]


@contrib(
    rules, "Range", "start:T limit:T delta?:T -> Y:T",
    T=frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT16, DType.INT32, DType.INT64}),
)  # fmt: skip
def range_microsoft(op: OpCall) -> Inferred:
    """As Range of ai.onnx; without delta, the step is 1."""
    start, limit = op.tensor(0), op.tensor(1)
    dtype = start.dtype or limit.dtype
    one = SymbolicTensor() if dtype is None else from_values(dtype, make_values(1.0 if dtype.is_float else 1))
    return [arange(op, start, limit, op.tensor(2) if op.has(2) else one)]


@contrib(rules, "Unique", "x:T -> y:T idx:int64 counts:int64", moves=0, T=ALL_TYPES)
def unique_microsoft(op: OpCall) -> Inferred:
    """x [n] -> y [u], idx [n], counts [u]

    y       the different elements of x, in the order of their first occurrence
    idx     for each element of x, its position in y
    counts  for each element of y, the number of its occurrences in x
    """
    shape = require_rank(op.tensor(0).shape, 1, "x")
    count = op.fresh("the number of unique elements depends on the data")
    length: Dim = op.fresh("x has no known shape") if shape is None else shape[0]
    op.add_implied_fact(length - count)
    if known_le(1, length, op.scope) is True:
        op.add_implied_fact(count - 1)
    places = SymbolicTensor(DType.INT64, (length,), None, ValueRange(0, count - 1))
    return [(count,), places, SymbolicTensor(DType.INT64, (count,), None, ValueRange(1, length))]


@contrib(
    rules, "AttnLSTM",
    "X:T W:T R:T B?:T sequence_lens?:int32 initial_h?:T initial_c?:T P?:T QW?:T MW?:T V?:T M?:T "
    "memory_seq_lens?:int32 AW?:T -> Y?:T Y_h?:T Y_c?:T",
    "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string hidden_size:int "
    "input_forget:int", T=frozenset({DType.FLOAT32, DType.FLOAT64}),
)  # fmt: skip
def attention_lstm(op: OpCall) -> Inferred:
    """LSTM with attention: X [L, N, I], R [D, 4*H, H] -> Y [L, D, N, H], Y_h [D, N, H], Y_c [D, N, H]

    L time steps, batch size N, input size I, D directions, hidden size H.
    """
    direction = op.attr("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise SpecViolation(f"direction = {direction!r} is not one of forward, reverse, bidirectional")
    d = 2 if direction == "bidirectional" else 1
    x, r = require_rank(op.tensor(0).shape, 3, "X"), require_rank(op.tensor(2).shape, 3, "R")
    hidden: Dim | None = op.attr("hidden_size")
    if hidden is None and r is not None:
        require_divisible(op, r[1], 4, "R.shape[1]")
        hidden = r[2]
    if hidden is None:
        hidden = op.fresh("the hidden size is not known from any input")
    if x is None:
        length, n = op.fresh("the shape of X is not known"), op.fresh("the shape of X is not known")
        return [(length, d, n, hidden), (d, n, hidden), (d, n, hidden)]
    return [(x[0], d, x[1], hidden), (d, x[1], hidden), (d, x[1], hidden)]
