"""Evaluators of operators that move elements along axes, or repeat, select or clear them. Elements are copied bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Bits, Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.input_checks import fits_initializer, flags, require_same_type, sizes

evaluators = EvaluatorSet("")
microsoft = EvaluatorSet("com.microsoft")

_NEGATIVE_ZERO: dict[int, int] = {
    # element types with two zeros that Where of onnxruntime supports: the bits of -0.0
    TensorProto.FLOAT: 1 << 31, TensorProto.DOUBLE: 1 << 63,
    TensorProto.FLOAT16: 1 << 15, TensorProto.BFLOAT16: 1 << 15,
}  # fmt: skip


@evaluators.evaluates("Transpose")
def _transpose(call: Evaluation) -> list[Constant] | None:
    """Transpose, as a view of the data.

    None for an empty `perm` of a tensor with axes: numpy reverses the axes, onnxruntime fails.

    Raises SpecViolation if `perm` is not a permutation of the axes.
    https://onnx.ai/onnx/operators/onnx__Transpose.html
    """
    data, perm = call.input(0), call.integers("perm")
    rank = data.bits.ndim
    if perm == () and rank:
        return None
    if perm is not None and sorted(perm) != list(range(rank)):
        raise SpecViolation(f"perm must be a permutation of 0 to {rank - 1}, is {list(perm)}")
    return [Constant(data.data_type, data.bits.transpose(perm))]


@evaluators.evaluates("Expand", since=8)
def _expand(call: Evaluation) -> list[Constant] | None:
    """Expand, as a view of the data. https://onnx.ai/onnx/operators/onnx__Expand.html

    Raises SpecViolation if an entry of the target shape is negative, or the shapes do not broadcast (GI212).
    """
    data, wanted = call.input(0), sizes(call.input(1), "shape")
    if wanted is None:
        return None
    shape = broadcast(data.shape, wanted)
    if not fits_initializer(data.data_type, shape):
        return None
    return [Constant(data.data_type, np.broadcast_to(data.bits, shape))]


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape that `shapes` broadcast to. Raises SpecViolation (GI212) if there is none."""
    rank = max(map(len, shapes))
    result = []
    for dims in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        others = {n for n in dims if n != 1}
        if len(others) > 1:
            found = " and ".join(str(list(shape)) for shape in shapes)
            raise SpecViolation(f"shapes {found} do not broadcast", "GI212")
        result.append(others.pop() if others else 1)
    return tuple(result)


@evaluators.evaluates("Tile", since=6)
def _tile(call: Evaluation) -> list[Constant] | None:
    """Tile: the data, repeated `repeats[i]` times along each axis i. https://onnx.ai/onnx/operators/onnx__Tile.html

    Raises SpecViolation unless `repeats` has one element >= 0 for each axis.
    """
    data, repeats = call.input(0), sizes(call.input(1), "repeats")
    if repeats is None:
        return None
    if len(repeats) != data.bits.ndim:
        raise SpecViolation(f"repeats must have {data.bits.ndim} elements, one per axis of data, has {len(repeats)}")
    shape = [n * count for n, count in zip(data.shape, repeats, strict=True)]
    if not fits_initializer(data.data_type, shape):
        return None
    if not prod(shape):
        return [Constant(data.data_type, np.empty(shape, data.plain.dtype))]
    return [Constant(data.data_type, np.tile(data.plain, repeats))]


@evaluators.evaluates("DepthToSpace")
def _depth_to_space_1(call: Evaluation) -> list[Constant] | None:
    """DepthToSpace before version 11, without the attribute `mode`: the mode is DCR."""
    return depth_to_space(call.input(0), _blocksize(call), mode="DCR")


@evaluators.evaluates("DepthToSpace", since=11)
def _depth_to_space(call: Evaluation) -> list[Constant] | None:
    return depth_to_space(call.input(0), _blocksize(call), mode=call.text("mode", "DCR"))


