"""Sliding windows: the output sizes of convolutions and poolings.

Letters of this module: N the length of a spatial axis, k the kernel on it, s the stride, d the dilation,
e = d*(k - 1) + 1 the extent of the dilated kernel, p the two pads together.
"""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.errors import SpecViolation
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, ceildiv, floordiv, known_le, maximum, minimum

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True, slots=True)
class Window:
    """A window along one spatial axis; `begin` and `end` are its pads, 0 unless `auto_pad` is NOTSET."""

    extent: Dim  # e = d*(k - 1) + 1
    stride: int
    begin: int
    end: int
    axis: int  # among the spatial axes


def auto_pad(op: OpCall) -> str:
    """The attribute `auto_pad`; SAME for SAME_UPPER and SAME_LOWER, which differ only in values.

    Raises SpecViolation for an unknown mode.
    """
    mode: str = op.attr("auto_pad", "NOTSET")
    if mode not in AUTO_PADS:
        raise SpecViolation(f"auto_pad = {mode!r} is not one of {', '.join(AUTO_PADS)}")
    return "SAME" if mode.startswith("SAME") else mode


def windows(op: OpCall, kernel: tuple[Dim, ...], mode: str) -> list[Window]:
    """The window along each spatial axis, from `kernel` and the attributes strides, dilations and pads.

    Raises SpecViolation for an attribute of the wrong length, and for values below 1 (pads: below 0).
    """
    n = len(kernel)
    strides = spatial_attribute(op, "strides", n, 1, lower=1)
    dilations = spatial_attribute(op, "dilations", n, 1, lower=1)
    pads = spatial_attribute(op, "pads", 2 * n, 0, lower=0) if mode == "NOTSET" else (0,) * (2 * n)
    return [Window((kernel[i] - 1) * dilations[i] + 1, strides[i], pads[i], pads[n + i], i) for i in range(n)]


def spatial_attribute(op: OpCall, name: str, length: int, default: int, *, lower: int) -> tuple[int, ...]:
    """The integers of attribute `name`, one per axis; `default` for each when it is absent.

    Raises SpecViolation when their number is not `length` or one is below `lower`.
    """
    found = op.attributes.get(name)
    if found is None or found == ():
        return (default,) * length
    assert isinstance(found, tuple), f"{name} is a list of integers by its schema"
    if len(found) != length:
        raise SpecViolation(f"{name} must have {length} elements, has {len(found)}: {list(found)}")
    if min(found) < lower:
        raise SpecViolation(f"{name} must be {lower} or more, is {list(found)}")
    return found


def kernel_shape(op: OpCall, weights: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    """The kernel: the spatial dims of the weights, which attribute `kernel_shape` must equal when it is present.

    Raises SpecViolation when the two differ or an element is below 1.
    """
    found = op.attributes.get("kernel_shape")
    if found is None or found == ():
        return weights
    assert isinstance(found, tuple), "kernel_shape is a list of integers by its schema"
    if min(found) < 1:
        raise SpecViolation(f"kernel_shape must be 1 or more, is {list(found)}")
    if weights is None:
        return found
    if len(weights) != len(found):
        raise SpecViolation(f"kernel_shape must have {len(weights)} elements, has {len(found)}: {list(found)}")
    what = "kernel_shape and the spatial dims of W"
    return tuple(op.require_equal(w, k, what) for w, k in zip(weights, found, strict=True))


def count_same(op: OpCall, size: Dim, window: Window) -> Dim:
    """ceil(N / s): the number of windows with SAME padding."""
    return _divide_up(op, size, window.stride)


def count_floor(op: OpCall, size: Dim, window: Window) -> Dim:
    """(N + p - e)//s + 1: the number of windows that fit.

    Raises SpecViolation when the window is longer than the padded axis. Runtimes reject that at any stride, so
    0 <= N + p - e is an implied fact.
    """
    room = _slack(size, window)
    op.require((0, "<=", room), otherwise=lambda: _too_long(size, window))
    return _divide_down(op, room, window.stride) + 1


def count_pool_floor(op: OpCall, size: Dim, window: Window) -> Dim:
    """As `count_floor`, but a window that is longer than the padded axis is not always an error.

    Stride 1: N + p - e + 1 windows, which is 0 when exactly one element is missing; fewer is an error.
    Stride s > 1: the formula floors, runtimes truncate (k = 2, s = 2 pools N = 1 to 1, not to 0; down to -1 they give
    0). The two agree from N + p = e on. That is a listed assumption; where it cannot be made, the result is a symbol.
    """
    room = _slack(size, window)
    stride = window.stride
    if known_le(0, room, op.scope) is True:
        return _divide_down(op, room, stride) + 1
    op.require((0, "<=", room + 2 * stride - 1), otherwise=lambda: _too_long(size, window))
    if stride == 1:
        return room + 1
    if isinstance(room, int) and room <= -stride:
        return 0
    least = window.extent - window.begin - window.end
    fits = "the pooling window fits the padded input"
    if isinstance(size, Expr) and isinstance(least, int) and op.assume(size, least, fits):
        op.add_implied_fact(room + stride)  # weaker than the assumption
        return _divide_down(op, room, stride) + 1
    truncated = floordiv(maximum(0, room), stride) - floordiv(maximum(0, -room), stride)
    reason = f"is the pooling window longer than the padded axis {size}?"
    return op.derived("pool", room, stride, reason=reason, equals=None if truncated is None else truncated + 1)


def count_pool_ceil(op: OpCall, size: Dim, window: Window) -> Dim:
    """The number of windows in ceil_mode: a last, partial window counts if it starts before the end padding.

    ceil((N + p - e)/s) + 1, at most ceil((N + begin)/s):

    # min(ceil((a + b)/s) + 1, ceil(a/s)) == ceil((a + min(0, b + s))/s)      s > 0, a = N + begin, b = end - e

    The specification has the second bound since 22; ONNX Runtime applies it at every version.
    """
    missing = minimum(0, window.end + window.stride - window.extent, scope=op.scope)
    start = size + window.begin + missing
    op.require((0, "<=", start + window.stride - 1), otherwise=lambda: _too_long(size, window))
    return _divide_up(op, start, window.stride)


def _slack(size: Dim, window: Window) -> Dim:
    return size + (window.begin + window.end) - window.extent


def _divide_down(op: OpCall, dim: Dim, divisor: int) -> Dim:
    if divisor == 1:
        return dim
    return floordiv(dim, divisor, op.scope)


def _divide_up(op: OpCall, dim: Dim, divisor: int) -> Dim:
    if divisor == 1:
        return dim
    return ceildiv(dim, divisor, op.scope)


def _too_long(size: Dim, window: Window) -> str:
    padded = size + (window.begin + window.end)
    return (
        f"the dilated kernel must fit the padded input of length {padded} at spatial axis {window.axis}, "
        f"has length {window.extent}"
    )
