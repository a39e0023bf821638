"""Small models: many of them make a directory, some are no models, or hurt who reads them."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import ModelProto

HEAD = '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>'


def lookup(rows: int = 9, index: int = 1) -> ModelProto:
    """A Gather by a constant index."""
    table = ", ".join(["0"] * rows)
    return onnx.parser.parse_model(
        f"{HEAD} g (float[N, 4] x) => (float[N, 4] y) <float[{rows}] t = {{{table}}}, int64 i = {{{index}}}>"
        "{ [pick] r = Gather (t, i) y = Mul (x, r) }"
    )


def called(op_type: str) -> ModelProto:
    """A node of com.example."""
    return onnx.parser.parse_model(
        f"{HEAD} g (float[N, 4] x) => (float[N, 4] y) {{ [node] y = com.example.{op_type} (x) }}"
    )


def folder_of(folder: Path, number: int) -> list[str]:
    """`number` files: mostly models, every hundredth with an index out of bounds."""
    paths = []
    good, bad = lookup().SerializeToString(), lookup(index=9).SerializeToString()
    for position in range(number):
        path = folder / f"model-{position:04}.onnx"
        path.write_bytes(bad if position % 100 == 99 else good)
        paths.append(str(path))
    return paths
