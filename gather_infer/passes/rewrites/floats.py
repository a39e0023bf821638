"""Constant folding of float operators that runtimes round differently, with the results of one runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gather_infer.ir.constant import Constant
from gather_infer.passes.evaluate.operation_count import operations
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.folding import MAX_OPERATIONS
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType, SymbolicTensor, static_dims

if TYPE_CHECKING:
    from gather_infer.passes.evaluate.runtime import RuntimeEvaluator

NAME: Final = "fold-floats"

MAX_BYTES: Final = 1 << 28
"""Maximum number of bytes that an evaluated node reads and writes: they are copied into a file."""

_NOT_EVALUATED: Final = frozenset(
    {
        "Cast", "CastLike",  # the cases that exact evaluation leaves out are undefined, not inexact
        "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear",
    }
)  # fmt: skip
"""Operators that are not evaluated: runtimes look for the patterns of quantization."""


def float_folding(runtime: RuntimeEvaluator | None) -> RewriteSet:
    """The rule that evaluates nodes in `runtime`; it never matches if that is None."""
    rewrites = RewriteSet()

    @rewrites.rewrites(name=NAME)
    def evaluated(site: Match) -> Rewrite | None:
        """A node of ai.onnx with constant inputs, floats among them, equals the result of a runtime, up to rounding."""
        if runtime is None or not _is_inexact(site) or not _is_affordable(site):
            return None
        from gather_infer.runtimes.process import Failure

        inputs: list[Constant | None] = [
            site.constant(at) if name else None for at, name in enumerate(site.node.inputs)
        ]
        if any(name and constant is None for name, constant in zip(site.node.inputs, inputs, strict=True)):
            site.report_not_folded("not all elements of an input are known")
            return None
        found = runtime.evaluate(site.node.proto, inputs, {"": site.version})
        if isinstance(found, Failure):
            site.report_not_folded(f"no runtime evaluates it: {found}")
            return None
        named = iter(found)
        results = [next(named) if name else _NOTHING for name in site.node.outputs]
        if not all(_is_as_inferred(site.result(at), result) for at, result in enumerate(results) if site.output(at)):
            site.report_not_folded(
                f"{runtime.runtime} returns {', '.join(map(_type_text, found))}, not the inferred types"
            )
            return None
        return site.replace_with_constants(f"all inputs are constant, by {runtime.runtime}", results, needed_only=True)

    return rewrites


_NOTHING: Final = Constant(1, np.empty(0, "<u4"))


def _is_inexact(match: Match) -> bool:
    """Whether a node is deterministic, has only constant inputs, and reads or writes floats."""
    node, traits = match.node, match.traits
    if match.domain or node.bodies or node.is_constant or match.op_type in _NOT_EVALUATED or not any(node.inputs):
        return False
    if traits is None or not traits.deterministic:
        return False
    if not all(match.is_constant(at) for at, name in enumerate(node.inputs) if name):
        return False
    facts = [
        *(match.fact(at) for at in range(len(node.inputs))),
        *(match.result(at) for at in range(len(node.outputs))),
    ]
    return any(fact.dtype is not None and fact.dtype.is_float for fact in facts)


def _is_affordable(match: Match) -> bool:
    """Whether all sizes are known and within the limits of operations and bytes; if not, the reason is reported."""
    read = [match.fact(at) if name else None for at, name in enumerate(match.node.inputs)]
    written = [match.result(at) if name else None for at, name in enumerate(match.node.outputs)]
    for fact in written:
        size = 0 if fact is None else fact.nbytes
        if size is None:
            match.report_not_folded("the size of its result is not known before it is evaluated")
            return False
        if size > match.growth_limit:
            match.report_not_folded(f"its result {fact} is past the budget of {match.max_growth} bytes")
            return False
    nbytes = sum(fact.nbytes or 0 for fact in (*read, *written) if fact is not None)
    work = operations(match.node.proto, [_sizes(fact) for fact in read], [_sizes(fact) for fact in written])
    if nbytes > MAX_BYTES:
        match.report_not_folded(f"it reads and writes {nbytes} bytes, the budget is {MAX_BYTES}")
        return False
    if work > MAX_OPERATIONS:
        match.report_not_folded(f"it takes {work} operations, the budget is {MAX_OPERATIONS}")
        return False
    return True


def _sizes(fact: SymbolicTensor | None) -> tuple[int, ...] | None:
    return None if fact is None else static_dims(fact.shape)


def _is_as_inferred(fact: SymbolicTensor, result: Constant) -> bool:
    return fact.dtype == result.data_type and fact.shape == result.shape


def _type_text(result: Constant) -> str:
    return str(SymbolicTensor(DType(result.data_type), result.shape))
