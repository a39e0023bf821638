"""Clauses of pages that onnxruntime does not check: the line is sufficient, and a guard lets pass what runs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from gather_infer import contract_of
from tests.validate.contract_runs import Runtime

CASES: dict[str, tuple[str, str, dict[str, tuple[int, ...]]]] = {
    # id: (inputs and body, a line that is sufficient only, shapes outside of it with which onnxruntime runs)
    "PRelu": (
        "(float[A, B] x, float[C] s) => (float[P, Q] y) { y = PRelu (x, s) }",
        "C == 1 or C == B", {"x": (2, 1), "s": (3,)},
    ),
    "GatherND": (
        "(float[A, B] x, int64[C, 1] i) => (float[P] y) { y = GatherND <batch_dims = 1> (x, i) }",
        "A == C", {"x": (1, 3), "i": (2, 1)},
    ),
    "NegativeLogLikelihoodLoss, targets": (
        "(float[N, C] x, int64[M] i) => (float y) { y = NegativeLogLikelihoodLoss (x, i) }",
        "N == M", {"x": (3, 2), "i": (2,)},
    ),
    "SoftmaxCrossEntropyLoss, weights": (
        "(float[N, C] x, int64[N] i, float[W] w) => (float y) { y = SoftmaxCrossEntropyLoss (x, i, w) }",
        "C == W", {"x": (3, 2), "i": (3,), "w": (3,)},
    ),
    "GroupNormalization": (
        "(float[N, C, 2] x, float[D] s, float[C] b) => (float[N, C, 2] y) "
        "{ y = GroupNormalization <num_groups = 2> (x, s, b) }",
        "C == D", {"x": (1, 4, 2), "s": (1,), "b": (4,)},
    ),
    "onesided DFT": (
        "(float[1, N, K] x) => (float[1, P, 2] y) { a = Constant <value_int = 1> () y = DFT <onesided = 1> (x, , a) }",
        "K == 1", {"x": (1, 4, 2)},
    ),
    "RotaryEmbedding": (
        "(float[1, 1, S, E] x, float[1, S, H] c) => (float[1, 1, S, E] y) { y = RotaryEmbedding (x, c, c) }",
        "E % 2 == 0", {"x": (1, 1, 2, 3), "c": (1, 2, 1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_the_page_alone_demands_is_not_tight(name: str) -> None:
    text, wanted, shapes = CASES[name]
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 23]> g {text}')
    contract, runtime = contract_of(model).contract, Runtime(model)
    (line,) = (line for line in contract.lines if line.text == wanted)
    assert (line.tight, line.reason.partition(":")[0]) == (
        False, "the specification requires it, onnxruntime may run anyway",
    )  # fmt: skip
    types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    feeds = {
        key: np.zeros(shape, np.int64 if types[key] == onnx.TensorProto.INT64 else np.float32)
        for key, shape in shapes.items()
    }
    assert not runtime.error(feeds)
    assert contract.check(feeds) == []
    assert line in [violation.line for violation in contract.check(feeds, strict=True)]


def test_what_the_runtime_checks_stays_tight() -> None:
    """A slope that neither fits nor is broadcast to."""
    text = "(float[A, B] x, float[C] s) => (float[P, Q] y) { y = PRelu (x, s) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 23]> g {text}')
    feeds = {"x": np.zeros((2, 2), np.float32), "s": np.zeros(3, np.float32)}
    assert Runtime(model).error(feeds)
    assert [v.line.tight for v in contract_of(model).contract.check(feeds) if v.line is not None] == [True]
