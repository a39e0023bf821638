"""Sizes that a stride has to divide: at others a file does not tell what the network computes.

A padding SAME has the same paddings as one by numbers where the stride divides the size, and other ones elsewhere. A
network that cuts an image into windows, or adds what strides made smaller and larger again, leaves out sizes. Many such
networks pad an image up to a multiple at the begin, and others cut it in their patches. The data are reshaped so that
the stride has an axis of its own, and back: a run fails at any other size, and the contract states so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import is_free, windows_in
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.images.windows import SlidingWindows, pads_of, same_pads, windows_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_SAME: Final = ("SAME_UPPER", "SAME_LOWER")


def with_divisible_sizes(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node, with data whose sizes its strides divide, if the file does not tell what happens at others."""
    fact = walk.environment.values.get(node.input[0]) if node.input else None
    if not isinstance(fact, SymbolicTensor) or fact.shape is None:
        return node
    strides: dict[int, int] = {}
    for axis, dim in enumerate(fact.shape):
        if not isinstance(dim, Expr) or not is_free(dim, walk.freed) or dim.symbols <= walk.row_symbols:
            continue
        stride = _stride_to_divide(walk, node, axis, fact.shape)
        if stride > 1:
            strides[axis] = stride
    if not strides:
        return node
    return walk.with_inputs(node, {0: divisible(walk, node.input[0], fact.shape, strides)})


def divisible(walk: UnfreezingWalk, name: str, shape: tuple[Dim, ...], strides: Mapping[int, int]) -> str:
    """The same value, of a run that fails unless each number divides its axis."""
    reason = "sizes that a stride divides"
    found = name
    for axis, stride in strides.items():  # one at a time, so that the contract has a line for each
        dim = shape[axis]
        assert isinstance(dim, Expr), "the size is free"
        walk.image_symbols |= dim.symbols & walk.freed.keys() - walk.row_symbols
        walk.divided.add((dim, stride))
        cut = [*shape[:axis], windows_in(dim, stride), stride, *shape[axis + 1 :]]
        found = walk.emit("Reshape", [found, walk.sizes.of_shape(cut)], reason=reason)
    found = walk.emit("Reshape", [found, walk.sizes.of_shape(shape)], reason=reason)
    walk.divisible[found] = dict(strides)
    return found


def _stride_to_divide(walk: UnfreezingWalk, node: NodeProto, axis: int, shape: Shape) -> int:
    """The stride that has to divide an axis of the data of a node; 1 if any size will do."""
    for each in windows_of(walk, node, axis):
        pads = pads_of(walk, node, axis, shape)
        if each.stride < 2 or pads is None:
            continue
        dims = shape[axis : axis + 1]
        sizes = [*values_of(dims, walk.samples.old), *values_of(dims, walk.samples.other)]
        if any(size is None or size % each.stride for size in sizes):
            continue
        is_patch = walk.divides_patches and each.size == each.stride and pads == (0, 0)
        if is_patch or _is_like_same(each, pads, sizes[0]):
            return each.stride
    return 1


def _is_like_same(windows: SlidingWindows, pads: tuple[int, int], size: int | None) -> bool:
    """Whether paddings that differ by one are those of the padding SAME at a size."""
    return size is not None and pads[0] != pads[1] and pads in {same_pads(windows, size, n) for n in _SAME}
