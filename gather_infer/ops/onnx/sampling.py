"""Rules of operators that draw random numbers."""

from __future__ import annotations

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.cast import dtype_of
from gather_infer.ops.semantics.preconditions import require_rank
from gather_infer.rules import OpCall, Rule, RuleSet
from gather_infer.tensor import DType, SymbolicTensor, ValueRange, format_shape

rules = RuleSet("")


def _drawn(op_type: str) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        shape = tuple(op.attr("shape", ()))
        if any(dim < 0 for dim in shape):
            raise SpecViolation(f"shape {format_shape(shape)} has a negative dim", "GI210")
        return [SymbolicTensor(dtype_of(op.attr("dtype", DType.FLOAT32), "dtype"), shape)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


def _drawn_like(op_type: str) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        x = op.tensor(0)
        return [SymbolicTensor(_dtype(op, x), x.shape)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


def _dtype(op: OpCall, x: SymbolicTensor) -> DType | None:
    """The element type that attribute `dtype` specifies; the element type of `x` when the attribute is absent."""
    number = op.attr("dtype")
    return x.dtype if number is None else dtype_of(number, "dtype")


for _op_type in ("RandomNormal", "RandomUniform"):
    rules.rule(_op_type, deterministic=False)(_drawn(_op_type))
    rules.rule(f"{_op_type}Like", deterministic=False)(_drawn_like(f"{_op_type}Like"))


@rules.rule("Bernoulli", since=15, deterministic=False)
def bernoulli(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Bernoulli.html: every element is 0 or 1"""
    x = op.tensor(0)
    dtype = _dtype(op, x)
    return [SymbolicTensor(dtype, x.shape, None, value_ranges.fit(op, ValueRange(0, 1), dtype))]


@rules.rule("Multinomial", since=7, deterministic=False)
def multinomial(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Multinomial.html

    input   [batch_size, class_size]
    output  [batch_size, sample_size], class indices in [0, class_size - 1]
    """
    x = op.tensor(0)
    require_rank(x.shape, 2, "input")
    dtype = dtype_of(op.attr("dtype", DType.INT32), "dtype")
    samples = op.attr("sample_size", 1)
    if samples < 0:
        raise SpecViolation(f"sample_size = {samples} is negative", "GI210")
    if x.shape is None:
        return [SymbolicTensor(dtype, (op.fresh("the input has no known rank"), samples), None, ValueRange(0, None))]
    batch, classes = x.shape
    return [SymbolicTensor(dtype, (batch, samples), None, value_ranges.fit(op, ValueRange(0, classes - 1), dtype))]
