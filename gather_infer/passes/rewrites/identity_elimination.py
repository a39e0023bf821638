"""Identity elimination: nodes whose output equals one of their inputs."""

from __future__ import annotations

from onnx import TensorProto

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.float_facts import has_no_negative_zero, has_no_signalling_nan, zero_signs
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType

rewrites = RewriteSet()


@rewrites.rewrites("Identity")
def identity(match: Match) -> Rewrite:
    """Identity(x) == x"""
    return match.replace_with("Identity(x) == x", match.input(0))


@rewrites.rewrites("Reshape", since=5, name="same-shape")
@rewrites.rewrites("Flatten", "Squeeze", "Unsqueeze", "Expand", name="same-shape")
@rewrites.rewrites("Tile", since=6, name="same-shape")
def same_shape(match: Match) -> Rewrite | None:
    """op(x) == x, where op keeps the elements in order (or repeats them), and the result has the shape of x"""
    if not match.same_shape(match.shape(0), match.result().shape):
        return None
    return match.replace_with(f"{match.op_type}(x) == x, the shape of x is the result's", match.input(0))


@rewrites.rewrites("Transpose")
def transpose_in_order(match: Match) -> Rewrite | None:
    """Transpose(x, perm) == x, where only axes of size 1 move, and the result has the shape of x"""
    perm = match.integers("perm")
    if perm is not None and perm == tuple(range(len(perm))):
        return match.replace_with("Transpose(x, perm=0..r-1) == x", match.input(0))
    if not match.same_shape(match.shape(0), match.result().shape) or not preserves_order(match):
        return None
    return match.replace_with("Transpose(x, perm) == x, only axes of size 1 move, and the shape stays", match.input(0))


def preserves_order(match: Match) -> bool:
    """Whether a Transpose is known to move only axes of size 1, so that the elements keep their order."""
    shape = match.shape(0)
    if shape is None:
        return False
    perm = match.integers("perm") or tuple(reversed(range(len(shape))))
    moved = [axis for axis in perm if not match.equal(shape[axis], 1)]
    return moved == sorted(moved)


@rewrites.rewrites("Slice")
def slice_of_all(match: Match) -> Rewrite | None:
    """Slice(x, ..., steps > 0) == x, where the result has the shape of x"""
    if match.input(4):
        steps = match.integers_of(4)
        if steps is None or any(step < 1 for step in steps):
            return None
    if not match.same_shape(match.shape(0), match.result().shape):
        return None
    return match.replace_with("Slice(x) == x, steps are positive and the shape of x is the result's", match.input(0))


@rewrites.rewrites("Pad", since=2)
def pad_of_nothing(match: Match) -> Rewrite | None:
    """Pad(x, pads=0) == x"""
    pads = match.integers("pads") if match.version < 11 else match.integers_of(1)
    if pads is None or any(pads):
        return None
    return match.replace_with("Pad(x, pads=0) == x", match.input(0))


@rewrites.rewrites("Cast", since=6)
def cast_to_own_type(match: Match) -> Rewrite | None:
    """Cast(x, to=type of x) == x"""
    dtype = match.fact(0).dtype
    if dtype is None or match.integer("to", TensorProto.UNDEFINED) != dtype.value:
        return None
    return match.replace_with("Cast(x, to=type of x) == x", match.input(0))


@rewrites.rewrites("CastLike", since=15)
def cast_like_own_type(match: Match) -> Rewrite | None:
    """CastLike(x, y) == x, where x and y have one type"""
    dtype = match.fact(0).dtype
    if dtype is None or dtype is not match.fact(1).dtype:
        return None
    return match.replace_with("CastLike(x, y) == x, x and y have one type", match.input(0))


