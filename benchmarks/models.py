"""Models to measure on: transformer layers as exporters write them, and files with large weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NODES_PER_LAYER = 50


def transformer(nodes: int, *, width: int = 64, heads: int = 4) -> onnx.ModelProto:
    """A stack of attention layers with about `nodes` nodes: float32[batch, seq, width] in and out.

    Each layer takes batch and seq from Shape -> Gather -> Unsqueeze -> Concat -> Reshape chains, as the TorchScript
    exporter writes them.
    """
    graph_nodes: list[onnx.NodeProto] = []
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> TensorProto:
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)

    def const(name: str, value: object) -> TensorProto:
        return numpy_helper.from_array(np.array(value, dtype=np.int64), name)

    initializers = [
        weight("w", width, width), weight("b", width), weight("wf", width, 4 * width), weight("bf", 4 * width),
        weight("wp", 4 * width, width), weight("gamma", width), weight("beta", width),
        const("i0", 0), const("i1", 1), const("ax0", [0]), const("c_heads", [heads]), const("c_dim", [width // heads]),
        const("c_width", [width]),
        numpy_helper.from_array(np.array(width // heads, np.float32), "scale"),
        numpy_helper.from_array(np.array(2.0, np.float32), "two"),
        numpy_helper.from_array(np.array(1e-5, np.float32), "eps"),
    ]  # fmt: skip
    layers = max(1, round(nodes / NODES_PER_LAYER))
    x = "x"
    for layer in range(layers):
        p = f"/layer.{layer}/"

        def add(op: str, inputs: list[str], output: str, p: str = p, **attributes: object) -> str:
            graph_nodes.append(helper.make_node(op, inputs, [p + output], name=f"{p}{output}", **attributes))
            return p + output

        shape = add("Shape", [x], "shape")
        batch = add("Gather", [shape, "i0"], "batch", axis=0)
        shape2 = add("Shape", [x], "shape2")
        seq = add("Gather", [shape2, "i1"], "seq", axis=0)
        ub, us = add("Unsqueeze", [batch, "ax0"], "ub"), add("Unsqueeze", [seq, "ax0"], "us")
        target = add("Concat", [ub, us, "c_heads", "c_dim"], "target", axis=0)
        merged = add("Concat", [ub, us, "c_width"], "merged", axis=0)
        split = []
        for part in "qkv":
            m = add("MatMul", [x, "w"], f"{part}_mm")
            m = add("Add", [m, "b"], f"{part}_add")
            m = add("Reshape", [m, target], f"{part}_heads")
            split.append(add("Transpose", [m], f"{part}_t", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]))
        scores = add("MatMul", [split[0], split[1]], "scores")
        scores = add("Div", [scores, "scale"], "scaled")
        scores = add("Softmax", [scores], "probs", axis=-1)
        context = add("MatMul", [scores, split[2]], "context")
        context = add("Transpose", [context], "context_t", perm=[0, 2, 1, 3])
        context = add("Reshape", [context, merged], "context_m")
        context = add("MatMul", [context, "w"], "out_mm")
        context = add("Add", [context, "b"], "out_add")
        residual = add("Add", [context, x], "residual")
        for part, source in (("n1", residual), ("n2", "")):
            if part == "n2":
                h = add("MatMul", [normed, "wf"], "fc_mm")  # noqa: F821 - bound by the first turn
                h = add("Add", [h, "bf"], "fc_add")
                h = add("Relu", [h], "fc_relu")
                h = add("MatMul", [h, "wp"], "proj_mm")
                h = add("Add", [h, "b"], "proj_add")
                source = add("Add", [h, normed], "residual2")  # noqa: F821
            mean = add("ReduceMean", [source], f"{part}_mean", axes=[-1])
            centred = add("Sub", [source, mean], f"{part}_sub")
            square = add("Pow", [centred, "two"], f"{part}_pow")
            variance = add("ReduceMean", [square], f"{part}_var", axes=[-1])
            deviation = add("Sqrt", [add("Add", [variance, "eps"], f"{part}_eps")], f"{part}_sqrt")
            normed = add("Div", [centred, deviation], f"{part}_div")
            normed = add("Add", [add("Mul", [normed, "gamma"], f"{part}_gamma"), "beta"], f"{part}_beta")
        x = normed
    final = helper.make_node("Identity", [x], ["y"], name="/final")
    graph = helper.make_graph(
        [*graph_nodes, final],
        "transformer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "seq", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "seq", width])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def large_file(path: Path, *, megabytes: int = 800, tensors: int = 200) -> Path:
    """A single-file model of `megabytes` MB: a chain of `tensors` additions of big initializers."""
    size = megabytes * 2**20 // tensors // 4
    zeros = np.zeros(size, np.float32)
    nodes, initializers, x = [], [], "x"
    for number in range(tensors):
        zeros[0] = number
        initializers.append(numpy_helper.from_array(zeros, f"w{number}"))
        nodes.append(helper.make_node("Add", [x, f"w{number}"], [f"h{number}"], name=f"/add.{number}"))
        x = f"h{number}"
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", size])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", size])],
        initializers,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
