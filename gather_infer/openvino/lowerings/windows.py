"""Sliding windows over spatial axes: strides, dilations and pads of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.tensor import Shape

EXPLICIT, VALID, SAME_UPPER, SAME_LOWER = "explicit", "valid", "same_upper", "same_lower"
_PADS = (EXPLICIT, VALID, SAME_UPPER, SAME_LOWER, "notset")


@dataclass(frozen=True, slots=True)
class Windows:
    """Window parameters of k spatial axes; each tuple has a number for each axis.

    begin, end   pads before and after the data, if `auto_pad` is "explicit" or "valid"
    auto_pad     "explicit" or "valid"; or "same_upper" or "same_lower", which determine the pads as in ONNX
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    auto_pad: str

    @property
    def is_explicit(self) -> bool:
        return self.auto_pad in (EXPLICIT, VALID)

    @property
    def pads(self) -> list[int] | None:
        """ONNX's attribute `pads`, begins before ends; None if `auto_pad` determines the pads."""
        return [*self.begin, *self.end] if self.is_explicit else None

    @property
    def onnx_auto_pad(self) -> str | None:
        return None if self.is_explicit else self.auto_pad.upper()

    def reach(self, kernel: Sequence[int]) -> list[int]:
        """Number of elements that a window spans along each axis: dilation * (kernel - 1) + 1."""
        return [d * (k - 1) + 1 for d, k in zip(self.dilations, kernel, strict=True)]

    def explicit(self, spatial: Shape, kernel: Sequence[int]) -> Windows | None:
        """These windows with pads as numbers; None if the pads depend on an unknown dim.

        With same_upper or same_lower, an axis of n elements has ceil(n / stride) windows and the minimal pads for them.

        spatial, kernel   sizes of the data and of a window along the spatial axes
        """
        if self.is_explicit:
            return self
        totals = []
        for size, stride, reach in zip(spatial, self.strides, self.reach(kernel), strict=True):
            if isinstance(size, int):
                totals.append(max((-(-size // stride) - 1) * stride + reach - size, 0))
            elif stride == 1:
                totals.append(reach - 1)
            else:
                return None
        half = tuple(total // 2 for total in totals)
        rest = tuple(total - less for total, less in zip(totals, half, strict=True))
        begin, end = (half, rest) if self.auto_pad == SAME_UPPER else (rest, half)
        return replace(self, begin=begin, end=end, auto_pad=EXPLICIT)

    def padded(
        self, g: FunctionBuilder, x: str, kernel: Sequence[int], fill: str | None = None, end: str | None = None
    ) -> Padded:
        """The data `x` [N, C, d1, ..., dk] padded by a Pad, and these windows without pads.

        fill   scalar that the Pad writes; None for 0
        end    int64 vector [k] of end pads that replaces `self.end`, for explicit pads only; None to keep `self.end`
        """
        rank = len(self.strides)
        bare = replace(self, begin=(0,) * rank, end=(0,) * rank, auto_pad=EXPLICIT)
        axes = g.i64(*range(2, 2 + rank))
        if self.is_explicit:
            begin = g.i64(*self.begin)
            if not any(self.begin + self.end) and end is None:
                return Padded(x, bare, begin)
            return Padded(g.Pad(x, g.concat(begin, end or g.i64(*self.end)), fill, axes), bare, begin)
        size, strides = g.dims(x, 2), g.i64(*self.strides)
        count = g.Div(g.Add(size, g.i64(*(stride - 1 for stride in self.strides))), strides)
        spanned = g.Add(g.Mul(g.Sub(count, g.i64(1)), strides), g.i64(*self.reach(kernel)))
        total = g.Max(g.Sub(spanned, size), g.i64(0))
        half = g.Div(total, g.i64(2))
        rest = g.Sub(total, half)
        begin, end = (half, rest) if self.auto_pad == SAME_UPPER else (rest, half)
        return Padded(g.Pad(x, g.concat(begin, end), fill, axes), bare, begin)


@dataclass(frozen=True, slots=True)
class Padded:
    """Padded data, and the windows over it.

    slide   windows without pads
    begin   number of elements added before the data along each spatial axis, int64 vector
    """

    data: str
    slide: Windows
    begin: str


def spatial_of(op: LayerView, rank: int) -> Shape:
    """The dims d1, ..., dk of input 0, [N, C, d1, ..., dk], for k = `rank`. Raises SpecViolation for another rank."""
    if op.rank(0) != rank + 2:
        raise SpecViolation(f"data of rank {op.rank(0)} have not {rank} spatial axes", "GI305")
    return op.shape(0)[2:]


def windows(op: LayerView, rank: int) -> Windows:
    """The windows that the attributes of a layer with `rank` spatial axes define.

    Raises SpecViolation when an attribute does not have one number for each spatial axis.
    """
    if rank < 0:
        raise SpecViolation(f"there are {rank} spatial axes", "GI305")
    auto_pad = op.text("auto_pad", EXPLICIT, choices=_PADS)
    auto_pad = EXPLICIT if auto_pad == "notset" else auto_pad
    begin, end = (0,) * rank, (0,) * rank
    if auto_pad == EXPLICIT:
        begin, end = of_length(op, "pads_begin", rank, 0), of_length(op, "pads_end", rank, 0)
    strides, dilations = (of_length(op, name, rank, 1, lower=1) for name in ("strides", "dilations"))
    return Windows(strides, dilations, begin, end, auto_pad)


def of_length(op: LayerView, name: str, rank: int, default: int, *, lower: int | None = None) -> tuple[int, ...]:
    """The integers of attribute `name`, one for each of `rank` spatial axes; `default` for each if it is missing.

    Raises SpecViolation for another number of integers, or an integer below `lower`.
    """
    return op.integers(name, count=rank, lower=lower) if op.integers(name, ()) else (default,) * rank
