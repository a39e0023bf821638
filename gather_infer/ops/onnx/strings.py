"""Rules of operators on strings and of ImageDecoder, whose output sizes depend on the data."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.preconditions import require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import maximum
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange, format_shape

rules = RuleSet("")


@rules.rule("StringConcat", since=20)
def onnx_string_concat(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__StringConcat.html

    X, Y -> string, the broadcast of the shapes of X and Y
    """
    return [SymbolicTensor(DType.STRING, broadcast(op, op.tensor(0).shape, op.tensor(1).shape))]


@rules.rule("RegexFullMatch", since=20)
def onnx_regex_full_match(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__RegexFullMatch.html

    X -> bool, shape of X
    """
    return [SymbolicTensor(DType.BOOL, op.tensor(0).shape)]


@rules.rule("StringSplit", since=20)
def onnx_string_split(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__StringSplit.html

    X   [d0, ..., dr-1]
    Y   [d0, ..., dr-1, the largest number of parts]
    Z   [d0, ..., dr-1], the number of parts of each string, at most maxsplit + 1
    """
    shape, most = op.tensor(0).shape, op.attr("maxsplit")
    parts: Shape | None = None
    if shape is not None:
        longest = op.fresh("the number of parts depends on the strings")
        if most is not None and most >= 0:
            op.add_implied_fact(most + 1 - longest)
        parts = (*shape, longest)
    span = ValueRange(0, most + 1 if most is not None and most >= 0 else None)
    return [SymbolicTensor(DType.STRING, parts), SymbolicTensor(DType.INT64, shape, None, span)][: len(op.outputs)]


@rules.rule("StringNormalizer", since=10)
def onnx_string_normalizer(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__StringNormalizer.html

    X   [C] or [1, C]
    Y   X without the stop words; one empty string when none is left
    """
    shape = op.tensor(0).shape
    if shape is None:
        return [SymbolicTensor(DType.STRING)]
    if len(shape) not in (1, 2):
        raise SpecViolation(f"the input must have shape [C] or [1, C], has shape {format_shape(shape)}")
    if len(shape) == 2:
        op.require_equal(shape[0], 1, "dim 0 of the input and 1", code="GI210")
    if not op.attr("stopwords", ()):
        return [SymbolicTensor(DType.STRING, (*shape[:-1], maximum(1, shape[-1], scope=op.scope)))]
    kept = op.fresh("the number of words that are kept depends on them")
    op.add_implied_fact(kept - 1)
    op.add_implied_fact(maximum(1, shape[-1], scope=op.scope) - kept)
    return [SymbolicTensor(DType.STRING, (*((1,) if len(shape) == 2 else ()), kept))]


@rules.rule("ImageDecoder", since=20)
def onnx_image_decoder(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ImageDecoder.html (the result is empty when decoding fails)"""
    require_rank(op.tensor(0).shape, 1, "the encoded stream")
    return [SymbolicTensor(DType.UINT8, tuple(op.fresh("the size depends on the image") for _ in range(3)))]
