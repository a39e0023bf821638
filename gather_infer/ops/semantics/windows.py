"""Sliding windows: the output sizes of convolutions and poolings.

Letters of this module, for one spatial axis: N is its length, k the kernel size, s the stride, d the dilation,
e = d*(k - 1) + 1 the extent of the dilated kernel, p the sum of the pads at both ends.
"""

from __future__ import annotations

from typing import NamedTuple

from gather_infer.errors import SpecViolation
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, ceildiv, floordiv, known_le, maximum, minimum

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class Window(NamedTuple):
    """A window along one spatial axis; `begin` and `end` are the pads, 0 unless `auto_pad` is NOTSET."""

    extent: Dim  # e = d*(k - 1) + 1
    stride: int
    begin: int
    end: int
    axis: int  # position among the spatial axes


def auto_pad(op: OpCall) -> str:
    """Attribute `auto_pad`: NOTSET, VALID, or SAME for both SAME_UPPER and SAME_LOWER, which give equal shapes.

    Raises SpecViolation for an unknown mode.
    """
    mode: str = op.attr("auto_pad", "NOTSET")
    if mode not in AUTO_PADS:
        raise SpecViolation(f"auto_pad = {mode!r} is not one of {', '.join(AUTO_PADS)}")
    return "SAME" if mode.startswith("SAME") else mode


def windows(op: OpCall, kernel: tuple[Dim, ...], mode: str) -> list[Window]:
    """The window along each spatial axis, from the kernel sizes and attributes strides, dilations and pads.

    mode   the result of `auto_pad`; the pads are 0 unless it is NOTSET

    Raises SpecViolation for an attribute of the wrong length, a stride or dilation below 1, or a pad below 0.
    """
    n = len(kernel)
    strides = spatial_attribute(op, "strides", n, 1, lower=1)
    dilations = spatial_attribute(op, "dilations", n, 1, lower=1)
    pads = spatial_attribute(op, "pads", 2 * n, 0, lower=0) if mode == "NOTSET" else (0,) * (2 * n)
    return [Window((kernel[i] - 1) * dilations[i] + 1, strides[i], pads[i], pads[n + i], i) for i in range(n)]


def spatial_attribute(op: OpCall, name: str, length: int, default: int, *, lower: int) -> tuple[int, ...]:
    """The `length` integers of attribute `name`; `length` times `default` when the attribute is absent or empty.

    Raises SpecViolation when the attribute has another length, or an integer below `lower`.
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
    """The kernel size on each spatial axis; None when `weights` is None and attribute `kernel_shape` is absent.

    weights   the spatial dims of the weights, which the attribute must equal when it is present

    Raises SpecViolation when `weights` and the attribute differ, or an element of the attribute is below 1.
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
    """ceil(N / s), for an axis of length N = `size` and stride s: the number of windows with SAME padding."""
    return _divide_up(op, size, window.stride)


def count_floor(op: OpCall, size: Dim, window: Window) -> Dim:
    """(N + p - e)//s + 1: the number of windows that fit. N = `size`; the docstring of the module lists the letters.

    Raises SpecViolation when the window is longer than the padded axis in every run. Runtimes reject such a window at
    any stride, so 0 <= N + p - e is an implied fact.
    """
    room = _slack(size, window)
    op.require((0, "<=", room), otherwise=lambda: _too_long(size, window))
    return _divide_down(op, room, window.stride) + 1


def count_pool_floor(op: OpCall, size: Dim, window: Window) -> Dim:
    """As `count_floor`, for poolings, where a window longer than the padded axis is not always an error.

    Stride 1: N + p - e + 1 windows; a negative number is an error, 0 is not.
    Stride s > 1: the specification rounds (N + p - e)/s down, runtimes truncate it toward zero and fail for a negative
    number of windows. With k = 2, s = 2, p = 0, N = 1 gives 1 window in runtimes, 0 by the specification.

    The two agree where N + p >= e. That is a listed assumption; where it is not allowed, the result is a symbol.
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

    ceil((N + p - e)/s) + 1, but at most ceil((N + begin)/s):

    # min(ceil((a + b)/s) + 1, ceil(a/s)) == ceil((a + min(0, b + s))/s)      s > 0, a = N + begin, b = end - e

    The specification has the upper limit since version 22; ONNX Runtime applies it at every version.
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
