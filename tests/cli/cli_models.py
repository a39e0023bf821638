"""Small models for the tests of the command line, written to the working directory of the test."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from tests.passes.folding_models import i64, model

F, I64 = TensorProto.FLOAT, TensorProto.INT64


def embedding() -> ModelProto:
    """A table by tokens, a position table by a Range over seq, and a dim that is static."""
    nodes = [
        helper.make_node("Gather", ["words", "ids"], ["word"], "/word/Gather"),
        helper.make_node("Shape", ["ids"], ["shape"], "/Shape"),
        helper.make_node("Gather", ["shape", "one"], ["seq_len"], "/Gather_len"),
        helper.make_node("Range", ["zero", "seq_len", "step"], ["at"], "/Range"),
        helper.make_node("Gather", ["places", "at"], ["place"], "/place/Gather"),
        helper.make_node("Add", ["word", "place"], ["sum"], "/Add"),
        helper.make_node("Shape", ["scale"], ["widths"], "/Shape_scale"),
        helper.make_node("Gather", ["widths", "one"], ["width"], "/Gather_width"),
        helper.make_node("Unsqueeze", ["width", "axes"], ["last"], "/Unsqueeze"),
        helper.make_node("Concat", ["shape", "last"], ["target"], "/Concat", axis=0),
        helper.make_node("Reshape", ["sum", "target"], ["hidden"], "/Reshape"),
    ]
    rng = np.random.default_rng(7)
    held = {
        "words": rng.random((100, 8), np.float32),
        "places": rng.random((16, 8), np.float32),
        "one": np.array(1),
        "zero": np.array(0),
        "step": np.array(1),
        "axes": i64(0),
    }
    types: Any = {"ids": (I64, ["batch", "seq"]), "scale": (F, [1, 8])}
    return model(nodes, types, {"hidden": (F, ["batch", "total", 8])}, held)


def out_of_bounds() -> ModelProto:
    nodes = [helper.make_node("Gather", ["table", "index"], ["y"], "pick")]
    held = {"table": np.ones((9, 4), np.float32), "index": i64(0, 1, 9)}
    return model(nodes, {}, {"y": (F, [3, 4])}, held)


def in_bounds() -> ModelProto:
    """A Gather that folds, unless its 32 bytes are too many; table and index stay, as they are outputs."""
    nodes = [helper.make_node("Gather", ["table", "index"], ["y"], "pick")]
    held = {"table": np.ones((9, 4), np.float32), "index": i64(0, 8)}
    return model(nodes, {}, {"y": (F, [2, 4]), "table": (F, [9, 4]), "index": (I64, [2])}, held)


def openvino() -> ModelProto:
    nodes = [
        helper.make_node("Gather", ["table", "index", "axis"], ["a"], "constant", domain="openvino.opset8"),
        helper.make_node("Gather", ["a", "ids", "axis"], ["y"], "dynamic", domain="openvino.opset8"),
    ]
    held = {"table": np.ones((9, 4), np.float32), "index": np.array([0, 8], np.int32), "axis": np.array(0)}
    return model(nodes, {"ids": (I64, ["N"])}, {"y": (F, None)}, held, domains={"openvino.opset8": 1})


def many_gathers(number: int = 20) -> ModelProto:
    nodes = [helper.make_node("Gather", ["x", "index"], [f"y{i}"], f"gather_{i}") for i in range(number)]
    outputs = {f"y{i}": (F, [1]) for i in range(number)}
    return model(nodes, {"x": (F, ["n"])}, outputs, {"index": i64(0)})


def unlike_gathers(names: str = "abcdefghijklmnopqrst") -> ModelProto:
    """Nothing repeats with a number; every index is proved, but for one of the last."""
    nodes = [helper.make_node("Gather", ["x", "index"], [f"y_{name}"], f"pick_{name}") for name in names]
    nodes[-2].input[1] = "ids"
    types: Any = {"x": (F, [9]), "ids": (I64, ["n"])}
    return model(nodes, types, {f"y_{name}": (F, None) for name in names}, {"index": i64(0)})


def cache(layers: int = 48) -> ModelProto:
    """A decoder's cache, of which each part goes on with one more row."""
    parts = [f"{part}_{layer}" for layer in range(layers) for part in ("key", "value")]
    nodes = [
        helper.make_node("Concat", [f"past_{part}", "row"], [f"present_{part}"], f"/{part}/Concat", axis=2)
        for part in parts
    ]
    types: Any = {"row": (F, ["batch", 1, 1, 8]), **{f"past_{part}": (F, ["batch", 1, "past", 8]) for part in parts}}
    return model(nodes, types, {f"present_{part}": (F, ["batch", 1, f"{part}_rows", 8]) for part in parts}, {})


MODELS: dict[str, Any] = {
    "embedding.onnx": embedding,
    "bad.onnx": out_of_bounds,
    "exported.onnx": openvino,
    "many.onnx": many_gathers,
}
