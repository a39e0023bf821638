"""Rules of signal processing: DFT, STFT, window functions, MelWeightMatrix."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.preconditions import (
    known_value,
    require_min_rank,
    require_rank,
    require_same_dtype,
    require_scalar,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, floordiv
from gather_infer.tensor import DType, SymbolicTensor, format_shape

rules = RuleSet("")


def length_of(op: OpCall, index: int, name: str, lower: int) -> Dim:
    """The only element of input `index`, called `name` in messages, as a length; a new symbol when it is unknown.

    Raises SpecViolation when the element is known to be below `lower`, or the input does not have one element.
    """
    tensor = op.tensor(index)
    require_scalar(op, tensor, name)
    value = known_value(tensor)
    if value is None:
        return op.fresh(f"the value of {name} is not known")
    op.require((lower, "<=", value), otherwise=f"{name} must be {lower} or more, is {value}")
    return value


@rules.rule("DFT", since=17, operands={1: "a length >= 1"}, dims=(1,))
def dft_17(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__DFT.html (version 17: axis is an attribute, 1 by default)"""
    return [dft(op, op.tensor(0), op.attr("axis", 1))]


@rules.rule("DFT", since=20, operands={1: "a length >= 1", 2: "an axis of the signal"}, dims=(1,))
def dft_20(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__DFT.html (version 20: axis is an input, -2 by default)"""
    axis: Dim | None = -2
    if op.has(2):
        axis = known_value(op.tensor(2))
    return [dft(op, op.tensor(0), axis if isinstance(axis, int) else None)]


def dft(op: OpCall, x: SymbolicTensor, axis: int | None) -> SymbolicTensor:
    """The Fourier transform of `x` along `axis`; None for an unknown axis.

    x       [d0, ..., dr-2, 1] real or [d0, ..., dr-2, 2] complex, r >= 2
    result  the dims of x, except at `axis` and at the last axis; the dims there depend on onesided and inverse:

    not onesided           n and 2; n is dft_length or, if it is absent, the dim d of x at axis
    onesided, not inverse  n//2 + 1 and 2, with the same n
    onesided and inverse   n and 1; n is dft_length or, if it is absent, 2*(d - 1)

    Raises SpecViolation when `axis` is out of range or the last axis, the last dim is not 1 or 2, or a onesided
    transform has complex input (inverse: real input).
    """
    onesided, inverse = bool(op.attr("onesided", 0)), bool(op.attr("inverse", 0))
    shape = require_min_rank(x.shape, 2, "input")
    if shape is None:
        return SymbolicTensor(x.dtype)
    rank = len(shape)
    parts = shape[-1]
    op.require(
        (parts, "==", 1),
        (parts, "==", 2),
        otherwise=lambda: f"the last dim of input must be 1 (real) or 2 (complex), is {parts}: {format_shape(shape)}",
    )
    if onesided:
        transform, found = ("inverse", "real") if inverse else ("forward", "complex")
        message = f"a onesided {transform} transform takes no {found} input: {format_shape(shape)}"
        with op.unenforced():
            op.require((parts, "==", 2 if inverse else 1), otherwise=message)
    result = list(shape)
    result[-1] = 1 if onesided and inverse else 2
    if axis is None:
        if not op.has(1) and not onesided:
            return SymbolicTensor(x.dtype, tuple(result))  # any transformed axis keeps its length
        result[:-1] = [op.fresh("the axis of the transform is not known") for _ in shape[:-1]]
        return SymbolicTensor(x.dtype, tuple(result))
    if not -rank <= axis < rank or axis % rank == rank - 1:
        raise SpecViolation(f"axis = {axis} is outside [{-rank}, -2] and [0, {rank - 2}]", "GI304")
    axis %= rank
    op.add_runtime_constraint((1, "<=", shape[axis]))
    if op.has(1):
        n = length_of(op, 1, "dft_length", 1)
    elif onesided and inverse:
        n = 2 * (shape[axis] - 1)
        op.add_implied_fact(n)
    else:
        n = shape[axis]
    result[axis] = floordiv(n, 2, op.scope) + 1 if onesided and not inverse else n
    return SymbolicTensor(x.dtype, tuple(result))


@rules.rule(
    "STFT", since=17, operands={1: "a step >= 1", 3: "a length of the frames that fits the signal"}, dims=(1, 3)
)
def stft(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__STFT.html

    signal  [B, L, 1] real or [B, L, 2] complex; also [B, L] real, which PyTorch exports and runtimes accept
    window  [n], n = frame_length
    result  [B, (L - n)//frame_step + 1, n//2 + 1, 2], or [..., n, 2] when not onesided

    Raises SpecViolation when the window does not have frame_length elements or a frame is longer than the signal.
    """
    signal, window = op.tensor(0), op.optional_tensor(2)
    dtype = require_same_dtype("signal and window", signal, window)
    shape = signal.shape
    if shape is None or len(shape) != 2:
        shape = require_rank(shape, 3, "signal")
    if shape is not None and len(shape) == 3:
        message = f"the last dim of signal must be 1 (real) or 2 (complex), is {shape[2]}"
        op.require((shape[2], "==", 1), (shape[2], "==", 2), otherwise=message)
        if op.attr("onesided", 1):
            op.add_runtime_constraint((shape[2], "==", 1))
    require_rank(None if window is None else window.shape, 1, "window")
    step = length_of(op, 1, "frame_step", 1)
    batch, length = (op.fresh("the shape of signal is not known"), None) if shape is None else (shape[0], shape[1])
    n: Dim | None = length_of(op, 3, "frame_length", 1) if op.has(3) else None
    if window is not None and window.shape is not None:
        op.add_runtime_constraint((1, "<=", window.shape[0]))
        n = window.shape[0] if n is None else op.require_equal(n, window.shape[0], "frame_length and length of window")
    if n is None:
        n = length if window is None and length is not None else op.fresh("the length of a frame is not known")
    if length is None:
        frames: Dim = op.fresh("the shape of signal is not known")
    else:
        op.require((n, "<=", length), otherwise=f"a frame must be as long as the signal at most, {length}, is {n}")
        frames = floordiv(length - n, step, op.scope) + 1
    bins = floordiv(n, 2, op.scope) + 1 if op.attr("onesided", 1) else n
    return [SymbolicTensor(dtype, (batch, frames, bins, 2))]


@rules.rule("HannWindow", since=17, operands={0: "a size >= 0"}, dims=(0,))
@rules.rule("HammingWindow", since=17, operands={0: "a size >= 0"}, dims=(0,))
@rules.rule("BlackmanWindow", since=17, operands={0: "a size >= 0"}, dims=(0,))
def window_function(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__HannWindow.html, onnx__HammingWindow.html, onnx__BlackmanWindow.html

    size, a scalar -> [size] of type output_datatype
    """
    return [SymbolicTensor(_output_type(op), (length_of(op, 0, "size", 0),))]


@rules.rule("MelWeightMatrix", since=17, operands=dict.fromkeys(range(5), "sizes and frequencies that fit each other"))
def mel_weight_matrix(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MelWeightMatrix.html

    num_mel_bins and dft_length, scalars -> [dft_length//2 + 1, num_mel_bins] of type output_datatype
    """
    bins = length_of(op, 0, "num_mel_bins", 0)
    frequencies = floordiv(length_of(op, 1, "dft_length", 0), 2, op.scope) + 1
    return [SymbolicTensor(_output_type(op), (frequencies, bins))]


def _output_type(op: OpCall) -> DType:
    code = op.attr("output_datatype", DType.FLOAT32)
    if code not in DType.__members__.values():
        raise SpecViolation(f"output_datatype = {code} is not an element type", "GI106")
    return DType(code)
