"""Constant folding: nodes with the same results in every run become constants."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant, bits_dtype, from_integers
from gather_infer.passes.evaluate import Evaluation
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType, SymbolicTensor, make_values, static_dims

rewrites = RewriteSet()

MAX_OPERATIONS: Final = 1 << 28
"""Maximum work for the evaluation of a node: elements that it reads and writes, or operations of a float operator."""


@rewrites.rewrites(name="fold-constants")
def fold_constants(match: Match) -> Rewrite | None:
    """Replace a node whose inputs are all constant by the constants that its evaluator computes."""
    node = match.node
    if node.is_constant or not node.inputs or match.is_faulty or match.has_attribute_reference:
        return None
    for name in node.inputs:  # usually the first input decides
        if name and node.graph.constant_payload(name) is None:
            return None
    evaluator = match.evaluator()
    if evaluator is None or not _is_affordable(match):
        return None
    inputs: list[Constant | None] = []
    for at, name in enumerate(node.inputs):
        constant = match.constant(at) if name else None
        if name and constant is None:
            match.report_not_folded(f"not all elements of {name} are known")
            return None
        inputs.append(constant)
    try:
        results = evaluator(Evaluation(node.proto, inputs, node.version))
    except SpecViolation as violation:
        match.report(violation)
        return None
    if results is None:
        return None
    return match.replace_with_constants("all inputs are constant", results)


@rewrites.rewrites(name="fold-known")
def fold_known(match: Match) -> Rewrite | None:
    """Replace a node by constants if the inference knows all elements of its live outputs as numbers or booleans."""
    node = match.node
    if node.is_constant or not [True for name in node.outputs if _elements(match.fact_of(name)) is not None]:
        return None
    if match.is_faulty or match.is_trained:
        return None
    results: list[Constant] = []
    for at, name in enumerate(node.outputs):
        fact = match.result(at) if name else None
        if fact is not None and not match.is_needed(at):
            fact = None
        constant = None if fact is None else _integers(fact)
        if fact is not None and constant is None:
            return None
        results.append(_NOTHING if constant is None else constant)
    if not any(result is not _NOTHING for result in results):
        return None
    return match.replace_with_constants(f"evaluates to {match.result(0)}", results, needed_only=True)


initializers = RewriteSet()


@initializers.rewrites("Constant")
def constant_to_initializer(match: Match) -> Rewrite | None:
    """Replace a Constant node by an initializer, where graphs may have initializers that are not inputs."""
    if match.is_trained or not match.has_free_initializers or len(match.node.proto.attribute) != 1:
        return None
    constant = match.constant_of(match.output())
    if constant is None or constant.nbytes > match.max_growth:
        return None
    return match.replace_with_constants("a Constant is an initializer", [constant])


_NOTHING: Final = Constant(1, np.empty(0, "<u4"))


def _integers(fact: SymbolicTensor) -> Constant | None:
    """The elements of an integer or bool tensor as a constant; None unless all of them are known."""
    elements = _elements(fact)
    if elements is None or fact.dtype is None or bits_dtype(fact.dtype) is None:
        return None
    kind = bool if fact.dtype is DType.BOOL else int if fact.dtype.is_integer else None
    if not all(type(v) is kind for v in elements.ravel().tolist()):
        return None
    return from_integers(fact.dtype, elements)


def _elements(fact: SymbolicTensor) -> npt.NDArray[np.object_] | None:
    """The elements that the inference knows, in the shape of the tensor; None if it knows none.

    An empty tensor of integers or booleans has an empty array, even if the inference does not compute its elements.
    """
    if fact.values is not None or fact.dtype is None or not fact.shape or 0 not in fact.shape:
        return fact.values
    if not (fact.dtype.is_integer or fact.dtype is DType.BOOL):
        return None
    sizes = static_dims(fact.shape)
    return None if sizes is None else make_values([], sizes)


def _is_affordable(match: Match) -> bool:
    """Whether the results respect the limits of bytes and work; sizes that are unknown in advance do not count."""
    work = sum(match.fact(at).size or 0 for at in range(len(match.node.inputs)))
    for at, name in enumerate(match.node.outputs):
        fact = match.result(at)
        count = fact.size if name else 0
        if count is None:
            continue
        work += count
        size = fact.nbytes
        if size is not None and size > match.growth_limit:
            match.report_not_folded(
                f"its result {fact.with_(values=None)} is past the budget of {match.max_growth} bytes"
            )
            return False
    if work > MAX_OPERATIONS:
        match.report_not_folded(f"it takes {work} steps, the budget is {MAX_OPERATIONS}")
        return False
    return True
