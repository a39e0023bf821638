"""Tight lines beside assumptions, as that a size is not 0: onnxruntime judges every run of small sizes."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

from gather_infer import contract_of
from tests.validate.contract_runs import Runtime

SIZES = {1: range(9), 2: range(9), 3: range(5), 4: range(4)}
"""By how many symbols there are."""

LAST = "e = Constant <value_ints = [9223372036854775807]> () n = Shape (z) k = Neg (n) v = Slice (x, k, e)"
FIRST = "i = Constant <value_ints = [0]> ()"

CASES: dict[str, tuple[str, list[str]]] = {
    # id: (inputs and body, lines)
    "Reshape to a size": (
        "(float[A] x, float[B] z) => (float[P] y) { s = Shape (z) y = Reshape (x, s) }",
        ["B >= 1 enough", "A == B tight"],
    ),
    "Reshape to two sizes": (
        "(float[A, C] x, float[B, D] z) => (float[P, Q] y) { s = Shape (z) y = Reshape (x, s) }",
        ["B >= 1 enough", "D >= 1 enough", "A*C == B*D tight"],
    ),
    "what a Reshape leaves, beside another size": (
        "(float[A] x, float[B] z, float[C] w) => (float[P] y) { s = Shape (z) v = Reshape (x, s) y = Add (v, w) }",
        ["B >= 1 enough", "A == B tight", "B == C or B == 1 or C == 1 tight"],
    ),
    "the first element that a Reshape leaves": (
        f"(float[A] x, float[B] z) => (float[1] y) {{ {FIRST} s = Shape (z) v = Reshape (x, s) y = Gather (v, i) }}",
        ["B >= 1 enough", "A == B tight"],
    ),
    "the last elements, beside another size": (
        f"(float[A] x, float[B] z, float[C] w) => (float[P] y) {{ {LAST} y = MatMul (v, w) }}",
        ["B >= 1 enough", "min(A, B) == C tight"],
    ),
    "rows of four, beside an axis that is pooled": (
        "(float[N, 1, H] x, float[N, H] z) => (float[A, B, C] y, float[P, Q, R] w) { "
        "w = MaxPool <kernel_shape = [2], strides = [2]> (x) s = Constant <value_ints = [0, -1, 4]> () "
        "y = Reshape (z, s) }",
        ["N >= 1 tight", "H >= 2 enough", "H % 4 == 0 or H <= 1 tight"],
    ),
    "the first of the last elements": (
        f"(float[A] x, float[B] z) => (float[1] y) {{ {FIRST} {LAST} y = Gather (v, i) }}",
        ["B >= 1 enough", "A >= 1 tight"],
    ),
    "reflect Pad that cuts as much": (
        '(float[A] x) => (float[P] y) { p = Constant <value_ints = [1, -1]> () y = Pad <mode = "reflect"> (x, p) }',
        ["A >= 3 tight"],
    ),
    "reflect Pad of one axis": (
        "(float[A, B] x) => (float[P, Q] y) { p = Constant <value_ints = [0, 2, 0, 1]> () "
        'y = Pad <mode = "reflect"> (x, p) }',
        ["B >= 1 tight", "B >= 3 tight"],
    ),
    "edge Pad of both axes": (
        "(float[A, B] x) => (float[P, Q] y) { p = Constant <value_ints = [1, 0, -1, 2]> () "
        'y = Pad <mode = "edge"> (x, p) }',
        ["B >= 1 tight", "A >= 2 tight"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_lines_at_sizes_of_zero(name: str) -> None:
    text, wanted = CASES[name]
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> g {text}')
    contract, runtime = contract_of(model).contract, Runtime(model)
    found = [f"{x.text} {'tight' if x.tight else 'enough'}" for x in (*contract.nonempty, *contract.lines)]
    assert (found, contract.open) == (wanted, ())
    names = sorted({d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim})
    for drawn in itertools.product(SIZES[len(names)], repeat=len(names)):
        sizes = dict(zip(names, drawn, strict=True))
        shapes = {i.name: [sizes[d.dim_param] for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
        feeds = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        if runtime.error(feeds):
            assert contract.check(feeds, strict=True), sizes
        else:
            assert not contract.check(feeds), sizes