@rewrites.rewrites("Concat", since=4)
def concat_without_empty_parts(match: Match) -> Rewrite | None:
    """Concat(x) == x; Concat(..., e, ...) == Concat(..., ...), where e has size 0 along the axis"""
    if len(match.inputs) == 1:
        return match.replace_with("Concat(x) == x", match.input(0))
    rank = match.result().rank
    axis = match.axis(rank)
    if axis is None:
        return None
    parts = [name for at, name in enumerate(match.inputs) if not _is_empty(match, at, axis, rank)]
    if len(parts) == len(match.inputs):
        return None
    law = "Concat(..., e, ...) == Concat(..., ...), e has size 0 along the axis"
    if len(parts) < 2:
        return match.replace_with(law, parts[0] if parts else match.input(0))
    return match.replace_with(law, *match.copy(match, parts))


def _is_empty(match: Match, at: int, axis: int, rank: int | None) -> bool:
    shape = match.shape(at)
    return shape is not None and len(shape) == rank and match.equal(shape[axis], 0)


@rewrites.rewrites("Split", since=2)
def split_in_one(match: Match) -> Rewrite | None:
    """Split(x) == x, where there is one part"""
    return match.replace_with("Split(x) == x, there is one part", match.input(0)) if len(match.outputs) == 1 else None


@rewrites.rewrites("Dropout", since=7)
def dropout_in_inference(match: Match) -> Rewrite | None:
    """Dropout(x, training_mode=false) == x, where the output `mask` is dead"""
    if match.is_needed(1):
        return None
    if match.version >= 12 and match.input(2) and all_of(match, 2) is not False:
        return None
    kept = [match.input(0), *[""] * (len(match.outputs) - 1)]
    return match.replace_with("Dropout(x) == x outside of training", *kept)


@rewrites.rewrites("Where", since=9)
def where_of_one_side(match: Match) -> Rewrite | None:
    """Where(true, x, y) == x; Where(false, x, y) == y; Where(c, x, x) == x, if x (or y) has the result's shape

    Floats are left alone: onnxruntime adds 0.0 for the side that it does not select, so that -0.0 becomes 0.0.
    """
    dtype = match.result().dtype
    if dtype is None or not (dtype.is_integer or dtype in (DType.BOOL, DType.STRING)):
        return None
    side = all_of(match, 0)
    if match.input(1) == match.input(2):
        side = True
    if side is None:
        return None
    at = 1 if side else 2
    if not match.same_shape(match.shape(at), match.result().shape):
        return None
    return match.replace_with(
        "Where(c, x, y) == x, c is true throughout or y is x (else y); the shape stays", match.input(at)
    )


@rewrites.rewrites("Clip", since=12)
def clip_within_limits(match: Match) -> Rewrite | None:
    """Clip(x, lo, hi) == x, where x is integer and within the given limits

    Floats are left alone: an omitted limit is the largest finite number in some runtimes, which clip infinity to it.
    """
    dtype, span = match.fact(0).dtype, match.fact(0).value_range
    if dtype is None or not dtype.is_integer:
        return None
    known = match.elements(0)
    lows = known if known is not None else (span.lo,) if span is not None else (None,)
    highs = known if known is not None else (span.hi,) if span is not None else (None,)
    lo, hi = (match.elements(at) if match.input(at) else () for at in (1, 2))
    if lo is None or hi is None:
        return None
    if not all(low is not None and match.at_most(limit, low) for limit in lo for low in lows):
        return None
    if not all(high is not None and match.at_most(high, limit) for limit in hi for high in highs):
        return None
    return match.replace_with("Clip(x, lo, hi) == x, x is integer and lo <= x <= hi", match.input(0))


@rewrites.rewrites("Sum", "Max", "Min", since=6)
def of_one(match: Match) -> Rewrite | None:
    """Sum(x) == x; Max(x) == x; Min(x) == x

    Mean is left out: its division makes a signalling NaN quiet.
    """
    return match.replace_with(f"{match.op_type}(x) == x", match.input(0)) if len(match.inputs) == 1 else None


