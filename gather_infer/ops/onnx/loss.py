"""Rules of losses over class scores."""

from __future__ import annotations

from typing import Final

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.preconditions import (
    refuse_empty,
    require_min_rank,
    require_rank,
    require_same_dtype,
    require_shape,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import Shape, SymbolicTensor

rules = RuleSet("")

LABELS: Final = Indexing(from_end=False, negative_note="which labels must not be; onnxruntime counts from the end")


def class_loss(op: OpCall, scores: str, labels: str, weights: str) -> tuple[SymbolicTensor, Shape | None]:
    """The type of the loss, and the shape of the scores, refined by the dims of labels and weights.

    `scores`, `labels` and `weights` are the names of inputs 0, 1 and 2 in messages. Shapes:

    scores   [N, C, d1, ..., dk]
    labels   [N, d1, ..., dk], from 0 to C - 1, or the attribute ignore_index
    weights  [C]
    loss     [N, d1, ..., dk] for reduction none, else a scalar

    Raises SpecViolation when the shape of labels or weights does not fit the scores, or reduction is unknown.
    """
    x, target, weight = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = require_same_dtype(f"{scores} and {weights}", x, weight)
    reduction = op.attr("reduction", "mean")
    if reduction not in ("none", "sum", "mean"):
        raise SpecViolation(f"reduction = {reduction!r} is not one of none, sum, mean")
    require_min_rank(x.shape, 2, scores)
    require_min_rank(target.shape, 1, labels)
    if x.shape is not None:
        ignored = op.attr("ignore_index")
        check_bounds(op, target, known_numbers(op, 1), x.shape[1], LABELS._replace(ignored=ignored),
                     axis=1, data=describe(x, scores))  # fmt: skip
    weight_shape = None if weight is None else require_rank(weight.shape, 1, weights)
    shape, each = x.shape, target.shape
    if shape is not None:
        if op.op_type == "SoftmaxCrossEntropyLoss":
            refuse_empty(op, *shape)
        c = shape[1]
        with op.unenforced():  # onnxruntime reads only the elements that it needs
            each = require_shape(op, target.shape, (shape[0], *shape[2:]), labels)
            if weight_shape is not None:
                c = op.require_equal(c, weight_shape[0], f"the classes of {scores} and the length of {weights}")
        shape = (each[0], c, *each[1:])
    return SymbolicTensor(dtype, each if reduction == "none" else ()), shape


@rules.rule("NegativeLogLikelihoodLoss", since=12, addresses={1: 0})
def negative_log_likelihood_loss(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__NegativeLogLikelihoodLoss.html

    input [N, C, d1, ..., dk], target, weight -> [N, d1, ..., dk] for reduction none, else a scalar
    """
    return [class_loss(op, "input", "target", "weight")[0]]


@rules.rule("SoftmaxCrossEntropyLoss", since=12, addresses={1: 0})
def softmax_cross_entropy_loss(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__SoftmaxCrossEntropyLoss.html

    The second output, log_prob, has the shape of scores.
    """
    loss, scores = class_loss(op, "scores", "labels", "weights")
    return [loss, SymbolicTensor(loss.dtype, scores)][: len(op.outputs)]
