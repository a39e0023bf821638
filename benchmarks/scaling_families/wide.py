"""Nodes with many inputs or outputs, and graphs with many."""

from __future__ import annotations

import numpy as np
from models import transformer
from onnx import ModelProto, TensorProto, helper

from scaling_families.build import INT64, chain, constant, family, model, value


@family("one wide Concat")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"h{i}"], alpha=i / n) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return model(nodes, [value("x")], [value("y", ["M"])])


@family("one wide Concat of different dims")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"h{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return model(nodes, [value(f"x{i}", [f"N{i}"]) for i in range(n)], [value("y", ["M"])])


@family("one wide Concat of dims")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Shape", [f"x{i}"], [f"h{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return model(nodes, [value(f"x{i}", [f"N{i}"]) for i in range(n)], [value("y", ["M"], INT64)])


@family("one Split into many")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Split", ["x"], [f"h{i}" for i in range(n)], axis=0, num_outputs=n)]
    nodes += [helper.make_node("Relu", [f"h{i}"], [f"y{i}"]) for i in range(n)]
    return model(nodes, [value("x", [2 * n])], [value(f"y{i}", [2]) for i in range(n)])


@family("Split into many, then Concat")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Split", ["x"], [f"h{i}" for i in range(n)], axis=0, num_outputs=n)]
    nodes += [helper.make_node("Relu", [f"h{i}"], [f"r{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"r{i}" for i in range(n)], ["y"], axis=0))
    return model(nodes, [value("x", [2 * n])], [value("y", [2 * n])])


@family("one wide Sum")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"h{i}"], alpha=i / n) for i in range(n)]
    nodes.append(helper.make_node("Sum", [f"h{i}" for i in range(n)], ["y"]))
    return model(nodes, [value("x")], [value("y", ["M"])])


@family("many inputs and outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(n)]
    return model(nodes, [value(f"x{i}", [f"N{i}"]) for i in range(n)], [value(f"y{i}", [f"N{i}"]) for i in range(n)])


@family("one long sequence")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"h{i}"], alpha=i / n) for i in range(n)]
    nodes.append(helper.make_node("SequenceConstruct", [f"h{i}" for i in range(n)], ["s"]))
    nodes.append(helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0))
    return model(nodes, [value("x")], [value("y", ["M"])])


@family("chain of SequenceInsert")
def _(n: int) -> ModelProto:
    nodes, last = [helper.make_node("SequenceEmpty", [], ["e"], dtype=TensorProto.FLOAT)], "e"
    for i in range(n):
        nodes.append(helper.make_node("SequenceInsert", [last, "x"], [f"h{i}"]))
        last = f"h{i}"
    nodes.append(helper.make_node("ConcatFromSequence", [last], ["y"], axis=0))
    return model(nodes, [value("x")], [value("y", ["M"])])


@family("random dag of Add")
def _(n: int) -> ModelProto:
    draw = np.random.default_rng(0)
    nodes, names = [], ["x"]
    for i in range(n):
        a, b = (names[int(draw.integers(max(0, len(names) - 50), len(names)))] for _ in range(2))
        names.append(f"h{i}")
        nodes.append(helper.make_node("Add", [a, b], [f"h{i}"]))
    return model(nodes, [value("x")], [value(names[-1])])


@family("constants to fold")
def _(n: int) -> ModelProto:
    model = chain(n, ("Add", [".", "w"]), of=[], constants=[constant("x", [1.0], np.float32),
                   constant("w", [2.0], np.float32)])  # fmt: skip
    model.graph.node.append(helper.make_node("Add", ["in", "y"], ["z"]))
    del model.graph.output[:]
    model.graph.input.append(value("in"))
    model.graph.output.append(value("z"))
    return model


@family("layers of a transformer")
def _(n: int) -> ModelProto:
    return transformer(n)