_NEUTRAL = {
    # operator: the right operand that changes no integer (bool), and whether it may be the left one
    "Add": (0, True), "Sub": (0, False), "Mul": (1, True), "Div": (1, False),
    "Or": (0, True), "Xor": (0, True), "And": (1, True),
}  # fmt: skip


@rewrites.rewrites(*_NEUTRAL, since=7)
def neutral_element(match: Match) -> Rewrite | None:
    """x + 0 == x - 0 == x * 1 == x / 1 == x of integers, x | false == x ^ false == x & true == x of booleans

    The result has the shape of x. Floats are left alone: -0.0 + 0.0 is 0.0, and arithmetic makes a signalling NaN
    quiet.
    """
    neutral, commutes = _NEUTRAL[match.op_type]
    for at in (0, 1) if commutes else (0,):
        dtype = match.fact(at).dtype
        if dtype is None or not (dtype.is_integer or dtype is DType.BOOL):
            return None
        if _is_all(match, 1 - at, neutral) and match.same_shape(match.shape(at), match.result().shape):
            is_bool = dtype is DType.BOOL
            law = "x | false == x ^ false == x & true" if is_bool else "x + 0 == x - 0 == x * 1 == x / 1"
            return match.replace_with(f"{law} == x, x is {'bool' if is_bool else 'integer'}", match.input(at))
    return None


_ONES = {DType.FLOAT32: 0x3F800000, DType.FLOAT64: 0x3FF0000000000000}


@rewrites.rewrites("Mul", "Div", since=7)
def times_one(match: Match) -> Rewrite | None:
    """x * 1 == x / 1 == x, where arithmetic has computed the floats x

    So x has no signalling NaN, which the operation would make quiet. The result has the shape of x.
    """
    for at in (0, 1) if match.op_type == "Mul" else (0,):
        if not has_no_signalling_nan(match, match.input(at)) or not match.same_shape(
            match.shape(at), match.result().shape
        ):
            continue
        if _is_ones(match, 1 - at):
            return match.replace_with("x * 1 == x / 1 == x, x is computed", match.input(at))
    return None


@rewrites.rewrites("Add", "Sub", since=7)
def plus_zero(match: Match) -> Rewrite | None:
    """x - 0.0 == x + -0.0 == x; x + 0.0 == x - -0.0 == x, where no float x is -0.0

    The zeros are constant floats. Arithmetic has computed x, so that x has no signalling NaN. The result has the shape
    of x.
    """
    for at in (0, 1) if match.op_type == "Add" else (0,):
        signs = zero_signs(match, 1 - at)
        if signs is None or not match.same_shape(match.shape(at), match.result().shape):
            continue
        if not has_no_signalling_nan(match, match.input(at)):
            continue
        makes_positive = signs[0] if match.op_type == "Add" else signs[1]
        if not makes_positive or has_no_negative_zero(match, match.input(at)):
            return match.replace_with("x - 0.0 == x; x + 0.0 == x, x is computed and never -0.0", match.input(at))
    return None


def _is_ones(match: Match, at: int) -> bool:
    """Whether the input at index `at` is a constant of float32 or float64 whose elements are all 1."""
    constant = match.constant(at)
    if constant is None or constant.data_type not in _ONES:
        return False
    return bool((constant.plain == _ONES[DType(constant.data_type)]).all())


_PICKS = ("ReduceMax", "ReduceMin")
_SUMS = ("ReduceMean", "ReduceSum")


