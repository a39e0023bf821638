"""Models with a layer that ONNX has no counterpart of, and others that read what it gives; they give that too."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case


def drawn(b: Build, element: str = "f32") -> Any:
    """Random numbers, as many as the input has."""
    shape = b.op(3, "ShapeOf", [b.param(b.floats(4, 6))], output_type="i64")
    limits = [b.const(np.array(k, {"f32": "f4", "i32": "i4"}[element])) for k in (0, 9)]
    return b.op(8, "RandomUniform", [shape, *limits], output_type=element, global_seed=3, op_seed=5)


def dropout(b: Build) -> Any:
    random, x = drawn(b), b.param(b.floats(4, 6))
    kept = b.op(1, "Convert", [b.op(1, "Greater", [random, b.const(np.float32(3))])], destination_type="f32")
    scaled = b.op(1, "Multiply", [b.op(1, "Multiply", [x, kept]), b.const(np.float32(1.5))])
    mean = b.op(1, "ReduceMean", [scaled, b.const(np.array([-1]))], keep_dims=True)
    return [random, mean, b.op(1, "Relu", [b.op(1, "Subtract", [scaled, mean])])]


def ranked(b: Build) -> Any:
    """Layers whose lowerings need to know the rank."""
    random = drawn(b)
    order = b.const(np.array([1, 0]))
    turned = b.op(1, "Transpose", [random, order])
    image = b.op(1, "Unsqueeze", [turned, b.const(np.array([0, 1]))])
    sizes, axes = b.const(np.array([9, 8])), b.const(np.array([2, 3]))
    plain = {"mode": "linear_onnx", "shape_calculation_mode": "sizes", "pads_begin": [0], "pads_end": [0]}
    resized = b.op(11, "Interpolate", [image, sizes, axes], antialias=False, **plain)
    return [random, resized, b.op(1, "Softmax", [resized], axis=1)]


def indices(b: Build) -> Any:
    """Rows that are drawn."""
    random = drawn(b, "i32")
    return [random, b.op(8, "Gather", [b.param(b.floats(9, 2)), random, b.const(np.int64(0))], batch_dims=0)]


CASES: dict[str, Case] = {"dropout": Case(dropout), "ranked": Case(ranked), "indices": Case(indices)}
