"""Rules of the optimizers of ai.onnx.preview.training: each updated tensor keeps its type and shape."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.rules import OpCall, Rule, RuleSet
from gather_infer.tensor import SymbolicTensor

rules = RuleSet("ai.onnx.preview.training")

# inputs   R (learning rate), T (update count), n tensors, n gradients, then n of each further state
# outputs  n updated tensors, then n of each state
OPTIMIZERS = {
    # operator: (groups of n tensors among the inputs, groups of n among the outputs)
    "Adagrad": (3, 2),
    "Adam": (4, 3),
    "Momentum": (3, 2),
}


def _optimizer(op_type: str, given: int, returned: int) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        count = len(op.inputs) - 2
        if count < given or count % given:
            raise SpecViolation(f"{op_type} takes R, T and {given} tensors per optimized one, found {count}", "GI107")
        n = count // given
        if len(op.outputs) != returned * n:
            raise SpecViolation(f"the node must have {returned * n} outputs, has {len(op.outputs)}", "GI107")
        tensors = [op.tensor(2 + i) for i in range(n)]
        states = [op.tensor(2 + 2 * n + i) for i in range((given - 2) * n)]
        updated = [_agreed(op, x, op.tensor(2 + n + i), "a tensor and its gradient") for i, x in enumerate(tensors)]
        kept = [_agreed(op, x, s, "a tensor and its state") for s, x in zip(states, tensors * (given - 2), strict=True)]
        return [*updated, *kept]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_{op_type}.html"
    return rule


for _op_type, _groups in OPTIMIZERS.items():
    rules.rule(_op_type)(_optimizer(_op_type, *_groups))


def _agreed(op: OpCall, x: SymbolicTensor, other: SymbolicTensor, what: str) -> SymbolicTensor:
    """The element type and shape that `x` and `other` must share; `what` names the two in messages.

    Raises SpecViolation when their element types or shapes can never be equal.
    """
    if x.dtype is not None and other.dtype is not None and x.dtype is not other.dtype:
        raise SpecViolation(f"{what} must have one element type, have {x.dtype} and {other.dtype}", "GI211")
    dtype = x.dtype or other.dtype
    if x.shape is None or other.shape is None:
        return SymbolicTensor(dtype, x.shape if other.shape is None else other.shape)
    if len(x.shape) != len(other.shape):
        raise SpecViolation(f"{what} must have the same rank, have {len(x.shape)} and {len(other.shape)}", "GI212")
    dims = zip(x.shape, other.shape, strict=True)
    return SymbolicTensor(dtype, tuple(op.require_equal(a, b, f"axis {i} of {what}") for i, (a, b) in enumerate(dims)))
