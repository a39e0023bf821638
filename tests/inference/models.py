"""Models in ONNX's text form, inferred and held against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import parser

from gather_infer import Inference, infer
from tests.oracle.soundness import Comparison, Runtime, compare


def model(body: str, *, opset: int = 17, ir: int = 8, functions: str = "", domains: str = "") -> onnx.ModelProto:
    """`body` is `(inputs) => (outputs) { nodes }`; more domains as `, "local": 1`."""
    return parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{domains}]> g {body} {functions}')


def shapes(proto: onnx.ModelProto, **options: Any) -> dict[str, str]:
    """name -> fact as text"""
    return {name: str(value) for name, value in infer(proto, **options).items()}


def check(
    proto: onnx.ModelProto,
    runs: list[tuple[Mapping[str, int], Mapping[str, Any]]],
    **options: Any,
) -> tuple[Inference, list[Comparison]]:
    """Infer once, run at every (bindings, feeds) and assert that nothing is wrong.

    A feed given as a tuple of sizes becomes a float32 array of that shape.
    """
    inference = infer(proto, **options)
    runtime = Runtime(proto)
    found = []
    for bindings, feeds in runs:
        arrays = {
            name: np.arange(np.prod(feed), dtype=np.float32).reshape(feed) if isinstance(feed, tuple) else feed
            for name, feed in feeds.items()
        }
        result = compare(inference, runtime.run(arrays), bindings)
        assert result.wrong == [], bindings
        found.append(result)
    return inference, found


def untyped(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the declared types of its outputs: what is inferred has nothing to lean on."""
    for output in proto.graph.output:
        output.ClearField("type")
    return proto