def depth_to_space(data: Constant, block: int, *, mode: str) -> list[Constant] | None:
    """`data` of shape `[N, C, H, W]`, rearranged to `[N, C / block**2, H * block, W * block]`.

    mode   "DCR" or "CRD"; None is returned for any other

    Raises SpecViolation if the rank is not 4, or block**2 does not divide C.
    https://onnx.ai/onnx/operators/onnx__DepthToSpace.html
    """
    n, c, h, w = _image(data)
    _require_multiple(c, block * block, "the channels of the input")
    depth = c // (block * block)
    match mode:
        case "DCR":
            order, shape = (0, 3, 4, 1, 5, 2), (n, block, block, depth, h, w)
        case "CRD":
            order, shape = (0, 1, 4, 2, 5, 3), (n, depth, block, block, h, w)
        case _:
            return None
    return _rearranged(data, shape, order, (n, depth, h * block, w * block))


@evaluators.evaluates("SpaceToDepth")
def _space_to_depth_1(call: Evaluation) -> list[Constant] | None:
    """SpaceToDepth before version 28, without the attribute `mode`: the mode is DCR."""
    return space_to_depth(call.input(0), _blocksize(call), mode="DCR")


@evaluators.evaluates("SpaceToDepth", since=28)
def _space_to_depth(call: Evaluation) -> list[Constant] | None:
    return space_to_depth(call.input(0), _blocksize(call), mode=call.text("mode", "DCR"))


def space_to_depth(data: Constant, block: int, *, mode: str) -> list[Constant] | None:
    """`data` of shape `[N, C, H, W]`, rearranged to `[N, C * block**2, H / block, W / block]`.

    mode   "DCR" or "CRD"; None is returned for any other

    Raises SpecViolation if the rank is not 4, or `block` does not divide both H and W.
    https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html
    """
    n, c, h, w = _image(data)
    _require_multiple(h, block, "the height of the input")
    _require_multiple(w, block, "the width of the input")
    order = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}.get(mode)
    if order is None:
        return None
    rows, columns = h // block, w // block
    shape = (n, c, rows, block, columns, block)
    return _rearranged(data, shape, order, (n, c * block * block, rows, columns))


def _rearranged(
    data: Constant, shape: Sequence[int], order: Sequence[int], result: Sequence[int]
) -> list[Constant] | None:
    if not fits_initializer(data.data_type, shape) or not fits_initializer(data.data_type, result):
        return None
    return [Constant(data.data_type, data.plain.reshape(tuple(shape)).transpose(order).reshape(tuple(result)))]


def _blocksize(call: Evaluation) -> int:
    block = call.integer("blocksize", 0)
    if block < 1:
        raise SpecViolation(f"blocksize must be >= 1, is {block}")
    return block


def _image(data: Constant) -> tuple[int, ...]:
    if data.bits.ndim != 4:
        raise SpecViolation(f"the input must have rank 4, has rank {data.bits.ndim}: {list(data.shape)}", "GI305")
    return data.shape


def _require_multiple(dim: int, divisor: int, what: str) -> None:
    if dim % divisor:
        raise SpecViolation(f"{what} must be a multiple of {divisor}, is {dim}", "GI212")


@evaluators.evaluates("ReverseSequence", since=10)
def _reverse_sequence(call: Evaluation) -> list[Constant] | None:
    """ReverseSequence: the first `sequence_lens[i]` elements of each batch i in reverse order.

    None for a length outside [0, dim of the time axis], which the specification does not define.

    Raises SpecViolation if the axes are not 0 and 1, the rank is below 2, or `sequence_lens` does not have an int64
    element for each batch.
    https://onnx.ai/onnx/operators/onnx__ReverseSequence.html
    """
    data, lengths = call.input(0), call.input(1).to_indices()
    batch, time = call.integer("batch_axis", 1), call.integer("time_axis", 0)
    if {batch, time} != {0, 1}:
        raise SpecViolation(f"batch_axis and time_axis must be 0 and 1 or 1 and 0, are {batch} and {time}")
    _require_min_rank(data, 2)
    if lengths is None or call.input(1).data_type != TensorProto.INT64:
        raise SpecViolation("sequence_lens must be int64", "GI211")
    if lengths.ndim != 1:
        raise SpecViolation(f"sequence_lens must have rank 1, has rank {lengths.ndim}: {list(lengths.shape)}", "GI305")
    if lengths.size != data.shape[batch]:
        raise SpecViolation(
            f"sequence_lens must have {data.shape[batch]} elements, one per batch, has {lengths.size}", "GI212"
        )
    dim = data.shape[time]
    if lengths.size and not 0 <= int(lengths.min()) <= int(lengths.max()) <= dim:
        return None
    step = np.arange(dim)
    source = np.where(step[None, :] < lengths[:, None], lengths[:, None] - 1 - step[None, :], step[None, :])
    held = data.plain if batch == 0 else np.swapaxes(data.plain, 0, 1)
    moved = held[np.arange(lengths.size)[:, None], source]
    return [Constant(data.data_type, moved if batch == 0 else np.swapaxes(moved, 0, 1))]


