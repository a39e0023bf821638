"""Equal nodes and constants, and values with many uses."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper

from scaling_families.build import chain, constant, family, model, value


@family("equal nodes")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], [f"a{i}"]) for i in range(n // 2)]
    nodes += [helper.make_node("Add", [f"a{i}", "x"], [f"c{i}"]) for i in range(n // 2)]
    return model(nodes, [value("x")], [value(f"c{i}") for i in range(n // 2)])


@family("two equal chains")
def _(n: int) -> ModelProto:
    nodes, a, b = [], "x", "x"
    for i in range(n // 2):
        nodes += [helper.make_node("Sin", [a], [f"a{i}"]), helper.make_node("Sin", [b], [f"b{i}"])]
        a, b = f"a{i}", f"b{i}"
    return model([*nodes, helper.make_node("Add", [a, b], ["y"])], [value("x")], [value("y")])


@family("equal constants")
def _(n: int) -> ModelProto:
    constants = [constant(f"w{i}", [1.5, 2, 3], np.float32) for i in range(n)]
    return _chain_of_constants(constants)


@family("different constants")
def _(n: int) -> ModelProto:
    return _chain_of_constants([constant(f"w{i}", [i, 2, 3], np.float32) for i in range(n)])


def _chain_of_constants(constants: list[TensorProto]) -> ModelProto:
    nodes, last = [], "x"
    for i, each in enumerate(constants):
        nodes.append(helper.make_node("Mul", [last, each.name], [f"h{i}"]))
        last = f"h{i}"
    return model(nodes, [value("x", ["N", 3])], [value(last, ["N", 3])], constants)


@family("equal Constant nodes")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Constant", [], [f"w{i}"], value=constant("", [1.5], np.float32)))
        nodes.append(helper.make_node("Mul", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    return model(nodes, [value("x")], [value(last)])


@family("one value as many outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    nodes += [helper.make_node("Identity", ["a"], [f"y{i}"]) for i in range(n)]
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(n)])


@family("an input as many outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Identity", ["x"], [f"y{i}"]) for i in range(n)]
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(n)])


@family("equal nodes that are outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], [f"y{i}"]) for i in range(n)]
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(n)])


@family("many different readers of one value")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    nodes += [helper.make_node("LeakyRelu", ["a"], [f"y{i}"], alpha=i / n) for i in range(n)]
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(n)])


@family("an Identity before each of many readers")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    for i in range(n // 2):
        nodes.append(helper.make_node("Identity", ["a"], [f"i{i}"]))
        nodes.append(helper.make_node("LeakyRelu", [f"i{i}"], [f"y{i}"], alpha=i / n))
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(n // 2)])


@family("a Cast and its inverse before each of many readers")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    for i in range(n // 3):
        nodes.append(helper.make_node("Cast", ["a"], [f"c{i}"], to=TensorProto.DOUBLE))
        nodes.append(helper.make_node("Cast", [f"c{i}"], [f"i{i}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("LeakyRelu", [f"i{i}"], [f"y{i}"], alpha=i / n))
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(n // 3)])


@family("a Transpose pair before each of many readers")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    for i in range(n // 3):
        nodes.append(helper.make_node("Transpose", ["a"], [f"t{i}"], perm=[1, 0]))
        nodes.append(helper.make_node("LeakyRelu", [f"t{i}"], [f"r{i}"], alpha=i / n))
        nodes.append(helper.make_node("Transpose", [f"r{i}"], [f"y{i}"], perm=[1, 0]))
    return model(nodes, [value("x", ["N", "M"])], [value(f"y{i}", ["N", "M"]) for i in range(n // 3)])


@family("different rows of one table")
def _(n: int) -> ModelProto:
    constants = [constant(f"i{i}", i) for i in range(n)]
    nodes = [helper.make_node("Gather", ["x", f"i{i}"], [f"y{i}"], axis=0) for i in range(n)]
    return model(nodes, [value("x", ["N", 4])], [value(f"y{i}", [4]) for i in range(n)], constants)


@family("different Slices of one value into a Concat")
def _(n: int) -> ModelProto:
    constants = [constant(f"i{i}", [i]) for i in range(n + 1)]
    nodes = [helper.make_node("Slice", ["x", f"i{i}", f"i{i + 1}"], [f"h{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return model(nodes, [value("x", ["N", 4])], [value("y", ["M", 4])], constants)


@family("dead nodes")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"d{i}"], alpha=i / n) for i in range(n)]
    return model([*nodes, helper.make_node("Neg", ["x"], ["y"])], [value("x")], [value("y")])


@family("a dead chain")
def _(n: int) -> ModelProto:
    model = chain(n, ("Sin", ["."]))
    model.graph.node.append(helper.make_node("Neg", ["x"], ["z"]))
    del model.graph.output[:]
    model.graph.output.append(value("z"))
    return model
