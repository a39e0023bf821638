"""Paddings that differ between two exports, as functions of the size.

The simplest explanation of all axes of a node: the same numbers in both; the padding SAME; or numbers, and at the end
of each axis what fills it up to a multiple of one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from onnx import NodeProto, helper

from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.images.windows import SlidingWindows, paddings, pads_of, same_pads, windows_of
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_MOST: Final = 1 << 10
_FILLABLE: Final = frozenset({"Conv", "QLinearConv", "ConvInteger"})
"""Operators that pad with zeros."""


class _Axis(NamedTuple):
    """An axis of the data: its dim, its sizes in both models, and the paddings there."""

    dim: Dim
    sizes: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]]
    windows: SlidingWindows | None


def with_explained_paddings(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node with paddings that fit both models. Raises Blocked if no rule explains them."""
    assert walk.counterpart is not None, "two models are compared"
    second = walk.counterpart.padded.get(node.output[0])
    if second is None:
        return node
    fact, was = walk.environment.values.get(node.input[0]), walk.static.get(node.input[0])
    other = walk.counterpart.shape(node.input[0])
    if (
        not isinstance(fact, SymbolicTensor)
        or not isinstance(was, SymbolicTensor)
        or was.shape is None
        or other is None
    ):
        raise Blocked(walk.label(node), "its paddings differ in the second model, and its data have no known shape")
    axes: list[_Axis] = []
    for axis, (dim, mine, its) in enumerate(zip(fact.shape or (), was.shape, other, strict=True)):
        pads = pads_of(walk, node, axis, was.shape), pads_of(walk, second, axis, other)
        if isinstance(mine, int) and isinstance(its, int) and pads[0] is not None and pads[1] is not None:
            axes.append(_Axis(dim, (mine, its), (pads[0], pads[1]), next(iter(windows_of(walk, node, axis)), None)))
    if all(axis.pads[0] == axis.pads[1] for axis in axes):
        return _with_pads(node, [axis.pads[0] for axis in axes])
    spatial = [axis for axis in axes if is_free(axis.dim, walk.freed)]
    for name in ("SAME_UPPER", "SAME_LOWER"):
        if node.op_type != "Pad" and all(_is_same(axis, name) for axis in spatial):
            return _with_auto_pad(node, name)
    return _filled(walk, node, axes, second)


def _is_same(axis: _Axis, name: str) -> bool:
    if axis.windows is None:
        return False
    return all(same_pads(axis.windows, size, name) == pads for size, pads in zip(axis.sizes, axis.pads, strict=True))


def _filled(walk: UnfreezingWalk, node: NodeProto, axes: Sequence[_Axis], second: NodeProto) -> NodeProto:
    """The node behind a Pad with zeros that fills the data up to a multiple; the Pad itself with such paddings."""
    is_pad = node.op_type == "Pad"
    if not is_pad and node.op_type not in _FILLABLE:
        raise Blocked(walk.label(node), _texts(walk, axes))
    numbers = [axis.pads[0] if axis.pads[0] == axis.pads[1] else (axis.pads[0][0],) * 2 for axis in axes]
    spatial = [at for at, axis in enumerate(axes) if is_free(axis.dim, walk.freed)]
    numbers = [(pads[0], pads[0]) if at in spatial else pads for at, pads in enumerate(numbers)]
    fitting = [most for most in range(2, _MOST) if all(_is_filled(axes[at], numbers[at], most) for at in spatial)]
    if len(fitting) != 1:
        raise Blocked(walk.label(node), _texts(walk, axes, fitting))
    fills = {at: -axes[at].dim % fitting[0] for at in spatial}
    if is_pad:
        if len(node.input) < 2:
            raise Blocked(walk.label(node), _texts(walk, axes))  # before opset 11 they are attributes
        order = paddings(walk, node)[1]
        begins: list[Dim] = [numbers[at][0] for at in order]
        ends: list[Dim] = [numbers[at][1] + fills.get(at, 0) for at in order]
        return walk.with_inputs(node, {1: walk.sizes.of_shape([*begins, *ends])})
    rank = len(axes) + 2
    zeros: list[Dim] = [0] * rank
    fill: list[Dim] = [0, 0, *(fills.get(at, 0) for at in range(len(axes)))]
    padded = walk.emit("Pad", [node.input[0], walk.sizes.of_shape([*zeros, *fill])])
    return _with_pads(walk.with_inputs(node, {0: padded}), numbers)


def _is_filled(axis: _Axis, numbers: tuple[int, int], most: int) -> bool:
    return all(
        pads == (numbers[0], numbers[1] + -size % most) for size, pads in zip(axis.sizes, axis.pads, strict=True)
    )


def _with_pads(node: NodeProto, pads: Sequence[tuple[int, int]]) -> NodeProto:
    if node.op_type == "Pad":
        return node
    changed = _without_pads(node)
    changed.attribute.append(helper.make_attribute("pads", [*(b for b, _ in pads), *(a for _, a in pads)]))
    return changed


def _with_auto_pad(node: NodeProto, name: str) -> NodeProto:
    changed = _without_pads(node)
    changed.attribute.append(helper.make_attribute("auto_pad", name))
    return changed


def _without_pads(node: NodeProto) -> NodeProto:
    changed = NodeProto()
    changed.CopyFrom(node)
    del changed.attribute[:]
    changed.attribute.extend(a for a in node.attribute if a.name not in ("pads", "auto_pad"))
    return changed


def _texts(walk: UnfreezingWalk, axes: Sequence[_Axis], multiples: Sequence[int] = ()) -> str:
    assert walk.counterpart is not None, "two models are compared"
    mine, other = ([list(axis.pads[at]) for axis in axes] for at in (0, 1))
    why = f"multiples of {multiples[0]} and {multiples[1]} explain both" if multiples else "no rule explains both"
    return f"its paddings are {mine}, and {other} in {walk.counterpart.model.name}: {why}"