@rewrites.rewrites(*_PICKS, *_SUMS)
def reduction_of_one(match: Match) -> Rewrite | None:
    """Reduce(x, axes) == x, or Squeeze(x, axes) without keepdims, where each of the axes has size 1

    ReduceSum and ReduceMean of floats need an x without signalling NaN, which they make quiet. Their axes must be the
    last ones, unless x is never -0.0: onnxruntime adds -0.0 to 0.0 if another axis follows, or x is a
    scalar. Without keepdims no axis may be negative: onnxruntime reduces an empty tensor along a negative axis to
    another shape.

    onnxruntime adds int64 as float64, and returns 2**53 for the sum of 2**53 + 1 alone. The rewrite follows the
    specification, by which the sum of one integer is that integer.
    """
    shape, dtype, keeps = match.shape(0), match.fact(0).dtype, bool(match.integer("keepdims", 1))
    given = _reduced(match)
    if shape is None or dtype is None or given is None or (given and not keeps and min(given) < 0):
        return None
    if not all(-len(shape) <= axis < len(shape) for axis in given):
        return None
    axes = sorted({axis % len(shape) for axis in given}) if given else list(range(len(shape)))
    if not all(match.equal(shape[axis], 1) for axis in axes):
        return None
    if match.op_type in _SUMS and not dtype.is_integer:
        rest = range(len(shape) - len(axes), len(shape))
        if dtype not in _ONES or not has_no_signalling_nan(match, match.input(0)):
            return None
        if not (axes and axes == list(rest)) and not has_no_negative_zero(match, match.input(0)):
            return None
    law = f"{match.op_type}(x, axes) == x, the axes have size 1"
    return match.replace_with(law, match.input(0) if keeps else match.squeeze(match.input(0), axes))


def _reduced(match: Match) -> tuple[int, ...] | None:
    """The axes of a reduction as given, () for all axes; None if they are unknown, or no axis is reduced."""
    if match.version < (13 if match.op_type == "ReduceSum" else 18):
        return match.integers("axes") or ()
    given = match.integers_of(1) if match.input(1) else ()
    return None if not given and match.integer("noop_with_empty_axes", 0) else given


@rewrites.rewrites("Resize", since=11)
def resize_to_own_size(match: Match) -> Rewrite | None:
    """Resize(x, sizes) == Resize(x, scales=1) == x, where the result has the shape of x: each position samples itself

    Mode "nearest" copies elements. The other modes add the neighbours times 0, which gives NaN for an infinite one and
    turns -0.0 into 0.0. In these modes x has to be a constant without infinity, NaN and -0.0.
    """
    if match.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize" or match.integer(
        "antialias", 0
    ):
        return None
    if match.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    if not match.input(3) and not _is_ones(match, 2):
        return None
    if not match.same_shape(match.shape(0), match.result().shape):
        return None
    if match.text("mode", "nearest") != "nearest" and not _is_plain(match, 0):
        return None
    return match.replace_with("Resize(x) == x, each axis keeps its size", match.input(0))


def _is_plain(match: Match, at: int) -> bool:
    """Whether the input at index `at` is a constant of float32 with finite elements only, and no -0.0."""
    constant = match.constant(at)
    if constant is None or constant.data_type != TensorProto.FLOAT:
        return False
    bits = constant.plain
    return bool(((bits & 0x7F800000) != 0x7F800000).all() and (bits != 0x80000000).all())


def _is_all(match: Match, at: int, number: int) -> bool:
    """Whether every element of the integer or bool input at index `at` equals `number` in every run."""
    if match.fact(at).dtype is DType.BOOL:
        return all_of(match, at) is bool(number)
    return match.is_within(at, number, number)


def all_of(match: Match, at: int) -> bool | None:
    """The value of all elements of the bool input at index `at`; None if they differ or are unknown.

    True for an input without elements.
    """
    fact = match.fact(at)
    if fact.dtype is not DType.BOOL:
        return None
    if fact.values is not None and all(isinstance(v, bool) for v in fact.values.flat):
        return _only(bool(fact.values.all()), bool(fact.values.any()))
    constant = match.constant(at)
    return None if constant is None else _only(bool(constant.plain.all()), bool(constant.plain.any()))


def _only(is_all: bool, is_any: bool) -> bool | None:
    return True if is_all else None if is_any else False