@evaluators.evaluates("Trilu", since=14)
@microsoft.evaluates("Trilu")
def _trilu(call: Evaluation) -> list[Constant] | None:
    """Trilu: one triangle of each matrix, the other elements cleared. https://onnx.ai/onnx/operators/onnx__Trilu.html

    None for strings, and for a `k` of rank above 1.

    Raises SpecViolation if the rank of the input is below 2, or `k` does not have exactly one int64 element.
    """
    data, given = call.input(0), call.constant(1)
    _require_min_rank(data, 2)
    k = 0
    if given is not None:
        numbers = given.to_indices()
        if numbers is None or given.data_type != TensorProto.INT64:
            raise SpecViolation("k must be int64", "GI211")
        if numbers.size != 1:
            raise SpecViolation(f"k must be a scalar, has shape {list(numbers.shape)}")
        if numbers.ndim > 1:
            return None
        k = int(numbers.reshape(-1)[0])
    if data.data_type == TensorProto.STRING:
        return None  # the specification clears elements to zero, which strings lack
    held = data.plain
    rows, columns = data.shape[-2:]
    k = min(max(k, -rows), columns)
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    is_kept = distance >= k if call.integer("upper", 1) else distance <= k
    bits = held.copy()
    bits[..., ~is_kept] = np.zeros((), held.dtype)
    return [Constant(data.data_type, bits)]


def _require_min_rank(data: Constant, rank: int) -> None:
    if data.bits.ndim < rank:
        found = f"has rank {data.bits.ndim}: {list(data.shape)}"
        raise SpecViolation(f"the input must have rank {rank} or more, {found}", "GI305")


@evaluators.evaluates("Compress", since=9)
def _compress(call: Evaluation) -> list[Constant] | None:
    """Compress: the slices along `axis`, or the elements if it is absent, at which `condition` is true.

    None if the condition is true past the end, where numpy fails and onnxruntime ignores it.

    Raises SpecViolation if the input is a scalar, `axis` is outside [-r, r-1], or `condition` is not a bool vector.
    https://onnx.ai/onnx/operators/onnx__Compress.html (11: axis may be negative)
    """
    data, condition = call.input(0), call.input(1)
    if condition.bits.ndim != 1:
        found = f"has rank {condition.bits.ndim}: {list(condition.shape)}"
        raise SpecViolation(f"condition must have rank 1, {found}", "GI305")
    _require_min_rank(data, 1)
    chosen = flags(condition, "condition")
    axis = call.typed_attr("axis", int)
    at = None if axis is None else normalize_axis(axis, data.bits.ndim)
    if chosen is None or (axis is not None and axis < 0 and call.version < 11):
        return None
    (picked,) = np.nonzero(chosen)
    held = data.plain if at is not None else data.plain.reshape(-1)
    if picked.size and picked[-1] >= held.shape[at or 0]:
        return None
    return [Constant(data.data_type, np.take(held, picked, at or 0))]


@evaluators.evaluates("Where", since=9)
def _where(call: Evaluation) -> list[Constant] | None:
    """Where: the elements of X at which the condition is true, else those of Y.

    None for a float result that contains -0.0: onnxruntime turns a -0.0 that it selects from X into 0.0.

    Raises SpecViolation if the condition is not bool, the types of X and Y differ, or shapes do not broadcast (GI212).
    https://onnx.ai/onnx/operators/onnx__Where.html
    """
    condition, x, y = (call.input(i) for i in range(3))
    chosen = flags(condition, "condition")
    require_same_type("X and Y", x, y)
    shape = broadcast(condition.shape, x.shape, y.shape)
    if chosen is None or not fits_initializer(x.data_type, shape):
        return None
    bits: Bits = np.empty(shape, x.plain.dtype)
    bits[...] = y.plain
    np.copyto(bits, x.plain, where=chosen)
    negative_zero = _NEGATIVE_ZERO.get(x.data_type)
    if negative_zero is not None and bool((bits == negative_zero).any()):
        return None
    return [Constant(x.data_type, bits)]
