"""Rule of TfIdfVectorizer, which counts n-grams."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.preconditions import refuse_empty, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import DType, SymbolicTensor

rules = RuleSet("")


@rules.rule("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html

    X       [C] or [N, C]
    result  [n] or [N, n], n = max(ngram_indexes) + 1
    """
    x = op.tensor(0)
    indexes = op.attr("ngram_indexes")
    if not indexes or min(indexes) < 0:
        raise SpecViolation(f"ngram_indexes must have elements, all 0 or more, is {list(indexes)}")
    if x.shape is None:
        return [SymbolicTensor(DType.FLOAT32)]
    require_rank(x.shape, (1, 2), "X")
    if len(x.shape) == 2:
        refuse_empty(op, x.shape[0])
    return [SymbolicTensor(DType.FLOAT32, (*x.shape[:-1], max(indexes) + 1))]
