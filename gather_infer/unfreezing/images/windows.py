"""Windows that slide over the sizes of an image, and sizes of a Resize: what stands for the old size there.

A kernel as large as its axis, paddings that differ by one before a stride, as they are computed for the padding SAME,
and paddings at the end alone, which fill the image up to a multiple of a stride or window, follow the size of the image
in many networks. They are attributes, which are not edited: the model is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from onnx import NodeProto

from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.factors.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_POOLING: Final = frozenset({"MaxPool", "AveragePool", "LpPool"})
_WINDOWED: Final = _POOLING | {"Conv", "ConvTranspose", "QLinearConv", "ConvInteger"}
_IMAGE_RANK: Final = 4
_FIRST: Final = 2  # the axis of the first size of an image


class SlidingWindows(NamedTuple):
    """Windows along an axis: the positions that one spans, and the stride."""

    size: int
    stride: int


def sizes_of_images(walk: UnfreezingWalk) -> set[str]:
    """The lengths along both axes of an input of images: floats `[batch, channels, height, width]`."""
    found: set[str] = set()
    for value in walk.model.proto.graph.input:
        fact = walk.environment.values.get(value.name)
        if not isinstance(fact, SymbolicTensor) or not fact.shape or len(fact.shape) != _IMAGE_RANK:
            continue
        is_image = fact.dtype is not None and fact.dtype.is_float and fact.shape[1] != 1  # a mask has no channels
        symbols = [dim.symbols & walk.freed.keys() - walk.row_symbols if isinstance(dim, Expr) else set()
                   for dim in fact.shape[_FIRST:]]  # fmt: skip
        if is_image and all(symbols):
            found.update(*symbols)
    return found


def windows_of(walk: UnfreezingWalk, node: NodeProto, axis: int) -> list[SlidingWindows]:
    """The windows that a node slides over an axis of its data; for a Pad, those of the nodes that read it."""
    if node.domain not in ("", "ai.onnx"):
        return []
    if node.op_type == "Pad":
        readers = walk.readers.get(node.output[0], ())
        return [each for reader in readers if reader.op_type != "Pad" for each in windows_of(walk, reader, axis)]
    if node.op_type not in _WINDOWED or node.op_type == "ConvTranspose" or axis < _FIRST:
        return []
    lists = {a.name: list(a.ints) for a in node.attribute if a.ints}
    weight = walk.static.get(node.input[3 if node.op_type == "QLinearConv" else 1]) if len(node.input) > 1 else None
    shape = weight.shape if isinstance(weight, SymbolicTensor) else None
    kernel = lists.get("kernel_shape") or list((shape or ())[_FIRST:])
    at = axis - _FIRST
    if at >= len(kernel) or not isinstance(kernel[at], int):
        return []
    dilation, stride = (lists.get(name, [1] * len(kernel))[at] for name in ("dilations", "strides"))
    return [SlidingWindows(dilation * (kernel[at] - 1) + 1, stride)]


def pads_of(walk: UnfreezingWalk, node: NodeProto, axis: int, shape: Shape) -> tuple[int, int] | None:
    """The paddings of an axis of data of a shape; None if they are not known, or the axis has none."""
    auto = next((a.s.decode() for a in node.attribute if a.name == "auto_pad"), "NOTSET")
    if node.op_type != "Pad" and auto.startswith("SAME"):
        size, windows = shape[axis], windows_of(walk, node, axis)
        return same_pads(windows[0], size, auto) if windows and isinstance(size, int) else None
    numbers, axes = paddings(walk, node)
    if axis not in axes:
        is_known = bool(axes) if node.op_type == "Pad" else not numbers and axis >= _FIRST
        return (0, 0) if is_known else None
    at = axes.index(axis)
    return numbers[at], numbers[at + len(axes)]


def same_pads(windows: SlidingWindows, size: int, name: str) -> tuple[int, int]:
    """The paddings SAME_UPPER or SAME_LOWER of an axis of a size."""
    positions = -(-size // windows.stride)
    total = max((positions - 1) * windows.stride + windows.size - size, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if name == "SAME_UPPER" else (more, less)


def paddings(walk: UnfreezingWalk, node: NodeProto) -> tuple[list[int], list[int]]:
    """The paddings of a node, the begins before the ends, and the axes of the data that have one, in this order."""
    numbers = next((list(a.ints) for a in node.attribute if a.name == "pads"), [])
    if node.op_type != "Pad" or numbers:
        first = 0 if node.op_type == "Pad" else _FIRST
        return numbers, list(range(first, first + len(numbers) // 2))
    pads = walk.array(node.input[1]) if len(node.input) > 1 else None
    given = walk.array(node.input[3]) if len(node.input) > 3 and node.input[3] else None
    rank = len(walk.factors.get(node.input[0], ()))
    if pads is None or not rank:
        return [], []
    axes = list(range(rank)) if given is None else [int(a) % rank for a in given.ravel()]
    return ([int(pad) for pad in pads.ravel()], axes) if pads.size == 2 * len(axes) else ([], [])


def problem_of_window(walk: UnfreezingWalk, node: NodeProto) -> str:
    """Why the windows of a node may stand for the old size; "" if they do not. Marks the sizes of images."""
    if node.op_type not in _WINDOWED or node.domain not in ("", "ai.onnx") or not node.input[0]:
        return ""
    fact, was = walk.environment.values.get(node.input[0]), walk.static.get(node.input[0])
    if not isinstance(fact, SymbolicTensor) or fact.shape is None or not isinstance(was, SymbolicTensor):
        return ""
    lists = {a.name: list(a.ints) for a in node.attribute if a.ints}
    spatial = fact.shape[2:]
    kernel = lists.get("kernel_shape", [])
    strides, pads = lists.get("strides", [1] * len(spatial)), lists.get("pads", [0] * 2 * len(spatial))
    for axis, dim in enumerate(spatial):
        if not is_free(dim, walk.freed) or not isinstance(dim, Expr):
            continue
        if len(fact.shape) >= _IMAGE_RANK:
            walk.image_symbols |= dim.symbols & walk.freed.keys() - walk.row_symbols
        if walk.counterpart is not None:
            continue  # the attributes are the same in both models
        size = (was.shape or ())[axis + 2]
        if node.op_type in _POOLING and kernel[axis] == size and size != 1:
            return f"its kernel {kernel[axis]} is the old size of {dim}"
        before, after = pads[axis], pads[axis + len(spatial)]
        if strides[axis] > 1 and abs(after - before) == 1 and not _is_divided(walk, node, axis + _FIRST, strides[axis]):
            return f"pads {before} and {after} before a stride of {strides[axis]}, which may depend on {dim}"
        if _fills_up(walk, dim, before, after):
            return f"pads {before} and {after}, which may fill {dim} up to a multiple"
    return ""


def _fills_up(walk: UnfreezingWalk, dim: Expr, before: int, after: int) -> bool:
    """Whether paddings may fill an axis up to a multiple of a stride: more at its end, after which its size is even.

    An odd size is a multiple of a window at most. The Reshape that cuts windows states so in the contract, and with it
    the sizes for which the padding is the right one. A padding to a size that another value has follows that size.
    """
    filled = dim + (after - max(before, 0))
    if after <= max(before, 0) or dim.symbols <= walk.row_symbols or filled in walk.sizes.held():
        return False
    size = next(values_of([filled], walk.samples.old))
    return size is None or size % 2 == 0


def _is_divided(walk: UnfreezingWalk, node: NodeProto, axis: int, stride: int) -> bool:
    """Whether a run fails unless a stride divides an axis of the data."""
    return walk.divisible.get(node.input[0], {}).get(axis, 1) % stride == 0


def problem_of_pad(walk: UnfreezingWalk, node: NodeProto) -> str:
    """Why the paddings of a Pad may depend on a length; "" if they do not."""
    if node.op_type != "Pad" or node.domain not in ("", "ai.onnx") or walk.counterpart is not None:
        return ""
    fact = walk.environment.values.get(node.input[0])
    if not isinstance(fact, SymbolicTensor) or fact.shape is None:
        return ""
    numbers, axes = paddings(walk, node)
    for at, axis in enumerate(axes):
        dim = fact.shape[axis]
        if not isinstance(dim, Expr) or not is_free(dim, walk.freed):
            continue
        before, after = numbers[at], numbers[at + len(axes)]
        strides = [each.stride for each in windows_of(walk, node, axis) if each.stride > 1]
        is_divided = all(_is_divided(walk, node, axis, stride) for stride in strides)
        if abs(after - before) == 1 and min(before, after) >= 0 and strides and not is_divided:
            return f"pads {before} and {after} before a stride, which may depend on {dim}"
        if _fills_up(walk, dim, before, after):
            return f"pads {before} and {after}, which may fill {dim} up to a multiple"
    return ""


def has_kernel_of_weights(walk: UnfreezingWalk, node: NodeProto) -> bool:
    """Whether the kernel of a Conv is a weight, whose size is one of the network, not one of the image.

    A kernel of equal numbers takes a mean or a sum, as a pooling does whose kernel may be the whole image.
    """
    if node.op_type not in ("Conv", "QLinearConv", "ConvInteger") or node.domain not in ("", "ai.onnx"):
        return False
    kernel = walk.array(node.input[3 if node.op_type == "QLinearConv" else 1])
    return kernel is not None and kernel.size > 0 and bool((kernel != kernel.flat[0]).any())


def problem_of_resize(walk: UnfreezingWalk, node: NodeProto, shape: Shape) -> str:
    """Why a Resize keeps the old size although its data has a freed one; "" if it does not."""
    axes = walk.factors.get(node.input[0], ())
    for axis, (held, dim) in enumerate(zip(axes, shape, strict=False)):
        if any(is_free(factor, walk.freed) for factor in held) and isinstance(dim, int):
            return f"axis {axis} of its sizes is {dim}, that of its data depends on {', '.join(walk.freed)}"
    return ""


def resized(walk: UnfreezingWalk, node: NodeProto, problem: str) -> Sequence[Dim] | None:
    """The sizes of a Resize; None if the shapes are not known, or if a size was made 1.

    An axis keeps the size of the data if it did before. Otherwise it has the size of the other operand of a node that
    reads the result, or that of an input if no other value had this size, or one that a later node tells.
    """
    data, was = walk.environment.values.get(node.input[0]), walk.static.get(node.output[0])
    old = walk.static.get(node.input[0])
    if not all(isinstance(each, SymbolicTensor) and each.shape is not None for each in (data, was, old)):
        return None
    assert isinstance(data, SymbolicTensor) and isinstance(was, SymbolicTensor) and isinstance(old, SymbolicTensor)
    dims: list[Dim] = []
    for axis, (now, before, after) in enumerate(zip(data.shape or (), old.shape or (), was.shape or (), strict=True)):
        if not isinstance(now, Expr) or not is_free(now, walk.freed):
            dims.append(after)
            continue
        if before == after:
            dims.append(now)
            continue
        if after == 1:  # it broadcasts, so that no node tells it
            return None
        found = _size_of_reader(walk, node, axis)
        if found is None:
            found = _size_of_input(walk, now, after)
        if found is None:
            assert isinstance(after, int), "the sizes are constant"
            found = walk.unknown.size_of(node, axis, after, problem)
        dims.append(found)
    return dims


def _size_of_reader(walk: UnfreezingWalk, node: NodeProto, axis: int) -> Dim | None:
    """The freed size that another operand of a reader of the result has along an axis; all of them agree."""
    result = node.output[0]
    rank = len(walk.factors.get(node.input[0], ()))
    found: set[Dim] = set()
    for reader in walk.readers.get(result, ()):
        if reader.op_type not in BROADCASTING and not (reader.op_type == "Concat" and axis == 1):
            joined = next((a.i for a in reader.attribute if a.name == "axis"), None)
            if reader.op_type != "Concat" or joined is None or joined % rank == axis:
                continue
        for name in reader.input:
            fact = walk.environment.values.get(name)
            if name == result or not isinstance(fact, SymbolicTensor) or not fact.shape or len(fact.shape) != rank:
                continue
            if is_free(fact.shape[axis], walk.freed):
                found.add(fact.shape[axis])
    return found.pop() if len(found) == 1 else None


def _size_of_input(walk: UnfreezingWalk, now: Expr, after: Dim) -> Dim | None:
    """The size of an input that had the wanted size, if no other size fits."""
    fitting = {
        dim for dim in walk.sizes.held()
        if isinstance(dim, Expr) and dim.symbols == now.symbols and next(values_of([dim], walk.samples.old)) == after
    }  # fmt: skip
    if len(fitting) != 1:
        return None
    dim = fitting.pop()
    assert isinstance(dim, Expr), "a number is not free"
    return dim if dim.is_symbol else None
